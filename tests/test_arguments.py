"""Checks of arguments: what is right comes back, what is wrong is named."""

import math

import numpy as np
import pytest
import torch

from lessonlib.arguments import count, finite, finite_array, finite_sequences, positive, square


def test_what_is_right_comes_back():
    x = torch.ones(2, 5, 3)
    assert finite_sequences("x", x, 3) is x
    assert finite("a", [1, 2]).dtype == np.float64 and finite_array("a", [[1, 2]], (None, 2)).tolist() == [[1.0, 2.0]]
    assert square("W", np.zeros((4, 3, 3))).shape == (4, 3, 3)
    assert count("size", np.int64(3)) == 3 and positive("rho", 0.5) == 0.5 and positive("rho", 0.0, or_zero=True) == 0


@pytest.mark.parametrize("call", [
    lambda: finite("given", []), lambda: finite("given", [math.inf]), lambda: finite_array("given", [1.0], (2,)),
    lambda: finite_array("given", [math.nan], (1,)), lambda: finite_array("given", np.zeros((0, 2)), (None, 2)),
    lambda: square("given", np.zeros((2, 3))), lambda: square("given", [1.0]),
    lambda: finite_sequences("given", torch.zeros(5, 3), 3), lambda: finite_sequences("given", torch.zeros(2, 5, 2), 3),
    lambda: finite_sequences("given", torch.zeros(2, 0, 3), 3), lambda: finite_sequences("given", torch.zeros(0, 5, 3), 3),
    lambda: finite_sequences("given", torch.full((2, 5, 3), math.nan), 3),
    lambda: positive("given", 0.0), lambda: positive("given", -1.0, or_zero=True), lambda: positive("given", math.nan),
    lambda: count("given", 0), lambda: count("given", 1.0), lambda: count("given", True)])
def test_what_is_wrong_is_named(call):
    with pytest.raises(ValueError, match=r"^given "):
        call()
