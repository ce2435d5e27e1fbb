"""Spectral radius, singular values, powers and orthogonal matrices against NumPy and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib import matrices as M


def test_radius_and_singular_value_agree_with_numpy_on_stacks():
    stack = np.random.default_rng(0).normal(size=(4, 6, 6))
    for matrix, radius, stretch in zip(stack, M.spectral_radius(stack), M.largest_singular_value(stack), strict=True):
        assert radius == pytest.approx(max(abs(np.linalg.eigvals(matrix))), rel=1e-12)
        assert stretch == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-12)
        assert stretch**2 == pytest.approx(np.linalg.eigvalsh(matrix.T @ matrix).max(), rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_radius_never_exceeds_the_largest_singular_value(seed, size):
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    assert M.spectral_radius(matrix) <= M.largest_singular_value(matrix) * (1 + 1e-10)


def test_scaled_orthogonal_has_one_singular_value_and_a_sign_fixed_qr():
    matrix = M.scaled_orthogonal(16, 1.5, np.random.default_rng(3))
    assert np.allclose(np.linalg.svd(matrix, compute_uv=False), 1.5, rtol=1e-12)
    assert M.spectral_radius(matrix) == pytest.approx(1.5, rel=1e-12)
    draw = np.random.default_rng(3).standard_normal((16, 16))
    assert (np.diag((matrix / 1.5).T @ draw) > 0).all()  # R has a positive diagonal
    as_it_comes = M.scaled_orthogonal(16, 1.0, np.random.default_rng(3), fix_signs=False)
    assert np.allclose(np.abs(as_it_comes * 1.5), np.abs(matrix), atol=1e-12)


def test_powers_of_a_defective_matrix_follow_the_closed_form():
    for n, norm in zip((1, 10, 50), M.power_norms([[0.9, 5], [0, 0.9]], [1, 10, 50]), strict=True):
        assert norm == pytest.approx(np.linalg.norm([[0.9**n, 5 * n * 0.9 ** (n - 1)], [0, 0.9**n]], 2), rel=1e-10)
    assert M.power_norms([[0.9, 5], [0, 0.9]], [0]) == pytest.approx(1.0)


@pytest.mark.parametrize("call, name", [
    (lambda: M.spectral_radius(np.ones((2, 3))), "matrix"),
    (lambda: M.largest_singular_value([[np.nan]]), "matrix"),
    (lambda: M.power_norms(np.eye(3), []), "exponents"),
    (lambda: M.scaled_orthogonal(0, 1.0, np.random.default_rng(0)), "size"),
    (lambda: M.scaled_orthogonal(4, -1.0, np.random.default_rng(0)), "rho"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
