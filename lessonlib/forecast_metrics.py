"""Scores of forecasts: errors in the units of the series, scaled errors, coverage and the pinball loss.

Dimensions: forecasts and actual values have one shape, (n,) or (n, h), and are compared entry by entry.
N is the number of training samples and m the season. Every score is a mean over all entries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.series import numbers, paired, whole


def mean_error(actual: ArrayLike, forecast: ArrayLike) -> float:
    """Forecast minus actual, on average: negative where the forecasts are too low."""
    a, f = paired(actual, forecast)
    return float((f - a).mean())


def mae(actual: ArrayLike, forecast: ArrayLike) -> float:
    """Mean absolute error, in the units of the series."""
    a, f = paired(actual, forecast)
    return float(np.abs(a - f).mean())


def rmse(actual: ArrayLike, forecast: ArrayLike) -> float:
    """Root of the mean squared error, in the units of the series."""
    a, f = paired(actual, forecast)
    return float(np.sqrt(((a - f) ** 2).mean()))


def rmse_by_horizon(actual: ArrayLike, forecast: ArrayLike) -> np.ndarray:
    """RMSE of each column of forecasts (n, h), shape (h,)."""
    a, f = paired(numbers("actual", actual, (2,)), numbers("forecast", forecast, (2,)))
    return np.sqrt(((a - f) ** 2).mean(axis=0))


def naive_scale(train: ArrayLike, season: int = 1, power: int = 1) -> float:
    """Mean of |x_t - x_{t-m}|^power over the training series: N - m terms.

    Parameters
    ----------
    train : array_like, shape (N,)
        The samples that the models were fitted on.
    season : int
        m; 1 for the naive forecast.
    power : {1, 2}

    Raises
    ------
    ValueError
        If the series is not longer than the season, or never changes over it.
    """
    array = numbers("train", train, (1,))
    season = whole("season", season, 1, len(array) - 1, "train must be longer than one season")
    whole("power", power, 1, 2)
    scale = float((np.abs(array[season:] - array[:-season]) ** power).mean())
    if scale == 0:
        raise ValueError(f"train never changes over {season} samples, so an error scaled by its changes is undefined; "
                         "report mae or rmse, or choose another season")
    return scale


def mase(actual: ArrayLike, forecast: ArrayLike, train: ArrayLike, season: int = 1) -> float:
    """Mean absolute scaled error (Hyndman and Koehler, 2006).

    The mean absolute error divided by that of the (seasonal) naive forecast one step ahead *inside the training
    series*, a mean of N - m terms. It has no unit; at 1, the errors are as large as those.

    Parameters
    ----------
    actual, forecast : array_like, of one shape
    train : array_like, shape (N,)
    season : int
        m
    """
    return mae(actual, forecast) / naive_scale(train, season)


def rmsse(actual: ArrayLike, forecast: ArrayLike, train: ArrayLike, season: int = 1) -> float:
    """Root mean squared scaled error, as the M5 competition defines it (Makridakis et al., 2022): squares in place of `mase`'s moduli."""
    return rmse(actual, forecast) / naive_scale(train, season, power=2) ** 0.5


def smape(actual: ArrayLike, forecast: ArrayLike) -> float:
    """Mean of 2 |x - f| / (|x| + |f|), from 0 to 2; a point where both are 0 counts as 0."""
    a, f = paired(actual, forecast)
    size = np.abs(a) + np.abs(f)
    return float((2 * np.abs(a - f) / np.where(size == 0, 1, size)).mean())


def coverage(actual: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of the actual values from `lower` to `upper`, ends included, 0 to 1.

    Raises
    ------
    ValueError
        If a lower end lies above its upper end.
    """
    a, low = paired(actual, lower, "lower")
    a, high = paired(actual, upper, "upper")
    if (low > high).any():
        raise ValueError(f"lower lies above upper in {int((low > high).sum())} places; sort the two ends, or swap the arguments")
    return float(((low <= a) & (a <= high)).mean())


def pinball(actual: ArrayLike, forecast: ArrayLike, tau: float) -> float:
    """Pinball loss max(tau u, (tau - 1) u) with u = actual - forecast, whose least mean is at the tau quantile.

    Parameters
    ----------
    tau : float
        Between 0 and 1, both excluded.
    """
    if not 0 < tau < 1:
        raise ValueError(f"tau is {tau}; it must lie between 0 and 1")
    a, f = paired(actual, forecast)
    return float(np.maximum(tau * (a - f), (tau - 1) * (a - f)).mean())
