"""Delayed recall: the sequences, the loss from eight rows against the whole batch, and when a run counts as solved."""

import pytest
import torch
from torch.nn import functional as F

from lessonlib import delayed_recall
from lessonlib.delayed_recall import (
    BLANK,
    SYMBOLS,
    RecallNetwork,
    batch_loss,
    draw_firsts,
    first_below,
    named,
    recall_accuracy,
    sequences,
    train_recall,
)
from lessonlib.racers import build_with_seed


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_sequences_hold_the_symbol_and_then_blanks_or_distractors():
    firsts = draw_firsts(200, seeded())
    ids = sequences(firsts, 7)
    assert torch.equal(ids[:, 0], firsts) and (ids[:, 1:] == BLANK).all() and ids.shape == (200, 8)
    noisy = sequences(firsts, 7, seeded(1))
    assert torch.equal(noisy[:, 0], firsts) and noisy[:, 1:].unique().tolist() == list(range(9, 17))


@pytest.mark.parametrize("kind, bias", [("rnn", None), ("lstm", 1.0), ("linear", None)])
def test_eight_rows_give_the_loss_and_the_gradient_of_the_whole_batch(kind, bias):
    firsts = draw_firsts(64, seeded(3))
    gradients, losses = [], []
    for whole in (True, False):
        network = build_with_seed(lambda: RecallNetwork(kind, bias), 0).double()
        loss = F.cross_entropy(network(sequences(firsts, 9)), firsts) if whole else batch_loss(network, firsts, 9)
        loss.backward()
        losses.append(loss.item())
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters()]))
    assert abs(losses[0] - losses[1]) < 1e-12 and torch.allclose(*gradients, rtol=1e-9, atol=1e-12)


def test_the_linear_network_reads_what_its_loop_would_say():
    network = build_with_seed(lambda: RecallNetwork("linear"), 0).double()
    ids = sequences(torch.arange(SYMBOLS), 40)
    with torch.no_grad():
        out = network.core(network.embedding(ids), way="loop")[:, -1]
        assert torch.allclose(network(ids), network.readout(F.gelu(out)), atol=1e-12)


def test_the_forget_bias_is_what_was_asked_for():
    for bias in (1.0, 5.0):
        core = RecallNetwork("lstm", bias).core
        assert ((core.bias_ih_l0 + core.bias_hh_l0)[64:128] == bias).all()


def test_solved_is_a_mean_over_ten_updates():
    losses = [2.0] * 5 + [0.1] * 20
    assert first_below(losses, 0.5) == 5 + 8 and first_below(losses, 0.05) is None and first_below([0.0] * 9, 1.0) is None


def test_a_run_stops_when_it_is_solved_and_its_test_agrees():
    run = train_recall("lstm", 3, forget_bias=1.0, updates=300)
    assert run.solved == len(run.losses) < 300 and run.accuracy == 1.0 and named(run.network, 3).all()
    assert run.solved == first_below(run.losses, 0.05) == run.left_plateau(0.05)
    longer = train_recall("lstm", 3, forget_bias=1.0, updates=run.solved + 5, until_solved=False)
    assert longer.solved == run.solved and longer.losses[:run.solved] == run.losses and len(longer.losses) == run.solved + 5


def test_accuracy_weighs_symbols_as_the_test_set_does(monkeypatch):
    class OnlyThree(torch.nn.Module):
        def forward(self, ids):
            return F.one_hot(torch.full((len(ids),), 3), SYMBOLS).double()

    firsts = draw_firsts(delayed_recall.TEST_ROWS, seeded(delayed_recall.TEST_SEED))
    share = (firsts == 3).double().mean().item()
    assert named(OnlyThree(), 4).tolist() == [i == 3 for i in range(SYMBOLS)]
    assert recall_accuracy(OnlyThree(), 4) == pytest.approx(share) == pytest.approx(recall_accuracy(OnlyThree(), 4, distractors=True))


def test_distractors_train_too():
    run = train_recall("linear", 4, updates=60, distractors=True)
    assert run.losses[-1] < run.losses[0]


def test_all_rows_train_as_eight_do():
    pair = [train_recall("linear", 6, updates=15, all_rows=rows).losses for rows in (True, False)]
    assert pair[0] == pytest.approx(pair[1], rel=1e-4)


def test_the_ring_is_that_asked_for():
    moduli = RecallNetwork("linear", ring=(0.9, 0.95)).core.moduli()
    assert 0.9 <= moduli.min() and moduli.max() <= 0.95


def test_bad_settings_name_the_argument():
    for call, name in ((lambda: draw_firsts(0, seeded()), "rows"), (lambda: sequences(torch.tensor([8]), 3), "firsts"),
                       (lambda: sequences(torch.tensor([1]), 0), "lag"), (lambda: RecallNetwork("gru"), "kind"),
                       (lambda: train_recall("rnn", 3, updates=0), "updates")):
        with pytest.raises(ValueError, match=name):
            call()
