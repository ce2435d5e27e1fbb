"""Heads, their losses against PyTorch and SciPy, and the guarantee of conformal calibration."""

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

from lessonlib.forecast_metrics import coverage, pinball
from lessonlib.intervals import (GaussianHead, QuantileHead, conformal_margin, gaussian_interval, gaussian_nll, interval_scores,
                                 quantile_loss, widen)

DRAW = torch.Generator().manual_seed(0)


def tensors(*shape):
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


def test_the_likelihood_equals_torch_and_scipy():
    mean, actual, variance = tensors(9, 3), tensors(9, 3), tensors(9, 3).exp()
    ours = gaussian_nll(mean, variance, actual)
    torch.testing.assert_close(ours, nn.GaussianNLLLoss()(mean, actual, variance), rtol=1e-12, atol=0)
    full = -scipy.stats.norm.logpdf(actual.numpy(), mean.numpy(), variance.sqrt().numpy()).mean()
    assert ours.item() + np.log(2 * np.pi) / 2 == pytest.approx(full, rel=1e-12)


def test_the_likelihood_is_best_at_mean_and_variance():
    actual = tensors(200)
    mean, variance = actual.mean().requires_grad_(), actual.var(correction=0).requires_grad_()
    gaussian_nll(mean.expand(200), variance.expand(200), actual).backward()
    assert abs(mean.grad) < 1e-12 and abs(variance.grad) < 1e-12


def test_the_quantile_loss_is_the_mean_of_pinball_losses():
    levels, actual, quantiles = (0.1, 0.5, 0.9), tensors(8, 2), tensors(8, 2, 3)
    expected = np.mean([pinball(actual, quantiles[..., i], tau) for i, tau in enumerate(levels)])
    assert quantile_loss(quantiles, actual, levels).item() == pytest.approx(expected, rel=1e-12)


def test_heads_have_shapes_positive_variances_and_rising_quantiles():
    state = 50 * tensors(7, 5).float()
    torch.manual_seed(0)
    mean, variance = GaussianHead(5, 3)(state)
    assert mean.shape == variance.shape == (7, 3) and (variance >= 1e-4).all()
    quantiles = QuantileHead(5, (0.1, 0.5, 0.9), horizon=3)(state)
    assert quantiles.shape == (7, 3, 3) and (quantiles.diff(dim=-1) >= 0).all()


def test_a_gaussian_interval_equals_scipy():
    mean, variance = tensors(9, 2).numpy(), tensors(9, 2).exp().numpy()
    for share in (0.5, 0.9, 0.99):
        low, high = scipy.stats.norm.interval(share, mean, np.sqrt(variance))
        ours = gaussian_interval(mean, variance, share)
        np.testing.assert_allclose(ours, (low, high), rtol=1e-12)


def test_the_margin_by_hand():
    scores = [5, 1, 4, 2, 3, 9, 8, 7, 6]                    # nine: the ninth of ten places is the largest
    assert conformal_margin(scores, 0.9) == 9 and conformal_margin(scores, 0.8) == 8 and conformal_margin(scores, 0.5) == 5
    assert conformal_margin(np.column_stack([scores, np.arange(9)]), 0.5).tolist() == [5, 4]
    with pytest.raises(ValueError, match="scores has 9 rows; a share of 0.95 needs at least 19"):
        conformal_margin(scores, 0.95)
    assert conformal_margin(np.arange(19), 0.95) == 18


@pytest.mark.parametrize("n, share", [(9, 0.9), (19, 0.9), (50, 0.8)])
def test_calibration_covers_what_it_promises_on_exchangeable_data(n, share):
    rng = np.random.default_rng(3)
    scores, new = np.abs(rng.standard_t(2, (n, 20_000))), np.abs(rng.standard_t(2, 20_000))
    covered = (new <= conformal_margin(scores, share)).mean()
    expected = np.ceil((n + 1) * share) / (n + 1)           # exact for continuous scores
    assert abs(covered - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000)


def test_quantiles_too_narrow_and_too_wide_are_mended():
    rng = np.random.default_rng(4)
    actual = rng.standard_normal((2, 4000))
    for half in (0.3, 4.0):
        low, high = np.full(4000, -half), np.full(4000, half)
        margin = conformal_margin(interval_scores(actual[0], low, high), 0.9)
        assert (margin > 0) == (half < 1.64)
        assert abs(coverage(actual[1], *widen(low, high, margin)) - 0.9) < 0.02


def test_calibration_by_horizon():
    actual = np.random.default_rng(5).standard_normal((500, 3)) * [1, 2, 3]
    low = high = np.zeros((500, 3))
    margin = conformal_margin(interval_scores(actual, low, high), 0.9)
    assert margin.shape == (3,) and margin[0] < margin[1] < margin[2]
    low, high = widen(low, high, margin)
    assert all(coverage(actual[:, k], low[:, k], high[:, k]) == pytest.approx(0.9, abs=0.004) for k in range(3))


def test_a_margin_that_would_turn_an_interval_over_leaves_its_middle():
    low, high = widen([0.0, 0.0], [1.0, 8.0], -2.0)
    assert low.tolist() == [0.5, 2] and high.tolist() == [0.5, 6]


@pytest.mark.parametrize("call, named", [
    (lambda: gaussian_nll(tensors(3), tensors(3).exp(), tensors(4)), "mean, variance and actual"),
    (lambda: gaussian_nll(tensors(3, 1), tensors(3, 1).exp(), tensors(3)), "mean, variance and actual"),
    (lambda: gaussian_nll(tensors(0), tensors(0), tensors(0)), "not empty"),
    (lambda: gaussian_nll(tensors(3), torch.zeros(3), tensors(3)), "variance"),
    (lambda: gaussian_nll(tensors(3), torch.full((3,), torch.nan), tensors(3)), "variance"),
    (lambda: quantile_loss(tensors(3, 2), tensors(3), (0.1, 0.5, 0.9)), "quantiles has shape"),
    (lambda: quantile_loss(tensors(3, 2), tensors(3), (0.9, 0.1)), "levels"), (lambda: QuantileHead(3, (0.0, 0.5)), "levels"), (lambda: QuantileHead(3, ()), "levels"),
    (lambda: GaussianHead(0), "hidden_size"), (lambda: GaussianHead(3, 0), "horizon"),
    (lambda: gaussian_interval([1, 2], [1, 0]), "variance"), (lambda: gaussian_interval([1, 2], [1]), "variance"),
    (lambda: gaussian_interval([1, 2], [1, 1], 1.0), "share"), (lambda: gaussian_interval([1, np.nan], [1, 1]), "mean holds 1"),
    (lambda: conformal_margin([], 0.9), "scores"), (lambda: conformal_margin([1, np.nan], 0.5), "scores"), (lambda: conformal_margin([1, 2], 0), "share"),
    (lambda: interval_scores([1, 2], [1], [2]), "lower"), (lambda: widen([1, 2], [2, 3], [1, 1]), "margin"), (lambda: widen([1, 2], [2], 1), "upper"),
    (lambda: widen([[1, 2]], [[2, 3]], [1, 1, 1]), "margin"),
])
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
