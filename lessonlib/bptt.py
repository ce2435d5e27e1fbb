"""Backpropagation through time for the Elman network, in NumPy: gradients of every weight and of the initial state.

What a caller needs:
    weights = Weights(initial_network(37, 128, 37, rng), np.float32)   # five arrays, views of one vector `flat`
    tape = forward(weights, inputs, state)                             # states and outputs of all steps
    result = backward(weights, tape, output_gradients)                 # for any loss, from its gradients dL/dy_t
    result.weights.W_h, result.weights.flat, result.initial_state
    weights.flat -= 0.1 * result.weights.flat                          # one update of all weights
The loss of predicting symbols, whole and truncated, stands in `lessonlib.sequence_loss`. How the gradients are checked,
and two slower ways to them, stand in `lessonlib.bptt_checks`.

Dimensions: B sequences of T steps, width H, inputs d_in, outputs d_out. `inputs` are vectors (B, T, d_in) or ids (B, T)
of integers below d_in, which stand for one-hot vectors. A tape keeps time first: one step of all sequences is then one
block of memory.
With phi = tanh, delta_t = dL/dh_t and g_t = dL/dz_t (Rumelhart et al. 1986; Werbos 1990):
    delta_t = W_y^T dL_t/dy_t + W_h^T g_{t+1},   g_t = (1 - h_t^2) * delta_t,   dL/dW_h = sum_t g_t h_{t-1}^T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from lessonlib.recurrent import RecurrentNetwork

Array = NDArray[np.floating]
NAMES = ("W_h", "W_x", "b", "W_y", "c")


class Weights:
    """The five arrays of a network, or a gradient of the same shapes, as views of one vector `flat`.

    Attributes
    ----------
    flat : (P,)
        All numbers; changing it changes the arrays, and the other way round.
    W_h, W_x, b, W_y, c : (H, H), (H, d_in), (H,), (d_out, H), (d_out,)
    """

    W_h: Array
    W_x: Array
    b: Array
    W_y: Array
    c: Array

    def __init__(self, network: RecurrentNetwork | Weights, dtype: DTypeLike | None = None) -> None:
        arrays = [getattr(network, name) for name in NAMES]
        self.flat = np.concatenate([array.ravel() for array in arrays]).astype(dtype or arrays[0].dtype)
        if self.flat.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype is {self.flat.dtype}; it must be float32 or float64")
        start = 0
        for name, array in zip(NAMES, arrays, strict=True):
            setattr(self, name, self.flat[start:start + array.size].reshape(array.shape))
            start += array.size

    def network(self) -> RecurrentNetwork:
        """A copy as the network of `lessonlib.recurrent`, in float64."""
        return RecurrentNetwork(*(getattr(self, name).astype(np.float64) for name in NAMES))


@dataclass
class Tape:
    """What a forward pass keeps for the backward pass.

    Attributes
    ----------
    inputs : (T, B) ids or (T, B, d_in) vectors
    states : (T + 1, B, H)
        `states[0]` is the initial state.
    outputs : (T, B, d_out)
    """

    inputs: NDArray
    states: Array
    outputs: Array


class Gradients(NamedTuple):
    """`weights` as `Weights`, `initial_state` (B, H), and the signals `g` (T, B, H) at the pre-activations."""

    weights: Weights
    initial_state: Array
    g: Array


def time_first(weights: Weights, inputs: ArrayLike) -> NDArray:
    """Inputs checked and turned to (T, B) ids or (T, B, d_in) vectors."""
    x, width = np.asarray(inputs), weights.W_x.shape[1]
    if x.ndim == 2 and x.dtype.kind in "iu" and x.size:
        if x.min() < 0 or x.max() >= width:
            raise ValueError(f"inputs holds ids from {x.min()} to {x.max()}; they must be from 0 to {width - 1}")
        return np.ascontiguousarray(x.T)
    if x.ndim != 3 or x.shape[-1] != width or not x.size:
        raise ValueError(f"inputs has shape {x.shape}, type {x.dtype}; it must be (B, T) integers or (B, T, {width}), "
                         "not empty")
    if not np.isfinite(x).all():
        raise ValueError("inputs holds NaN or infinity; every entry must be finite")
    return np.ascontiguousarray(x.swapaxes(0, 1), dtype=weights.flat.dtype)


def forward(weights: Weights, inputs: ArrayLike, initial_state: ArrayLike | None = None) -> Tape:
    """States and outputs of all steps, kept for `backward`.

    Parameters
    ----------
    inputs : (B, T) integers or (B, T, d_in)
    initial_state : (B, H), optional
        Zero if not given.

    Raises
    ------
    ValueError
        For another shape, ids outside the vocabulary, no steps, NaN or infinity.
    """
    x, W_h_T = time_first(weights, inputs), weights.W_h.T
    length, batch, hidden = *x.shape[:2], len(weights.b)
    states = np.empty((length + 1, batch, hidden), weights.flat.dtype)
    states[0] = 0 if initial_state is None else checked_state(initial_state, (batch, hidden))
    if x.ndim == 2:                                          # a one-hot input picks a column of W_x
        (weights.W_x.T + weights.b).take(x, axis=0, out=states[1:])
    else:
        np.add(x @ weights.W_x.T, weights.b, out=states[1:])
    from_state = np.empty_like(states[0])
    for h, z in zip(states[:-1], states[1:], strict=True):                     # z holds W_x x_t + b and becomes h_t
        np.matmul(h, W_h_T, out=from_state)
        z += from_state
        np.tanh(z, out=z)
    outputs = states[1:].reshape(-1, hidden) @ weights.W_y.T + weights.c
    return Tape(x, states, outputs.reshape(length, batch, -1))


def checked_state(state: ArrayLike, shape: tuple[int, int]) -> Array:
    """An initial state of the shape (B, H), finite."""
    state = np.asarray(state)
    if state.shape != shape or not np.isfinite(state).all():
        raise ValueError(f"initial_state has shape {state.shape}, or holds NaN; it must be {shape} and finite")
    return state


def backward(weights: Weights, tape: Tape, output_gradients: Array) -> Gradients:
    """Gradients of a loss from its gradients at the outputs, dL/dy_t.

    Parameters
    ----------
    output_gradients : (T, B, d_out)
        Time first, as in the tape.
    """
    length, batch, width = tape.outputs.shape
    if output_gradients.shape != tape.outputs.shape:
        raise ValueError(f"output_gradients has shape {output_gradients.shape}; it must be {tape.outputs.shape}")
    h = tape.states[1:]
    dy = output_gradients.reshape(-1, width)
    g = (dy @ weights.W_y).reshape(h.shape)                  # W_y^T dL_t/dy_t of every step
    slopes = 1 - h * h
    later = np.zeros_like(g[0])                              # W_h^T g_{t+1}: nothing comes after step T
    for t in range(length - 1, -1, -1):
        g[t] += later                                        # delta_t
        g[t] *= slopes[t]                                    # g_t
        np.matmul(g[t], weights.W_h, out=later)
    return Gradients(weight_sums(weights, tape, g.reshape(length * batch, -1), dy), later, g)


def weight_sums(weights: Weights, tape: Tape, g: Array, dy: Array) -> Weights:
    """The sums over steps and sequences, one matrix product each, for signals g (T B, H) and dy (T B, d_out)."""
    sums, hidden = Weights(weights), g.shape[1]
    if tape.inputs.ndim == 2:                                # one-hot rows: the product adds up equal ids
        x = np.zeros((len(g), weights.W_x.shape[1]), g.dtype)
        x[np.arange(len(g)), tape.inputs.ravel()] = 1
    else:
        x = tape.inputs.reshape(len(g), -1)
    np.matmul(g.T, tape.states[:-1].reshape(-1, hidden), out=sums.W_h)
    np.matmul(g.T, x, out=sums.W_x)
    np.matmul(dy.T, tape.states[1:].reshape(-1, hidden), out=sums.W_y)
    g.sum(axis=0, out=sums.b)
    dy.sum(axis=0, out=sums.c)
    return sums
