"""run(): stopping, statuses, recording, going on."""

import numpy as np
import pytest

import weightnorm as wn
from tests.support.cases import METHODS, build

STEP = 0.05


@pytest.mark.parametrize("method", METHODS)
def test_result_is_consistent_with_itself(problem, w0, method):
    result = wn.run(build(method, STEP, STEP), problem, 2.0, w0)
    assert result.status == wn.Status.CONVERGED == "converged"
    assert result.loss <= 1e-5
    assert result.loss == pytest.approx(problem.value(result.weights), rel=1e-9)
    np.testing.assert_allclose(result.scale * result.direction, result.weights, rtol=0, atol=1e-15)
    assert result.norm == pytest.approx(np.linalg.norm(result.weights), rel=1e-13)
    rest = problem.factorisation.split(result.weights)[1]
    assert result.perp_norm == pytest.approx(np.linalg.norm(rest), rel=1e-11)
    assert result.distance == pytest.approx(
        np.linalg.norm(result.weights - problem.solution), rel=1e-11
    )


def test_stops_at_the_first_iterate_within_tolerance(problem, w0):
    result = wn.run(wn.RPGD(STEP, STEP), problem, 2.0, w0, record=1)
    assert (result.history.loss[:-1] > 1e-5).all()
    assert result.history.loss[-1] == result.loss <= 1e-5
    assert result.history.step[-1] == result.num_steps


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_a_loss_of_exactly_the_tolerance_is_within_it(problem, w0, coordinates):
    start = wn.run(wn.RPGD(STEP, STEP), problem, 2.0, w0, max_steps=0, coordinates=coordinates)
    there = wn.run(
        wn.RPGD(STEP, STEP), problem, 2.0, w0, tolerance=start.loss, coordinates=coordinates
    )
    assert (there.num_steps, there.status) == (0, "converged")


def test_a_start_within_tolerance_makes_no_step(problem, w0):
    result = wn.run(wn.WeightNorm(STEP, STEP), problem, 2.0, w0, tolerance=1e6, record=5)
    assert result.num_steps == 0
    assert result.status == "converged"
    assert result.history.step.tolist() == [0]
    np.testing.assert_allclose(result.weights, 2.0 * w0, atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_zero_steps_allowed_evaluates_the_start(problem, w0, method):
    result = wn.run(build(method, STEP), problem, 2.0, w0, max_steps=0)
    assert (result.num_steps, result.status) == (0, "max_steps")
    assert result.loss == pytest.approx(problem.value(2.0 * w0), rel=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_max_steps(problem, w0, method):
    result = wn.run(build(method, STEP), problem, 2.0, w0, tolerance=1e-20, max_steps=7)
    assert (result.num_steps, result.status) == (7, "max_steps")
    assert "max_steps = 7" in result.message


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("method", METHODS)
def test_too_large_a_step_diverges(problem, w0, method, coordinates):
    result = wn.run(build(method, 50.0, 50.0), problem, 2.0, w0, coordinates=coordinates)
    assert result.status == "diverged"
    assert "smaller steps" in result.message


@pytest.mark.parametrize("method", METHODS)
def test_overflow_to_infinity_and_nan_diverges(problem, w0, method):
    result = wn.run(build(method, 1e200, 1e200), problem, 2.0, w0)
    assert result.status == "diverged"


def test_a_diverged_result_is_no_start(problem, w0):
    result = wn.run(wn.GradientDescent(1.7e308), problem, 2.0, w0)
    assert not np.isfinite(result.weights).all()
    with pytest.raises(ValueError, match="it diverged"):
        wn.run(wn.RPGD(STEP, STEP), problem, start=result)


@pytest.mark.rounding
class TestStationary:
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    @pytest.mark.parametrize("method", ["wn", "rpgd"])
    def test_orthogonal_start_at_scale_zero_is_a_point_of_s(self, problem, w0, method, coordinates):
        off = problem.split(w0)[1]
        result = wn.run(build(method, STEP, STEP), problem, 0.0, off, coordinates=coordinates)
        assert (result.status, result.num_steps) == ("stationary", 0)
        assert "point of S" in result.message
        assert result.loss == pytest.approx(0.5 * problem.y @ problem.y)

    @pytest.mark.parametrize("method", ["wn", "rpgd"])
    def test_in_s_without_being_orthogonal_to_the_row_space(self, problem, w0, method):
        gradient = problem.A.T @ problem.y
        w = w0 - (w0 @ gradient) / (gradient @ gradient) * gradient
        assert wn.run(build(method, STEP, STEP), problem, 0.0, w).status == "stationary"

    def test_other_starts_at_scale_zero_converge(self, problem, w0):
        result = wn.run(wn.RPGD(STEP, STEP), problem, 0.0, w0)
        assert result.status == "converged"
        assert np.sign(result.scale) == np.sign(problem.y @ problem.A @ w0)

    @pytest.mark.parametrize("method", METHODS)
    def test_floor_of_an_unreachable_y(self, method):
        A = np.vstack([np.eye(2, 6), np.eye(2, 6)])  # rank 2
        problem = wn.LeastSquares(A, [1.0, 1.0, 0.0, 1.0])
        assert problem.floor == pytest.approx(0.25)
        result = wn.run(build(method, 0.1, 0.1), problem, 1.0, np.arange(1.0, 7.0))
        assert result.status == "stationary"
        assert "unreachable" in result.message
        assert "0.25" in result.message
        assert result.loss == pytest.approx(0.25, abs=1e-14)

    def test_fixed_scale_settles_where_the_theory_says(self, problem, w0):
        result = wn.run(wn.RPGD(0.2, 0.0), problem, 1.0, w0)
        assert result.status == "stationary"
        assert "scale" in result.message
        gradient = problem.gradient(result.weights)  # parallel to w there
        np.testing.assert_allclose(
            gradient, (gradient @ result.direction) * result.direction, atol=1e-12
        )

    def test_a_frozen_first_phase_is_not_mistaken_for_the_end(self, problem, w0):
        thaw = wn.schedules.two_phase(0.0, 0.1, switch=20_000)
        result = wn.run(wn.RPGD(0.2, thaw), problem, 1.0, w0)
        assert result.status == "converged"
        assert result.num_steps > 20_000

    def test_a_callable_that_sleeps_is_not_mistaken_either(self, problem, w0):
        result = wn.run(wn.RPGD(0.2, lambda t: 0.1 if t >= 20_000 else 0.0), problem, 1.0, w0)
        assert result.status == "converged"

    def test_rounding_allows_no_less(self, problem, w0):
        result = wn.run(wn.GradientDescent(0.5), problem, 1.0, w0, tolerance=1e-60)
        assert result.status == "stationary"
        assert "raise the tolerance" in result.message

    def test_tolerance_zero_makes_all_the_steps(self, problem, w0):
        result = wn.run(wn.GradientDescent(0.5), problem, 1.0, w0, tolerance=0, max_steps=30_000)
        assert (result.status, result.num_steps) == ("max_steps", 30_000)


@pytest.mark.rounding
class TestCycles:
    """A cycle of even period comes back at every look; it must not pass for a standstill."""

    @pytest.mark.parametrize(
        ("method", "arguments"),
        [(wn.RPGD(0.3, 0.0), (20, 50, 1.0)), (wn.RPGD(0.3, 0.1), (3, 8, 3.0))],
    )
    def test_a_cycle_is_not_stationary(self, method, arguments):
        seed = 0 if arguments[0] == 20 else 1
        problem = wn.datasets.make_regression(*arguments, seed=seed)
        start = wn.datasets.random_direction(arguments[1], seed)
        result = wn.run(method, problem, 2.8, start, max_steps=40_000)
        after = wn.run(method, problem, start=result, max_steps=1)
        assert np.linalg.norm(after.weights - result.weights) > 1e-3
        assert result.status == "max_steps"
        assert "a cycle: try smaller steps" in result.message

    def test_gradient_descent_at_twice_the_stable_step(self):
        problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
        result = wn.run(wn.GradientDescent(2.0), problem, 3.0, [1.0, 1.0], max_steps=20_000)
        assert result.status == "max_steps"


class TestFullCoordinates:
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    def test_statuses_at_the_start(self, problem, w0, coordinates):
        def go(method, problem, scale, **options):
            return wn.run(method, problem, scale, w0, coordinates=coordinates, **options)

        assert (
            go(wn.RPGD(STEP, STEP), problem, 1.0, tolerance=1e6, max_steps=0).status == "converged"
        )
        assert (
            go(wn.RPGD(STEP, STEP), wn.LeastSquares(problem.A, 0 * problem.y), 0.0).status
            == "converged"
        )
        assert go(wn.GradientDescent(STEP), problem, 1e200, max_steps=0).status == "diverged"
        assert "at the start already" in go(wn.RPGD(STEP, STEP), problem, 1e200).message

    def test_lsqr_waits_until_it_is_asked(self, problem, w0, monkeypatch):
        fresh = wn.LeastSquares(problem.A, problem.y)
        calls = []
        monkeypatch.setattr(
            fresh, "_lsqr", lambda b: calls.append(1) or wn.LeastSquares._lsqr(fresh, b)
        )
        result = wn.run(wn.RPGD(STEP, STEP), fresh, 1.0, w0, coordinates="full")
        assert (calls, "perp_norm" in repr(result)) == ([], False)
        expected = wn.run(wn.RPGD(STEP, STEP), problem, 1.0, w0)
        assert result.perp_norm == pytest.approx(expected.perp_norm, rel=1e-9)
        assert result.distance == pytest.approx(expected.distance, rel=1e-9)
        assert not fresh.is_factorised

    def test_the_floor_is_named_without_a_factorisation(self):
        problem = wn.LeastSquares(np.vstack([np.eye(2, 6), np.eye(2, 6)]), [1.0, 1.0, 0.0, 1.0])
        result = wn.run(wn.GradientDescent(0.5), problem, 1.0, np.ones(6), coordinates="full")
        assert result.status == "stationary"
        assert "unreachable" in result.message


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("method", [wn.RPGD(1e160, 0.1), wn.WeightNorm(1e160, 0.1)])
def test_an_overflowing_norm_diverges(problem, w0, method, coordinates):
    result = wn.run(method, problem, 1.2, w0, max_steps=3, coordinates=coordinates)
    assert result.status == "diverged"
    assert "‖w‖ overflowed" in result.message


def test_a_callable_is_not_asked_far_beyond_the_run(problem, w0):
    needed = wn.run(wn.GradientDescent(STEP), problem, 2.0, w0)
    rates = [STEP] * (needed.num_steps + 64)
    result = wn.run(wn.GradientDescent(lambda t: rates[t]), problem, 2.0, w0)
    assert result.num_steps == needed.num_steps


def test_a_method_of_ones_own_runs_by_its_own_rule(problem, w0):
    class Half(wn.RPGD):
        def update(self, state, evaluation, vector_step, scale_step):
            return super().update(state, evaluation, vector_step / 2, scale_step / 2)

    mine = wn.run(Half(STEP, STEP), problem, 2.0, w0)
    theirs = wn.run(wn.RPGD(STEP / 2, STEP / 2), problem, 2.0, w0)
    assert mine.num_steps == theirs.num_steps
    np.testing.assert_allclose(mine.weights, theirs.weights, atol=1e-12)
    data = wn.sweep(problem, {"mine": Half(STEP, STEP)}, [2.0], w0)
    assert int(data.num_steps.item()) == theirs.num_steps


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 0.0])
@pytest.mark.parametrize(
    "method", [wn.RPGD(STEP, STEP), wn.WeightNorm(STEP, STEP), wn.GradientDescent(1e10)]
)
def test_beyond_all_measure_there_is_still_a_status(problem, w0, method, scale, coordinates):
    """Overflow and division by zero: what is not finite is called diverged, in a run and in a
    sweep alike.
    """
    result = wn.run(method, problem, scale, w0, max_steps=100, coordinates=coordinates)
    data = wn.sweep(problem, {"m": method}, [scale], w0, max_steps=100, coordinates=coordinates)
    assert result.status.code == int(data.status.item())
    diverges = scale == 1e200 or isinstance(method, wn.GradientDescent)
    assert (result.status == "diverged") == diverges
    assert diverges or (np.isfinite(result.weights).all() and np.isfinite(result.loss))
    assert np.geterr()["over"] == "warn"  # the silence is the run's own
