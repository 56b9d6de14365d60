"""Every bad input has a clear error naming the parameter, what came and the fix, or a defined
status.
"""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import weightnorm as wn
from tests.support.bad_inputs import EYE, PROBLEM, RPGD, SENSING, A, W, Y, with_entry


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: wn.LeastSquares(with_entry(A, np.nan), Y),
            ValueError,
            r"A has 3 entries that are NaN.*\(1, 0\)",
        ),
        (
            lambda: wn.LeastSquares(A, with_entry(Y, np.inf)),
            ValueError,
            r"y has 1 entries that are NaN or infinite",
        ),
        (
            lambda: wn.LeastSquares(scipy.sparse.csr_array(with_entry(A, np.nan)), Y),
            ValueError,
            "A has 3 entries",
        ),
        (
            lambda: wn.LeastSquares(A[0], Y),
            ValueError,
            r"A must be a matrix \(m, d\), got shape \(3,\)",
        ),
        (lambda: wn.LeastSquares(np.empty((0, 3)), Y), ValueError, r"A is empty: shape \(0, 3\)"),
        (
            lambda: wn.LeastSquares(A, np.ones(3)),
            ValueError,
            "y must have 2 entries, one per row of A",
        ),
        (
            lambda: wn.LeastSquares(A, Y[:, None]),
            ValueError,
            r"y must be a vector \(n,\), got shape \(2, 1\)",
        ),
        (
            lambda: wn.LeastSquares(A + 1j, Y),
            TypeError,
            "A has dtype complex128, which float64 cannot hold",
        ),
        (
            lambda: wn.LeastSquares(A.astype(np.longdouble), Y),
            TypeError,
            "cannot hold without loss",
        ),
        (lambda: wn.LeastSquares(A.astype(str), Y), TypeError, "A has dtype <U"),
        (
            lambda: wn.LeastSquares(LinearOperator((2, 3), matvec=A.dot), Y),
            ValueError,
            "without rmatvec",
        ),
        (
            lambda: PROBLEM.value(np.ones(4)),
            ValueError,
            r"x must have shape \(3,\) or \(n, 3\), got \(4,\)",
        ),
        (
            lambda: wn.datasets.make_regression(condition_number=0.5),
            ValueError,
            "condition_number must be at least 1",
        ),
        (
            lambda: wn.datasets.make_regression(num_samples=0),
            ValueError,
            "num_samples must be at least 1, got 0",
        ),
        (lambda: wn.datasets.make_regression(seed=1.5), TypeError, "seed must be a whole number"),
        (
            lambda: wn.datasets.make_regression(solution_norm=-1),
            ValueError,
            "solution_norm must be at least 0, got -1",
        ),
        (lambda: wn.RPGD(-0.1, 0.1), ValueError, "direction_step must be at least 0, got -0.1"),
        (lambda: wn.RPGD(0.1, np.nan), ValueError, "scale_step must be finite, got nan"),
        (lambda: wn.RPGD(0.1, "fast"), TypeError, "scale_step must be a number, got str: 'fast'"),
        (
            lambda: wn.RPGD(0.1, 0.1, blocks="rows"),
            ValueError,
            "blocks must be one of 'all', 'columns', got 'rows'",
        ),
        (
            lambda: wn.WeightNorm(0.1, 0.1, initial_norm=0),
            ValueError,
            "initial_norm must be greater than 0, got 0",
        ),
        (lambda: wn.GradientDescent(-1), ValueError, "step must be at least 0, got -1"),
        (lambda: wn.GradientDescent(True), TypeError, "step must be a number, got bool"),
        (lambda: wn.schedules.two_phase(0, 1, -1), ValueError, "switch must be at least 0, got -1"),
        (lambda: wn.schedules.two_phase(0, -1, 5), ValueError, "after must be at least 0, got -1"),
        (
            lambda: wn.schedules.piecewise([1.0], [5]),
            ValueError,
            "one entry more than switches, got 1 and 1",
        ),
        (
            lambda: wn.schedules.piecewise([1, 2, 3], [5, 5]),
            ValueError,
            r"switches must increase, got \[5, 5\]",
        ),
        (
            lambda: wn.schedules.scaled(wn.schedules.curvature()),
            ValueError,
            "value is a curvature schedule",
        ),
        (
            lambda: wn.schedules.curvature(wn.schedules.scaled(1, 1)),
            ValueError,
            "schedule without powers",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, np.zeros(3)),
            ValueError,
            "direction is zero: a direction needs a nonzero",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, np.ones(4)),
            ValueError,
            "direction must have 3 entries.*got 4",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, with_entry(W, np.nan)),
            ValueError,
            "direction has 1 entries",
        ),
        (lambda: wn.run(RPGD, PROBLEM, np.nan, W), ValueError, "scale must be finite, got nan"),
        (lambda: wn.run(RPGD, PROBLEM, "1", W), TypeError, "scale must be a number, got str"),
        (
            lambda: wn.WeightNorm(0.1, 0.1, initial_norm=1e-200),
            ValueError,
            "initial_norm must be between 1e-100 and 1e100",
        ),
        (
            lambda: wn.run(RPGD, wn.LeastSquares([[1.7e308] * 3], [1.0]), 1.0, W),
            ValueError,
            "largest entry of 1.7e\\+308",
        ),
        (
            lambda: wn.run(
                wn.RPGD(wn.schedules.curvature(), 0.1),
                wn.LeastSquares(0 * A, Y),
                1.0,
                W,
                coordinates="full",
            ),
            ValueError,
            "A is zero, so λmax = 0",
        ),
        (
            lambda: wn.sweep(PROBLEM, [RPGD], [1.0], W),
            TypeError,
            "methods must be a mapping such as",
        ),
        (lambda: wn.sweep(PROBLEM, {}, [1.0], W), TypeError, "methods must be a mapping such as"),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0, np.nan], W),
            ValueError,
            "scales has 1 entries",
        ),
        (lambda: wn.sweep(PROBLEM, {"a": RPGD}, [], W), ValueError, "scales is empty"),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], [W, 0 * W]),
            ValueError,
            r"directions\[1\] is zero",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], np.ones((2, 4))),
            ValueError,
            "must have 3 entries",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], W, threads=0),
            ValueError,
            "threads must be at least 1",
        ),
        (
            lambda: wn.sweep(PROBLEM, {("a", 1): RPGD}, [1.0], W),
            TypeError,
            r"methods must have names.*tuple: \('a', 1\)",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD, 1: RPGD}, [1.0], W),
            TypeError,
            "methods must have names",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD, "b": {}}, [1.0], W),
            TypeError,
            r"methods\['b'\]: method must be",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [[1.0], [1.0, 2.0]], W),
            ValueError,
            "scales is not a rectangular array",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], W, max_steps=10**400),
            ValueError,
            "max_steps must be at most",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], W, progress=3),
            TypeError,
            r"progress\(1, 1\) failed",
        ),
        (lambda: wn.sweep(SENSING, {1: RPGD}, [1.0], [EYE]), TypeError, "methods must have names"),
        (
            lambda: wn.sweep(SENSING, {"a": RPGD}, [1.0], [[1.0], [1.0, 2.0]]),
            ValueError,
            "directions is not a rectangular",
        ),
        (lambda: wn.run(RPGD, PROBLEM, np.ma.masked, W), TypeError, "scale is a masked array"),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, np.ma.array(W, mask=W > 0)),
            TypeError,
            "direction is a masked array",
        ),
        (lambda: wn.LeastSquares(np.ma.array(A, mask=A > 1), Y), TypeError, "A is a masked array"),
        (
            lambda: wn.RPGD(0.1, 0.1, blocks=np.array(["all", "columns"])),
            ValueError,
            "blocks must be one of",
        ),
        (
            lambda: wn.datasets.make_regression(10**9, 10**9),
            ValueError,
            "num_samples · num_features must be at most",
        ),
        (
            lambda: wn.datasets.make_regression(3, 10**400),
            ValueError,
            "got a number of about 401 digits",
        ),
        (
            lambda: wn.datasets.random_direction(10**18, 0),
            ValueError,
            "num_features must be at most",
        ),
        (
            lambda: wn.datasets.make_sensing(3, 1, 2**62),
            ValueError,
            "num_measurements · size · size must be at most",
        ),
        (lambda: wn.datasets.sensing_start(2**40), ValueError, "size · size must be at most"),
        (
            lambda: wn.datasets.make_regression(solution_norm=1e200),
            ValueError,
            "solution_norm must be at most 1e140",
        ),
        (lambda: wn.theory.plan(A, 0.1), TypeError, "problem must be a LeastSquares, got ndarray"),
        (
            lambda: wn.flow(A, 1.0, W),
            TypeError,
            "problem must be a LeastSquares or a GeneralizedLinear, got ndarray",
        ),
        (lambda: wn.search_step(SENSING, 3, 1.0, EYE), TypeError, "rule must be callable, got int"),
        (
            lambda: wn.search_step(SENSING, lambda c: None, 1.0, EYE),
            TypeError,
            "rule must give a GradientDescent",
        ),
        (
            lambda: wn.search_step(SENSING, lambda c: 1 / 0, 1.0, EYE),
            ValueError,
            r"rule\(0.5\) failed: ZeroDivisionError",
        ),
        (
            lambda: wn.search_step(SENSING, lambda c: wn.RPGD(c, c), 1.0, EYE, refinements=50),
            ValueError,
            "refinements must be at most 14 with max_steps = 40000, got 50",
        ),
    ],
)
def test_errors_name_the_parameter(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_rank_deficient_a_has_its_numerical_rank():
    deficient = np.vstack([A, A[0] + A[1]])
    problem = wn.LeastSquares(deficient, np.append(Y, Y.sum()))
    assert problem.factorisation.rank == 2
    assert problem.floor == 0.0
    result = wn.run(RPGD, problem, 1.0, W, tolerance=1e-12)
    assert result.status == "converged"


def test_y_out_of_reach_says_that_converging_is_impossible():
    problem = wn.LeastSquares(np.vstack([A, A[0]]), [1.0, 2.0, 0.0])
    result = wn.run(wn.GradientDescent(0.01), problem, 1.0, W, max_steps=10)
    assert result.status == "max_steps"
    assert "cannot go below 0.25" in result.message


def test_zero_y_and_zero_a_have_answers():
    for matrix in (A, 0 * A):
        problem = wn.LeastSquares(matrix, 0 * Y)
        np.testing.assert_array_equal(problem.min_norm_solution(), np.zeros(3))
        for method in (wn.GradientDescent(0.1), wn.WeightNorm(0.1, 0.1), RPGD):
            assert wn.run(method, problem, 1.0, W).status == "converged"


def test_zero_a_with_a_target_stands_still():
    problem = wn.LeastSquares(0 * A, Y)
    assert problem.floor == pytest.approx(2.5)
    for method in (wn.GradientDescent(0.1), wn.WeightNorm(0.1, 0.1), RPGD):
        result = wn.run(method, problem, 1.0, W)
        assert result.status == "stationary"
        np.testing.assert_allclose(result.weights, W / np.sqrt(3), atol=1e-15)


def test_more_rows_than_columns():
    rng = np.random.default_rng(0)
    tall, y = rng.standard_normal((9, 3)), rng.standard_normal(9)
    problem = wn.LeastSquares(tall, y)
    best = np.linalg.lstsq(tall, y)[0]
    np.testing.assert_allclose(problem.min_norm_solution(), best, atol=1e-14)
    result = wn.run(wn.RPGD(0.01, 0.01), problem, 0.5, W)
    assert result.status == "stationary"
    np.testing.assert_allclose(result.weights, best, atol=1e-12)
    assert result.perp_norm == 0.0


def test_huge_and_tiny_directions_are_normalised():
    a = wn.run(RPGD, PROBLEM, 1.0, W)
    for factor in (1e300, 1e-300):
        np.testing.assert_allclose(
            wn.run(RPGD, PROBLEM, 1.0, factor * W).weights, a.weights, atol=1e-15
        )


def test_entries_near_the_largest_float_are_no_error():
    problem = wn.LeastSquares([[1.7e308, 1.7e308]], [1.0])
    assert problem.shape == (1, 2)


def test_a_curvature_step_on_a_problem_without_curvature_names_both():
    from weightnorm.methods.steps import bind_steps

    class Sensing(wn.Problem):
        dimension = 2

        def value_and_gradient(self, x):
            return (x * x).sum(axis=1), 2 * x

    with pytest.raises(ValueError, match=r"RPGD has a curvature step.*and Sensing has none"):
        bind_steps(wn.RPGD(wn.schedules.curvature(), 0.1), Sensing())


def test_a_long_double_norm_or_schedule_is_a_float():
    expected = wn.run(wn.WeightNorm(0.5, 0.5, initial_norm=2.0), PROBLEM, 1.0, W, max_steps=5)
    half = np.longdouble("0.5")
    steps = (
        half,
        wn.schedules.Schedule(phases=(half,)),
        lambda t: half,
        np.array(0.5, dtype=object),
    )
    for step in steps:
        method = wn.WeightNorm(step, step, initial_norm=np.longdouble("2.0"))
        np.testing.assert_array_equal(
            wn.run(method, PROBLEM, 1.0, W, max_steps=5).weights, expected.weights
        )


def test_a_generous_accuracy_is_no_overflow():
    for condition_number in (1.0, 3.0):
        problem = wn.datasets.make_regression(condition_number=condition_number)
        assert wn.theory.plan(problem, 1.7e308).num_steps == wn.theory.plan(problem, 1.0).num_steps
