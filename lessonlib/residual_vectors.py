"""Many channels in one score: the Mahalanobis distance of a residual vector from normal operation.

Dimensions: residuals have shape (N, m), N samples of m channels, time on the first axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import finite
from lessonlib.monitoring import series


def fit_normal(residual: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Mean (m,) and covariance (m, m) of a residual vector on normal data, shape (N, m)."""
    residual = series("residual", residual)
    if residual.ndim != 2 or len(residual) <= residual.shape[1]:
        raise ValueError(f"residual has shape {residual.shape}; it must be (samples, channels) with more samples than channels")
    return residual.mean(0), np.cov(residual, rowvar=False, ddof=1).reshape(2 * residual.shape[1:])


def mahalanobis(residual: ArrayLike, mean: ArrayLike, covariance: ArrayLike) -> np.ndarray:
    """Squared Mahalanobis distance of each sample, d_t^2 = (r_t - mean)^T covariance^-1 (r_t - mean), shape (N,).

    Raises
    ------
    ValueError
        If the channels do not match, or the covariance is singular, as it is where one channel repeats others.
    """
    residual, mean, covariance = series("residual", residual), finite("mean", mean), finite("covariance", covariance)
    m = mean.size
    if residual.shape[1:] != (m,) or mean.shape != (m,) or covariance.shape != (m, m):
        raise ValueError(f"residual has shape {residual.shape}, mean {mean.shape} and covariance {covariance.shape}; they "
                         "must be (samples, m), (m,) and (m, m) for the same m channels")
    deviations = np.sqrt(np.diag(covariance).clip(min=0))
    scaled = covariance / np.outer(deviations, deviations) if deviations.all() else covariance * 0
    if not np.allclose(covariance, covariance.T) or np.linalg.eigvalsh(scaled)[0] < 1e-10:
        raise ValueError("covariance is singular or not symmetric; leave out a channel that is constant or that repeats others")
    rooted = np.linalg.solve(np.linalg.cholesky(scaled), ((residual - mean) / deviations).T)
    return (rooted**2).sum(0)
