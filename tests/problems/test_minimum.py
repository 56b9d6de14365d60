"""Minima of convex losses of A x, proofs that there is none, and where their flows end."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import weightnorm as wn
from weightnorm.problems.intercept import Weighted, WithIntercept, second_derivative
from weightnorm.problems.linear.centred import Centred
from weightnorm.problems.losses import Huber, Logistic, Poisson
from weightnorm.problems.minimum.margin import find_margin
from weightnorm.problems.minimum.whitening import Columns, by_gram, by_scaling

LOSSES = ("logistic", "poisson", "huber")


def data(loss, seed, m=30, d=4, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, d))
    if rank is not None:
        A = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, d))
    y = {
        "logistic": (rng.random(m) < 0.5).astype(float),
        "poisson": rng.poisson(2.0, m).astype(float),
        "huber": 3.0 * rng.standard_normal(m),
    }[loss]
    return A, y


def direct(loss, y):
    """The losses as textbooks have them, and their derivatives: no code of ours."""
    if loss == "logistic":
        s = 2 * y - 1
        return lambda z: np.logaddexp(0, -s * z).sum(), lambda z: -s * expit(-s * z)
    if loss == "poisson":
        return lambda z: (np.exp(z) - y * z).sum(), lambda z: np.exp(z) - y
    size = 1.0

    def value(z):
        r = np.abs(z - y)
        return np.where(r <= size, r**2 / 2, size * (r - size / 2)).sum()

    return value, lambda z: np.clip(z - y, -size, size)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_that_of_another_solver(loss, seed):
    A, y = data(loss, seed)
    found = wn.GeneralizedLinear(A, y, loss).minimum()
    assert found.status == "attained"
    value, slope = direct(loss, y)
    best = scipy.optimize.minimize(
        lambda x: value(A @ x), np.zeros(4), jac=lambda x: A.T @ slope(A @ x),
        method="BFGS", options={"gtol": 1e-9},
    )  # fmt: skip
    np.testing.assert_allclose(found.weights, best.x, atol=1e-6)
    assert np.linalg.norm(A.T @ slope(A @ found.weights)) <= 1e-12 * np.linalg.norm(A) * len(y)
    assert found.gradient <= 1e-12
    assert found.rank == 4


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    seed=st.integers(0, 10**6),
    powers=st.lists(st.integers(-6, 6), min_size=4, max_size=4),
)
def test_units_of_the_features_do_not_matter(loss, seed, powers):
    A, y = data(loss, seed)
    units = 10.0 ** np.array(powers)
    plain, scaled = (wn.GeneralizedLinear(a, y, loss).minimum() for a in (A, A * units))
    assert plain.status == scaled.status
    if plain.status == "attained":
        assert scaled.loss == pytest.approx(plain.loss, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(scaled.weights * units, plain.weights, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_rank_deficient_and_wide_data_have_the_minimiser_in_the_row_space(loss):
    for shape in ({"m": 30, "d": 6, "rank": 3}, {"m": 9, "d": 20, "rank": 3}):
        A, y = data(loss, 3, **shape)
        if loss == "logistic":  # every sample in both classes, so that they overlap
            A, third = np.tile(A[: len(y) // 3], (3, 1)), y[: len(y) // 3]
            y = np.concatenate([third, 1.0 - third, third])
        found = wn.GeneralizedLinear(A, y, loss).minimum()
        assert found.status == "attained", found.message
        inside = np.linalg.pinv(A) @ (A @ found.weights)
        np.testing.assert_allclose(found.weights, inside, atol=1e-9)
        assert found.rank == 3


def recedes(A, signs, fixed):
    """By a linear program of its own: max Σ p, 0 ≤ p = signs·(A x) ≤ 1, and 0 where fixed."""
    B = signs[:, None] * A
    top = np.where(fixed, 0.0, 1.0)
    answer = scipy.optimize.linprog(
        -B.sum(axis=0), A_ub=np.vstack([-B, B]), b_ub=np.concatenate([np.zeros(len(B)), top]),
        bounds=(None, None),
    )  # fmt: skip
    return -answer.fun > 1e-7, B @ answer.x


@pytest.mark.parametrize("seed", range(60))
def test_every_verdict_is_that_of_a_linear_program(seed):
    """Separable, quasi-separable and overlapping classes; integer data has many ties."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    A = rng.integers(-2, 3, (m, d)).astype(float)
    if not A.any():
        A[0, 0] = 1.0
    y = (rng.random(m) < 0.5).astype(float)
    found = wn.GeneralizedLinear(A, y, "logistic").minimum()
    signs = 2 * y - 1
    falls, _ = recedes(A, signs, np.zeros(m, dtype=bool))
    assert (found.status in ("separable", "receding")) == falls, found.message
    assert (found.status == "attained") == (not falls)
    if falls:
        change = signs * (A @ found.direction)
        assert change.min() >= -1e-8 * change.max()
        assert (found.status == "separable") == (change.min() > 1e-8 * change.max())


@pytest.mark.parametrize("seed", range(20))
def test_counts_without_a_minimum(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(-1, 2, (8, 2)).astype(float)
    A[0] = [1.0, 0.0]
    y = rng.poisson(0.5, 8).astype(float)
    found = wn.GeneralizedLinear(A, y, "poisson").minimum()
    falls, _ = recedes(A, -np.ones(8), y > 0)
    assert found.status == ("receding" if falls else "attained")


def test_a_minimum_that_is_not_unique_and_losses_that_are_not_convex():
    far = wn.GeneralizedLinear([[1.0], [1.0]], [-10.0, 10.0], "huber").minimum()
    assert far.status == "flat"
    assert "not unique" in far.message
    with pytest.raises(ValueError, match="without a unique minimum"):
        wn.theory.flow_limit(wn.GeneralizedLinear([[1.0], [1.0]], [-10.0, 10.0], "huber"), 1, [1.0])

    class Own:
        def value(self, z):
            return np.logaddexp(z, -z) - 0.3 * z

        def derivative(self, z):
            return np.tanh(z) - 0.3

    with pytest.raises(ValueError, match="convex = True"):
        wn.GeneralizedLinear([[1.0]], [1.0], Own()).minimum()
    Own.convex = True
    found = wn.GeneralizedLinear([[2.0]], [1.0], Own()).minimum()
    assert found.status == "attained"
    assert found.weights[0] == pytest.approx(np.arctanh(0.3) / 2, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_intercept_at_its_best_is_one_more_weight(loss):
    A, y = data(loss, 5)
    A = A - A.mean(axis=0)
    made = {"logistic": Logistic.of, "poisson": Poisson.of, "huber": Huber}[loss](y)
    best = wn.GeneralizedLinear(A, y, WithIntercept(made)).minimum()
    both = wn.GeneralizedLinear(np.column_stack([A, np.ones(30)]), y, loss).minimum()
    np.testing.assert_allclose(np.append(best.weights, best.intercept), both.weights, atol=1e-8)
    profile = WithIntercept(made)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3, 30))
    np.testing.assert_allclose(profile.derivative(z).sum(axis=1), 0.0, atol=1e-10)
    step = 1e-6 * rng.standard_normal((3, 30))
    change = (profile.value(z + step) - profile.value(z - step)) / 2
    np.testing.assert_allclose(change, (profile.derivative(z) * step).sum(axis=1), atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_a_sample_that_is_there_twice(loss):
    A, y = data(loss, 6)
    counts = np.random.default_rng(0).integers(1, 4, 30)
    make = {"logistic": Logistic.of, "poisson": Poisson.of, "huber": Huber}[loss]
    weighted = Weighted(make(y), counts.astype(float))
    once = wn.GeneralizedLinear(np.sqrt(counts)[:, None] * A, y, WithIntercept(weighted)).minimum()
    repeated = WithIntercept(make(np.repeat(y, counts)))
    twice = wn.GeneralizedLinear(np.repeat(A, counts, axis=0), np.repeat(y, counts), repeated)
    np.testing.assert_allclose(once.weights, twice.minimum().weights, rtol=1e-8, atol=1e-10)
    assert once.intercept == pytest.approx(twice.minimum().intercept, rel=1e-8)
    assert once.loss == pytest.approx(twice.minimum().loss, rel=1e-12)


@pytest.mark.parametrize("make", [Logistic.of, Poisson.of, Huber])
def test_second_derivatives_by_differences(make):
    y = np.array([0.0, 1.0, 1.0, 0.0])
    z = np.array([[0.3, -0.7, 2.2, -3.0]])
    loss = make(y)
    h = 1e-5
    numeric = (loss.derivative(z + h) - loss.derivative(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.second(z), numeric, atol=1e-8)

    class Bare:
        derivative = staticmethod(loss.derivative)

    np.testing.assert_allclose(second_derivative(Bare(), z), numeric, atol=1e-8)


def test_whitening():
    rng = np.random.default_rng(0)
    units = 10.0 ** np.array([6.0, -6.0, 0.0, 3.0])
    A = rng.standard_normal((40, 4)) * units
    white = by_gram(A)
    W = np.column_stack([white.apply(axis) for axis in np.eye(4)])
    np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-10)
    second = rng.random(40)
    np.testing.assert_allclose(white.hessian(second), W.T @ (second[:, None] * W), atol=1e-10)
    doubled = np.column_stack([A, 2.0 * A[:, :1], np.zeros(40)])
    assert by_gram(doubled) is None
    scaled = by_scaling(doubled)
    t = rng.standard_normal(scaled.columns.size)
    x = scaled.lift(t)
    np.testing.assert_allclose(doubled @ x, scaled.columns.apply(t), rtol=1e-8, atol=1e-10)
    assert x[4] == pytest.approx(2.0 * x[0], rel=1e-9)  # the smallest of all solutions
    assert x[5] == 0.0
    far = Centred(A + 1e9 * units, (A + 1e9 * units).mean(axis=0))
    assert np.isnan(np.diagonal(far.gram())).all()
    assert by_gram(far) is None
    roots = np.sqrt(rng.random(40))
    means = (roots**2 @ A) / (roots**2).sum()
    some = Centred(A, means, roots)
    dense = roots[:, None] * (A - means)
    v, r = rng.standard_normal(4) / units, rng.standard_normal(40)
    np.testing.assert_allclose(some @ v, dense @ v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((some.T @ r) / units, dense.T @ r / units, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(some.gram() / units, dense.T @ dense / units, rtol=1e-9)
    np.testing.assert_allclose(some.dense(), dense, rtol=1e-9, atol=1e-9 * units.max())
    assert Columns(np.eye(3)).size == 3


@pytest.mark.parametrize("seed", range(12))
def test_the_maximum_margin_is_that_of_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 30)), int(rng.integers(2, 8))
    A = rng.standard_normal((m, d))
    truth = rng.standard_normal(d)
    signs = np.where(A @ truth + 0.1 > 0, 1.0, -1.0)
    A += 0.05 * signs[:, None] * truth
    signs[:2], A[:2] = [1.0, -1.0], np.stack([truth, -truth])
    for intercept in (False, True):
        if not intercept and not (signs * (A @ truth) > 0).all():
            continue
        found = find_margin(A, signs, truth, intercept)

        def rows(v, intercept=intercept):
            return signs * (A @ v[:d] + (v[d] if intercept else 0.0))

        answer = scipy.optimize.minimize(
            lambda v: 0.5 * v[:d] @ v[:d],
            np.append(3.0 * found.direction / found.margin, 0.0),
            jac=lambda v: np.append(v[:d], 0.0),
            constraints={"type": "ineq", "fun": lambda v, rows=rows: rows(v) - 1.0},
            method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
        )  # fmt: skip
        best = 1.0 / np.linalg.norm(answer.x[:d])
        assert found.margin == pytest.approx(best, rel=1e-6)
        assert 0.0 <= found.gap <= 1e-7 * found.margin
        z = A @ found.direction + found.intercept
        assert (signs * z).min() == pytest.approx(found.margin, rel=1e-9)


def test_max_margin_says_what_is_not_separable():
    separable = wn.GeneralizedLinear([[2.0, 0.0], [-1.0, 1.0]], [1, 0])
    found = wn.theory.max_margin(separable)
    assert found.gap <= 1e-9
    for c in (1e-6, 1e6):  # units
        again = wn.theory.max_margin(wn.GeneralizedLinear(c * separable.A, separable.y))
        np.testing.assert_allclose(again.direction, found.direction, atol=1e-9)
        assert again.margin == pytest.approx(c * found.margin, rel=1e-9)
    with pytest.raises(ValueError, match="the classes are not separable"):
        wn.theory.max_margin(wn.GeneralizedLinear([[1.0], [1.0]], [1, 0]))
    with pytest.raises(ValueError, match="must have the logistic loss"):
        wn.theory.max_margin(wn.GeneralizedLinear([[1.0]], [1.0], "huber"))
    with pytest.raises(TypeError, match="problem must be"):
        wn.theory.max_margin(wn.LeastSquares([[1.0]], [1.0]))
    with pytest.raises(ValueError, match=r"wn\.theory\.max_margin"):
        wn.theory.flow_limit(separable, 1.0, [1.0, 1.0])


def test_gradient_descent_and_wn_go_to_the_maximum_margin():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 10))
    problem = wn.GeneralizedLinear(A, A[:, 0] > 0)
    best = wn.theory.max_margin(problem).direction
    w0 = rng.standard_normal(10)
    angles = []
    for tolerance in (1e-2, 1e-6, 1e-12):
        end = wn.flow(problem, 1.0, w0, 1.0, tolerance=tolerance).final_weights
        angles.append(1.0 - end @ best / np.linalg.norm(end))
    assert angles[0] > angles[1] > angles[2]
    assert angles[2] < 0.01


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    seed=st.integers(0, 10**6),
    g0=st.sampled_from([-1.5, -0.3, 0.0, 0.3, 1.0, 2.0]),
    c=st.sampled_from([0.1, 0.5, 2.0]),
)
def test_the_limit_of_every_convex_loss_is_where_its_flow_ends(loss, seed, g0, c):
    A, y = data(loss, seed, m=12, d=7, rank=3)
    problem = wn.GeneralizedLinear(A / np.linalg.norm(A, 2), y, loss)
    if problem.minimum().status != "attained" or not problem.minimum().weights.any():
        return
    w0 = np.random.default_rng(seed).standard_normal(7)
    limit = wn.theory.flow_limit(problem, g0, w0, c)
    mirrored = wn.theory.flow_limit(problem, -g0, -w0, c)
    np.testing.assert_allclose(mirrored.weights, limit.weights, atol=1e-9 * limit.norm)
    assert mirrored.scale == pytest.approx(-limit.scale, rel=1e-9)
    plain = wn.theory.gd_limit(problem, g0, w0)
    rest = w0 / np.linalg.norm(w0)
    rest = rest - np.linalg.pinv(problem.A) @ (problem.A @ rest)
    np.testing.assert_allclose(
        plain.weights, problem.minimum().weights + g0 * rest, atol=1e-8 * plain.norm
    )
    end = wn.flow(problem, g0, w0, c, tolerance=0.0)
    if limit.applies and end.status == "stationary":
        np.testing.assert_allclose(end.final_weights, limit.weights, atol=2e-6 * limit.norm)
