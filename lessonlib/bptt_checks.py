"""Checks of backpropagation through time: central differences, the double sum, and real-time recurrent learning.

Dimensions: B sequences of T steps, width H, inputs d_in, outputs d_out. The double sum and real-time recurrent
learning take one sequence and small widths; they are references, far slower than `lessonlib.bptt`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.bptt import NAMES, Array, Weights, forward

SMALLEST = 1e-12  # below this a derivative counts as zero


class Checked(NamedTuple):
    """One parameter: its name, entries compared, entries whose derivative is not zero, largest relative error."""

    name: str
    compared: int
    not_zero: int
    worst: float


def relative_error(analytic: float, numeric: float) -> float:
    """The difference of two derivatives as a share of the larger of them (at least 1e-12)."""
    return abs(analytic - numeric) / max(abs(analytic), abs(numeric), SMALLEST)


def chosen_entries(gradient: Array, entries: int | None, rng: np.random.Generator) -> list[int]:
    """Positions to compare: up to `entries` where the gradient is not zero and as many where it is, or all."""
    if entries is None:
        return list(range(gradient.size))
    chosen: list[int] = []
    for group in (np.flatnonzero(gradient), np.flatnonzero(gradient == 0)):
        chosen += rng.permutation(group)[:entries].tolist()
    return chosen


def check_gradients(loss: Callable[[], float], arrays: dict[str, Array], gradients: dict[str, Array], *,
                    rng: np.random.Generator, entries: int | None = 5, eps: float = 1e-5) -> list[Checked]:
    """Compare gradients with central differences, (L(v + eps) - L(v - eps)) / 2 eps, entry by entry.

    Parameters
    ----------
    loss : callable
        Computes the loss from the arrays as they are; the check changes one entry at a time and puts it back.
    arrays, gradients : dict of arrays of equal names and shapes, float64
        What the loss depends on, and the gradients under test.
    entries : int or None
        Entries of each array with a non-zero gradient to compare, and as many with a zero one; None takes all.

    Returns
    -------
    list of Checked
        `not_zero` of 0 means that nothing was tested: both derivatives vanished at every entry compared.

    Raises
    ------
    ValueError
        For names or shapes that differ, for arrays that are not float64, and for an `eps` that is not above 0.
    """
    if arrays.keys() != gradients.keys() or not arrays or not eps > 0:
        raise ValueError(f"arrays has {list(arrays)}, gradients {list(gradients)}, eps is {eps}; the names must be "
                         "equal and at least one, eps above 0")
    report = []
    for name, array in arrays.items():
        if array.dtype != np.float64 or array.shape != gradients[name].shape:
            raise ValueError(f"{name} has type {array.dtype} and shape {array.shape}; it must be float64 and of the "
                             f"shape of its gradient, {gradients[name].shape}")
        positions = chosen_entries(gradients[name], entries, rng)
        pairs = [(gradients[name].flat[i], central_difference(loss, array, i, eps)) for i in positions]
        report.append(Checked(name, len(pairs), int(sum(max(abs(a), abs(n)) > SMALLEST for a, n in pairs)),
                              max(relative_error(a, n) for a, n in pairs)))
    return report


def central_difference(loss: Callable[[], float], array: Array, position: int, eps: float) -> float:
    """Derivative of the loss with respect to one entry of an array, which is left as it was."""
    original = array.flat[position]
    values = []
    try:
        for moved in (original + eps, original - eps):
            array.flat[position] = moved
            values.append(loss())
    finally:
        array.flat[position] = original
    return float(values[0] - values[1]) / (2 * eps)


def by_name(weights: Weights) -> dict[str, Array]:
    """The five arrays of `weights` under their names, as views."""
    return {name: getattr(weights, name) for name in NAMES}


def jacobian_transposed(W_h: Array, h: Array) -> Array:
    """J_k^T = W_h^T diag(phi'(z_k)) for the state h_k = tanh(z_k), shape (H, H)."""
    return W_h.T * (1 - h**2)


def separate_signals(weights: Weights, inputs: ArrayLike, output_gradients: ArrayLike,
                     initial_state: ArrayLike | None = None) -> tuple[Array, int]:
    """The signal dL_s/dz_t of every loss s at every step t, each by its own product of Jacobians.

    Parameters
    ----------
    inputs, output_gradients : (T, d_in) or (T,) ids, and (T, d_out)
        One sequence; the gradient of L_s at y_s in row s.
    initial_state : (H,), optional

    Returns
    -------
    signals : (T, T, H)
        `signals[s - 1, t - 1]`; zero where t > s.
    products : int
        Matrix-vector products with a Jacobian that were needed.
    """
    start = None if initial_state is None else np.asarray(initial_state)[None]
    h = forward(weights, np.asarray(inputs)[None], start).states[1:, 0]
    dy = np.asarray(output_gradients)
    signals, products = np.zeros((len(h), *h.shape)), 0
    for s in range(len(h)):
        for t in range(s + 1):
            delta = weights.W_y.T @ dy[s]
            for k in range(s, t, -1):                        # the factor nearest the loss acts first
                delta = jacobian_transposed(weights.W_h, h[k]) @ delta
                products += 1
            signals[s, t] = (1 - h[t] ** 2) * delta
    return signals, products


def double_sum(signals: Array, states: Array) -> Array:
    """dL/dW_h as the sum over s and t <= s of dL_s/dz_t h_{t-1}^T, for states (T + 1, H) from h_0 on; (H, H)."""
    return sum(np.outer(signals[s, t], states[t]) for s in range(len(signals)) for t in range(s + 1))


def real_time_gradients(weights: Weights, inputs: ArrayLike, output_gradients: ArrayLike,
                        initial_state: ArrayLike | None = None) -> Weights:
    """The gradient of every weight, computed forwards (real-time recurrent learning, Williams and Zipser 1989).

    The sensitivity S_t of the state to the weights of the recurrence, (H, H, H + d_in + 1), follows
    S_t = diag(phi'(z_t)) (W_h S_{t-1} + D_t), where entry i, i of D_t is [h_{t-1}; x_t; 1].

    Parameters
    ----------
    inputs, output_gradients, initial_state
        As for `separate_signals`.
    """
    hidden, width = weights.W_x.shape
    start = None if initial_state is None else np.asarray(initial_state)[None]
    tape = forward(weights, np.asarray(inputs)[None], start)
    h, x = tape.states[:, 0], tape.inputs[:, 0]
    x = np.eye(width)[x] if x.ndim == 1 else x
    sums, recurrence = Weights(weights), np.zeros((hidden, hidden + width + 1))
    sums.flat[:] = 0
    S = np.zeros((hidden, *recurrence.shape))
    for t, dy in enumerate(np.asarray(output_gradients)):
        S = np.tensordot(weights.W_h, S, axes=1)             # H times H^2 (and more) products: the cost
        S[np.arange(hidden), np.arange(hidden)] += np.concatenate([h[t], x[t], [1.0]])
        S *= (1 - h[t + 1] ** 2)[:, None, None]
        recurrence += np.tensordot(weights.W_y.T @ dy, S, axes=1)
        sums.W_y += np.outer(dy, h[t + 1])
        sums.c += dy
    sums.W_h[:], sums.W_x[:], sums.b[:] = recurrence[:, :hidden], recurrence[:, hidden:-1], recurrence[:, -1]
    return sums


def chain(factors: Sequence[Array]) -> Array:
    """The product of matrices from left to right, (H, H)."""
    return np.linalg.multi_dot(list(factors)) if len(factors) > 1 else factors[0]
