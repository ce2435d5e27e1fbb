"""Telegrams, the decoder that rewrites them, and pooling by attention, against brute force and for their invariances."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lessonlib import alignment, attention_pooling
from lessonlib.alignment import QUALIFIERS, Rewriter, draw_telegrams, rewritten, score_rewriter, train_rewriter
from lessonlib.attention_pooling import COMMANDS, EVENTS, PooledReader, draw_logs, tampered, train_reader
from lessonlib.racers import build_with_seed


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def by_hand(words):
    """Exchange a qualifier and the device behind it, from the left, and keep the places."""
    places, j = list(range(len(words))), 0
    while j + 1 < len(words):
        if words[j] < QUALIFIERS <= words[j + 1]:
            places[j], places[j + 1] = places[j + 1], places[j]
            j += 1
        j += 1
    return places


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(st.integers(0, 15), min_size=n, max_size=n), min_size=1, max_size=4)))
def test_rewriting_by_brute_force(rows):
    found = rewritten(torch.tensor(rows))
    for row, target, places in zip(rows, found.target.tolist(), found.places.tolist(), strict=True):
        assert places == by_hand(row) and target == [row[j] for j in places]


def test_drawn_telegrams_come_from_the_generator_and_half_of_the_inner_words_move():
    found, again = draw_telegrams(500, 9, generator()), draw_telegrams(500, 9, generator())
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True)) and found.source.shape == (500, 9)
    assert (found.places != torch.arange(9)).double().mean().item() == pytest.approx(2 * 8 / 4 / 9, abs=0.02)


@pytest.mark.parametrize("source", [torch.tensor([[16]]), torch.tensor([[-1]]), torch.tensor([3]), torch.tensor([[0.5]])])
def test_other_words_are_refused(source):
    with pytest.raises(ValueError, match="source"):
        rewritten(source)


def test_a_rewriter_ignores_company_and_the_words_to_come():
    network, telegrams = build_with_seed(Rewriter, 0).double(), draw_telegrams(4, 6, generator())
    logits, weights = network(telegrams)
    assert logits.shape == (4, 6, 16) and torch.allclose(weights.sum(-1), torch.ones(4, 6, dtype=torch.float64))
    for b in range(4):
        alone, _ = network(telegrams._replace(source=telegrams.source[b:b + 1], target=telegrams.target[b:b + 1]))
        assert torch.allclose(alone[0], logits[b], atol=1e-12, rtol=0)
    changed = telegrams._replace(target=torch.cat([telegrams.target[:, :3], (telegrams.target[:, 3:] + 1) % 16], dim=1))
    assert torch.equal(network(changed)[0][:, :4], logits[:, :4]) and not torch.equal(network(changed)[0][:, 4:], logits[:, 4:])


def test_scores_by_their_definition_over_batches_of_unequal_length():
    network, batches = build_with_seed(Rewriter, 0), [draw_telegrams(5, n, generator(n)) for n in (2, 7)]
    right = at = weight = words = 0
    for telegrams in batches:
        logits, weights = network(telegrams)
        for b in range(5):
            for t, place in enumerate(telegrams.places[b].tolist()):
                words += 1
                right += logits[b, t].argmax().item() == telegrams.source[b, place].item()
                at += weights[b, t].argmax().item() == place
                weight += weights[b, t, place].item()
    assert score_rewriter(network, batches) == pytest.approx((right / words, at / words, weight / words))


def test_training_depends_on_the_generator_alone():
    batches = [draw_telegrams(20, 5, generator(9))]
    scores = [score_rewriter(train_rewriter(build_with_seed(Rewriter, 0), updates=3, generator=generator(1)), batches) for _ in range(2)]
    assert scores[0] == scores[1] != score_rewriter(build_with_seed(Rewriter, 0), batches)


def test_logs_say_where_the_last_command_stands():
    logs = draw_logs(400, generator())
    for ids, place, answer in zip(*(part.tolist() for part in logs), strict=True):
        last = max(t for t, event in enumerate(ids) if event < COMMANDS)
        assert (place, answer) == (last, ids[last]) and ids[0] < COMMANDS
    assert (logs.ids[:, 1:] < COMMANDS).double().mean().item() == pytest.approx(0.25, abs=0.02)
    assert logs.ids.max() == 7 and logs.answer.double().mean().item() == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("recurrent", [True, False])
def test_tampering_by_its_own_definition(recurrent, hide):
    network, logs = build_with_seed(lambda: PooledReader(recurrent=recurrent), 0).double(), draw_logs(60, generator())
    found = tampered(network, logs, generator(2), hide=hide)
    annotations, scores = network.annotate(logs.ids)
    counts = {"as trained": 0, "hidden": 0, "uniform": 0}
    weight = 0.0
    for b, (place, answer) in enumerate(zip(logs.place.tolist(), logs.answer.tolist(), strict=True)):
        trained = [t for t in range(EVENTS) if not (hide and logs.ids[b, t] < COMMANDS)]
        weight += scores[b, trained].softmax(0)[trained.index(place)].item() if place in trained else 0
        for name, kept in (("as trained", trained), ("hidden", [t for t in trained if t != place])):
            context = (scores[b, kept].softmax(0)[:, None] * annotations[b, kept]).sum(0)
            counts[name] += network.readout(context).argmax().item() == answer
        counts["uniform"] += network.readout(annotations[b].mean(0)).argmax().item() == answer
    assert found["weight"] == pytest.approx(weight / 60)
    assert {name: found[name] for name in counts} == pytest.approx({name: n / 60 for name, n in counts.items()})


def test_without_an_encoder_a_hidden_command_is_lost_and_a_replaced_one_turns_the_answer():
    network = train_reader(build_with_seed(lambda: PooledReader(recurrent=False), 0), updates=120, generator=generator(1))
    found = tampered(network, draw_logs(400, generator(9)), generator(2))
    assert found["as trained"] > 0.97 and found["weight"] > 0.5 and found["replaced"] < 0.03 and 0.35 < found["hidden"] < 0.65


@pytest.mark.parametrize("call, name", [
    (lambda: alignment.draw_telegrams(0, 4, generator()), "rows"), (lambda: alignment.draw_telegrams(4, 0, generator()), "length"),
    (lambda: attention_pooling.draw_logs(0, generator()), "rows"), (lambda: Rewriter(0), "hidden_size"), (lambda: score_rewriter(Rewriter(), []), "batches"),
    (lambda: PooledReader(recurrent=True)(torch.zeros(3, 4, dtype=torch.long)), "ids"),
    (lambda: train_rewriter(Rewriter(), updates=0, generator=generator()), "updates"),
    (lambda: train_reader(PooledReader(recurrent=True), updates=0, generator=generator()), "updates"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
