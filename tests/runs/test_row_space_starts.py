"""Starts in the row space of A: rounding may lead off it, and then everything says so."""

import warnings

import numpy as np
import pytest

import weightnorm as wn
from weightnorm import theory

ROW = np.array([[0.3, 0.5, 0.7]])
PROBLEM = wn.LeastSquares(ROW, 3.0 * np.linalg.norm(ROW, axis=1))
METHOD = wn.RPGD(0.3, 1e-3)
SAYS = "the start lies in the row space of A, to rounding"


class Turned(wn.RPGD):
    """rPGD whose direction is also pushed along an axis: it leaves the row space at once."""

    def update(self, state, evaluation, vector_step, scale_step):
        after = super().update(state, evaluation, vector_step, scale_step)
        vector = after.vector.copy()
        vector[:, 0] += 1e-3
        return after.moved(vector / np.linalg.norm(vector, axis=1, keepdims=True), after.scale)


def unseen(problem, x):
    return float(np.linalg.norm(x - np.linalg.pinv(problem.A) @ (problem.A @ x)))


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("tolerance", [1e-12, 0.0])
def test_a_run_whose_end_rounding_decides_is_warned_of(coordinates, tolerance):
    with pytest.warns(RuntimeWarning, match=SAYS):
        wn.run(
            METHOD,
            PROBLEM,
            -5.0,
            ROW[0],
            tolerance=tolerance,
            max_steps=1000,
            coordinates=coordinates,
        )


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_the_unseen_part_is_that_of_the_weights(coordinates):
    """In full coordinates too, where rounding has left the row space, and in the history."""
    with pytest.warns(RuntimeWarning, match=SAYS):
        run = wn.run(
            METHOD,
            PROBLEM,
            -5.0,
            ROW[0],
            tolerance=1e-12,
            coordinates=coordinates,
            record=50,
            keep="weights",
        )
    assert run.perp_norm == pytest.approx(unseen(PROBLEM, run.weights), abs=1e-12)
    assert run.distance == pytest.approx(np.hypot(run.perp_norm, 1.5e-6), rel=0.1)
    true = [unseen(PROBLEM, x) for x in run.history.weights]
    np.testing.assert_allclose(run.history.perp_norm, true, atol=1e-12)
    np.testing.assert_allclose(
        run.history.direction_perp_norm * np.abs(run.history.scale), true, atol=1e-12
    )


@pytest.mark.parametrize("factorised", [False, True])
def test_a_rule_that_leads_anywhere_is_measured_where_it_led(factorised):
    rng = np.random.default_rng(0)
    problem = wn.LeastSquares(rng.standard_normal((3, 7)), rng.standard_normal(3))
    if factorised:
        problem.min_norm_solution()
    rule = Turned(0.01, 0.01)
    limits = {"tolerance": 0, "max_steps": 40, "coordinates": "full"}
    w0 = rng.standard_normal(7)
    run = wn.run(rule, problem, 1.0, w0, record=10, keep="weights", **limits)
    true = [unseen(problem, x) for x in run.history.weights]
    np.testing.assert_allclose(run.history.perp_norm, true, rtol=1e-9)
    assert run.perp_norm == pytest.approx(unseen(problem, run.weights), rel=1e-9)
    data = wn.sweep(problem, {"own": rule}, 1.0, w0[None], **limits)
    assert float(data.perp_norm.squeeze()) == pytest.approx(run.perp_norm, rel=1e-9)


def test_limits_warn_and_do_not_promise():
    """The flow itself stays in the row space; a run at finite steps need not."""
    with pytest.warns(RuntimeWarning, match=r"‖x⊥‖ may end anywhere between 0 and 3\.97"):
        limit = theory.flow_limit(PROBLEM, -5.0, ROW[0], 1e-3 / 0.3)
    assert limit.applies
    assert limit.perp_norm == 0.0
    with pytest.warns(RuntimeWarning, match=SAYS):
        assert not theory.finite_step_limit(PROBLEM, 5.0, ROW[0], "rpgd", 1e-3, 0.1).applies


def test_a_sweep_and_a_flat_loss_are_warned_of():
    methods = {"near": wn.WeightNorm(0.01, 0.01), "far": METHOD}
    with pytest.warns(RuntimeWarning, match=f"far: {SAYS}") as caught:
        wn.sweep(PROBLEM, methods, [0.5, -5.0], ROW, max_steps=10)
    assert len(caught) == 1
    counts = wn.GeneralizedLinear([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1, 3], loss="poisson")
    with pytest.warns(RuntimeWarning, match=SAYS):
        wn.run(wn.WeightNorm(1e-3, 1e-5), counts, 2.0, [1.0, 0.0, 0.0], max_steps=3)


@pytest.mark.parametrize(
    ("scale", "direction", "method"),
    [
        (-5.0, ROW[0], wn.RPGD(0.3, 0.3)),  # g0²/c = 25
        (-5.0, [1.0, 0.0, 0.0], METHOD),  # much of it is off the row space
        (2.9, ROW[0], METHOD),  # under ‖x*‖: what is off it shrinks
        (-5.0, ROW[0], wn.GradientDescent(0.1)),
        (-5.0, ROW[0], wn.RPGD(0.3, 0.0)),
        (-5.0, ROW[0], wn.WeightNorm(0.3, 1e-3, initial_norm=20.0)),  # c = 1.3 of a unit direction
    ],
)
def test_other_starts_are_not(scale, direction, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wn.run(method, PROBLEM, scale, direction, max_steps=5)


def test_what_rounding_would_do_is_done_by_1e_minus_14_too():
    """The warning's bound is the flow's own end from a direction 1e-15 off the row space."""
    off = np.cross(ROW[0], [1.0, 0.0, 0.0])
    nearby = ROW[0] / np.linalg.norm(ROW) + 2e-14 * off / np.linalg.norm(off)
    limit = theory.flow_limit(PROBLEM, -5.0, nearby, 1e-3 / 0.3)
    assert limit.perp_norm == pytest.approx(3.97, abs=0.05)


def test_a_plan_does_not_rely_on_a_start_that_stays_in_the_row_space():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    inside = problem.A.T @ np.ones(problem.shape[0])
    plan = theory.plan(problem, 1e-3, scale=1e3, direction=inside)
    for coordinates in ("reduced", "full"):
        result = None
        for method, steps in plan.stages:
            begin = {"scale": plan.scale, "direction": inside} if result is None else {}
            begin |= {"start": result} if result is not None else {}
            result = wn.run(
                method, problem, **begin, tolerance=0, max_steps=steps, coordinates=coordinates
            )
        assert result.distance <= 1e-3 * 3.0


def test_where_nothing_is_off_the_row_space_rounding_cannot_lead_there():
    problem = wn.LeastSquares([[1.0, 0.2], [0.3, 1.0]], [1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert theory.flow_limit(problem, 50.0, [1.0, 1.0], 0.1).applies
        wn.run(wn.RPGD(1e-5, 1e-6), problem, 50.0, [1.0, 1.0], max_steps=3)
