"""The diagonal layer and the rules that cut time into steps, against dense powers, the matrix exponential and closed forms."""

import math

import pytest
import torch

from lessonlib.linear_recurrence import RULES, DiagonalRecurrence, discretise, expm1
from lessonlib.scan import WAYS

REAL, COMPLEX = torch.float64, torch.complex128


def layer(seed=0, dtype=REAL, **options):
    return DiagonalRecurrence(4, 3, 8, generator=torch.Generator().manual_seed(seed), dtype=dtype, **options)


def inputs(steps, rows=2, seed=1):
    return torch.randn(rows, steps, 4, generator=torch.Generator().manual_seed(seed), dtype=REAL)


def by_dense_kernel(net, x):
    """Outputs from the kernel Re(C Lambda^k Gamma B), every power taken of a dense matrix."""
    A = torch.diag(torch.exp(net.log_eigenvalues()))
    gamma = torch.sqrt(1 - net.moduli() ** 2)
    B, C = torch.complex(net.B_real, net.B_imag) * gamma[:, None], torch.complex(net.C_real, net.C_imag)
    kernel = [(C @ torch.linalg.matrix_power(A, k) @ B).real for k in range(x.shape[1])]
    return torch.stack([sum(x[:, t - k] @ kernel[k].T for k in range(t + 1)) + x[:, t] @ net.D.T for t in range(x.shape[1])], 1)


@pytest.mark.parametrize("way", [*WAYS, "fft"])
@pytest.mark.parametrize("steps", [1, 2, 23])
def test_every_way_convolves_with_the_powers_of_the_matrix(way, steps):
    net, x = layer(), inputs(steps)
    with torch.no_grad():
        expected = by_dense_kernel(net, x)
        assert torch.allclose(net(x, way=way), expected, atol=1e-12)
        assert torch.allclose(net.last(x), expected[:, -1], atol=1e-12)
        assert torch.allclose(net(x[:1], way=way), expected[:1], atol=1e-12)


def test_all_ways_train_alike():
    x, gradients = inputs(20), []
    for way in (*WAYS, "fft", "last"):
        net = layer()
        out = net.last(x) if way == "last" else net(x, way=way)[:, -1]
        (out**2).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
    assert gradients[0].abs().min() > 0
    assert all(torch.allclose(g, gradients[0], rtol=1e-8, atol=1e-10) for g in gradients[1:])


def test_the_start_lies_on_the_ring_and_repeats():
    net = DiagonalRecurrence(1, 1, 4000, ring=(0.5, 0.8), max_phase=0.3, generator=torch.Generator().manual_seed(3), dtype=REAL)
    moduli, phases = net.moduli(), torch.exp(net.theta)
    assert 0.5 <= moduli.min() and moduli.max() <= 0.8 and 0 <= phases.min() and phases.max() <= 0.3
    assert abs((moduli**2).mean().item() - (0.25 + 0.64) / 2) < 0.005      # uniform in the square
    assert torch.equal(layer(seed=3).nu, layer(seed=3).nu) and not torch.equal(layer(seed=3).nu, layer(seed=4).nu)


def test_no_parameter_reaches_the_unit_circle_in_double_precision():
    net = layer()
    for value in torch.linspace(-30, 4, 69):
        with torch.no_grad():
            net.nu.fill_(value)
        assert 0 <= net.moduli().max() < 1 and torch.exp(net.log_eigenvalues()).abs().max() <= 1


def test_the_state_has_the_variance_of_its_input():
    net = DiagonalRecurrence(1, 1, 30, ring=(0.5, 0.95), generator=torch.Generator().manual_seed(0), dtype=REAL)
    with torch.no_grad():
        net.B_real.fill_(0.6), net.B_imag.fill_(0.8)
        x = torch.randn(1, 40_000, 1, generator=torch.Generator().manual_seed(1), dtype=REAL)
        states = net.states(x, way="tree")[0, 1000:]
    assert torch.allclose((states.abs() ** 2).mean(0), torch.ones(30, dtype=REAL), atol=0.1)


@pytest.mark.parametrize("options, name", [({"ring": (0.9, 1.0)}, "ring"), ({"ring": (0.0, 0.9)}, "ring"), ({"ring": (0.9, 0.8)}, "ring"),
                                           ({"max_phase": 0.0}, "max_phase"), ({"max_phase": 4.0}, "max_phase")])
def test_a_bad_start_names_the_argument(options, name):
    with pytest.raises(ValueError, match=name):
        layer(**options)


@pytest.mark.parametrize("x", [torch.zeros(2, 0, 4), torch.zeros(2, 5, 3), torch.zeros(5, 4), torch.full((1, 2, 4), math.nan)])
def test_bad_inputs_are_refused(x):
    with pytest.raises(ValueError, match="x has"):
        layer(dtype=torch.float32)(x)


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match="way is"):
        layer()(inputs(3), way="guess")


# Continuous time ------------------------------------------------------------------------------------------------

RATES = torch.tensor([-0.5 + 0j, -0.01 + 2j, 0.3 - 1j, -40 + 0j, 3j], dtype=COMPLEX)


@pytest.mark.parametrize("step", [0.0, 1e-6, 0.1, 1.0, 5.0])
def test_the_held_rule_is_the_matrix_exponential(step):
    a, b = discretise(RATES, step)
    for rate, a_n, b_n in zip(RATES, a, b, strict=True):
        joint = torch.zeros(2, 2, dtype=COMPLEX)
        joint[0] = torch.tensor([rate, 1.0])                     # d/dt (h, x) with x held
        exact = torch.linalg.matrix_exp(joint * step)
        assert torch.allclose(torch.stack([a_n, b_n]), exact[0], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rule, order", [("simplified", 2), ("euler", 2), ("bilinear", 3)])
def test_the_other_rules_miss_it_by_a_power_of_the_step(rule, order):
    def gap(step):
        approximate, exact = discretise(RATES[:3], step, rule), discretise(RATES[:3], step)
        return max((x - y).abs().max().item() for x, y in zip(approximate, exact, strict=True))
    assert abs(math.log2(gap(2e-3) / gap(1e-3)) - order) < 0.02


def test_real_rates_agree_with_complex_ones_and_steps_broadcast():
    rates, steps = torch.tensor([-0.5, -2.0], dtype=REAL), torch.rand(3, 5, 1, dtype=REAL)
    for rule in RULES:
        real, complex_ = discretise(rates, steps, rule), discretise(rates.to(COMPLEX), steps, rule)
        for x, y in zip(real, complex_, strict=True):
            assert x.shape == (3, 5, 2) and not x.is_complex() and torch.allclose(x.to(COMPLEX), y, atol=1e-14)


def test_expm1_keeps_its_digits_near_zero():
    z = torch.tensor([1e-12 + 1e-12j, -1e-9 + 3e-10j, 0.5 - 2j], dtype=COMPLEX)
    series = z + z**2 / 2 + z**3 / 6
    assert torch.allclose(expm1(z)[:2], series[:2], rtol=1e-14, atol=0)
    assert torch.allclose(expm1(z)[2], torch.exp(z[2]) - 1, rtol=1e-14)
    assert torch.autograd.gradcheck(expm1, z.requires_grad_())


@pytest.mark.parametrize("rate, step, rule, name", [
    (torch.tensor([0.0]), 0.1, "hold", "rate"), (torch.tensor([math.nan]), 0.1, "hold", "rate"), (torch.zeros(0), 0.1, "hold", "rate"),
    (torch.tensor([-1.0]), -0.1, "hold", "step"), (torch.tensor([-1.0]), math.inf, "hold", "step"), (torch.tensor([-1.0]), 0.1, "exact", "rule")])
def test_bad_rates_steps_and_rules_are_refused(rate, step, rule, name):
    with pytest.raises(ValueError, match=name):
        discretise(rate, step, rule)
