"""Weight decay and clipping: where such runs come to rest, and what is refused."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import weightnorm as wn
from tests.methods.test_decay_clip import (
    KINDS,
    PROBLEM,
    SCALE,
    W0,
    A,
    Y,
    close,
    method_of,
    options_of,
)
from weightnorm import schedules
from weightnorm.engine.start import backend_of


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
    from weightnorm.runs.dataset import exact_norms

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
