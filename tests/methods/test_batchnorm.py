"""Batch normalization of a linear model: what it promises, what it refuses, and its centring. The
runs themselves are compared with a plain loop in test_decay_clip.py.
"""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

import weightnorm as wn
from tests.support.training_twin import train
from weightnorm import schedules
from weightnorm.engine.batch import Start
from weightnorm.engine.start import start

PROBLEM = wn.datasets.make_regression(6, 20, condition_number=3.0, seed=0)
A, Y, W0 = np.asarray(PROBLEM.A), PROBLEM.y, wn.datasets.random_direction(20, seed=0)
METHOD = wn.BatchNorm(0.1, 0.1)
OPTIONS = {
    "plain": {},
    "initial norm": {"initial_norm": 2.5},
    "Nesterov": {"momentum": 0.5, "nesterov": True},
    "batches": {"batch_size": 2, "seed": 1},
    "decay": {"scale_decay": 0.1, "clip": 0.5},
}


def unseen_part(result):
    """The part of w, not of w/‖w‖, that the data cannot see."""
    return PROBLEM.split(result.direction)[1] * result.direction_norm


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_what_the_data_cannot_see_never_moves(options, coordinates):
    method = wn.BatchNorm(0.05, 0.05, **options)
    size = options.get("initial_norm", 1.0)
    result = wn.run(
        method, PROBLEM, 1.4, W0, tolerance=0, max_steps=400, coordinates=coordinates, record=10
    )
    np.testing.assert_allclose(unseen_part(result), size * PROBLEM.split(W0)[1], atol=1e-13)
    history = result.history
    np.testing.assert_allclose(
        history.direction_perp_norm * history.direction_norm,
        size * np.linalg.norm(PROBLEM.split(W0)[1]),
        rtol=1e-12,
    )


@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_the_unseen_coordinate_is_constant_to_the_last_bit(momentum):
    space = PROBLEM.reduce()
    unit = space.enter(W0[None])
    method = wn.BatchNorm(0.05, 0.05, momentum=momentum)
    for compiled in (True, False):
        own = method.own_scale(space.problem, np.array([1.4]), unit)
        batch = start(method, space.problem, Start(own, unit), 0.0, compiled=compiled)
        batch.advance(500)
        assert batch.state().vector[0, -1] == unit[0, -1]
        assert not np.array_equal(batch.state().vector, unit)


def test_it_starts_where_every_method_starts():
    for method in (METHOD, wn.WeightNorm(0.1, 0.1)):
        result = wn.run(method, PROBLEM, -1.4, W0, max_steps=0)
        np.testing.assert_allclose(result.weights, -1.4 * W0 / np.linalg.norm(W0), rtol=1e-14)
        assert result.scale == pytest.approx(-1.4, rel=1e-15)


def test_results_have_the_scale_of_the_weights():
    result = wn.run(METHOD, PROBLEM, 1.4, W0, record=7, keep=("direction", "weights", "invariant"))
    assert result.status == "converged"
    np.testing.assert_allclose(result.weights, result.scale * result.direction, rtol=1e-14)
    assert abs(result.scale) == pytest.approx(np.linalg.norm(result.weights), rel=1e-14)
    history = result.history
    product = history.scale[:, None] * history.direction
    np.testing.assert_allclose(history.weights, product, rtol=1e-14)
    np.testing.assert_allclose(history.loss, PROBLEM.value(history.weights), rtol=1e-10)
    # it has another invariant: ‖w⊥‖ itself
    assert np.isnan(history.ratio).all()
    assert np.isnan(history.invariant).all()


def test_gradients_are_those_of_the_composed_loss():
    rng = np.random.default_rng(0)
    g, w = rng.standard_normal(3), rng.standard_normal((3, 20))

    def loss(g, w):
        return PROBLEM.value(g[:, None] * w / np.linalg.norm(w @ A.T, axis=1)[:, None])

    state = METHOD.init(g, w)
    found = METHOD.evaluate(PROBLEM, state)
    h = 1e-6
    np.testing.assert_allclose(
        found.scale_gradient, (loss(g + h, w) - loss(g - h, w)) / (2 * h), rtol=1e-6
    )
    for k in (0, 7, 19):
        e = h * np.eye(20)[k]
        slope = (loss(g, w + e) - loss(g, w - e)) / (2 * h)
        np.testing.assert_allclose(found.vector_gradient[:, k], slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(np.einsum("ij,ij->i", found.vector_gradient, w), 0.0, atol=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9), st.booleans())
def test_the_norm_only_grows_without_decay(seed, scale, heavy):
    w0 = wn.datasets.random_direction(20, seed)
    method = wn.BatchNorm(0.2, 0.2, momentum=0.5 * heavy)
    history = wn.run(method, PROBLEM, scale, w0, tolerance=0, max_steps=100, record=1).history
    assert (np.diff(history.direction_norm) >= -1e-14).all()


@pytest.mark.parametrize("loss", ["logistic", "huber", "poisson", "squared"])
def test_generalized_linear_models(loss):
    rng = np.random.default_rng(1)
    B = rng.standard_normal((8, 12)) / 3
    y = rng.integers(0, 2, 8).astype(float)
    problem = wn.GeneralizedLinear(B, y, loss=loss)
    a, b = (
        wn.run(METHOD, problem, 1.0, np.ones(12), tolerance=0, max_steps=200, coordinates=c)
        for c in ("reduced", "full")
    )
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9, atol=1e-12)
    g, w = np.linalg.norm(B @ np.ones(12) / np.sqrt(12)), np.ones(12) / np.sqrt(12)
    for _ in range(200):
        n = np.linalg.norm(B @ w)
        G = problem.gradient(g * w / n)
        slope = w @ G / n
        g, w = g - 0.1 * slope, w - 0.1 * g / n * (G - slope * (B.T @ (B @ w)) / n)
    np.testing.assert_allclose(a.weights, g * w / np.linalg.norm(B @ w), rtol=1e-9)


@pytest.mark.parametrize("kind", ["sparse", "operator"])
def test_other_matrices(kind):
    matrix = scipy.sparse.csr_array(A) if kind == "sparse" else aslinearoperator(A)
    problem = wn.LeastSquares(matrix, Y)
    expected = train("bn", A, Y, 1.4, W0, lambda t: 0.1, lambda t: 0.1, 100)[-1][0]
    for method in (METHOD, wn.BatchNorm(0.1, 0.1, batch_size=6, seed=0)):
        for c in ("reduced", "full"):
            result = wn.run(method, problem, 1.4, W0, tolerance=0, max_steps=100, coordinates=c)
            np.testing.assert_allclose(result.weights, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"batch_size": 3, "seed": 2}, {"momentum": 0.2}])
def test_powers_of_a_step_are_those_of_the_weights_scale(options):
    """With ‖x‖ and ‖w‖: a curvature step is ‖w‖²/(‖x‖² λmax)."""
    method = wn.BatchNorm(schedules.curvature(0.5), schedules.scaled(0.1, 0.5, 0.25), **options)
    expected = twin_with_powers(method, options)
    for c in ("reduced", "full"):
        result = wn.run(method, PROBLEM, 1.4, W0, tolerance=0, max_steps=100, coordinates=c)
        np.testing.assert_allclose(result.weights, expected, rtol=1e-9, atol=1e-11)


def twin_with_powers(method, options):
    draws = None if method.sampling is None else method.sampling.draws(6)
    largest = np.linalg.norm(A, 2) ** 2
    w = W0 / np.linalg.norm(W0)
    g, buffers = 1.4 * np.linalg.norm(A @ w), [np.zeros(20), 0.0]
    for t in range(100):
        rows = np.arange(6) if draws is None else draws.at(t)[0]
        n, size = np.linalg.norm(A @ w), np.linalg.norm(w)
        x = g * w / n
        G = A[rows].T @ (A[rows] @ x - Y[rows]) * 6 / len(rows)
        slope = w @ G / n
        own = g / n * (G - slope * (A.T @ (A @ w)) / n)
        norm = np.linalg.norm(x)
        beta = options.get("momentum", 0.0)
        buffers = [beta * buffers[0] + own, beta * buffers[1] + slope]
        g = g - 0.1 * np.sqrt(norm) * size**0.25 * buffers[1]
        w = w - 0.5 * size**2 / (norm**2 * largest) * buffers[0]
    return g * w / np.linalg.norm(A @ w)


def test_a_constant_curvature_step_converges_from_any_scale():
    for scale in (0.05, 1.0, -2.0, 30.0):
        method = wn.BatchNorm(schedules.curvature(0.9), 0.5)
        assert wn.run(method, PROBLEM, scale, W0).status == "converged"


def test_another_method_goes_on_from_it_and_it_from_another():
    first = wn.run(wn.WeightNorm(0.1, 0.1, initial_norm=2.0), PROBLEM, 1.4, W0, max_steps=20)
    second = wn.run(METHOD, PROBLEM, start=first, max_steps=0)
    np.testing.assert_allclose(second.weights, first.weights, rtol=1e-14)
    assert second.direction_norm == pytest.approx(first.direction_norm, rel=1e-14)
    third = wn.run(METHOD, PROBLEM, start=second, max_steps=20, tolerance=0)
    fourth = wn.run(wn.RPGD(0.1, 0.1), PROBLEM, start=third, max_steps=0)
    np.testing.assert_allclose(fourth.weights, third.weights, rtol=1e-14)
    assert fourth.scale == pytest.approx(third.scale, rel=1e-14)


class TestRefused:
    def test_a_direction_that_the_data_does_not_see(self):
        unseen = PROBLEM.split(W0)[1]
        problem = wn.LeastSquares(A, Y)
        for c in ("reduced", "full"):
            with pytest.raises(ValueError, match=r"direction has Aw = 0 .*divides by ‖Aw‖"):
                wn.run(METHOD, problem, 1.0, unseen, coordinates=c)
            with pytest.raises(ValueError, match=r"direction number 1 has Aw = 0"):
                wn.sweep(problem, {"bn": METHOD}, [1.0], [W0, unseen], coordinates=c)
        with pytest.raises(ValueError, match="Aw = 0"):
            wn.run(METHOD, wn.LeastSquares(np.zeros((2, 3)), [1.0, 2.0]), 1.0, [1.0, 0, 0])

    def test_problems_without_predictions(self):
        class Quartic(wn.Problem):
            dimension = 3

            def value_and_gradient(self, x):
                return ((x - 1.0) ** 4).sum(axis=1) / 4, (x - 1.0) ** 3

        with pytest.raises(ValueError, match=r"BatchNorm divides by ‖Aw‖, and Quartic has no pred"):
            wn.run(METHOD, Quartic(), 1.0, [1.0, 1, 1])
        sensing = wn.datasets.make_sensing(5, 1, 12, seed=0)
        begun = wn.datasets.sensing_start(5, seed=0)
        with pytest.raises(ValueError, match="MatrixSensing has no predictions"):
            wn.run(METHOD, sensing, **begun)
        with pytest.raises(ValueError, match=r"methods\['bn'\]: BatchNorm divides"):
            wn.sweep(Quartic(), {"bn": METHOD}, [1.0], [[1.0, 1, 1]])

    def test_a_problem_of_ones_own_may_have_them(self):
        class Own(wn.Problem):
            dimension = 20

            def value_and_gradient(self, x):
                return PROBLEM.value_and_gradient(x)

            def normal(self, w):
                return PROBLEM.normal(w)

        own, ours = (
            wn.run(METHOD, p, 1.4, W0, tolerance=0, max_steps=50).weights for p in (Own(), PROBLEM)
        )
        np.testing.assert_allclose(own, ours, rtol=1e-10)

    def test_a_reduction_without_them(self):
        class Small(wn.Problem):
            dimension = 20

            def value_and_gradient(self, x):
                return PROBLEM.value_and_gradient(x)

        class Odd(Small):
            def normal(self, w):
                return PROBLEM.normal(w)

            def reduction(self, samples):
                return wn.problems.Reduction(Small())

        with pytest.raises(TypeError, match=r"Small has no normal\(w\)"):
            wn.run(METHOD, Odd(), 1.4, W0)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: wn.BatchNorm(0.1, 0.1, initial_norm=0.0), "initial_norm must be"),
            (lambda: wn.BatchNorm(-0.1, 0.1), "direction_step"),
            (lambda: wn.BatchNorm(0.1, np.nan), "scale_step"),
            (lambda: wn.BatchNorm(0.1, 0.1, blocks="columns"), "blocks"),
            (
                lambda: wn.run(wn.BatchNorm(schedules.curvature(), 0.1), PROBLEM, 0.0, W0),
                "scale is 0 and the direction_step of BatchNorm",
            ),
        ],
    )
    def test_bad_options_by_name(self, call, message):
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_scale_zero_and_a_run_that_blows_up():
    """From g = 0 the scale grows at once; where y ⟂ Aw nothing ever moves."""
    free = wn.run(METHOD, PROBLEM, 0.0, W0)
    assert free.status == "converged"
    problem = wn.LeastSquares([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0])
    stuck = wn.run(METHOD, problem, 0.0, [0.0, 1.0])
    assert (stuck.status, stuck.num_steps) == ("stationary", 0)
    for c in ("reduced", "full"):
        assert wn.run(wn.BatchNorm(0.1, 1e3), PROBLEM, 1.0, W0, coordinates=c).status == "diverged"


def test_a_sweep_file():
    from weightnorm.sweeps.methods import SPECS

    spec = SPECS["bn"](kind="bn", direction_step=0.1, scale_step=0.2, initial_norm=2.0, clip=0.5)
    assert spec.build() == wn.BatchNorm(0.1, 0.2, initial_norm=2.0, clip=0.5)
    for wrong in ({"clip": 0.0}, {"clip": "a"}, {"scale_decay": -1.0}, {"blocks": "all"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SPECS["bn"](kind="bn", direction_step=0.1, scale_step=0.2, **wrong)
    with pytest.raises(ValueError, match="scale_decay"):
        SPECS["gd"](kind="gd", step=0.1, scale_decay=0.1)
    assert "clip" not in SPECS["gd"](kind="gd", step=0.1).model_dump()  # hashes stay as they were


class TestCentred:
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((9, 4)) + 5.0, rng.standard_normal(9) + 100.0

    def test_columns_and_targets_have_no_mean(self):
        for matrix in (self.X, scipy.sparse.csr_array(self.X)):
            centred = wn.LeastSquares(matrix, self.y).centred()
            ones = np.ones(9)
            np.testing.assert_allclose(centred.A.T @ ones, 0.0, atol=1e-12)
            assert abs(centred.y.sum()) <= 1e-12
            np.testing.assert_allclose(
                centred.A @ np.eye(4), self.X - self.X.mean(axis=0), atol=1e-12
            )
        np.testing.assert_allclose(centred.A.means, self.X.mean(axis=0))  # of the sparse one

    @pytest.mark.parametrize("sparse", [False, True])
    def test_batch_norm_with_a_shift_finds_the_regression_with_an_intercept(self, sparse):
        problem = wn.LeastSquares(scipy.sparse.csr_array(self.X) if sparse else self.X, self.y)
        method = wn.BatchNorm(schedules.curvature(0.9), 0.5)
        result = wn.run(method, problem.centred(), 1.0, [1.0, 0, 0, 0], max_steps=20_000)
        assert result.status == "stationary"  # the floor of what the features do not explain
        with_ones = np.column_stack([self.X, np.ones(9)])
        best = np.linalg.lstsq(with_ones, self.y, rcond=None)[0]
        np.testing.assert_allclose(result.weights, best[:4], rtol=1e-6)
        shift = self.y.mean() - self.X.mean(axis=0) @ result.weights
        assert shift == pytest.approx(best[4], rel=1e-6)

    def test_an_operator_is_refused(self):
        with pytest.raises(TypeError, match="means are not known to centred"):
            wn.LeastSquares(aslinearoperator(self.X), self.y).centred()
