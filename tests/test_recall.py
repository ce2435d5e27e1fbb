"""The recall task, its network and its training against plain PyTorch and against counting."""

import numpy as np
import pytest
import torch
from torch import nn

from lessonlib.order_models import LEARNING_RATE
from lessonlib.racers import build_with_seed, parameter_count
from lessonlib.recall import (
    FLAGS,
    LEARNED,
    SYMBOLS,
    Recall,
    Recaller,
    RecallRun,
    flag_signal,
    recall_accuracy,
    recall_task,
    train_recaller,
)

KINDS = ["rnn", "gru", "lstm"]


def seeded(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(kind: str, seed: int = 7, bias: float | None = None) -> Recaller:
    return build_with_seed(lambda: Recaller(kind, bias), seed)


@pytest.mark.parametrize("rows, length", [(1, 1), (5, 1), (1, 2), (200, 6)])
def test_the_flag_stands_first_and_only_there(rows, length):
    task = recall_task(rows, length, generator=seeded())
    assert task.ids.shape == (rows, length) and task.ids.dtype == torch.int64 and task.flags.dtype == torch.float32
    assert torch.equal(task.ids[:, 0].float(), task.flags)
    assert set(task.flags.tolist()) <= {0.0, 1.0}
    if length > 1:
        assert task.ids[:, 1:].min() >= FLAGS and task.ids[:, 1:].max() < SYMBOLS
    if rows == 200:
        assert task.ids[:, 1:].unique().tolist() == list(range(FLAGS, SYMBOLS)) and 60 < task.flags.sum() < 140


def test_flags_are_drawn_before_the_fillers():
    """The order of the draws decides the data, which other pages and the recorded counts rely on."""
    draw, task = seeded(3), recall_task(9, 4, generator=seeded(3))
    assert torch.equal(torch.randint(0, 2, (9,), generator=draw), task.ids[:, 0])
    assert torch.equal(torch.randint(2, 10, (9, 3), generator=draw), task.ids[:, 1:])


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_comes_from_the_final_state(kind):
    network, ids = make(kind), recall_task(3, 5, generator=seeded()).ids
    _outputs, last = network.recurrence(network.embedding(ids))
    state = last[0][0] if kind == "lstm" else last[0]
    assert torch.allclose(network(ids), network.readout(state).squeeze(-1), atol=1e-6)
    assert torch.allclose(network(ids), network.logits_by_step(ids)[:, -1], atol=1e-6)


def test_sizes():
    assert [parameter_count(make(kind)) for kind in KINDS] == [1793, 4993, 6593]


def test_a_forget_bias_is_the_sum_of_both_vectors_and_moves_nothing_else():
    plain, opened = make("lstm"), make("lstm", bias=3.0)
    for name, weight in opened.named_parameters():
        before = plain.get_parameter(name)
        if "bias_" in name:
            assert torch.equal(weight[32:64], torch.full((32,), 3.0 if "bias_ih" in name else 0.0))
            weight, before = (torch.cat([w[:32], w[64:]]) for w in (weight, before))
        assert torch.equal(weight, before)


@pytest.mark.parametrize("kind", KINDS)
def test_training_against_a_loop_of_plain_pytorch(kind):
    """Two epochs of 150 rows in batches of 64, 64 and 22: the same weights and the same shares."""
    task = recall_task(150, 4, generator=seeded(1))
    run = train_recaller(make(kind), task, epochs=2, generator=seeded())
    other, draw, shares = make(kind), seeded(), []
    adam = torch.optim.Adam(other.parameters(), lr=0.01)
    for _ in range(2):
        order, right = torch.randperm(150, generator=draw), 0
        for first in (0, 64, 128):
            chosen = order[first:first + 64]
            answer = other(task.ids[chosen])
            right += int(((answer > 0).float() == task.flags[chosen]).sum())
            adam.zero_grad()
            probability = torch.sigmoid(answer)
            nn.functional.binary_cross_entropy(probability, task.flags[chosen]).backward()
            nn.utils.clip_grad_norm_(other.parameters(), 1.0)
            adam.step()
        shares.append(right / 150)
    assert LEARNING_RATE == 0.01 and run.shares == shares
    for got, want in zip(run.network.parameters(), other.parameters(), strict=True):
        assert torch.allclose(got, want, atol=2e-4)


def test_a_run_ends_once_an_epoch_is_answered_rightly():
    task = recall_task(640, 3, generator=seeded(1))
    run = train_recaller(make("gru"), task, epochs=30, generator=seeded())
    assert run.learned and len(run.shares) < 30
    assert run.shares[-1] >= LEARNED > max(run.shares[:-1])
    assert recall_accuracy(run.network, recall_task(200, 3, generator=seeded(2))) == 1.0


def test_a_task_without_an_answer_is_not_learned():
    """Flags that say nothing about the rows: training must run to its end and stay near one half on new rows."""
    ids, flags = recall_task(640, 3, generator=seeded(1)).ids, torch.randint(2, (640,), generator=seeded(9)).float()
    run = train_recaller(make("gru"), Recall(ids, flags), epochs=3, generator=seeded())
    assert not run.learned and len(run.shares) == 3 and max(run.shares) < 0.65


def test_accuracy_counts_and_does_not_depend_on_the_batch_size():
    network, task = make("gru"), recall_task(37, 4, generator=seeded())
    by_hand = sum(int((network(row[None]).item() > 0) == bool(flag)) for row, flag in zip(task.ids, task.flags, strict=True)) / 37
    assert [recall_accuracy(network, task, size) for size in (1, 2, 36, 500)] == pytest.approx([by_hand] * 4, abs=1e-12)
    assert recall_accuracy(network, Recall(task.ids, 1 - task.flags)) == pytest.approx(1 - by_hand)


@pytest.mark.parametrize("kind", KINDS)
def test_signal_against_one_row_at_a_time(kind):
    network, task = make(kind), recall_task(6, 4, generator=seeded())
    signal, double = flag_signal(network, task), make(kind).double()
    clouds = np.empty((2, 6, 4, 32))
    for flag in (0, 1):
        for n, row in enumerate(task.ids.tolist()):
            for t in range(4):  # the state after t + 1 steps, by running these steps alone
                clouds[flag, n, t] = double.states(torch.tensor([[flag, *row[1:t + 1]]]))[0, -1].detach().numpy()
    apart = np.linalg.norm(clouds[1].mean(0) - clouds[0].mean(0), axis=-1)
    size = np.sqrt(((clouds - clouds.mean(1, keepdims=True)) ** 2).sum(-1).mean((0, 1)))
    assert signal.dtype == torch.float64 and signal.shape == (4,) and signal[0] > 1e6
    assert np.allclose(signal[1:], (apart / size)[1:], rtol=1e-9, atol=0)


def test_the_signal_of_a_leaky_linear_state_fades_with_its_weight():
    """With W_h = f and small inputs the tanh is linear: the flag fades as f^t while the fillers' spread settles."""
    network, keep = make("rnn"), 0.5
    with torch.no_grad():
        for name, weight in network.recurrence.named_parameters():
            weight.copy_(keep * torch.eye(32) if "weight_hh" in name else 1e-5 * weight if "weight_ih" in name else 0 * weight)
    task = recall_task(4000, 9, generator=seeded())
    inputs = network.embedding.weight.double() @ network.recurrence.weight_ih_l0.double().T
    spread = (inputs[2:] - inputs[2:].mean(0)).square().sum(-1).mean().sqrt()         # of one filler's contribution
    t = torch.arange(1, 9, dtype=torch.float64)                                     # fillers read
    size = spread * ((1 - keep ** (2 * t)) / (1 - keep**2)).sqrt()
    assert torch.allclose(flag_signal(network, task)[1:], (inputs[1] - inputs[0]).norm() * keep**t / size, rtol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_signal_leaves_the_network_and_does_not_depend_on_the_flags_drawn(kind):
    network, task = make(kind), recall_task(6, 4, generator=seeded())
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    other = task.ids.clone()
    other[:, 0] = 1 - other[:, 0]
    signal = flag_signal(network, task)
    assert not signal.requires_grad and torch.equal(signal, flag_signal(network, Recall(other, task.flags)))
    assert all(torch.equal(weight, before[name]) and weight.dtype == torch.float32 for name, weight in network.state_dict().items())
    with torch.no_grad():
        network.embedding.weight[1] = network.embedding.weight[0]
    assert not flag_signal(network, task)[1:].any()


TASK = recall_task(8, 3, generator=seeded())
BAD = {
    "rows": lambda: recall_task(0, 3, generator=seeded()),
    "length": lambda: recall_task(3, 0, generator=seeded()),
    "kind": lambda: Recaller("tcn"),
    "ids": lambda: make("rnn").states(TASK.ids[0]),
    "ids has shape": lambda: make("rnn")(TASK.ids[:, :0]),
    "epochs": lambda: train_recaller(make("rnn"), TASK, epochs=0, generator=seeded()),
    "batch_size": lambda: recall_accuracy(make("rnn"), TASK, 0),
    "task": lambda: flag_signal(make("rnn"), Recall(TASK.ids[:1], TASK.flags[:1])),
    "vocabulary": lambda: Recaller.__mro__[1]("rnn", 0),
    "forget_bias": lambda: Recaller("rnn", 3.0),
}


@pytest.mark.parametrize("name, call", BAD.items())
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()


def test_a_run_without_epochs_has_learned_nothing():
    assert not RecallRun(make("rnn")).learned
