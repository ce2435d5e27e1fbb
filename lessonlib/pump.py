"""A pump that supplies a pipe at a changing demand: the simulated machine that the monitoring chapter watches, at 1 Hz.

Dimensions: N samples (seconds) in a row, R rows side by side (days, or repetitions of a fault), m = 3 channels: pressure
in bar, motor current in A, temperature in degrees Celsius. Records have shape (N, R, m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count, finite
from lessonlib.monitoring import series

CHANNELS = ("pressure, bar", "current, A", "temperature, °C")
CHANGES_A_DAY = 12  # new set points, on average
PERIOD = 9.0        # of the oscillation of the water column, seconds
DAY = 86_400
DAMPING = 0.9       # what is left of that oscillation after a second


def filtered(values: ArrayLike, factor: complex) -> np.ndarray:
    """The recursion y_t = factor y_{t-1} + v_t with y before the first zero, time on the first axis.

    The filter 1 / (1 - a z) is the product of (1 + a^(2^j) z^(2^j)), so strides that double replace the loop, down
    to rounding.
    """
    y = np.array(values, dtype=complex if isinstance(factor, complex) else float)
    if y.size == 0 or not np.isfinite(y).all() or not abs(factor) < 1:
        raise ValueError(f"values has shape {y.shape} and factor is {factor}; values must be finite and not empty, and factor below 1 in size")
    stride = 1
    while stride < len(y) and abs(factor) ** stride > 1e-18:
        y[stride:] += factor**stride * y[:-stride]
        stride *= 2
    return y


def correlated(noise: ArrayLike, phi: float) -> np.ndarray:
    """Noise with autocorrelation phi^lag and unchanged variance: y_t = phi y_{t-1} + sqrt(1 - phi^2) e_t, real phi."""
    return np.sqrt(1 - phi**2) * filtered(noise, phi)


def simulate(samples: int, rows: int, rng: np.random.Generator, *, excitation: ArrayLike = 1.0, period: ArrayLike = PERIOD,
             burn_in: int = 3600) -> np.ndarray:
    """Records of the pump; every row is independent of the others.

    An operator sets a new demand now and then and a valve follows it; demand also wanders. The water column in the
    pipe oscillates, driven by turbulence that comes in gusts of some ten seconds and grows and
    calms over half an hour, and the motor feels both with a lag.
    Only the pressure feels the level of the supply tank, which wanders over an hour.

    Parameters
    ----------
    samples, rows : int
        N and R.
    excitation : float or shape (N,)
        Factor on the strength of the turbulence; above 1 where the pump cavitates.
    period : float or shape (N,)
        Of the water column in samples, above 2; longer where trapped air softens it.
    burn_in : int
        Samples that are simulated first, with the first values of excitation and period, and thrown away.

    Returns
    -------
    np.ndarray, shape (N, R, 3)
    """
    samples, rows = count("samples", samples), count("rows", rows)
    if burn_in < 0:
        raise ValueError(f"burn_in is {burn_in}; it must be 0 or more samples")
    drive, turns = (_by_sample(name, value, samples, burn_in) for name, value in (("excitation", excitation), ("period", period)))
    if drive.min() < 0 or turns.min() <= 2:
        raise ValueError("excitation must not be negative and period must be above 2 samples everywhere")
    return np.stack([_row(drive, 2 * np.pi / turns, rng)[burn_in:] for _ in range(rows)], axis=1)


def _row(drive: np.ndarray, angle: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One record of shape (N, 3), from the excitation and from the angle by which the water column turns at each sample."""
    changes = rng.random(len(drive)) < CHANGES_A_DAY / DAY
    set_points = rng.standard_normal(1 + changes.sum())[np.cumsum(changes)]
    wander, slow, gusts, level, kicks, *noise = rng.standard_normal((8, len(drive)))
    demand = filtered(set_points / 15, 14 / 15) + 0.3 * correlated(wander, 1 - 1 / 300)
    strength = 0.15 * correlated(slow, 1 - 1 / 1800) + 0.25 * correlated(gusts, 1 - 1 / 10)
    turbulence = 0.04 * drive * np.exp(strength) * kicks
    turn = np.exp(1j * np.cumsum(angle))
    column = (turn * filtered(turbulence / turn, complex(DAMPING))).real       # the oscillator, seen from axes that turn with it
    current = 40 + filtered((4 * demand + 9 * column) / 3, 2 / 3)
    temperature = 20 + 0.9 * (40 + filtered((current - 40) / 900, 899 / 900))
    pressure = 6 - 0.4 * demand + column + 0.05 * correlated(level, 1 - 1 / 3600)
    clean = np.stack([pressure, current, temperature], axis=1)
    return clean + np.array([0.005, 0.01, 0.02]) * np.stack(noise, axis=1)


def _by_sample(name: str, value: ArrayLike, samples: int, burn_in: int) -> np.ndarray:
    """One value for each sample, the first of them also for the burn-in, from one for all or one for each."""
    value = finite(name, value)
    if value.shape not in ((), (samples,)):
        raise ValueError(f"{name} has shape {value.shape}; it must be a number or have shape ({samples},), one for each sample")
    return np.concatenate([np.full(burn_in, value.flat[0]), np.broadcast_to(value, (samples,))])


def lagged(record: ArrayLike, window: int) -> np.ndarray:
    """The last `window` samples before each sample from number `window` on, and a one: shape (N - window, window m + 1)."""
    record = series("record", record)
    if count("window", window) >= len(record):
        raise ValueError(f"window is {window} and record has {len(record)} samples; use a shorter window or a longer record")
    columns = record.reshape(len(record), -1)
    past = [columns[window - lag:len(columns) - lag] for lag in range(1, window + 1)]
    return np.concatenate([*past, np.ones((len(columns) - window, 1))], axis=1)


class Autoregression:
    """Linear prediction of the next sample from the last `window` samples of the given channels, by least squares.

    Parameters
    ----------
    record : shape (N,) or (N, m)
        Training data; every channel is predicted from the past of all.
    window : int
    """

    def __init__(self, record: ArrayLike, window: int) -> None:
        design = lagged(record, window)
        if len(design) <= design.shape[1]:
            raise ValueError(f"record gives {len(design)} examples for {design.shape[1]} weights; use a longer record or a shorter window")
        self.window = window
        self.weights = np.linalg.lstsq(design, np.asarray(record, dtype=float)[window:], rcond=None)[0]

    def residuals(self, record: ArrayLike) -> np.ndarray:
        """What was measured minus what was predicted, from sample `window` on: shape (N - window,) or (N - window, m)."""
        return np.asarray(record, dtype=float)[self.window:] - lagged(record, self.window) @ self.weights
