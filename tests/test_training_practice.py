"""What the chapter on training in practice says of PyTorch, and what the book's networks must keep."""

import pytest
import torch
from torch import nn

from lessonlib.gate_biases import gate_bias, set_forget_bias
from lessonlib.probes import MIXERS, MixingProbe
from lessonlib.racers import GRURacer, build_with_seed


def test_an_initialisation_written_into_a_normalised_weight_is_lost():
    """Init under weight normalisation was overwritten at the first forward; assigned, it is kept."""
    torch.manual_seed(0)
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(64, 64))
    with torch.no_grad():
        nn.init.normal_(layer.weight, std=0.01)
        layer(torch.zeros(1, 64))
        assert layer.weight.std() > 0.03
        layer.weight = nn.init.normal_(torch.empty(64, 64), std=0.01)
        layer(torch.zeros(1, 64))
        assert layer.weight.std().item() == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("build, run", [
    (lambda: GRURacer(12, 8), lambda network: network(torch.ones(2, 5, dtype=torch.long))),
    *((lambda kind=kind: MixingProbe(kind, 0), lambda network: network.logits(torch.ones(2, 5, 64))) for kind in MIXERS)])
def test_networks_of_the_book_keep_their_weights_through_a_forward_pass(build, run):
    """The same fault for the book's own networks: after one forward pass the weights are those that were declared."""
    network = build_with_seed(build, 0)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    run(network)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_a_forget_bias_survives_a_forward_pass():
    layer = nn.LSTM(2, 3)
    set_forget_bias(layer, 1.5)
    layer(torch.zeros(4, 1, 2))
    assert torch.allclose(gate_bias(layer, "forget"), torch.full((1, 3), 1.5))
