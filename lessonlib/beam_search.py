"""Beam search over any step function, with length normalisation and a minimum length.

Dimensions: B searches side by side (rows), K hypotheses a beam, V tokens, n outputs kept. Step functions and states are
those of `lessonlib.decoding`. A search does not depend on what else is in the batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lessonlib.arguments import count, positive
from lessonlib.decoding import Outputs, State, Step, checked_lengths, checked_start, next_log_probs, select, without_end


class Beams(NamedTuple):
    """The outputs found, best first: finished ones by score, then unfinished ones by score.

    Attributes
    ----------
    tokens : Tensor, shape (B, n, T), int64
        Generated tokens with their end token; after it, more end tokens.
    lengths : Tensor, shape (B, n), int64
        Generated tokens, the end token included; 0 where the search found fewer than n outputs.
    log_probs, scores : Tensor, shape (B, n), float64
        ln p of the output, and the same divided by `length_divisor`.
    finished : Tensor, shape (B, n), bool
        False for an output that was cut at `max_steps`; its ln p is that of a beginning, not of an output.
    """

    tokens: Tensor
    lengths: Tensor
    log_probs: Tensor
    scores: Tensor
    finished: Tensor

    @property
    def best(self) -> Outputs:
        """The best output of each row."""
        return Outputs(self.tokens[:, 0], self.lengths[:, 0], self.log_probs[:, 0], self.finished[:, 0])

    def joined(self, other: Beams) -> Beams:
        """The best n of both, n being the number here; on a tie those that stand here go first."""
        both = [torch.cat(pair, 1) for pair in zip(self, other)]
        order = both[3].argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, both[4].gather(1, order).int().argsort(dim=1, descending=True, stable=True))
        order = order[:, :self.scores.shape[1]]
        return Beams(both[0].gather(1, order[:, :, None].expand(-1, -1, both[0].shape[2])), *(part.gather(1, order) for part in both[1:]))


class BeamStep(NamedTuple):
    """The extensions kept at one step, best first.

    Attributes
    ----------
    tokens : Tensor, shape (B, K, t), int64
    log_probs : Tensor, shape (B, K), float64
        -infinity where a slot of the beam is empty.
    ended : Tensor, shape (B, K), bool
        Set aside at this step, because their last token is the end token.
    """

    tokens: Tensor
    log_probs: Tensor
    ended: Tensor


def length_divisor(lengths: Tensor | float, alpha: float, offset: float = 0.0) -> Tensor:
    """The divisor of ln p, ((offset + L) / (offset + 1))^alpha, for L generated tokens with the end token.

    An `offset` of 0 gives L^alpha, 5 the divisor of Wu et al. (2016), an `alpha` of 0 no normalisation.
    """
    positive("alpha", alpha, or_zero=True)
    positive("offset", offset, or_zero=True)
    return ((offset + torch.as_tensor(lengths, dtype=torch.float64)) / (offset + 1)) ** alpha


def _extended(log_probs: Tensor, live: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The K best of the K V extensions: their ln p, their parents' slots and their tokens, each (B, K)."""
    rows, width = live.shape
    totals = torch.where(live[:, :, None] > -torch.inf, live[:, :, None] + log_probs.view(rows, width, -1), -torch.inf)
    best, place = totals.flatten(1).sort(dim=1, descending=True, stable=True)      # on a tie: the better parent, the smaller token
    best, place = best[:, :width], place[:, :width]
    return best, place // totals.shape[2], place % totals.shape[2]


def _as_beams(tokens: Tensor, log_probs: Tensor, divisor: Tensor, steps: int, end: int, finished: bool) -> Beams:
    """Hypotheses of t tokens as outputs of `steps` columns; -infinity in `log_probs` marks an empty slot."""
    rows, width, t = tokens.shape
    padded = torch.cat([tokens, tokens.new_full((rows, width, steps - t), end)], 2)
    there = log_probs > -torch.inf
    return Beams(padded, t * there.long(), log_probs, log_probs / divisor, there & finished)


@torch.no_grad()
def beam_search(step: Step, state: State, start: Tensor, *, end: int, beam_size: int, max_steps: int, alpha: float = 0.0,
                offset: float = 0.0, min_length: int = 0, n_best: int = 1, trace: list[BeamStep] | None = None) -> Beams:
    """Keep the `beam_size` most probable beginnings at every step; set those that end aside; return the best of these.

    All beginnings of a step have the same length, so the normalisation decides only among finished outputs. The search
    stops when no beginning can still beat them: ln p never rises, and the divisor is largest at `max_steps`.

    Parameters
    ----------
    step, state, start, end, max_steps, min_length
        As for `lessonlib.decoding.greedy`; `end` is needed.
    beam_size : int
        K. One gives greedy decoding; as many as there are beginnings gives the best output of all.
    alpha, offset : float
        Of `length_divisor`.
    n_best : int
        Outputs to return for each row.
    trace : list, optional
        Receives a `BeamStep` for every step.
    """
    checked_lengths(max_steps, min_length)
    rows, width = len(checked_start(start)), count("beam_size", beam_size)
    first = torch.arange(rows)[:, None] * width
    state, last = select(state, torch.arange(rows).repeat_interleave(width)), start.repeat_interleave(width)
    tokens, live = start.new_zeros(rows, width, 0), torch.full((rows, width), -torch.inf, dtype=torch.float64)
    found = _as_beams(tokens, live, torch.tensor(1.0), max_steps, end, False)
    found = Beams(*(part[:, :1].expand(-1, count("n_best", n_best), *part.shape[2:]) for part in found))
    live[:, 0] = 0                                                             # one hypothesis, the empty one
    for t in range(max_steps):
        log_probs, state = next_log_probs(step, last, state, (live > -torch.inf).flatten())
        best, parent, token = _extended(without_end(log_probs, end, t, min_length), live)
        state = select(state, (first + parent).flatten())
        tokens = torch.cat([tokens.gather(1, parent[:, :, None].expand(-1, -1, t)), token[:, :, None]], 2)
        ended = (token == end) & (best > -torch.inf)
        if trace is not None:
            trace.append(BeamStep(tokens, best, ended))
        divisor = length_divisor(t + 1, alpha, offset)
        found = found.joined(_as_beams(tokens, best.masked_fill(~ended, -torch.inf), divisor, max_steps, end, True))
        live, last = best.masked_fill(ended, -torch.inf), token.flatten()
        if (live.amax(1) / length_divisor(max_steps, alpha, offset) <= found.scores[:, -1]).all():
            break
    if (found.lengths[:, 0] == 0).logical_and(live.amax(1) == -torch.inf).any():
        raise ValueError(f"min_length is {min_length}, but the model leaves a row nothing that is so long")
    found = found.joined(_as_beams(tokens, live, divisor, max_steps, end, False))
    return found._replace(tokens=found.tokens[:, :, :max(1, int(found.lengths.max()))])
