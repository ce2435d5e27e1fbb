"""Digit strings and their reversals: the draw, the marks, the padding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lessonlib.digit_strings import BOS, EOS, PAD, draw_strings, reversal


def test_the_example_of_the_protocol():
    """Three strings drawn from seed 0: the first digits of each, and what the decoder reads and must answer."""
    strings = draw_strings(3, 3, 12, rng=np.random.default_rng(0))
    assert strings.lengths.tolist() == [11, 9, 8]
    assert strings.source[1].tolist() == [9, 7, 6, 5, 5, 9, 2, 8, 6, PAD, PAD, PAD]
    assert strings.inputs[2].tolist() == [BOS, 8, 7, 7, 0, 5, 8, 3, 0, PAD, PAD, PAD, PAD]
    assert strings.targets[0].tolist() == [6, 5, 9, 6, 8, 1, 0, 0, 0, 3, 2, EOS, PAD]


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 5), st.integers(0, 4), st.integers(0, 99))
def test_every_row_holds_its_string_backwards(rows, shortest, more, wider, seed):
    longest = shortest + more
    strings = draw_strings(rows, shortest, longest, rng=np.random.default_rng(seed), width=longest + wider)
    assert strings.source.shape == (rows, longest + wider) and strings.inputs.shape == strings.targets.shape == (rows, longest + wider + 1)
    for source, n, read, wanted, real in zip(*strings[:1], strings.lengths.tolist(), *strings[2:], strings.real, strict=True):
        digits = source[:n].tolist()
        assert shortest <= n <= longest and max(digits) <= 9 and (source[n:] == PAD).all()
        assert wanted.tolist() == digits[::-1] + [EOS] + [PAD] * (longest + wider - n)
        assert read.tolist() == [BOS] + digits[::-1] + [PAD] * (longest + wider - n)
        assert real.tolist() == [True] * (n + 1) + [False] * (longest + wider - n)


def test_all_lengths_and_digits_occur_about_equally_often():
    strings = draw_strings(4000, 3, 12, rng=np.random.default_rng(5))
    assert ((strings.lengths.bincount()[3:] - 400).abs() < 80).all()
    digits = strings.source[strings.source != PAD]
    assert ((digits.bincount() / len(digits) - 0.1).abs() < 0.01).all()


def test_narrowed_cuts_columns_of_padding_only():
    wide = reversal([[1, 2, 3], [4]], width=7)
    for ours, told in zip(wide.narrowed(3), reversal([[1, 2, 3], [4]]), strict=True):
        assert torch.equal(ours, told)


@pytest.mark.parametrize("name, call", [
    ("digits", lambda: reversal([])), ("digits", lambda: reversal([[1], []])), ("digits", lambda: reversal([[1, 10]])),
    ("digits", lambda: reversal([[-1]])), ("width", lambda: reversal([[1, 2]], width=1)), ("width", lambda: reversal([[1, 2]]).narrowed(1)),
    ("width", lambda: reversal([[1, 2]]).narrowed(3)), ("rows", lambda: draw_strings(0, 1, 2, rng=np.random.default_rng(0))),
    ("shortest", lambda: draw_strings(1, 0, 2, rng=np.random.default_rng(0))), ("longest", lambda: draw_strings(1, 3, 2, rng=np.random.default_rng(0))),
    ("width", lambda: draw_strings(1, 1, 4, rng=np.random.default_rng(0), width=3))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
