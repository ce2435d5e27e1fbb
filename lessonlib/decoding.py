"""From a model of the next token to a whole output: greedy, sampled, and scored; beam search is in `beam_search`.

Dimensions: B outputs side by side (rows), V tokens, T steps generated. A model is a *step function*

    logits, state = step(tokens, state)

that reads the last token of each row, shape (B,), and returns logits of the next, (B, V), with a new state. A state
is a tensor with one row a row, None, or a tuple, list or dict of states. Logits may be log-probabilities; -infinity
forbids a token. Sums of log-probabilities are kept in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lessonlib.arguments import count, positive

State = Any
Step = Callable[[Tensor, State], tuple[Tensor, State]]


class Outputs(NamedTuple):
    """What was generated, one output a row.

    Attributes
    ----------
    tokens : Tensor, shape (B, T), int64
        The generated tokens, the end token included; after it, more end tokens.
    lengths : Tensor, shape (B,), int64
        Generated tokens, the end token included. What was read before (the start token, a prompt) does not count.
    log_probs : Tensor, shape (B,), float64
        Sum of ln p over these tokens, in nats, under the model as it is.
    finished : Tensor, shape (B,), bool
        Whether the end token was reached.
    """

    tokens: Tensor
    lengths: Tensor
    log_probs: Tensor
    finished: Tensor


def select(state: State, rows: Tensor) -> State:
    """The rows of a state in a new order; a row may be taken several times or not at all."""
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, dict):
        return {name: select(part, rows) for name, part in state.items()}
    parts = [select(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


def checked_start(start: Tensor) -> Tensor:
    """The first tokens, one a row: int64 of shape (B,), at least one row."""
    if start.ndim != 1 or start.dtype != torch.int64 or not len(start):
        raise ValueError(f"start has shape {tuple(start.shape)} and type {start.dtype}; it must be (B,) of int64, B at least 1")
    return start


def checked_lengths(max_steps: int, min_length: int) -> None:
    """At least one step, and a minimum length that leaves room for the end token."""
    count("max_steps", max_steps)
    if not 0 <= min_length < max_steps:
        raise ValueError(f"min_length is {min_length}; it must be from 0 to {max_steps - 1}, below max_steps")


def next_log_probs(step: Step, tokens: Tensor, state: State, live: Tensor | None = None) -> tuple[Tensor, State]:
    """ln p of the next token, (B, V) in float64, and the new state.

    Raises
    ------
    ValueError
        If the logits have another shape, or a row that is `live` holds NaN, +infinity or nothing but -infinity.
    """
    logits, state = step(tokens, state)
    if logits.ndim != 2 or len(logits) != len(tokens):
        raise ValueError(f"step returned logits of shape {tuple(logits.shape)}; they must be ({len(tokens)}, V)")
    looked_at = logits if live is None else logits[live]
    if not torch.isfinite(looked_at.amax(1)).all():  # the maximum of a row is NaN where an entry is
        raise ValueError("step returned logits that are NaN, +infinity, or -infinity for every token of a row")
    return logits.double().log_softmax(1), state


def without_end(log_probs: Tensor, end: int | None, t: int, min_length: int) -> Tensor:
    """Log-probabilities with the end token forbidden as long as fewer than `min_length` tokens stand before it."""
    if end is None or t >= min_length:
        return log_probs
    allowed = log_probs.clone()
    allowed[..., end] = -torch.inf
    return allowed


@torch.no_grad()
def generate_by(choose: Callable[[Tensor, int], Tensor], step: Step, state: State, start: Tensor, *, end: int | None,
                max_steps: int, min_length: int = 0) -> Outputs:
    """Generate token by token; `choose` maps ln p (B, V) and the step (from 0) to the next tokens (B,).

    Ends when every row has produced `end`, or after `max_steps`. With `end=None` nothing ends early.
    """
    checked_lengths(max_steps, min_length)
    tokens = checked_start(start)
    finished = torch.zeros(len(start), dtype=torch.bool)
    total, lengths, columns = torch.zeros(len(start), dtype=torch.float64), torch.zeros_like(start), []
    for t in range(max_steps):
        log_probs, state = next_log_probs(step, tokens, state, ~finished)
        allowed = without_end(log_probs, end, t, min_length)
        if not (allowed.amax(1) > -torch.inf)[~finished].all():
            raise ValueError(f"min_length is {min_length}, but the model allows nothing but the end after {t} tokens")
        tokens = choose(allowed, t)
        if end is not None:
            tokens = torch.where(finished, end, tokens)
        total = torch.where(finished, total, total + log_probs.gather(1, tokens[:, None])[:, 0])
        lengths = lengths + (~finished).long()
        columns.append(tokens)
        finished = finished if end is None else finished | (tokens == end)
        if finished.all():
            break
    return Outputs(torch.stack(columns, 1), lengths, total, finished)


def greedy(step: Step, state: State, start: Tensor, *, end: int | None, max_steps: int, min_length: int = 0) -> Outputs:
    """The most probable token at every step.

    Parameters
    ----------
    step, state : step function and its state, B rows
    start : Tensor, shape (B,), int64
        The token that each row reads first; it is not part of the output.
    end : int or None
        The token that ends an output; None to go on for `max_steps` whatever is emitted.
    max_steps : int
        Most tokens to generate, the end token included.
    min_length : int
        Tokens that must stand before the end token.
    """
    return generate_by(lambda log_probs, _t: log_probs.argmax(1), step, state, start, end=end, max_steps=max_steps,
                       min_length=min_length)


def sample_outputs(step: Step, state: State, start: Tensor, *, end: int | None, max_steps: int, temperature: float = 1.0,
                   generator: torch.Generator, min_length: int = 0) -> Outputs:
    """Draw every token with probability proportional to p^(1 / temperature); parameters as for `greedy`.

    Each row has its own uniform numbers, drawn beforehand, B x `max_steps` of them: a token is the first whose
    cumulative probability exceeds the number. Rows therefore do not depend on how they were batched.
    """
    positive("temperature", temperature)
    checked_lengths(max_steps, min_length)
    uniform = torch.rand(len(checked_start(start)), max_steps, generator=generator, dtype=torch.float64)

    def draw(log_probs: Tensor, t: int) -> Tensor:
        sums = (log_probs / temperature).softmax(1).cumsum(1)                  # (B, V), the last is 1 to rounding
        wanted = uniform[:, t:t + 1] * sums[:, -1:]
        found = torch.searchsorted(sums, wanted, right=True)[:, 0]
        possible = log_probs > -torch.inf                                      # rounding may not lead past the last of these
        last = log_probs.shape[1] - 1 - possible.flip(1).int().argmax(1)
        return torch.minimum(found, last)

    return generate_by(draw, step, state, start, end=end, max_steps=max_steps, min_length=min_length)


@torch.no_grad()
def score(step: Step, state: State, start: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
    """ln p of given outputs, sum over the first `lengths` tokens of each row, shape (B,), float64.

    The model reads the given tokens, whatever it would have chosen itself.

    Parameters
    ----------
    tokens : Tensor, shape (B, T), int64
    lengths : Tensor, shape (B,)
        From 1 to T.
    """
    start = checked_start(start)
    if tokens.ndim != 2 or len(tokens) != len(start) or lengths.shape != start.shape or not (
            1 <= lengths.min() and lengths.max() <= tokens.shape[1]):
        raise ValueError(f"tokens has shape {tuple(tokens.shape)}, lengths {lengths.tolist()}; they must be ({len(start)}, T) "
                         "and one length from 1 to T for each row")
    total, previous = torch.zeros(len(start), dtype=torch.float64), start
    for t in range(int(lengths.max())):
        counted = t < lengths
        log_probs, state = next_log_probs(step, previous, state, counted)
        previous = tokens[:, t]
        total = torch.where(counted, total + log_probs.gather(1, previous[:, None])[:, 0], total)
    return total
