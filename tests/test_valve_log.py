"""Valve logs: answers by brute force, reading a state against PyTorch, and what padding may not change."""

import pytest
import torch
from torch import nn

from lessonlib.packing import run_packed
from lessonlib.racers import GRURacer, build_with_seed
from lessonlib.replicas import ReplicaGRU
from lessonlib.valve_log import CODES, HIDDEN_SIZE, draw_logs, read, right, train_readers


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def network():
    return ReplicaGRU([build_with_seed(lambda: GRURacer(CODES, HIDDEN_SIZE), seed) for seed in (0, 1)])


def test_answers_by_brute_force():
    logs = draw_logs(200, 30, generator())
    for ids, length, answer, age in zip(*(part.tolist() for part in logs), strict=True):
        assert 5 <= length <= 20 and ids[0] in (1, 2) and all(ids[:length]) and not any(ids[length:])
        commands = [t for t in range(length) if ids[t] in (1, 2)]
        assert (ids[commands[-1]] - 1, length - 1 - commands[-1]) == (answer, age)
    assert abs(logs.answers.float().mean() - 0.5) < 0.12


def test_reading_equals_pytorch_on_each_row(network):
    logs = draw_logs(7, 24, generator(1))
    for i, racer in enumerate(network.racers()):
        embedded = racer.embedding(logs.ids)
        assert isinstance(racer.recurrence, nn.GRU)
        packed = run_packed(racer.recurrence, embedded, logs.lengths)[1][0]
        whole = racer.recurrence(embedded)[0][:, -1]
        for reading, state in (("last real step", packed), ("last column", whole)):
            ours = read(network, logs.ids.expand(2, -1, -1), logs.lengths.expand(2, -1), reading)[i]
            assert torch.allclose(ours, racer.readout(state)[:, :2], atol=1e-5)


def test_more_padding_leaves_the_reading_at_the_last_real_step(network):
    logs = draw_logs(50, 24, generator(2))
    wider = logs._replace(ids=torch.cat([logs.ids, torch.zeros(50, 9, dtype=torch.long)], dim=1))
    scores = [right(network, logs, "last real step"), right(network, wider, "last real step"),
              right(network, logs, "last real step", alone=True)]
    assert torch.equal(scores[0], scores[1]) and torch.equal(scores[0], scores[2])


def test_training_learns_and_is_the_same_at_every_run():
    trained = [train_readers("last real step", seeds=[3, 4], updates=60, width=20) for _ in range(2)]
    assert torch.equal(trained[0].weight_hh, trained[1].weight_hh)
    assert right(trained[0], draw_logs(200, 20, generator(9)), "last real step").float().mean() > 0.8


def test_a_replica_trains_as_it_would_without_the_others():
    together = train_readers("last column", seeds=[3, 4], updates=5, width=20)
    alone = train_readers("last column", seeds=[4], updates=5, width=20)
    assert torch.allclose(together.weight_hh[1], alone.weight_hh[0], atol=1e-5)


@pytest.mark.parametrize("name, call", [
    ("width", lambda: draw_logs(3, 19, generator())), ("rows", lambda: draw_logs(0, 30, generator())),
    ("updates", lambda: train_readers("last column", seeds=[0], updates=0, width=20)),
    ("reading", lambda: train_readers("first column", seeds=[0], updates=1, width=20))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
