"""Inspection notes: their draws against recorded counts, and the rule of their verdicts by brute force."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from lessonlib.reviews import (
    INDEX,
    PARTS,
    VOCABULARY,
    Note,
    clause_verdicts,
    draw_notes,
    encode,
    every_note,
    occurs_in,
    twin,
    word_counts,
    write_contradictions,
    write_long_notes,
    write_notes,
)


def test_vocabulary_order():
    assert len(VOCABULARY) == 17 == len(set(VOCABULARY))
    assert [INDEX[word] for word in ("was", "and", "very", "not")] == [13, 14, 15, 16]


def test_the_draws_are_the_recorded_ones():
    """The order of the draws decides every figure of the pages; the counts were recorded elsewhere."""
    train, test = draw_notes(1600, 11), draw_notes(600, 12)
    assert train.ids.shape == (1600, 8) and test.ids.shape == (600, 8)
    assert [int((~train.negated).sum()), int(train.negated.sum()), int(train.verdicts.sum())] == [805, 795, 788]
    assert [int(test.verdicts.sum()), int(test.verdicts[test.negated].sum())] == [308, 156]
    assert int(test.negated.sum()) == 303
    assert test.ids[0].tolist() == [2, 13, 15, 8, 14, 1, 13, 6]
    seen = occurs_in(test.ids, train.ids)
    assert [int(seen.sum()), int(seen[test.negated].sum())] == [297, 158]


@pytest.mark.parametrize("seed", range(5))
def test_every_clause_agrees_with_the_verdict(seed):
    for note in write_notes(200, np.random.default_rng(seed)):
        assert clause_verdicts(note.words) == [note.good_order] * 2
        assert len(note.words) == 8 and sum(word in ("very", "not") for word in note.words) == 1


def test_every_note_is_complete_and_what_is_drawn_belongs_to_it():
    notes = every_note()
    texts = Counter(" ".join(note.words) for note in notes)
    assert len(texts) == len(notes) == 2560
    assert all(clause_verdicts(note.words) == [note.good_order] * 2 for note in notes)
    assert all(" ".join(note.words) in texts for note in write_notes(500, np.random.default_rng(3)))


def test_bags_with_not_are_split_evenly_and_bags_with_very_are_pure():
    bags = defaultdict(list)
    for note in every_note():
        bags[note.modifier, tuple(sorted(note.words))].append(note.good_order)
    negated = [verdicts for (modifier, _), verdicts in bags.items() if modifier == "not"]
    very = [verdicts for (modifier, _), verdicts in bags.items() if modifier == "very"]
    assert len(negated) == 160 and all(len(v) == 8 and sum(v) == 4 for v in negated)
    assert len(very) == 200 and all(len(set(v)) == 1 for v in very)


def test_a_twin_is_a_note_with_the_same_words_and_the_other_verdict():
    texts = {" ".join(note.words) for note in every_note()}
    for note in (n for n in every_note() if n.modifier == "not"):
        other = twin(note)
        assert sorted(other.words) == sorted(note.words) and other.good_order != note.good_order
        assert clause_verdicts(other.words) == [other.good_order] * 2 and " ".join(other.words) in texts
        assert twin(other) == note


@pytest.mark.parametrize("clauses", [2, 3, 5])
def test_long_notes_agree_in_every_clause(clauses):
    for note in write_long_notes(100, clauses, np.random.default_rng(0)):
        assert clause_verdicts(note.words) == [note.good_order] * clauses
        assert len(note.words) == 4 * clauses  # three words and one modifier or "and" each
        assert len(set(PARTS) & set(note.words)) == clauses


def test_contradictions_disagree_and_hold_the_last_clause():
    for note in write_contradictions(100, np.random.default_rng(0)):
        first, last = clause_verdicts(note.words)
        assert first != last == note.good_order


def test_word_counts_against_a_loop_and_blind_to_order():
    ids = draw_notes(50, 1).ids
    counts = word_counts(ids)
    assert counts.dtype == torch.float32
    for row, count in zip(ids.tolist(), counts.tolist(), strict=True):
        assert count == [row.count(word) for word in range(17)]
    assert torch.equal(word_counts(ids[:, torch.randperm(8)]), counts)


def test_encode_keeps_words_verdicts_and_marks():
    notes = write_notes(30, np.random.default_rng(8))
    arrays = encode(notes)
    assert [[VOCABULARY[i] for i in row] for row in arrays.ids.tolist()] == [note.words for note in notes]
    assert arrays.verdicts.tolist() == [float(note.good_order) for note in notes]
    assert arrays.negated.tolist() == ["not" in note.words for note in notes]
    assert arrays.rows(slice(0, 3)).ids.shape == (3, 8)


NOTE = Note(["valve", "was", "very", "tight", "and", "seal", "was", "quiet"], True, "very")


@pytest.mark.parametrize(("call", "message"), [
    (lambda: write_notes(0, np.random.default_rng(0)), "number is 0"),
    (lambda: write_long_notes(3, 6, np.random.default_rng(0)), "clauses is 6"),
    (lambda: clause_verdicts(["valve", "was"]), "clause"),
    (lambda: clause_verdicts(["valve", "was", "rather", "tight"]), "clause"),
    (lambda: twin(NOTE), "only a note with 'not'"),
    (lambda: encode([]), "notes is empty"),
    (lambda: encode([NOTE, Note(["valve"], True, "very")]), "8 words"),
    (lambda: encode([Note(["pump"], True, "very")]), "vocabulary"),
    (lambda: word_counts(torch.tensor([[17]])), "0 to 16"),
    (lambda: word_counts(torch.zeros(2, 3)), "integers"),
    (lambda: occurs_in(torch.zeros(2, 3), torch.zeros(2, 4)), r"\(2, 3\) and \(2, 4\)"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
