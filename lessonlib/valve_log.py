"""Valve logs of different lengths: is the valve open at the end? The last command in the log says so.

Dimensions: R replicas (one network a seed), B rows, T columns, V event codes, H width of the state. A row holds
`lengths` events and then the pad code up to T. Codes: 0 pad, 1 open, 2 close, 3 to 7 events without effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.racers import GRURacer, build_with_seed
from lessonlib.replicas import ReplicaGRU, clip_each_replica

PAD, OPEN, CLOSE, CODES = 0, 1, 2, 8
SHORTEST, LONGEST = 5, 20
COMMAND_SHARE = 0.2
HIDDEN_SIZE, BATCH_SIZE, LEARNING_RATE, MAX_NORM = 16, 32, 1e-2, 1.0
READINGS = ("last column", "last real step")


class Logs(NamedTuple):
    """Rows of logs: ids (..., B, T), lengths, answers (0 open, 1 closed) and steps since the last command, all (..., B)."""

    ids: Tensor
    lengths: Tensor
    answers: Tensor
    age: Tensor


def draw_logs(rows: int, width: int, generator: torch.Generator) -> Logs:
    """Logs of 5 to 20 events, each a command with probability 0.2, the first one always; padded to `width` columns."""
    if count("width", width) < LONGEST:
        raise ValueError(f"width is {width}; a log may have {LONGEST} events, so it must be at least {LONGEST}")
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count("rows", rows),), generator=generator)
    events = torch.randint(CLOSE + 1, CODES, (rows, width), generator=generator)
    commands = torch.randint(OPEN, CLOSE + 1, (rows, width), generator=generator)
    given = torch.rand(rows, width, generator=generator) < COMMAND_SHARE
    given[:, 0] = True
    column = torch.arange(width)
    real = column < lengths[:, None]
    ids = torch.where(real, torch.where(given, commands, events), PAD)
    last = torch.where(real & given, column, -1).amax(1)
    return Logs(ids, lengths, ids[torch.arange(rows), last] - OPEN, lengths - 1 - last)


def read(network: ReplicaGRU, ids: Tensor, lengths: Tensor, reading: str) -> Tensor:
    """Logits (R, B, 2) from one state of each row: that of the last column, or that of its last real step.

    Parameters
    ----------
    ids, lengths : Tensor, shapes (R, B, T) and (R, B)
    reading : {"last column", "last real step"}
    """
    if reading not in READINGS:
        raise ValueError(f"reading is {reading!r}; it must be one of {', '.join(READINGS)}")
    states = network.states(ids)                                             # (T, R, B, H)
    if reading == "last column":
        state = states[-1]
    else:
        where = (lengths - 1)[None, :, :, None].expand(1, -1, -1, states.shape[-1])
        state = states.gather(0, where)[0]
    return torch.baddbmm(network.readout_bias, state, network.readout)[..., :2]


def train_readers(reading: str, *, seeds: Sequence[int], updates: int, width: int) -> ReplicaGRU:
    """One GRU for every seed, trained with AdamW on fresh logs padded to `width`; replica i never sees the others' logs."""
    network = ReplicaGRU([build_with_seed(lambda: GRURacer(CODES, HIDDEN_SIZE), seed) for seed in seeds])
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(count("updates", updates)):
        batch = Logs(*map(torch.stack, zip(*(draw_logs(BATCH_SIZE, width, g) for g in generators))))
        logits = read(network, batch.ids, batch.lengths, reading)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.answers.flatten()) * len(seeds)  # each replica's own mean
        optimiser.zero_grad()
        loss.backward()
        clip_each_replica(network.parameters(), MAX_NORM)
        optimiser.step()
    return network


@torch.no_grad()
def right(network: ReplicaGRU, logs: Logs, reading: str, *, alone: bool = False) -> Tensor:
    """Which answers are right, shape (R, B), bool: with the rows as they are padded, or each row alone without padding."""
    replicas = len(network.embedding)

    def answers(ids: Tensor, lengths: Tensor) -> Tensor:
        return read(network, ids.expand(replicas, -1, -1), lengths.expand(replicas, -1), reading).argmax(-1)

    if not alone:
        return answers(logs.ids, logs.lengths) == logs.answers
    found = torch.empty(replicas, len(logs.ids), dtype=torch.long)
    for length in logs.lengths.unique():                                     # rows of one length need no padding
        rows = logs.lengths == length
        found[:, rows] = answers(logs.ids[rows, :length], logs.lengths[rows])
    return found == logs.answers
