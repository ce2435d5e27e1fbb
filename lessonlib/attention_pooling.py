"""A reader that pools a log by attention, and what its answer does when the weights are tampered with.

Dimensions: B logs, T = 10 events, V = 8 codes, E width of an embedding, H width of a state. An event is a command, open
or close (codes 0 and 1), or has no effect (2 to 7). The answer is the last command of the log; nothing else decides it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.attention import attend, masked_softmax

COMMANDS, CODES, EVENTS = 2, 8, 10
COMMAND_SHARE = 0.25
BATCH_SIZE, LEARNING_RATE = 32, 1e-2


class Logs(NamedTuple):
    """Ids (B, T), the place of the last command (B,) and that command (B,)."""

    ids: Tensor
    place: Tensor
    answer: Tensor


def draw_logs(rows: int, generator: torch.Generator) -> Logs:
    """Logs of 10 events, each a command with probability 0.25, the first one always."""
    shape = count("rows", rows), EVENTS
    given = torch.rand(shape, generator=generator) < COMMAND_SHARE
    given[:, 0] = True
    ids = torch.where(given, torch.randint(COMMANDS, shape, generator=generator),
                      torch.randint(COMMANDS, CODES, shape, generator=generator))
    place = torch.where(given, torch.arange(EVENTS), -1).amax(1)
    return Logs(ids, place, ids[torch.arange(rows), place])


class PooledReader(nn.Module):
    """Score every annotation by v^T tanh(U h_j), pool the annotations with the softmax of the scores, read out.

    Parameters
    ----------
    recurrent : bool
        Whether the annotations are the states of a bidirectional LSTM over the log, or what stands at each position
        alone: the embedding of the event plus one of its position.
    """

    def __init__(self, *, recurrent: bool, embedding_size: int = 16, hidden_size: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CODES, embedding_size)
        self.position = nn.Embedding(EVENTS, embedding_size)
        self.encoder = nn.LSTM(embedding_size, hidden_size, batch_first=True, bidirectional=True) if recurrent else None
        wide = 2 * hidden_size if recurrent else embedding_size
        self.score = nn.Sequential(nn.Linear(wide, hidden_size), nn.Tanh(), nn.Linear(hidden_size, 1, bias=False))
        self.readout = nn.Linear(wide, COMMANDS)

    def annotate(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Annotations (B, T, .) and scores (B, T) of ids (B, T)."""
        if ids.ndim != 2 or ids.shape[1] != EVENTS:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, {EVENTS})")
        annotations = self.embedding(ids) + self.position.weight
        if self.encoder is not None:
            annotations, _ = self.encoder(annotations)
        return annotations, self.score(annotations)[..., 0]

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits (B, 2); `mask` (B, T) is true where attention may look."""
        annotations, scores = self.annotate(ids)
        context, _ = attend(scores[:, None], annotations, None if mask is None else mask[:, None])
        return self.readout(context[:, 0])


def train_reader(network: PooledReader, *, updates: int, generator: torch.Generator, hide: bool = False) -> PooledReader:
    """Train with Adam on fresh logs; `hide` keeps attention, though not the encoder, off every command."""
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for _ in range(count("updates", updates)):
        logs = draw_logs(BATCH_SIZE, generator)
        loss = F.cross_entropy(network(logs.ids, logs.ids >= COMMANDS if hide else None), logs.answer)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


@torch.no_grad()
def tampered(network: PooledReader, logs: Logs, generator: torch.Generator, *, hide: bool = False) -> dict[str, float]:
    """Weight on the last command, and the share of right answers when weights or input are changed.

    Parameters
    ----------
    hide : bool
        As the network was trained.

    Returns
    -------
    dict
        `weight`: mean weight on the last command. Shares of right answers: `as trained`; `shuffled` weights, in an order
        drawn for each log; `uniform` weights; with the last command `hidden` from attention, but not from the encoder; and
        with it `replaced` in the input by the other one, where the old answer is still counted as right.
    """
    rows = torch.arange(len(logs.ids))
    annotations, scores = network.annotate(logs.ids)
    seen = logs.ids >= COMMANDS if hide else torch.ones_like(logs.ids, dtype=torch.bool)
    weights = masked_softmax(scores, seen)
    order = torch.rand(weights.shape, generator=generator).argsort(1)
    away = seen.clone()
    away[rows, logs.place] = False
    other = logs.ids.clone()
    other[rows, logs.place] = 1 - logs.answer

    def right(logits: Tensor) -> float:
        return (logits.argmax(-1) == logs.answer).double().mean().item()

    def pooled(used: Tensor) -> float:
        return right(network.readout((used[:, None] @ annotations)[:, 0]))

    return {"weight": weights[rows, logs.place].double().mean().item(), "as trained": pooled(weights),
            "shuffled": pooled(weights.gather(1, order)), "uniform": pooled(torch.full_like(weights, 1 / weights.shape[1])),
            "hidden": right(network(logs.ids, away)), "replaced": right(network(other, seen))}
