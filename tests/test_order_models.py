"""Classifiers against independent computations, the invariances that they must have, and their training."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from lessonlib.drawings_sequences import draw_shape, draw_task_shapes
from lessonlib.figures import new_figure
from lessonlib.order_models import (
    CountClassifier,
    PairClassifier,
    SequenceClassifier,
    SharedWindowClassifier,
    WindowClassifier,
    accuracy_by_type,
    right_answers,
    share,
    train_classifier,
)
from lessonlib.racers import build_with_seed, parameter_count
from lessonlib.reviews import draw_notes, word_counts

KINDS = ["rnn", "gru", "lstm"]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_sizes():
    makers = [CountClassifier, lambda: CountClassifier(64), PairClassifier, *(lambda k=k: SequenceClassifier(k) for k in KINDS)]
    assert [parameter_count(make()) for make in makers] == [18, 1217, 290, 1905, 5105, 6705]


@pytest.mark.parametrize("hidden_size", [None, 8])
def test_count_classifiers_are_blind_to_order(hidden_size):
    model, ids = CountClassifier(hidden_size), draw_notes(40, 2).ids
    assert torch.allclose(model(ids), model.layers(word_counts(ids)).squeeze(-1))
    assert torch.equal(model(ids), model(ids[:, torch.randperm(8)]))


def test_pair_classifier_against_a_loop():
    model, ids = PairClassifier(), draw_notes(20, 2).ids
    weights, bias = model.layer.weight[0].tolist(), model.layer.bias.item()
    by_hand = [bias + sum(weights[17 * first + second] for first, second in pairwise(row)) for row in ids.tolist()]
    assert torch.allclose(torch.tensor(by_hand), model(ids), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_sequence_classifier_reads_the_final_state(kind, batch):
    """The last column of the outputs must be the layer's own final state (not so for a backward direction)."""
    model, ids = SequenceClassifier(kind), draw_notes(batch, 2).ids
    last = model.recurrence(model.embedding(ids))[1]
    state = last[0][0] if kind == "lstm" else last[0]
    assert model(ids).shape == (batch,)
    assert torch.allclose(model(ids), model.readout(state).squeeze(-1), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_sequence_classifier_is_causal(kind):
    """Changing token t + 1 must not change an output up to t."""
    model, ids = SequenceClassifier(kind), draw_notes(5, 2).ids
    before = model.logits_by_step(ids)
    for step in range(1, 8):
        other = ids.clone()
        other[:, step:] = (other[:, step:] + 3) % 17
        moved = model.logits_by_step(other) != before
        assert not moved[:, :step].any() and moved[:, step].all()


def test_window_classifier_has_weights_for_each_position():
    model, ids = WindowClassifier(6, 4, 16), torch.tensor([[0, 1, 2, 3], [1, 0, 2, 3]])
    by_hand = model.layers(nn.functional.one_hot(ids, 6).float().reshape(2, 24)).squeeze(-1)
    assert torch.equal(model(ids), by_hand) and model(ids)[0] != model(ids)[1]


@pytest.mark.parametrize("width", [1, 2, 3])
def test_shared_window_is_a_convolution_and_does_not_know_the_place(width):
    model = SharedWindowClassifier(6, width, 16)
    ids = torch.randint(0, 6, (7, 9), generator=seeded(1))
    convolution = nn.Conv1d(6, 16, width)
    with torch.no_grad():
        convolution.weight.copy_(model.detectors.weight.reshape(16, 6, width))
        convolution.bias.copy_(model.detectors.bias)
        found = convolution(nn.functional.one_hot(ids, 6).float().transpose(1, 2)).relu().amax(2)
        assert torch.allclose(model.readout(found).squeeze(-1), model(ids), atol=1e-6)
    quiet = torch.full((1, 12), 5)
    placed = [quiet.clone() for _ in range(5)]
    for shift, row in enumerate(placed):
        row[0, 2 + shift:4 + shift] = torch.tensor([0, 1])
    assert torch.allclose(model(torch.cat(placed)), model(placed[0]).expand(5), atol=1e-6)


def test_training_repeats_itself_and_learns():
    notes = draw_notes(400, 11)

    def run(seed):
        model = build_with_seed(lambda: SequenceClassifier("gru"), seed)
        return train_classifier(model, notes.ids, notes.verdicts, epochs=15, generator=seeded(seed))

    first, again, other = run(7), run(7), run(8)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.readout.weight, other.readout.weight)
    assert accuracy_by_type(first, notes)[0] > 0.95


def test_first_update_is_adam_on_the_first_batch():
    """One epoch of one batch: Adam's first step moves every parameter with a gradient by the learning rate."""
    notes = draw_notes(64, 1)
    model = build_with_seed(CountClassifier, 3)
    before = model.layers.weight.detach().clone()
    nn.functional.binary_cross_entropy_with_logits(model(notes.ids), notes.verdicts).backward()
    slope = model.layers.weight.grad.clone()
    train_classifier(model, notes.ids, notes.verdicts, epochs=1, generator=seeded(3))
    moved = model.layers.weight - before
    used = slope.abs() > 1e-4
    assert torch.allclose(moved[used], -0.01 * slope.sign()[used], atol=1e-5)


def test_evaluation_leaves_the_mode_and_shares_are_shares():
    notes, model = draw_notes(50, 1), CountClassifier()
    model.eval()
    right_answers(model, notes.ids, notes.verdicts)
    assert not model.training
    total, very, negated = accuracy_by_type(model, notes)
    weight = notes.negated.double().mean().item()
    assert total == pytest.approx((1 - weight) * very + weight * negated)
    assert share(torch.tensor([True, False, True]), torch.tensor([True, True, False])) == 0.5


def test_drawing_of_the_shapes():
    assert len(draw_task_shapes().axes) == 4


@pytest.mark.parametrize(("call", "message"), [
    (lambda: CountClassifier(0), "hidden_size is 0"),
    (lambda: SequenceClassifier("tcn"), "rnn, gru, lstm"),
    (lambda: SequenceClassifier("rnn")(torch.zeros(3, dtype=torch.long)), r"\(B, T\)"),
    (lambda: PairClassifier()(torch.zeros(3, 1, dtype=torch.long)), "T at least 2"),
    (lambda: WindowClassifier(6, 4)(torch.zeros(3, 5, dtype=torch.long)), r"\(B, 4\)"),
    (lambda: SharedWindowClassifier(6, 3)(torch.zeros(3, 2, dtype=torch.long)), "at least 3"),
    (lambda: train_classifier(CountClassifier(), torch.zeros(2, 8).long(), torch.zeros(2), epochs=0,
                              generator=seeded(0)), "epochs is 0"),
    (lambda: train_classifier(CountClassifier(), torch.zeros(2, 8).long(), torch.zeros(3), epochs=1,
                              generator=seeded(0)), "2 and 3 rows"),
    (lambda: share(torch.tensor([True]), torch.tensor([False])), "no row"),
    (lambda: draw_shape(new_figure()[1], "too long", [1], [1], 6), "steps is 6"),
    (lambda: draw_shape(new_figure()[1], "missing", [1], [5], 4), "outputs is"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
