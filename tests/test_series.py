"""Series are checked with a message that says what to do; gaps are filled from the past."""

import numpy as np
import pandas as pd
import pytest
import torch

from lessonlib.series import fill_forward, numbers, paired, whole


@pytest.mark.parametrize("bad", [[], [[]], np.nan, [1, np.nan], [1, np.inf], [["a"]], [[1, 2], [3]], None, np.zeros((2, 2, 2)), np.zeros((0, 2))])
def test_what_is_no_series_raises(bad):
    with pytest.raises(ValueError):
        numbers("series", bad)


def test_the_message_names_the_argument_and_the_remedy():
    with pytest.raises(ValueError, match="series holds 2 values that are NaN or infinite; fill them from the past"):
        numbers("series", [1, np.nan, np.inf])
    with pytest.raises(ValueError, match=r"actual has shape \(3,\) and forecast \(3, 1\); reshape"):
        paired([1, 2, 3], [[1], [2], [3]])
    with pytest.raises(ValueError, match=r"season is 0; it must be a whole number, at least 1; name one"):
        whole("season", 0, remedy="name one")


def test_a_tensor_with_a_gradient_is_read():
    assert numbers("x", torch.ones(3, requires_grad=True)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("bad", [0, -1, 1.0, True, "1", None, 11])
def test_whole_numbers(bad):
    assert whole("n", np.int64(10), 1, 10) == 10
    with pytest.raises(ValueError, match="n is "):
        whole("n", bad, 1, 10)


@pytest.mark.parametrize("shape", [(200,), (200, 3)])
def test_fill_forward_equals_pandas(shape):
    rng = np.random.default_rng(1)
    series = rng.standard_normal(shape)
    series[rng.random(shape) < 0.4] = np.nan
    series[0] = 5.0
    np.testing.assert_array_equal(fill_forward(series), pd.DataFrame(series).ffill().to_numpy().reshape(shape))


def test_fill_forward_uses_nothing_later():
    series = np.array([1, np.nan, 3, np.nan, np.nan, 6])
    cut = fill_forward(series[:5])
    np.testing.assert_array_equal(fill_forward(series)[:5], cut)


@pytest.mark.parametrize("bad", [[np.nan, 1], [], [1, np.inf], np.zeros((2, 2, 2)), 3.0, [[1, np.nan], [2, 3]]])
def test_fill_forward_refuses(bad):
    with pytest.raises(ValueError, match="series"):
        fill_forward(bad)
