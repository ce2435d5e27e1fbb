"""Inspection notes of eight words, whose verdict depends on the order of the words.

Dimensions: N notes, T = 8 words a note, V = 17 words in the vocabulary.

A note is two clauses about two parts of a machine, such as "bearing was sound and seal was not noisy".
One clause carries a modifier. "very" leaves its judgement as it is, "not" turns it round, and the two
clauses always agree: the machine is in good order, or it needs repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

PARTS = ["bearing", "seal", "valve", "motor", "filter"]
FAVOURABLE = ["sound", "quiet", "clean", "tight"]
UNFAVOURABLE = ["worn", "noisy", "dirty", "loose"]
MODIFIERS = ["very", "not"]
VOCABULARY = [*PARTS, *FAVOURABLE, *UNFAVOURABLE, "was", "and", *MODIFIERS]
INDEX = {word: index for index, word in enumerate(VOCABULARY)}
NOTE_LENGTH = 8
NOT = INDEX["not"]


class Note(NamedTuple):
    """One note: its words, whether it speaks of a machine in good order, and its modifier."""

    words: list[str]
    good_order: bool
    modifier: str


class Notes(NamedTuple):
    """Notes as arrays.

    Attributes
    ----------
    ids : Tensor, shape (N, T), int64
        Index of each word in `VOCABULARY`.
    verdicts : Tensor, shape (N,), float32
        1 for a machine in good order, 0 for one that needs repair.
    negated : Tensor, shape (N,), bool
        Whether the note carries "not".
    """

    ids: Tensor
    verdicts: Tensor
    negated: Tensor

    def rows(self, index: Tensor | slice) -> Notes:
        """The notes that `index` selects."""
        return Notes(self.ids[index], self.verdicts[index], self.negated[index])


def _lists_of_clauses(good_order: bool, modifier: str, place: int) -> list[list[str]]:
    """For each clause the four words that it may judge with, given which clause (0 or 1) is modified."""
    turned = [clause == place and modifier == "not" for clause in (0, 1)]
    return [FAVOURABLE if good_order != turn else UNFAVOURABLE for turn in turned]


def _compose(parts: Sequence[str], judgements: Sequence[str], modifier: str, place: int) -> list[str]:
    """The words of a note: one clause for each part, joined by "and"."""
    clauses = [[str(part), "was", *([modifier] if clause == place else []), str(judgement)]
               for clause, (part, judgement) in enumerate(zip(parts, judgements, strict=True))]
    return " and ".join(" ".join(clause) for clause in clauses).split()


def write_notes(number: int, rng: np.random.Generator) -> list[Note]:
    """Notes drawn at random; every possible note is equally likely.

    The draws of one note, in this order: two different parts, the verdict, the modifier,
    the clause that carries it, and the two judging words.

    Parameters
    ----------
    number : int
        Notes to write, at least 1.
    rng : numpy.random.Generator
        Source of all draws.
    """
    if number < 1:
        raise ValueError(f"number is {number}; it must be at least 1")
    notes = []
    for _ in range(number):
        parts = rng.choice(PARTS, size=2, replace=False)
        good_order = bool(rng.random() < 0.5)
        modifier = MODIFIERS[0] if rng.random() < 0.5 else MODIFIERS[1]
        place = 0 if rng.random() < 0.5 else 1
        pools = _lists_of_clauses(good_order, modifier, place)
        judgements = [rng.choice(pool) for pool in pools]
        words = _compose(parts, judgements, modifier, place)
        notes.append(Note(words, good_order, modifier))
    return notes


def write_long_notes(number: int, clauses: int, rng: np.random.Generator) -> list[Note]:
    """Notes of `clauses` clauses about different parts, all of one opinion; one of them carries the modifier.

    Raises
    ------
    ValueError
        If there are fewer than 2 clauses, or more than there are parts.
    """
    if not 2 <= clauses <= len(PARTS):
        raise ValueError(f"clauses is {clauses}; it must be from 2 to {len(PARTS)}")
    verdicts = [bool(rng.random() < 0.5) for _ in range(number)]
    return [_free_note([good_order] * clauses, good_order, rng) for good_order in verdicts]


def write_contradictions(number: int, rng: np.random.Generator) -> list[Note]:
    """Notes whose two clauses contradict each other; `good_order` holds what the last clause says."""
    verdicts = [bool(rng.random() < 0.5) for _ in range(number)]
    return [_free_note([not last, last], last, rng) for last in verdicts]


def _free_note(says: Sequence[bool], good_order: bool, rng: np.random.Generator) -> Note:
    """A note whose clauses say `says`; parts, modifier, its place and the judging words are drawn."""
    parts = rng.choice(PARTS, size=len(says), replace=False)
    modifier, place = MODIFIERS[rng.integers(2)], int(rng.integers(len(says)))
    turned = [clause == place and modifier == "not" for clause in range(len(says))]
    judgements = [rng.choice(FAVOURABLE if said != turn else UNFAVOURABLE)
                  for said, turn in zip(says, turned, strict=True)]
    return Note(_compose(parts, judgements, modifier, place), good_order, modifier)


def every_note() -> list[Note]:
    """All 2,560 different notes: 20 pairs of parts, 2 verdicts, 2 modifiers, 2 places, 16 pairs of words."""
    notes = []
    for parts, good_order, modifier, place in product(permutations(PARTS, 2), (True, False), MODIFIERS, (0, 1)):
        for judgements in product(*_lists_of_clauses(good_order, modifier, place)):
            notes.append(Note(_compose(parts, judgements, modifier, place), good_order, modifier))
    return notes


def clause_verdicts(words: Sequence[str]) -> list[bool]:
    """What each clause says by itself: True for good order.

    A clause is favourable if its last word is, turned round if the word before is "not".

    Raises
    ------
    ValueError
        If a clause does not consist of a part, "was", perhaps a modifier, and a judging word.
    """
    verdicts = []
    for clause in (text.split() for text in " ".join(words).split(" and ")):
        if not (len(clause) in (3, 4) and clause[0] in PARTS and clause[1] == "was"
                and set(clause[2:-1]) <= set(MODIFIERS) and clause[-1] in FAVOURABLE + UNFAVOURABLE):
            raise ValueError(f"words has the clause {' '.join(clause)!r}; "
                             "it must be a part, 'was', perhaps a modifier, and a judging word")
        verdicts.append((clause[-1] in FAVOURABLE) != (clause[-2] == "not"))
    return verdicts


def twin(note: Note) -> Note:
    """The same eight words with the two judgements exchanged; the verdict of a note with "not" turns round.

    Raises
    ------
    ValueError
        If the note has no "not": its twin would say the same.
    """
    if note.modifier != "not":
        raise ValueError(f"note is {' '.join(note.words)!r}; only a note with 'not' has a twin")
    words, first = list(note.words), note.words.index("and") - 1
    words[first], words[-1] = words[-1], words[first]
    return Note(words, not note.good_order, note.modifier)


def encode(notes: Iterable[Note]) -> Notes:
    """Notes of one length as arrays of ids, verdicts and marks; at least one note."""
    notes = list(notes)
    if not notes:
        raise ValueError("notes is empty; at least one note is needed")
    length = len(notes[0].words)
    for note in notes:
        if len(note.words) != length or not INDEX.keys() >= set(note.words):
            raise ValueError(f"notes holds {' '.join(note.words)!r}; "
                             f"every note must have {length} words, as the first, and all of the vocabulary")
    return Notes(torch.tensor([[INDEX[word] for word in note.words] for note in notes]),
                 torch.tensor([float(note.good_order) for note in notes]),
                 torch.tensor([note.modifier == "not" for note in notes]))


def draw_notes(number: int, seed: int) -> Notes:
    """Encoded notes from a generator of their own, as the pages number their data sets."""
    return encode(write_notes(number, np.random.default_rng(seed)))


def word_counts(ids: Tensor) -> Tensor:
    """How often each word occurs in each note: ids (N, T) give counts (N, V), float32. The order is lost.

    Raises
    ------
    ValueError
        If the ids are not integers from 0 to V - 1 in an array of two dimensions.
    """
    whole = ids.ndim == 2 and not ids.is_floating_point() and ids.numel() > 0
    if not whole or ids.min() < 0 or ids.max() >= len(VOCABULARY):
        raise ValueError(f"ids has shape {tuple(ids.shape)} and type {ids.dtype}; it must be (N, T), not empty, "
                         f"with integers from 0 to {len(VOCABULARY) - 1}")
    return torch.zeros(len(ids), len(VOCABULARY)).scatter_add_(1, ids, torch.ones(ids.shape))


def occurs_in(ids: Tensor, others: Tensor) -> Tensor:
    """Which rows of `ids` (N, T) also stand, word for word, among `others` (M, T): shape (N,), bool."""
    if ids.ndim != 2 or others.ndim != 2 or ids.shape[1] != others.shape[1]:
        raise ValueError(f"ids and others have shapes {tuple(ids.shape)} and {tuple(others.shape)}; "
                         "they must be (N, T) and (M, T)")
    known = {tuple(row) for row in others.tolist()}
    return torch.tensor([tuple(row) in known for row in ids.tolist()])
