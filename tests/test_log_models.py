"""Character models of the log against step-by-step computations and closed forms."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from lessonlib import log_models as M
from lessonlib.character_model import as_streams
from lessonlib.gate_biases import gate_bias
from lessonlib.gated import GRULayer, LSTMLayer, RecurrentLayer
from lessonlib.maintenance_log import draw_log, make_corpus
from lessonlib.racers import build_with_seed, parameter_count

torch.set_num_threads(1)
OURS = {"rnn": RecurrentLayer, "gru": GRULayer, "lstm": LSTMLayer}
LINES = draw_log(60, np.random.default_rng(4))
CORPUS = make_corpus(LINES, 0.3)
V = len(CORPUS.alphabet)


def small(kind="lstm", seed=0, **options):
    return build_with_seed(lambda: M.LogModel(kind, V, hidden_size=7, **options), seed).double()


def test_sizes_of_the_protocol():
    assert [parameter_count(M.LogModel(kind, 37)) for kind in ("rnn", "gru", "lstm")] == [26693, 68165, 88901]


def test_weights_are_drawn_in_the_stated_order_and_the_forget_bias_is_effective():
    torch.manual_seed(3)
    parts = [torch.nn.Embedding(V, 32), torch.nn.LSTM(32, 7, batch_first=True), torch.nn.Linear(7, V)]
    expected = [p.double() for part in parts for p in part.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(small(seed=3).parameters(), expected, strict=True))
    assert (gate_bias(small(forget_bias=1.5).recurrence, "forget") == 1.5).all()


def test_an_orthogonal_matrix_is_drawn_last_and_scaled():
    W = small("rnn", seed=3, orthogonal=1.5).recurrence.weight_hh_l0
    assert torch.allclose(W.T @ W, 2.25 * torch.eye(7).double(), atol=1e-5)
    assert torch.equal(small("rnn", seed=3, orthogonal=1.5).readout.weight, small("rnn", seed=3).readout.weight)


@pytest.mark.parametrize("kind", OURS)
def test_training_equals_a_loop_over_steps(kind):
    """Pieces, carried and detached state, its reset, clipping and Adam, against layers that are looped step by step."""
    ids = np.random.default_rng(0).integers(0, V, 32 * 64 + 40)        # two pieces a stream
    model, twin = small(kind), small(kind)
    with torch.no_grad():
        for network in (model, twin):
            network.readout.weight *= 80                               # so that clipping acts
    found = M.train_log_model(model, ids, 5, check=lambda m: m.readout.bias.tolist(), check_every=2)
    layer = OURS[kind].from_torch(twin.recurrence)
    parameters = [*twin.embedding.parameters(), *layer.parameters(), *twin.readout.parameters()]
    optimiser, state, norms, checks = torch.optim.Adam(parameters, lr=3e-3), None, [], []
    x, y = (torch.as_tensor(part) for part in as_streams(ids, 32))
    for update, piece in enumerate((0, 1, 0, 1, 0)):
        state = None if piece == 0 else state
        states = layer.states(twin.embedding(x[:, 32 * piece:32 * piece + 32]), state)
        hidden = torch.stack([s[0] if kind == "lstm" else s for s in states], 1)
        state = M.detached(states[-1])
        log_p = torch.log_softmax(twin.readout(hidden), -1)
        loss = -log_p.gather(-1, y[:, 32 * piece:32 * piece + 32, None]).mean()
        optimiser.zero_grad()
        loss.backward()
        norms.append(math.sqrt(sum(float((p.grad**2).sum()) for p in parameters)))
        for p in parameters:
            p.grad *= min(1.0, 5.0 / (norms[-1] + 1e-6))
        optimiser.step()
        checks += [twin.readout.bias.tolist()] if update % 2 else []
    assert norms[0] > 5
    assert np.allclose(found, checks, atol=1e-10)
    assert torch.allclose(model.recurrence.weight_hh_l0, layer.W_h, atol=1e-10)


def test_text_loss_equals_a_loop_over_characters():
    model, ids, state, losses = small(), CORPUS.validation[:50], None, []
    with torch.no_grad():
        for now, after in pairwise(ids):
            logits, state = model(torch.tensor([[now]]), state)
            losses.append(-torch.log_softmax(logits[0, 0], 0)[after].item())
    assert M.text_loss(model, ids) == pytest.approx(np.mean(losses), abs=1e-12)


def test_samples_follow_the_model_and_carry_the_state():
    model = small("gru")
    with torch.no_grad():
        model.readout.weight *= 20
    drawn = M.sample_ids(model, 3, 40, 1e-9, torch.Generator().manual_seed(0))
    with torch.no_grad():
        best = model(torch.tensor([[3, *drawn[:-1]]]))[0][0].argmax(-1).tolist()
    assert drawn == best and len(set(drawn)) > 1


def test_samples_have_the_frequencies_of_the_softmax_at_the_temperature():
    model = small("rnn")
    for parameter in model.parameters():
        parameter.data.zero_()
    model.readout.bias.data[:2] = torch.tensor([6.0, 5.0], dtype=torch.float64)
    drawn = np.array(M.sample_ids(model, 0, 4000, 0.5, torch.Generator().manual_seed(0)))
    p = 1 / (1 + math.exp(-2) + (V - 2) * math.exp(-12))
    assert abs((drawn == 0).mean() - p) < 4 * math.sqrt(p * (1 - p) / 4000)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="kind is 'elman'"):
        M.LogModel("elman", V)
    with pytest.raises(ValueError, match="ids has shape"):
        small()(torch.zeros(3, dtype=torch.long))
    for updates, every, n in ((5, 6, 3000), (5, 0, 3000), (5, 1, 40)):
        with pytest.raises(ValueError, match="check_every is"):
            M.train_log_model(small(), np.zeros(n, int), updates, check=lambda m: 0, check_every=every)
    with pytest.raises(ValueError, match="learning_rate"):
        M.train_log_model(small(), np.zeros(3000, int), 2, check=lambda m: 0, check_every=1, learning_rate=0)
    with pytest.raises(ValueError, match="temperature"):
        M.sample_ids(small(), 0, 3, 0.0, torch.Generator())
    with pytest.raises(ValueError, match="n_symbols"):
        M.sample_ids(small(), 0, 0, 1.0, torch.Generator())
    with pytest.raises(ValueError, match="orthogonal is 0"):
        M.LogModel("rnn", V, orthogonal=0)
