"""minGRU and minLSTM: the scan against their steps, against gated layers whose recurrent weights are zero, and by gradient."""

import math

import pytest
import torch
from torch import nn

from lessonlib.min_gated import MinGRU, MinLSTM
from lessonlib.scan import WAYS

REAL = torch.float64
KINDS = [MinGRU, MinLSTM]


def make(kind, seed=0):
    torch.manual_seed(seed)
    return kind(3, 5, dtype=REAL)


def inputs(steps, rows=2, scale=1.0, seed=1):
    return scale * torch.randn(rows, steps, 3, generator=torch.Generator().manual_seed(seed), dtype=REAL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("start", [None, 0.0, 2.0, -2.0])
@pytest.mark.parametrize("steps", [1, 2, 31])
def test_the_scan_is_the_sequence_of_steps_from_a_first_state_of_any_sign(kind, way, start, steps):
    net, x = make(kind), inputs(steps)
    state = None if start is None else torch.full((2, 5), start, dtype=REAL)
    with torch.no_grad():
        states, last = net(x, state, way=way)
        h, expected = torch.zeros(2, 5, dtype=REAL) if state is None else state, []
        for t in range(steps):
            h = net.step(x[:, t], h)
            expected.append(h)
    assert torch.allclose(states, torch.stack(expected, 1), atol=1e-13) and torch.equal(last, states[:, -1])


def test_min_gru_is_a_gru_without_reset_without_recurrent_weights_and_with_an_open_candidate():
    """PyTorch's GRU with zero recurrent weights keeps z = sigmoid(W_z x) of the state; tanh is undone by small weights."""
    net, x, small = make(MinGRU), inputs(12), 1e-4
    gru = nn.GRU(3, 5, batch_first=True, dtype=REAL)
    with torch.no_grad():
        for parameter in gru.parameters():
            parameter.zero_()
        weight_u, weight_n = net.linear.weight.chunk(2)
        bias_u, bias_n = net.linear.bias.chunk(2)
        gru.weight_ih_l0[5:10], gru.bias_ih_l0[5:10] = -weight_u, -bias_u        # PyTorch's gate keeps, the update gate replaces
        gru.weight_ih_l0[10:], gru.bias_ih_l0[10:] = small * weight_n, small * bias_n
        assert torch.allclose(gru(x)[0] / small, net(x)[0], atol=1e-6)


def test_min_lstm_shares_out_one_whole_even_where_both_gates_are_shut():
    net = make(MinLSTM)
    with torch.no_grad():
        a, b = net.coefficients(inputs(9))
        z_f, z_i, n = net.linear(inputs(9)).chunk(3, dim=-1)
        f, i = torch.sigmoid(z_f), torch.sigmoid(z_i)
        assert torch.allclose(a, f / (f + i)) and torch.allclose(b, i / (f + i) * n)
        net.linear.bias[:10] = -2000.0                                            # f = i = 0: 0 / 0 by the book
        a, _ = net.coefficients(inputs(9))
        assert torch.isfinite(a).all() and (a >= 0).all() and (a <= 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_lies_between_the_extremes_of_what_was_written(kind):
    net, x = make(kind), inputs(200, scale=3.0)
    with torch.no_grad():
        candidates = net.linear(x).chunk(len(kind.blocks), dim=-1)[-1]
        states, _ = net(x)
    low, high = candidates.cummin(1).values.clamp(max=0), candidates.cummax(1).values.clamp(min=0)
    assert (states >= low - 1e-12).all() and (states <= high + 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_ways_give_one_gradient_and_it_is_that_of_the_steps(kind):
    x, found = inputs(19), []
    for way in (*WAYS, "steps"):
        net = make(kind)
        if way == "steps":
            h = torch.zeros(2, 5, dtype=REAL)
            for x_t in x.unbind(1):
                h = net.step(x_t, h)
        else:
            h = net(x, way=way)[1]
        (h**2).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
    assert all(torch.allclose(g, found[-1], rtol=1e-9, atol=1e-12) for g in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [torch.zeros(2, 0, 3), torch.zeros(2, 4, 2), torch.zeros(4, 3), torch.full((1, 2, 3), math.nan)])
def test_bad_inputs_are_refused(kind, x):
    with pytest.raises(ValueError, match="x has"):
        kind(3, 5)(x)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_must_be_whole_and_positive(kind):
    for sizes in ((0, 5), (3, 0), (2.5, 5)):
        with pytest.raises(ValueError, match="_size"):
            kind(*sizes)
