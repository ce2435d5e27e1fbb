"""Gradient clipping, and a loss with a cliff, where it is needed.

Dimensions: a gradient is one array of any shape, and its norm is taken over all entries. The loss is that of one unit
after a number of steps, as a function of its weight. Everything is float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count, finite, positive


def one_unit_loss(w: ArrayLike, *, bias: float, target: float, steps: int, h_0: float = 1.0) -> tuple[np.ndarray, ...]:
    """Loss (h_T - target)^2 / 2 of one unit h_t = tanh(w h_{t-1} + bias), and its derivative in w.

    The derivative runs forwards with the state: dh_t/dw = (1 - h_t^2)(h_{t-1} + w dh_{t-1}/dw).

    Returns
    -------
    loss, derivative : np.ndarray, shape of `w`
    """
    w, steps = finite("w", w), count("steps", steps)
    h, dh = np.full_like(w, h_0), np.zeros_like(w)
    for _ in range(steps):
        previous, h = h, np.tanh(w * h + bias)
        dh = (1 - h**2) * (previous + w * dh)
    return (h - target) ** 2 / 2, (h - target) * dh


def clip_by_norm(gradient: ArrayLike, limit: float) -> np.ndarray:
    """Shorten a gradient to norm `limit` where it is longer, keeping its direction (Pascanu et al. 2013)."""
    gradient, limit = finite("gradient", gradient), positive("limit", limit)
    norm = np.linalg.norm(gradient)
    return gradient * (limit / norm) if norm > limit else gradient.copy()


def clip_by_value(gradient: ArrayLike, limit: float) -> np.ndarray:
    """Cut every component to the interval from -limit to limit; the direction may change."""
    return np.clip(finite("gradient", gradient), -positive("limit", limit), limit)
