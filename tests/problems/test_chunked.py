"""Least squares on Dask arrays: the numbers of arrays in memory."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.chunked_cases import EPS, Counted, close, da, in_blocks, problem
from weightnorm.problems.coordinates.factorisation import rounding
from weightnorm.problems.dask.tsqr import folded, tree, triangle

CHUNKS = {
    "one block": lambda long: long,
    "blocks": lambda long: 37,
    "ragged": lambda long: (long // 2, 1, long - long // 2 - 8, 7),
    "hundreds": lambda long: (1, 2) * ((long - 1) // 3) + (long - 3 * ((long - 1) // 3),),
}


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("shape", [(12, 700), (700, 12), (40, 45)])
@pytest.mark.parametrize("refine", [False, True])
def test_dask_equals_memory(shape, chunks, condition, refine):
    memory = problem(*shape, condition, noise=0.01, seed=3)
    A = in_blocks(memory.A, CHUNKS[chunks](max(shape)))
    blocks = wn.LeastSquares(A, memory.y, refine=refine)
    w0 = wn.datasets.random_direction(shape[1], seed=1)
    method = wn.WeightNorm(0.02, 0.05)
    ours = wn.run(method, blocks, 1.5, w0, max_steps=400, tolerance=0.0)
    theirs = wn.run(method, memory, 1.5, w0, max_steps=400, tolerance=0.0)
    assert ours.num_steps == theirs.num_steps
    assert close(ours.weights, theirs.weights, condition)
    assert close(ours.norm, theirs.norm, condition)
    assert abs(ours.loss - theirs.loss) <= 10 * condition * EPS * memory.zero_loss
    assert close(blocks.min_norm_solution(), memory.min_norm_solution(), condition)
    exact = wn.theory.flow_limit(memory, 1.5, w0, ratio=2.0)
    limit = wn.theory.flow_limit(blocks, 1.5, w0, ratio=2.0)
    assert close(limit.weights, exact.weights, condition)
    assert limit.applies == exact.applies
    assert close(blocks.factorisation.singular_values, memory.factorisation.singular_values, 10)
    if shape[0] > shape[1]:
        assert abs(blocks.floor - memory.floor) <= 10 * condition * EPS * memory.zero_loss
    assert abs(blocks.zero_loss - memory.zero_loss) <= 1e-14 * memory.zero_loss


@pytest.mark.parametrize("shape", [(12, 300), (300, 12)])
def test_a_rank_deficient_array(shape):
    generator = np.random.default_rng(0)
    A = generator.standard_normal((shape[0], 5)) @ generator.standard_normal((5, shape[1]))
    y = generator.standard_normal(shape[0])
    memory, blocks = wn.LeastSquares(A, y), wn.LeastSquares(in_blocks(A, 31), y)
    assert blocks.factorisation.rank == memory.factorisation.rank == 5
    assert close(blocks.min_norm_solution(), memory.min_norm_solution(), 100)
    assert blocks.floor == pytest.approx(memory.floor, rel=1e-12)
    w0 = wn.datasets.random_direction(shape[1], seed=1)
    exact = wn.theory.flow_limit(memory, 1.0, w0)
    for each in (blocks, wn.LeastSquares(blocks.A, y)):  # a start that comes late, and in time
        limit = wn.theory.flow_limit(each, 1.0, w0)
        assert limit.perp_norm == pytest.approx(exact.perp_norm, rel=1e-12)
        assert close(limit.weights, exact.weights, 100)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
@pytest.mark.parametrize("shape", [(8, 200), (200, 8)])
def test_narrower_numbers_are_promoted(shape, dtype):
    A = (10 * np.random.default_rng(0).standard_normal(shape)).astype(dtype)
    y = np.arange(1.0, shape[0] + 1)
    blocks = wn.LeastSquares(in_blocks(A, 60), y)
    exact = wn.LeastSquares(A.astype(np.float64), y).min_norm_solution()
    assert close(blocks.min_norm_solution(), exact, 1e3)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    m=st.integers(1, 9),
    d=st.integers(1, 60),
    power=st.sampled_from([-6, 0, 6]),
    target=st.sampled_from([-6, 0, 6]),
)
def test_units_and_blocks_of_any_size(data, m, d, power, target):
    """Whatever the blocks and the units of A and y: x* scales, and the start's split does not."""
    memory = problem(m, d, 3.0, noise=0.1, seed=m + 100 * d)
    A, y = memory.A * 10.0**power, memory.y * 10.0**target
    cuts = data.draw(st.lists(st.integers(1, max(m, d)), max_size=6))
    edges = sorted({0, max(m, d), *cuts})
    sizes = tuple(b - a for a, b in pairwise(edges))
    blocks = wn.LeastSquares(in_blocks(A, sizes), y)
    w0 = wn.datasets.random_direction(d, seed=5)
    start = blocks.reduce().start(blocks.unit_direction("w", w0, False))[0]
    exact = memory.reduce().start(w0)[0]
    assert abs(start[-1] - exact[-1]) <= 1e-12
    factor = 10.0 ** (target - power)
    assert close(blocks.min_norm_solution(), memory.min_norm_solution() * factor, 100)


def test_features_of_very_different_units():
    generator = np.random.default_rng(0)
    A = generator.standard_normal((6, 90)) * 10.0 ** generator.integers(-6, 7, 90)
    y = generator.standard_normal(6)
    blocks = wn.LeastSquares(in_blocks(A, 20), y)
    assert close(blocks.min_norm_solution(), wn.LeastSquares(A, y).min_norm_solution(), 1e3)


def test_a_large_y_in_row_blocks():
    memory = problem(300, 6, 3.0, noise=0.1)
    y = memory.y + 1e9
    ours = wn.LeastSquares(in_blocks(memory.A, 50), y)
    theirs = wn.LeastSquares(memory.A, y)
    assert close(ours.min_norm_solution(), theirs.min_norm_solution(), 30)


def test_a_start_in_the_row_space_stays_in_it():
    memory = problem(10, 400, 1e6)
    A = Counted(memory.A)
    blocks = wn.LeastSquares(da.from_array(A, chunks=(-1, 90)), memory.y)
    inside = memory.A.T @ np.ones(10)
    assert wn.theory.flow_limit(blocks, 1.0, inside).perp_norm == 0.0
    late = wn.theory.flow_limit(blocks, 1.0, memory.A.T @ np.arange(1.0, 11.0))
    assert late.perp_norm == 0.0


# The triangle itself.


@pytest.mark.parametrize(("n", "p"), [(3, 7), (7, 7), (1000, 7), (2000, 40), (1, 1)])
def test_a_triangle_is_that_of_qr(n, p):
    A = np.random.default_rng(0).standard_normal((n, p))
    R = triangle(A[:, : p // 2], A[:, p // 2 :]) if p > 1 else triangle(A)
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-12 * n)
    if n >= p:
        np.testing.assert_allclose(np.abs(R), np.abs(np.linalg.qr(A, mode="r")), atol=1e-12)
    parts = [triangle(A[i::3]) for i in range(3)]
    whole = folded(parts)
    np.testing.assert_allclose(whole.T @ whole, A.T @ A, atol=1e-12 * n)
    assert (np.tril(whole, -1) == 0).all()


@given(st.integers(1, 300))
def test_a_tree_folds_every_leaf_once_in_order(n):
    sizes = []

    def fold(parts):
        sizes.append(len(parts))
        return list(chain(*parts))

    root = tree([[i] for i in range(n)], fold)
    assert root == list(range(n))
    assert max(sizes, default=1) <= 4


def test_the_rank_rule_does_not_grow_with_the_features():
    assert rounding((20, 50)) == 50 * EPS
    assert rounding((20, 10**9)) == 64 * 20 * EPS
    assert rounding((10**8, 5)) == 64 * 5 * EPS


def test_directions_in_blocks_are_seeded_by_block():
    w = wn.datasets.random_direction(1000, seed=1, chunks=300)
    assert w.chunks == ((300, 300, 300, 100),)
    np.testing.assert_array_equal(w.compute(), w.compute())
    same = wn.datasets.random_direction(1000, seed=1, chunks=(300, 300, 400)).compute()
    assert close(same[:600] / np.linalg.norm(same[:600]), w[:600] / np.linalg.norm(w[:600]), 10)
    assert abs(wn.datasets.random_direction(1000, seed=2, chunks=300) @ w).compute() < 0.2
    assert np.linalg.norm(w) == pytest.approx(1.0, rel=1e-14)
