"""Detectors on the residuals of a forecaster: what is unusual, since when, and from which threshold on.

Dimensions: a record has N samples, time on the first axis. Shape (N,) is one series; in shape (N, m) the m columns are
series of their own (channels, or days side by side); `lessonlib.residual_vectors` reads channels together.
A score has one value a sample. Where a window ends at the current sample, the first `window - 1` scores do not
exist and are NaN; thresholds skip them and they never alarm. NaN anywhere else is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count, finite, positive

SIDES = ("above", "below")


def series(name: str, value: ArrayLike) -> np.ndarray:
    """A finite float64 record of shape (N,) or (N, m), or a ValueError that names the argument."""
    array = finite(name, value)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}; it must be (samples,) or (samples, columns)")
    return array


def scores(name: str, value: ArrayLike) -> np.ndarray:
    """A record that may start with NaN, where a window is not full yet, and is finite from there on."""
    array = np.asarray(value, dtype=float)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; it must be (samples,) or (samples, columns) and not empty")
    missing = np.isnan(array)
    started = np.minimum.accumulate(missing, axis=0) != missing
    if np.isinf(array).any() or started.any() or missing.all(axis=0).any():
        raise ValueError(f"{name} holds NaN after its first value, infinity, or no value at all; only the samples before the "
                         "first full window may be NaN: repair gaps before monitoring, or use a shorter window")
    return array


def checked_side(side: str) -> str:
    """The side of a threshold on which alarms lie, or a ValueError."""
    if side not in SIDES:
        raise ValueError(f"side is {side!r}; it must be one of {', '.join(SIDES)}")
    return side


def checked_threshold(threshold: float) -> float:
    """A threshold that is a number, or a ValueError; infinite means no alarm."""
    if np.isnan(threshold):
        raise ValueError("threshold is NaN; compute it from held-out scores, as in lessonlib.thresholds")
    return threshold


def residuals(values: ArrayLike, predictions: ArrayLike) -> np.ndarray:
    """What was measured minus what was predicted, r_t = x_t - xhat_t, in the units of the record."""
    values, predictions = series("values", values), series("predictions", predictions)
    if values.shape != predictions.shape:
        raise ValueError(f"predictions has shape {predictions.shape} and values {values.shape}; each sample and channel "
                         "needs its own prediction")
    return values - predictions


def _merged(a: tuple[int, np.ndarray, np.ndarray], b: tuple[int, np.ndarray, np.ndarray]) -> tuple[int, np.ndarray, np.ndarray]:
    """Count, mean and sum of squared deviations of windows of `a`, each followed by the window of `b` that starts at its end."""
    (n, mean, square), (k, next_mean, next_square) = a, b
    length = min(len(mean), len(next_mean) - n)
    step = next_mean[n:n + length] - mean[:length]
    return (n + k, mean[:length] + step * (k / (n + k)),
            square[:length] + next_square[n:n + length] + step**2 * (n * k / (n + k)))


def _rolling(values: ArrayLike, window: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Mean and mean squared deviation of every full window, and the number of samples before the first.

    Windows are put together from halves (Chan, Golub and LeVeque 1983), so nothing outside a window ever enters
    it: a frozen sensor gives exactly zero, whatever came before and however large its level.
    """
    values, window = series("values", values), count("window", window)
    if window > len(values):
        raise ValueError(f"window is {window} and values has {len(values)} samples; use a window that fits, or a longer record")
    whole, block = None, (1, values, np.zeros_like(values))
    while True:
        if window & block[0]:
            whole = block if whole is None else _merged(whole, block)
        if whole is not None and whole[0] == window:
            return whole[1], whole[2] / window, window - 1
        block = _merged(block, block)


def _aligned(array: np.ndarray, missing: int) -> np.ndarray:
    """NaN for the samples before the first full window, so that score t belongs to sample t."""
    return np.concatenate([np.full((missing, *array.shape[1:]), np.nan), array])


def rolling_mean(values: ArrayLike, window: int) -> np.ndarray:
    """Mean of the last `window` samples, the current one included; NaN before the first full window."""
    mean, _, missing = _rolling(values, window)
    return _aligned(mean, missing)


def rolling_rms(values: ArrayLike, window: int) -> np.ndarray:
    """Root of the mean square of the last `window` samples; NaN before the first full window."""
    mean, variance, missing = _rolling(values, window)
    return _aligned(np.sqrt(mean**2 + variance), missing)


def rolling_std(values: ArrayLike, window: int) -> np.ndarray:
    """Population standard deviation of the last `window` samples; NaN before the first full window."""
    _, variance, missing = _rolling(values, window)
    return _aligned(np.sqrt(variance), missing)


def beyond(score: ArrayLike, threshold: float, *, side: str = "above") -> np.ndarray:
    """Where a score lies above (or below) its threshold, strictly; bool, shape of `score`."""
    score = scores("score", score)
    return score > checked_threshold(threshold) if checked_side(side) == "above" else score < checked_threshold(threshold)


def point_test(residual: ArrayLike, threshold: float) -> np.ndarray:
    """Where a single residual is larger than the threshold, on either side of zero: |r_t| > threshold."""
    return np.abs(series("residual", residual)) > positive("threshold", threshold)


class Cusum(NamedTuple):
    """Statistic S_t (at an alarm, the value that crossed the limit) and alarms, both of the shape of the input."""

    statistic: np.ndarray
    alarms: np.ndarray


def cusum(values: ArrayLike, reference: float, limit: float = np.inf) -> Cusum:
    """Page's one-sided CUSUM, S_t = max(0, S_{t-1} + v_t - reference) with S_0 = 0 (Page 1954).

    An alarm is raised where S_t > limit, and the next sample starts from zero again, so one lasting change gives
    alarms at intervals, and one short change gives one. Run it on standardised residuals to find a rise of their
    mean (on their negatives for a fall), and on their squares for a growth of their energy.

    Parameters
    ----------
    values : shape (N,) or (N, m)
    reference : float
        What is taken off each sample: half the smallest shift to be found, or a little above the normal mean of squares.
    limit : float
        Above zero; infinite for the statistic alone, as it is needed to choose a limit.
    """
    values = series("values", values)
    if not np.isfinite(reference) or not limit > 0:
        raise ValueError(f"reference is {reference} and limit {limit}; reference must be finite and limit above zero")
    statistic, alarms = np.empty_like(values), np.zeros(values.shape, dtype=bool)
    for column in np.ndindex(values.shape[1:]):
        _cusum_column(values[(slice(None), *column)] - reference, limit,
                      statistic[(slice(None), *column)], alarms[(slice(None), *column)])
    return Cusum(statistic, alarms)


def _cusum_column(steps: np.ndarray, limit: float, statistic: np.ndarray, alarms: np.ndarray) -> None:
    """Fill in one column: a walk less its lowest point so far is the same recursion, a stretch at a time."""
    start, carried, span = 0, 0.0, 256
    while start < len(steps):
        walk = carried + np.cumsum(steps[start:start + span])
        part = walk - np.minimum(0, np.minimum.accumulate(walk))
        over = part > limit
        length = int(over.argmax()) + 1 if over.any() else len(part)
        statistic[start:start + length] = part[:length]
        alarms[start + length - 1] = over[length - 1]
        carried, span = (0.0, 256) if over.any() else (part[-1], min(2 * span, 2**16))
        start += length


def persistence(exceeds: ArrayLike, k: int, n: int) -> np.ndarray:
    """Where at least k of the last n samples exceed, the current one included; bool, shape of `exceeds`."""
    exceeds, k, n = np.asarray(exceeds), count("k", k), count("n", n)
    if exceeds.dtype != bool or exceeds.ndim not in (1, 2) or exceeds.size == 0:
        raise ValueError(f"exceeds has shape {exceeds.shape} and type {exceeds.dtype}; it must be truth values, (samples,) or "
                         "(samples, columns): compare a score with a threshold first")
    if k > n:
        raise ValueError(f"k is {k} and n {n}; no more than n of n samples can exceed: lower k or raise n")
    total = np.cumsum(exceeds, axis=0)
    total[n:] = total[n:] - total[:-n] if n < len(total) else total[n:]
    return total >= k


def kth_largest(score: ArrayLike, k: int, n: int) -> np.ndarray:
    """The k-th largest of the last n scores; a threshold on it is the persistence rule k of n on the score itself.

    Returns
    -------
    np.ndarray, shape of `score`
        NaN before n scores exist.
    """
    score, k, n = series("score", score), count("k", k), count("n", n)
    if k > n or n > len(score):
        raise ValueError(f"k is {k}, n {n} and score has {len(score)} samples; they must not decrease in that order")
    windows = np.lib.stride_tricks.sliding_window_view(score, n, axis=0)
    return _aligned(np.partition(windows, n - k, axis=-1)[..., n - k], n - 1)
