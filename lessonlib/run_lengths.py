"""How long a CUSUM runs before it alarms: average run lengths for independent Gaussian samples.

Dimensions: everything is in standard deviations of a sample; run lengths count samples, the one that alarms included. The
CUSUM is one-sided and starts from zero, as in `lessonlib.monitoring.cusum`. Two of them, one for each side, have a
normal run length of half of one.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from lessonlib.arguments import count, positive


def gaussian_below(x: np.ndarray) -> np.ndarray:
    """Probability that a standard Gaussian value lies below x, element by element."""
    return torch.special.ndtr(torch.as_tensor(x, dtype=torch.float64)).numpy()


def cusum_run_length(shift: float, reference: float, limit: float, *, nodes: int = 60) -> float:
    """Mean number of samples to the first alarm where each has mean `shift` and standard deviation 1.

    With L(u) the mean from a statistic of u on, k the reference, h the limit and d the shift (Page 1954),

        L(u) = 1 + L(0) Phi(k - u - d) + integral_0^h L(x) phi(x + k - u - d) dx ,

    solved at the nodes of Gauss and Legendre (Goel and Wu 1971).

    Parameters
    ----------
    shift, reference : float
    limit : float
        Above zero.
    """
    if not (math.isfinite(shift) and math.isfinite(reference)):
        raise ValueError(f"shift is {shift} and reference {reference}; both must be finite")
    roots, weights = np.polynomial.legendre.leggauss(count("nodes", nodes))
    x = np.r_[0, (roots + 1) * positive("limit", limit) / 2]
    weights = np.r_[0, weights * limit / 2]
    away = x + reference - shift - x[:, None]                   # row u, column x
    kernel = weights * np.exp(-away**2 / 2) / math.sqrt(2 * math.pi)
    kernel[:, 0] = gaussian_below(reference - shift - x)
    return float(np.linalg.solve(np.eye(len(x)) - kernel, np.ones(len(x)))[0])


def siegmund_run_length(shift: float, reference: float, limit: float) -> float:
    """The same by a formula, (exp(-2 D b) + 2 D b - 1) / (2 D^2) with D = shift - reference and b = limit + 1.166.

    The 1.166 is twice the mean by which a Gaussian walk overshoots a level (Siegmund 1985).
    """
    drift, level = shift - reference, positive("limit", limit) + 1.166
    if not math.isfinite(drift):
        raise ValueError(f"shift is {shift} and reference {reference}; both must be finite")
    if abs(drift) < 1e-6:
        return level**2
    return (math.exp(-2 * drift * level) + 2 * drift * level - 1) / (2 * drift**2)


def limit_for_run_length(run_length: float, reference: float) -> float:
    """The limit at which a one-sided CUSUM of normal samples runs that many samples between alarms, by bisection."""
    if not run_length > 2 or not math.isfinite(run_length) or not reference > 0:
        raise ValueError(f"run_length is {run_length} and reference {reference}; they must be above 2 and above 0")
    low, high = 1e-6, 1.0
    while siegmund_run_length(0, reference, high) < 2 * run_length:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cusum_run_length(0, reference, middle) < run_length else (low, middle)
    return high
