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
from torch import Tensor

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


def with_random_answers(task: Task, vocabulary: int, *, generator: torch.Generator) -> Task:
    """The task with random symbols fed in place of the answers already given; targets and mask are kept.

    In the inputs of a copy row, every scored column but the first (the separator) holds the previous
    answer. These columns are replaced by uniform draws of the ids 1 to vocabulary - 1.
    """
    columns = task.mask[0].nonzero().flatten()[1:]
    inputs = task.inputs.clone()
    if len(columns):
        inputs[:, columns] = draw_bodies(len(columns), len(inputs), vocabulary, generator)
    return task._replace(inputs=inputs)


def _check_answers(answers: Tensor, body: Tensor) -> None:
    if answers.ndim != 2 or answers.shape != body.shape or not len(answers):
        raise ValueError(f"answers and body have shapes {tuple(answers.shape)} and {tuple(body.shape)}; "
                         "they must be the same (N, L), N at least 1")


def errors_by_offset(answers: Tensor, body: Tensor) -> list[float]:
    """Where in the body the wrong answers stand, relative to the token that was asked for.

    Parameters
    ----------
    answers, body : Tensor, shape (N, L)
        Answer k of a row should be token k of its body.

    Returns
    -------
    list of float, length 2L - 1
        For the offsets d = -(L - 1) to L - 1: of the wrong answers k for which token k + d exists,
        the share equal to it (NaN where there are none). A token that occurs twice counts at both places.
    """
    _check_answers(answers, body)
    length, wrong = body.shape[1], answers != body
    shares = []
    for offset in range(1 - length, length):
        asked = slice(max(0, -offset), length - max(0, offset))
        there = slice(max(0, offset), length + min(0, offset))
        hits = (answers[:, asked] == body[:, there]) & wrong[:, asked]
        shares.append((hits.sum() / wrong[:, asked].sum()).item())
    return shares


def share_still_to_come(answers: Tensor, body: Tensor) -> float:
    """Of the wrong answers before the last, the share that are a token later in the body; NaN without any."""
    _check_answers(answers, body)
    later = torch.ones(body.shape[1], body.shape[1], dtype=torch.bool).triu(1)  # (asked, later place)
    to_come = ((answers[:, :, None] == body[:, None, :]) & later).any(2)
    wrong = (answers != body)[:, :-1]
    return (to_come[:, :-1][wrong].sum() / wrong.sum()).item()
