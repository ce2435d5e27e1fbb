"""A task that only memory solves, for truncated backpropagation through time: which symbol came first?

Dimensions: B sequences of T steps, ids below 4. The first id is 0 or 1 and is the answer; the others are 2 or 3, drawn
at random. The loss stands at the last step only. A gradient truncated to k steps sees the last piece, whose start is
the last multiple of k before step T; the state of the earlier pieces is carried into it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lessonlib.bptt import Weights, backward, forward
from lessonlib.recurrent import initial_network
from lessonlib.sequence_loss import cross_entropy_signals

SYMBOLS, ANSWERS, HIDDEN_SIZE, BATCH_SIZE = 4, 2, 16, 32
LEARNING_RATE, MAX_NORM = 1e-2, 1.0
SOLVED = 0.95  # share of right answers from which a run counts as solved; chance is 0.5


class LastStep(NamedTuple):
    """Mean loss and share of right answers at the last step, and the gradient of every weight."""

    loss: float
    accuracy: float
    gradients: Weights


def first_symbol_batch(rng: np.random.Generator, batch: int, length: int) -> tuple[NDArray, NDArray]:
    """Ids (B, T) and answers (B,)."""
    if batch < 1 or length < 2:
        raise ValueError(f"batch is {batch}, length {length}; they must be at least 1 and 2")
    ids, answers = rng.integers(2, SYMBOLS, (batch, length)), rng.integers(0, ANSWERS, batch)
    ids[:, 0] = answers
    return ids, answers


def last_step_gradients(weights: Weights, ids: NDArray, answers: NDArray, chunk: int) -> LastStep:
    """Loss at the last step and its gradients, in pieces of `chunk` steps: the state crosses, the gradient does not."""
    if chunk < 1:
        raise ValueError(f"chunk is {chunk}; it must be at least 1")
    start = (ids.shape[1] - 1) // chunk * chunk             # the piece that holds the last step
    state = forward(weights, ids[:, :start]).states[-1] if start else None
    tape = forward(weights, ids[:, start:], state)
    signals = np.zeros_like(tape.outputs)
    loss, signals[-1:] = cross_entropy_signals(tape.outputs[-1:], answers[None])
    accuracy = float((tape.outputs[-1].argmax(axis=1) == answers).mean())
    return LastStep(loss, accuracy, backward(weights, tape, signals).weights)


class Adam:
    """The optimiser of Kingma and Ba (2015) for one vector of weights, with the gradient clipped by its norm."""

    def __init__(self, weights: Weights, learning_rate: float = LEARNING_RATE, max_norm: float = MAX_NORM) -> None:
        self.weights, self.learning_rate, self.max_norm = weights, learning_rate, max_norm
        self.mean, self.square, self.updates = np.zeros_like(weights.flat), np.zeros_like(weights.flat), 0

    def update(self, gradient: NDArray) -> float:
        """Change the weights once; returns the norm of the gradient before clipping."""
        norm = float(np.linalg.norm(gradient))
        gradient = gradient * min(1.0, self.max_norm / max(norm, 1e-12))
        self.updates += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient**2 - self.square)
        mean, square = self.mean / (1 - 0.9**self.updates), self.square / (1 - 0.999**self.updates)
        self.weights.flat -= self.learning_rate * mean / (np.sqrt(square) + 1e-8)
        return norm


def trace_of_first(weights: Weights, length: int) -> float:
    """How far apart two states are at the last step whose sequences differ in the first symbol only.

    Mean distance over 200 pairs, drawn by a generator of its own, as a share of the distance at step 1.
    """
    ids, _ = first_symbol_batch(np.random.default_rng(20_000), 200, length)
    twins = ids.copy()
    twins[:, 0] = 1 - ids[:, 0]
    gaps = np.linalg.norm((forward(weights, ids).states - forward(weights, twins).states).astype(float), axis=-1)
    return float(gaps[-1].mean() / gaps[1].mean())


class Trained(NamedTuple):
    """Share of right answers on fresh sequences, and the trace of the first symbol before and after training."""

    accuracy: float
    trace_before: float
    trace_after: float

    @property
    def solved(self) -> bool:
        """At least 95 % right."""
        return self.accuracy >= SOLVED


def train_first_symbol(seed: int, length: int, chunk: int, updates: int, *, recurrence: bool = True) -> Trained:
    """Train one network and score it on 1,000 fresh sequences.

    Parameters
    ----------
    seed : int
        For the weights and the training sequences; the sequences of the test are the same for every seed.
    recurrence : bool
        False trains the output layer only and leaves W_h, W_x and b as they were drawn.
    """
    rng = np.random.default_rng(seed)
    weights = Weights(initial_network(SYMBOLS, HIDDEN_SIZE, ANSWERS, rng), np.float32)
    before, optimiser = trace_of_first(weights, length), Adam(weights)
    for _ in range(updates):
        gradients = last_step_gradients(weights, *first_symbol_batch(rng, BATCH_SIZE, length), chunk).gradients
        if not recurrence:
            gradients.W_h[:], gradients.W_x[:], gradients.b[:] = 0, 0, 0
        optimiser.update(gradients.flat)
    test = first_symbol_batch(np.random.default_rng(10_000), 1000, length)
    return Trained(last_step_gradients(weights, *test, chunk=1).accuracy, before, trace_of_first(weights, length))
