"""Replicas of the encoder-decoder against the networks they stand for, one at a time."""

import numpy as np
import pytest
import torch

from lessonlib.attention_scan import AttentionScan
from lessonlib.digit_strings import Strings, draw_strings
from lessonlib.reversal import forced_loss, reverser, training
from lessonlib.seq2seq_replicas import ReplicaEncoderDecoder, ReversalTraining, backwards, replica_losses

KINDS = pytest.mark.parametrize("kind", [{"attention": a, "packed": p} for a in (False, True) for p in (True, False)]
                                + [{"summary_size": 3}, {"summary_size": 3, "attention": True}], ids=str)


def rngs(n):
    return [np.random.default_rng(seed) for seed in range(n)]


@KINDS
def test_losses_and_gradients_are_those_of_each_network_alone(kind):
    networks = [reverser(seed, hidden_size=7, **kind).double() for seed in (0, 1, 5)]
    batches = [draw_strings(6, 1, 9, rng=rng) for rng in rngs(3)]
    replicas = ReplicaEncoderDecoder(networks)
    losses = replica_losses(replicas, Strings(*map(torch.stack, zip(*batches, strict=True))))
    losses.sum().backward()
    for i, (network, batch) in enumerate(zip(networks, batches, strict=True)):
        loss = forced_loss(network, batch)
        loss.backward()
        assert torch.allclose(losses[i], loss, atol=1e-12, rtol=0)
        for name, parameter in network.named_parameters():
            assert torch.allclose(replicas[name].grad[i], parameter.grad, atol=1e-12, rtol=1e-9), name


@KINDS
def test_training_side_by_side_is_training_alone(kind):
    networks = [reverser(seed, hidden_size=9, **kind).double() for seed in range(2)]
    together = ReversalTraining(networks, rngs(2), shortest=2, longest=5)
    losses = torch.cat([together.run(3), together.run(2)])
    found = together.networks()
    together.run(1)
    for i, (network, rng) in enumerate(zip(networks, rngs(2), strict=True)):
        run = training(network, rng, shortest=2, longest=5)
        assert losses[:, i].tolist() == pytest.approx([next(run) for _ in range(5)], abs=1e-9)
        # copies: the sixth update is not in them
        for ours, told in zip(found[i].parameters(), network.parameters(), strict=True):
            assert torch.allclose(ours, told, atol=1e-6)


def test_the_written_out_gradient_of_the_attention_agrees_with_finite_differences():
    draw = torch.Generator().manual_seed(2)
    R, B, S, T, H = 2, 2, 3, 3, 2
    shapes = [(T, R, B, 3 * H), (R, B, H), (R, B, S, 2 * H), (R, B, S, H), (R, 2 * H, 3 * H), (R, H, 3 * H), (R, 1, 3 * H), (R, H, H), (R, H, 1)]
    given = [torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True) for shape in shapes]
    hidden = torch.tensor([[False, False, True], [False, True, True]]).repeat(R, 1, 1)
    assert torch.autograd.gradcheck(lambda *x: AttentionScan.apply(*x[:4], hidden, *x[4:]), given)


def test_the_networks_given_stay_as_they_are():
    network = reverser(3, hidden_size=4)
    before = [p.clone() for p in network.parameters()]
    ReversalTraining([network], rngs(1)).run(1)
    assert all(map(torch.equal, before, network.parameters()))


def test_backwards_turns_each_row_round_within_its_length():
    assert backwards(torch.tensor([1, 3, 4]), 4).tolist() == [[0, 1, 2, 3], [2, 1, 0, 3], [3, 2, 1, 0]]


@pytest.mark.parametrize("name, call", [
    ("networks", lambda: ReplicaEncoderDecoder([])),
    ("networks", lambda: ReplicaEncoderDecoder([reverser(0), reverser(0, attention=True)])),
    ("networks", lambda: ReplicaEncoderDecoder([reverser(0), reverser(0, packed=False)])),
    ("source", lambda: ReplicaEncoderDecoder([reverser(0)])(torch.zeros(2, 3, 4).long(), torch.ones(2, 3).long(), torch.zeros(2, 3, 5).long())),
    ("rngs", lambda: ReversalTraining([reverser(0)], rngs(2))),
    ("updates", lambda: ReversalTraining([reverser(0)], rngs(1)).run(0))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
