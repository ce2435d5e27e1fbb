"""Whole lines of the maintenance log side by side: what their closing tags cost a model, and which gradient these send back.

Dimensions: N lines, B of them in a batch, T steps of the longest, V characters, E embedding width. Every line is read from
a newline and a state of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count, positive
from lessonlib.character_model import LEARNING_RATE, MAX_NORM
from lessonlib.log_models import LogModel
from lessonlib.maintenance_log import Corpus, Line
from lessonlib.packing import length_batches, pad, real_steps

BATCH_SIZE, CHECK_EVERY = 32, 25
SOLVED = 0.75  # share of closing tags right from which the rule counts as learned; a guess has 1/8


class LineBatch(NamedTuple):
    """Lines as a batch: `inputs` (N, T) begin with a newline, `targets` (N, T) are the characters that follow each input.

    `slash` (N,) is the step whose input is the slash: there the letter of the closing tag is predicted, and its digit at
    the next. The opening tag is the input of steps 1 and 2, counted from zero. Line n has `lengths[n]` steps.
    """

    inputs: Tensor
    targets: Tensor
    slash: Tensor
    lengths: Tensor

    def rows(self, which: Tensor) -> LineBatch:
        """The lines picked by an index, without the padding that none of them needs."""
        steps = int(self.lengths[which].max())
        return LineBatch(self.inputs[which, :steps], self.targets[which, :steps], self.slash[which], self.lengths[which])


def line_batch(lines: Sequence[Line], corpus: Corpus) -> LineBatch:
    """Lines of a log as padded rows."""
    texts = [str(line) for line in lines]
    targets, lengths = pad([torch.as_tensor(corpus.encode(text)) for text in texts])
    inputs, _ = pad([torch.as_tensor(corpus.encode("\n" + text[:-1])) for text in texts])
    return LineBatch(inputs, targets, torch.tensor([text.rindex("/") + 1 for text in texts]), lengths)


class ClosingTag(NamedTuple):
    """How well closing tags are predicted: mean loss of letter and digit together, in nats a line, and share right.

    A guess costs ln 8 and is right once in eight; both characters must have the largest logit to count as right.
    """

    loss: float
    right: float


@torch.no_grad()
def closing_tag(model: LogModel, lines: LineBatch) -> ClosingTag:
    """Score the closing tags of given lines: nothing is sampled, so nothing is left to chance."""
    logits, _ = model(lines.inputs)
    rows, loss, right = torch.arange(len(lines.slash)), 0.0, torch.ones(len(lines.slash), dtype=torch.bool)
    for place in (lines.slash, lines.slash + 1):                      # the letter, then the digit
        here, target = logits[rows, place], lines.targets[rows, place]
        loss += F.cross_entropy(here, target).item()
        right &= here.argmax(-1) == target
    return ClosingTag(loss, right.double().mean().item())


def line_weights(lines: LineBatch, closing_weight: float) -> Tensor:
    """Weight of every character in the loss, (N, T): 1, `closing_weight` for the two of the closing tag, 0 for padding."""
    if not 0 <= closing_weight < float("inf"):
        raise ValueError(f"closing_weight is {closing_weight}; it must be finite and not negative")
    weights = real_steps(lines.lengths, lines.inputs.shape[1]).float()
    for place in (lines.slash, lines.slash + 1):
        weights[torch.arange(len(place)), place] = closing_weight
    return weights


def weighted_loss(model: LogModel, lines: LineBatch, closing_weight: float = 1.0) -> Tensor:
    """Weighted mean of the loss of every character, in nats; with a weight of 1, the mean loss a character."""
    weights = line_weights(lines, closing_weight)
    losses = F.cross_entropy(model(lines.inputs)[0].flatten(0, 1), lines.targets.flatten(), reduction="none")
    return (losses.view_as(weights) * weights).sum() / weights.sum()


@torch.enable_grad()
def train_on_lines(model: LogModel, lines: LineBatch, held_out: LineBatch, updates: int, *, closing_weight: float,
                   generator: torch.Generator, learning_rate: float = LEARNING_RATE,
                   check_every: int = CHECK_EVERY, stop: bool = True) -> list[ClosingTag]:
    """Train on whole lines, in batches of 32 of similar length, until the closing tag is learned or the updates are spent.

    No gradient is cut: it runs through the whole line. Adam, clipping at a norm of 5.

    Parameters
    ----------
    stop : bool
        Whether the first check with a share of at least 0.75 ends the training.

    Returns
    -------
    list of ClosingTag
        Scores on `held_out` after every `check_every` updates.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=positive("learning_rate", learning_rate))
    done, checks = 0, []
    count("check_every", check_every)
    while done < count("updates", updates):
        for which in length_batches(lines.lengths, BATCH_SIZE, generator=generator, pool=4):
            loss = weighted_loss(model, lines.rows(which), closing_weight)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
            optimiser.step()
            done += 1
            if done % check_every == 0:
                checks.append(closing_tag(model, held_out))
            if done == updates or (stop and checks and checks[-1].right >= SOLVED):
                return checks
    return checks


# The gradient of a closing tag ---------------------------------------------------------------------------------

@torch.enable_grad()
def closing_gradient(model: LogModel, lines: LineBatch) -> Tensor:
    """Gradient of each line's loss on the letter of its closing tag, at the embedded input of every step.

    Returns
    -------
    Tensor, shape (N, T, E), float64
        Zero after the slash.
    """
    embedded = model.embedding(lines.inputs).detach().requires_grad_()
    rows = torch.arange(len(lines.slash))
    logits = model.readout(model.recurrence(embedded)[0][rows, lines.slash])
    loss = F.cross_entropy(logits, lines.targets[rows, lines.slash], reduction="sum")
    return torch.autograd.grad(loss, embedded)[0].double()


def arriving(gradient: Tensor, lines: LineBatch) -> Tensor:
    """Norm at the two characters of the opening tag, relative to the norm at the slash: one number a line, (N,)."""
    norms = gradient.norm(dim=-1)
    return norms[:, 1:3].norm(dim=1) / norms[torch.arange(len(norms)), lines.slash]


def agreement(gradient: Tensor) -> float:
    """Norm of the mean of vectors (N, E) over the root mean square of their norms.

    One if all are equal, about 1 / sqrt(N) if their directions have nothing to do with each other.
    """
    if gradient.ndim != 2 or not len(gradient) or not gradient.abs().max() > 0:
        raise ValueError(f"gradient has shape {tuple(gradient.shape)}, or is zero; it must be (N, E) with N at least 1")
    return (gradient.mean(0).norm() / gradient.pow(2).sum(1).mean().sqrt()).item()
