"""The comparisons of the chapter: seeds decide, folds see nothing later, a table holds what single calls give."""

import numpy as np
import pytest
import torch

from lessonlib.forecast_metrics import coverage, mase
from lessonlib.forecast_study import IntervalForecaster, answers, calibrated_coverage, compare_walk_forward, fitted_with_seed, side_by_side, small_lstm
from lessonlib.intervals import GaussianHead, QuantileHead, gaussian_nll, quantile_loss
from lessonlib.windows import make_windows

SERIES = np.sin(np.arange(150) / 3) + 0.1 * np.random.default_rng(0).standard_normal(150)
WINDOWS = make_windows(SERIES, 8, 3)


def test_a_seed_decides_the_network():
    a, b, c = (answers(small_lstm(WINDOWS, seed, epochs=1), WINDOWS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert a.shape == (len(WINDOWS), 3) and not np.allclose(a, c)


def test_per_window_networks_follow_a_level_and_global_ones_do_not():
    shifted = make_windows(SERIES + 100, 8, 3)
    for per_window in (True, False):
        network = small_lstm(WINDOWS, 0, epochs=1, per_window=per_window)
        follows = np.allclose(answers(network, shifted), answers(network, WINDOWS) + 100, atol=1e-4)
        assert follows == per_window


def test_a_table_holds_what_single_calls_give():
    options = dict(window=8, horizon=3, season=4, first_origin=100, block=25, epochs=1)
    table = compare_walk_forward(SERIES, seeds=(0, 1), **options)
    assert table["naive"].shape == (2, 1) and table["LSTM, per window"].shape == (2, 2)
    test = WINDOWS.between(125, 150)
    alone = side_by_side(WINDOWS.between(0, 125, inputs_too=True), test, SERIES[:125], 4)
    for name, forecasts in alone.items():
        assert table[name][1, 0] == pytest.approx(mase(test.targets, forecasts, SERIES[:125], 4), rel=1e-9)
    later = SERIES.copy()
    later[125:] += 50
    np.testing.assert_array_equal(compare_walk_forward(later[:125], seeds=(0, 1), **options)["LSTM, global"][0], table["LSTM, global"][0])


@pytest.mark.parametrize("head, loss", [(lambda: GaussianHead(6, 3), lambda out, y: gaussian_nll(*out, y)),
                                        (lambda: QuantileHead(6, (0.05, 0.95), 3), lambda out, y: quantile_loss(out, y, (0.05, 0.95)))])
def test_interval_forecasters_learn_a_noise_level(head, loss):
    noise = make_windows(2 * np.random.default_rng(0).standard_normal(600), 4, 3)
    network = fitted_with_seed(lambda: IntervalForecaster(1, head(), 6), noise, 0, epochs=25, learning_rate=1e-2, loss=loss)
    low, high = network.interval(noise, 0.9)
    assert low.shape == high.shape == (len(noise), 3) and low.dtype == np.float64
    assert (high - low).mean() == pytest.approx(2 * 1.645 * 2, rel=0.15) and abs(coverage(noise.targets, low, high) - 0.9) < 0.05


def test_one_margin_is_right_on_average_and_one_a_state_in_each():
    rng = np.random.default_rng(0)
    busy = rng.random(20_000) < 0.5
    windows = make_windows(rng.standard_normal(20_001) * np.append(False, np.where(busy, 3.0, 1.0)), 1)
    held, test = windows.rows(slice(0, 10_000)), windows.rows(slice(10_000, None))
    ends = lambda part: (np.full((len(part), 1), -0.5), np.full((len(part), 1), 0.5))
    given, one, each = calibrated_coverage(ends, held, test, busy[:10_000], busy[10_000:])
    assert given[0] < 0.4 and given[3] == 1.0
    assert abs(one[0] - 0.9) < 0.02 and one[1] > 0.99 and one[2] < 0.83
    assert abs(each[:3] - 0.9).max() < 0.02
    assert each[3] == pytest.approx(np.where(busy[10_000:], 3.0, 1.0).mean() * 2 * 1.645, rel=0.06)


def test_bad_input_is_named():
    for options, named in ((dict(seeds=()), "seeds"), (dict(series=SERIES[:50]), "samples"), (dict(series=[np.nan] * 150), "series"), (dict(season=0), "season is 0"),
                           (dict(season=8), "season is 8"), (dict(season=9), "season")):
        with pytest.raises(ValueError, match=named):
            compare_walk_forward(**{**dict(series=SERIES, window=8, horizon=3, season=4, first_origin=100, block=25, seeds=(0,), epochs=1), **options})
    with pytest.raises(ValueError, match="channels"):
        IntervalForecaster(0, torch.nn.Identity())
