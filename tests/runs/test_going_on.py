"""run(): recording and going on."""

import numpy as np
import pytest

import weightnorm as wn
from tests.runs.test_run import STEP
from tests.support.cases import METHODS, build
from tests.support.reference import reference_run
from weightnorm.engine import recording
from weightnorm.engine.stopping import FIRST_LOOK


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
    state = small._resume.state
    mantissa, exponent = state["perp_mantissa"][0], state["perp_exponent"][0]
    assert exponent <= -2  # … but known: p·2^(500·exponent)
    # The recursion ‖w⊥‖' = ‖w⊥‖/‖v‖ in logarithms, on the reduced problem, in plain NumPy.
    z, p = _reduced(problem, w0)
    lam, xi = problem.factorisation.singular_values**2, problem.target
    log_perp = np.log(p)
    for _ in range(400):
        v = z - (0.01 * lam * (0.01 * z - xi)) / (0.01**2 * lam[0])
        n = np.sqrt(v @ v + np.exp(2 * log_perp))
        z, log_perp = v / n, log_perp - np.log(n)
    # v is kept before its normalisation, so p lags one norm behind.
    kept = np.log(mantissa) + 500 * exponent * np.log(2) + np.log(state["inverse_norm"][0])
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
