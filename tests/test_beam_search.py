"""Beam search against enumeration, whatever the beam, the penalty, the minimum length and the batch."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_decoder import Table, divisor, plain_beam_search

from lessonlib.beam_search import beam_search, length_divisor
from lessonlib.decoding import greedy, score, select

PENALTY = st.sampled_from([(0.0, 0.0), (0.6, 0.0), (1.0, 0.0), (0.6, 5.0), (1.0, 5.0), (2.5, 0.0)])


def outputs(beams, row):
    """The outputs of a row, best first: tokens, ln p, score, finished."""
    return [(tuple(tokens[:length].tolist()), log_prob.item(), value.item(), finished.item())
            for tokens, length, log_prob, value, finished in zip(*(part[row] for part in beams), strict=True) if length]


@given(st.integers(0, 999), st.integers(2, 4), st.integers(1, 4), st.integers(1, 9), PENALTY, st.integers(0, 3), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_equals_the_search_as_it_is_told(seed, vocabulary, steps, size, penalty, min_length, n_best):
    table, min_length = Table(3, vocabulary, steps, seed=seed, forbidden=0.25), min(min_length, steps - 1)
    start, state = table.start()
    beams = beam_search(table.step, state, start, end=table.end, beam_size=size, max_steps=steps, alpha=penalty[0],
                        offset=penalty[1], min_length=min_length, n_best=n_best)
    for row in range(3):
        told, _ = plain_beam_search(table, row, size, *penalty, min_length)
        found = outputs(beams, row)
        assert [y for y, *_ in found] == [y for y, *_ in told[:n_best]]
        assert [pair[1:3] for pair in found] == [pytest.approx(pair[1:], abs=1e-12) for pair in told[:n_best]]
        assert [finished for *_, finished in found] == [y[-1] == table.end for y, *_ in found]


@given(st.integers(0, 999), st.integers(2, 4), st.integers(1, 4), PENALTY, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_beam_as_wide_as_all_beginnings_finds_the_best_of_all(seed, vocabulary, steps, penalty, min_length):
    table, min_length = Table(2, vocabulary, steps, seed=seed, forbidden=0.2), min(min_length, steps - 1)
    start, state = table.start()
    beams = beam_search(table.step, state, start, end=table.end, beam_size=vocabulary**steps, max_steps=steps,
                        alpha=penalty[0], offset=penalty[1], min_length=min_length, n_best=vocabulary**steps)
    for row in range(2):
        ended, cut = table.outputs(row, min_length)
        scores = {y: total / divisor(len(y), *penalty) for y, total in ended.items()}
        found = outputs(beams, row)
        assert {y for y, *_ in found} == set(ended) | set(cut)  # every output there is, each once
        assert [value for _, _, value, finished in found if finished] == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-12)
        if ended:
            assert scores[found[0][0]] == pytest.approx(max(scores.values()), abs=1e-12)


@given(st.integers(0, 999), st.integers(2, 4), st.integers(1, 5), PENALTY, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_beam_of_one_is_greedy(seed, vocabulary, steps, penalty, min_length):
    table, min_length = Table(4, vocabulary, steps, seed=seed), min(min_length, steps - 1)
    start, state = table.start()
    options = {"end": table.end, "max_steps": steps, "min_length": min_length}
    best = beam_search(table.step, state, start, beam_size=1, alpha=penalty[0], offset=penalty[1], **options).best
    told = greedy(table.step, state, start, **options)
    assert torch.equal(best.tokens, told.tokens) and torch.equal(best.lengths, told.lengths)
    assert torch.allclose(best.log_probs, told.log_probs, atol=1e-12, rtol=0) and torch.equal(best.finished, told.finished)


@given(st.integers(0, 300), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_the_trace_holds_what_was_kept_at_each_step(seed, size):
    table, trace = Table(1, 3, 4, seed=seed, forbidden=0.2), []
    start, state = table.start()
    beam_search(table.step, state, start, end=table.end, beam_size=size, max_steps=4, trace=trace)
    _, told = plain_beam_search(table, 0, size, 0, 0, 0)
    for step, kept in zip(trace, told, strict=False):  # the search may stop before the last step, never the other way round
        rows = [(tuple(y.tolist()), s.item()) for y, s in zip(step.tokens[0], step.log_probs[0], strict=True) if s > -math.inf]
        assert [y for y, _ in rows] == [y for y, _ in kept] and [s for _, s in rows] == pytest.approx([s for _, s in kept])
        assert step.ended[0].tolist()[:len(kept)] == [y[-1] == table.end for y, _ in kept]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_size_of_a_batch_has_no_say(size, alpha):
    """A row is searched as if it were alone, also where others of its batch have ended."""
    table = Table(10, 3, 5, seed=21, forbidden=0.2)
    start, state = table.start()
    options = {"end": table.end, "beam_size": 3, "max_steps": 5, "alpha": alpha, "n_best": 3}
    whole = beam_search(table.step, state, start, **options)
    for rows in torch.arange(10).split(size):
        part = beam_search(table.step, select(state, rows), start[rows], **options)
        assert [outputs(part, i) for i in range(len(rows))] == [outputs(whole, row) for row in rows.tolist()]


def chain(ends):
    """A model of one output for each row: token 0 at ln p = -0.5 a step, and after `ends[row]` of them the end, at -0.5 too."""
    def step(tokens, state):
        row, t = state
        p = math.exp(-0.5)
        logits = torch.tensor([p, 1 - p, 0.0], dtype=torch.float64).log().repeat(len(tokens), 1)
        logits[t == ends[row]] = torch.tensor([0.0, 1 - p, p], dtype=torch.float64).log()
        return logits, (row, t + 1)
    return step, (torch.arange(len(ends)), torch.zeros(len(ends), dtype=torch.long))


def test_equal_evidence_a_token_gives_equal_scores_at_every_length():
    """Divided by anything but the generated length, the end token counted, the shorter or the longer output would win."""
    step, state = chain(torch.tensor([2, 5, 9]))
    found = beam_search(step, state, torch.zeros(3).long(), end=2, beam_size=4, max_steps=12, alpha=1.0)
    assert found.lengths[:, 0].tolist() == [3, 6, 10]
    assert found.scores[:, 0].tolist() == pytest.approx([-0.5] * 3, abs=1e-12)
    assert found.log_probs[:, 0].tolist() == pytest.approx([-1.5, -3.0, -5.0], abs=1e-12)


def test_length_divisors_of_the_papers():
    assert length_divisor(torch.tensor([1, 5, 10, 20]), 1, 5).tolist() == pytest.approx([1, 10 / 6, 15 / 6, 25 / 6])
    assert length_divisor(7, 0).item() == 1 and length_divisor(9, 0.5).item() == pytest.approx(3)


def test_short_outputs_win_without_normalisation_and_lose_with_it():
    """The end costs ln 0.1 at once or later; every token before it costs something more."""
    def step(tokens, state):
        return torch.tensor([[0.3, 0.3, 0.3, 0.1]], dtype=torch.float64).log().repeat(len(tokens), 1), state
    options = {"end": 3, "beam_size": 4, "max_steps": 8}
    plain = beam_search(step, None, torch.tensor([0]), **options)
    assert plain.best.tokens.tolist() == [[3]] and plain.log_probs.item() == pytest.approx(math.log(0.1))
    wide = beam_search(step, None, torch.tensor([0]), alpha=1.0, **(options | {"beam_size": 4**4, "max_steps": 4}))
    assert wide.lengths.item() == 4 and wide.scores.item() == pytest.approx((3 * math.log(0.3) + math.log(0.1)) / 4)
    least = beam_search(step, None, torch.tensor([0]), min_length=2, **(options | {"beam_size": 4**4, "max_steps": 4}))
    assert least.lengths.item() == 3 and least.log_probs.item() == pytest.approx(2 * math.log(0.3) + math.log(0.1))


@given(st.integers(0, 300), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_outputs_are_scored_as_the_model_scores_them(seed, size):
    table = Table(3, 4, 4, seed=seed, forbidden=0.2)
    start, state = table.start()
    best = beam_search(table.step, state, start, end=table.end, beam_size=size, max_steps=4).best
    assert torch.allclose(score(table.step, state, start, best.tokens, best.lengths), best.log_probs, atol=1e-12, rtol=0)


def test_a_wider_beam_may_find_a_less_probable_output_but_the_widest_never():
    """Greedy may be lucky: of 400 models, a few lose by a beam of two. The search of everything never loses."""
    table = Table(400, 4, 5, scale=1.0)
    start, state = table.start()
    def found(size, rows):
        best = beam_search(table.step, select(state, rows), start[rows], end=table.end, beam_size=size, max_steps=5).best
        return torch.where(best.finished, best.log_probs, -torch.inf)
    one, two = (found(size, torch.arange(400)) for size in (1, 2))
    worse = two < one - 1e-12
    assert 0 < worse.sum() < 20 < (two > one + 1e-12).sum()
    some = torch.cat([worse.nonzero()[:, 0], torch.arange(6)])
    assert (found(4**5, some) >= torch.maximum(one, two)[some] - 1e-12).all()


def test_impossible_demands_are_refused():
    def step(tokens, state):  # nothing but the end, ever
        return torch.tensor([[-torch.inf, 0.0]]).repeat(len(tokens), 1), state
    with pytest.raises(ValueError, match="min_length"):
        beam_search(step, None, torch.tensor([0]), end=1, beam_size=2, max_steps=3, min_length=1)
    for name, options in (("beam_size", {"beam_size": 0}), ("alpha", {"beam_size": 1, "alpha": -0.1}),
                          ("offset", {"beam_size": 1, "offset": -1.0}), ("n_best", {"beam_size": 1, "n_best": 0})):
        with pytest.raises(ValueError, match=name):
            beam_search(step, None, torch.tensor([0]), end=1, max_steps=3, **options)


def test_rows_of_the_beam_that_are_empty_are_not_looked_at():
    """An ended hypothesis leaves its slot; what the model says there may be anything."""
    def step(tokens, state):
        return torch.where((tokens == 1)[:, None], torch.nan, torch.tensor([0.0, 1.0, -1.0])), state
    found = beam_search(step, None, torch.tensor([0]), end=1, beam_size=3, max_steps=4, n_best=3)
    assert torch.isfinite(found.log_probs).all() and found.finished.all()
