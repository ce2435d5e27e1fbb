"""Loss, accuracy and training against brute force on small cases."""

import math

import pytest
import torch
from torch import nn

from lessonlib.racers import GRURacer, TransformerRacer, build_with_seed
from lessonlib.tasks import Task, copy_task
from lessonlib.training import (
    CHECK_EVERY,
    History,
    accuracy,
    accuracy_by_position,
    draw_batch,
    masked_loss,
    predict,
    scored_columns,
    split_rows,
    train,
    train_step,
)


def seeded(seed: int = 11) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small_task(rows: int = 60) -> Task:
    return copy_task(3, rows, 7, generator=seeded())


class Constant(nn.Module):
    """Always answers `token`."""

    def __init__(self, token: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.eye(7)[token])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(*ids.shape, 7)


def test_masked_loss_by_brute_force():
    task = small_task(4)
    logits = torch.randn(4, 6, 7, generator=seeded(), dtype=torch.float64)
    terms = [-math.log(logits[i, t].softmax(0)[task.targets[i, t]].item())
             for i in range(4) for t in range(6) if task.mask[i, t]]
    assert masked_loss(logits, task.targets, task.mask).item() == pytest.approx(sum(terms) / 12, abs=1e-12)


def test_unscored_positions_have_no_gradient():
    task = small_task(4)
    logits = torch.randn(4, 6, 7, generator=seeded()).requires_grad_()
    masked_loss(logits, task.targets, task.mask).backward()
    assert torch.equal(logits.grad.abs().amax(-1) > 0, task.mask.bool())


def test_uniform_prediction_costs_log_of_the_vocabulary():
    task = small_task(4)
    assert masked_loss(torch.zeros(4, 6, 7), task.targets, task.mask).item() == pytest.approx(math.log(7), abs=1e-6)


@pytest.mark.parametrize("shapes", [((4, 6, 7), (4, 5), (4, 6)), ((4, 6, 7), (4, 6), (4, 5)), ((4, 5, 7), (4, 6), (4, 6))])
def test_masked_loss_shapes(shapes):
    logits, targets, mask = (torch.zeros(s) for s in shapes)
    with pytest.raises(ValueError, match="logits, targets and mask have shapes"):
        masked_loss(logits, targets.long(), mask.long())


def test_masked_loss_needs_a_scored_position():
    with pytest.raises(ValueError, match="mask is zero everywhere"):
        masked_loss(torch.zeros(1, 2, 3), torch.zeros(1, 2).long(), torch.zeros(1, 2).long())


def test_accuracy_counts_scored_answers_only():
    task, token = small_task(), 3
    answers = task.targets[:, 3:]
    assert accuracy(Constant(token), task) == pytest.approx((answers == token).sum().item() / answers.numel())
    assert accuracy_by_position(Constant(token), task) == pytest.approx((answers == token).double().mean(0).tolist())


@pytest.mark.parametrize("make", [lambda: GRURacer(7, 8), lambda: TransformerRacer(7, 8, heads=2, context=6)])
def test_accuracy_does_not_depend_on_the_batch_size_and_keeps_the_mode(make):
    network, task = build_with_seed(make, 2), small_task()
    expected = accuracy(network, task)
    for batch_size in (1, 7, 60, 1000):
        assert accuracy(network, task, batch_size) == expected
    assert network.training
    accuracy(network.eval(), task)
    assert not network.training
    assert sum(accuracy_by_position(network, task)) / 3 == pytest.approx(expected)


def test_scored_columns():
    assert scored_columns(small_task()).tolist() == [3, 4, 5]
    task = small_task()
    task.mask[0, 0] = 1
    with pytest.raises(ValueError, match="mask differs between rows"):
        scored_columns(task)


def test_split_keeps_the_last_rows():
    task = small_task()
    training, held_out = split_rows(task, 20)
    assert torch.equal(training.inputs, task.inputs[:40]) and torch.equal(held_out.targets, task.targets[40:])
    for bad in (0, 60, -1):
        with pytest.raises(ValueError, match=f"held_out is {bad}"):
            split_rows(task, bad)


def test_batch_is_one_draw_of_row_indices():
    task = small_task()
    index = torch.randint(0, 60, (5,), generator=seeded(8))
    assert torch.equal(draw_batch(task, 5, seeded(8)).inputs, task.inputs[index])


def test_clipping_happens_before_the_step():
    network = build_with_seed(lambda: GRURacer(7, 8), 1)
    with torch.no_grad():
        network.readout.weight.mul_(100)  # large gradients
    before = [p.detach().clone() for p in network.parameters()]
    train_step(network, torch.optim.SGD(network.parameters(), lr=1.0), small_task(), max_norm=0.5)
    moved = torch.stack([(p - b).norm() for p, b in zip(network.parameters(), before, strict=True)]).norm().item()
    assert moved == pytest.approx(0.5, rel=1e-3)


def test_train_repeats_itself_and_learns_a_tiny_batch():
    task = small_task(8)
    runs = []
    for _ in range(2):
        network = build_with_seed(lambda: TransformerRacer(7, 16, heads=2, context=6), 1)
        runs.append(train(network, task, task, updates=100, generator=seeded()))
    assert runs[0] == runs[1]
    assert runs[0].updates == [50, 100] and runs[0].accuracy[-1] > 0.95


def test_train_stops_at_the_level():
    task = small_task(8)
    history = train(Constant(3), task, task, updates=200, generator=seeded(), stop_at=0.0)
    assert history.updates == [CHECK_EVERY]
    with pytest.raises(ValueError, match="updates is 0"):
        train(Constant(3), task, task, updates=0, generator=seeded())


def test_history():
    history = History([50, 100, 150], [0.1, 0.96, 0.9])
    assert history.at(100) == 0.96 and history.first_reaching(0.95) == 100 and history.first_reaching(0.99) is None
    with pytest.raises(ValueError, match="update is 75"):
        history.at(75)


def test_predict_rejects_an_empty_batch_size():
    with pytest.raises(ValueError, match="batch_size is 0"):
        predict(Constant(1), small_task().inputs, 0)
