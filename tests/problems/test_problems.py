"""LeastSquares, its factorisation, the reduction, the data generators."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import weightnorm as wn
from tests.support.cases import MATRICES
from weightnorm.problems.coordinates.factorisation import factorise


@pytest.mark.parametrize("matrix", MATRICES)
def test_value_and_gradient_agree_with_finite_differences(matrix):
    A, dense = MATRICES[matrix]
    rng = np.random.default_rng(0)
    y, x = rng.standard_normal(dense.shape[0]), rng.standard_normal(dense.shape[1])
    problem = wn.LeastSquares(A, y)
    assert problem.value(x) == pytest.approx(0.5 * np.sum((dense @ x - y) ** 2), rel=1e-13)
    gradient, h = problem.gradient(x), 1e-6
    for i, axis in enumerate(np.eye(x.size)):
        slope = (problem.value(x + h * axis) - problem.value(x - h * axis)) / (2 * h)
        assert gradient[i] == pytest.approx(slope, abs=1e-8)
    both = np.array([x, 2 * x])
    np.testing.assert_allclose(problem.gradient(both)[0], gradient, atol=1e-13)
    np.testing.assert_allclose(
        problem.value(both), [problem.value(x), problem.value(2 * x)], rtol=1e-13
    )


@pytest.mark.parametrize("matrix", MATRICES)
def test_factorisation_and_minimum_norm_equal_numpy(matrix):
    A, dense = MATRICES[matrix]
    y = np.random.default_rng(0).standard_normal(dense.shape[0])
    problem = wn.LeastSquares(A, y)
    factors = problem.factorisation
    assert factors.rank == np.linalg.matrix_rank(dense)
    np.testing.assert_allclose(
        factors.singular_values, np.linalg.svd(dense)[1][: factors.rank], rtol=1e-13
    )
    V = factors.lift(np.eye(factors.rank)).T
    np.testing.assert_allclose(V.T @ V, np.eye(factors.rank), atol=1e-12)
    U = np.array([factors.left.apply(axis) for axis in np.eye(factors.rank)]).T
    np.testing.assert_allclose((U * factors.singular_values) @ V.T, dense, atol=1e-13)
    np.testing.assert_allclose(factors.left.transposed(y), U.T @ y, atol=1e-12)
    best = np.linalg.pinv(dense) @ y
    np.testing.assert_allclose(problem.min_norm_solution(), best, atol=1e-12)
    np.testing.assert_allclose(problem.min_norm_solution(iterative=True), best, atol=1e-10)
    assert problem.floor == pytest.approx(0.5 * np.sum((dense @ best - y) ** 2), abs=1e-14)
    fresh = wn.LeastSquares(A, y)
    # without factorising
    assert fresh.curvature == pytest.approx(np.linalg.norm(dense, 2) ** 2, rel=1e-12)
    assert not fresh.is_factorised


@pytest.mark.parametrize("kind", ["dense", "sparse", "operator"])
def test_ill_conditioned_spectra_keep_their_small_values(kind):
    """Singular-value ratio 1e7: a Gram matrix would lose four digits of the smallest."""
    A = wn.datasets.make_regression(20, 400, condition_number=1e7, seed=0).A
    given = {"dense": A, "sparse": scipy.sparse.csr_array(A), "operator": _operator(A)}[kind]
    factors = factorise(given)
    assert factors.singular_values[-1] == pytest.approx(1e-7, rel=1e-8)
    z = np.random.default_rng(0).standard_normal(20)
    error = np.linalg.norm(factors.coordinates(factors.lift(z)) - z) / np.linalg.norm(z)
    assert error <= (1e-13 if kind == "dense" else 1e-7)
    assert error <= 10 * factors.orthogonality


def _operator(A):
    return LinearOperator(A.shape, matvec=A.dot, rmatvec=A.T.dot, dtype=np.float64)


@pytest.mark.parametrize("shape", [(40, 40_000), (40_000, 40), (400, 1600)])
@pytest.mark.parametrize("kind", ["sparse", "operator"])
def test_sparse_and_operators_never_become_dense(kind, shape):
    m, d = shape
    sparse = scipy.sparse.random_array(
        (m, d), density=1e-3, rng=np.random.default_rng(0), format="csr"
    )
    given = sparse if kind == "sparse" else _operator(sparse)
    tracemalloc.start()
    try:
        factorise(given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A block and the QR of it and R: a fraction of a dense copy, unless the small side is not
    # small.
    assert peak < 8 * (0.6 * m * d + 8 * min(m, d) ** 2)


def test_dense_factorisation_holds_one_copy_of_the_data():
    problem = wn.datasets.make_regression(50, 20_000, seed=0)
    tracemalloc.start()
    try:
        factorise(problem.A)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.1 * problem.A.nbytes
    assert peak < 2.1 * problem.A.nbytes


def test_the_factorisation_is_computed_once(monkeypatch):
    from weightnorm.problems.linear import model as linear

    calls = []
    monkeypatch.setattr(linear, "factorise", lambda A, **o: calls.append(1) or factorise(A, **o))
    problem = wn.datasets.make_regression(seed=0)
    w0 = wn.datasets.random_direction(50, 0)
    for method in (wn.GradientDescent(0.1), wn.RPGD(0.1, 0.1)):
        wn.run(method, problem, 1.0, w0)
        wn.sweep(problem, {"m": method}, [1.0, 2.0], w0)
    assert len(calls) == 1


def test_large_problems_can_be_pickled():
    problem = wn.datasets.make_regression(30, 4000, seed=0)  # too large for an explicit V
    assert type(problem.factorisation.right).__name__ == "Householder"
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again.min_norm_solution(), problem.min_norm_solution())


def test_float64_data_is_not_copied():
    A = np.eye(3, 5)
    assert wn.LeastSquares(A, np.ones(3)).A is A


def test_a_rest_is_clean_even_of_a_vector_that_is_nearly_along():
    from weightnorm.problems.coordinates.reduction import _rest

    along = np.random.default_rng(0).standard_normal(7)
    along /= np.linalg.norm(along)
    rest = _rest(along + 1e-9 * np.random.default_rng(1).standard_normal(7), along)
    assert abs(rest @ along) < 1e-12 * np.linalg.norm(rest)


class TestReduction:
    @pytest.mark.parametrize("matrix", MATRICES)
    def test_is_an_isometry_and_leads_back(self, matrix):
        A, dense = MATRICES[matrix]
        problem = wn.LeastSquares(A, np.ones(dense.shape[0]))
        space = problem.reduce()
        for seed in range(3):
            w = wn.datasets.random_direction(dense.shape[1], seed)
            coordinates, lifter = space.start(w)
            assert np.linalg.norm(coordinates) == pytest.approx(1.0, abs=1e-13)
            np.testing.assert_allclose(lifter.lift(coordinates), w, atol=1e-13)
            np.testing.assert_allclose(space.enter(w[None])[0], coordinates, atol=1e-15)
            value = space.problem.value_and_gradient(2.0 * coordinates[None])[0][0]
            assert value == pytest.approx(problem.value(2.0 * w), rel=1e-12)

    def test_equal_singular_values_share_two_coordinates(self):
        V = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 9)))[0]
        A = np.diag([3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.5, 0.5]) @ V.T
        space = wn.LeastSquares(A, np.arange(9.0)).reduce()
        assert space.problem.curvatures == pytest.approx([9.0, 4.0, 4.0, 1.0, 0.25, 0.25])

    def test_nearly_equal_ones_do_not(self):
        A = np.diag([1.0, 1.0 - 1e-12, 1.0 - 2e-12, 1.0 - 3e-12]) @ np.eye(4, 9)
        assert wn.LeastSquares(A, np.ones(4)).reduce().problem.curvatures.size == 4

    def test_a_start_in_the_row_space_has_exactly_no_rest(self):
        problem = wn.datasets.make_regression(condition_number=100.0, seed=0)
        coordinates, _ = problem.reduce().start(problem.solution / 3.0)
        assert coordinates[-1] == 0.0


class TestDatasets:
    def test_spectrum_and_solution(self):
        problem = wn.datasets.make_regression(
            10, 30, condition_number=8.0, solution_norm=2.0, seed=7
        )
        singular = np.linalg.svd(problem.A)[1]
        np.testing.assert_allclose(singular, np.geomspace(1.0, 1 / 8, 10), rtol=1e-13)
        assert np.linalg.norm(problem.solution) == pytest.approx(2.0)
        np.testing.assert_allclose(problem.A @ problem.solution, problem.y, atol=1e-14)
        np.testing.assert_allclose(
            np.linalg.pinv(problem.A) @ problem.y, problem.solution, atol=1e-13
        )

    def test_seeds_decide_everything(self):
        a, b, c = (wn.datasets.make_regression(seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(a.A, b.A)
        assert not np.array_equal(a.A, c.A)
        w = wn.datasets.random_direction(50, seed=1)
        np.testing.assert_array_equal(w, wn.datasets.random_direction(50, seed=1))
        assert np.linalg.norm(w) == pytest.approx(1.0)

    def test_a_start_shares_no_random_numbers_with_its_problem(self):
        problem = wn.datasets.make_regression(1, 50, seed=3)
        w = wn.datasets.random_direction(50, seed=3)
        assert abs(w @ problem.A[0]) < 0.6


class TestNoise:
    """The noise level changes neither A nor x*, and scales the errors."""

    def test_regression(self):
        plain = wn.datasets.make_regression(6, 10, seed=3)
        one, two = (wn.datasets.make_regression(6, 10, noise=s, seed=3) for s in (0.5, 1.0))
        np.testing.assert_array_equal(plain.A, two.A)
        np.testing.assert_array_equal(plain.solution, two.solution)
        np.testing.assert_allclose(2 * (one.y - plain.y), two.y - plain.y, atol=1e-12)
        errors = np.concatenate(
            [
                wn.datasets.make_regression(50, 60, noise=0.3, seed=s).y
                - wn.datasets.make_regression(50, 60, seed=s).y
                for s in range(20)
            ]
        )
        assert errors.std() == pytest.approx(0.3, rel=0.1)
        assert abs(errors.mean()) < 0.03

    def test_sensing(self):
        plain = wn.datasets.make_sensing(5, 1, 8, seed=3)
        one, two = (wn.datasets.make_sensing(5, 1, 8, seed=3, noise=s) for s in (0.5, 1.0))
        np.testing.assert_array_equal(plain.sensors, two.sensors)
        np.testing.assert_allclose(2 * (one.y - plain.y), two.y - plain.y, atol=1e-12)
        assert np.ptp(one.y - plain.y) > 0.1

    def test_generalized_linear(self):
        huber = wn.datasets.make_generalized_linear(6, 10, loss="huber", noise=0.5, seed=3)
        same = wn.datasets.make_regression(6, 10, noise=0.5, seed=3)
        np.testing.assert_array_equal(huber.y, same.y)
        assert "Huber" in repr(huber)
        labels = wn.datasets.make_generalized_linear(6, 10, loss="logistic", noise=0.5, seed=3)
        np.testing.assert_array_equal(labels.y > 0, same.y > 0)
        counts = wn.datasets.make_generalized_linear(500, 600, loss="poisson", seed=3)
        mean = np.exp(wn.datasets.make_regression(500, 600, seed=3).y)
        assert np.abs((counts.y - mean).sum()) < 5 * np.sqrt(mean.sum())
        with pytest.raises(ValueError, match="gives Poisson means up to"):
            wn.datasets.make_generalized_linear(loss="poisson", solution_norm=1e4)
        with pytest.raises(ValueError, match="noise must be at least 0"):
            wn.datasets.make_regression(noise=-1.0)
