"""Products of Jacobians: how far an error signal travels back through a recurrence, and what bounds it.

Dimensions: H is the width of the state, T the number of steps, n a lag from 0 to T, and `...` stands for any
leading axes (several networks at once, one matrix each). States are columns, h_t = phi(z_t) with
z_t = W_h h_{t-1} + x_t and x_t already mapped to width H; the error signal delta_t = dL/dh_t walks back by
delta_{t-1} = W_h^T (phi'(z_t) * delta_t), `*` entry by entry. Everything is float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count, finite, positive, square
from lessonlib.matrices import largest_singular_value, scaled_orthogonal

ACTIVATIONS = ("tanh", "linear")


def powers_table(factors: Sequence[float], lags: Sequence[int]) -> np.ndarray:
    """Every factor raised to every lag: the gradient of a linear unit, d h_T / d h_{T-n} = w^n.

    Returns
    -------
    np.ndarray, shape (len(factors), len(lags))
    """
    if min(lags, default=-1) < 0:
        raise ValueError(f"lags is {list(lags)}; it must hold at least one lag and none below 0")
    return finite("factors", factors)[:, None] ** np.asarray(lags, float)[None, :]


def run_recurrence(W_h: ArrayLike, inputs: ArrayLike, h_0: ArrayLike | None = None, *,
                   activation: str = "tanh") -> tuple[np.ndarray, np.ndarray]:
    """States and slopes of h_t = phi(W_h h_{t-1} + x_t).

    Parameters
    ----------
    W_h, inputs : array_like, shapes (..., H, H) and (..., T, H)
    h_0 : array_like, shape (..., H), optional
        Start state; zero where it is not given.
    activation : {"tanh", "linear"}

    Returns
    -------
    states, slopes : np.ndarray, shapes (..., T + 1, H) and (..., T, H)
        `states[..., 0, :]` is h_0; `slopes[..., t - 1, :]` is phi'(z_t).
    """
    W_h, inputs = square("W_h", W_h), finite("inputs", inputs)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}")
    if inputs.ndim < 2 or inputs.shape[-1] != W_h.shape[-1] or inputs.shape[-2] == 0:
        raise ValueError(f"inputs has shape {inputs.shape}; it must be (..., T, {W_h.shape[-1]}) with T at least 1")
    state = np.zeros_like(inputs[..., 0, :]) if h_0 is None else finite("h_0", h_0)
    if state.shape != inputs[..., 0, :].shape:
        raise ValueError(f"h_0 has shape {state.shape}; it must be {inputs[..., 0, :].shape}")
    states, slopes = [state], []
    for t in range(inputs.shape[-2]):
        z = (W_h @ state[..., None])[..., 0] + inputs[..., t, :]  # (..., H)
        state = np.tanh(z) if activation == "tanh" else z
        states.append(state)
        slopes.append(1 - state**2 if activation == "tanh" else np.ones_like(z))
    return np.stack(states, axis=-2), np.stack(slopes, axis=-2)


def error_signals(W_h: ArrayLike, slopes: ArrayLike, delta_T: ArrayLike) -> np.ndarray:
    """The error signal at every state, from the last to the first.

    Parameters
    ----------
    W_h, slopes, delta_T : array_like, shapes (..., H, H), (..., T, H) and (..., H)

    Returns
    -------
    np.ndarray, shape (..., T + 1, H)
        Entry n of the axis of steps is the signal at lag n; entry T lands on h_0.
    """
    W_h, slopes = square("W_h", W_h), finite("slopes", slopes)
    delta, width = finite("delta_T", delta_T), W_h.shape[-1]
    if slopes.ndim < 2 or slopes.shape[-1] != width or delta.shape[-1] != width:
        raise ValueError(f"slopes has shape {slopes.shape} and delta_T {delta.shape}; "
                         f"they must be (..., T, {width}) and (..., {width})")
    signals = [delta]
    W_h_T = np.swapaxes(W_h, -1, -2)
    for t in range(slopes.shape[-2] - 1, -1, -1):
        delta = (W_h_T @ (slopes[..., t, :] * delta)[..., None])[..., 0]  # W_h^T (phi' * delta)
        signals.append(delta)
    return np.stack(signals, axis=-2)


def jacobian_product(W_h: ArrayLike, slopes: ArrayLike) -> np.ndarray:
    """The product J_T ... J_1 = d h_T / d h_0 with J_t = diag(phi'(z_t)) W_h, shape (..., H, H)."""
    W_h, slopes = square("W_h", W_h), finite("slopes", slopes)
    product = np.broadcast_to(np.eye(W_h.shape[-1]), W_h.shape)
    for t in range(slopes.shape[-2]):
        product = (slopes[..., t, :, None] * W_h) @ product
    return product


def gradient_bound(W_h: ArrayLike, lags: Sequence[int], *, gamma: float = 1.0) -> np.ndarray:
    """The bound (gamma sigma_max)^n on the norm at each lag (Pascanu et al. 2013), shape (..., len(lags))."""
    stretch = positive("gamma", gamma) * largest_singular_value(W_h)
    return stretch[..., None] ** np.asarray(lags, float)


def gradient_norms_through_tanh(rho: float, sigma_x: float, rngs: Sequence[np.random.Generator], *,
                                size: int = 32, steps: int = 100) -> np.ndarray:
    """Norm of a random unit error signal sent back through tanh networks, one network for each generator.

    Each generator draws, in this order: H x H normal numbers for the orthogonal matrix, T x H for the
    inputs (times `sigma_x`), H for the direction of the error signal. The start state is zero.

    Parameters
    ----------
    rho, sigma_x : float
        Scale of the orthogonal matrix, above 0; standard deviation of the inputs, 0 or above.
    rngs : sequence of np.random.Generator
    size, steps : int
        H and T, at least 1.

    Returns
    -------
    np.ndarray, shape (len(rngs), steps + 1)
        Entry n of a row is the norm at lag n; entry 0 is 1.
    """
    sigma_x, steps = positive("sigma_x", sigma_x, or_zero=True), count("steps", steps)
    if not len(rngs):
        raise ValueError("rngs is empty; it must hold at least one generator")
    matrices, inputs, deltas = [], [], []
    for rng in rngs:
        matrices.append(scaled_orthogonal(size, rho, rng))
        inputs.append(sigma_x * rng.standard_normal((steps, size)))
        direction = rng.standard_normal(size)
        deltas.append(direction / np.linalg.norm(direction))
    W_h = np.stack(matrices)
    _, slopes = run_recurrence(W_h, np.stack(inputs))
    return np.linalg.norm(error_signals(W_h, slopes, np.stack(deltas)), axis=-1)


def mean_field_factor(rho: float, sigma_x: float, *, nodes: int = 300) -> tuple[float, float]:
    """Variance of the pre-activations and factor per step of the error signal, for a wide tanh network.

    With z normal of variance v, solves v = rho^2 E[tanh(z)^2] + sigma_x^2 and returns v together with
    chi = rho sqrt(E[(1 - tanh(z)^2)^2]). The mean-field limit of wide random networks (Chen et al. 2018).

    Parameters
    ----------
    rho, sigma_x : float
        As in `gradient_norms_through_tanh`.
    nodes : int
        Points of the Gauss-Hermite rule that computes the expectations; 101 are too few for rho = 3.
    """
    rho, sigma_x = positive("rho", rho), positive("sigma_x", sigma_x, or_zero=True)
    points, weights = np.polynomial.hermite_e.hermegauss(count("nodes", nodes))
    weights = weights / weights.sum()
    variance = rho**2 + sigma_x**2
    for _ in range(5000):
        previous = variance
        variance = rho**2 * (weights @ np.tanh(np.sqrt(variance) * points) ** 2) + sigma_x**2
        if abs(variance - previous) < 1e-15:
            break
    slopes = 1 - np.tanh(np.sqrt(variance) * points) ** 2
    return float(variance), float(rho * np.sqrt(weights @ slopes**2))
