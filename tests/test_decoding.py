"""Greedy decoding, sampling and scoring against enumeration of a table of probabilities."""

import math

import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_decoder import Table

from lessonlib.beam_search import beam_search, length_divisor
from lessonlib.decoding import generate_by, greedy, next_log_probs, sample_outputs, score, select


def strip(outputs, row):
    return tuple(outputs.tokens[row, :outputs.lengths[row]].tolist())


@given(st.integers(0, 500), st.integers(2, 4), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_greedy_takes_the_most_probable_token_at_every_step(seed, vocabulary, steps, min_length):
    table = Table(3, vocabulary, steps, seed=seed, forbidden=0.2)
    min_length = min(min_length, steps - 1)
    start, state = table.start()
    found = greedy(table.step, state, start, end=table.end, max_steps=steps, min_length=min_length)
    for row in range(3):
        prefix, total = (), 0.0
        while len(prefix) < steps and (not prefix or prefix[-1] != table.end):
            log_probs = table.log_probs(row, prefix)
            allowed = log_probs[:table.end] if len(prefix) < min_length else log_probs
            best = allowed.index(max(allowed))
            prefix, total = (*prefix, best), total + log_probs[best]
        assert strip(found, row) == prefix
        assert found.log_probs[row].item() == pytest.approx(total, abs=1e-12)
        assert found.finished[row].item() == (prefix[-1] == table.end)
        assert (found.tokens[row, found.lengths[row]:] == table.end).all()


def test_without_an_end_token_nothing_ends():
    table = Table(2, 3, 5, seed=4)
    table.logits[:, :, table.end] = 9.0  # the end is the most probable token everywhere
    start, state = table.start()
    found = greedy(table.step, state, start, end=None, max_steps=5)
    assert found.tokens.tolist() == [[table.end] * 5] * 2 and found.lengths.tolist() == [5, 5] and not found.finished.any()


@given(st.integers(0, 200), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_score_is_the_sum_of_log_probabilities(seed, steps):
    table = Table(1, 3, steps, seed=seed, forbidden=0.2)
    ended, cut = table.outputs(0)
    for output, total in [*ended.items(), *cut.items()]:
        start, state = table.start()
        tokens = torch.tensor([[*output, 0, 0]])  # what stands after the length has no say
        assert score(table.step, state, start, tokens, torch.tensor([len(output)])).item() == pytest.approx(total, abs=1e-12)


def test_all_outputs_share_a_probability_of_one():
    """The chain rule with an end token is a distribution over outputs of every length."""
    ended, cut = Table(1, 3, 5, seed=3).outputs(0)
    assert sum(map(math.exp, [*ended.values(), *cut.values()])) == pytest.approx(1, abs=1e-12)


def test_greedy_scores_itself_as_score_does():
    table = Table(4, 4, 4, seed=8)
    start, state = table.start()
    found = greedy(table.step, state, start, end=table.end, max_steps=4)
    assert torch.allclose(score(table.step, state, start, found.tokens, found.lengths), found.log_probs, atol=1e-12, rtol=0)


def test_samples_have_the_probabilities_of_the_outputs():
    table, n = Table(1, 3, 3, seed=5, forbidden=0.2), 20_000
    ended, cut = table.outputs(0)
    expected = {y: math.exp(total) for y, total in [*ended.items(), *cut.items()]}
    start, (row, beginning) = table.start()
    found = sample_outputs(table.step, (row.repeat(n), beginning.repeat(n)), start.repeat(n), end=table.end, max_steps=3,
                           generator=torch.Generator().manual_seed(1))
    seen = {y: 0 for y in expected}
    for i in range(n):
        seen[strip(found, i)] += 1  # a KeyError where something impossible was drawn
    assert scipy.stats.chisquare(list(seen.values()), [n * p for p in expected.values()]).pvalue > 1e-3
    assert [found.log_probs[i].item() for i in range(20)] == pytest.approx([math.log(expected[strip(found, i)]) for i in range(20)])


def test_temperature_raises_probabilities_to_a_power_and_its_limit_is_greedy():
    table, n = Table(1, 4, 1, seed=6), 20_000
    start, (row, beginning) = table.start()
    many = (row.repeat(n), beginning.repeat(n))
    found = sample_outputs(table.step, many, start.repeat(n), end=table.end, max_steps=1, temperature=0.5,
                           generator=torch.Generator().manual_seed(2))
    p = torch.tensor(table.log_probs(0, ())).double().mul(2).softmax(0)
    assert scipy.stats.chisquare(found.tokens[:, 0].bincount(minlength=4), n * p).pvalue > 1e-3
    table = Table(6, 4, 4, seed=7)
    start, state = table.start()
    cold = sample_outputs(table.step, state, start, end=table.end, max_steps=4, temperature=1e-4, generator=torch.Generator())
    best = greedy(table.step, state, start, end=table.end, max_steps=4)
    assert all(strip(cold, row) == strip(best, row) for row in range(6))
    assert torch.allclose(cold.log_probs, best.log_probs)  # under the model as it is, not under the sharpened one


def test_sampling_respects_the_minimum_length():
    table, n = Table(1, 3, 4, seed=9), 500
    start, (row, beginning) = table.start()
    found = sample_outputs(table.step, (row.repeat(n), beginning.repeat(n)), start.repeat(n), end=table.end, max_steps=4,
                           min_length=2, generator=torch.Generator().manual_seed(3))
    assert found.lengths.min() == 3 and (found.tokens[:, :2] != table.end).all()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_size_of_a_batch_has_no_say(size):
    """Rows in batches of any size give what they give alone; drawn ones too, since each has its own numbers."""
    table = Table(10, 3, 5, seed=11, forbidden=0.1)
    start, state = table.start()
    options = {"end": table.end, "max_steps": 5}
    whole = greedy(table.step, state, start, **options)
    drawn = sample_outputs(table.step, state, start, generator=torch.Generator().manual_seed(4), **options)
    generator = torch.Generator().manual_seed(4)
    for rows in torch.arange(10).split(size):
        part = greedy(table.step, select(state, rows), start[rows], **options)
        sampled = sample_outputs(table.step, select(state, rows), start[rows], generator=generator, **options)
        for i, row in enumerate(rows.tolist()):
            assert strip(part, i) == strip(whole, row) and part.log_probs[i] == whole.log_probs[row]
            assert strip(sampled, i) == strip(drawn, row) and sampled.log_probs[i] == drawn.log_probs[row]


def test_what_was_read_before_does_not_count():
    """A prompt changes the state and nothing else: lengths and sums begin at the first generated token."""
    def step(tokens, state):  # after any prompt: three times token 0 at ln 0.5, then the end for certain
        state = torch.where(tokens == 2, 0, state + 1)
        logits = torch.tensor([0.5, 0.5, 0.0]).log().repeat(len(tokens), 1)
        logits[state >= 3] = torch.tensor([0.0, 0.0, 1.0]).log()
        return logits, state
    found = []
    for prompt in (0, 1, 7, 40):
        state = torch.zeros(1, dtype=torch.long)
        for _ in range(prompt):
            _, state = step(torch.tensor([0]), state)
        found.append(beam_search(step, state, torch.tensor([2]), end=2, beam_size=2, max_steps=9, alpha=1.0))
    for beams in found:
        assert beams.lengths.tolist() == [[4]] and beams.scores.item() == pytest.approx(3 * math.log(0.5) / 4)


def test_select_goes_through_every_kind_of_state():
    x = torch.arange(6).view(3, 2)
    state = {"a": (x, None), "b": [x + 1, {"c": x}]}
    found = select(state, torch.tensor([2, 2, 0]))
    assert found["a"][0].tolist() == [[4, 5], [4, 5], [0, 1]] and found["a"][1] is None
    assert found["b"][0].tolist() == [[5, 6], [5, 6], [1, 2]] and isinstance(found["a"], tuple)
    assert length_divisor(4, 0.5).item() == 2


TABLE = Table(2, 3, 3)
START, STATE = TABLE.start()
OPTIONS = {"end": 2, "max_steps": 3}
BAD = {
    "start": [lambda: greedy(TABLE.step, STATE, START[None], **OPTIONS), lambda: greedy(TABLE.step, STATE, START[:0], **OPTIONS),
              lambda: greedy(TABLE.step, STATE, START.double(), **OPTIONS),
              lambda: beam_search(TABLE.step, STATE, START[None], beam_size=2, **OPTIONS)],
    "max_steps": [lambda: greedy(TABLE.step, STATE, START, end=2, max_steps=0)],
    "min_length": [lambda: greedy(TABLE.step, STATE, START, min_length=3, **OPTIONS),
                   lambda: beam_search(TABLE.step, STATE, START, beam_size=1, min_length=-1, **OPTIONS),
                   lambda: greedy(lambda t, s: (torch.tensor([[-torch.inf, -torch.inf, 0.0]]), s), None, START[:1], min_length=1, **OPTIONS)],
    "temperature": [lambda: sample_outputs(TABLE.step, STATE, START, temperature=0.0, generator=torch.Generator(), **OPTIONS)],
    "logits": [lambda: next_log_probs(lambda t, s: (torch.zeros(3), s), START, None),
               lambda: next_log_probs(lambda t, s: (torch.full((2, 3), torch.nan), s), START, None),
               lambda: next_log_probs(lambda t, s: (torch.full((2, 3), -torch.inf), s), START, None),
               lambda: next_log_probs(lambda t, s: (torch.tensor([[0, torch.inf]] * 2), s), START, None)],
    "tokens": [lambda: score(TABLE.step, STATE, START, torch.zeros(2, 3).long(), torch.tensor([1, 4])),
               lambda: score(TABLE.step, STATE, START, torch.zeros(2, 3).long(), torch.tensor([0, 1])),
               lambda: score(TABLE.step, STATE, START, torch.zeros(1, 3).long(), torch.tensor([1, 1]))],
}


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in BAD.items() for call in calls])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()


def test_rows_that_have_ended_are_not_looked_at():
    """A model may return anything after the end."""
    def step(tokens, state):
        return torch.where((tokens == 1)[:, None], torch.nan, torch.tensor([0.0, 1.0])), state
    def choose(log_probs, t):
        return torch.tensor([1, 0]) if t == 0 else torch.tensor([0, 1])
    found = generate_by(choose, step, None, torch.tensor([0, 0]), end=1, max_steps=3)
    assert found.tokens.tolist() == [[1, 1], [0, 1]] and torch.isfinite(found.log_probs).all()
