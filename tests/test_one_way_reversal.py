"""One-way reversers: against a decoder written out, and replicas against the networks they stand for."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lessonlib.gru_scan import GRUScan
from lessonlib.one_way_replicas import OneWayReplicas, train_one_way
from lessonlib.one_way_reversal import BEGIN, OneWayReverser, decoder_inputs, draw_digits, right, untrained

KINDS = pytest.mark.parametrize("attention", [False, True])
TRAINING = {"length": 4, "updates": 3, "learning_rate": 3e-3, "max_norm": 1.0, "hidden_size": 6}


def strings(rows, length, seed=0):
    return draw_digits(rows, length, torch.Generator().manual_seed(seed))


def test_the_decoder_reads_the_begin_token_and_the_string_backwards():
    assert decoder_inputs(torch.tensor([[1, 2, 3], [4, 5, 6]])).tolist() == [[BEGIN, 3, 2], [BEGIN, 6, 5]]


def test_attention_looks_as_the_equations_say():
    network, rows = untrained(1, attention=True, hidden_size=5).double(), strings(2, 4)
    state, annotations, keys = network.read(rows)
    context, weights = network.look(state, annotations, keys)
    for b in range(2):
        scores = [network.scorer.weight[0] @ torch.tanh(
            network.from_state(state[b]) + network.from_annotation(annotations[b, j])) for j in range(4)]
        alpha = torch.stack(scores).exp()
        alpha = alpha / alpha.sum()
        assert torch.allclose(weights[b], alpha)
        assert torch.allclose(context[b], sum(a * h for a, h in zip(alpha, annotations[b], strict=True)))


def test_without_attention_the_decoder_is_a_gru_from_the_last_state():
    network, rows = untrained(2, attention=False, hidden_size=5), strings(3, 6)
    gru = nn.GRU(32, 5, batch_first=True)
    gru.load_state_dict({f"{name}_l0": value for name, value in network.writer.state_dict().items()})
    states, _ = gru(network.embedding(decoder_inputs(rows)), network.reader(network.embedding(rows))[1])
    assert torch.allclose(network(rows), network.output(states), atol=1e-6)


@KINDS
def test_forced_logits_at_a_right_beginning_are_those_of_the_free_run(attention):
    network, rows = untrained(3, attention=attention, hidden_size=8), strings(40, 3)
    forced, free, truth = network(rows).argmax(2), network.answer(rows), rows.flip(1)
    assert torch.equal(forced[:, 0], free[:, 0])
    same = free[:, 0] == truth[:, 0]
    assert same.any() and torch.equal(forced[same, 1], free[same, 1])


def test_the_weights_of_an_alignment_are_distributions():
    weights = untrained(0, attention=True, hidden_size=4).alignment(strings(3, 5))
    assert weights.shape == (3, 5, 5) and torch.allclose(weights.sum(2), torch.ones(3, 5))


def test_right_counts_digits_strings_and_places():
    class Echo(OneWayReverser):
        def answer(self, rows):
            return rows  # right where a string reads the same both ways

    found = right(Echo(False, 2), torch.tensor([[1, 2, 1], [1, 2, 3]]))
    assert (found.digits, found.whole, found.by_place.tolist()) == (4 / 6, 0.5, [0.5, 1.0, 0.5])


@KINDS
def test_replicas_give_the_losses_and_gradients_of_each_network_alone(attention):
    networks = [untrained(seed, attention=attention, hidden_size=5).double() for seed in (0, 1, 4)]
    rows = torch.stack([strings(4, 6, seed) for seed in range(3)])
    replicas = OneWayReplicas(networks)
    logits = replicas(rows)
    F.cross_entropy(logits.flatten(0, 2), rows.flip(2).flatten(), reduction="sum").backward()
    for i, network in enumerate(networks):
        alone = network(rows[i])
        assert torch.allclose(logits[i], alone, atol=1e-12)
        F.cross_entropy(alone.flatten(0, 1), rows[i].flip(1).flatten(), reduction="sum").backward()
        for name, parameter in network.named_parameters():
            found = getattr(replicas, name.replace(".", "_")).grad
            if parameter.grad is None:
                assert found is None and not attention
            else:
                assert torch.allclose(found[i], parameter.grad, atol=1e-11), name


@KINDS
@pytest.mark.parametrize("max_norm", [0.05, math.inf])
def test_training_side_by_side_is_training_alone(attention, max_norm):
    found = train_one_way((0, 2), attention=attention, **{**TRAINING, "max_norm": max_norm})
    for i, seed in enumerate((0, 2)):
        network, draw = untrained(seed, attention=attention, hidden_size=6), torch.Generator().manual_seed(seed)
        optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
        for update in range(3):
            rows = draw_digits(64, 4, draw)
            loss = F.cross_entropy(network(rows).flatten(0, 1), rows.flip(1).flatten())
            optimiser.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), max_norm)
            optimiser.step()
            assert found.losses[update, i].item() == pytest.approx(loss.item(), abs=1e-5)
            assert found.norms[update, i].item() == pytest.approx(norm.item(), rel=1e-3)
        for ours, told in zip(found.networks[i].parameters(), network.parameters(), strict=True):
            assert torch.allclose(ours, told, atol=2e-5)


def test_the_written_out_gradient_of_the_scan_agrees_with_finite_differences():
    draw = torch.Generator().manual_seed(2)
    given = [torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True)
             for shape in ((3, 2, 2, 6), (2, 2, 2), (2, 2, 6), (2, 1, 6))]
    assert torch.autograd.gradcheck(GRUScan.apply, given)


@pytest.mark.parametrize("name, call", [
    ("hidden_size", lambda: OneWayReverser(True, 0)),
    ("rows", lambda: draw_digits(0, 3, torch.Generator())),
    ("attention", lambda: untrained(0, attention=False, hidden_size=2).alignment(strings(1, 2))),
    ("networks", lambda: OneWayReplicas([])),
    ("networks", lambda: OneWayReplicas([untrained(0, attention=a, hidden_size=2) for a in (False, True)])),
    ("strings", lambda: OneWayReplicas([untrained(0, attention=False, hidden_size=2)])(torch.zeros(2, 3, 4).long())),
    ("learning_rate", lambda: train_one_way([0], attention=False, **{**TRAINING, "learning_rate": 0})),
    ("max_norm", lambda: train_one_way([0], attention=False, **{**TRAINING, "max_norm": 0})),
    ("updates", lambda: train_one_way([0], attention=False, **{**TRAINING, "updates": 0}))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
