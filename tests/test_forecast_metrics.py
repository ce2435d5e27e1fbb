"""Scores against hand-worked examples, statsmodels and their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.tools import eval_measures

from lessonlib.baselines import fitted_seasonal_naive, naive, seasonal_naive
from lessonlib.forecast_metrics import coverage, mae, mase, mean_error, naive_scale, pinball, rmse, rmse_by_horizon, rmsse, smape

RNG = np.random.default_rng(0)
ACTUAL, FORECAST = RNG.standard_normal((2, 30, 3))


def test_errors_equal_statsmodels():
    a, f = ACTUAL.ravel(), FORECAST.ravel()
    assert mae(a, f) == pytest.approx(eval_measures.meanabs(a, f), rel=1e-12)
    assert rmse(a, f) == pytest.approx(eval_measures.rmse(a, f), rel=1e-12)
    assert mean_error(a, f) == pytest.approx(eval_measures.bias(f, a), rel=1e-12)
    np.testing.assert_allclose(rmse_by_horizon(ACTUAL, FORECAST), eval_measures.rmse(ACTUAL, FORECAST), rtol=1e-12)


def test_mase_by_hand():
    train = [3, 5, 4, 8, 6]                                # changes 2, 1, 4, 2: mean 9/4; over two samples 1, 3, 2: mean 2
    assert naive_scale(train) == 9 / 4 and naive_scale(train, season=2) == 2
    assert mase([7, 9], [8, 6], train) == pytest.approx(2 / (9 / 4))
    assert mase([7, 9], [8, 6], train, season=2) == pytest.approx(1.0)


@pytest.mark.parametrize("season", [1, 4])
def test_the_naive_forecast_inside_its_training_series_scores_exactly_one(season):
    train = np.random.default_rng(1).standard_normal(50).cumsum()
    fitted = fitted_seasonal_naive(train, season)
    assert mase(train[season:], fitted[season:], train, season) == 1.0     # N - m terms on both sides: exact
    assert rmsse(train[season:], fitted[season:], train, season) == pytest.approx(1.0, abs=1e-15)


def test_the_scale_comes_from_training_and_counts_n_minus_m():
    train, test = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0])
    assert mase(test, naive(train, 2), train) == pytest.approx((6 + 16) / 2 / 1)
    assert naive_scale(train, 2) == 2.0                    # 6 / 3 terms; 6 / 5 would be 1.2


def test_rmsse_by_hand_as_in_m5():
    train, actual, forecast = [3, 5, 4, 8, 6], [7, 9], [8, 6]
    assert rmsse(actual, forecast, train) == pytest.approx(np.sqrt(((1 + 9) / 2) / ((4 + 1 + 16 + 4) / 4)), rel=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.01, 100), st.floats(-1000, 1000), st.integers(0, 999))
def test_mase_has_no_unit(scale, shift, seed):
    train, actual, forecast = np.random.default_rng(seed).standard_normal((3, 20))
    moved = mase(actual * scale + shift, forecast * scale + shift, train * scale + shift)
    assert moved == pytest.approx(mase(actual, forecast, train), rel=1e-8)


@pytest.mark.parametrize("score", [mase, rmsse])
def test_a_series_that_never_changes_has_no_scale(score):
    with pytest.raises(ValueError, match="train never changes over 1 samples.*report mae or rmse"):
        score([1, 2], [1, 3], np.ones(10))
    with pytest.raises(ValueError, match="train never changes over 2 samples"):
        score([1, 2], [1, 3], [0, 1] * 5, season=2)


def test_smape_from_zero_to_two():
    assert smape([0, 0], [0, 0]) == 0 and smape([1.0], [-1.0]) == 2 and smape([0.0], [5.0]) == 2
    assert smape([100, 0], [110, 0]) == pytest.approx((20 / 210 + 0) / 2, rel=1e-12)
    assert 0 <= smape(ACTUAL, FORECAST) <= 2


def test_coverage_counts_the_ends():
    assert coverage([1, 2, 3, 4], [1, 2.5, 0, 0], [9, 9, 3, 3.9]) == 0.5
    with pytest.raises(ValueError, match="lower lies above upper in 1 places"):
        coverage([1, 2], [0, 3], [1, 2])


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_pinball_loss_is_least_at_the_quantile(tau):
    values = np.random.default_rng(2).standard_normal(2001)
    grid = np.arange(-2.5, 2.5, 0.005)
    best = grid[np.argmin([pinball(values, np.full_like(values, g), tau) for g in grid])]
    assert abs(best - np.quantile(values, tau)) < 0.006


def test_pinball_by_hand():
    assert pinball([3, 1], [1, 3], 0.9) == pytest.approx((0.9 * 2 + 0.1 * 2) / 2)
    assert pinball(ACTUAL, FORECAST, 0.5) == pytest.approx(mae(ACTUAL, FORECAST) / 2, rel=1e-12)
    for tau in (0, 1, -0.1, np.nan):
        with pytest.raises(ValueError, match="tau"):
            pinball([1], [1], tau)


@pytest.mark.parametrize("score", [mae, rmse, mean_error, smape, lambda a, f: mase(a, f, [1, 2]), lambda a, f: rmsse(a, f, [1, 2]),
                                   lambda a, f: pinball(a, f, 0.5), lambda a, f: coverage(a, f, f)])
@pytest.mark.parametrize("actual, forecast", [([], []), ([1, 2], [1]), ([1, 2], [[1], [2]]), ([1, np.nan], [1, 2]), ([1, 2], [1, np.inf])])
def test_no_score_hides_a_wrong_input(score, actual, forecast):
    with pytest.raises(ValueError, match="actual|forecast|lower"):
        score(actual, forecast)


@pytest.mark.parametrize("train, season, named", [([], 1, "train"), ([1.0], 1, "season is 1"), ([1, 2, 3], 0, "season is 0"), ([1, 2, 3], 3, "season is 3"),
                                                  ([1, np.nan, 3], 1, "train holds 1"), ([[1, 2], [3, 4]], 1, "train has shape"), ([1, 2, 3], 1.0, "season")])
def test_a_scale_that_cannot_be_names_the_argument(train, season, named):
    with pytest.raises(ValueError, match=named):
        mase([1, 2], [2, 3], train, season)


def test_horizons_need_columns():
    with pytest.raises(ValueError, match="actual"):
        rmse_by_horizon([1, 2], [1, 2])


def test_the_seasonal_forecast_beats_the_naive_one_on_a_season():
    series = np.tile([0.0, 5.0, 2.0, 9.0], 10)
    assert mae(series[36:], seasonal_naive(series[:36], 4, 4)) == 0 < mae(series[36:], naive(series[:36], 4))
