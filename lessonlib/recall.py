"""Recall of the first symbol: the task, a network for it, and single runs that end once the task is learned.

Dimensions: N rows, B batch, T length, V symbols, H hidden size.
A row is a flag, 0 or 1, and T - 1 fillers, 2 to V - 1, that say nothing about it. The answer is the flag.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.gate_biases import set_forget_bias
from lessonlib.order_models import BATCH_SIZE, LEARNING_RATE, SequenceClassifier, right_answers

FLAGS, SYMBOLS = 2, 10  # the ids 0 and 1 are the flag, 2 to 9 are fillers
MAX_NORM = 1.0
LEARNED = 0.99  # share of right answers in a whole epoch of training at which a run ends
SOLVED = 0.95  # accuracy on rows that training lacks


class Recall(NamedTuple):
    """Rows of the task.

    Attributes
    ----------
    ids : Tensor, shape (N, T), int64
    flags : Tensor, shape (N,), float32
        The answers: `ids[:, 0]`.
    """

    ids: Tensor
    flags: Tensor


def recall_task(rows: int, length: int, *, generator: torch.Generator) -> Recall:
    """Draw all flags, then all fillers, each uniformly and by one call of the generator.

    Parameters
    ----------
    rows, length : int
        N and T, at least 1.
    """
    for name, value in (("rows", rows), ("length", length)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")
    flags = torch.randint(FLAGS, (rows, 1), generator=generator)
    fillers = torch.randint(FLAGS, SYMBOLS, (rows, length - 1), generator=generator)
    return Recall(torch.cat([flags, fillers], dim=1), flags[:, 0].float())


class Recaller(SequenceClassifier):
    """The sequence classifier of the inspection notes, for the symbols of this task.

    Parameters
    ----------
    kind : str
        `rnn` (plain, tanh), `gru` or `lstm`.
    forget_bias : float, optional
        Forget bias of an LSTM at the start; PyTorch's random draw around 0 where it is not given.
    """

    def __init__(self, kind: str, forget_bias: float | None = None) -> None:
        super().__init__(kind, SYMBOLS)
        self.kind = kind
        if forget_bias is not None and kind != "lstm":
            raise ValueError(f"forget_bias is {forget_bias} for the kind {kind!r}; only an lstm has one")
        if forget_bias is not None:
            set_forget_bias(self.recurrence, forget_bias)

    def states(self, ids: Tensor) -> Tensor:
        """Hidden states (B, T, H) of ids (B, T)."""
        if ids.ndim != 2 or ids.shape[1] < 1:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T), T at least 1")
        return self.recurrence(self.embedding(ids))[0]

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T), from the last state."""
        return self.readout(self.states(ids)[:, -1]).squeeze(-1)


@dataclass
class RecallRun:
    """A training run and its network.

    Attributes
    ----------
    network : Recaller
    shares : list of float
        One number an epoch: the share of its rows that were answered rightly, each before the update that it served.
    """

    network: Recaller
    shares: list[float] = field(default_factory=list)

    @property
    def learned(self) -> bool:
        """Whether the last epoch was answered rightly, to the share `LEARNED`."""
        return bool(self.shares) and self.shares[-1] >= LEARNED


def train_recaller(network: Recaller, task: Recall, *, epochs: int, generator: torch.Generator) -> RecallRun:
    """Train one network with Adam and clipping, until an epoch is answered to the share `LEARNED`.

    Parameters
    ----------
    epochs : int
        Most passes over the rows, at least 1; each in a new order, one permutation from `generator`.
    """
    if epochs < 1:
        raise ValueError(f"epochs is {epochs}; it must be at least 1")
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    run = RecallRun(network)
    while len(run.shares) < epochs and not run.learned:
        right = 0
        for rows in torch.randperm(len(task.ids), generator=generator).split(BATCH_SIZE):
            logits, flags = network(task.ids[rows]), task.flags[rows]
            optimiser.zero_grad()
            F.binary_cross_entropy_with_logits(logits, flags).backward()
            nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
            optimiser.step()
            right += ((logits > 0) == flags.bool()).sum().item()
        run.shares.append(right / len(task.ids))
    return run


def recall_accuracy(network: Recaller, task: Recall, batch_size: int = 500) -> float:
    """Share of the flags that a network names rightly; the result does not depend on `batch_size`."""
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    parts = zip(task.ids.split(batch_size), task.flags.split(batch_size))
    return torch.cat([right_answers(network, ids, flags) for ids, flags in parts]).double().mean().item()


@torch.no_grad()
def flag_signal(network: Recaller, task: Recall) -> Tensor:
    """How well the state tells the flag, at each step: the distance of two clouds in units of their size.

    Every row is read twice, once with each flag; over the rows, that gives two clouds of states at each step.
    Distance is that of their means; size is the root mean square distance of the states from their own mean.
    The weights are taken as float64, in a copy: what fades is soon smaller than the rounding of float32.

    Parameters
    ----------
    task : Recall
        At least 2 rows; their fillers are used, their flags are not.

    Returns
    -------
    Tensor, shape (T,), float64
        Infinite at the first step, where each cloud is one point, unless the flags have one embedding.
    """
    if len(task.ids) < 2:
        raise ValueError(f"task has {len(task.ids)} rows; at least two are needed")
    wide, clouds = deepcopy(network).double(), []
    for flag in range(FLAGS):
        ids = task.ids.clone()
        ids[:, 0] = flag
        clouds.append(wide.states(ids))                                # (N, T, H)
    means = [cloud.mean(0) for cloud in clouds]                        # (T, H)
    size = torch.stack([(cloud - mean).square().sum(-1).mean(0) for cloud, mean in zip(clouds, means)]).mean(0).sqrt()
    return (means[1] - means[0]).norm(dim=-1) / size
