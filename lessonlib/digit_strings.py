"""Strings of digits and the same strings backwards: a task for an encoder and a decoder.

Dimensions: N strings, S columns of a source (its width), T' = S + 1 columns of a decoder's input and of a target.
A source holds the digits; a decoder reads `BOS` and the digits backwards, and must answer with the digits
backwards and `EOS`. What is left of a row is `PAD`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lessonlib.arguments import count

DIGITS = 10
PAD, BOS, EOS = 10, 11, 12  # padding, begin of sequence, end of sequence
VOCABULARY = 13


class Strings(NamedTuple):
    """A batch of strings and their reversals, padded.

    Attributes
    ----------
    source : Tensor, shape (N, S), int64
        The digits of each string, then `PAD`.
    lengths : Tensor, shape (N,), int64
        Digits in each string.
    inputs, targets : Tensor, shape (N, S + 1), int64
        Decoder input `BOS` + reversed digits, and target reversed digits + `EOS`, both then `PAD`.
    """

    source: Tensor
    lengths: Tensor
    inputs: Tensor
    targets: Tensor

    @property
    def real(self) -> Tensor:
        """Which target positions count, shape (N, S + 1), bool: the digits and the `EOS` after them."""
        return self.targets != PAD

    def narrowed(self, width: int) -> Strings:
        """The same strings in `width` source columns, which must hold the longest of them."""
        longest = int(self.lengths.max())
        if not longest <= width <= self.source.shape[1]:
            raise ValueError(f"width is {width}; it must be from {longest}, the longest string, to {self.source.shape[1]}")
        return Strings(self.source[:, :width], self.lengths, self.inputs[:, :width + 1], self.targets[:, :width + 1])


def reversal(digits: list[list[int]], width: int | None = None) -> Strings:
    """The batch that holds the given strings, in this order.

    Parameters
    ----------
    digits : list of list of int
        One or more strings of one or more digits.
    width : int, optional
        Columns of the source, at least the length of the longest string, which is the default.
    """
    if not digits or any(not row or min(row) < 0 or max(row) >= DIGITS for row in digits):
        raise ValueError(f"digits is {str(digits)[:60]}; it must hold one or more strings of digits from 0 to 9")
    lengths = np.array([len(row) for row in digits])
    width = int(lengths.max()) if width is None else width
    if width < lengths.max():
        raise ValueError(f"width is {width}; the longest string has {int(lengths.max())} digits")
    return _laid_out(np.concatenate(digits), lengths, width)


def _laid_out(digits: np.ndarray, lengths: np.ndarray, width: int) -> Strings:
    """The batch of strings whose digits stand one after the other in `digits`."""
    place = np.arange(width)
    there = place < lengths[:, None]                                           # (N, S)
    source = np.full((len(lengths), width), PAD)
    source[there] = digits
    turned = np.where(there, np.take_along_axis(source, np.where(there, lengths[:, None] - 1 - place, 0), 1), PAD)
    inputs, targets = np.pad(turned, ((0, 0), (1, 0)), constant_values=BOS), np.pad(turned, ((0, 0), (0, 1)), constant_values=PAD)
    targets[np.arange(len(lengths)), lengths] = EOS
    return Strings(*map(torch.from_numpy, (source, lengths, inputs, targets)))


def draw_strings(rows: int, shortest: int, longest: int, *, rng: np.random.Generator, width: int | None = None) -> Strings:
    """Random strings: the lengths, uniform from `shortest` to `longest`, and then the digits of one string after the other.

    Parameters
    ----------
    rows, shortest, longest : int
        Number of strings, and the range of their lengths, both ends included.
    rng : np.random.Generator
    width : int, optional
        Columns of the source; `longest` where it is not given.

    Raises
    ------
    ValueError
        If a number is below 1, `longest` below `shortest`, or `width` below `longest`.
    """
    count("rows", rows)
    if not 1 <= shortest <= longest:
        raise ValueError(f"shortest is {shortest} and longest {longest}; they must be at least 1, longest not below shortest")
    width = longest if width is None else width
    if width < longest:
        raise ValueError(f"width is {width}; it must be at least longest, {longest}")
    lengths = rng.integers(shortest, longest + 1, size=rows)
    return _laid_out(rng.integers(0, DIGITS, size=lengths.sum()), lengths, width)
