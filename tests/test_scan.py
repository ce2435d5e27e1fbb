"""Linear recurrences by loop, scan and FFT, against a filter of SciPy, a plain loop, autograd and finite differences."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.scan import WAYS, last_state, recur, recur_fft, scan_cost

REAL, COMPLEX = torch.float64, torch.complex128


def draw(shape, dtype=COMPLEX, seed=0, scale=1.0):
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def inside(shape, dtype=COMPLEX, seed=1):
    """Coefficients of modulus below 1, some of them close to it."""
    a = draw(shape, dtype, seed)
    return a / a.abs() * torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=REAL) ** 0.1


def plainly(a, u, h0):
    """The definition, step by step, with the coefficients of every step."""
    states, h = [], h0
    for t in range(u.shape[1]):
        h = a[:, t] * h + u[:, t]
        states.append(h)
    return torch.stack(states, 1)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.sampled_from(WAYS), st.sampled_from([REAL, COMPLEX]), st.sampled_from([1, 3]), st.sampled_from([-2.0, 0.0, 3.0]))
def test_every_way_is_the_definition_at_every_length_and_first_state(steps, way, dtype, rows, start):
    a, u = inside((rows, steps, 2), dtype), draw((3, steps, 2), dtype)
    h0 = torch.full((3, 2), start, dtype=dtype)
    assert torch.allclose(recur(a, u, h0, way=way), plainly(a.expand(3, -1, -1), u, h0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", [*WAYS, "fft"])
@pytest.mark.parametrize("dtype", [REAL, COMPLEX])
@pytest.mark.parametrize("steps", [1, 2, 37, 256])
def test_fixed_coefficients_are_a_filter_of_scipy(way, dtype, steps):
    signal = pytest.importorskip("scipy.signal")
    a, u, h0 = inside((3,), dtype).abs().to(dtype) if dtype == REAL else inside((3,)), draw((2, steps, 3), dtype), draw((2, 3), dtype, 5)
    found = recur_fft(torch.log(a), u, h0) if way == "fft" else recur(a, u, h0, way=way)
    for n in range(3):
        expected, _ = signal.lfilter([1], [1, -a[n].item()], u[:, :, n].numpy(), axis=1, zi=(a[n] * h0[:, n])[:, None].numpy())
        assert np.allclose(found[:, :, n].numpy(), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [1, 2])
def test_the_written_gradient_is_that_of_finite_differences(way, rows):
    a = inside((rows, 7, 2)).requires_grad_()
    u, h0 = draw((2, 7, 2)).requires_grad_(), draw((2, 2), seed=4).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, u, h0: recur(a, u, h0, way=way), (a, u, h0))


@pytest.mark.parametrize("way", [*WAYS, "fft", "last"])
def test_the_gradient_of_a_fixed_coefficient_is_that_of_autograd(way):
    log_a, u = torch.log(inside((3,))).requires_grad_(), draw((2, 33, 3)).requires_grad_()
    weight = draw((2, 33, 3), seed=9)
    weight = weight if way != "last" else torch.cat([torch.zeros_like(weight[:, :-1]), weight[:, -1:]], 1)

    def loss(states):
        return (weight * states).real.sum() + (states.abs() ** 2 * weight.abs()).sum()

    if way == "last":
        h = last_state(log_a, u)
        found = torch.autograd.grad((weight[:, -1] * h).real.sum() + (h.abs() ** 2 * weight[:, -1].abs()).sum(), (log_a, u))
    else:
        found = torch.autograd.grad(loss(recur_fft(log_a, u) if way == "fft" else recur(torch.exp(log_a), u, way=way)), (log_a, u))
    a = torch.exp(log_a).expand(2, 33, 3)
    expected = torch.autograd.grad(loss(plainly(a, u, torch.zeros(2, 3, dtype=COMPLEX))), (log_a, u))
    assert all(torch.allclose(f, e, rtol=1e-9, atol=1e-10) for f, e in zip(found, expected, strict=True))


@pytest.mark.parametrize("way", [*WAYS, "fft"])
def test_a_sequence_may_be_cut_and_no_future_is_seen(way):
    a, u = inside((3,)), draw((2, 50, 3))

    def run(u, h0=None):
        return recur_fft(torch.log(a), u, h0) if way == "fft" else recur(a, u, h0, way=way)

    whole = run(u)
    assert torch.allclose(torch.cat([run(u[:, :19]), run(u[:, 19:], run(u[:, :19])[:, -1])], 1), whole, atol=1e-12)
    later = u.clone()
    later[:, 30:] += 1
    assert torch.allclose(run(later)[:, :30], whole[:, :30], rtol=0, atol=1e-12 if way == "fft" else 0)
    assert torch.allclose(run(u[:1]), whole[:1], rtol=0, atol=1e-13)


def test_the_last_state_is_the_last_of_all_states():
    a, u = inside((4,)), draw((3, 60, 4))
    assert torch.allclose(last_state(torch.log(a), u), recur(a, u)[:, -1], atol=1e-12)


def test_growing_and_vanishing_coefficients_stay_exact():
    u = draw((1, 400, 1), REAL)
    for value in (0.0, 1e-12, 1.0, -1.0, 1.01):
        a = torch.full((1,), value, dtype=REAL)
        expected = plainly(a.expand(1, 400, 1), u, torch.zeros(1, 1, dtype=REAL))
        for way in WAYS:
            assert torch.allclose(recur(a, u, way=way), expected, rtol=1e-11, atol=1e-12)


def counted(way, steps):
    """Joins and rounds of the two scans on a list, counted as they are made."""
    joins, rounds, items = 0, 0, list(range(steps))
    if way == "doubling":
        reach = 1
        while reach < steps:
            joins, rounds, reach = joins + len(items[reach:]), rounds + 1, 2 * reach
        return rounds, joins
    widths = []
    while len(items) > 1:
        widths.append(len(items))
        joins, rounds, items = joins + len(items[1::2]), rounds + 1, items[1::2]
    for width in reversed(widths):
        joins, rounds = joins + len(range(2, width, 2)), rounds + (width > 2)
    return rounds, joins


@given(st.integers(1, 3000), st.sampled_from(["doubling", "tree"]))
def test_costs_are_those_counted(steps, way):
    assert scan_cost(steps, way) == counted(way, steps)


@given(st.integers(1, 10**6))
def test_rounds_grow_as_the_logarithm_and_the_tree_works_in_proportion(steps):
    assert scan_cost(steps, "loop") == (steps - 1, steps - 1)
    assert scan_cost(steps, "doubling")[0] == math.ceil(math.log2(steps))
    rounds, joins = scan_cost(steps, "tree")
    assert rounds <= 2 * math.ceil(math.log2(steps)) and joins <= 2 * steps


@pytest.mark.parametrize("change, name", [
    ({"u": torch.zeros(2, 0, 3)}, "u has"), ({"u": torch.zeros(2, 3)}, "u has"), ({"u": torch.full((2, 4, 3), math.nan)}, "u has"),
    ({"a": torch.zeros(2)}, "a has"), ({"a": torch.zeros(3, 4, 3)}, "a has"), ({"a": torch.full((3,), math.inf)}, "a has"),
    ({"h0": torch.zeros(3)}, "h0 has"), ({"h0": torch.full((2, 3), math.nan)}, "h0 has"), ({"way": "fft"}, "way is"),
])
def test_bad_input_names_the_argument(change, name):
    given = {"a": torch.zeros(3), "u": torch.zeros(2, 4, 3), "h0": None, "way": "loop", **change}
    with pytest.raises(ValueError, match=name):
        recur(given["a"], given["u"], given["h0"], way=given["way"])


@pytest.mark.parametrize("log_a, u, name", [(torch.zeros(2), torch.zeros(2, 4, 3), "a has"), (torch.zeros(3, 1), torch.zeros(2, 4, 3), "log_a"),
                                            (torch.full((3,), -math.inf), torch.zeros(2, 4, 3), "log_a"), (torch.zeros(3), torch.zeros(4, 3), "u has"),
                                            (torch.zeros(3), torch.zeros(2, 0, 3), "u has")])
def test_bad_kernels_name_the_argument(log_a, u, name):
    for run in (recur_fft, last_state):
        with pytest.raises(ValueError, match=name):
            run(log_a, u)


def test_cost_refuses_what_is_no_length_or_way():
    for steps, way, name in ((0, "loop", "steps"), (2.5, "tree", "steps"), (4, "fft", "way")):
        with pytest.raises(ValueError, match=name):
            scan_cost(steps, way)
