"""Symbol tasks whose answers are known: copy, reverse and induction.

Dimensions: N rows, L length of the body (the tokens to be remembered), T length of the inputs.
A row of token ids is turned into next-token prediction: the inputs are the row without its last
token, the targets the row without its first. The mask is 1 where the body comes a second time,
so that the target is determined by what stands before it, and 0 where it is a random draw.

    copy        body, separator, body              T = 2L
    reverse     body, separator, body backwards    T = 2L
    induction   body, body                         T = 2L - 1
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch import Tensor

from lessonlib.figures import COLOURS, INK

SEPARATOR = 0  # never part of a body


class Task(NamedTuple):
    """Rows of a task, ready for next-token prediction.

    Attributes
    ----------
    inputs, targets : Tensor, shape (N, T), int64
        Token ids; `targets[:, t]` is the token that follows `inputs[:, t]`.
    mask : Tensor, shape (N, T), int64
        1 at the scored positions, 0 elsewhere.
    """

    inputs: Tensor
    targets: Tensor
    mask: Tensor

    def rows(self, index: Tensor | slice) -> Task:
        """The rows that `index` selects, as a task."""
        return Task(self.inputs[index], self.targets[index], self.mask[index])


def draw_bodies(length: int, rows: int, vocabulary: int, generator: torch.Generator) -> Tensor:
    """Uniform draws of the ids 1 to vocabulary - 1, shape (rows, length), in one call.

    Raises
    ------
    ValueError
        If the length or the number of rows is below 1, or the vocabulary below 2.
    """
    for name, value, least in (("length", length, 1), ("rows", rows, 1), ("vocabulary", vocabulary, 2)):
        if value < least:
            raise ValueError(f"{name} is {value}; it must be at least {least}")
    return torch.randint(SEPARATOR + 1, vocabulary, (rows, length), generator=generator)


def next_token_task(sequence: Tensor, first_scored: int) -> Task:
    """Inputs, targets and mask of complete rows; columns from `first_scored` on are scored.

    Parameters
    ----------
    sequence : Tensor, shape (N, T + 1)
        Complete rows of token ids.
    first_scored : int
        Index of the first input column whose target counts.
    """
    if sequence.ndim != 2 or sequence.shape[1] < 2:
        raise ValueError(f"sequence has shape {tuple(sequence.shape)}; it must be (rows, at least 2 tokens)")
    steps = sequence.shape[1] - 1
    if not 0 <= first_scored < steps:
        raise ValueError(f"first_scored is {first_scored}; it must be from 0 to {steps - 1}")
    mask = (torch.arange(steps) >= first_scored).long().repeat(len(sequence), 1)
    return Task(sequence[:, :-1], sequence[:, 1:], mask)


def copy_task(length: int, rows: int, vocabulary: int, *, generator: torch.Generator) -> Task:
    """Repeat the body after the separator: each answer stands `length` columns back.

    Parameters
    ----------
    length : int
        Tokens of the body, L.
    rows : int
        Number of rows, N.
    vocabulary : int
        Number of token ids; 0 is the separator, the others are the symbols.
    generator : torch.Generator
        Source of the bodies; one call draws them all.

    Returns
    -------
    Task
        T = 2L input columns, of which the last L are scored.
    """
    body = draw_bodies(length, rows, vocabulary, generator)
    separator = torch.full((rows, 1), SEPARATOR)
    return next_token_task(torch.cat([body, separator, body], dim=1), first_scored=length)


def reverse_task(length: int, rows: int, vocabulary: int, *, generator: torch.Generator) -> Task:
    """Repeat the body backwards after the separator; parameters and shapes as for `copy_task`."""
    body = draw_bodies(length, rows, vocabulary, generator)
    separator = torch.full((rows, 1), SEPARATOR)
    return next_token_task(torch.cat([body, separator, body.flip(1)], dim=1), first_scored=length)


def induction_task(length: int, rows: int, vocabulary: int, *, generator: torch.Generator) -> Task:
    """Repeat the body at once, without a separator; parameters as for `copy_task`.

    T = 2L - 1. The first repeated token is not scored, since nothing announces the repetition:
    L - 1 scored positions.
    """
    body = draw_bodies(length, rows, vocabulary, generator)
    return next_token_task(torch.cat([body, body], dim=1), first_scored=length)


def _token_boxes(axes: Axes, tokens: list[int], first_scored: int, y: float) -> None:
    """A row of boxes with token ids; the boxes of scored inputs are shaded."""
    for column, token in enumerate(tokens):
        scored = column >= first_scored
        axes.add_patch(Rectangle((column - 0.45, y), 0.9, 0.9, facecolor=COLOURS["grey"] if scored else "none",
                                 alpha=0.25 if scored else 1.0, edgecolor="none"))
        axes.add_patch(Rectangle((column - 0.45, y), 0.9, 0.9, facecolor="none", edgecolor=INK, linewidth=0.8))
        axes.text(column, y + 0.42, str(token), ha="center", va="center", fontsize=9)


def draw_copy_row(axes: Axes, body: list[int]) -> None:
    """Draw a copy row of a short body, and the way from its first token to the first answer.

    Above the row the recurrent way, one arrow a step through the states; below it the way of
    attention, one arrow from the token to the position that answers.

    Parameters
    ----------
    axes : Axes
        Emptied and without frame afterwards.
    body : list of int
        Two to eight token ids.
    """
    if not 2 <= len(body) <= 8:
        raise ValueError(f"body has {len(body)} tokens; two to eight can be read")
    length = len(body)
    tokens = [*body, SEPARATOR, *body[:-1]]
    _token_boxes(axes, tokens, length, 0.0)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 9, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    for column in range(len(tokens)):
        on_way = column <= length
        colour = COLOURS["gru"] if on_way else COLOURS["grey"]
        axes.add_patch(Rectangle((column - 0.3, 1.75), 0.6, 0.6, facecolor="none", edgecolor=colour, linewidth=1.4))
        axes.plot([column, column], [0.95, 1.7], color=COLOURS["grey"], linewidth=0.8)
        if column < len(tokens) - 1:
            axes.add_patch(FancyArrowPatch((column + 0.3, 2.05), (column + 0.7, 2.05), **arrow,
                                           color=COLOURS["gru"] if column < length else COLOURS["grey"]))
    axes.add_patch(FancyArrowPatch((0, -0.08), (length, -0.08), connectionstyle="arc3,rad=0.3", **arrow,
                                   color=COLOURS["attention"]))
    axes.text(-0.3, 2.62, f"GRU: {length} steps through one state", color=COLOURS["gru"], va="bottom")
    axes.text(length / 2, -1.6, "attention: one look back", color=COLOURS["attention"], ha="center", va="top")
    axes.text(length + 0.55, -0.35, f"answer here: {body[0]}", va="top", fontsize=9)
    axes.set(xlim=(-0.7, len(tokens) - 0.3), ylim=(-2.3, 3.3))
    axes.axis("off")
