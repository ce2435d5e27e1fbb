"""The mean cross-entropy of an Elman network over sequences, with its gradients, whole and truncated.

What a caller needs:
    result = loss_and_gradients(weights, ids, targets, state)          # mean cross-entropy over (B, T)
    result.loss, result.gradients.W_h, result.gradients.flat, result.initial_state, result.last_state
    weights.flat -= 0.1 * result.gradients.flat                        # one update of all weights
    mean_loss(weights, ids, targets, state)                            # (loss, last state), no gradients
    truncated_gradients(weights, ids, targets, chunk)                  # state carried, gradients cut

Dimensions: B sequences of T steps, width H, V symbols, which is the width of an output. `inputs` are as in
`lessonlib.bptt`, whose `Weights` these are; `targets` are integers (B, T).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lessonlib.bptt import Array, Tape, Weights, backward, forward


class Result(NamedTuple):
    """Mean loss, its gradients (`Weights`), its gradient at the initial state (B, H), and the last state (B, H)."""

    loss: float
    gradients: Weights
    initial_state: Array
    last_state: Array


def cross_entropy_signals(logits: Array, targets: NDArray) -> tuple[float, Array]:
    """Mean cross-entropy over all predictions and its gradient at the logits, (softmax - one-hot) / (T B).

    Parameters
    ----------
    logits, targets : (T, B, V) and (T, B)
    """
    rows = logits.reshape(-1, logits.shape[-1])
    at_target = np.arange(len(rows)), targets.ravel()
    p = np.exp(rows - rows.max(axis=1, keepdims=True))       # the largest exponent is 0
    sums = p.sum(axis=1, keepdims=True)
    p /= sums
    shifted = rows[at_target] - rows.max(axis=1)
    loss = float((np.log(sums[:, 0]) - shifted).mean(dtype=np.float64))
    p[at_target] -= 1
    p /= len(rows)
    return loss, p.reshape(logits.shape)


def checked_targets(targets: ArrayLike, tape: Tape) -> NDArray:
    """Targets (B, T) checked against a tape and turned to (T, B)."""
    y, (length, batch, vocabulary) = np.asarray(targets), tape.outputs.shape
    if y.shape != (batch, length) or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= vocabulary:
        raise ValueError(f"targets has shape {y.shape} and type {y.dtype}; it must be integers of shape "
                         f"{(batch, length)}, from 0 to {vocabulary - 1}")
    return y.T


def mean_loss(weights: Weights, inputs: ArrayLike, targets: ArrayLike,
              initial_state: ArrayLike | None = None) -> tuple[float, Array]:
    """Mean cross-entropy over (B, T) in nats, and the last state (B, H); no gradients."""
    tape = forward(weights, inputs, initial_state)
    return cross_entropy_signals(tape.outputs, checked_targets(targets, tape))[0], tape.states[-1]


def loss_and_gradients(weights: Weights, inputs: ArrayLike, targets: ArrayLike,
                       initial_state: ArrayLike | None = None) -> Result:
    """Mean cross-entropy over (B, T) in nats, and the gradient of every weight and of the initial state.

    Parameters
    ----------
    inputs : (B, T) integers or (B, T, d_in)
    targets : (B, T) integers
    initial_state : (B, H), optional
        Zero if not given. Training on a stream passes the `last_state` of the piece before.

    Raises
    ------
    ValueError
        For another shape, ids outside the vocabulary, no steps, NaN or infinity.
    """
    tape = forward(weights, inputs, initial_state)
    loss, dy = cross_entropy_signals(tape.outputs, checked_targets(targets, tape))
    gradients = backward(weights, tape, dy)
    return Result(loss, gradients.weights, gradients.initial_state, tape.states[-1])


def truncated_gradients(weights: Weights, inputs: ArrayLike, targets: ArrayLike, chunk: int,
                        initial_state: ArrayLike | None = None) -> Result:
    """As `loss_and_gradients`, in pieces of `chunk` steps: the state crosses a boundary, the gradient does not.

    Only one piece is in memory at a time. With `chunk` of at least T the result is the full gradient.
    """
    x, y = np.asarray(inputs), np.asarray(targets)
    if chunk < 1 or x.ndim < 2 or x.shape[1] == 0 or y.shape != x.shape[:2]:
        raise ValueError(f"chunk is {chunk}, inputs has shape {x.shape}, targets {y.shape}; chunk must be at least 1, "
                         "and inputs and targets (B, T) with T at least 1")
    loss, sums, first, state = 0.0, Weights(weights), None, initial_state
    sums.flat[:] = 0
    for start in range(0, x.shape[1], chunk):
        piece = slice(start, start + chunk)
        result = loss_and_gradients(weights, x[:, piece], y[:, piece], state)
        share = y[:, piece].shape[1] / y.shape[1]            # the mean is over all T steps
        loss += share * result.loss
        sums.flat += share * result.gradients.flat
        first = share * result.initial_state if first is None else first
        state = result.last_state
    return Result(loss, sums, first, state)
