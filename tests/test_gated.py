"""Plain, LSTM and GRU layers against PyTorch, autograd, finite differences and closed forms."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lessonlib import gated as G
from lessonlib.gate_biases import set_forget_bias, set_gate_bias
from lessonlib.time_constants import sigmoid

torch.set_num_threads(1)

KINDS = [(nn.RNN, G.RecurrentLayer), (nn.LSTM, G.LSTMLayer), (nn.GRU, G.GRULayer)]


def seeded(make, seed=3):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().double()


def batch(rows=3, steps=7, width=5, seed=1):
    return torch.randn(rows, steps, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start_of(kind, rows, width, seed=2):
    draw = torch.randn(2, rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (draw[0], draw[1]) if kind is nn.LSTM else draw[0]


def same(a, b, tolerance=1e-12):
    return (a - b).abs().max().item() < tolerance


# Against PyTorch -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("theirs, ours", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_layers_equal_pytorch_with_a_nonzero_start(theirs, ours, rows):
    """Gate blocks read in the wrong order run without a complaint; only a comparison finds it."""
    module = seeded(lambda: theirs(5, 4, batch_first=True))
    x, start = batch(rows), start_of(theirs, rows, 4)
    expected, last = module(x, tuple(s[None] for s in start) if theirs is nn.LSTM else start[None])
    outputs, final = ours.from_torch(module)(x, start)
    assert same(outputs, expected)
    for mine, other in zip(final if theirs is nn.LSTM else [final], last if theirs is nn.LSTM else [last], strict=True):
        assert same(mine, other[0])
    assert same(ours.from_torch(module)(x)[0], module(x)[0])


@pytest.mark.parametrize("theirs, ours", [(nn.RNNCell, G.RecurrentLayer), (nn.LSTMCell, G.LSTMLayer), (nn.GRUCell, G.GRULayer)])
def test_one_step_equals_the_cells_of_pytorch_with_and_without_biases(theirs, ours):
    for bias in (True, False):
        cell = seeded(lambda b=bias: theirs(5, 4, bias=b))
        start = start_of(nn.LSTM if theirs is nn.LSTMCell else None, 3, 4)
        for mine, other in zip(ours.from_torch(cell).step(batch()[:, 0], start), cell(batch()[:, 0], start), strict=True):
            assert same(mine, other)


def permuted(module, order):
    with torch.no_grad():
        for parameter in module.parameters():
            blocks = parameter.chunk(len(order))
            parameter.copy_(torch.cat([blocks[k] for k in order]))
    return module


@pytest.mark.parametrize("order", [[0, 3, 1, 2], [1, 0, 2, 3], [0, 1, 3, 2], [2, 1, 0, 3]])
def test_two_blocks_of_an_lstm_swapped_are_noticed(order):
    """Gate blocks read as i, o, f, g: shapes are right, nothing raises, the result is wrong."""
    module = seeded(lambda: nn.LSTM(5, 4, batch_first=True))
    layer = permuted(G.LSTMLayer.from_torch(module), order)
    assert not same(layer(batch())[0], module(batch())[0], 1e-3)


def test_reset_after_the_product_is_pytorch_and_reset_before_is_not():
    """Papers and libraries disagree about the place of the reset gate; the two forms give different numbers."""
    module = seeded(lambda: nn.GRU(5, 4, batch_first=True))
    assert same(G.GRULayer.from_torch(module, reset="after")(batch())[0], module(batch())[0], 1e-12)
    assert not same(G.GRULayer.from_torch(module, reset="before")(batch())[0], module(batch())[0], 1e-3)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_the_two_readings_of_the_update_gate_differ_by_its_sign(reset):
    keep = G.GRULayer(5, 4, reset=reset, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    replace = G.GRULayer(5, 4, reset=reset, update="replace", dtype=torch.float64)
    replace.load_state_dict(keep.state_dict())
    assert not same(replace(batch())[0], keep(batch())[0], 1e-3)
    with torch.no_grad():
        for parameter in replace.parameters():
            parameter[4:8] *= -1  # 1 - sigmoid(a) = sigmoid(-a)
    assert same(replace(batch())[0], keep(batch())[0])


def test_reset_before_equals_its_equation_written_in_numpy():
    layer = G.GRULayer(5, 4, reset="before", update="replace", generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    W_x, W_h, b_x, b_h = (p.detach().numpy() for p in (layer.W_x, layer.W_h, layer.b_x, layer.b_h))
    block = lambda array, k: array[4 * k:4 * k + 4]
    x, h = batch()[0].numpy(), np.zeros(4)
    for x_t in x:
        r, u = (sigmoid(block(W_x, k) @ x_t + block(b_x, k) + block(W_h, k) @ h + block(b_h, k)) for k in (0, 1))
        n = np.tanh(block(W_x, 2) @ x_t + block(b_x, 2) + block(W_h, 2) @ (r * h) + block(b_h, 2))
        h = (1 - u) * h + u * n
    assert np.allclose(layer(batch()[:1])[1].detach().numpy()[0], h, atol=1e-13)


@pytest.mark.parametrize("theirs, ours", KINDS)
def test_stacked_and_bidirectional_layers_are_loaded_one_by_one(theirs, ours):
    module = seeded(lambda: theirs(5, 4, num_layers=2, bidirectional=True, batch_first=True))
    y = batch()
    for layer in (0, 1):
        y = G.run_both_ways(ours.from_torch(module, layer), ours.from_torch(module, layer, reverse=True), y)
    assert same(y, module(batch())[0])


def test_gradients_equal_those_of_pytorch():
    module = seeded(lambda: nn.LSTM(5, 4, batch_first=True))
    layer = G.LSTMLayer.from_torch(module)
    for network in (module, layer):
        network(batch())[0].square().sum().backward()
    assert same(layer.W_h.grad, module.weight_hh_l0.grad) and same(layer.W_x.grad, module.weight_ih_l0.grad)
    assert same(layer.b_x.grad, module.bias_ih_l0.grad)


# Invariances -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("theirs, ours", KINDS)
def test_splitting_a_stream_order_of_the_batch_and_causality(theirs, ours):
    layer = ours(5, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    x = batch(3, 8)
    whole = layer(x)[0]
    first, state = layer(x[:, :3])
    assert same(torch.cat([first, layer(x[:, 3:], state)[0]], dim=1), whole)
    assert same(layer(x.flip(0))[0], whole.flip(0))
    later = x.clone()
    later[:, 5] += 1
    assert torch.equal(layer(later)[0][:, :5], whole[:, :5]) and not same(layer(later)[0][:, 5], whole[:, 5], 1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(0.1, 20))
def test_a_gru_stays_within_one_and_an_lstm_cell_need_not(seed, scale):
    x = scale * batch(2, 30, 5, seed)
    gru = G.GRULayer(5, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert gru(x)[0].abs().max() <= 1
    counter = G.LSTMLayer(5, 4, dtype=torch.float64)
    set_gate_bias(counter, "input", 30.0)
    set_forget_bias(counter, 30.0)
    with torch.no_grad():
        counter.b_x[8:12] = 30.0  # the candidate is one at every step
    assert torch.allclose(counter(x)[1][1], torch.full((2, 4), 30.0, dtype=torch.float64), atol=1e-6)


# The cell path ----------------------------------------------------------------------------------------------------

def test_cell_jacobian_equals_autograd_and_central_differences():
    draw = torch.Generator().manual_seed(0)
    layer = G.LSTMLayer(3, 4, generator=draw, dtype=torch.float64)
    x, c, o = (torch.randn(n, generator=draw, dtype=torch.float64) for n in (3, 4, 4))
    o = torch.sigmoid(o)
    new_cell = lambda c: layer.step(x, (o * torch.tanh(c), c))[1]
    direct, indirect = layer.cell_jacobian(x, c, o)
    assert same(direct + indirect, torch.autograd.functional.jacobian(new_cell, c), 1e-13)
    steps = 1e-6 * torch.eye(4, dtype=torch.float64)
    numeric = torch.stack([(new_cell(c + s) - new_cell(c - s)) / 2e-6 for s in steps], dim=1)
    assert same(direct + indirect, numeric, 1e-8)
    assert not same(direct, direct + indirect, 1e-3)  # the second part is not empty


def test_with_the_indirect_paths_cut_the_gradient_is_the_product_of_the_forget_gates():
    layer = G.LSTMLayer(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    start = torch.full((2, 4), 0.3, dtype=torch.float64, requires_grad=True)
    h, c, product = torch.zeros(2, 4, dtype=torch.float64), start, 1.0
    for x_t in batch(2, 6, 3).unbind(1):
        product = product * layer.gates(x_t, h)[1].detach()
        h, c = layer.step(x_t, (h.detach(), c))
    assert same(torch.autograd.grad(c.sum(), start)[0], product)


# Traps of PyTorch's layers -----------------------------------------------------------------------------------------

def test_dropout_between_layers_does_nothing_where_there_is_one():
    """`dropout=` with a single layer drops nothing; PyTorch warns and goes on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        single = seeded(lambda: nn.LSTM(5, 4, dropout=0.5, batch_first=True))
    assert any("dropout" in str(warning.message) for warning in caught)
    double = seeded(lambda: nn.LSTM(5, 4, num_layers=2, dropout=0.5, batch_first=True))
    single.train()
    double.train()
    assert torch.equal(single(batch())[0], single(batch())[0])
    assert not same(double(batch())[0], double(batch())[0], 1e-6)


def test_final_states_of_a_bidirectional_layer_stand_at_opposite_ends():
    """The last column of a bidirectional output is no summary: its backward half has read one step."""
    module = seeded(lambda: nn.GRU(5, 4, bidirectional=True, batch_first=True))
    out, h_n = module(batch())
    assert torch.equal(out[:, -1, :4], h_n[0]) and torch.equal(out[:, 0, 4:], h_n[1])
    changed = batch()
    changed[:, :-1] += 1
    assert torch.equal(module(changed)[0][:, -1, 4:], out[:, -1, 4:])  # it saw none of what changed


def test_after_packing_the_backward_half_still_ends_at_index_zero():
    """Where the backward direction ends in a packed batch: at the first step, as without padding."""
    module = seeded(lambda: nn.GRU(5, 4, bidirectional=True, batch_first=True))
    lengths = torch.tensor([7, 3, 5])
    packed = nn.utils.rnn.pack_padded_sequence(batch(), lengths, batch_first=True, enforce_sorted=False)
    out, h_n = module(packed)
    out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    assert torch.equal(out[:, 0, 4:], h_n[1])
    assert torch.equal(out[torch.arange(3), lengths - 1, :4], h_n[0])
    for row, length in enumerate(lengths):
        assert same(module(batch()[row:row + 1, :length])[1][:, 0], h_n[:, row])


# First weights ---------------------------------------------------------------------------------------------------

def test_initial_weights_come_from_the_generator_and_are_pytorchs_distribution():
    a, b = (G.LSTMLayer(8, 64, generator=torch.Generator().manual_seed(s)) for s in (0, 0))
    assert torch.equal(a.W_h, b.W_h) and a.W_h.abs().max() <= 1 / 8
    assert a.W_h.std().item() == pytest.approx(3**-0.5 / 8, rel=0.02)
    assert G.LSTMLayer(8, 64).W_h.abs().max() == 0


# Bad input --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call, name", [
    (lambda: G.LSTMLayer(0, 4), "input_size"), (lambda: G.LSTMLayer(3, 0), "hidden_size"),
    (lambda: G.GRULayer(3, 4, reset="never"), "reset"), (lambda: G.GRULayer(3, 4, update="old"), "update"),
    (lambda: G.LSTMLayer(3, 4)(torch.zeros(2, 0, 3)), "x"), (lambda: G.LSTMLayer(3, 4)(torch.zeros(2, 5, 2)), "x"),
    (lambda: G.LSTMLayer(3, 4)(torch.full((2, 5, 3), math.nan)), "x"), (lambda: G.LSTMLayer(3, 4)(torch.zeros(5, 3)), "x"),
    (lambda: G.LSTMLayer.from_torch(nn.GRU(3, 4)), "module"), (lambda: G.RecurrentLayer.from_torch(nn.RNN(3, 4, nonlinearity="relu")), "module"),
    (lambda: G.LSTMLayer.from_torch(nn.LSTM(3, 4, proj_size=2)), "module"), (lambda: G.GRULayer.from_torch(nn.GRU(3, 4), 1), "layer")])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()
