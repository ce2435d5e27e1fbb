"""Training a network on a symbol task, and the accuracy that it reaches on held-out rows.

Dimensions: N rows, B batch, T length, V vocabulary; logits have shape (B, T, V), the rest of a task (B, T).
The constants are the protocol of the race; every run of it uses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.tasks import Task

BATCH_SIZE = 64
LEARNING_RATE = 3e-3
MAX_NORM = 1.0  # of the gradient, over all parameters together
CHECK_EVERY = 50  # updates between two checks on the held-out rows


@dataclass
class History:
    """Held-out accuracy in the course of a training run.

    Attributes
    ----------
    updates : list of int
        Number of updates made before each check.
    accuracy : list of float
        Share of scored answers that were right at that check, 0 to 1.
    """

    updates: list[int] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)

    def at(self, update: int) -> float:
        """The accuracy at the check after `update` updates."""
        if update not in self.updates:
            raise ValueError(f"update is {update}; checks were made at {self.updates}")
        return self.accuracy[self.updates.index(update)]

    def first_reaching(self, level: float) -> int | None:
        """The first check at which the accuracy was at least `level`, or None."""
        return next((u for u, a in zip(self.updates, self.accuracy) if a >= level), None)


def split_rows(task: Task, held_out: int) -> tuple[Task, Task]:
    """Training rows and the last `held_out` rows of a task."""
    rows = len(task.inputs)
    if not 0 < held_out < rows:
        raise ValueError(f"held_out is {held_out}; it must be from 1 to {rows - 1}")
    return task.rows(slice(0, rows - held_out)), task.rows(slice(rows - held_out, rows))


def draw_batch(task: Task, batch_size: int, generator: torch.Generator) -> Task:
    """Rows drawn uniformly with replacement, by one call of the generator."""
    return task.rows(torch.randint(len(task.inputs), (batch_size,), generator=generator))


def masked_loss(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Cross-entropy in nats, averaged over the scored positions only.

    Parameters
    ----------
    logits : Tensor, shape (..., T, V)
    targets, mask : Tensor, shape (..., T)

    Raises
    ------
    ValueError
        If the shapes do not agree or nothing is scored.
    """
    if logits.shape[:-1] != targets.shape or mask.shape != targets.shape:
        raise ValueError(f"logits, targets and mask have shapes {tuple(logits.shape)}, {tuple(targets.shape)} and "
                         f"{tuple(mask.shape)}; they must be (..., T, V), (..., T) and (..., T)")
    if not mask.any():
        raise ValueError("mask is zero everywhere; at least one position must be scored")
    scored = mask.bool()
    return F.cross_entropy(logits[scored], targets[scored])


@torch.no_grad()
def predict(network: nn.Module, ids: Tensor, batch_size: int = 512) -> Tensor:
    """The most probable next token at each position, shape (N, T), in evaluation mode.

    The network returns to the mode it was in; the result does not depend on `batch_size`.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    was_training = network.training
    network.eval()
    answers = torch.cat([network(part).argmax(-1) for part in ids.split(batch_size)])
    network.train(was_training)
    return answers


def accuracy(network: nn.Module, task: Task, batch_size: int = 512) -> float:
    """Share of the scored answers that are right, 0 to 1."""
    right = predict(network, task.inputs, batch_size) == task.targets
    return right[task.mask.bool()].float().mean().item()


def scored_columns(task: Task) -> Tensor:
    """Indices of the scored columns, for tasks that score the same ones in every row."""
    scored = task.mask.bool()
    if not torch.equal(scored.all(0), scored.any(0)):
        raise ValueError("mask differs between rows; every row must score the same columns")
    return scored[0].nonzero().flatten()


def accuracy_by_position(network: nn.Module, task: Task) -> list[float]:
    """Share of right answers at each scored column, first to last."""
    right = predict(network, task.inputs) == task.targets
    return right[:, scored_columns(task)].float().mean(0).tolist()


def train_step(network: nn.Module, optimiser: torch.optim.Optimizer, batch: Task, max_norm: float = MAX_NORM) -> float:
    """One update: loss, gradient, clipping, step. Returns the loss before the update, in nats."""
    loss = masked_loss(network(batch.inputs), batch.targets, batch.mask)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), max_norm)
    optimiser.step()
    return loss.item()


def train(network: nn.Module, task: Task, held_out: Task, *, updates: int, generator: torch.Generator,
          stop_at: float | None = None) -> History:
    """Train with AdamW on batches from `generator`, checking the held-out accuracy every `CHECK_EVERY` updates.

    Parameters
    ----------
    updates : int
        Most updates to make.
    generator : torch.Generator
        Draws the rows of each batch.
    stop_at : float, optional
        End the run at the first check with at least this accuracy.
    """
    if updates < 1:
        raise ValueError(f"updates is {updates}; it must be at least 1")
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE)
    history = History()
    for update in range(1, updates + 1):
        train_step(network, optimiser, draw_batch(task, BATCH_SIZE, generator))
        if update % CHECK_EVERY == 0:
            history.updates.append(update)
            history.accuracy.append(accuracy(network, held_out))
            if stop_at is not None and history.accuracy[-1] >= stop_at:
                break
    return history
