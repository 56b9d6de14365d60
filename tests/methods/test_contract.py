"""Every method × every kind of matrix × every kind of schedule, against plain d-dimensional
twins.
"""

import numpy as np
import pytest

import weightnorm as wn
from tests.support.cases import MATRICES, METHODS, SCHEDULES, build, slow, twin_steps
from tests.support.reference import assert_same_stop, reference_run

NUM_STEPS = 10_000
FEWER_STEPS = 2_000  # past every switch of the schedules


def problem_of(matrix):
    A, dense = MATRICES[matrix]
    rng = np.random.default_rng(1)
    y = dense @ rng.standard_normal(dense.shape[1]) + (
        0.1 * rng.standard_normal(dense.shape[0]) if "tall" in matrix else 0
    )
    if matrix == "integers":
        y = y / 4
    return wn.LeastSquares(A, y), dense, y, rng.standard_normal(dense.shape[1])


# Gradient descent has neither a scale nor a norm that a step could depend on.
PAIRS = [
    (method, schedule)
    for method in METHODS
    for schedule in SCHEDULES
    if (method, schedule) != ("gd", "scaled")
]


def test_a_step_that_depends_on_what_the_method_lacks_is_refused():
    with pytest.raises(ValueError, match="which it does not have"):
        build("gd", SCHEDULES["scaled"][0])


@pytest.mark.parametrize(("method", "schedule"), PAIRS)
@pytest.mark.parametrize("matrix", MATRICES)
def test_reduced_run_equals_the_full_twin(method, matrix, schedule):
    """Every matrix; the whole length on one of them, and on all in a slow test."""
    compare_with_twin(method, matrix, schedule, NUM_STEPS if matrix == "dense" else FEWER_STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "schedule"), PAIRS)
@pytest.mark.parametrize("matrix", [matrix for matrix in MATRICES if matrix != "dense"])
def test_long_reduced_run_equals_the_full_twin(method, matrix, schedule):
    compare_with_twin(method, matrix, schedule, NUM_STEPS)


def compare_with_twin(method, matrix, schedule, num_steps):
    problem, dense, y, w0 = problem_of(matrix)
    largest = np.linalg.norm(dense, 2) ** 2
    result = wn.run(
        build(method, SCHEDULES[schedule][0]), problem, 1.2, w0, tolerance=0, max_steps=num_steps
    )
    twin = reference_run(
        method, dense, y, 1.2, w0, twin_steps(method, schedule, largest), max_steps=num_steps
    )

    assert result.num_steps == twin["num_steps"]
    size = np.linalg.norm(twin["weights"])
    assert np.linalg.norm(result.weights - twin["weights"]) <= 1e-10 * size
    if method != "gd":
        assert result.scale == pytest.approx(twin["scale"], rel=1e-10)
        assert result.direction_norm == pytest.approx(twin["direction_norm"], rel=1e-10)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("method", ["wn", "rpgd"])
def test_schedules_of_the_scale_too(method, schedule):
    """The same schedules on the scale's step, with a real stop."""
    problem, dense, y, w0 = problem_of("dense")
    rule = build(method, 0.05, SCHEDULES[schedule][0])
    both = twin_steps(method, schedule, np.linalg.norm(dense, 2) ** 2)
    result = wn.run(rule, problem, 1.2, w0, tolerance=1e-6, max_steps=NUM_STEPS)
    twin = reference_run(
        method,
        dense,
        y,
        1.2,
        w0,
        lambda t, g, n: (0.05, both(t, g, n)[0]),
        tolerance=1e-6,
        max_steps=NUM_STEPS,
    )
    assert_same_stop(result.num_steps, result.loss, twin["num_steps"], twin["loss"], 1e-6)
    assert np.linalg.norm(result.weights - twin["weights"]) <= 1e-10 * np.linalg.norm(
        twin["weights"]
    )


@pytest.mark.rounding
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("method", METHODS)
def test_stops_at_the_same_iterate_as_the_twin(method, matrix):
    problem, dense, y, w0 = problem_of(matrix)
    tolerance = problem.floor + 1e-6
    result = wn.run(build(method, 0.05), problem, 1.2, w0, tolerance=tolerance, max_steps=200_000)
    twin = reference_run(
        method,
        dense,
        y,
        1.2,
        w0,
        twin_steps(method, "constant", 1.0),
        tolerance=tolerance,
        max_steps=200_000,
    )
    assert result.status == "converged"
    assert_same_stop(result.num_steps, result.loss, twin["num_steps"], twin["loss"], tolerance)
    assert result.loss == pytest.approx(twin["loss"], rel=1e-9)
    assert np.linalg.norm(result.weights - twin["weights"]) <= 1e-10 * np.linalg.norm(
        twin["weights"]
    )


@pytest.mark.parametrize(("method", "schedule"), PAIRS)
@pytest.mark.parametrize(
    "matrix", ["dense", "sparse", "operator", *slow(["tall", "rank-deficient"])]
)
def test_full_coordinates_give_the_same_result(method, matrix, schedule):
    problem, *_, w0 = problem_of(matrix)
    rule = build(method, SCHEDULES[schedule][0])
    reduced, full = (
        wn.run(
            rule,
            wn.LeastSquares(problem.A, problem.y),
            1.2,
            w0,
            tolerance=0,
            max_steps=1000,
            coordinates=c,
        )
        for c in ("reduced", "full")
    )
    assert full.num_steps == reduced.num_steps
    assert np.linalg.norm(full.weights - reduced.weights) <= 1e-10 * full.norm
    assert full.loss == pytest.approx(reduced.loss, rel=1e-8, abs=1e-14)
    assert full.perp_norm == pytest.approx(reduced.perp_norm, rel=1e-8, abs=1e-10)
    assert full.distance == pytest.approx(reduced.distance, rel=1e-8, abs=1e-9)
