"""x* of a sparse A and of an operator: as exact as that of an array."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import weightnorm as wn
from weightnorm.problems.linear import least_squares

EPS = np.finfo(np.float64).eps


def conditioned(shape, condition, seed):
    """A matrix with singular values from 1 down, and a y that an x of unit size reaches."""
    rng, rank = np.random.default_rng(seed), min(shape)
    U = np.linalg.qr(rng.standard_normal((shape[0], rank)))[0]
    V = np.linalg.qr(rng.standard_normal((shape[1], rank)))[0]
    A = (U * np.geomspace(1.0, 1.0 / condition, rank)) @ V.T
    return A, A @ rng.standard_normal(shape[1])


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("shape", [(80, 30), (30, 30), (30, 80), (600, 200)])
def test_a_solution_without_squaring_the_condition_number(kind, condition, shape):
    A, y = conditioned(shape, condition, 3)
    wanted = wn.LeastSquares(A, y).min_norm_solution()
    found = wn.LeastSquares(kind(A), y).min_norm_solution()
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert error <= 10 * condition * EPS  # κ²·eps is ten to a hundred thousand times as much


def test_corrections_stop_where_they_no_longer_fall(monkeypatch):
    """At κ = 1e10 they need not help, and must do no harm."""
    A, y = conditioned((60, 20), 1e10, 5)
    refined = wn.LeastSquares(scipy.sparse.csr_array(A), y).min_norm_solution()
    monkeypatch.setattr(least_squares, "REFINEMENTS", 0)
    plain = wn.LeastSquares(scipy.sparse.csr_array(A), y).min_norm_solution()
    wanted = wn.LeastSquares(A, y).min_norm_solution()
    assert np.linalg.norm(refined - wanted) <= 1.01 * np.linalg.norm(plain - wanted)
