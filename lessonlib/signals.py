"""Simulated signals for forecasting: a level that drifts, linear recursions, a chaotic map, a machine whose load is scheduled.

Dimensions: N samples in time, p coefficients. Noise is drawn from a generator that is passed in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.series import Array, numbers, whole


def drifting_vibration(generator: np.random.Generator, samples: int = 4000) -> Array:
    """Two oscillations, of 50 and 17 samples, on a level that rises by 0.003 a sample, with noise of deviation 0.05.

    Returns
    -------
    np.ndarray, shape (N,)
    """
    t = np.arange(whole("samples", samples))
    noise = generator.standard_normal(samples)
    return np.sin(2 * np.pi * t / 50) + 0.4 * np.sin(2 * np.pi * t / 17) + 0.003 * t + 0.05 * noise


def autoregression(drive: ArrayLike, coefficients: ArrayLike) -> Array:
    """The recursion x_t = a_1 x_{t-1} + ... + a_p x_{t-p} + drive_t, from rest.

    Parameters
    ----------
    drive : array_like, shape (N,)
        Noise, or noise and inputs.
    coefficients : array_like, shape (p,)
        a_1 first.

    Returns
    -------
    np.ndarray, shape (N,)
    """
    e, a = numbers("drive", drive, (1,)), numbers("coefficients", coefficients, (1,))
    x = np.concatenate([np.zeros(len(a)), e])
    for t in range(len(a), len(x)):
        x[t] += a @ x[t - len(a):t][::-1]
    return x[len(a):]


def parabola(x: ArrayLike) -> Array:
    """The map 3.8 x (1 - x), from 0 to 1 into itself: what the next value would be without noise."""
    value = numbers("x", x, tuple(range(9)))
    return 3.8 * value * (1 - value)


def noisy_parabola(generator: np.random.Generator, samples: int = 4000) -> Array:
    """A signal whose next value is the `parabola` of the present one, with noise of deviation 0.01, kept from 0 to 1.

    It is chaotic: neighbouring values separate by about a factor of 1.5 a step (the Lyapunov exponent of the map is 0.43).

    Returns
    -------
    np.ndarray, shape (N,)
    """
    noise = 0.01 * generator.standard_normal(whole("samples", samples))
    x = np.empty(samples)
    value = 0.4
    for t in range(samples):
        value = min(max(3.8 * value * (1 - value) + noise[t], 0.0), 1.0)
        x[t] = value
    return x


def loaded_machine(generator: np.random.Generator, samples: int = 4000) -> tuple[Array, Array]:
    """A signal that is noisier under load, and the load, which is scheduled and so known in advance.

    The load is 0 or 1 for stretches of 20 to 60 samples; the signal obeys x_t = 1.2 x_{t-1} - 0.5 x_{t-2} + 2 u_t + s_t e_t
    with noise of deviation s_t = 0.3 without load and 1.0 under it.

    Returns
    -------
    signal, load : np.ndarray, shape (N,)
    """
    whole("samples", samples)
    stretches = generator.integers(20, 61, size=samples // 20 + 1)
    load = np.repeat(np.arange(len(stretches)) % 2, stretches)[:samples].astype(float)
    noise = generator.standard_normal(samples) * np.where(load == 1, 1.0, 0.3)
    return autoregression(2 * load + noise, [1.2, -0.5]), load
