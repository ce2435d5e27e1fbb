"""Every replica against its own network of PyTorch."""

import pytest
import torch

from lessonlib.racers import build_with_seed
from lessonlib.recall import LEARNED, Recaller, recall_task, train_recaller
from lessonlib.replicas_rnn import ReplicaRecallers, train_together

SEEDS = (4, 5, 6)
KINDS = [("rnn", None), ("gru", None), ("lstm", None), ("lstm", 3.0)]


def seeded(seed: int = 11) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def networks(kind: str, bias: float | None = None, seeds=SEEDS) -> list[Recaller]:
    return [build_with_seed(lambda: Recaller(kind, bias), seed) for seed in seeds]


@pytest.mark.parametrize("kind, bias", KINDS)
@pytest.mark.parametrize("batch, length", [(1, 1), (2, 5), (3, 12)])
def test_logits_and_gradients_equal_those_of_the_single_networks(kind, bias, batch, length):
    singles = [network.double() for network in networks(kind, bias)]
    stack = ReplicaRecallers(singles)
    ids = torch.randint(10, (3, batch, length), generator=seeded())
    weights = torch.randn(3, batch, generator=seeded(), dtype=torch.float64)
    logits = stack.logits(ids)
    (logits * weights).sum().backward()
    for i, single in enumerate(singles):
        expected = single(ids[i])
        assert torch.allclose(logits[i], expected, atol=1e-12)
        (expected * weights[i]).sum().backward()
        for name, parameter in single.named_parameters():
            assert torch.allclose(stack.weights[name].grad[i], parameter.grad, atol=1e-11), name


@pytest.mark.parametrize("kind, bias", KINDS)
def test_training_equals_the_single_runs(kind, bias):
    """The first updates, in the lab's own width, rate and batch: equal to rounding, the short last batch included."""
    task = recall_task(64 * 3 + 10, 12, generator=seeded())
    together = networks(kind, bias)
    runs = train_together(together, task, epochs=2, generators=[seeded(seed) for seed in SEEDS])
    for seed, start, single, replica, run in zip(SEEDS, networks(kind, bias), networks(kind, bias), together, runs, strict=True):
        alone = train_recaller(single, task, epochs=2, generator=seeded(seed))
        assert run.network is replica and run.shares == pytest.approx(alone.shares, abs=0.011)
        for got, want, first in zip(replica.parameters(), single.parameters(), start.parameters(), strict=True):
            assert (got - want).norm() < 1e-2 * (want - first).norm()


def test_finished_replicas_leave_and_the_others_do_not_notice():
    """At four steps the seeds end at different epochs; each must end as it does alone."""
    task, seeds = recall_task(300, 4, generator=seeded()), range(5)
    runs = train_together(networks("rnn", seeds=seeds), task, epochs=8, generators=[seeded(seed) for seed in seeds])
    alone = [train_recaller(network, task, epochs=8, generator=seeded(seed))
             for seed, network in zip(seeds, networks("rnn", seeds=seeds), strict=True)]
    assert len({len(run.shares) for run in runs}) > 1
    for run, single in zip(runs, alone, strict=True):
        assert len(run.shares) == len(single.shares) and run.shares == pytest.approx(single.shares, abs=0.02)
        assert run.learned == (run.shares[-1] >= LEARNED) and not any(share >= LEARNED for share in run.shares[:-1])
        for got, want in zip(run.network.parameters(), single.network.parameters(), strict=True):
            assert (got - want).norm() < 0.05 * want.norm()


def test_dropping_replicas_keeps_weights_and_averages():
    stack, task = ReplicaRecallers(networks("lstm")), recall_task(40, 4, generator=seeded())
    adam = torch.optim.Adam(stack.weights.values(), lr=0.01)
    rows = torch.stack([torch.randperm(40, generator=seeded(seed))[:8] for seed in SEEDS])
    stack.step(task, rows, adam)
    before = {name: (weight.detach().clone(), adam.state[weight]["exp_avg_sq"].clone()) for name, weight in stack.weights.items()}
    stack.keep(torch.tensor([0, 2]), adam)
    assert len(stack) == 2
    for name, weight in stack.weights.items():
        assert torch.equal(weight, before[name][0][[0, 2]]) and torch.equal(adam.state[weight]["exp_avg_sq"], before[name][1][[0, 2]])
    stack.step(task, rows[[0, 2]], adam)  # and it trains on


def test_stacking_and_taking_apart_is_the_identity():
    stack = ReplicaRecallers(networks("gru"))
    for i, network in enumerate(networks("gru")):
        copy = Recaller("gru")
        stack.write_to(i, copy)
        assert all(torch.equal(a, b) for a, b in zip(copy.parameters(), network.parameters(), strict=True))


TASK = recall_task(8, 3, generator=seeded())
BAD = {
    "networks has 0 kinds": lambda: ReplicaRecallers([]),
    "networks has 2 kinds": lambda: ReplicaRecallers([Recaller("rnn"), Recaller("gru")]),
    r"ids has shape \(2, 8, 3\)": lambda: ReplicaRecallers(networks("rnn")).logits(TASK.ids.expand(2, 8, 3)),
    r"must be \(3, B, T\)": lambda: ReplicaRecallers(networks("rnn")).logits(TASK.ids[:, :0].expand(3, 8, 0)),
    "generators has 1 entries": lambda: train_together(networks("rnn"), TASK, epochs=1, generators=[seeded()]),
    "epochs is 0": lambda: train_together(networks("rnn"), TASK, epochs=0, generators=[seeded()] * 3),
}


@pytest.mark.parametrize("match, call", BAD.items())
def test_bad_input(match, call):
    with pytest.raises(ValueError, match=match):
        call()
