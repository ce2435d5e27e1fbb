"""Series of measurements: checks that name the remedy, and gaps filled from the past.

Dimensions: N samples in time, C channels. A series has shape (N,) or (N, C); everything is float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Array = np.ndarray


def plain_array(value: Any) -> Array:
    """A float64 array of what was given; a tensor may still carry a gradient."""
    try:
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value, dtype=float)
    except (TypeError, ValueError) as fault:
        raise ValueError(f"a {type(value).__name__} does not hold numbers in rows of one length; give numbers, "
                         "with NaN where one is missing") from fault


def numbers(name: str, value: ArrayLike, axes: tuple[int, ...] = (1, 2)) -> Array:
    """A finite float64 array with one of the allowed numbers of axes, or a ValueError that says what to do.

    Parameters
    ----------
    name : str
        Of the argument, for the message.
    value : array_like
        NumPy array, PyTorch tensor or list.
    axes : tuple of int
        The allowed numbers of axes.
    """
    array = plain_array(value)
    if array.ndim not in axes or array.size == 0:
        allowed = " or ".join(str(n) for n in axes)
        raise ValueError(f"{name} has shape {array.shape}; it must have {allowed} axes and at least one number")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds {int((~np.isfinite(array)).sum())} values that are NaN or infinite; fill them from the "
                         "past (fill_forward) or leave out the windows that hold them")
    return array


def paired(actual: ArrayLike, other: ArrayLike, name: str = "forecast", first: str = "actual") -> tuple[Array, Array]:
    """Two finite arrays of one shape; NumPy would stretch (n,) against (n, 1) to (n, n) without a word.

    Raises
    ------
    ValueError
        If one is empty or not finite, or the shapes differ.
    """
    axes = tuple(range(1, 9))
    a, b = numbers(first, actual, axes), numbers(name, other, axes)
    if a.shape != b.shape:
        raise ValueError(f"{first} has shape {a.shape} and {name} {b.shape}; reshape one so that they are equal")
    return a, b


def whole(name: str, value: int, least: int = 1, most: int | None = None, remedy: str = "") -> int:
    """A whole number from `least` to `most`, or a ValueError that names the argument and the remedy."""
    right_kind = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not right_kind or value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"from {least} to {most}" if most >= least else "smaller"
        raise ValueError(f"{name} is {value!r}; it must be a whole number, {allowed}" + (f"; {remedy}" if remedy else ""))
    return int(value)


def fill_forward(series: ArrayLike) -> Array:
    """Fill each gap (NaN) with the last value before it, channel by channel.

    What stands in a gap afterwards was known at that time. A line drawn across the gap was not: it uses the
    value behind it.

    Parameters
    ----------
    series : array_like, shape (N,) or (N, C)

    Returns
    -------
    np.ndarray, of the same shape

    Raises
    ------
    ValueError
        If a channel starts with a gap or a value is infinite.
    """
    array = plain_array(series)
    if array.ndim not in (1, 2) or array.size == 0 or np.isinf(array).any():
        raise ValueError(f"series has shape {array.shape}, or holds infinity; it must be (N,) or (N, C) with NaN for the gaps only")
    missing = np.isnan(array)
    if missing[0].any():
        raise ValueError("series starts with a gap, which has no past to be filled from; cut the series at its first value")
    steps = np.arange(len(array)).reshape((-1,) + (1,) * (array.ndim - 1))
    source = np.maximum.accumulate(np.where(missing, 0, steps), axis=0)
    return np.take_along_axis(array, source, axis=0)
