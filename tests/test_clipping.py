"""The loss with a cliff against autograd; clipping against PyTorch, by hand, and for what it must keep."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib import clipping as C

torch.set_num_threads(1)


def test_loss_of_one_unit_agrees_with_autograd():
    w = torch.tensor([0.3, 1.0, 1.25], dtype=torch.float64, requires_grad=True)
    h = torch.ones(3, dtype=torch.float64)
    for _ in range(25):
        h = torch.tanh(w * h - 0.1)
    expected = (h + 0.9) ** 2 / 2
    loss, derivative = C.one_unit_loss(w.detach().numpy(), bias=-0.1, target=-0.9, steps=25)
    assert np.allclose(loss, expected.detach().numpy(), rtol=1e-10)
    assert np.allclose(derivative, torch.autograd.grad(expected.sum(), w)[0].numpy(), rtol=1e-8)


@pytest.mark.parametrize("limit", [0.5, 5.0, 100.0])
def test_clip_by_norm_agrees_with_pytorch(limit):
    vector = np.random.default_rng(0).normal(size=9) * 3
    parameter = torch.nn.Parameter(torch.zeros(9, dtype=torch.float64))
    parameter.grad = torch.tensor(vector)
    torch.nn.utils.clip_grad_norm_([parameter], limit)
    assert np.allclose(C.clip_by_norm(vector, limit), parameter.grad.numpy(), rtol=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.floats(1e-3, 1e3))
def test_clipping_bounds_keeps_direction_and_never_enlarges(values, limit):
    vector = np.array(values)
    clipped = C.clip_by_norm(vector, limit)
    norm = np.linalg.norm(vector)
    assert np.linalg.norm(clipped) <= min(norm, limit) * (1 + 1e-12)
    assert np.allclose(clipped * norm, vector * np.linalg.norm(clipped), atol=1e-9 * (1 + norm**2))
    assert np.abs(C.clip_by_value(vector, limit)).max() <= limit


def test_clipping_by_hand():
    assert C.clip_by_norm([6, 8], 5) == pytest.approx([3, 4])
    assert C.clip_by_value([6, 8], 5) == pytest.approx([5, 5])


@pytest.mark.parametrize("call, name", [
    (lambda: C.one_unit_loss(1.0, bias=0, target=0, steps=0), "steps"),
    (lambda: C.clip_by_norm([1.0], 0), "limit"),
    (lambda: C.clip_by_norm([np.nan], 1), "gradient"),
    (lambda: C.clip_by_value([], 1), "gradient"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
