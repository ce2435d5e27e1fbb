"""Square matrices and their powers: spectral radius, largest singular value, and random orthogonal matrices.

Dimensions: H is the width of a matrix, `...` stands for any leading axes (one matrix each). Everything is float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count, positive, square


def spectral_radius(matrix: ArrayLike) -> np.ndarray:
    """Largest modulus of an eigenvalue, rho(W), shape (...) for matrices of shape (..., H, H)."""
    return np.abs(np.linalg.eigvals(square("matrix", matrix))).max(axis=-1)


def largest_singular_value(matrix: ArrayLike) -> np.ndarray:
    """The most that the matrix stretches any vector, sigma_max(W), shape (...) for matrices (..., H, H)."""
    return np.linalg.svd(square("matrix", matrix), compute_uv=False)[..., 0]


def power_norms(matrix: ArrayLike, exponents: Sequence[int]) -> np.ndarray:
    """Largest singular value of each power of a matrix (H, H), shape (len(exponents),); see Gelfand's formula."""
    matrix = square("matrix", matrix)
    if min(exponents, default=-1) < 0:
        raise ValueError(f"exponents is {list(exponents)}; it must hold at least one exponent and none below 0")
    return np.array([largest_singular_value(np.linalg.matrix_power(matrix, n)) for n in exponents])


def scaled_orthogonal(size: int, rho: float, rng: np.random.Generator, *, fix_signs: bool = True) -> np.ndarray:
    """A random orthogonal matrix times `rho`: every singular value and every modulus of an eigenvalue is `rho`.

    Parameters
    ----------
    size, rho : int, float
        Width H, at least 1, and the scale, above 0.
    rng : np.random.Generator
        Draws H x H standard normal numbers, and nothing else.
    fix_signs : bool
        Multiply each column by the sign that makes the diagonal of R positive. Only then is every rotation
        equally probable (Mezzadri 2007); without it the Q of the QR decomposition is used as it comes.

    Returns
    -------
    np.ndarray, shape (H, H)
    """
    size, rho = count("size", size), positive("rho", rho)
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return rho * q * np.sign(np.diag(r)) if fix_signs else rho * q
