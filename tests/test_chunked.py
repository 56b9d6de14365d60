"""Least squares on Dask arrays: the numbers of arrays in memory, and how often the data is read."""

import pickle
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from threadpoolctl import threadpool_limits

import weightnorm as wn
from weightnorm.planning import plan
from weightnorm.problems import passes
from weightnorm.problems.factorisation import rounding
from weightnorm.problems.tsqr import folded, tree, triangle

da = pytest.importorskip("dask.array")
EPS = float(np.finfo(np.float64).eps)


class Counted:
    """An array that counts how often it is read: 1.0 is once, whole."""

    ndim = 2

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.entries = 0

    def __getitem__(self, key):
        part = self.array[key]
        self.entries += part.size
        return part

    @property
    def reads(self):
        return self.entries / self.array.size


def problem(m, d, condition=10.0, noise=0.0, seed=0):
    return wn.datasets.make_regression(m, d, condition, noise=noise, seed=seed)


def in_blocks(A, sizes):
    """A wide array in column blocks, a tall one in row blocks."""
    return da.from_array(A, chunks=(-1, sizes) if A.shape[0] <= A.shape[1] else (sizes, -1))


def close(ours, theirs, condition):
    """Within 10·κ·eps, relatively."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    off = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    return off <= 10 * condition * EPS


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


# How often the data is read.


def counted(m=10, d=400, **options):
    memory = problem(m, d)
    A = Counted(memory.A)
    array = da.from_array(A, chunks=(-1, 90) if m <= d else (90, -1))
    A.entries = 0
    return memory, A, wn.LeastSquares(array, memory.y, **options)


def test_limits_runs_and_sweeps_read_once_and_weights_once_more():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1, chunks=blocks.A.chunks[1])
    limit = wn.theory.flow_limit(blocks, 1.0, w0)
    assert A.reads == 1.0
    result = wn.run(wn.RPGD(0.1, 0.1), blocks, 2.0, w0, record=10, keep=("weights",))
    wn.run(wn.WeightNorm(0.1, 0.1), blocks, -1.0, w0, max_steps=100)
    wn.sweep(blocks, {"gd": wn.GradientDescent(0.1)}, [1.0, 2.0], w0)
    assert result.distance >= result.perp_norm > 0
    assert wn.flow(blocks, 1.0, w0).status == "converged"
    assert A.reads == 1.0
    exact = wn.run(wn.RPGD(0.1, 0.1), memory, 2.0, w0.compute(), record=10, keep=("weights",))
    assert close(result.weights, exact.weights, 10)
    assert A.reads == 2.0
    assert close(result.history.weights, exact.history.weights, 10)  # all records in one pass
    assert A.reads == 3.0
    assert close(limit.weights, wn.theory.flow_limit(memory, 1.0, w0.compute()).weights, 10)


def test_a_sweep_of_many_starts_reads_once():
    memory, A, blocks = counted()
    starts = [wn.datasets.random_direction(400, seed) for seed in range(5)]
    methods = {"rpgd": wn.RPGD(0.1, 0.1), "gd": wn.GradientDescent(0.1)}
    ours = wn.sweep(blocks, methods, [0.5, 2.0], starts)
    assert A.reads == 1.0
    wn.run(methods["rpgd"], blocks, 2.0, starts[3])  # any of them
    wn.theory.flow_limit(blocks, 2.0, starts[4])
    assert A.reads == 1.0
    theirs = wn.sweep(memory, methods, [0.5, 2.0], starts)
    assert (ours.status == theirs.status).all()
    assert (ours.num_steps == theirs.num_steps).all()
    for name in ("norm", "perp_norm", "distance", "loss", "start_perp_norm"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("refine", [False, True])
def test_a_later_start_costs_two_products(refine):
    memory, A, blocks = counted(refine=refine)
    first, second = (wn.datasets.random_direction(400, seed) for seed in (1, 2))
    wn.theory.flow_limit(blocks, 1.0, first)
    assert A.reads == 1.0 + refine
    late = wn.theory.flow_limit(blocks, 1.0, second)
    assert A.reads == 3.0 + refine
    wn.run(wn.RPGD(0.1, 0.1), blocks, 2.0, second)
    assert A.reads == 3.0 + refine
    assert close(late.weights, wn.theory.flow_limit(memory, 1.0, second).weights, 10)


def test_going_on_with_another_method_reads_nothing():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    ours, theirs = (wn.run(wn.RPGD(0.1, 0.1), p, 2.0, w0, max_steps=9) for p in (blocks, memory))
    ours, theirs = (
        wn.run(wn.RPGD(0.1, 0.1), p, start=r, max_steps=9)
        for p, r in ((blocks, ours), (memory, theirs))
    )
    ours, theirs = (
        wn.run(wn.WeightNorm(0.1, 0.1), p, start=r, max_steps=9)
        for p, r in ((blocks, ours), (memory, theirs))
    )
    assert A.reads == 1.0
    assert close(ours.weights, theirs.weights, 10)


def test_a_tall_array_is_read_once_for_everything():
    memory, A, blocks = counted(400, 10)
    w0 = wn.datasets.random_direction(10, seed=1)
    result = wn.run(wn.RPGD(0.1, 0.1), blocks, 2.0, w0)
    wn.theory.flow_limit(blocks, 1.0, -w0)
    assert A.reads == 1.0
    assert isinstance(result.weights, np.ndarray)
    in_blocks_too = wn.LeastSquares(blocks.A, da.from_array(memory.y, chunks=70))
    assert close(in_blocks_too.min_norm_solution(), memory.min_norm_solution(), 10)


def test_a_result_in_blocks_can_be_stored_and_pickled(tmp_path):
    zarr = pytest.importorskip("zarr")
    memory, _, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    result = wn.run(wn.RPGD(0.1, 0.1), blocks, 2.0, w0)
    result.weights.to_zarr(str(tmp_path / "weights.zarr"))
    exact = wn.run(wn.RPGD(0.1, 0.1), memory, 2.0, w0)
    assert close(zarr.open_array(str(tmp_path / "weights.zarr"))[:], exact.weights, 10)
    again = pickle.loads(pickle.dumps(result))
    assert again.norm == result.norm


def test_refining_makes_weights_orthonormal():
    memory = problem(20, 900, 1e8)
    off = []
    for refine in (False, True):
        blocks = wn.LeastSquares(in_blocks(memory.A, 100), memory.y, refine=refine)
        V = np.asarray(blocks.factorisation.lift(np.eye(20)))
        off.append(np.abs(V @ V.T - np.eye(20)).max())
        left = blocks.factorisation.left.columns
        again = (left * blocks.factorisation.singular_values) @ V
        assert np.abs(again - memory.A).max() < 1e-14
    assert off[1] < 1e-13 < off[0]


def test_the_loss_and_its_gradient():
    for shape in ((10, 400), (400, 10)):
        memory, _, blocks = counted(*shape)
        x = wn.datasets.random_direction(shape[1], seed=1)
        assert blocks.value(x) == pytest.approx(memory.value(x), rel=1e-13)
        assert close(blocks.gradient(x), memory.gradient(x), 10)
        several = np.stack([x, 2 * x])
        np.testing.assert_allclose(blocks.value(several), memory.value(several), rtol=1e-13)
        inside, rest = blocks.split(x)
        assert close(inside, memory.split(x)[0], 10)
        np.testing.assert_allclose(np.asarray(rest), memory.split(x)[1], atol=1e-13)


@pytest.mark.parametrize("shape", [(10, 400), (400, 10)])
def test_another_y_and_means_taken_off(shape):
    memory, A, blocks = counted(*shape)
    blocks.min_norm_solution()
    y = np.cos(np.arange(shape[0]))
    other = blocks.with_targets(y)
    assert close(other.min_norm_solution(), wn.LeastSquares(memory.A, y).min_norm_solution(), 10)
    assert close(blocks.min_norm_solution(), memory.min_norm_solution(), 10)
    centred = memory.centred().min_norm_solution()
    assert close(blocks.centred().min_norm_solution(), centred, 100)
    assert A.reads < 8


def test_mini_batches_and_batch_norm_on_a_wide_array():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    for method in (wn.RPGD(0.05, 0.05, batch_size=3, seed=1), wn.BatchNorm(0.05, 0.05)):
        ours, theirs = (wn.run(method, p, 2.0, w0, max_steps=60) for p in (blocks, memory))
        assert close(ours.weights, theirs.weights, 100)
    assert A.reads == 3.0  # one pass, and the weights of two results


def test_plans_and_certificates():
    memory, _, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    ours, theirs = (plan(p, 0.01, scale=1.0, direction=w0) for p in (blocks, memory))
    assert ours.num_steps == theirs.num_steps
    found = [wn.certificate(p, wn.run(wn.RPGD(0.05, 0.05), p, 2.0, w0)) for p in (blocks, memory)]
    assert repr(found[0]) == repr(found[1])


# Progress, cost, and what is refused.


def test_progress_counts_the_bytes_of_every_block():
    told = []
    memory, _, blocks = counted(progress=lambda done, total: told.append((done, total)))
    wn.theory.flow_limit(blocks, 1.0, wn.datasets.random_direction(400, seed=1))
    assert told[0] == (0, 32_000)
    assert told[-1] == (32_000, 32_000)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert memory.shape == blocks.shape


def test_a_large_pass_says_what_it_will_cost(capsys, monkeypatch):
    _, _, blocks = counted()
    blocks.min_norm_solution()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(passes, "LARGE", 1000)
    _, _, blocks = counted()
    blocks.min_norm_solution()
    said = " ".join(capsys.readouterr().err.split())
    assert "factorisation: up to 2 passes over 32 kB, 8e+04 flops to factorise" in said
    _, _, quiet = counted(progress=False)
    quiet.min_norm_solution()
    assert capsys.readouterr().err == ""
    assert str(quiet.cost()) in said


WIDE = da.ones((5, 60), chunks=(5, 20)) + da.eye(60, chunks=20)[:5].rechunk((5, 20))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wn.GeneralizedLinear(WIDE, np.ones(5)), TypeError, r"A\.compute\(\)"),
        (lambda: wn.MatrixSensing(da.ones((3, 4, 4)), np.ones(3)), TypeError, r"Dask array"),
        (
            lambda: wn.LeastSquares(WIDE.rechunk((2, 20)), np.ones(5)).min_norm_solution(),
            ValueError,
            r"A\.rechunk\(\{0: -1, 1: 'auto'\}\)",
        ),
        (
            lambda: wn.LeastSquares(WIDE.T.rechunk((20, 2)), np.ones(60)).min_norm_solution(),
            ValueError,
            r"A\.rechunk\(\{1: -1, 0: 'auto'\}\)",
        ),
        (lambda: wn.LeastSquares(WIDE, np.ones(4)), ValueError, "y must have 5 entries"),
        (lambda: wn.LeastSquares(WIDE, da.ones(4)), ValueError, "y must have 5 entries"),
        (lambda: wn.LeastSquares(WIDE[0], np.ones(5)), ValueError, "matrix"),
        (lambda: wn.LeastSquares(WIDE.astype(complex), np.ones(5)), TypeError, "complex128"),
        (lambda: wn.LeastSquares(np.eye(2), np.ones(2), refine=True), ValueError, "refine is for"),
        (
            lambda: wn.run(
                wn.RPGD(0.1, 0.1),
                wn.LeastSquares(WIDE, np.ones(5)),
                1.0,
                np.ones(60),
                coordinates="full",
            ),
            TypeError,
            "would read A at every step",
        ),
        (
            lambda: wn.run(
                wn.RPGD(0.1, 0.1, batch_size=2),
                wn.LeastSquares(WIDE.T.rechunk((20, 5)), np.ones(60)),
                1.0,
                np.ones(5),
            ),
            TypeError,
            "tall Dask array is read once",
        ),
        (
            lambda: wn.theory.flow_limit(wn.LeastSquares(WIDE, np.ones(5)), 1.0, da.zeros(60)),
            ValueError,
            "direction is zero",
        ),
        (
            lambda: wn.theory.flow_limit(wn.LeastSquares(WIDE, np.ones(5)), 1.0, da.ones(61)),
            ValueError,
            "direction must have 60 entries",
        ),
        (
            lambda: wn.theory.flow_limit(wn.LeastSquares(np.eye(2), np.ones(2)), 1.0, da.ones(2)),
            TypeError,
            r"direction\.compute\(\)",
        ),
        (
            lambda: wn.LeastSquares(WIDE.T[WIDE.T.sum(axis=1) > 0], np.ones(60)),
            ValueError,
            "compute_chunk_sizes",
        ),
        (
            lambda: wn.LeastSquares(WIDE * 1e200, np.ones(5)).min_norm_solution(),
            ValueError,
            "over- or underflows",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_fix(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(5, 60), (60, 5)])
def test_a_bad_entry_is_named_by_its_block(shape, bad):
    A = np.random.default_rng(0).standard_normal(shape)
    A[3, 4] = A[2, 4] = bad
    blocks = wn.LeastSquares(in_blocks(A, 20), np.ones(shape[0]))
    with pytest.raises(ValueError, match=r"A has 2 entries that are NaN .* its block \(0, 0\)"):
        blocks.min_norm_solution()


def test_a_bad_y_in_blocks():
    y = da.where(da.arange(60, chunks=20) == 30, np.nan, 1.0)
    A = np.random.default_rng(0).standard_normal((60, 5))
    with pytest.raises(ValueError, match="y has entries that are NaN"):
        wn.LeastSquares(in_blocks(A, 20), y).min_norm_solution()


def test_y_zero_and_y_out_of_reach():
    A = in_blocks(np.vstack([np.eye(3), np.zeros((30, 3))]), 10)
    for y in (np.zeros(33), np.r_[0, 0, 0, np.ones(30)]):
        blocks = wn.LeastSquares(A, y)
        assert not blocks.min_norm_solution().any()
        assert blocks.floor == pytest.approx(0.5 * y @ y)
        with pytest.raises(ValueError, match="y is zero"):
            wn.theory.flow_limit(blocks, 1.0, [1.0, 0.0, 0.0])


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
    from weightnorm.problems import iterative
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


# Found by a referee.


def test_one_direction_is_one_vector():
    _, _, blocks = counted()
    several = da.from_array(np.random.default_rng(2).standard_normal((3, 400)), chunks=(3, 90))
    for wrong in (several, [several[0], several[1]], several.sum()):
        with pytest.raises(ValueError, match="direction must"):
            wn.theory.flow_limit(blocks, 1.0, wrong)
    with pytest.raises(ValueError, match="directions must be vectors of 400 entries"):
        wn.sweep(blocks, {"gd": wn.GradientDescent(0.1)}, [1.0], [several[0], np.ones(5)])


def test_masks_are_not_lost():
    memory, _, blocks = counted()
    masked = np.ma.masked_array(memory.A, mask=memory.A > 0.1)
    with pytest.raises(TypeError, match=r"A has blocks of numpy\.ma"):
        wn.LeastSquares(da.from_array(masked, chunks=(-1, 90)), memory.y)
    hidden = da.map_blocks(
        lambda block: np.ma.masked_array(block), blocks.A, meta=np.empty((0, 0)), dtype=float
    )
    with pytest.raises(TypeError, match=r"A has a block of numpy\.ma"):
        wn.LeastSquares(hidden, memory.y).min_norm_solution()
    start = da.from_array(np.ma.masked_array(np.ones(400), mask=np.eye(400)[3]), chunks=90)
    with pytest.raises(TypeError, match="direction has blocks of"):
        wn.theory.flow_limit(blocks, 1.0, start)


@pytest.mark.parametrize("size", [1e-300, 1e-161, 1.0, 1e160, 1e300])
def test_starts_of_any_size(size):
    memory, _, blocks = counted()
    w0 = np.random.default_rng(2).standard_normal(400)
    limit = wn.theory.flow_limit(blocks, 1.0, da.from_array(w0 * size, chunks=90))
    assert close(limit.weights, wn.theory.flow_limit(memory, 1.0, w0).weights, 10)


@pytest.mark.parametrize("refine", [False, True])
def test_a_wide_array_of_zeros(refine):
    blocks = wn.LeastSquares(da.zeros((4, 30), chunks=(4, 7)), np.ones(4), refine=refine)
    assert not np.asarray(blocks.min_norm_solution()).any()
    w0 = wn.datasets.random_direction(30, seed=1)
    with pytest.raises(ValueError, match="y is zero"):
        wn.theory.flow_limit(blocks, 1.0, w0)
    result = wn.run(wn.RPGD(0.1, 0.1), blocks, 2.0, w0)
    assert (result.status, result.loss) == ("stationary", 2.0)
    np.testing.assert_allclose(np.asarray(result.weights), 2.0 * w0, rtol=1e-14)


def test_a_run_goes_on_from_memory_to_blocks_and_back():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    first = wn.run(wn.RPGD(0.1, 0.1), memory, 2.0, w0, max_steps=9)
    ours, theirs = (
        wn.run(wn.WeightNorm(0.1, 0.1), p, start=first, max_steps=9) for p in (blocks, memory)
    )
    assert close(ours.weights, theirs.weights, 100)
    assert A.reads == 2.0


def test_a_pass_that_was_broken_off_still_sees_its_starts():
    memory, A, _ = counted()
    broken = [True]

    def progress(done, total):
        if broken and done:
            broken.clear()
            raise KeyboardInterrupt

    blocks = wn.LeastSquares(da.from_array(A, chunks=(-1, 90)), memory.y, progress=progress)
    w0 = wn.datasets.random_direction(400, seed=1)
    with pytest.raises(KeyboardInterrupt):
        wn.theory.flow_limit(blocks, 1.0, w0)
    A.entries = 0
    wn.theory.flow_limit(blocks, 1.0, w0)
    assert A.reads == 1.0


def test_another_y_before_the_first_pass_reads_once_each():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    blocks.expect(w0)
    other = blocks.with_targets(-memory.y)
    wn.theory.flow_limit(blocks, 1.0, w0)
    wn.theory.flow_limit(other, 1.0, w0)
    assert A.reads == 2.0


def test_rows_of_an_array_of_starts_are_known():
    _, A, blocks = counted()
    several = da.from_array(np.random.default_rng(2).standard_normal((3, 400)), chunks=(3, 90))
    wn.sweep(blocks, {"gd": wn.GradientDescent(0.1)}, [1.0], several)
    wn.theory.flow_limit(blocks, 1.0, several[2])
    assert A.reads == 1.0


def test_a_pickled_result_knows_its_y_in_blocks():
    memory, _, _ = counted(400, 10)
    A = in_blocks(memory.A, 90)
    method, w0 = wn.WeightNorm(0.1, 0.1, momentum=0.9), wn.datasets.random_direction(10, seed=1)
    problems = [wn.LeastSquares(A, da.from_array(sign * memory.y, chunks=90)) for sign in (1, -3)]
    result = wn.run(method, problems[0], 1.0, w0, max_steps=20)
    result = pickle.loads(pickle.dumps(result))
    again = [wn.run(method, p, start=result, max_steps=5, tolerance=0.0) for p in problems]
    assert [each.total_steps for each in again] == [25, 5]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_threads_of_blas_do_not_change_the_bits(threads):
    memory = problem(120, 1500, 100.0)
    found = []
    for count in (1, threads):
        with threadpool_limits(limits=count, user_api="blas"):
            blocks = wn.LeastSquares(in_blocks(memory.A, 400), memory.y, refine=True)
            limits = [
                wn.theory.flow_limit(blocks, 1.0, wn.datasets.random_direction(1500, seed))
                for seed in (1, 2)  # the second one late
            ]
            found.append([np.asarray(limit.weights).tobytes() for limit in limits])
    assert found[0] == found[1]


@pytest.mark.parametrize("chunks", [0, (3, 4), "x", -5])
def test_foolish_blocks_of_a_direction(chunks):
    with pytest.raises(ValueError, match="chunks must be"):
        wn.datasets.random_direction(60, seed=1, chunks=chunks)
