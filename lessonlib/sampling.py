"""From logits to symbols: softmax with a temperature, entropy, drawing, and text fed back to its network.

Dimensions: V is the number of symbols; arrays of logits or probabilities are (..., V), and functions work on the
last axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.recurrent import Array, RecurrentNetwork, readout, rnn_step
from lessonlib.symbols import one_hot


def softmax(logits: ArrayLike, temperature: float = 1.0) -> Array:
    """Probabilities proportional to exp(logit / temperature).

    Parameters
    ----------
    logits : (..., V)
    temperature : float
        Positive. Below 1 the distribution sharpens, above 1 it flattens.

    Returns
    -------
    (..., V)
        Non-negative, sums to 1 over the last axis.

    Raises
    ------
    ValueError
        If the temperature is not positive and finite, or the logits are empty or not finite.
    """
    y = np.asarray(logits, dtype=np.float64)
    if y.ndim == 0 or y.size == 0 or not np.isfinite(y).all():
        raise ValueError(f"logits has shape {y.shape}; it must be (..., V), not empty, every entry finite")
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature is {temperature}; it must be positive and finite")
    y = y - y.max(axis=-1, keepdims=True)        # the largest becomes 0, so that no exponential overflows
    with np.errstate(over="ignore"):             # a tiny temperature may send the others to -infinity: weight 0
        weights = np.exp(y / temperature)
    return weights / weights.sum(axis=-1, keepdims=True)


def checked_probabilities(probabilities: ArrayLike) -> Array:
    """Probabilities as float64: finite, non-negative, summing to 1 over the last axis within 1e-6."""
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim == 0 or p.size == 0 or not np.isfinite(p).all() or (p < 0).any():
        raise ValueError(f"probabilities has shape {p.shape}; it must be (..., V), not empty, finite, non-negative")
    if not np.allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-6):
        raise ValueError(f"probabilities sum to {np.ravel(p.sum(axis=-1))[0]:.6g}; they must sum to 1")
    return p


def entropy(probabilities: ArrayLike) -> Array:
    """Shannon's entropy -sum p ln p in nats, of shape (...,); a probability of 0 contributes 0.

    Divide by ln 2 for bits. Between 0 (one symbol certain) and ln V (all equally likely).
    """
    p = checked_probabilities(probabilities)
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1) + 0.0


def sample(probabilities: ArrayLike, rng: np.random.Generator) -> int:
    """Draw one index from a distribution over V symbols.

    A uniform number is compared with the cumulative sums: index k is returned where it falls into the
    k-th interval, whose length is the k-th probability.

    Parameters
    ----------
    probabilities : (V,)
    rng : Generator
        Gives one uniform number for each draw.
    """
    p = checked_probabilities(probabilities)
    if p.ndim != 1:
        raise ValueError(f"probabilities has shape {p.shape}; it must be (V,)")
    edges = np.cumsum(p)
    index = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
    return min(index, int(np.flatnonzero(p)[-1]))  # the product may round up to the last edge


def generate(network: RecurrentNetwork, start: int, n_symbols: int, temperature: float,
             rng: np.random.Generator) -> list[int]:
    """Draw symbols one by one, each fed back as the next input; the state starts at zero.

    Parameters
    ----------
    network : RecurrentNetwork
        As many inputs as outputs: V symbols in, V logits out.
    start : int
        The first input; it is not part of the result.
    n_symbols : int
        How many to draw.

    Returns
    -------
    list of int
        `n_symbols` indices from 0 to V - 1.
    """
    if network.input_size != network.output_size:
        raise ValueError(f"network has {network.input_size} inputs and {network.output_size} outputs; "
                         "they must be equal for the output to be fed back")
    if n_symbols < 1:
        raise ValueError(f"n_symbols is {n_symbols}; it must be at least 1")
    state, symbol, drawn = np.zeros(network.hidden_size), start, []
    for _ in range(n_symbols):
        state = rnn_step(network, state, one_hot(symbol, network.input_size))
        symbol = sample(softmax(readout(network, state), temperature), rng)
        drawn.append(symbol)
    return drawn
