"""Stability, norm brackets and what runs say of them: against Jacobians, brute force and runs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm.theory import norm_bracket, stability

METHODS = ("rpgd", "wn", "gd", "batchnorm")


def draw(rng, m=None, d=None):
    m = int(rng.integers(1, 6)) if m is None else m
    d = m + int(rng.integers(1, 5)) if d is None else d
    A, x = rng.standard_normal((m, d)), rng.standard_normal(d)
    return A, A @ x


def solution(A, y, norm, rng):
    """A solution of this norm."""
    x = np.linalg.pinv(A) @ y
    free = rng.standard_normal(A.shape[1])
    free -= np.linalg.pinv(A) @ (A @ free)
    return x + np.sqrt(max(0.0, norm**2 - x @ x)) * free / np.linalg.norm(free)


def one_step(method, A, y, eta, gamma, beta=0.0, nesterov=False):
    """A step on (state, buffer) as plain arrays, in complex numbers."""

    def gradient(z):
        g, w = z[0], z[1:]
        if method == "gd":
            return np.concatenate([[0.0], A.T @ (A @ w - y)])
        if method == "batchnorm":
            n = np.sqrt((A @ w) @ (A @ w))
            u = A @ w / n
            r = g * u - y
            return np.concatenate([[u @ r], (g / n) * (A.T @ (r - u * (u @ r)))])
        n = np.sqrt(w @ w)
        pull = A.T @ (A @ (g * w / n) - y)
        s = (w / n) @ pull
        if method == "rpgd":
            return np.concatenate([[s], g * pull])
        return np.concatenate([[s], (g / n) * (pull - s * w / n)])

    def step(state):
        half = state.size // 2
        z, b = state[:half], state[half:]
        b = beta * b + gradient(z)
        move = gradient(z) + beta * b if nesterov else b
        z = z - np.concatenate([[gamma], np.full(half - 1, eta)]) * move
        if method == "rpgd":
            z = np.concatenate([z[:1], z[1:] / np.sqrt(z[1:] @ z[1:])])
        return np.concatenate([z, b])

    return step


def jacobian(step, state):
    h = 1e-30
    return np.column_stack([step(state + 1j * h * axis).imag / h for axis in np.eye(state.size)])


@pytest.mark.parametrize(("beta", "nesterov"), [(0.0, False), (0.5, False), (0.9, True)])
@pytest.mark.parametrize("method", METHODS)
def test_the_modes_are_those_of_the_jacobian_of_one_step(method, beta, nesterov):
    rng = np.random.default_rng(7)
    for _ in range(12):
        A, y = draw(rng)
        norm = np.linalg.norm(np.linalg.pinv(A) @ y) * float(rng.choice([1.0, 1.2, 3.0]))
        x = solution(A, y, norm, rng)
        N = 1.0 if method in ("rpgd", "gd") else float(rng.uniform(0.3, 3.0))
        eta, gamma = 10 ** rng.uniform(-2, 0) / norm**2, 10 ** rng.uniform(-2, 0.3)
        sign = float(rng.choice([-1.0, 1.0]))
        w = sign * np.sqrt(N) * x / norm
        g = sign * {"batchnorm": np.linalg.norm(A @ x)}.get(method, norm)
        z = np.concatenate([[1.0], x]) if method == "gd" else np.concatenate([[g], w])
        found = stability(
            wn.LeastSquares(A, y),
            norm,
            eta,
            gamma,
            method,
            beta,
            nesterov,
            direction_norm=np.sqrt(N),
        )
        modes = np.linalg.eigvals(
            jacobian(one_step(method, A, y, eta, gamma, beta, nesterov), np.r_[z, 0 * z] + 0j)
        )
        for k in found.eigenvalues:
            total = (1 + beta) * (1 - k) if nesterov else 1 + beta - k
            roots = np.roots([1.0, -total, beta * (1 - k) if nesterov else beta])
            for root in roots if beta else [1.0 - k]:
                assert np.abs(modes - root).min() < 1e-6 * max(1.0, abs(root))
        # all others are 1 (along the solutions), β (their buffers), or 0 (across the sphere)
        size = np.max(np.abs(modes[(np.abs(modes - 1) > 1e-6)]), initial=0.0)
        if found.rate > max(beta, 1e-6) + 1e-6:
            assert found.rate == pytest.approx(size, rel=1e-5)
        assert found.stable == (np.abs(found.eigenvalues) < found.threshold).all()


@pytest.mark.parametrize(("beta", "nesterov"), [(0.0, False), (0.9, False), (0.6, True)])
@pytest.mark.parametrize("method", METHODS)
def test_the_largest_steps_are_the_edge(method, beta, nesterov):
    rng = np.random.default_rng(3)
    for _ in range(10):
        A, y = draw(rng)
        problem = wn.LeastSquares(A, y)
        norm = np.linalg.norm(problem.min_norm_solution()) * float(rng.choice([1.05, 2.0]))
        eta, gamma = 10 ** rng.uniform(-2, 0) / norm**2, 10 ** rng.uniform(-2, 0.5)

        def at(eta, gamma, norm=norm, problem=problem):
            return stability(problem, norm, eta, gamma, method, beta, nesterov)

        found = at(eta, gamma)
        for share, expected in ((0.9999, True), (1.0001, False)):
            largest = found.max_direction_step
            if 0 < largest < np.inf:
                assert at(share * largest, gamma).stable == expected
            if 0 < found.max_scale_step < np.inf:
                assert at(eta, share * found.max_scale_step).stable == expected
        if found.max_direction_step == 0:
            assert not at(1e-9 * eta, gamma).stable
        if found.max_scale_step == 0:
            assert not at(eta, 0.0).stable


def test_a_map_is_one_call_and_each_entry_that_of_a_single_one():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    eta, gamma = np.geomspace(0.01, 1, 7)[:, None], np.geomspace(0.01, 10, 5)
    whole = stability(problem, 3.2, eta, gamma)
    for i, j in itertools.product(range(7), range(5)):
        one = stability(problem, 3.2, float(eta[i, 0]), float(gamma[j]))
        assert whole.stable[i, j] == one.stable
        assert whole.rate[i, j] == pytest.approx(one.rate, rel=1e-12)
        np.testing.assert_allclose(whole.eigenvalues[i, j], one.eigenvalues, rtol=1e-12)
        assert whole.max_scale_step[i, j] == pytest.approx(one.max_scale_step, rel=1e-9)
        assert whole.max_direction_step[i, j] == pytest.approx(one.max_direction_step, rel=1e-9)


def test_a_convex_loss_has_the_hessian_at_its_minimum():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 5))
    labels = rng.integers(0, 2, 12)
    A[1], labels[:2] = A[0], (0, 1)  # nothing separates them
    problem = wn.GeneralizedLinear(A, labels, loss="logistic")
    p = 1 / (1 + np.exp(-A @ problem.minimum().weights))
    hessian = A.T @ ((p * (1 - p))[:, None] * A)
    found = stability(problem, direction_step=0.1, method="gd")
    np.testing.assert_allclose(found.eigenvalues, 0.1 * np.linalg.eigvalsh(hessian), rtol=1e-8)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e-3, 1e3, 1e6]), st.sampled_from(METHODS))
def test_units_do_not_matter(seed, unit, method):
    rng = np.random.default_rng(seed)
    A, y = draw(rng)
    gstar = float(np.linalg.norm(np.linalg.pinv(A) @ y))
    eta, gamma = 10 ** rng.uniform(-2, 0) / gstar**2, 10 ** rng.uniform(-2, 0.5)
    one = stability(wn.LeastSquares(A, y), 1.3 * gstar, eta, gamma, method)
    # features in another unit: x and g are 1/unit as large
    scale = {"batchnorm": 1.0, "gd": 1.0}.get(method, unit**2)
    turned = {"gd": eta / unit**2, "batchnorm": eta}.get(method, eta)
    other = stability(
        wn.LeastSquares(unit * A, y), 1.3 * gstar / unit, turned, gamma / scale, method
    )
    np.testing.assert_allclose(other.eigenvalues, one.eigenvalues, rtol=1e-6, atol=1e-9)
    assert other.stable == one.stable


@pytest.mark.parametrize("beta", [0.0, 0.9])
def test_the_bracket_is_where_brute_force_finds_stable_norms(beta):
    rng = np.random.default_rng(5)
    empty = 0
    for _ in range(60):
        A, y = draw(rng)
        low = float(np.linalg.norm(np.linalg.pinv(A) @ y)) ** 2
        top = np.linalg.eigvalsh(A @ A.T).max()
        eta, gamma = 10 ** rng.uniform(-1, 0.7) / (low * top), 10 ** rng.uniform(-1.5, 1) / top
        G = low * np.geomspace(1, 1e3, 600)
        outer = np.outer(y, y)
        K = eta * (G[:, None, None] * (A @ A.T) - outer) + gamma / G[:, None, None] * outer
        good = G[np.linalg.eigvalsh(K).max(axis=-1) <= 2 * (1 + beta)]
        found = norm_bracket(wn.LeastSquares(A, y), eta, gamma, beta)
        if found is None:
            empty += 1
            assert good.size == 0
        elif good.size:
            assert found[0] ** 2 == pytest.approx(good[0], rel=0.02)
            if good[-1] < G[-1]:
                assert found[1] ** 2 == pytest.approx(good[-1], rel=0.02)
        else:  # narrower than the grid
            assert found[1] / found[0] < 1.02
    assert empty > 2


def test_runs_end_inside_the_bracket_or_nowhere():
    rng = np.random.default_rng(11)
    inside = outside = 0
    for _ in range(60):
        A, y = draw(rng)
        problem = wn.LeastSquares(A, y)
        low, top = float(problem.target @ problem.target), float(problem.curvature)
        eta, gamma = 10 ** rng.uniform(-0.5, 0.7) / (low * top), 10 ** rng.uniform(-1, 0.7) / top
        w0 = rng.standard_normal(A.shape[1])
        run = wn.run(
            wn.RPGD(eta, gamma), problem, np.sqrt(low), w0, tolerance=1e-18, max_steps=20_000
        )
        found = norm_bracket(problem, eta, gamma)
        if found is None:
            outside += 1
            assert run.status != "converged"
        elif run.status == "converged":
            inside += 1
            assert found[0] * (1 - 1e-6) <= run.norm <= found[1] * (1 + 1e-6)
    assert inside > 20
    assert outside > 5


def test_without_a_step_of_w_only_the_scale_decides():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    square = float(problem.y @ problem.y)
    for gamma in np.linspace(0.1, 60, 97):
        low, high = norm_bracket(problem, 0.0, gamma)
        assert low == pytest.approx(max(3.0, np.sqrt(gamma * square / 2)), rel=1e-9)
        assert high == np.inf


def test_arrays_of_steps_give_arrays_with_nan_where_there_is_no_norm():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    low, high = norm_bracket(problem, np.array([0.1, 0.5]), 0.1)
    assert np.isnan([low[1], high[1]]).all()
    assert (low[0], high[0]) == pytest.approx(norm_bracket(problem, 0.1, 0.1), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"direction_step": -1.0}, "direction_step must be at least 0"),
        ({"norm": 0.0}, "norm must be greater than 0"),
        ({"method": "adam"}, "coordinate_wise_end"),
        ({"method": "sgd"}, "method"),
        ({"momentum": 1.0}, "momentum must be below 1"),
        ({"nesterov": True}, "momentum above 0"),
        ({"direction_norm": 2.0}, "direction_norm must be 1 for rPGD"),
        ({"scale_step": np.nan}, "scale_step"),
    ],
)
def test_bad_input_is_refused(arguments, text):
    problem = wn.datasets.make_regression(seed=0)
    with pytest.raises(ValueError, match=text):
        stability(problem, **({"norm": 3.2, "direction_step": 0.1, "scale_step": 0.1} | arguments))


def test_what_has_no_answer_is_said():
    problem = wn.datasets.make_regression(seed=0)  # minimum norm 3
    assert not stability(problem, 2.0, 0.1, 0.1).applies
    square = wn.LeastSquares(np.eye(3), np.ones(3))
    assert not stability(square, 5.0, 0.1, 0.1).applies  # x* is the only solution
    assert stability(square, None, 0.1, 0.1).applies
    with pytest.raises(ValueError, match="y is zero"):
        stability(wn.LeastSquares(np.eye(2), np.zeros(2)), 1.0, 0.1, 0.1)


def test_a_result_stands_for_its_norm_and_its_length():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    run = wn.run(wn.WeightNorm(0.1, 0.1), problem, 2.8, wn.datasets.random_direction(50, 0))
    found = stability(problem, run, 0.1, 0.1, "wn")
    same = stability(problem, run.norm, 0.1, 0.1, "wn", direction_norm=run.direction_norm)
    assert found.rate == same.rate
    assert found.stable
