"""Weight decay and clipping: each against a plain d-dimensional loop, however it is run, and where
such runs come to rest.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import weightnorm as wn
from tests.support.cases import build
from tests.support.training_twin import train
from weightnorm import schedules
from weightnorm.engine.batch import Start
from weightnorm.engine.start import start

STEPS, ETA, GAMMA, SCALE = 200, 0.02, 0.03, 1.4
KINDS = ("gd", "wn", "rpgd", "bn")
DECAYS = {
    "scale": {"scale_decay": 0.3},
    "direction": {"direction_decay": 0.03},
    "both": {"scale_decay": 0.2, "direction_decay": 0.02},
    "clip": {"clip": 0.4},
    "all": {"scale_decay": 0.2, "direction_decay": 0.02, "clip": 0.4},
}
PAIRS = [(k, d) for k in KINDS for d in DECAYS if (k, d) != ("gd", "scale")]
PUSHES = {
    "plain": {},
    "heavy ball": {"momentum": 0.7},
    "Nesterov": {"momentum": 0.7, "nesterov": True},
    "noise": {"label_noise": 0.3, "seed": 5},
    "batches with momentum": {"batch_size": 3, "seed": 5, "momentum": 0.5},
}
PROBLEM = wn.datasets.make_regression(6, 20, condition_number=3.0, seed=0)
A, Y, W0 = np.asarray(PROBLEM.A), PROBLEM.y, wn.datasets.random_direction(20, seed=0)
ALL = {"tolerance": 0, "max_steps": STEPS}


def options_of(kind, decay, push=()):
    """The options that a method of this kind takes."""
    options = decay | dict(push)
    return {n: v for n, v in options.items() if kind != "gd" or n != "scale_decay"}


def method_of(kind, options, eta=ETA, gamma=GAMMA):
    return replace(build(kind, eta, gamma), **options)


def twin(kind, options, steps=STEPS, scale=SCALE, w0=W0):
    sampling = method_of(kind, options).sampling
    draws = None if sampling is None else sampling.draws(len(Y))
    own = {n: v for n, v in options.items() if n not in ("label_noise", "batch_size", "seed")}
    steps_of = (lambda t: ETA, lambda t: GAMMA)
    return train(kind, A, Y, scale, w0, *steps_of, steps, draws=draws, **own)


def close(a, b, tolerance=1e-10):
    assert np.linalg.norm(np.asarray(a) - np.asarray(b)) <= tolerance * max(np.linalg.norm(b), 1.0)


@pytest.mark.parametrize(("kind", "decay"), PAIRS)
@pytest.mark.parametrize("push", PUSHES)
def test_a_run_is_the_plain_loop(kind, decay, push):
    """Reduced and full, whole and in two parts, alone and in a sweep."""
    options = options_of(kind, DECAYS[decay], PUSHES[push])
    method = method_of(kind, options)
    path = twin(kind, options)
    x, g, w = path[-1]
    result = wn.run(method, PROBLEM, SCALE, W0, **ALL)
    close(result.weights, x)
    full = wn.run(method, PROBLEM, SCALE, W0, **ALL, coordinates="full")
    close(full.weights, x)
    assert result.loss == pytest.approx(PROBLEM.value(x), rel=1e-9)  # the plain loss
    if kind != "gd":
        size = np.linalg.norm(w) / np.linalg.norm(A @ w) if kind == "bn" else 1.0
        assert result.scale == pytest.approx(g * size, rel=1e-10)
        assert full.scale == pytest.approx(g * size, rel=1e-10)
        assert result.direction_norm == pytest.approx(np.linalg.norm(w), rel=1e-10)
    part = wn.run(method, PROBLEM, SCALE, W0, tolerance=0, max_steps=77)
    for trip in (part, pickle.loads(pickle.dumps(part))):
        rest = wn.run(method, PROBLEM, start=trip, tolerance=0, max_steps=STEPS - 77)
        np.testing.assert_array_equal(rest.weights, result.weights)
    other = wn.datasets.random_direction(20, seed=1)
    data = wn.sweep(PROBLEM, {"m": method}, [-0.6, SCALE], [other, W0], **ALL)
    assert float(data.norm[0, 1, 1]) == pytest.approx(result.norm, rel=1e-12)
    alone = wn.run(method, PROBLEM, -0.6, other, **ALL)
    assert float(data.loss[0, 0, 0]) == pytest.approx(alone.loss, rel=1e-11)


@pytest.mark.parametrize(("kind", "decay"), PAIRS)
def test_the_kernel_is_the_rule(kind, decay):
    """On the same coordinates, with powers in the steps, a problem for each run, and runs that end
    at different steps.
    """
    turn = 0.05 if kind == "gd" else schedules.curvature(0.2)
    options = options_of(kind, DECAYS[decay], {"momentum": 0.3})
    method = method_of(kind, options, turn, schedules.scaled(0.05, 0.5, 0.25))
    spaces = []
    for m, c, size in ((6, 3.0, 1.0), (5, 2.0, 0.8), (6, 1.5, 1.1), (3, 4.0, 0.9)):
        made = wn.datasets.make_regression(m, 20, condition_number=c, seed=m)
        spaces.append(wn.LeastSquares(size * made.A, made.y).reduce())
    small = spaces[0].problem.stack([space.problem for space in spaces])
    units = np.random.default_rng(0).standard_normal((4, 7))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    begun = Start(np.linspace(0.3, 2.0, 4), units, perp_units=np.eye(1, 7, 6))
    batches = [start(method, small, begun, 1.2, compiled=c) for c in (True, False)]
    assert [type(batch).__name__ for batch in batches] == ["SingleBatch", "RulesBatch"]
    for batch in batches:
        batch.advance(70)
        batch.advance(130)
    a, b = (batch.position() for batch in batches)
    np.testing.assert_allclose(a.unit, b.unit, atol=1e-12)
    np.testing.assert_allclose(a.scale, b.scale, rtol=1e-11)
    np.testing.assert_allclose(a.direction_norm, b.direction_norm, rtol=1e-12)
    np.testing.assert_allclose(batches[0].loss, batches[1].loss, rtol=1e-11)
    np.testing.assert_array_equal(batches[0].ended_at, batches[1].ended_at)
    np.testing.assert_array_equal(batches[0].alive, batches[1].alive)


@pytest.mark.parametrize(("kind", "decay"), PAIRS)
def test_starts_on_several_problems(kind, decay):
    """A sweep that advances runs on different problems together gives what each gives alone."""
    from weightnorm.engine.many_runs import run_many

    method = method_of(kind, options_of(kind, DECAYS[decay]))
    problems = [wn.datasets.make_regression(m, 20, 2.0, seed=m) for m in (3, 6)]
    starts, scales = [W0, wn.datasets.random_direction(20, 1)], [0.5, 1.4, -1.0]
    grid = run_many(problems, {"m": method}, scales, starts, 0.0, 60)
    for i, problem in enumerate(problems):
        for j, scale in enumerate(scales):
            run = wn.run(method, problem, scale, starts[i], tolerance=0, max_steps=60)
            assert grid.arrays["loss"][0, i, j] == pytest.approx(run.loss, rel=1e-11)
            assert grid.arrays["norm"][0, i, j] == pytest.approx(run.norm, rel=1e-12)


@pytest.mark.parametrize(("kind", "decay"), PAIRS)
def test_signs_and_units_do_not_matter(kind, decay):
    options = options_of(kind, DECAYS[decay], {"momentum": 0.4})
    result = wn.run(method_of(kind, options), PROBLEM, SCALE, W0, **ALL)
    turned = wn.run(method_of(kind, options), PROBLEM, -SCALE, -W0, **ALL)
    close(turned.weights, result.weights, 1e-12)
    # (A, y) -> s·(A, y): the loss times s², and so are the decays, where g and w are the same
    s = 1e3
    scaled = wn.LeastSquares(s * A, s * Y)
    if kind == "bn":  # its own g is s times as large: γ as it was, and the clip does not commute
        if "clip" in options:
            return
        own = options | {"direction_decay": s**2 * options.get("direction_decay", 0.0)}
        same = wn.run(method_of(kind, own, ETA / s**2, GAMMA), scaled, SCALE, W0, **ALL)
    else:
        own = {n: v if n == "momentum" else s**2 * v for n, v in options.items()}
        same = wn.run(method_of(kind, own, ETA / s**2, GAMMA / s**2), scaled, SCALE, W0, **ALL)
    close(same.weights, result.weights, 1e-10)


def test_clipping_sees_both_gradients_of_a_run_and_of_no_other():
    method = wn.WeightNorm(0.1, 0.1, clip=1e-3)
    starts = [W0, wn.datasets.random_direction(20, seed=1)]
    state = method.init(np.array([SCALE, 0.2]), np.array(starts))
    moves = method.step_directions(state, method.evaluate(PROBLEM, state))
    sizes = np.sqrt((moves[0] ** 2).sum(axis=1) + moves[1] ** 2)
    np.testing.assert_allclose(sizes, 1e-3, rtol=1e-12)
    plain = wn.run(wn.WeightNorm(0.1, 0.1), PROBLEM, SCALE, W0, **ALL)
    far = wn.run(wn.WeightNorm(0.1, 0.1, clip=1e9), PROBLEM, SCALE, W0, **ALL)
    close(far.weights, plain.weights, 1e-12)


@pytest.mark.parametrize("size", [1e-170, 1e170])
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_clipping_where_squares_over_or_underflow(size, coordinates):
    """One sample: x ← x − η·clip·sign, whatever the gradient's size."""
    root = np.sqrt(size)
    problem = wn.LeastSquares([[root, 0.0]], [0.0])
    clip = 0.01 * size
    method = wn.GradientDescent(1 / size, clip=clip)
    result = wn.run(
        method, problem, 1.0, [1.0, 0.0], tolerance=0, max_steps=10, coordinates=coordinates
    )
    assert result.weights[0] == pytest.approx(0.9, rel=1e-12)


def test_columns_are_clipped_together_and_decayed_each():
    problem = wn.datasets.make_sensing(5, 1, 12, seed=0)
    begun = wn.datasets.sensing_start(5, seed=0)
    own = {"scale_decay": 0.3, "direction_decay": 0.2, "clip": 0.05}
    method = wn.WeightNorm(1e-2, 2e-2, blocks="columns", **own)
    result = wn.run(method, problem, **begun, tolerance=0, max_steps=50)
    S, y, W = problem.sensors, problem.y, np.asarray(begun["direction"])
    W, D = W / np.linalg.norm(W, axis=0), np.full(W.shape[1], float(begun["scale"]))
    for _ in range(50):
        n = np.linalg.norm(W, axis=0)
        U = W / n
        M = np.tensordot(np.tensordot(S, U @ np.diag(D) @ U.T, axes=2) - y, S, axes=1) / len(y)
        M = (M + M.T) / 2
        G, slope = 2 * M @ U * D, np.sum(U * (M @ U), axis=0)
        G = (G - np.sum(U * G, axis=0) * U) / n
        share = min(1.0, 0.05 / np.sqrt((G**2).sum() + (slope**2).sum()))
        W, D = W - 1e-2 * (share * G + 0.2 * W), D - 2e-2 * (share * slope + 0.3 * D)
    U = W / np.linalg.norm(W, axis=0)
    close(result.weights, U @ np.diag(D) @ U.T)
