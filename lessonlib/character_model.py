"""The character model of the lab: its first weights, streams, training by truncated backpropagation, and sampling.

Dimensions: B streams of T steps, width H, V characters. Training needs `lessonlib.sequence_loss`; the `direct_` functions
compute the same gradients as the equations are written, and exist to be timed against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lessonlib.bptt import Array, Weights, forward
from lessonlib.recurrent import RecurrentNetwork
from lessonlib.sampling import softmax
from lessonlib.sequence_loss import cross_entropy_signals, loss_and_gradients, mean_loss
from lessonlib.truncation import Adam

HIDDEN_SIZE, STREAMS, STEPS = 128, 32, 32
LEARNING_RATE, MAX_NORM, CHECK_EVERY = 3e-3, 5.0, 250


def initial_weights(vocabulary: int, rng: np.random.Generator, hidden: int = HIDDEN_SIZE,
                    dtype: DTypeLike = np.float64) -> Weights:
    """Normal draws: W_x with deviation 0.01, W_h with 1/sqrt(H), W_y with 0.01, in this order; biases zero."""
    if vocabulary < 1 or hidden < 1:
        raise ValueError(f"vocabulary is {vocabulary}, hidden {hidden}; both must be at least 1")
    W_x = rng.normal(0, 0.01, (hidden, vocabulary))
    W_h = rng.normal(0, 1 / np.sqrt(hidden), (hidden, hidden))
    W_y = rng.normal(0, 0.01, (vocabulary, hidden))
    return Weights(RecurrentNetwork(W_h, W_x, np.zeros(hidden), W_y, np.zeros(vocabulary)), dtype)


def as_streams(ids: NDArray, streams: int = STREAMS) -> tuple[NDArray, NDArray]:
    """Cut a text into `streams` consecutive pieces of equal length; inputs and targets, each (streams, length).

    A target is the character after its input; what does not fill a piece is left out.
    """
    length = (len(ids) - 1) // streams if streams > 0 else 0
    if length < 1:
        raise ValueError(f"streams is {streams} for {len(ids)} ids; there must be from 1 to {len(ids) - 1}")
    n = streams * length
    return ids[:n].reshape(streams, length), ids[1:n + 1].reshape(streams, length)


@dataclass
class Run:
    """A training: checks every so many updates, the norm of every update, and the weights of the best check."""

    weights: Weights
    best: Weights
    updates: list[int] = field(default_factory=list)
    training: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    clipped: int = 0

    @property
    def best_loss(self) -> float:
        """The lowest validation loss of a check, nats a character."""
        return min(self.validation)

    @property
    def best_update(self) -> int:
        """The update of that check."""
        return self.updates[int(np.argmin(self.validation))]


def train(weights: Weights, training: NDArray, validation: NDArray, updates: int, *, steps: int = STEPS,
          streams: int = STREAMS, check_every: int = CHECK_EVERY) -> Run:
    """Truncated backpropagation on parallel streams: the state goes on from piece to piece, the gradient does not.

    When the streams are read through, they start again from a state of zero. Changes `weights`.

    Parameters
    ----------
    training, validation : (n,) ids
    updates : int
        Pieces of `steps` characters of every stream, one update each.
    check_every : int
        Updates between two checks: mean training loss since the last one, and loss on the validation text.

    Raises
    ------
    ValueError
        If there are no updates to a check, or a stream is shorter than a piece.
    """
    inputs, targets = as_streams(training, streams)
    pieces = inputs.shape[1] // steps if steps > 0 else 0
    if pieces < 1 or not 1 <= check_every <= updates:
        raise ValueError(f"steps is {steps} for streams of {inputs.shape[1]}, check_every {check_every} of {updates} "
                         "updates; a stream must hold a piece, and a check come within the updates")
    run, optimiser = Run(weights, Weights(weights)), Adam(weights, LEARNING_RATE, MAX_NORM)
    state, losses = None, []
    for update in range(updates):
        start = update % pieces * steps
        piece = slice(start, start + steps)
        result = loss_and_gradients(weights, inputs[:, piece], targets[:, piece], state if start else None)
        state = result.last_state
        losses.append(result.loss)
        run.norms.append(optimiser.update(result.gradients.flat))
        run.clipped += run.norms[-1] > MAX_NORM
        if (update + 1) % check_every == 0:
            loss, _ = mean_loss(weights, validation[None, :-1], validation[None, 1:])
            if loss < min(run.validation, default=np.inf):
                run.best = Weights(weights)
            run.updates.append(update + 1)
            run.training.append(float(np.mean(losses[-check_every:])))
            run.validation.append(loss)
    return run


def text_losses(weights: Weights, ids: NDArray) -> Array:
    """Loss of every character of a text but the first, in nats, (n - 1,); one sequence, from a state of zero."""
    logits = forward(weights, np.asarray(ids)[None, :-1]).outputs[:, 0].astype(np.float64)
    return -np.log(softmax(logits)[np.arange(len(logits)), np.asarray(ids)[1:]])


def sample_streams(weights: Weights, start: int, streams: int, n_symbols: int, temperature: float,
                   rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw several texts side by side, each from a state of zero and the symbol `start`; (streams, n_symbols).

    One uniform number a symbol is compared with the cumulative probabilities, as in `lessonlib.sampling.sample`.
    """
    if min(streams, n_symbols) < 1:
        raise ValueError(f"streams is {streams}, n_symbols {n_symbols}; both must be at least 1")
    symbols, state = np.full(streams, start), None
    drawn = np.empty((streams, n_symbols), np.int64)
    for i in range(n_symbols):
        tape = forward(weights, symbols[:, None], state)
        state = tape.states[-1]
        edges = np.cumsum(softmax(tape.outputs[0], temperature), axis=1)
        symbols = (edges <= rng.random((streams, 1)) * edges[:, -1:]).sum(axis=1)
        drawn[:, i] = symbols = np.minimum(symbols, edges.shape[1] - 1)
    return drawn


# The same gradients as the equations are written: a state is a column, B of them side by side are (H, B) -----------

def direct_states(weights: Weights, ids: NDArray, state: Array) -> Array:
    """h_t = tanh(W_h h_{t-1} + W_x x_t + b), step by step; (T + 1, H, B) from `state` (B, H) and ids (B, T)."""
    states = [state.T]
    for column in ids.T:
        states.append(np.tanh(weights.W_h @ states[-1] + weights.W_x[:, column] + weights.b[:, None]))
    return np.array(states)


def direct_outputs(weights: Weights, states: Array) -> Array:
    """y_t = W_y h_t + c of all steps, the indices spelt out; (T, V, B)."""
    return np.einsum("kj,tji->tki", weights.W_y, states[1:]) + weights.c[:, None]


def direct_loss(outputs: Array, targets: NDArray) -> tuple[float, Array]:
    """Mean cross-entropy and dL/dy_t of all steps, (T, V, B), for targets (B, T)."""
    loss, dy = cross_entropy_signals(outputs.swapaxes(1, 2), targets.T)
    return loss, np.ascontiguousarray(dy.swapaxes(1, 2))


def direct_output_gradient(states: Array, dy: Array) -> Array:
    """dL/dW_y = sum over t and b of dL/dy_t h_t^T, (V, H)."""
    return np.einsum("tki,tji->kj", dy, states[1:])


def direct_signals(weights: Weights, dy: Array) -> Array:
    """W_y^T dL/dy_t of all steps, (T, H, B)."""
    return np.einsum("kj,tki->tji", weights.W_y, dy)


def direct_backward(weights: Weights, states: Array, signals: Array) -> tuple[Array, Array, Array]:
    """The sweep back in time: dL/dW_h, dL/db, and g_t of all steps (T, H, B), one outer product a step."""
    W_h, b, g = np.zeros_like(weights.W_h), np.zeros_like(weights.b), np.empty_like(signals)
    later = np.zeros_like(signals[0])
    for t in range(len(signals) - 1, -1, -1):
        g[t] = (signals[t] + later) * (1 - states[t + 1] ** 2)
        W_h += g[t] @ states[t].T
        b += g[t].sum(axis=1)
        later = weights.W_h.T @ g[t]
    return W_h, b, g


def direct_input_gradient(weights: Weights, ids: NDArray, g: Array) -> Array:
    """dL/dW_x: g_t is added to the column of the character that was read, (H, V)."""
    columns = np.zeros_like(weights.W_x.T, order="C")
    for t, column in enumerate(ids.T):
        np.add.at(columns, column, g[t].T)
    return columns.T


def direct_gradients(weights: Weights, ids: NDArray, targets: NDArray, state: Array) -> tuple[float, Weights]:
    """Mean loss and gradients as `lessonlib.sequence_loss.loss_and_gradients` computes them, equation by equation."""
    states = direct_states(weights, ids, state)
    loss, dy = direct_loss(direct_outputs(weights, states), targets)
    sums = Weights(weights)
    sums.W_y[:], sums.c[:] = direct_output_gradient(states, dy), dy.sum(axis=(0, 2))
    sums.W_h[:], sums.b[:], g = direct_backward(weights, states, direct_signals(weights, dy))
    sums.W_x[:] = direct_input_gradient(weights, ids, g)
    return loss, sums
