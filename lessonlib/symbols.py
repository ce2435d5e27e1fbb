"""Symbols as vectors, and the loss of predicting them.

Dimensions: V is the number of symbols, which are the integers from 0 to V - 1; `...` stands for any leading axes
(batch, steps), none included. Everything is float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def one_hot(indices: ArrayLike, size: int) -> Array:
    """Rows of the identity: shape (...,) of integers below `size` gives (..., size)."""
    indices = np.asarray(indices)
    if indices.size == 0 or indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= size:
        raise ValueError(f"indices must be integers from 0 to {size - 1}, and at least one; given {indices!r:.80}")
    return np.eye(size)[indices]


def cross_entropy(logits: ArrayLike, targets: ArrayLike) -> Array:
    """The loss of each prediction, -ln softmax(logits)[target], in nats.

    Parameters
    ----------
    logits : (..., V)
    targets : (...,)
        Integers from 0 to V - 1.

    Returns
    -------
    (...,)
        Not averaged; take `.mean()` for the mean over steps and batch.
    """
    y = np.asarray(logits, dtype=np.float64)
    k = np.asarray(targets)
    if y.ndim == 0 or y.size == 0 or not np.isfinite(y).all():
        raise ValueError(f"logits has shape {y.shape}; it must be (..., V), not empty, every entry finite")
    if k.shape != y.shape[:-1] or k.dtype.kind not in "iu" or k.min() < 0 or k.max() >= y.shape[-1]:
        raise ValueError(f"targets has shape {k.shape} and type {k.dtype}; it must be integers of shape "
                         f"{y.shape[:-1]}, from 0 to {y.shape[-1] - 1}")
    y = y - y.max(axis=-1, keepdims=True)                 # the largest exponent is 0
    chosen = np.take_along_axis(y, k[..., None], axis=-1)[..., 0]
    return np.log(np.exp(y).sum(axis=-1)) - chosen
