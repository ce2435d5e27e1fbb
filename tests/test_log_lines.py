"""Whole lines of the log: tags where they are said to be, scores against loops, gradients against finite differences."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lessonlib import log_lines as M
from lessonlib.log_models import LogModel
from lessonlib.maintenance_log import distances, draw_log, make_corpus
from lessonlib.racers import build_with_seed

torch.set_num_threads(1)
LINES = draw_log(60, np.random.default_rng(4))
CORPUS = make_corpus(LINES, 0.3)
V = len(CORPUS.alphabet)


def small(kind="lstm", seed=0, **options):
    return build_with_seed(lambda: LogModel(kind, V, hidden_size=7, **options), seed).double()


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_a_batch_is_the_text_of_its_lines_with_the_slash_where_it_stands():
    batch = M.line_batch(LINES, CORPUS)
    for row, line in enumerate(LINES):
        text, slash = str(line), int(batch.slash[row])
        assert CORPUS.decode(batch.inputs[row, :len(text)]) == "\n" + text[:-1]
        assert CORPUS.decode(batch.targets[row, :len(text)]) == text
        assert CORPUS.decode(batch.inputs[row, 1:3]) == line.tag and CORPUS.alphabet[batch.inputs[row, slash]] == "/"
        assert CORPUS.decode(batch.targets[row, slash:slash + 2]) == line.closing
        assert slash - 1 == distances(line)[0]                         # steps from the digit's state to the letter, less one


def test_closing_tag_equals_a_loop_over_single_lines():
    model, batch, losses, right = small(), M.line_batch(LINES, CORPUS), [], []
    for line in LINES:
        ids = torch.as_tensor(CORPUS.encode("\n" + str(line)))
        with torch.no_grad():
            log_p = torch.log_softmax(model(ids[None, :-1])[0][0], -1)
        letter = str(line).rindex("/") + 1
        losses.append(-sum(log_p[k, ids[k + 1]].item() for k in (letter, letter + 1)))
        right.append(all(log_p[k].argmax() == ids[k + 1] for k in (letter, letter + 1)))
    score = M.closing_tag(model, batch)
    assert score.loss == pytest.approx(np.mean(losses), abs=1e-12) and score.right == pytest.approx(np.mean(right))


def test_a_model_that_knows_the_tag_scores_one_and_an_ignorant_one_pays_ln_v():
    batch = M.line_batch([line for line in LINES if line.tag == LINES[0].tag], CORPUS)
    model = small("rnn")
    for parameter in model.parameters():
        parameter.data.zero_()
    assert M.closing_tag(model, batch).loss == pytest.approx(2 * math.log(V))
    letter, digit = CORPUS.encode(LINES[0].tag)
    with torch.no_grad():                                              # after "/" the letter, after the letter the digit
        model.embedding.weight[CORPUS.encode("/")[0], 0] = 3
        model.embedding.weight[letter, 1] = 3
        model.recurrence.weight_ih_l0[:2, :2] = 10 * torch.eye(2)
        model.readout.weight[letter, 0] = model.readout.weight[digit, 1] = 50
    assert M.closing_tag(model, batch).right == 1 and M.closing_tag(model, batch).loss < 1e-9


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_closing_gradient_by_finite_differences(kind):
    model, line = small(kind), LINES[1]
    batch = M.line_batch([line, max(LINES, key=lambda other: len(str(other)))], CORPUS)
    slash, embedded = int(batch.slash[0]), model.embedding(batch.inputs[:1]).detach()

    def loss(x):
        with torch.no_grad():
            return F.cross_entropy(model.readout(model.recurrence(x)[0][0, slash]), batch.targets[0, slash]).item()

    norms = M.closing_gradient(model, batch).norm(dim=-1)
    steps = [step for step in range(slash + 1) if norms[0, step] > 1e-7][::3]
    assert len(steps) >= 3 and norms[0].max() > 1e-3
    for step in steps:
        numeric = []
        for k in range(32):
            nudge = torch.zeros_like(embedded)
            nudge[0, step, k] = 1e-5
            numeric.append((loss(embedded + nudge) - loss(embedded - nudge)) / 2e-5)
        assert norms[0, step].item() == pytest.approx(np.linalg.norm(numeric), rel=1e-3)
    assert not norms[0, slash + 1:].any()
    tag, last = norms[:, 1:3].norm(dim=1), norms[[0, 1], batch.slash]
    assert torch.equal(M.arriving(M.closing_gradient(model, batch), batch), tag / last)


def test_gradients_are_found_where_the_caller_has_switched_them_off():
    batch = M.line_batch(LINES, CORPUS)
    expected = M.closing_gradient(small(), batch)
    with torch.no_grad():
        assert torch.equal(M.closing_gradient(small(), batch), expected)
        model = small()
        M.train_on_lines(model, batch, batch, 1, closing_weight=1.0, generator=seeded(0))
        assert not torch.is_grad_enabled()
    assert not torch.equal(model.readout.weight, small().readout.weight) and torch.is_grad_enabled()


def test_an_open_forget_gate_lets_more_through():
    batch = M.line_batch(LINES, CORPUS)
    shares = [M.arriving(M.closing_gradient(small(forget_bias=b), batch), batch).median().item() for b in (-2.0, 0.0, 3.0)]
    assert shares[0] < shares[1] / 10 < shares[2] / 100


def test_rows_drop_padding_and_nothing_else():
    batch, which = M.line_batch(LINES, CORPUS), torch.tensor([5, 2])
    part, alone = batch.rows(which), M.line_batch([LINES[5], LINES[2]], CORPUS)
    assert all(torch.equal(a, b) for a, b in zip(part, alone, strict=True))


def test_weighted_loss_equals_a_loop_over_characters():
    model, batch, total, weights = small(), M.line_batch(LINES[:4], CORPUS), 0.0, 0.0
    for line in LINES[:4]:
        ids = torch.as_tensor(CORPUS.encode("\n" + str(line)))
        log_p = torch.log_softmax(model(ids[None, :-1])[0][0], -1)
        for k in range(len(ids) - 1):
            weight = 7.0 if k - str(line).rindex("/") in (1, 2) else 1.0
            total, weights = total - weight * log_p[k, ids[k + 1]].item(), weights + weight
    assert M.weighted_loss(model, batch, 7.0).item() == pytest.approx(total / weights, abs=1e-6)
    only = M.line_weights(batch, 0.0).sum() - sum(len(str(line)) - 2 for line in LINES[:4])
    assert only == 0


def test_training_follows_its_generator_and_stops_when_the_rule_is_learned():
    batch = M.line_batch(LINES, CORPUS)
    options = {"closing_weight": 10.0, "learning_rate": 0.02, "check_every": 2}
    runs = [M.train_on_lines(small(seed=1), batch, batch, 6, generator=seeded(seed), **options) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2] and len(runs[0]) == 3
    one_tag = M.line_batch([line for line in LINES if line.tag == LINES[0].tag], CORPUS)
    checks = M.train_on_lines(small(seed=1), one_tag, one_tag, 200, generator=seeded(0), **options)
    assert checks[-1].right >= M.SOLVED and len(checks) < 100
    assert all(check.right < M.SOLVED for check in checks[:-1])
    assert len(M.train_on_lines(small(seed=1), one_tag, one_tag, 200, stop=False, generator=seeded(0), **options)) == 100


def test_one_update_is_adam_on_the_clipped_gradient():
    model, twin, batch = small(), small(), M.line_batch(LINES[:20], CORPUS)      # one batch holds them all
    M.train_on_lines(model, batch, batch, 1, closing_weight=3.0, generator=seeded(0), learning_rate=0.01)
    M.weighted_loss(twin, batch, 3.0).backward()
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        moves = theirs.grad.abs() > 1e-6                              # the first step of Adam has the size of its rate
        assert torch.allclose((mine - theirs)[moves], -0.01 * theirs.grad[moves].sign(), rtol=0.05)


def test_agreement_of_equal_opposite_and_unrelated_vectors():
    v = torch.randn(6, generator=seeded(0), dtype=torch.float64)
    assert M.agreement(v.expand(5, -1)) == pytest.approx(1)
    assert M.agreement(torch.stack([v, -v])) == pytest.approx(0, abs=1e-15)
    assert M.agreement(torch.eye(9, dtype=torch.float64)) == pytest.approx(1 / 3)
    assert M.agreement(torch.randn(400, 50, generator=seeded(1), dtype=torch.float64)) == pytest.approx(1 / 20, rel=0.25)


def test_bad_input_is_named():
    batch = M.line_batch(LINES, CORPUS)
    with pytest.raises(ValueError, match="sequences has shapes"):
        M.line_batch([], CORPUS)
    with pytest.raises(ValueError, match="closing_weight is -1"):
        M.line_weights(batch, -1)
    for bad, name in (({"updates": 0}, "updates"), ({"check_every": 0}, "check_every"), ({"learning_rate": 0}, "learning_rate")):
        options = {"updates": 2, "closing_weight": 1.0, "generator": seeded(0), **bad}
        with pytest.raises(ValueError, match=name):
            M.train_on_lines(small(), batch, batch, **options)
    with pytest.raises(ValueError, match="gradient has shape"):
        M.agreement(torch.zeros(3, 4))
