"""Limits by LSQR alone: within their error, and as many passes as they say."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import weightnorm as wn
from tests.support.chunked_cases import Counted, da, problem

# Where neither side fits: by iteration.


def check_iteration(memory, large, condition, reads, scales):
    w0 = wn.datasets.random_direction(memory.shape[1], seed=2)
    for scale in scales:
        before = reads()
        limit = wn.theory.flow_limit(large, scale, w0, ratio=1.0, iterative=True)
        exact = wn.theory.flow_limit(memory, scale, w0, ratio=1.0)
        assert limit.num_passes == round(reads() - before)
        assert np.linalg.norm(limit.weights - exact.weights) <= limit.error
        if limit.applies:
            assert limit.scale == pytest.approx(exact.scale, abs=limit.error)
            assert limit.error <= 1e-9 * condition**2
    found = large.iterate()
    assert found.converged
    assert np.linalg.norm(found.weights - memory.min_norm_solution()) <= found.error
    np.testing.assert_array_equal(large.min_norm_solution(iterative=True), found.weights)


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(10, 60), (30, 35), (60, 10)])
def test_limits_by_iteration_are_within_their_error(shape, noise, condition):
    memory, products = problem(*shape, condition, noise=noise, seed=4), []
    operator = LinearOperator(
        shape,
        matvec=lambda x: (products.append(1), memory.A @ x)[1],
        rmatvec=lambda r: (products.append(1), memory.A.T @ r)[1],
        dtype=np.float64,
    )
    large = wn.LeastSquares(operator, memory.y)
    scales = (-2.0, -0.05, 0.0, 0.05, 4.0)  # the small ones may cross zero
    check_iteration(memory, large, condition, lambda: len(products), scales)


def test_limits_of_an_array_chunked_both_ways():
    memory = problem(10, 60, 10.0, seed=4)
    A = Counted(memory.A)
    blocks = wn.LeastSquares(da.from_array(A, chunks=(6, 30)), memory.y)
    check_iteration(memory, blocks, 10.0, lambda: A.reads, (1.0,))


def test_an_iteration_that_ran_out_says_so(monkeypatch):
    from weightnorm.problems.coordinates import iterative
    from weightnorm.theory import iterative as limits

    memory = problem(30, 40, 1e4)
    monkeypatch.setattr(limits, "solve", lambda A, b: iterative.solve(A, b, max_iterations=5))
    w0 = wn.datasets.random_direction(40, seed=2)
    limit = wn.theory.flow_limit(memory, 1.0, w0, iterative=True)
    assert not limit.applies
    assert "LSQR converged" in limit.failing


@pytest.mark.parametrize("power", [-160, -200, 160, 200])
def test_an_operator_out_of_range_is_refused_and_not_guessed(power):
    memory = problem(6, 40)
    large = wn.LeastSquares(aslinearoperator(memory.A * 10.0**power), memory.y)
    w0 = wn.datasets.random_direction(40, seed=2)
    with pytest.raises(ValueError, match="over- or underflows"):
        wn.theory.flow_limit(large, 1.0, w0, iterative=True)


@pytest.mark.parametrize("smallest", [1e-4, 1e-8])
@pytest.mark.parametrize("part", [1e-8, 1e-13, 3e-15])
def test_the_error_by_iteration_knows_what_the_start_met(smallest, part):
    """A singular value that y has next to no part in is met by the split of the start."""
    generator = np.random.default_rng(0)
    U = np.linalg.qr(generator.standard_normal((12, 12)))[0]
    V = np.linalg.qr(generator.standard_normal((40, 12)))[0]
    A = (U * np.r_[np.ones(11), smallest]) @ V.T
    y = U @ np.r_[np.ones(11), part]
    w0 = wn.datasets.random_direction(40, seed=2)
    limit = wn.theory.flow_limit(wn.LeastSquares(A, y), 1.0, w0, iterative=True)
    exact = wn.theory.flow_limit(wn.LeastSquares(A, y), 1.0, w0)
    assert np.linalg.norm(limit.weights - exact.weights) <= limit.error < 1e-12 / smallest


def test_nan_in_an_array_chunked_both_ways():
    A = np.random.default_rng(0).standard_normal((6, 60))
    A[2, 3] = np.nan
    blocks = wn.LeastSquares(da.from_array(A, chunks=(3, 20)), np.ones(6))
    with pytest.raises(ValueError, match="A has entries that are NaN"):
        blocks.iterate()
