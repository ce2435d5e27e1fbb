"""Baselines against hand-worked examples and statsmodels; the linear model against ordinary least squares."""

import numpy as np
import pytest
from statsmodels.tsa.ar_model import AutoReg

from lessonlib.baselines import LinearAutoregression, drift, fitted_seasonal_naive, mean_forecast, naive, seasonal_drift, seasonal_naive
from lessonlib.windows import make_windows

HISTORY = [1, 5, 2, 6, 3, 8]


def test_by_hand():
    assert naive(HISTORY, 3).tolist() == [8, 8, 8]
    assert drift(HISTORY, 2).tolist() == pytest.approx([8 + 7 / 5, 8 + 14 / 5])
    assert mean_forecast(HISTORY, 2).tolist() == pytest.approx([25 / 6, 25 / 6])
    assert seasonal_naive(HISTORY, 8, season=3).tolist() == [6, 3, 8, 6, 3, 8, 6, 3]
    assert seasonal_naive(HISTORY, 2, season=6).tolist() == [1, 5]


@pytest.mark.parametrize("season", range(1, 7))
@pytest.mark.parametrize("horizon", [1, 2, 5, 6, 7, 20])
def test_seasonal_naive_is_its_formula_at_any_horizon(season, horizon):
    t = len(HISTORY)
    expected = [HISTORY[t - 1 + k - season * -(-k // season)] for k in range(1, horizon + 1)]
    assert seasonal_naive(HISTORY, horizon, season).tolist() == expected


def test_seasonal_drift_continues_a_season_on_a_line_exactly():
    series = np.tile([0.0, 5.0, 2.0], 10) + 0.25 * np.arange(30)
    np.testing.assert_allclose(seasonal_drift(series[:17], 13, 3), series[17:], rtol=1e-12)
    assert seasonal_drift([1, 2, 3, 5, 7], 3, 4).tolist() == [2 + 6, 3 + 6, 5 + 6]
    with pytest.raises(ValueError, match="season is 5.*history must be longer"):
        seasonal_drift([1, 2, 3, 5, 7], 3, 5)


def test_a_season_of_one_is_the_naive_forecast():
    np.testing.assert_array_equal(seasonal_naive(HISTORY, 4, 1), naive(HISTORY, 4))


@pytest.mark.parametrize("forecast", [naive, drift, mean_forecast, lambda x, h: seasonal_naive(x, h, 3)])
def test_a_batch_is_its_rows(forecast):
    batch = np.random.default_rng(0).standard_normal((2, 4, 7))
    made = forecast(batch, 5)
    assert made.shape == (2, 4, 5)
    for i in range(2):
        for j in range(4):
            np.testing.assert_allclose(made[i, j], forecast(batch[i, j], 5))


@pytest.mark.parametrize("season, length", [(1, 2), (4, 5), (4, 7), (4, 9), (12, 30)])
def test_fitted_values_are_missing_for_the_first_season_only(season, length):
    series = np.arange(length, dtype=float)
    fitted = fitted_seasonal_naive(series, season)
    assert len(fitted) == length and np.isnan(fitted[:season]).all()
    np.testing.assert_array_equal(fitted[season:], series[:-season])


def ar2(n, seed=0):
    noise = np.random.default_rng(seed).standard_normal(n)
    x = np.zeros(n)
    for t in range(2, n):
        x[t] = 3 + 1.6 * x[t - 1] - 0.9 * x[t - 2] + noise[t]
    return x


@pytest.mark.parametrize("lags", [1, 2, 5])
def test_linear_autoregression_equals_statsmodels(lags):
    series = ar2(400)
    windows = make_windows(series[:300], lags)
    ours = LinearAutoregression.fit(windows.inputs, windows.targets, normalise="none")
    theirs = AutoReg(series[:300], lags=lags, trend="c").fit()
    np.testing.assert_allclose(ours.intercept[0], theirs.params[0], rtol=1e-8)
    np.testing.assert_allclose(ours.weights[::-1, 0], theirs.params[1:], rtol=1e-8)
    expected = theirs.forecast(20)
    np.testing.assert_allclose(ours.recursive(series[None, 300 - lags:300], 20)[0], expected, rtol=1e-8)


def test_with_channels_it_equals_least_squares_with_an_intercept():
    series = np.random.default_rng(0).standard_normal((200, 3))
    windows = make_windows(series, 4, 2, target=1)
    design = np.column_stack([np.ones(len(windows)), windows.inputs.reshape(len(windows), -1)])
    expected = design @ np.linalg.lstsq(design, windows.targets, rcond=None)[0]
    model = LinearAutoregression.fit(windows.inputs, windows.targets, normalise="none", target=1)
    np.testing.assert_allclose(model.predict(windows.inputs), expected, atol=1e-10)


def test_the_normal_equations_hold_with_a_ridge():
    windows = make_windows(ar2(200), 5)
    model = LinearAutoregression.fit(windows.inputs, windows.targets, normalise="none", ridge=7.0)
    x = windows.inputs[..., 0] - windows.inputs[..., 0].mean(0)
    y = windows.targets - windows.targets.mean(0)
    np.testing.assert_allclose(model.weights, np.linalg.solve(x.T @ x + 7 * np.eye(5), x.T @ y), rtol=1e-8)


def test_without_the_last_value_a_level_shift_shifts_the_forecast():
    windows = make_windows(ar2(300), 6, 3)
    model = LinearAutoregression.fit(windows.inputs, windows.targets)
    np.testing.assert_allclose(model.predict(windows.inputs + 1000), model.predict(windows.inputs) + 1000, rtol=1e-9)


@pytest.mark.parametrize("normalise", ["none", "last"])
def test_any_z_score_gives_the_same_forecasts(normalise):
    series = ar2(300) + 0.1 * np.arange(300)
    windows = make_windows(series, 6, 3)
    for mean, sd in ((series[:100].mean(), series[:100].std()), (series.mean(), series.std())):
        scaled = LinearAutoregression.fit((windows.inputs - mean) / sd, (windows.targets - mean) / sd, normalise=normalise)
        plain = LinearAutoregression.fit(windows.inputs, windows.targets, normalise=normalise)
        np.testing.assert_allclose(scaled.predict((windows.inputs - mean) / sd) * sd + mean, plain.predict(windows.inputs), rtol=1e-9)


def test_the_known_recursion_is_found_and_both_strategies_agree_without_noise():
    x = np.zeros(80)
    x[:2] = 1, 2
    for t in range(2, 80):
        x[t] = 1.6 * x[t - 1] - 0.9 * x[t - 2]
    windows = make_windows(x[:60], 2, 6)
    direct = LinearAutoregression.fit(windows.inputs, windows.targets, normalise="none")
    one = LinearAutoregression.fit(windows.inputs, windows.targets[:, :1], normalise="none")
    np.testing.assert_allclose(one.weights[:, 0], [-0.9, 1.6], atol=1e-9)
    for forecast in (one.recursive(x[None, 58:60], 6)[0], direct.predict(x[None, 58:60])[0]):
        np.testing.assert_allclose(forecast, x[60:66], atol=1e-9)


BAD_HISTORY = [[], [1, np.nan], [1, np.inf], 3.0]


@pytest.mark.parametrize("bad", BAD_HISTORY)
@pytest.mark.parametrize("forecast", [naive, drift, mean_forecast, lambda x: seasonal_naive(x, 1, 1)])
def test_a_history_that_is_none_raises(forecast, bad):
    with pytest.raises(ValueError, match="history"):
        forecast(bad)


@pytest.mark.parametrize("call, named", [
    (lambda: naive([1], 0), "horizon is 0"), (lambda: drift([1]), "history has 1 sample"), (lambda: mean_forecast([1], -1), "horizon is -1"),
    (lambda: seasonal_naive([1, 2], 1, 0), "season is 0"), (lambda: seasonal_naive([1, 2], 1, 3), "season is 3.*history must hold at least one season"),
    (lambda: seasonal_naive([1, 2], 1, 1.5), "season is 1.5"),
    (lambda: fitted_seasonal_naive([1, 2], 2), "season is 2.*series must be longer"), (lambda: fitted_seasonal_naive([1, np.nan], 1), "series"),
    (lambda: LinearAutoregression.fit(np.zeros((3, 2)), np.zeros((4, 1))), "inputs has 3 windows and targets 4"),
    (lambda: LinearAutoregression.fit(np.zeros((3, 2)), np.zeros(3)), "targets has shape"),
    (lambda: LinearAutoregression.fit(np.full((3, 2), np.nan), np.zeros((3, 1))), "inputs holds 6"),
    (lambda: LinearAutoregression.fit(np.zeros((3, 2)), np.zeros((3, 1)), normalise="x"), "normalise"),
    (lambda: LinearAutoregression.fit(np.zeros((3, 2)), np.zeros((3, 1)), ridge=-1), "ridge"),
    (lambda: LinearAutoregression.fit(np.zeros((3, 2)), np.zeros((3, 1)), target=1), "target is 1"),
])
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_a_fitted_model_refuses_other_windows():
    windows = make_windows(np.random.default_rng(0).standard_normal((50, 2)), 4)
    model = LinearAutoregression.fit(windows.inputs, windows.targets)
    for other in (windows.inputs[:, 1:], windows.inputs[..., :1]):
        with pytest.raises(ValueError, match="the model was fitted on"):
            model.predict(other)
    with pytest.raises(ValueError, match="inputs has 2 channels"):
        model.recursive(windows.inputs, 3)
