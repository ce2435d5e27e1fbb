"""What a gate that is held at one value keeps: half-life, time constants, and the bias for a given span.

Dimensions: none; every function works entry by entry on an array of any shape. Half-lives, time constants and spans are
in steps; `keep` is the share kept at one step. Everything is float64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import finite


def sigmoid(a: ArrayLike) -> np.ndarray:
    """The logistic function 1 / (1 + exp(-a)): the value of a gate whose bias is `a` and whose weights are zero."""
    return 1 / (1 + np.exp(-finite("a", a)))


def kept_share(keep: ArrayLike) -> np.ndarray:
    """Shares between 0 and 1, both excluded, or a ValueError."""
    keep = finite("keep", keep)
    if not ((keep > 0) & (keep < 1)).all():
        raise ValueError(f"keep is {keep}; the share kept at a step must lie between 0 and 1, both excluded")
    return keep


def half_life(keep: ArrayLike) -> np.ndarray:
    """Steps after which half is left, where each step keeps the share `keep`: ln 0.5 / ln keep."""
    return math.log(0.5) / np.log(kept_share(keep))


def time_constant(keep: ArrayLike) -> np.ndarray:
    """1 / (1 - keep) steps, the sum of the weights keep^n: for a forget bias b it is 1 + exp(b)."""
    return 1 / (1 - kept_share(keep))


def decay_constant(keep: ArrayLike) -> np.ndarray:
    """Steps after which 1/e is left, -1 / ln keep: the time constant of a first-order filter, in samples."""
    return -1 / np.log(kept_share(keep))


def chrono_bias(span: ArrayLike) -> np.ndarray:
    """Forget bias ln(span - 1), whose time constant is `span` steps (Tallec and Ollivier 2018)."""
    span = finite("span", span)
    if not (span > 1).all():
        raise ValueError(f"span is {span}; it must be above 1 step")
    return np.log(span - 1)
