"""Matrix sensing: five methods against plain twins, the loop's promises, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.reference import (
    reference_sensing,
    sensing_gradients,
    sensing_loss,
    sensing_weights,
)
from weightnorm.methods.schedules import scaled, two_phase

KINDS = ("gd", "wn", "rpgd", "wn-columns", "rpgd-columns")
STEP = 2e-4


def build(kind, direction_step, scale_step):
    if kind == "gd":
        return wn.GradientDescent(direction_step)
    method = wn.WeightNorm if kind.startswith("wn") else wn.RPGD
    return method(
        direction_step, scale_step, blocks="columns" if kind.endswith("columns") else "all"
    )


# name -> (the two steps for the package, the same as a function of t, g, ‖w‖ for the twin)
STEPS = {
    "equal": ((STEP, STEP), lambda t, g, n: (STEP, STEP)),
    "two-phase": ((STEP, two_phase(0, STEP, 101)), lambda t, g, n: (STEP, STEP * (t > 100))),
    "scaled": (
        (scaled(STEP, norm_power=1), scaled(STEP, scale_power=0.5, norm_power=1)),
        lambda t, g, n: (STEP * n, STEP * n * np.sqrt(np.abs(g))),
    ),
    "callable": (
        (lambda t: STEP / (1 + t / 100), STEP),
        lambda t, g, n: (STEP / (1 + t / 100), STEP),
    ),
}


def small(size=9, measurements=14, seed=0, columns=None):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((measurements, size, size))
    U = rng.standard_normal((size, 2))
    y = np.einsum("ijk,jk->i", A, U @ U.T)
    return wn.MatrixSensing(A, y), rng.standard_normal((size, columns or size))


@pytest.mark.parametrize(
    ("kind", "steps"), [(k, s) for k in KINDS for s in STEPS if (k, s) != ("gd", "scaled")]
)
def test_a_run_equals_its_twin_over_1000_iterations(kind, steps):
    problem = (
        wn.datasets.make_sensing(size=30, rank=4, num_measurements=60, seed=0)
        if steps == "equal"
        else small()[0]
    )
    W0 = wn.datasets.sensing_start(problem.shape[1], seed=1)["direction"]
    method = build(kind, *STEPS[steps][0])
    X, scale = reference_sensing(kind, problem.sensors, problem.y, 1.5, W0, STEPS[steps][1], 1000)
    for coordinates in ("reduced", "full"):
        result = wn.run(
            method, problem, 1.5, W0, tolerance=0, max_steps=1000, coordinates=coordinates
        )
        assert result.num_steps == 1000
        assert np.linalg.norm(result.weights - X) <= 1e-10 * np.linalg.norm(X)
        assert result.loss == pytest.approx(sensing_loss(problem.sensors, problem.y, X), rel=1e-9)
        if kind != "gd":
            np.testing.assert_allclose(result.scale, scale, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("steps", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_batch_equals_its_twins_over_many_iterations(steps):
    problem = wn.datasets.make_sensing(seed=2)
    W = [wn.datasets.sensing_start(30, seed=seed)["direction"] for seed in range(2)]
    scales = [0.01, 1.0]
    methods = {kind: build(kind, STEP, STEP) for kind in KINDS}
    data = wn.sweep(problem, methods, scales, W, tolerance=0, max_steps=steps)
    for kind in KINDS:
        for start in range(2):
            for scale in scales:
                X, _ = reference_sensing(
                    kind, problem.sensors, problem.y, scale, W[start], STEPS["equal"][1], steps
                )
                entry = data.sel({"algorithm": kind, "start": start, "scale": scale})
                assert float(entry.norm) == pytest.approx(np.linalg.norm(X, "nuc"), rel=1e-10)
                assert float(entry.final_scale) == pytest.approx(np.trace(X), rel=1e-10)
                assert float(entry.recovery_error) == pytest.approx(
                    np.linalg.norm(X - problem.ground_truth) / np.linalg.norm(problem.ground_truth),
                    rel=1e-10,
                )
                assert int(entry.num_steps) == steps


@pytest.mark.parametrize("kind", KINDS)
def test_every_gradient_agrees_with_finite_differences(kind):
    problem, W = small(size=5, measurements=7, columns=3)
    rng = np.random.default_rng(3)
    scale = rng.standard_normal(3) if kind.endswith("columns") else 1.3
    A, y, h = problem.sensors, problem.y, 1e-6
    if kind.startswith("rpgd"):  # its gradient is that of g W Wᵀ at a W on the sphere
        W = W / np.linalg.norm(W, axis=0 if kind.endswith("columns") else None)

        def loss(W, g):
            return sensing_loss(A, y, W @ np.diag(g) @ W.T if np.ndim(g) else g * W @ W.T)
    else:

        def loss(W, g):
            return sensing_loss(A, y, sensing_weights(kind, W, g))

    gradient, slope = sensing_gradients(kind, A, y, W, scale)
    numeric = np.zeros_like(W)
    for index in np.ndindex(W.shape):
        E = np.zeros_like(W)
        E[index] = h
        numeric[index] = (loss(W + E, scale) - loss(W - E, scale)) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    if kind != "gd":
        bumps = np.eye(3) * h if np.ndim(scale) else [h]
        numeric = [(loss(W, scale + e) - loss(W, scale - e)) / (2 * h) for e in bumps]
        np.testing.assert_allclose(np.atleast_1d(slope), numeric, rtol=1e-6, atol=1e-6)


def test_value_and_gradient_in_x():
    problem, _ = small(size=4, measurements=6)
    X = np.random.default_rng(0).standard_normal((4, 4))
    assert problem.value(X) == pytest.approx(sensing_loss(problem.sensors, problem.y, X))
    numeric = np.zeros((4, 4))
    for index in np.ndindex(4, 4):
        E = np.zeros((4, 4))
        E[index] = 1e-5
        numeric[index] = (problem.value(X + E) - problem.value(X - E)) / 2e-5
    np.testing.assert_allclose(problem.gradient(X), numeric, rtol=1e-7, atol=1e-7)
    assert problem.gradient(np.array([X, X])).shape == (2, 4, 4)
    packed = X + X.T
    i, k = np.tril_indices(4)
    np.testing.assert_allclose(problem.packed @ packed[i, k], problem.measure(packed), rtol=1e-12)


@pytest.mark.parametrize(
    ("size", "measurements", "columns"), [(1, 1, 1), (2, 3, 5), (8, 4, 3), (17, 33, 17), (33, 5, 2)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_fill_no_tile(kind, size, measurements, columns):
    problem, W = small(size, measurements, columns=columns)
    method = build(kind, 1e-4, 1e-4)
    fast = wn.run(method, problem, 0.7, W, tolerance=0, max_steps=100)
    slow = wn.run(method, problem, 0.7, W, tolerance=0, max_steps=100, coordinates="full")
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=1e-11, atol=1e-11)
    assert fast.loss == pytest.approx(slow.loss, rel=1e-10, abs=1e-20)


def test_numbers_do_not_depend_on_company_or_threads():
    problem = wn.datasets.make_sensing(size=12, rank=2, num_measurements=20, seed=0)
    W = np.array([wn.datasets.sensing_start(12, seed=seed)["direction"] for seed in range(5)])
    methods = {kind: build(kind, 0.01, 0.01) for kind in KINDS}
    whole = wn.sweep(
        problem, methods, [0.1, 1.0, 4.0], W, tolerance=1e-6, max_steps=3000, threads=1
    )
    two = wn.sweep(problem, methods, [0.1, 1.0, 4.0], W, tolerance=1e-6, max_steps=3000, threads=2)
    assert whole.equals(two)
    for kind in KINDS:
        pair = wn.sweep(
            problem, {kind: methods[kind]}, [4.0], W[2:4], tolerance=1e-6, max_steps=3000
        )
        entry = whole.sel({"algorithm": kind, "start": 3, "scale": 4.0})
        for name in ("loss", "num_steps", "status"):
            np.testing.assert_array_equal(pair[name].values[0, 1, 0], entry[name].values)


@pytest.mark.parametrize(
    "bad",
    [wn.RPGD(1e200, 1e-3), wn.RPGD(scaled(1e-3, scale_power=-2), 1e-3), wn.GradientDescent(1e300)],
)
def test_a_run_that_overflows_does_not_touch_its_neighbours(bad):
    problem = wn.datasets.make_sensing(12, 2, 20, seed=0)  # 12 is no multiple of the vectors' width
    W = np.array([wn.datasets.sensing_start(12, seed=seed)["direction"] for seed in range(2)])
    good = wn.RPGD(1e-3, 1e-3)
    alone = wn.sweep(
        problem, {"good": good}, [1.0, 1e-160], W, tolerance=1e-6, max_steps=3000, threads=1
    )
    mixed = wn.sweep(
        problem,
        {"good": good, "bad": bad},
        [1.0, 1e-160],
        W,
        tolerance=1e-6,
        max_steps=3000,
        threads=1,
    )
    np.testing.assert_array_equal(mixed.norm.values[0], alone.norm.values[0])
    assert np.isfinite(alone.norm.values).all()


@pytest.mark.rounding
def test_a_status_does_not_depend_on_other_schedules():
    problem = wn.MatrixSensing(np.eye(3)[None], [2.0])
    frozen, other = wn.RPGD(0.01, 0.0), wn.RPGD(lambda t: 1e-7, 1e-7)
    ends = []
    for methods in ({"f": frozen}, {"f": frozen, "other": other}):
        data = wn.sweep(problem, methods, [1.0], np.eye(3), tolerance=1e-6, max_steps=20_000)
        assert data.status.values[0, 0, 0] == wn.Status.STATIONARY.code
        ends.append(int(data.num_steps.values[0, 0, 0]))
    assert ends[0] == ends[1]


def test_a_callable_need_not_be_hashable():
    class Decay:
        __hash__ = None

        def __call__(self, t):
            return 1e-3 / (1 + t / 100)

    problem, W = small()
    assert (
        wn.run(wn.RPGD(Decay(), 1e-3), problem, 1.0, W, tolerance=0, max_steps=10).num_steps == 10
    )


@pytest.mark.rounding
def test_a_standstill_is_called_by_its_name():
    problem, W = small()
    for coordinates in ("reduced", "full"):
        stuck = wn.run(wn.GradientDescent(0.01), problem, 0.0, W, coordinates=coordinates)
        assert (stuck.status, stuck.num_steps) == ("stationary", 0)
        assert "X = 0" in stuck.message
    diagonal = wn.MatrixSensing([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])], [1.0, 1.0])
    saddle = wn.run(wn.GradientDescent(0.1), diagonal, 1.0, [[1.0], [0.0]])
    assert saddle.status == "stationary"
    assert "saddle" in saddle.message


def test_a_negative_scale_has_a_distance():
    # X₁₁ = −1: the smallest is −e₁e₁ᵀ
    corner = wn.MatrixSensing(np.diag([1.0, 0.0, 0.0])[None], [-1.0])
    result = wn.run(wn.RPGD(0.05, 0.05), corner, 1.0, [[1.0], [0.0], [0.0]], tolerance=1e-16)
    assert result.scale == pytest.approx(-1.0)
    assert result.distance < 1e-5


def test_long_records_stay_small():
    problem, W = small(columns=1)
    result = wn.run(wn.RPGD(1e-4, 1e-4), problem, 1.0, W, tolerance=0, max_steps=700, record=1)
    assert list(result.history.step) == list(range(701))
    assert len(wn.run(wn.RPGD(1e-4, 1e-4), problem, 1.0, W, max_steps=0, record=1).history) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_equals_its_entry_of_a_sweep(kind):
    problem = wn.datasets.make_sensing(size=12, rank=2, num_measurements=20, seed=0)
    W = np.array([wn.datasets.sensing_start(12, seed=seed)["direction"] for seed in range(3)])
    method = build(kind, 1e-3, 1e-3)
    entry = wn.sweep(problem, {kind: method}, [4.0], W, tolerance=1e-6).isel(
        algorithm=0, start=1, scale=0
    )
    alone = wn.run(method, problem, 4.0, W[1], tolerance=1e-6)
    assert alone.loss == float(entry.loss)
    assert alone.norm == float(entry.norm)
    assert (alone.num_steps, alone.status.code) == (int(entry.num_steps), int(entry.status))


@given(kind=st.sampled_from(KINDS[1:]), seed=st.integers(0, 20), turn=st.integers(0, 20))
@settings(max_examples=15, deadline=None)
def test_rotation_and_sign(kind, seed, turn):
    """X ↦ Q X Qᵀ with sensors turned along, and (g, y) ↦ (−g, −y)."""
    problem, W = small(6, 8, seed)
    Q = np.linalg.qr(np.random.default_rng(turn).standard_normal((6, 6)))[0]
    method = build(kind, STEP, STEP)
    straight = wn.run(method, problem, 0.8, W, tolerance=0, max_steps=200)
    turned = wn.MatrixSensing(Q @ problem.sensors @ Q.T, problem.y)
    other = wn.run(method, turned, 0.8, Q @ W, tolerance=0, max_steps=200)
    np.testing.assert_allclose(Q.T @ other.weights @ Q, straight.weights, rtol=1e-9, atol=1e-9)
    flipped = wn.run(
        method, wn.MatrixSensing(problem.sensors, -problem.y), -0.8, W, tolerance=0, max_steps=200
    )
    np.testing.assert_allclose(-flipped.weights, straight.weights, rtol=1e-12, atol=1e-12)
