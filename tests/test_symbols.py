"""One-hot vectors by hand, and the cross-entropy against PyTorch."""

import numpy as np
import pytest
import torch

from lessonlib.symbols import cross_entropy, one_hot


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(5,), (1, 5), (2, 3, 5), (4, 1, 2)])
def test_cross_entropy_equals_torch(rng, shape):
    logits = rng.normal(size=shape) * 5
    targets = rng.integers(0, shape[-1], size=shape[:-1])
    flat = torch.as_tensor(logits).reshape(-1, shape[-1]), torch.as_tensor(targets).reshape(-1)
    theirs = torch.nn.functional.cross_entropy(*flat, reduction="none").reshape(shape[:-1])
    np.testing.assert_allclose(cross_entropy(logits, targets), theirs.numpy(), rtol=0, atol=1e-12)


def test_cross_entropy_of_extremes():
    assert abs(float(cross_entropy(np.zeros(37), 4)) - np.log(37)) < 1e-14
    assert float(cross_entropy([0.0, 2000.0], 0)) == 2000.0  # no overflow
    assert float(cross_entropy([0.0, 2000.0], 1)) == 0.0
    shifted = cross_entropy(np.array([1.0, 2.0, 3.0]) + 500, 1)
    np.testing.assert_allclose(shifted, cross_entropy([1.0, 2.0, 3.0], 1), atol=1e-12)


def test_one_hot():
    assert one_hot([2, 0], 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot(1, 2).tolist() == [0, 1]
    assert one_hot([[1], [0]], 2).shape == (2, 1, 2)


def test_bad_arguments():
    for bad in ([3], [-1], [0.5], []):
        with pytest.raises(ValueError, match="indices"):
            one_hot(bad, 3)
    for bad in (np.zeros((2, 0)), np.array([np.nan, 1.0]), np.array(1.0)):
        with pytest.raises(ValueError, match="logits"):
            cross_entropy(bad, np.zeros(bad.shape[:-1], dtype=int))
    for bad in ([0, 3], [-1, 0], [0.0, 1.0], [0], [[0, 1]]):
        with pytest.raises(ValueError, match="targets"):
            cross_entropy(np.zeros((2, 3)), bad)
