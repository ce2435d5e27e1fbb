"""Checks of arguments: each gives back what it was given, or raises a ValueError that names the argument.

Dimensions: H is the width of a square matrix, B the number of sequences, T their length; `...` stands for any leading
axes. The message says what was given and what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from torch import Tensor


def finite(name: str, value: ArrayLike) -> np.ndarray:
    """A float64 array without NaN or infinity, or a ValueError that names the argument."""
    array = np.asarray(value, dtype=float)
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} has shape {array.shape}, or holds NaN or infinity; it must be finite and not empty")
    return array


def finite_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """An array in float64, checked: its shape (`None` allows any size of at least 1), no NaN, no infinity.

    Raises
    ------
    ValueError
        Names the argument, what was given and what is allowed.
    """
    array = np.asarray(value, dtype=np.float64)
    wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
    fits = array.ndim == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
    if not fits or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; it must be {wanted} and not empty")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite")
    return array


def square(name: str, value: ArrayLike) -> np.ndarray:
    """A finite float64 array of shape (..., H, H), or a ValueError that names the argument."""
    array = finite(name, value)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{name} has shape {array.shape}; it must be (..., H, H)")
    return array


def finite_sequences(name: str, value: Tensor, width: int) -> Tensor:
    """Finite inputs (B, T, width) with B and T at least 1, or a ValueError that names the argument."""
    if value.ndim != 3 or value.shape[2] != width or value.numel() == 0 or not value.isfinite().all():
        raise ValueError(f"{name} has shape {tuple(value.shape)}, or holds NaN or infinity; it must be finite, "
                         f"(B, T, {width}), with B and T at least 1")
    return value


def positive(name: str, value: float, *, or_zero: bool = False) -> float:
    """A finite number above 0 (or from 0 on), or a ValueError that names the argument."""
    if not np.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        raise ValueError(f"{name} is {value}; it must be finite and {'0 or above' if or_zero else 'above 0'}")
    return value


def count(name: str, value: int) -> int:
    """A whole number of at least 1, or a ValueError that names the argument."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)
