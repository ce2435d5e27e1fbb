"""Normalisation equals SciPy's and PyTorch's, and its inverse brings everything back."""

import numpy as np
import pytest
import scipy.stats
import torch

from lessonlib.scaling import SeriesScale, normalise_windows


@pytest.mark.parametrize("shape", [(50,), (50, 3)])
def test_z_scores_equal_scipy_and_come_back(shape):
    series = 5 + 3 * np.random.default_rng(0).standard_normal(shape)
    scale = SeriesScale.fit(series)
    np.testing.assert_allclose(scale.apply(series), scipy.stats.zscore(series, axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale.undo(scale.apply(series)), series, rtol=1e-12)


def test_forecasts_of_one_channel_come_back():
    series = np.random.default_rng(0).standard_normal((50, 3)) * [1, 10, 100]
    scale = SeriesScale.fit(series)
    np.testing.assert_allclose(scale.undo(scale.apply(series)[:, 1], channel=1), series[:, 1], rtol=1e-12)
    with pytest.raises(ValueError, match="channels; name one"):
        scale.undo(series[:, 1])
    with pytest.raises(ValueError, match="channel is 3"):
        scale.undo(series[:, 1], channel=3)
    with pytest.raises(ValueError, match="leave channel out"):
        SeriesScale.fit(series[:, 0]).undo(series[:, 0], channel=0)


def test_the_scale_depends_on_training_alone():
    series = np.random.default_rng(0).standard_normal(50)
    before = SeriesScale.fit(series[:30])
    series[30:] += 100
    assert SeriesScale.fit(series[:30]) == before


@pytest.mark.parametrize("bad", [np.ones(5), np.stack([np.arange(5), np.ones(5)], axis=1), [], [1, np.nan], [3.0]])
def test_a_series_that_cannot_be_scaled_raises(bad):
    with pytest.raises(ValueError, match="train"):
        SeriesScale.fit(bad)


def test_other_channels_than_fitted_raise():
    scale = SeriesScale.fit(np.random.default_rng(0).standard_normal((9, 2)))
    for other in (np.zeros(9), np.zeros((9, 3))):
        with pytest.raises(ValueError, match="give the channels that the scale was fitted on"):
            scale.apply(other)


@pytest.mark.parametrize("how", ["none", "last", "mean", "mean-sd"])
def test_windows_come_back_in_numpy_and_torch(how):
    rng = np.random.default_rng(0)
    inputs, targets = 5 + rng.standard_normal((7, 6, 2)), rng.standard_normal((7, 3))
    scaled, scale = normalise_windows(inputs, how)
    for channel in (0, 1):
        np.testing.assert_allclose(scale.undo(scale.apply(targets, channel), channel), targets, rtol=1e-12)
        np.testing.assert_allclose(scale.undo(scaled[..., channel], channel), inputs[..., channel], rtol=1e-12)
    again, same = normalise_windows(torch.tensor(inputs), how)
    np.testing.assert_allclose(again.numpy(), scaled, rtol=1e-12)
    np.testing.assert_allclose(same.apply(torch.tensor(targets)).numpy(), scale.apply(targets), rtol=1e-12)


def test_what_each_kind_does():
    inputs = np.random.default_rng(0).standard_normal((7, 6, 2))
    assert (normalise_windows(inputs, "last")[0][:, -1] == 0).all()
    np.testing.assert_allclose(normalise_windows(inputs, "mean")[0].mean(1), 0, atol=1e-15)
    norm = torch.nn.InstanceNorm1d(2, eps=0)  # (n, C, W), population formula
    np.testing.assert_allclose(normalise_windows(inputs, "mean-sd")[0], norm(torch.tensor(inputs).mT).mT.numpy(), atol=1e-12)
    np.testing.assert_array_equal(normalise_windows(inputs, "none")[0], inputs)


def test_a_level_shift_changes_no_normalised_window_and_shifts_the_forecast():
    inputs = np.random.default_rng(0).standard_normal((7, 6, 1))
    for how in ("last", "mean", "mean-sd"):
        (low, scale), (high, shifted) = normalise_windows(inputs, how), normalise_windows(inputs + 1000, how)
        np.testing.assert_allclose(high, low, atol=1e-9)
        np.testing.assert_allclose(shifted.undo(np.zeros((7, 2))) - scale.undo(np.zeros((7, 2))), 1000, rtol=1e-12)


def test_a_constant_window_stays_finite_with_its_gradient():
    inputs = torch.full((2, 5, 1), 3.0, dtype=torch.float64)
    inputs[1] = torch.arange(5.0)[:, None]
    inputs.requires_grad_()
    scaled, scale = normalise_windows(inputs, "mean-sd")
    scaled.pow(3).sum().backward()
    assert (scaled[0] == 0).all() and scale.scale[0].item() == 1 and inputs.grad.isfinite().all()


def test_the_gradient_through_a_window_scale():
    inputs = torch.randn(3, 4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    for how in ("last", "mean", "mean-sd"):
        assert torch.autograd.gradcheck(lambda x, how=how: normalise_windows(x, how)[0], (inputs,))


@pytest.mark.parametrize("bad, how", [(np.zeros((3, 4)), "last"), (np.zeros((0, 4, 1)), "last"), (np.full((3, 4, 1), np.nan), "last"), (np.zeros((3, 4, 1)), "min-max")])
def test_windows_that_cannot_be_normalised_raise(bad, how):
    with pytest.raises(ValueError, match="inputs|how"):
        normalise_windows(bad, how)


def test_forecasts_of_other_windows_raise():
    scale = normalise_windows(np.zeros((3, 4, 1)))[1]
    for wrong in (np.zeros((2, 1)), np.zeros(3)):
        with pytest.raises(ValueError, match="a row for each window"):
            scale.undo(wrong)
    with pytest.raises(ValueError, match="channel is 1"):
        scale.undo(np.zeros((3, 1)), channel=1)
