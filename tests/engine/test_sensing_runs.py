"""Runs on matrix sensing: going on, statuses, bad input, and rules of one's own."""

import numpy as np
import pytest

import weightnorm as wn
from tests.engine.test_sensing import KINDS, STEP, build, small
from weightnorm.methods.schedules import scaled, two_phase


@pytest.mark.parametrize("kind", KINDS)
def test_going_on_equals_never_having_stopped(kind):
    problem, W = small()
    method = build(kind, STEP, two_phase(0, STEP, 150))
    whole = wn.run(method, problem, 0.8, W, tolerance=0, max_steps=300, record=50)
    first = wn.run(method, problem, 0.8, W, tolerance=0, max_steps=130)
    second = wn.run(method, problem, start=first, tolerance=0, max_steps=170, record=50)
    assert np.array_equal(whole.weights, second.weights)
    assert whole.loss == second.loss
    assert second.total_steps == 300
    assert list(whole.history.step) == [0, 50, 100, 150, 200, 250, 300]
    np.testing.assert_array_equal(whole.history.loss[3:], second.history.loss)
    assert whole.history.weights_norm[-1] == pytest.approx(whole.norm)
    assert whole.history.perp_norm[-1] == pytest.approx(whole.perp_norm)


@pytest.mark.parametrize("count", [2, 8, 9, 10, 17])
def test_a_run_that_is_left_over_by_its_block_is_the_same(count):
    """Eight go as a block, one more as a lone run: and again when others have ended."""
    problem, W = small()
    method, scales = wn.RPGD(STEP, STEP), np.linspace(0.2, 3.0, count)
    options = {"tolerance": 10.0, "max_steps": 2_000}
    data = wn.sweep(problem, {"m": method}, scales, W, **options)
    alone = [wn.run(method, problem, g, W, **options) for g in scales]
    assert len({end.num_steps for end in alone}) > 1
    assert data.num_steps.values.ravel().tolist() == [end.num_steps for end in alone]
    assert data.loss.values.ravel().tolist() == [end.loss for end in alone]


def test_an_interruption_keeps_the_run(monkeypatch):
    from weightnorm.engine.backends import sensing

    problem, W = small()
    method = wn.RPGD(STEP, STEP)
    original, calls = sensing.SensingBatch._advance, []

    def interrupt(self, count):
        calls.append(count)
        original(self, min(count, 100))
        if len(calls) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(sensing.SensingBatch, "_advance", interrupt)
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(method, problem, 0.8, W, tolerance=0, max_steps=1000)
    monkeypatch.setattr(sensing.SensingBatch, "_advance", original)
    done = stop.value.result.num_steps
    assert done == 300
    rest = wn.run(method, problem, start=stop.value.result, tolerance=0, max_steps=1000 - done)
    assert np.array_equal(
        rest.weights, wn.run(method, problem, 0.8, W, tolerance=0, max_steps=1000).weights
    )


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_another_method_goes_on_from_the_same_matrix(before, after):
    problem, W = small()
    first = wn.run(build(before, STEP, STEP), problem, 0.8, W, tolerance=0, max_steps=50)
    second = wn.run(build(after, STEP, STEP), problem, start=first, max_steps=0)
    np.testing.assert_allclose(second.weights, first.weights, rtol=1e-12, atol=1e-12)


def test_statuses():
    problem, W = small()
    assert wn.run(wn.GradientDescent(1.0), problem, 1.0, W).status == "diverged"
    stuck = wn.run(wn.GradientDescent(0.01), problem, 0.0, W)
    assert (stuck.status, stuck.num_steps) == ("stationary", 0)
    # g = 0, but the loss has a slope in g
    moves = wn.run(wn.RPGD(0.001, 0.001), problem, 0.0, W, max_steps=5)
    assert moves.status == "max_steps"
    assert moves.scale != 0.0
    # a negative trace, out of reach of U Uᵀ
    unreachable = wn.MatrixSensing(np.eye(3)[None], [-1.0])
    floor = wn.run(
        wn.GradientDescent(0.05), unreachable, 1.0, np.eye(3), tolerance=1e-6, max_steps=10**6
    )
    assert floor.status == "stationary"
    assert floor.loss == pytest.approx(0.5)
    reached = wn.run(wn.RPGD(0.05, 0.05), unreachable, 1.0, np.eye(3), tolerance=1e-12)
    assert reached.status == "converged"
    assert reached.scale == pytest.approx(-1.0, rel=1e-5)
    zero = wn.run(wn.RPGD(0.01, 0.01), wn.MatrixSensing(np.eye(3)[None], [0.0]), 1.0, np.eye(3))
    assert zero.status == "converged"


def test_scale_per_column_may_be_a_vector():
    problem, W = small(columns=3)
    D = np.array([1.0, -0.5, 0.0])
    result = wn.run(wn.RPGD(STEP, STEP, blocks="columns"), problem, D, W, max_steps=0)
    unit = W / np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(result.weights, unit @ np.diag(D) @ unit.T, atol=1e-14)
    assert "3 scales" in repr(result)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, W: wn.MatrixSensing(np.zeros((2, 3, 4)), [1.0, 2.0]), r"sensors must be square"),
        (
            lambda p, W: wn.MatrixSensing(np.zeros((2, 3)), [1.0, 2.0]),
            r"sensors must be an array \(m, d, d\)",
        ),
        (
            lambda p, W: wn.MatrixSensing(p.sensors, [1.0]),
            r"y must have 14 entries, one per sensor, got 1",
        ),
        (
            lambda p, W: wn.MatrixSensing(np.full((1, 2, 2), np.nan), [1.0]),
            r"sensors has 4 entries that are NaN",
        ),
        (
            lambda p, W: wn.MatrixSensing(p.sensors, p.y, ground_truth=np.eye(3)),
            r"ground_truth must have shape \(9, 9\)",
        ),
        (lambda p, W: p.value(np.eye(3)), r"X must have shape \(9, 9\)"),
        (lambda p, W: p.recovery_error(np.eye(9)), r"no ground_truth"),
        (
            lambda p, W: p.min_nuclear_norm("rank"),
            r"over must be one of 'psd', 'symmetric', 'all', got 'rank'",
        ),
        (
            lambda p, W: wn.run(wn.RPGD(0.1, 0.1), p, 1.0, W[:5]),
            r"direction must be a factor of shape \(9, r\)",
        ),
        (lambda p, W: wn.run(wn.RPGD(0.1, 0.1), p, 1.0, 0 * W), r"direction is zero"),
        (
            lambda p, W: wn.run(
                wn.RPGD(0.1, 0.1, blocks="columns"), p, 1.0, W * (np.arange(9) > 0)
            ),
            r"zero column, number 0",
        ),
        (
            lambda p, W: wn.run(wn.RPGD(0.1, 0.1, blocks="columns"), p, [1.0, 2.0], W),
            r"scale must be a number or have 9",
        ),
        (lambda p, W: wn.run(wn.RPGD(0.1, 0.1), p, [1.0, 2.0], W), r"scale must be a number"),
        (
            lambda p, W: wn.run(wn.GradientDescent(0.1), p, -1.0, W),
            r"scale must be at least 0 for GradientDescent",
        ),
        (
            lambda p, W: wn.run(wn.RPGD(wn.schedules.curvature(), 0.1), p, 1.0, W),
            r"RPGD has a curvature step.*MatrixSensing",
        ),
        (
            lambda p, W: wn.run(wn.RPGD(scaled(0.1, scale_power=-2), 0.1), p, 0.0, W),
            r"scale is 0 and the direction_step",
        ),
        (
            lambda p, W: wn.run(wn.RPGD(0.1, 0.1), p, 1.0, W, tolerance=-1.0),
            r"tolerance must be at least 0",
        ),
        (
            lambda p, W: wn.sweep(p, {"r": wn.RPGD(0.1, 0.1)}, [1.0], W[0]),
            r"directions must be an array",
        ),
        (
            lambda p, W: wn.datasets.make_sensing(size=3, rank=4),
            r"rank must be at most size = 3, got 4",
        ),
        (lambda p, W: wn.datasets.sensing_start(3, alpha=-1.0), r"alpha must be at least 0"),
        (
            lambda p, W: wn.search_step(p, lambda c: wn.RPGD(c, c), 1.0, W, largest=0.0),
            r"largest must be greater than 0",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(*small())


def test_least_squares_refuses_a_sensing_result():
    problem, W = small()
    result = wn.run(wn.RPGD(STEP, STEP), problem, 1.0, W, max_steps=1)
    with pytest.raises(ValueError, match="start has"):
        wn.run(wn.RPGD(0.1, 0.1), wn.datasets.make_regression(seed=0), start=result)


def test_a_sweep_marks_what_is_undefined():
    problem, W = small()
    methods = {
        "gd": wn.GradientDescent(1e-3),
        "inverse": wn.RPGD(scaled(1e-3, scale_power=-1), 1e-3),
    }
    data = wn.sweep(problem, methods, [-1.0, 0.0, 1.0], W, max_steps=5)
    undefined = data.status == wn.Status.UNDEFINED.code
    np.testing.assert_array_equal(
        undefined.values[:, 0], [[True, False, False], [False, True, False]]
    )


def test_a_method_of_ones_own_runs_by_its_own_rule():
    class Mine(wn.RPGD):
        """The same rule under another name."""

    problem, W = small()
    own = wn.run(Mine(STEP, STEP), problem, 1.0, W, tolerance=0, max_steps=100)
    theirs = wn.run(wn.RPGD(STEP, STEP), problem, 1.0, W, tolerance=0, max_steps=100)
    np.testing.assert_allclose(own.weights, theirs.weights, rtol=1e-12)
    data = wn.sweep(
        problem,
        {"own": Mine(STEP, STEP), "theirs": wn.RPGD(STEP, STEP)},
        [1.0],
        W,
        tolerance=0,
        max_steps=100,
    )
    assert np.ptp(data.norm.values) < 1e-12
