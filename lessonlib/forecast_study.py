"""What the comparisons of the forecasting chapter repeat: small networks, baselines side by side, walk-forward tables.

Dimensions: N samples of a series, n windows of W samples and C channels, h steps ahead, H width of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from lessonlib.baselines import LinearAutoregression, drift, mean_forecast, naive, seasonal_drift, seasonal_naive
from lessonlib.forecast_metrics import coverage, mase
from lessonlib.forecasters import LSTMForecaster, fit_forecaster, forecast
from lessonlib.intervals import conformal_margin, gaussian_interval, interval_scores, widen
from lessonlib.scaling import SeriesScale
from lessonlib.series import Array, numbers, whole
from lessonlib.windows import Windows, make_windows, walk_forward


def fitted_with_seed(build: Callable[[], nn.Module], windows: Windows, seed: int, **training: Any) -> nn.Module:
    """A network whose weights, dropout and order of windows follow from one seed; `training` as for `fit_forecaster`."""
    torch.manual_seed(seed)
    network = build()
    fit_forecaster(network, *windows.tensors(), generator=torch.Generator().manual_seed(seed), **training)
    return network


def small_lstm(windows: Windows, seed: int, *, hidden_size: int = 16, per_window: bool = True, **training: Any) -> nn.Module:
    """One LSTM layer with an output for each target of the windows, trained on them; `training` as for `fit_forecaster`."""
    def build() -> nn.Module:
        return LSTMForecaster(hidden_size, windows.horizon, channels=windows.inputs.shape[2], layers=1, dropout=0, per_window=per_window)
    return fitted_with_seed(build, windows, seed, **training)


def answers(network: nn.Module, windows: Windows) -> Array:
    """Forecasts (n, h) of a network for windows, float64."""
    return forecast(network, windows.tensors()[0]).numpy().astype(float)


def side_by_side(train: Windows, test: Windows, history: ArrayLike, season: int) -> dict[str, Array]:
    """Every baseline on the test windows, each (n, h).

    Parameters
    ----------
    train, test : Windows
        Channel 0 is forecast; the test windows hold at least one season and one sample.
    history : array_like, shape (N,)
        The training samples, for their mean.
    season : int
    """
    h, past = test.horizon, test.inputs[..., 0]
    one_step = LinearAutoregression.fit(train.inputs, train.targets[:, :1])
    return {"naive": naive(past, h), "drift": drift(past, h), "mean": np.broadcast_to(mean_forecast(history, h), test.targets.shape),
            "seasonal naive": seasonal_naive(past, h, season), "seasonal naive and drift": seasonal_drift(past, h, season),
            "linear, recursive": one_step.recursive(test.inputs, h),
            "linear, direct": LinearAutoregression.fit(train.inputs, train.targets).predict(test.inputs),
            "linear, level kept": LinearAutoregression.fit(train.inputs, train.targets, normalise="none").predict(test.inputs)}


def compare_walk_forward(series: ArrayLike, *, window: int, horizon: int, season: int, first_origin: int, block: int,
                         seeds: Sequence[int], **training: Any) -> dict[str, Array]:
    """MASE of the baselines and of a small LSTM, both normalisations, refitted at each origin of a walk-forward evaluation.

    Parameters
    ----------
    series : array_like, shape (N,)
    season : int
        Of the baselines and of the scale.
    seeds : sequence of int
        One training of the network each.
    **training
        As for `fit_forecaster`.

    Returns
    -------
    dict of np.ndarray, shape (folds, trainings); one training for what has no seed
    """
    x = numbers("series", series, (1,))
    if not len(seeds):
        raise ValueError("seeds is empty; give at least one")
    table: dict[str, list[list[float]]] = {}
    for fold in walk_forward(len(x), first_origin=whole("first_origin", first_origin), block=block):
        history = x[fold.train]
        scale = SeriesScale.fit(history)
        train, test = fold.split(make_windows(scale.apply(x), window, horizon))
        made = {name: [f] for name, f in side_by_side(train, test, scale.apply(history), season).items()}
        for name, per_window in (("LSTM, global", False), ("LSTM, per window", True)):
            made[name] = [answers(small_lstm(train, seed, per_window=per_window, **training), test) for seed in seeds]
        for name, forecasts in made.items():
            table.setdefault(name, []).append([mase(scale.undo(test.targets), scale.undo(f), history, season) for f in forecasts])
    return {name: np.array(rows) for name, rows in table.items()}


def calibrated_coverage(ends: Callable[[Windows], tuple[Array, Array]], held: Windows, test: Windows, busy_held: Array,
                        busy: Array) -> Array:
    """Coverage on test windows of nine-in-ten intervals as given, with one conformal margin, and with one for each state.

    Parameters
    ----------
    ends : callable
        Lower and upper ends, each (n, 1), for windows.
    held, test : Windows
        Held out for calibration, and for judging; one step ahead.
    busy_held, busy : np.ndarray, shape (n,), bool
        Which of their windows are in the second state.

    Returns
    -------
    np.ndarray, shape (3, 4)
        A row each; columns: overall, first state, second state, mean width.
    """
    low, high = ends(test)
    outside = interval_scores(held.targets, *ends(held))
    one = conformal_margin(outside)
    each = np.where(busy[:, None], conformal_margin(outside[busy_held]), conformal_margin(outside[~busy_held]))
    rows = []
    for a, b in ((low, high), widen(low, high, one), (low - each, high + each)):
        rows.append([coverage(test.targets[k], a[k], b[k]) for k in (slice(None), ~busy, busy)] + [(b - a).mean()])
    return np.array(rows)


class IntervalForecaster(nn.Module):
    """An LSTM layer whose last state goes to a head of `lessonlib.intervals`.

    Parameters
    ----------
    channels : int
        C
    head : nn.Module
        `GaussianHead` or `QuantileHead`.
    hidden_size : int
        H, as the head expects it.
    """

    def __init__(self, channels: int, head: nn.Module, hidden_size: int = 24) -> None:
        super().__init__()
        self.recurrence = nn.LSTM(whole("channels", channels), whole("hidden_size", hidden_size), batch_first=True)
        self.head = head

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """What the head makes of the state after windows (B, W, C)."""
        return self.head(self.recurrence(x)[0][:, -1])

    @torch.no_grad()
    def interval(self, windows: Windows, share: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends, each (n, h): the Gaussian interval of `share`, or the outermost quantiles of the head."""
        out = self(windows.tensors()[0])
        if isinstance(out, tuple):
            return gaussian_interval(*out, share)
        return out[..., 0].numpy().astype(float), out[..., -1].numpy().astype(float)
