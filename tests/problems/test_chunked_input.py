"""Least squares on Dask arrays: progress, bad input, and starts of every kind."""

import pickle

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import weightnorm as wn
from tests.support.chunked_cases import close, counted, da, in_blocks, problem
from tests.support.commands import without_colours
from weightnorm.problems.dask import passes

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
    without_colours(monkeypatch)
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
    import dask

    memory, A, _ = counted()
    broken = [True]

    def progress(done, total):
        if broken and done:
            broken.clear()
            raise KeyboardInterrupt

    blocks = wn.LeastSquares(da.from_array(A, chunks=(-1, 90)), memory.y, progress=progress)
    w0 = wn.datasets.random_direction(400, seed=1)
    # on one thread: others would end what they had begun, and be counted
    with pytest.raises(KeyboardInterrupt), dask.config.set(scheduler="synchronous"):
        wn.theory.flow_limit(blocks, 1.0, w0)
    assert 0.0 < A.reads < 1.0
    A.entries = 0
    wn.theory.flow_limit(blocks, 1.0, w0)
    assert A.reads == 1.0


def test_another_y_before_the_first_pass_reads_once_each():
    memory, A, blocks = counted()
    w0 = wn.datasets.random_direction(400, seed=1)
    blocks.announce_starts(w0)
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
