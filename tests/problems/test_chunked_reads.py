"""Least squares on Dask arrays: how often the data is read, and what comes of it."""

import pickle

import numpy as np
import pytest

import weightnorm as wn
from tests.support.chunked_cases import close, counted, da, in_blocks, problem
from weightnorm.advice.planning import plan

# How often the data is read.


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
