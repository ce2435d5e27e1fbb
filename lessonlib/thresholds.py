"""Thresholds from held-out normal data: an order statistic of the scores, with the alarms it gives there counted.

Dimensions: scores as in `lessonlib.monitoring`, shape (N,) or (N, m), larger (or smaller) where more unusual; all
columns count as more data of the same kind. The data must be normal, and the forecaster must not have seen them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count
from lessonlib.monitoring import checked_side, scores


def block_extremes(score: ArrayLike, block: int, *, side: str = "above") -> np.ndarray:
    """Largest (or smallest) score of each block of `block` samples; what does not fill a block at the end is left out.

    Operators take the alarms of a few minutes for one alarm, so a threshold on block extremes holds the count
    that they see; a quantile of the samples themselves holds the share of time in alarm.

    Returns
    -------
    np.ndarray, shape (N // block,) or (N // block, m)
        NaN where a block has no value yet.
    """
    score, block = scores("score", score), count("block", block)
    blocks = len(score) // block
    if blocks == 0:
        raise ValueError(f"block is {block} and score has {len(score)} samples; use a shorter block or a longer record")
    cut = score[:blocks * block].reshape(blocks, block, *score.shape[1:])
    none, best = (-np.inf, np.max) if checked_side(side) == "above" else (np.inf, np.min)
    extremes = best(np.where(np.isnan(cut), none, cut), axis=1)
    return np.where(np.isinf(extremes), np.nan, extremes)


def held_out_threshold(score: ArrayLike, rate: float, *, side: str = "above") -> float:
    """The threshold that at most a share `rate` of the held-out scores lie beyond, strictly.

    An order statistic of the scores: with N of them and c the whole part of rate N, exactly c lie beyond it, unless there
    are ties. The rate in service scatters about that one by about 1 / sqrt(c) of it, and more where exceedances cluster.

    Raises
    ------
    ValueError
        If `rate` is not between 0 and 1, or the record is too short to show it: fewer than 1 / rate scores.
    """
    values = scores("score", score)
    values = np.sort(values[~np.isnan(values)])
    if not 0 < rate < 1:
        raise ValueError(f"rate is {rate}; it must lie between 0 and 1, as a share of samples (or of blocks)")
    allowed = int(rate * len(values) * (1 + 1e-12))
    if allowed < 1:
        raise ValueError(f"rate is {rate:g} and score has {len(values)} values; fewer than 1 / rate cannot show that rate: "
                         "hold out a longer record, or accept more alarms")
    return float(values[-1 - allowed] if checked_side(side) == "above" else values[allowed])


def margin_threshold(score: ArrayLike, factor: float, *, side: str = "above") -> float:
    """A factor times the largest (or smallest) held-out score: a rule for records too short to show a rate.

    Parameters
    ----------
    factor : float
        At least 1 where the side is `above`, above 0 and at most 1 where it is `below`.
    """
    values = scores("score", score)
    if not (factor >= 1 if checked_side(side) == "above" else 0 < factor <= 1) or not np.isfinite(factor):
        raise ValueError(f"factor is {factor}; it must be at least 1 for a threshold above, from 0 to 1 for one below")
    return float(factor * (np.nanmax(values) if side == "above" else np.nanmin(values)))
