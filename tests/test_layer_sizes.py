"""Parameters and operations by formula against layers that are built."""

import pytest
from torch import nn

from lessonlib import layer_sizes as S
from lessonlib.gated import GRULayer, LSTMLayer, RecurrentLayer

KINDS = [(nn.RNN, RecurrentLayer), (nn.LSTM, LSTMLayer), (nn.GRU, GRULayer)]


@pytest.mark.parametrize("theirs, ours", KINDS)
@pytest.mark.parametrize("sizes", [(1, 32), (8, 16), (3, 5)])
def test_counts_equal_those_of_pytorch(theirs, ours, sizes):
    kind = theirs.__name__.lower()
    total = lambda module: sum(p.numel() for p in module.parameters())
    assert S.layer_parameters(kind, *sizes) == total(theirs(*sizes)) == total(ours(*sizes))
    assert S.layer_parameters(kind, *sizes, biases=0) == total(theirs(*sizes, bias=False))
    assert S.layer_parameters(kind, *sizes, layers=3, directions=2) == total(theirs(*sizes, num_layers=3, bidirectional=True))
    d, H = sizes
    assert S.step_operations(kind, d, H) == 2 * len(ours.blocks) * H * (H + d)


@pytest.mark.parametrize("call, name", [
    (lambda: S.layer_parameters("mlp", 3, 4), "kind"), (lambda: S.layer_parameters("gru", 3, 0), "hidden_size")])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()
