"""run(): stopping, statuses, recording, going on."""

import numpy as np
import pytest
from cases import METHODS, build
from reference import reference_run

import weightnorm as wn
from weightnorm.engine import recording
from weightnorm.engine.loop import FIRST_LOOK

STEP = 0.05


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(8, 20, condition_number=2.0, seed=3)


@pytest.fixture(scope="module")
def w0():
    return wn.datasets.random_direction(20, seed=4)


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


class TestRecording:
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    @pytest.mark.parametrize("method", METHODS)
    def test_history_equals_runs_stopped_there(self, problem, w0, method, coordinates):
        rule = build(method, STEP, STEP)
        result = wn.run(
            rule, problem, 2.0, w0, tolerance=0, max_steps=100, record=25, coordinates=coordinates
        )
        assert result.history.step.tolist() == [0, 25, 50, 75, 100]
        for i, step in enumerate(result.history.step):
            there = reference_run(
                method, problem.A, problem.y, 2.0, w0, lambda *_: (STEP, STEP), max_steps=int(step)
            )
            x = there["weights"]
            assert result.history.loss[i] == pytest.approx(there["loss"], rel=1e-10)
            assert result.history.weights_norm[i] == pytest.approx(np.linalg.norm(x), rel=1e-12)
            assert result.history.perp_norm[i] == pytest.approx(
                np.linalg.norm(problem.split(x)[1]), rel=1e-10
            )
            if method == "gd":
                assert result.history.scale[i] == pytest.approx(np.linalg.norm(x), rel=1e-12)
            else:
                assert result.history.scale[i] == pytest.approx(there["scale"], rel=1e-12)
                assert result.history.direction_norm[i] == pytest.approx(
                    there["direction_norm"], rel=1e-12
                )

    def test_wn_norm_grows_and_rpgd_stays_on_the_sphere(self, problem, w0):
        for method, grows in (("wn", True), ("rpgd", False)):
            norm = wn.run(
                build(method, STEP, STEP), problem, 2.0, w0, record=1
            ).history.direction_norm
            assert (np.diff(norm) > 0).all() if grows else (norm == 1).all()

    def test_longer_than_a_slice(self, problem, w0):
        result = wn.run(
            wn.RPGD(1e-4, 1e-4), problem, 2.0, w0, tolerance=0, max_steps=10_001, record=10
        )
        assert result.history.step.tolist() == list(range(0, 10_001, 10))

    def test_memory_is_bounded_by_doubling_the_spacing(self, problem, w0, monkeypatch):
        monkeypatch.setattr(recording, "MAX_RECORDS", 100)
        result = wn.run(
            wn.RPGD(1e-4, 1e-4), problem, 2.0, w0, tolerance=0, max_steps=9_000, record=3
        )
        history = result.history
        assert 50 < len(history) <= 100
        # the smallest doubling of 3 with at most 100 records of 9,000 steps
        assert history.every == 3 * 32
        assert (np.diff(history.step) == history.every).all()
        full = wn.run(
            wn.RPGD(1e-4, 1e-4), problem, 2.0, w0, tolerance=0, max_steps=int(history.step[-1])
        )
        assert history.loss[-1] == pytest.approx(full.loss, rel=1e-14)


@pytest.mark.rounding
class TestGoingOn:
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    @pytest.mark.parametrize("method", METHODS)
    def test_in_two_goes_equals_in_one_to_the_last_bit(self, problem, w0, method, coordinates):
        rule = build(method, STEP, wn.schedules.two_phase(0.0, STEP, 700))
        start = {"problem": problem, "coordinates": coordinates}
        whole = wn.run(rule, scale=2.0, direction=w0, tolerance=1e-12, record=50, **start)
        part = wn.run(rule, scale=2.0, direction=w0, tolerance=1e-12, max_steps=123, **start)
        rest = wn.run(rule, start=part, tolerance=1e-12, record=50, **start)
        assert part.num_steps + rest.num_steps == whole.num_steps == rest.total_steps
        assert rest.status == whole.status == "converged"
        np.testing.assert_array_equal(rest.weights, whole.weights)
        assert (rest.loss, rest.scale) == (whole.loss, whole.scale)
        np.testing.assert_array_equal(
            rest.history.step, whole.history.step[whole.history.step >= 150]
        )
        np.testing.assert_array_equal(
            rest.history.loss, whole.history.loss[whole.history.step >= 150]
        )

    def test_in_two_goes_a_standstill_is_seen_at_the_same_step(self, problem, w0):
        rule = wn.RPGD(0.2, 0.0)  # settles at a fixed scale, never converges
        whole = wn.run(rule, problem, 1.0, w0)
        part = wn.run(rule, problem, 1.0, w0, max_steps=5000)
        rest = wn.run(rule, problem, start=part)
        assert (part.status, whole.status, rest.status) == ("max_steps", "stationary", "stationary")
        assert rest.total_steps == whole.total_steps
        assert whole.total_steps >= 2 * FIRST_LOOK  # one look cannot tell
        # looks are at powers of two; which one sees it is up to rounding
        assert whole.total_steps.bit_count() == 1

    def test_with_gradient_descent_after_a_fixed_scale(self, problem, w0):
        first = wn.run(wn.RPGD(wn.schedules.curvature(), 0.0), problem, 0.2, w0, max_steps=2000)
        second = wn.run(wn.GradientDescent(1.0), problem, start=first, tolerance=1e-20)
        assert second.status == "converged"
        assert second.perp_norm == pytest.approx(first.perp_norm, abs=1e-15)
        assert second.distance <= 1e-9
        start = problem.value(first.weights)
        assert wn.run(
            wn.GradientDescent(1.0), problem, start=first, max_steps=0
        ).loss == pytest.approx(start)

    def test_another_method_begins_its_schedules_anew(self, problem, w0):
        first = wn.run(wn.GradientDescent(STEP), problem, 2.0, w0, max_steps=50)
        freeze = wn.schedules.two_phase(0.0, 0.1, switch=10)
        second = wn.run(
            wn.RPGD(STEP, freeze), problem, start=first, tolerance=0, max_steps=10, record=1
        )
        assert (second.history.scale == second.history.scale[0]).all()
        assert second.total_steps == 10

    def test_wn_keeps_its_norm_when_its_steps_change(self, problem, w0):
        first = wn.run(wn.WeightNorm(0.3, 0.0), problem, 2.0, w0, max_steps=50)
        assert first.direction_norm > 1.01
        second = wn.run(wn.WeightNorm(0.1, 0.1), problem, start=first, max_steps=0)
        assert second.direction_norm == pytest.approx(first.direction_norm, rel=1e-14)

    def test_between_coordinates(self, problem, w0):
        first = wn.run(wn.RPGD(STEP, STEP), problem, 2.0, w0, max_steps=50)
        a, b = (
            wn.run(wn.RPGD(STEP, STEP), problem, start=first, coordinates=c)
            for c in ("reduced", "full")
        )
        assert a.num_steps == b.num_steps
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-13)

    def test_ctrl_c_keeps_the_run_so_far(self, problem, w0, monkeypatch):
        advance = recording.Recorder.add
        calls = []

        def interrupt(self, records):
            advance(self, records)
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt

        monkeypatch.setattr(recording.Recorder, "add", interrupt)
        rule = wn.RPGD(1e-5, 1e-5)
        with pytest.raises(wn.Interrupted) as stop:
            wn.run(rule, problem, 2.0, w0, tolerance=0, max_steps=90_000, record=1000)
        monkeypatch.undo()
        part = stop.value.result
        assert part.num_steps == 2**16
        assert "go on with start=" in part.message
        rest = wn.run(rule, problem, start=part, tolerance=0, max_steps=90_000 - part.num_steps)
        whole = wn.run(rule, problem, 2.0, w0, tolerance=0, max_steps=90_000)
        np.testing.assert_array_equal(rest.weights, whole.weights)


def test_off_row_space_part_survives_underflow(problem, w0):
    """Under a small fixed scale w⊥ falls far below 1e-308; when the scale outgrows g*, it comes
    back.
    """
    shrink = wn.RPGD(wn.schedules.curvature(), 0.0)
    small = wn.run(shrink, problem, 0.01, w0, tolerance=0, max_steps=400)
    assert small.perp_norm == 0.0  # below what a float64 can say
    fields = dict(
        zip(("inverse", "perp", "exponent"), small._resume.state.fields[0, [1, 2, 9]], strict=True)
    )
    assert fields["exponent"] <= -2  # … but known: p·2^(500·exponent)
    # The recursion ‖w⊥‖' = ‖w⊥‖/‖v‖ in logarithms, on the reduced problem, in plain NumPy.
    z, p = _reduced(problem, w0)
    lam, xi = problem.factorisation.singular_values**2, problem.target
    log_perp = np.log(p)
    for _ in range(400):
        v = z - (0.01 * lam * (0.01 * z - xi)) / (0.01**2 * lam[0])
        n = np.sqrt(v @ v + np.exp(2 * log_perp))
        z, log_perp = v / n, log_perp - np.log(n)
    # v is kept before its normalisation, so p lags one norm behind.
    kept = np.log(fields["perp"]) + 500 * fields["exponent"] * np.log(2) + np.log(fields["inverse"])
    assert kept == pytest.approx(log_perp, rel=1e-9)


def _reduced(problem, w0):
    z, rest = problem.factorisation.split(w0)
    return z, np.linalg.norm(rest)


def test_zero_norm_policy_keeps_the_direction():
    """d = 1, g = 2, w = 1, y = 3: v = 1 − η·2·(2 − 3)·… can vanish exactly; w must stay, not
    become NaN.
    """
    problem = wn.LeastSquares([[1.0]], [1.0])
    # v = w − η g (g w − y) = 1 − η·2·1 = 0 at η = 0.5
    for coordinates in ("reduced", "full"):
        result = wn.run(
            wn.RPGD(0.5, 0.1),
            problem,
            2.0,
            [1.0],
            tolerance=0,
            max_steps=1,
            coordinates=coordinates,
        )
        assert result.direction.tolist() == [1.0]
        assert result.scale == pytest.approx(1.9)


def test_dimension_does_not_matter():
    """The same reduced problem embedded in 60 and in 6,000 features makes the same steps."""
    counts = []
    for d in (60, 6_000):
        V = np.linalg.qr(np.random.default_rng(0).standard_normal((d, 9)))[0]
        A = np.diag([1.0, 0.8, 0.7, 0.5, 0.4]) @ V[:, :5].T
        w0 = V[:, :5] @ np.arange(1.0, 6.0) + 3.0 * V[:, 6]
        problem = wn.LeastSquares(A, np.ones(5))
        result = wn.run(wn.WeightNorm(0.05, 0.05), problem, 1.0, w0, tolerance=1e-8)
        counts.append((result.num_steps, round(result.norm, 9)))
    assert counts[0] == counts[1]
