"""Gate biases set and read back, in PyTorch's layers and in the library's, and what an open gate keeps."""

import math

import pytest
import torch
from torch import nn

from lessonlib import gate_biases as B
from lessonlib.gated import LSTMLayer

torch.set_num_threads(1)


@pytest.mark.parametrize("make", [
    lambda: nn.LSTM(3, 4), lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), lambda: nn.LSTMCell(3, 4),
    lambda: LSTMLayer(3, 4, generator=torch.Generator().manual_seed(0))])
def test_the_two_biases_add_up_to_the_value(make):
    """Two bias vectors add up, so a setter that fills both turns 1 into 2."""
    module = make()
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    B.set_forget_bias(module, 1.0)
    for first, second in B.bias_pairs(module):
        assert torch.equal((first + second)[4:8], torch.ones(4))
    assert torch.equal(B.gate_bias(module, "forget"), torch.ones(len(B.bias_pairs(module)), 4))
    for name, p in module.named_parameters():
        rows = [k for k in range(len(p)) if p.ndim == 2 or not 4 <= k < 8]
        assert torch.equal(p[rows], before[name][rows])  # nothing else moved
    B.set_forget_bias(module, torch.arange(4.0))
    assert torch.equal(B.gate_bias(module, "forget")[-1], torch.arange(4.0))


def test_an_open_forget_gate_keeps_and_a_closed_update_gate_keeps():
    torch.manual_seed(3)
    lstm, gru = nn.LSTM(3, 4, batch_first=True).double(), nn.GRU(3, 4, batch_first=True).double()
    x, c, h = (torch.randn(*shape, dtype=torch.float64) for shape in ((2, 9, 3), (1, 2, 4), (1, 2, 4)))
    B.set_forget_bias(lstm, 50.0)
    B.set_gate_bias(lstm, "input", -50.0)
    assert torch.allclose(lstm(x, (torch.zeros_like(c), c))[1][1], c, rtol=0, atol=1e-12)
    B.set_gate_bias(gru, "update", 50.0)
    assert torch.allclose(gru(x, h)[1], h, rtol=0, atol=1e-12)


@pytest.mark.parametrize("call, name", [
    (lambda: B.set_forget_bias(nn.GRU(3, 4), 1.0), "gate"), (lambda: B.set_gate_bias(nn.LSTM(3, 4), "candidate", 1.0), "gate"),
    (lambda: B.set_forget_bias(nn.LSTM(3, 4), math.inf), "value"), (lambda: B.set_forget_bias(nn.LSTM(3, 4), torch.zeros(3)), "value"),
    (lambda: B.set_forget_bias(nn.LSTM(3, 4, bias=False), 1.0), "module"), (lambda: B.gate_bias(nn.Linear(3, 4), "forget"), "gate")])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()
