"""Every replica against its own `nn.GRU` racer, and the hand-written gradient against autograd."""

import pytest
import torch
from torch import nn

from lessonlib.racers import GRURacer, build_with_seed
from lessonlib.replicas import ReplicaGRU, ReplicaScan, clip_each_replica, replica_accuracy, train_replicas
from lessonlib.tasks import copy_task
from lessonlib.training import BATCH_SIZE, LEARNING_RATE, accuracy, draw_batch, split_rows, train_step

SEEDS = (4, 5, 6)


def seeded(seed: int = 11) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def racers(vocabulary: int = 9, hidden_size: int = 12) -> list[GRURacer]:
    return [build_with_seed(lambda: GRURacer(vocabulary, hidden_size), seed) for seed in SEEDS]


def test_logits_and_gradients_equal_those_of_the_single_networks():
    singles = [racer.double() for racer in racers()]
    network = ReplicaGRU(singles)
    ids = torch.randint(9, (3, 5, 7), generator=seeded())
    weights = torch.randn(3, 5, 7, 9, generator=seeded(), dtype=torch.float64)
    logits = network(ids)
    (logits * weights).sum().backward()
    for i, single in enumerate(singles):
        expected = single(ids[i])
        assert torch.allclose(logits[i], expected, atol=1e-12)
        (expected * weights[i]).sum().backward()
        recurrence = single.recurrence
        for got, want in ((network.embedding, single.embedding.weight.grad), (network.readout, single.readout.weight.grad.T),
                          (network.weight_hh, recurrence.weight_hh_l0.grad.T), (network.bias_hh, recurrence.bias_hh_l0.grad[None]),
                          (network.weight_ih, recurrence.weight_ih_l0.grad.T), (network.bias_ih, recurrence.bias_ih_l0.grad[None]),
                          (network.readout_bias, single.readout.bias.grad[None])):
            assert torch.allclose(got.grad[i], want, atol=1e-11)


@pytest.mark.parametrize("steps", [1, 4])
def test_gradient_by_finite_differences(steps):
    generator = seeded()
    onehot = nn.functional.one_hot(torch.randint(3, (steps, 2, 2), generator=generator), 3).double()
    table, weight, bias = (torch.randn(2, rows, 6, generator=generator, dtype=torch.float64, requires_grad=True)
                           for rows in (3, 2, 1))
    assert torch.autograd.gradcheck(lambda *p: ReplicaScan.apply(onehot, *p), (table, weight, bias))


def test_training_equals_the_single_runs():
    """The first updates of the race's own protocol, width and learning rate: equal to rounding."""
    task, held_out = split_rows(copy_task(6, 300, 32, generator=seeded()), 50)
    network = ReplicaGRU([build_with_seed(GRURacer, seed) for seed in SEEDS])
    train_replicas(network, task, held_out, updates=8, generators=[seeded(seed) for seed in SEEDS])
    for seed, replica in zip(SEEDS, network.racers(), strict=True):
        single, generator = build_with_seed(GRURacer, seed), seeded(seed)
        optimiser = torch.optim.AdamW(single.parameters(), lr=LEARNING_RATE)
        for _ in range(8):
            train_step(single, optimiser, draw_batch(task, BATCH_SIZE, generator))
        start = build_with_seed(GRURacer, seed)
        for got, want, first in zip(replica.parameters(), single.parameters(), start.parameters(), strict=True):
            assert (got - want).norm() < 1e-3 * (want - first).norm()


def test_replicas_do_not_influence_each_other():
    task, held_out = split_rows(copy_task(3, 200, 9, generator=seeded()), 50)
    together, alone = ReplicaGRU(racers()), ReplicaGRU(racers()[1:2])
    both = train_replicas(together, task, held_out, updates=100, generators=[seeded(s) for s in SEEDS])
    one = train_replicas(alone, task, held_out, updates=100, generators=[seeded(SEEDS[1])])
    assert [check[1] for check in both] == pytest.approx([check[0] for check in one], abs=0.02)
    assert len(both) == 2


def test_accuracy_equals_that_of_the_single_networks():
    task = copy_task(3, 150, 9, generator=seeded())
    assert replica_accuracy(ReplicaGRU(racers()), task) == pytest.approx([accuracy(racer, task) for racer in racers()])


def test_stacking_and_taking_apart_is_the_identity():
    for before, after in zip(racers(), ReplicaGRU(racers()).racers(), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


def test_each_replica_is_clipped_by_its_own_norm():
    parameters = [nn.Parameter(torch.zeros(3, 4, 2)), nn.Parameter(torch.zeros(3, 1, 5))]
    scale = torch.tensor([10.0, 0.01, 3.0])
    for p in parameters:
        p.grad = torch.randn(p.shape, generator=seeded()) * scale.view(3, 1, 1)
    singles = [[nn.Parameter(torch.zeros_like(p[i])) for p in parameters] for i in range(3)]
    for i, single in enumerate(singles):
        for copy, p in zip(single, parameters, strict=True):
            copy.grad = p.grad[i].clone()
    norms = clip_each_replica(parameters, 1.0)
    for i, single in enumerate(singles):
        assert norms[i].item() == pytest.approx(nn.utils.clip_grad_norm_(single, 1.0).item(), rel=1e-5)
        assert all(torch.allclose(copy.grad, p.grad[i], rtol=1e-5) for copy, p in zip(single, parameters, strict=True))
    assert norms[1] < 1


def test_bad_input():
    network = ReplicaGRU(racers())
    with pytest.raises(ValueError, match="racers has 0 different shapes"):
        ReplicaGRU([])
    with pytest.raises(ValueError, match="racers has 2 different shapes"):
        ReplicaGRU([GRURacer(9, 8), GRURacer(9, 12)])
    for shape in ((5, 7), (2, 5, 7), (3, 5, 0)):
        with pytest.raises(ValueError, match=r"must be \(3, B, T\)"):
            network(torch.zeros(shape, dtype=torch.long))
    with pytest.raises(ValueError, match="max_norm is 0"):
        clip_each_replica(network.parameters(), 0)
    task = copy_task(3, 20, 9, generator=seeded())
    with pytest.raises(ValueError, match="generators has 1 entries"):
        train_replicas(network, task, task, updates=1, generators=[seeded()])
