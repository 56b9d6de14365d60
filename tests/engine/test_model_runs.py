"""The compiled linear models in runs and sweeps: neighbours, threads, ends and interruptions."""

import numpy as np
import pytest

import weightnorm as wn
from tests.engine.test_model_kernel import (
    LOSSES,
    METHODS,
    MOMENTA,
    assert_same_runs,
    batch_of,
    make,
)
from tests.support.reference import assert_same_stop
from weightnorm.engine.backends.model import ModelBatch
from weightnorm.engine.backends.rules import RulesBatch
from weightnorm.engine.batch import Start
from weightnorm.engine.start import backend_of, start
from weightnorm.methods.state import State
from weightnorm.problems.losses import Logistic

SLOW = {
    "gd": wn.GradientDescent(0.01),
    "wn": wn.WeightNorm(0.005, 0.005),
    "rpgd": wn.RPGD(0.005, 0.005),
}


@pytest.fixture(params=[False, True], ids=["lanes", "BLAS"])
def products(request, monkeypatch):
    """One run by lanes, and with its products by BLAS."""
    if request.param:
        monkeypatch.setattr("weightnorm.engine.backends.model.BLAS_FROM", 0)


@pytest.fixture
def by_rules(monkeypatch):
    """Call it to run everything from then on by the rules in NumPy."""
    return lambda: monkeypatch.setattr(ModelBatch, "can_run", staticmethod(lambda method: False))


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["gd", "wn", "rpgd"])
def test_runs_and_sweeps_equal_the_rules(loss, name, by_rules):
    """Through the front door: steps, ends, records; by a loss, and by a gradient."""
    problem, w0 = make(loss)
    # small steps: with longer ones rounding grows; see the test of wild runs
    method, scales = SLOW[name], np.linspace(0.2, 2.0, 9)
    level = 0.8 * problem.zero_loss
    ways = ({"tolerance": level}, {"gradient_tolerance": 1e-3}, {"tolerance": 0, "record": 7})
    options = {"max_steps": 700}

    def answers():
        runs = [wn.run(method, problem, 0.8, w0, **options, **way) for way in ways]
        table = wn.sweep(problem, {"m": method}, scales, w0, tolerance=level, **options)
        return runs, table

    (runs, table), _ = answers(), by_rules()
    twins, twin_table = answers()
    for run, twin in zip(runs, twins, strict=True):
        assert run.status == twin.status
        assert_same_stop(run.num_steps, run.loss, twin.num_steps, twin.loss, level)
        if run.num_steps == twin.num_steps:
            np.testing.assert_allclose(run.weights, twin.weights, atol=1e-11)
    assert runs[0].status == "converged"
    for field in ("step", "loss", "scale", "direction_norm", "perp_norm", "weights_norm"):
        got, expected = (getattr(r[2].history, field) for r in (runs, twins))
        np.testing.assert_allclose(got, expected, rtol=1e-10, err_msg=field)
    np.testing.assert_array_equal(table.status, twin_table.status)
    np.testing.assert_array_equal(table.num_steps, twin_table.num_steps)
    for field in ("norm", "loss", "final_scale", "perp_norm"):
        np.testing.assert_allclose(table[field], twin_table[field], rtol=1e-10)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("options", MOMENTA, ids=["plain", "heavy ball", "Nesterov"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sweep_equals_runs_and_a_run_goes_on(loss, options, monkeypatch):
    problem, w0 = make(loss)
    level = 0.7 * problem.zero_loss
    for name in ("gd", "wn", "rpgd"):
        method = METHODS[name](**options)
        table = wn.sweep(problem, {"m": method}, [0.5, 0.9], w0, tolerance=level, max_steps=900)
        for i, scale in enumerate((0.5, 0.9)):
            run = wn.run(method, problem, scale, w0, tolerance=level, max_steps=900)
            entry = table.isel(algorithm=0, start=0, scale=i)
            assert int(entry.num_steps) == run.num_steps
            for field in ("norm", "loss", "perp_norm"):
                value = getattr(run, field)
                assert float(entry[field]) == pytest.approx(value, rel=1e-12, abs=1e-13)
        half = wn.run(method, problem, 0.9, w0, tolerance=level, max_steps=run.num_steps // 2)
        rest = wn.run(method, problem, start=half, tolerance=level, max_steps=900)
        assert half.num_steps + rest.num_steps == run.num_steps
        np.testing.assert_array_equal(rest.weights, run.weights)
        with monkeypatch.context() as patch:
            patch.setattr("weightnorm.engine.loop.SLICE", 7)
            pieces = wn.run(method, problem, 0.9, w0, tolerance=level, max_steps=900)
        np.testing.assert_array_equal(pieces.weights, run.weights)


def test_bits_depend_neither_on_neighbours_nor_on_threads(monkeypatch):
    monkeypatch.setattr("weightnorm.engine.backends.model.WORTH_A_THREAD", 1)
    problem, _ = make("poisson", 13, 31)
    rng = np.random.default_rng(1)
    units, scales = rng.standard_normal((37, 31)), rng.uniform(0.1, 1.5, 37)
    method, level = wn.WeightNorm(0.02, 0.02), 0.7 * problem.zero_loss
    whole = batch_of(method, problem, scales, units, tolerance=level)
    for count in (11, 0, 9, 20):  # runs end on the way, and others take their lanes
        whole.advance(count)
    assert 0 < whole.alive.sum() < 37
    for which, threads in ((slice(3, 15), 1), (slice(None, None, -1), 3), ([30, 4], 2)):
        part = batch_of(
            method, problem, scales[which], units[which], threads=threads, tolerance=level
        )
        part.advance(40)
        np.testing.assert_array_equal(part.loss, whole.loss[which])
        np.testing.assert_array_equal(part.ended_at, whole.ended_at[which])
        np.testing.assert_array_equal(part.position().unit, whole.position().unit[which])


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("scale", [1.0, 50.0])
@pytest.mark.parametrize("name", ["gd", "wn", "rpgd"])
def test_divergence_is_that_of_the_rules(name, scale, by_rules):
    """A start or a step beyond e^650, and a norm beyond all numbers."""
    problem, w0 = make("poisson")
    makers = {"gd": wn.GradientDescent, "wn": wn.WeightNorm, "rpgd": wn.RPGD}
    steps = (3e3,) if name == "gd" else (3e3, 3e3)
    runs = [wn.run(makers[name](*steps), problem, s, w0, max_steps=500) for s in (scale, 1e4)]
    wild = wn.run(wn.WeightNorm(1e200, 0.0), problem, 1.0, w0, max_steps=5)
    by_rules()
    twins = [wn.run(makers[name](*steps), problem, s, w0, max_steps=500) for s in (scale, 1e4)]
    twins.append(wn.run(wn.WeightNorm(1e200, 0.0), problem, 1.0, w0, max_steps=5))
    for run, twin in zip([*runs, wild], twins, strict=True):
        assert (run.status, run.num_steps) == (twin.status, twin.num_steps)
    assert runs[1].status == wild.status == "diverged"


@pytest.mark.parametrize("count", [1, 3])
def test_a_step_onto_zero_is_not_made(count):
    """w − η g G = 1 − 2·1·½: the direction stays, the scale moves."""
    problem = wn.GeneralizedLinear(np.eye(1), [0.5], "huber")
    ones = np.ones((count, 1))
    for options in ({}, {"momentum": 0.5}):
        pair = [
            batch_of(wn.RPGD(2.0, 0.25, **options), problem, ones[:, 0], ones, kind)
            for kind in (1, 0)
        ]
        for batch in pair:
            batch.advance(1)
        assert pair[0].position().unit[:, 0].tolist() == [1.0] * count
        assert pair[0].position().scale.tolist() == [0.875] * count
        for batch in pair:
            batch.advance(2)
        assert_same_runs(*pair)


@pytest.mark.parametrize("count", [1, 3])
def test_nor_is_that_of_a_buffer(count):
    """g = 0, so that ∇_w = 0, and a buffer of 2 w: w − 1·(½·2 w) = 0."""
    problem, w0 = make("huber")
    method, small = wn.WeightNorm(1.0, 0.1, momentum=0.5), problem.reduce().problem
    units = np.tile(problem.reduce().enter(w0[None] / np.linalg.norm(w0)), (count, 1))
    buffers = {"vector_buffer": 2.0 * units, "scale_buffer": np.zeros(count)}
    state = State(units, np.zeros(count), buffers)
    begun = Start(state.scale, units, state=state)
    pair = [start(method, small, begun, 0.0, compiled=kind) for kind in (True, False)]
    for batch in pair:
        batch.advance(1)
    np.testing.assert_array_equal(pair[0].position().unit, pair[1].position().unit)
    for batch in pair:
        batch.advance(3)
    assert_same_runs(*pair)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("keep", [(), ("weights",)])
def test_an_interruption_loses_nothing(monkeypatch, keep):
    problem, w0 = make("logistic")
    original, calls = ModelBatch.advance, []

    def interrupted(self, count, every=0):
        calls.append(count)
        answer = original(self, count, every)
        if sum(calls) > 300:
            calls[:] = [-(10**9)]  # once only
            raise KeyboardInterrupt
        return answer

    options = {"tolerance": 0, "record": 10, "keep": keep}
    method = wn.RPGD(0.02, 0.02)
    with monkeypatch.context() as patch:
        patch.setattr(ModelBatch, "advance", interrupted)
        patch.setattr("weightnorm.engine.loop.SLICE", 100)
        with pytest.raises(wn.Interrupted) as stop:
            wn.run(method, problem, 2.0, w0, max_steps=2_000, **options)
    so_far = stop.value.result
    assert so_far.num_steps >= 100
    assert so_far.history.step.tolist() == list(range(0, so_far.num_steps + 1, 10))
    rest = wn.run(method, problem, start=so_far, max_steps=100, **options)
    whole = wn.run(method, problem, 2.0, w0, max_steps=so_far.num_steps + 100, **options)
    np.testing.assert_array_equal(rest.weights, whole.weights)
    new = rest.history.step > so_far.num_steps
    joined = np.concatenate([so_far.history.loss, rest.history.loss[new]])
    np.testing.assert_array_equal(joined, whole.history.loss)


def test_what_the_kernel_does_not_know_goes_by_the_rules():
    class Softer(Logistic):
        def value(self, z):
            return 0.5 * super().value(z)

        def derivative(self, z):
            return 0.5 * super().derivative(z)

    class Slower(wn.RPGD):
        pass

    problem, _ = make("logistic")
    small, plain = problem.reduce().problem, wn.RPGD(0.1, 0.1)
    assert backend_of(plain, small) is ModelBatch
    assert backend_of(wn.RPGD(0.1, 0.1, momentum=0.5), small) is ModelBatch
    assert backend_of(wn.RPGD(0.1, 0.1, batch_size=3, seed=0), small) is RulesBatch
    assert backend_of(Slower(0.1, 0.1), small) is RulesBatch
    own = wn.GeneralizedLinear(problem.A, problem.y, Softer(problem.loss.signs))
    assert backend_of(plain, own.reduce().problem) is RulesBatch
