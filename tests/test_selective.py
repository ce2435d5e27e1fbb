"""The selective recurrence against the fixed one, against its definition, and for what a step size of zero must do."""

import math

import pytest
import torch

from lessonlib.linear_recurrence import DiagonalRecurrence
from lessonlib.scan import WAYS
from lessonlib.selective import SelectiveRecurrence

REAL = torch.float64


def layer(seed=0, **options):
    return SelectiveRecurrence(4, 3, 6, generator=torch.Generator().manual_seed(seed), dtype=REAL, **options)


def inputs(steps, rows=2, seed=1):
    return torch.randn(rows, steps, 4, generator=torch.Generator().manual_seed(seed), dtype=REAL)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("selective", [True, False])
def test_every_way_is_the_definition(way, selective):
    net, x = layer(selective=selective), inputs(17)
    with torch.no_grad():
        steps = torch.nn.functional.softplus(net.c + (x @ net.w if selective else 0 * x[..., 0]))
        h, outputs = torch.zeros(2, 6, dtype=torch.complex128), []
        for t in range(17):
            a = torch.exp(net.log_eigenvalues() * steps[:, t, None])
            h = a * h + (a - 1) / net.log_eigenvalues() * net.drive(x)[:, t]
            outputs.append(net.read(h, x[:, t]))
        assert torch.allclose(net(x, way=way), torch.stack(outputs, 1), atol=1e-11)
        assert torch.allclose(net.last(x), outputs[-1], atol=1e-11)


def test_it_differs_from_the_fixed_layer_by_the_step_alone():
    net, fixed = layer(), DiagonalRecurrence(4, 3, 6, generator=torch.Generator().manual_seed(0), dtype=REAL)
    shared = dict(net.named_parameters())
    assert all(torch.equal(shared.pop(name), value) for name, value in fixed.named_parameters())
    assert {name: value.numel() for name, value in shared.items()} == {"w": 4, "c": 1}
    with torch.no_grad():
        net.w.zero_()
        a, _ = net.coefficients(inputs(3))
        assert torch.allclose(a, torch.exp(fixed.log_eigenvalues()).expand(2, 3, 6), atol=1e-12)   # Delta = 1 at the start
    assert layer(selective=False).w is None and layer(selective=False)(inputs(5)).shape == (2, 5, 3)


def test_steps_of_no_length_leave_no_trace():
    net, x = layer(), inputs(12)
    with torch.no_grad():
        net.w.zero_()[0] = 1e3                                                # the first input shuts the gate or opens it
        shut = torch.tensor([1, 2, 3, 5, 8])
        x[..., 0] = 0.0
        without = x[:, [t for t in range(12) if t not in shut]]
        x[:, shut, 0] = -1.0
        assert net.steps(x)[:, shut].max() < 1e-100
        assert torch.allclose(net.states(x)[:, -1], net.states(without)[:, -1], atol=1e-12)
        x[:, 8, 0] = 1e-1 * 3                                                  # Delta about 300: all before it is forgotten
        other = x.clone()
        other[:, :8] += 1.0
        net.nu.fill_(0.0)
        assert torch.allclose(net.states(x)[:, 8:], net.states(other)[:, 8:], atol=1e-12)


def test_gradients_reach_the_step_and_agree_between_ways():
    x, found = inputs(15), []
    for way in WAYS:
        net = layer()
        (net(x, way=way)[:, -1] ** 2).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
        assert net.w.grad.abs().min() > 0 and net.c.grad.abs() > 0
    assert all(torch.allclose(g, found[0], rtol=1e-8, atol=1e-10) for g in found)


def test_there_is_no_kernel_and_no_step_for_bad_input():
    with pytest.raises(ValueError, match="no fixed kernel"):
        layer()(inputs(4), way="fft")
    with pytest.raises(ValueError, match="x has"):
        layer()(torch.full((1, 2, 4), math.nan, dtype=REAL))
