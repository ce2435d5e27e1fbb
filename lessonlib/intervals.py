"""Forecasts with an interval: Gaussian and quantile heads, their losses, and calibration on held-out data.

Dimensions: B rows in a batch, H width of the state, h steps ahead, Q quantile levels, n forecasts.
Heads and losses are PyTorch, intervals and calibration NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.series import Array, numbers, paired, whole


class GaussianHead(nn.Module):
    """Mean and variance of each horizon from a state (B, H).

    Parameters
    ----------
    hidden_size, horizon : int
        H and h.
    least : float
        Added to the variance, so that one point forecast too well cannot run the likelihood away.
    """

    def __init__(self, hidden_size: int, horizon: int = 1, least: float = 1e-4) -> None:
        super().__init__()
        self.linear = nn.Linear(whole("hidden_size", hidden_size), 2 * whole("horizon", horizon))
        self.least = least

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance, each (B, h)."""
        mean, raw = self.linear(state).chunk(2, dim=-1)
        return mean, F.softplus(raw) + self.least


class QuantileHead(nn.Module):
    """Quantiles of each horizon from a state (B, H); they cannot cross, since each adds a positive step to the one below.

    Parameters
    ----------
    levels : sequence of float
        Rising, between 0 and 1.
    """

    def __init__(self, hidden_size: int, levels: Sequence[float], horizon: int = 1) -> None:
        super().__init__()
        self.levels = checked_levels(levels)
        self.horizon = whole("horizon", horizon)
        self.linear = nn.Linear(whole("hidden_size", hidden_size), len(self.levels) * horizon)

    def forward(self, state: Tensor) -> Tensor:
        """Quantiles (B, h, Q), rising along the last axis."""
        raw = self.linear(state).unflatten(-1, (self.horizon, len(self.levels)))
        return torch.cat([raw[..., :1], F.softplus(raw[..., 1:])], dim=-1).cumsum(-1)


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Quantile levels that rise and lie between 0 and 1."""
    made = tuple(float(level) for level in levels)
    if not made or not all(0 < level < 1 for level in made) or list(made) != sorted(set(made)):
        raise ValueError(f"levels is {list(levels)}; it must hold one or more levels between 0 and 1 that rise")
    return made


def gaussian_nll(mean: Tensor, variance: Tensor, actual: Tensor) -> Tensor:
    """Mean of ln(variance) / 2 + (actual - mean)^2 / (2 variance), in nats, without the constant ln(2 pi) / 2."""
    if not mean.shape == variance.shape == actual.shape or not actual.numel():
        raise ValueError(f"mean, variance and actual have shapes {tuple(mean.shape)}, {tuple(variance.shape)} and "
                         f"{tuple(actual.shape)}; they must be equal and not empty")
    if not (variance > 0).all():
        raise ValueError("variance has entries that are not above 0; pass it through softplus or exp first")
    return (variance.log() / 2 + (actual - mean) ** 2 / (2 * variance)).mean()


def quantile_loss(quantiles: Tensor, actual: Tensor, levels: Sequence[float]) -> Tensor:
    """Pinball loss, averaged over rows, horizons and levels.

    Parameters
    ----------
    quantiles : Tensor, shape (..., Q)
    actual : Tensor, shape (...)
    """
    levels = checked_levels(levels)
    if quantiles.shape != (*actual.shape, len(levels)) or not actual.numel():
        raise ValueError(f"quantiles has shape {tuple(quantiles.shape)}; {len(levels)} levels of actual {tuple(actual.shape)} "
                         f"need {(*actual.shape, len(levels))}")
    tau, error = torch.tensor(levels, dtype=quantiles.dtype), actual[..., None] - quantiles
    return torch.maximum(tau * error, (tau - 1) * error).mean()


def checked_share(name: str, value: float) -> float:
    """A share between 0 and 1, both excluded."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; it must lie between 0 and 1, such as 0.9")
    return value


def gaussian_interval(mean: ArrayLike, variance: ArrayLike, share: float = 0.9) -> tuple[Array, Array]:
    """The central interval that holds `share` of a Gaussian: mean -+ z sd."""
    middle, spread = paired(mean, variance, "variance", "mean")
    if (spread <= 0).any():
        raise ValueError("variance has entries that are not above 0; a variance is a square, in the units of the series squared")
    reach = NormalDist().inv_cdf(0.5 + checked_share("share", share) / 2) * np.sqrt(spread)
    return middle - reach, middle + reach


def conformal_margin(scores: ArrayLike, share: float = 0.9) -> Array:
    """The score that `share` of new ones will not exceed, if they come from where these came from.

    That is the ceil((n + 1) share)-th smallest of n held-out scores, column by column; the 1 counts the new one
    (split conformal prediction; Lei et al., 2018).

    Parameters
    ----------
    scores : array_like, shape (n,) or (n, h)
        Such as |actual - forecast| on data that no model was fitted on.

    Raises
    ------
    ValueError
        If n is too small for the share: it needs at least share / (1 - share).
    """
    held_out = numbers("scores", scores)
    rank = int(np.ceil((len(held_out) + 1) * checked_share("share", share) - 1e-9))
    if rank > len(held_out):
        raise ValueError(f"scores has {len(held_out)} rows; a share of {share} needs at least {int(np.ceil(share / (1 - share) - 1e-9))}; "
                         "hold out more data or lower the share")
    return np.sort(held_out, axis=0)[rank - 1]


def interval_scores(actual: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
    """How far each value lies outside its interval, max(lower - actual, actual - upper); negative inside.

    With `conformal_margin` these calibrate quantiles (Romano et al., 2019): widen both ends by the margin.
    """
    a, low = paired(actual, lower, "lower")
    a, high = paired(actual, upper, "upper")
    return np.maximum(low - a, a - high)


def widen(lower: ArrayLike, upper: ArrayLike, margin: ArrayLike) -> tuple[Array, Array]:
    """The interval moved out by `margin` at both ends; where a negative margin would turn it over, its middle.

    Parameters
    ----------
    lower, upper : array_like, shape (n,) or (n, h)
    margin : float, or one for each horizon, shape (h,)
    """
    low, high = paired(lower, upper, "upper", "lower")
    reach = numbers("margin", margin, (0, 1))
    if reach.ndim and reach.shape != low.shape[1:]:
        raise ValueError(f"margin has shape {reach.shape} and the interval {low.shape}; give one number, or one a horizon")
    middle = (low + high) / 2
    return np.minimum(low - reach, middle), np.maximum(high + reach, middle)
