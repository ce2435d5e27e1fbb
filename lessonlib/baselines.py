"""Forecasters that cost nothing, and linear autoregression: what every network has to be compared with.

Dimensions: T samples of history, h steps ahead, m the season, n windows of W samples and C channels.
A history has shape (..., T), with any leading axes (one series, or a window a row); forecasts are (..., h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.series import Array, numbers, whole

NORMALISATIONS = ("none", "last")


def _history(value: ArrayLike, horizon: int) -> Array:
    whole("horizon", horizon)
    return numbers("history", value, tuple(range(1, 9)))


def naive(history: ArrayLike, horizon: int = 1) -> Array:
    """The last value, at every horizon: the best forecast of a random walk.

    Parameters
    ----------
    history : array_like, shape (..., T)

    Returns
    -------
    np.ndarray, shape (..., h)
    """
    return np.repeat(_history(history, horizon)[..., -1:], horizon, axis=-1)


def seasonal_naive(history: ArrayLike, horizon: int, season: int) -> Array:
    """The value of the same phase in the last season that is known.

    For k <= m that is x_{t+k-m}; beyond one season it repeats, x_{t+k-m ceil(k/m)}
    (Hyndman and Athanasopoulos, 2021, section 5.2).

    Parameters
    ----------
    history : array_like, shape (..., T)
        At least one season.
    season : int
        m, in samples; 1 is `naive`.

    Returns
    -------
    np.ndarray, shape (..., h)
    """
    past = _history(history, horizon)
    season = whole("season", season, 1, past.shape[-1], "history must hold at least one season")
    return past[..., past.shape[-1] - season + np.arange(horizon) % season]


def seasonal_drift(history: ArrayLike, horizon: int, season: int) -> Array:
    """The seasonal naive forecast, raised by what the last season brought: x_{t+k-m j} + j (x_t - x_{t-m}), j = ceil(k/m).

    Parameters
    ----------
    history : array_like, shape (..., T)
        At least one season and one sample.

    Returns
    -------
    np.ndarray, shape (..., h)
    """
    past = _history(history, horizon)
    season = whole("season", season, 1, past.shape[-1] - 1, "history must be longer than one season")
    seasons = 1 + np.arange(horizon) // season
    return seasonal_naive(past, horizon, season) + seasons * (past[..., -1:] - past[..., -1 - season, None])


def fitted_seasonal_naive(series: ArrayLike, season: int) -> Array:
    """One-step forecasts inside a series, x_{t-m} for each t; the first m have no past and are NaN.

    Parameters
    ----------
    series : array_like, shape (N,)
        Longer than one season; two are not needed.

    Returns
    -------
    np.ndarray, shape (N,)
    """
    array = numbers("series", series, (1,))
    season = whole("season", season, 1, len(array) - 1, "series must be longer than one season")
    return np.concatenate([np.full(season, np.nan), array[:-season]])


def drift(history: ArrayLike, horizon: int = 1) -> Array:
    """The line through the first and the last value, prolonged: x_t + k (x_t - x_1) / (T - 1)."""
    past = _history(history, horizon)
    if past.shape[-1] < 2:
        raise ValueError("history has 1 sample; drift needs at least 2, naive works with one")
    slope = (past[..., -1:] - past[..., :1]) / (past.shape[-1] - 1)
    return past[..., -1:] + slope * np.arange(1, horizon + 1)


def mean_forecast(history: ArrayLike, horizon: int = 1) -> Array:
    """The mean of the history, at every horizon: where a model without dynamics ends."""
    return np.repeat(_history(history, horizon).mean(axis=-1, keepdims=True), horizon, axis=-1)


@dataclass(frozen=True)
class LinearAutoregression:
    """A linear map from a window to its targets, fitted by least squares.

    Attributes
    ----------
    weights : np.ndarray, shape (W C, h)
        Column k forecasts k + 1 steps ahead; row c + C s belongs to channel c of sample s of the window.
    intercept : np.ndarray, shape (h,)
    normalise : {'none', 'last'}
        Whether the last value of each channel is subtracted from the window, and that of the target channel
        added to the forecast.
    shape : (W, C)
    target : int
        The channel that is forecast.
    """

    weights: Array
    intercept: Array
    normalise: str
    shape: tuple[int, int]
    target: int

    @classmethod
    def fit(cls, inputs: ArrayLike, targets: ArrayLike, *, normalise: str = "last", ridge: float = 0.0,
            target: int = 0) -> LinearAutoregression:
        """Least squares of the targets on the windows and an intercept.

        Parameters
        ----------
        inputs : array_like, shape (n, W) or (n, W, C)
        targets : array_like, shape (n, h)
            One column a horizon: the direct strategy. With one column, `recursive` iterates it.
        normalise : {'none', 'last'}
        ridge : float
            Penalty on the squared weights, not on the intercept; 0 gives the smallest of the least-squares solutions.
        target : int
            Which channel of the windows the targets continue.
        """
        x, y = numbers("inputs", inputs, (2, 3)), numbers("targets", targets, (2,))
        x = x[..., None] if x.ndim == 2 else x
        if len(x) != len(y):
            raise ValueError(f"inputs has {len(x)} windows and targets {len(y)}; give one row of targets for each window")
        if normalise not in NORMALISATIONS:
            raise ValueError(f"normalise is {normalise!r}; it must be one of {', '.join(NORMALISATIONS)}")
        if not np.isfinite(ridge) or ridge < 0:
            raise ValueError(f"ridge is {ridge}; it must be 0 or above")
        whole("target", target, 0, x.shape[2] - 1, "name a channel of inputs")
        if normalise == "last":
            x, y = x - x[:, -1:], y - x[:, -1, target, None]
        flat = x.reshape(len(x), -1)
        middle, offset = flat.mean(axis=0), y.mean(axis=0)
        a, b = flat - middle, y - offset
        if ridge:
            a = np.vstack([a, np.sqrt(ridge) * np.eye(a.shape[1])])
            b = np.vstack([b, np.zeros((flat.shape[1], y.shape[1]))])
        weights = np.linalg.lstsq(a, b, rcond=None)[0]
        return cls(weights, offset - middle @ weights, normalise, x.shape[1:], target)

    def _windows(self, inputs: ArrayLike) -> Array:
        x = numbers("inputs", inputs, (2, 3))
        x = x[..., None] if x.ndim == 2 else x
        if x.shape[1:] != tuple(self.shape):
            raise ValueError(f"inputs has windows of shape {x.shape[1:]}; the model was fitted on {tuple(self.shape)}, samples and channels")
        return x

    def predict(self, inputs: ArrayLike) -> Array:
        """Forecasts (n, h) from windows (n, W) or (n, W, C)."""
        x = self._windows(inputs)
        last = x[:, -1, self.target, None] if self.normalise == "last" else 0.0
        x = x - x[:, -1:] if self.normalise == "last" else x
        return x.reshape(len(x), -1) @ self.weights + self.intercept + last

    def recursive(self, inputs: ArrayLike, horizon: int) -> Array:
        """Forecasts (n, horizon) by iterating the one-step forecast, each prediction appended to the window.

        Raises
        ------
        ValueError
            If the windows have more than one channel, whose future would have to be forecast as well.
        """
        x = self._windows(inputs)
        whole("horizon", horizon)
        if x.shape[2] != 1:
            raise ValueError(f"inputs has {x.shape[2]} channels; recursion knows the future of one only, use predict with direct targets")
        path = x[..., 0]
        for _ in range(horizon):
            path = np.concatenate([path, self.predict(path[:, -x.shape[1]:])[:, :1]], axis=1)
        return path[:, x.shape[1]:]
