"""The hand-written backward pass against automatic differentiation of PyTorch's own LSTM."""

import pytest
import torch
from torch import nn

from lessonlib.gate_biases import set_forget_bias
from lessonlib.gated import LSTMLayer
from lessonlib.lstm_backward import backward_step, lstm_error_signals

torch.set_num_threads(1)


def problem(batch=3, steps=12, seed=0):
    draw = torch.Generator().manual_seed(seed)
    layer = LSTMLayer(4, 6, generator=draw, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter *= 3                                     # gates away from one half
    normal = lambda *shape: torch.randn(shape, generator=draw, dtype=torch.float64)
    return layer, normal(batch, steps, 4), normal(batch, 6), normal(batch, 6)


def torch_lstm(layer):
    theirs = nn.LSTM(4, 6, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for mine, name in ((layer.W_x, "weight_ih_l0"), (layer.W_h, "weight_hh_l0"), (layer.b_x, "bias_ih_l0"), (layer.b_h, "bias_hh_l0")):
            getattr(theirs, name).copy_(mine)
    return theirs


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 2, 12])
def test_signals_equal_automatic_differentiation(batch, steps):
    layer, x, at_h, at_c = problem(batch, steps)
    theirs, x = torch_lstm(layer), x.requires_grad_()
    for delta_h, delta_c in ((at_h, at_c), (at_h, None), (None, at_c)):
        h_0, c_0 = torch.zeros(2, 1, batch, 6, dtype=torch.float64).requires_grad_().unbind(0)
        _, (h, c) = theirs(x, (h_0, c_0))
        loss = sum((signal * state).sum() for signal, state in ((delta_h, h[0]), (delta_c, c[0])) if signal is not None)
        expected = torch.autograd.grad(loss, [x, c_0])
        found = lstm_error_signals(layer, x, delta_h, delta_c)
        assert torch.allclose(found.inputs, expected[0], atol=1e-13)
        assert torch.allclose(found.cells[:, 0], expected[1][0], atol=1e-13)


def test_one_step_from_any_state():
    layer, x, h, c = problem()
    h, c, x = (part.requires_grad_() for part in (h.clone(), c.clone(), x[:, 0].clone()))
    delta, kappa = torch.randn(2, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    new_h, new_c = layer.step(x, (h, c))
    expected = torch.autograd.grad((delta * new_h).sum() + (kappa * new_c).sum(), [h, c, x])
    for found, truth in zip(backward_step(layer, x, h, c, delta, kappa), expected, strict=True):
        assert torch.allclose(found, truth, atol=1e-13)


def test_the_direct_path_is_the_product_of_the_forget_gates():
    layer, x, _, at_c = problem()
    product, state = at_c.clone(), layer.zero_state(3)
    with torch.no_grad():
        for x_t in x.unbind(1):
            product *= layer.gates(x_t, state[0])[1]
            state = layer.step(x_t, state)
        full = lstm_error_signals(layer, x, delta_c=at_c).cells[:, 0]
    direct = lstm_error_signals(layer, x, delta_c=at_c, through_h=False).cells[:, 0]
    assert torch.allclose(direct, product, atol=1e-14)
    assert (full - direct).abs().max() > 1e-3


def test_the_direct_path_equals_autograd_with_the_hidden_state_detached():
    layer, x, at_h, _ = problem(steps=5)
    x = x.requires_grad_()
    h, c = layer.zero_state(3)
    for x_t in x.unbind(1):
        h, c = layer.step(x_t, (h.detach(), c))
    expected = torch.autograd.grad((h * at_h).sum(), x)[0]
    assert torch.allclose(lstm_error_signals(layer, x, at_h, through_h=False).inputs, expected, atol=1e-13)


def test_without_recurrent_weights_both_paths_agree():
    layer, x, at_h, at_c = problem()
    layer.W_h.data.zero_()
    set_forget_bias(layer, 2.0)
    whole, cut = lstm_error_signals(layer, x, at_h, at_c), lstm_error_signals(layer, x, at_h, at_c, through_h=False)
    for a, b in zip(whole, cut, strict=True):
        assert torch.equal(a, b)


def test_bad_input_is_named():
    layer, x, at_h, _ = problem()
    with pytest.raises(ValueError, match="delta_h and delta_c are both missing"):
        lstm_error_signals(layer, x)
    with pytest.raises(ValueError, match="delta_c has shape"):
        lstm_error_signals(layer, x, at_h, at_h[:2])
    with pytest.raises(ValueError, match="x has shape"):
        lstm_error_signals(layer, x[:, :, :3], at_h)
