"""Four ways in which a forecast comes to know the future, each as a small experiment on random walks.

The best forecast of a random walk is its last value (`naive`), at every horizon and whatever the past. A score
is therefore given as RMSE divided by that of the naive forecast on the same targets: below 1 is more than a
forecaster can know, but for the luck of a finite test.

Each experiment draws its walks from a generator and returns three such ratios: evaluated with the leak; with the
same method and the leak closed; and in service, where the model that was built with the leak meets later data and
has only what exists at the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lessonlib.baselines import LinearAutoregression, naive
from lessonlib.forecast_metrics import rmse
from lessonlib.series import Array, fill_forward
from lessonlib.windows import Windows, make_windows

SAMPLES, BUILT, SERVICE = 1500, 1000, 1500  # a walk; samples known when the model is built; end of its service
Scores = tuple[float, float, float]


def ratio(windows: Windows, forecasts: Array) -> float:
    """RMSE divided by that of the naive forecast from channel 0 of the same windows."""
    return rmse(windows.targets, forecasts) / rmse(windows.targets, naive(windows.inputs[..., 0], windows.horizon))


def last_step(windows: Windows) -> Windows:
    """The same windows with the target h steps ahead alone, shape (n, 1)."""
    return replace(windows, targets=windows.targets[:, -1:], first=windows.first + windows.horizon - 1)


def neighbours(train: Windows, windows: Windows, k: int = 2) -> Array:
    """Mean target of the k training windows nearest to each window: a model that remembers and nothing else."""
    seen, asked = train.inputs[..., 0], windows.inputs[..., 0]
    distance = (asked**2).sum(1)[:, None] + (seen**2).sum(1) - 2 * asked @ seen.T
    return train.targets[np.argpartition(distance, k, axis=1)[:, :k]].mean(axis=1)


def shuffled_windows(generator: np.random.Generator, window: int = 16, horizon: int = 10) -> Scores:
    """Leak 1: overlapping windows are shuffled before they are split; the model is nearest neighbours."""
    windows = last_step(make_windows(generator.standard_normal(SAMPLES).cumsum(), window, horizon))
    built = windows.between(window, BUILT)
    order, cut = generator.permutation(len(built)), len(built) * 4 // 5
    train, test = built.rows(order[:cut]), built.rows(order[cut:])
    before, after = windows.between(window, 800), windows.between(800 + horizon, BUILT)
    service = windows.between(BUILT + horizon, SERVICE)
    return ratio(test, neighbours(train, test)), ratio(after, neighbours(before, after)), ratio(service, neighbours(train, service))


def running_scale(walks: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each walk up to each sample, shapes as `walks`, (runs, N)."""
    n = np.arange(1, walks.shape[1] + 1)
    mean = walks.cumsum(axis=1) / n
    return mean, np.sqrt(np.maximum((walks**2).cumsum(axis=1) / n - mean**2, 1e-9))


def whole_scale(walks: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each whole walk, at each of its samples."""
    return tuple(np.broadcast_to(part[:, None], walks.shape) for part in (walks.mean(axis=1), walks.std(axis=1)))


def scaled_examples(walks: Array, scale: Callable[[Array], tuple[Array, Array]], window: int, horizon: int) -> tuple[Array, ...]:
    """Windows and targets in z-scores, and the mean and deviation that they were made with, all (n, ...)."""
    mean, sd = scale(walks)
    ends = np.arange(100, walks.shape[1] - horizon, 5)                      # the last sample of each window
    past = walks[:, ends[:, None] - np.arange(window)[::-1]]                # (runs, ends, window)
    m, s = mean[:, ends], sd[:, ends]
    inputs, targets = (past - m[..., None]) / s[..., None], (walks[:, ends + horizon] - m) / s
    return inputs.reshape(-1, window), targets.reshape(-1, 1), m.reshape(-1, 1), s.reshape(-1, 1)


def whole_run_scaled(generator: np.random.Generator, runs: int = 40, length: int = 300, window: int = 16, horizon: int = 50) -> Scores:
    """Leak 2: each run is z-scored by its own mean and deviation, which include what is to be forecast."""
    train, test = generator.standard_normal((2, runs, length)).cumsum(axis=2)

    def fitted(scale: Callable[[Array], tuple[Array, Array]]) -> LinearAutoregression:
        inputs, targets, _mean, _sd = scaled_examples(train, scale, window, horizon)
        return LinearAutoregression.fit(inputs, targets, normalise="none")

    def scored(model: LinearAutoregression, scale: Callable[[Array], tuple[Array, Array]]) -> float:
        inputs, targets, mean, sd = scaled_examples(test, scale, window, horizon)
        actual, last = targets * sd + mean, inputs[:, -1:] * sd + mean
        return rmse(actual, model.predict(inputs) * sd + mean) / rmse(actual, last)

    leaking = fitted(whole_scale)
    return scored(leaking, whole_scale), scored(fitted(running_scale), running_scale), scored(leaking, running_scale)


def outages(generator: np.random.Generator, samples: int) -> Array:
    """Which samples a logger lost, bool: stretches of 1 to 5, about four in ten samples, none at the very start."""
    lost = np.zeros(samples, dtype=bool)
    start = 20
    while start < samples:
        length = int(generator.integers(1, 6))
        lost[start:start + length] = True
        start += length + int(generator.integers(1, 9))
    return lost


def filled_gaps(generator: np.random.Generator, window: int = 8) -> Scores:
    """Leak 3: gaps are filled by straight lines, whose far end lies in the future; the model is linear, one step ahead."""
    walk = generator.standard_normal(SAMPLES).cumsum()
    lost, times = outages(generator, SAMPLES), np.arange(SAMPLES)
    measured = lambda windows: windows.rows(~lost[windows.first])          # a filled value is nothing to be scored on
    drawn = make_windows(np.interp(times, times[~lost], walk[~lost]), window)
    held = make_windows(fill_forward(np.where(lost, np.nan, walk)), window)
    test = measured(held.between(BUILT, SERVICE))

    def fitted(windows: Windows) -> LinearAutoregression:
        train = measured(windows.between(window, BUILT))
        return LinearAutoregression.fit(train.inputs, train.targets)

    leaking = fitted(drawn)
    seen = measured(drawn.between(BUILT, SERVICE))
    floor = rmse(test.targets, naive(test.inputs[..., 0]))
    return (rmse(seen.targets, leaking.predict(seen.inputs)) / floor, ratio(test, fitted(held).predict(test.inputs)),
            ratio(test, leaking.predict(test.inputs)))


def chosen_on_test(generator: np.random.Generator, horizon: int = 10) -> Scores:
    """Leak 4: of 440 rules x_t + c (x_t - x_{t-k}), the one that does best on the test period is reported."""
    walk = generator.standard_normal(SAMPLES).cumsum()
    lags, gains = np.arange(1, 41), np.linspace(-0.5, 0.5, 11)              # a gain of 0 is the naive forecast

    def scores(start: int, stop: int) -> Array:
        t = np.arange(start, stop - horizon)
        change, momentum = walk[t + horizon] - walk[t], walk[t] - walk[t - lags[:, None]]
        errors = change - gains[:, None, None] * momentum                   # (gains, lags, t)
        return np.sqrt((errors**2).mean(axis=2) / (change**2).mean()).ravel()

    validation, test, service = scores(600, 800), scores(800, BUILT), scores(BUILT, SERVICE)
    return float(test.min()), float(test[validation.argmin()]), float(service[test.argmin()])


LEAKS: dict[str, Callable[[np.random.Generator], Scores]] = {
    "windows shuffled before the split": shuffled_windows, "scaled by the whole run": whole_run_scaled,
    "gaps filled by straight lines": filled_gaps, "chosen on the test period": chosen_on_test}


def three_scores(leak: Callable[[np.random.Generator], Scores], seeds: range) -> Array:
    """The three ratios of a leak for each seed, shape (seeds, 3): with the leak, without it, in service."""
    if not len(seeds):
        raise ValueError("seeds is empty; give at least one")
    return np.array([leak(np.random.default_rng(seed)) for seed in seeds])
