"""Weight decay and clipping: each against a plain d-dimensional loop, however it is run, and where
such runs come to rest.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from cases import build
from training_twin import train

import weightnorm as wn
from weightnorm import schedules
from weightnorm.engine.batch import Start
from weightnorm.engine.start import backend_of, start

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
    from weightnorm.engine.grid import compute_grid

    method = method_of(kind, options_of(kind, DECAYS[decay]))
    problems = [wn.datasets.make_regression(m, 20, 2.0, seed=m) for m in (3, 6)]
    starts, scales = [W0, wn.datasets.random_direction(20, 1)], [0.5, 1.4, -1.0]
    grid = compute_grid(problems, {"m": method}, scales, starts, 0.0, 60)
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
    moves = method.pushed(state, method.evaluate(PROBLEM, state))
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


class TestRest:
    """Where the loss and the decay balance."""

    tall = wn.LeastSquares(
        np.random.default_rng(0).standard_normal((30, 5)) / 5,
        np.random.default_rng(1).standard_normal(30),
    )
    w5 = np.random.default_rng(2).standard_normal(5)

    @pytest.mark.parametrize("kind", ["wn", "rpgd"])
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    def test_decay_of_the_scale_ends_at_ridge(self, kind, coordinates):
        mu = 0.1
        ridge = np.linalg.solve(A.T @ A + mu * np.eye(20), A.T @ Y)
        method = method_of(kind, {"scale_decay": mu}, 0.05, 0.05)
        result = wn.run(method, PROBLEM, SCALE, W0, max_steps=100_000, coordinates=coordinates)
        assert result.status == "stationary"
        assert result.num_steps <= 8192
        assert "the decay and the loss balance: the minimum of the loss plus" in result.message
        assert "½·scale_decay·g²" in result.message
        close(result.weights, ridge, 1e-6)

    def test_weight_decay_of_gradient_descent_ends_at_ridge(self):
        result = wn.run(wn.GradientDescent(0.1, direction_decay=0.1), PROBLEM, SCALE, W0)
        assert result.status == "stationary"
        assert "½·direction_decay·‖x‖²" in result.message
        close(result.weights, np.linalg.solve(A.T @ A + 0.1 * np.eye(20), A.T @ Y), 1e-6)

    def test_decay_of_batch_norm_shrinks_the_predictions(self):
        """The loss plus ½μ‖Ax‖²: x*/(1 + μ) in the row space."""
        method = wn.BatchNorm(0.05, 0.05, scale_decay=0.25)
        result = wn.run(method, PROBLEM, SCALE, W0)
        assert result.status == "stationary"
        assert "½·scale_decay·g²" in result.message
        close(A @ result.weights, Y / 1.25, 1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_short_run_ends_by_what_it_shows(self, kind):
        """At the solution of the loss a decayed run is neither stationary nor converged."""
        x = PROBLEM.min_norm_solution()
        options = options_of(kind, {"scale_decay": 0.1, "direction_decay": 0.1 * (kind == "gd")})
        unreachable = self.tall
        best = unreachable.min_norm_solution()
        for problem, at in ((PROBLEM, x), (unreachable, best)):
            start = {"scale": float(np.linalg.norm(at)), "direction": at, "tolerance": 1e-40}
            begun = wn.run(method_of(kind, options), problem, **start, max_steps=0)
            assert begun.status == "max_steps"
            moved = wn.run(method_of(kind, options), problem, **start, max_steps=5)
            assert moved.status == "max_steps"
            assert np.linalg.norm(moved.weights - at) > 1e-6

    @pytest.mark.parametrize("kind", ["wn", "bn"])
    def test_a_w_that_shrinks_is_not_at_rest(self, kind):
        """On an unreachable y, x comes to the floor; but ‖w‖ falls, and the steps of its direction
        grow until they throw x off.
        """
        plain = wn.run(method_of(kind, {}, 0.05, 0.05), self.tall, 1.0, self.w5)
        assert plain.status == "stationary"
        method = method_of(kind, {"direction_decay": 1e-3}, 0.05, 0.05)
        result = wn.run(method, self.tall, 1.0, self.w5, max_steps=60_000, record=100)
        assert result.status == "max_steps"
        assert "direction_decay shrinks w" in result.message
        history = result.history
        floor = self.tall.floor
        assert history.loss.min() <= floor * (1 + 1e-12)
        late = history.loss[np.argmin(history.loss) :]
        assert late.max() > floor * (1 + 1e-9)  # thrown off again

    def test_a_w_that_shrinks_may_converge_first(self):
        result = wn.run(wn.WeightNorm(0.05, 0.05, direction_decay=1e-3), PROBLEM, SCALE, W0)
        assert result.status == "converged"

    def test_the_sphere_undoes_decay_of_the_direction(self):
        result = wn.run(wn.RPGD(0.05, 0.05, direction_decay=0.1), self.tall, 1.0, self.w5)
        assert result.status == "stationary"
        assert "floor of an unreachable y" in result.message
        close(result.weights, self.tall.min_norm_solution(), 1e-8)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_decayed_optimum_is_no_optimum_of_the_loss(self, kind):
        rng = np.random.default_rng(3)
        problem = wn.GeneralizedLinear(rng.standard_normal((20, 3)), rng.integers(0, 2, 20))
        decay = {"direction_decay" if kind == "gd" else "scale_decay": 0.5}
        w0 = [1.0, 2.0, 0.5]
        steps = (0.05, 0.5 if kind == "bn" else 0.05)
        plain = wn.run(method_of(kind, {}, *steps), problem, 1.0, w0, max_steps=5000)
        assert plain.status == "converged"
        result = wn.run(method_of(kind, decay, *steps), problem, 1.0, w0, max_steps=5000)
        assert result.status == "stationary"
        assert "convex" not in result.message
        assert "½·" in result.message
        assert result.loss > plain.loss
        # even where the decay is as small as rounding
        tiny = dict.fromkeys(decay, 1e-15)
        result = wn.run(method_of(kind, tiny, *steps), problem, 1.0, w0, max_steps=5000)
        assert (result.status, "½·" in result.message) == ("stationary", True)

    def test_a_frozen_scale_does_not_decay(self):
        result = wn.run(wn.WeightNorm(0.05, 0.0, scale_decay=0.1), PROBLEM, SCALE, W0)
        assert result.status == "stationary"
        assert "the scale will not move any more" in result.message
        assert result.scale == SCALE

    @pytest.mark.parametrize("kind", ["wn", "rpgd"])
    def test_scale_zero_is_left_or_not_as_without_decay(self, kind):
        problem = wn.LeastSquares([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0])
        method = method_of(kind, {"scale_decay": 0.1, "direction_decay": 0.1})
        stuck = wn.run(method, problem, 0.0, [0.0, 1.0])
        assert (stuck.status, stuck.num_steps) == ("stationary", 0)
        assert "a point of S" in stuck.message
        free = wn.run(method, problem, 0.0, [1.0, 1.0], max_steps=50)
        assert free.status == "max_steps"
        assert free.scale > 0.1

    def test_a_cycle_is_explained_by_the_theory_of_plain_runs_only(self):
        problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
        cases = ({}, {"clip": 1e9}, {"scale_decay": 1e-12}, {"direction_decay": 1e-12})
        named = []
        for own in cases:
            method = wn.RPGD(schedules.curvature(), 0.1, **own)
            result = wn.run(method, problem, 0.01, [-0.6, 0.8], max_steps=500)
            named.append("2-cycle" in result.message)
        assert named == [True, False, False, False]


def test_a_step_onto_zero_is_not_made():
    """ηλ = 1 takes w to zero exactly, where the gradient of w vanishes."""
    problem = wn.LeastSquares(np.eye(2), [1.0, 0.0])
    for kind in ("wn", "rpgd", "bn"):
        method = method_of(kind, {"direction_decay": 2.0}, 0.5, 0.1)
        for coordinates in ("reduced", "full"):
            result = wn.run(
                method, problem, 0.5, [1.0, 0.0], tolerance=0, max_steps=3, coordinates=coordinates
            )
            assert result.direction_norm == pytest.approx(1.0)
            assert np.isfinite(result.weights).all()


def test_a_decay_that_overshoots_diverges():
    for kind, own in (("gd", "direction_decay"), ("wn", "scale_decay"), ("bn", "scale_decay")):
        for coordinates in ("reduced", "full"):
            method = method_of(kind, {own: 1e3}, 0.1, 0.1)
            result = wn.run(method, PROBLEM, SCALE, W0, coordinates=coordinates)
            assert result.status == "diverged"


def test_which_backend_has_which_option():
    """The lanes have the plain rule; the rest falls to the kernel of single runs, or to NumPy."""
    small = PROBLEM.reduce().problem
    logistic = wn.GeneralizedLinear(A, Y > 0).reduce().problem
    sensing = wn.datasets.make_sensing(5, 1, 12, seed=0)
    plain, decayed = wn.RPGD(0.1, 0.1), wn.RPGD(0.1, 0.1, scale_decay=0.1)
    clipped, batch = wn.RPGD(0.1, 0.1, clip=1.0), wn.BatchNorm(0.1, 0.1)
    names = [backend_of(m, small).__name__ for m in (plain, decayed, clipped, batch)]
    assert names == ["DiagonalBatch", "SingleBatch", "SingleBatch", "SingleBatch"]
    names = [backend_of(m, logistic).__name__ for m in (plain, decayed, clipped, batch)]
    assert names == ["ModelBatch", "RulesBatch", "RulesBatch", "RulesBatch"]
    names = [backend_of(m, sensing).__name__ for m in (plain, decayed, clipped)]
    assert names == ["SensingBatch", "RulesBatch", "RulesBatch"]
    with pytest.raises(TypeError, match="no decay and no clipping"):
        wn.search_step(
            sensing, lambda c: wn.RPGD(c, c, clip=1.0), **wn.datasets.sensing_start(5, seed=0)
        )


def test_the_exact_limits_are_not_drawn_over_decayed_runs():
    from weightnorm.runs.grids import exact_norms

    methods = {
        "gd": wn.GradientDescent(0.05),
        "gd2": wn.GradientDescent(0.05, direction_decay=0.1),
        "wn": wn.WeightNorm(0.05, 0.05),
        "wn2": wn.WeightNorm(0.05, 0.05, scale_decay=0.1),
        "bn": wn.BatchNorm(0.05, 0.05),
    }
    data = wn.sweep(PROBLEM, methods, [1.0], [W0], max_steps=10)
    known = np.isfinite(exact_norms(data)).all(["start", "scale"]).values.tolist()
    assert known == [True, False, True, False, False]
    assert np.isnan(float(data.ratio[4]))


def test_repr_shows_what_is_given():
    assert repr(wn.WeightNorm(0.1, 0.2)) == "WeightNorm(direction_step=0.1, scale_step=0.2)"
    method = wn.WeightNorm(0.1, 0.2, scale_decay=1, direction_decay=0.5, clip=2)
    assert repr(method) == (
        "WeightNorm(direction_step=0.1, scale_step=0.2, scale_decay=1.0, direction_decay=0.5, "
        "clip=2.0)"
    )
    assert method == wn.WeightNorm(0.1, 0.2, scale_decay=1.0, direction_decay=0.5, clip=2.0)
    assert replace(method, clip=None) != method
    assert pickle.loads(pickle.dumps(method)) == method


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale_decay": -0.1}, "scale_decay must be at least 0"),
        ({"direction_decay": -1}, "direction_decay must be at least 0"),
        ({"scale_decay": np.inf}, "scale_decay must be"),
        ({"direction_decay": np.nan}, "direction_decay must be"),
        ({"scale_decay": "much"}, "scale_decay must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"clip": -1.0}, "clip must be"),
        ({"clip": np.nan}, "clip must be"),
        ({"clip": np.inf}, "clip must be"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_options_are_refused_by_name(kind, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        method_of(kind, options)


def test_gradient_descent_has_no_scale_to_decay():
    with pytest.raises(ValueError, match=r"scale_decay must be 0 for GradientDescent.*got 0.1"):
        wn.GradientDescent(0.1, scale_decay=0.1)
