"""Results travel: pickled, copied, and gone on from afterwards, for every kind of problem."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import weightnorm as wn

DENSE = wn.datasets.make_regression(6, 15, condition_number=2.0, seed=0)
W0 = wn.datasets.random_direction(15, seed=0)


def _operator():
    A = DENSE.A
    return LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda r: A.T @ r, dtype=np.float64
    )


LABELS = (DENSE.y > 0).astype(float)
SENSING = wn.datasets.make_sensing(6, 1, 10, seed=0)
Z0 = wn.datasets.sensing_start(6, seed=0)["direction"]

CASES = {
    "dense": (wn.RPGD(0.05, 0.05), DENSE, W0, {}),
    "gradient descent": (wn.GradientDescent(0.05), DENSE, W0, {}),
    "equal singular values": (
        wn.WeightNorm(0.05, 0.05),
        wn.datasets.make_regression(6, 15, seed=1),
        W0,
        {},
    ),
    "sparse": (
        wn.WeightNorm(0.05, 0.05),
        wn.LeastSquares(scipy.sparse.csr_array(DENSE.A), DENSE.y),
        W0,
        {},
    ),
    "operator": (wn.RPGD(0.05, 0.05), wn.LeastSquares(_operator(), DENSE.y), W0, {}),
    "full": (wn.RPGD(0.05, 0.05), wn.LeastSquares(DENSE.A, DENSE.y), W0, {"coordinates": "full"}),
    "logistic": (wn.WeightNorm(0.05, 0.05), wn.GeneralizedLinear(DENSE.A, LABELS), W0, {}),
    "sensing": (wn.RPGD(1e-3, 1e-3), SENSING, Z0, {}),
    "sensing, columns": (wn.WeightNorm(1e-3, 1e-3, blocks="columns"), SENSING, Z0, {}),
    "sensing, full": (wn.GradientDescent(1e-3), SENSING, Z0, {"coordinates": "full"}),
}
TRIPS = {"pickle": lambda thing: pickle.loads(pickle.dumps(thing)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("case", CASES)
def test_round_trip_keeps_everything_and_goes_on_exactly(case, trip):
    method, problem, direction, options = CASES[case]
    part = wn.run(method, problem, 1.5, direction, tolerance=0, max_steps=70, record=10, **options)
    again = TRIPS[trip](part)
    assert repr(again) == repr(part)
    np.testing.assert_array_equal(again.weights, part.weights)
    np.testing.assert_array_equal(again.history.loss, part.history.loss)
    assert again.perp_norm == part.perp_norm
    assert again.distance == part.distance or np.isnan(part.distance)
    whole = wn.run(method, problem, 1.5, direction, tolerance=0, max_steps=100, **options)
    rest = wn.run(method, problem, start=again, tolerance=0, max_steps=30, **options)
    np.testing.assert_array_equal(rest.weights, whole.weights)
    assert rest.total_steps == 100


def test_a_pickle_holds_no_copy_of_the_data():
    problem = wn.datasets.make_regression(50, 2_000, seed=0)
    result = wn.run(
        wn.RPGD(0.1, 0.1), problem, 1.0, wn.datasets.random_direction(2_000, 0), max_steps=5
    )
    assert len(pickle.dumps(result)) < 0.2 * problem.A.nbytes
    assert copy.deepcopy(result)._resume.problem is problem


def test_goes_on_with_a_problem_of_the_same_numbers_and_begins_anew_with_another():
    method = wn.RPGD(0.05, wn.schedules.two_phase(0.0, 0.05, 80))
    part = pickle.loads(pickle.dumps(wn.run(method, DENSE, 1.5, W0, tolerance=0, max_steps=70)))
    twin = wn.LeastSquares(DENSE.A.copy(), DENSE.y.copy())
    assert wn.run(method, twin, start=part, tolerance=0, max_steps=30).total_steps == 100
    for other in (
        wn.LeastSquares(DENSE.A, DENSE.y + 1e-3),
        wn.LeastSquares(1.001 * DENSE.A, DENSE.y),
    ):
        assert wn.run(method, other, start=part, tolerance=0, max_steps=30).total_steps == 30


def test_a_schedule_that_cannot_be_pickled_is_not_forgotten_silently():
    method = wn.RPGD(lambda t: 0.05, 0.05)
    result = wn.run(method, DENSE, 1.5, W0, max_steps=10, tolerance=0)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.weights, result.weights)
    with pytest.raises(ValueError, match="pickled without its method"):
        wn.run(method, DENSE, start=again)
    assert (
        wn.run(method, DENSE, start=copy.deepcopy(result), max_steps=1, tolerance=0).total_steps
        == 11
    )


def test_what_an_operator_in_full_coordinates_did_not_measure_is_nan_after_a_pickle():
    problem = wn.LeastSquares(_operator(), DENSE.y)
    result = wn.run(wn.RPGD(0.05, 0.05), problem, 1.5, W0, coordinates="full", max_steps=10)
    asked, unasked = (
        result.distance,
        wn.run(wn.RPGD(0.05, 0.05), problem, 1.5, W0, coordinates="full", max_steps=10),
    )
    assert pickle.loads(pickle.dumps(result)).distance == asked
    assert np.isnan(pickle.loads(pickle.dumps(unasked)).distance)


def test_an_interruption_travels_too():
    result = wn.run(wn.RPGD(0.05, 0.05), DENSE, 1.5, W0, max_steps=10)
    error = pickle.loads(pickle.dumps(wn.Interrupted(result)))
    np.testing.assert_array_equal(error.result.weights, result.weights)


class Wide:
    """A loss with a parameter of its own."""

    def __init__(self, width):
        self.width = width

    def value(self, z):
        return self.width * z**2

    def derivative(self, z):
        return 2.0 * self.width * z


def test_a_problem_with_another_loss_is_another_problem():
    one, other = (wn.GeneralizedLinear(DENSE.A, DENSE.y, Wide(width)) for width in (1.0, 2.0))
    part = pickle.loads(
        pickle.dumps(wn.run(wn.GradientDescent(0.01), one, 1.0, W0, tolerance=0, max_steps=10))
    )
    assert (
        wn.run(wn.GradientDescent(0.01), one, start=part, tolerance=0, max_steps=5).total_steps
        == 15
    )
    assert (
        wn.run(wn.GradientDescent(0.01), other, start=part, tolerance=0, max_steps=5).total_steps
        == 5
    )


class Weighted(wn.GradientDescent):
    """A method with an array of its own."""

    def __init__(self, step, weights):
        super().__init__(step)
        object.__setattr__(self, "weights", weights)

    def update(self, state, evaluation, vector_step, scale_step):
        # what a run leaves behind need not be picklable
        object.__setattr__(self, "trace", lambda: 0)
        return super().update(state, evaluation, vector_step, scale_step)


def test_methods_with_arrays_are_compared_entry_by_entry():
    ones, twos = np.ones(3), 2.0 * np.ones(3)
    part = wn.run(Weighted(0.01, ones), DENSE, 1.0, W0, tolerance=0, max_steps=10)
    assert (
        wn.run(Weighted(0.01, ones.copy()), DENSE, start=part, tolerance=0, max_steps=5).total_steps
        == 15
    )
    assert (
        wn.run(Weighted(0.01, twos), DENSE, start=part, tolerance=0, max_steps=5).total_steps == 5
    )
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(part)).weights, part.weights)
