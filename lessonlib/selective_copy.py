"""Selective copying: a few symbols at random places among distractors, to be named in their order at the end.

Dimensions: N or B rows of T steps, K symbols to be kept in each, V = 8 kinds of symbol. Ids 0 to 7 are symbols, 8 to 15
distractors. Logits are (B, K, V): one answer a symbol kept, first to last. The task is that of Jing et al. (2019) and
Gu and Dao (2023), with the read-out at the last step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.linear_recurrence import DiagonalRecurrence
from lessonlib.min_gated import MinGRU, MinLSTM
from lessonlib.selective import SelectiveRecurrence

SYMBOLS = DISTRACTORS = 8
WIDTH, STATE = 16, 32
BATCH_SIZE, LEARNING_RATE, MAX_NORM = 32, 1e-2, 1.0
CORES = ("fixed", "one step", "selective", "minGRU", "minLSTM", "GRU")


class Rows(NamedTuple):
    """Rows of the task: ids (N, T), the symbols in their order (N, K), and the steps at which they stand (N, K)."""

    ids: Tensor
    answers: Tensor
    places: Tensor


def draw_rows(rows: int, steps: int, kept: int, *, generator: torch.Generator,
              random_places: bool = True) -> Rows:
    """Rows with `kept` symbols each, at random places or, with `random_places=False`, at the same ones always, evenly apart.

    Raises
    ------
    ValueError
        If a size is below 1, or there are more symbols to keep than steps.
    """
    sizes = [count(name, value) for name, value in (("rows", rows), ("steps", steps), ("kept", kept))]
    if sizes[2] > sizes[1]:
        raise ValueError(f"kept is {kept}; it must not exceed the {steps} steps")
    answers = torch.randint(0, SYMBOLS, (rows, kept), generator=generator)
    ids = torch.randint(SYMBOLS, SYMBOLS + DISTRACTORS, (rows, steps), generator=generator)
    order = torch.rand(rows, steps, generator=generator).argsort(1)[:, :kept].sort(1).values
    places = order if random_places else (torch.arange(kept) * steps // kept).expand(rows, kept)
    return Rows(ids.scatter(1, places, answers), answers, places)


class CopyNetwork(nn.Module):
    """Embedding of width 16, a recurrent core, GELU, and one linear read-out of the last step for all K answers.

    Parameters
    ----------
    core : {"fixed", "one step", "selective", "minGRU", "minLSTM", "GRU"}
        The diagonal recurrence of 32 modes; the same with one trained step size for all steps; the same with a step
        size that depends on the input; or a gated layer of width 32.
    kept : int
        K.
    layers : int
        Cores on top of each other, for the gated ones.
    """

    def __init__(self, core: str, kept: int, layers: int = 1) -> None:
        super().__init__()
        if core not in CORES:
            raise ValueError(f"core is {core!r}; it must be one of {', '.join(CORES)}")
        self.core, self.kept = core, count("kept", kept)
        self.embedding = nn.Embedding(SYMBOLS + DISTRACTORS, WIDTH)
        make = {"fixed": lambda d: DiagonalRecurrence(d, STATE), "one step": lambda d: SelectiveRecurrence(d, STATE, selective=False),
                "selective": lambda d: SelectiveRecurrence(d, STATE), "minGRU": lambda d: MinGRU(d, STATE),
                "minLSTM": lambda d: MinLSTM(d, STATE), "GRU": lambda d: nn.GRU(d, STATE, batch_first=True)}[core]
        self.layers = nn.ModuleList([make(WIDTH if i == 0 else STATE) for i in range(count("layers", layers))])
        self.readout = nn.Linear(STATE, kept * SYMBOLS)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, K, V)."""
        if ids.ndim != 2 or ids.shape[1] < 1:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T) with T at least 1")
        x = self.embedding(ids)
        for layer in self.layers[:-1]:
            x = layer(x)[0] if self.core in CORES[3:] else F.gelu(layer(x))
        top = self.layers[-1]
        last = top(x)[0][:, -1] if self.core in CORES[3:] else top.last(x)
        return self.readout(F.gelu(last)).unflatten(-1, (self.kept, SYMBOLS))


def train_copy(network: CopyNetwork, *, steps: int, updates: int, generator: torch.Generator,
               random_places: bool = True, solved: float = 0.05) -> list[float]:
    """Train with AdamW on fresh rows; end early once the mean of the last ten losses is below `solved`.

    Returns
    -------
    list of float
        Cross-entropy of every batch before its update, in nats an answer.
    """
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, fused=True)
    losses: list[float] = []
    for _ in range(count("updates", updates)):
        rows = draw_rows(BATCH_SIZE, steps, network.kept, generator=generator, random_places=random_places)
        loss = F.cross_entropy(network(rows.ids).flatten(0, 1), rows.answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
        optimiser.step()
        losses.append(loss.item())
        if len(losses) >= 10 and sum(losses[-10:]) < 10 * solved:
            break
    return losses


@torch.no_grad()
def right_answers(network: nn.Module, rows: Rows) -> Tensor:
    """Which answers are right, (N, K), bool."""
    return network(rows.ids).argmax(-1) == rows.answers
