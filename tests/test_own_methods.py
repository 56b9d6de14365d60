"""Methods of the user's own: coordinates in which they mean what they say, and no state that leaks between runs."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.begin.own_method import runs_reduced
from weightnorm.methods.base import State

STEP = 0.02


@dataclass(frozen=True)
class SignDescent(wn.GradientDescent):
    """x ← x − η sign ∇f(x): every coordinate on its own."""

    def update(self, state, evaluation, vector_step, scale_step):
        return State(state.vector - vector_step[:, None] * np.sign(evaluation.vector_gradient), state.scale)


@dataclass(frozen=True)
class Half(wn.RPGD):
    """rPGD with half the step: lengths and angles only."""

    def update(self, state, evaluation, vector_step, scale_step):
        return super().update(state, evaluation, vector_step / 2, scale_step / 2)


@dataclass(frozen=True)
class SaysSo(SignDescent):
    """A class may declare what it is."""

    rotation_equivariant = True


class HeavyBall(wn.GradientDescent):
    """Momentum kept on the method itself, as a first attempt would."""

    def update(self, state, evaluation, vector_step, scale_step):
        velocity = 0.9 * getattr(self, "velocity", 0.0) + evaluation.vector_gradient
        object.__setattr__(self, "velocity", velocity)
        return State(state.vector - vector_step[:, None] * velocity, state.scale)


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(4, 9, condition_number=2.0, seed=0)


W0 = wn.datasets.random_direction(9, seed=0)


def twin(problem, rule, steps, scale=1.5):
    x, velocity = scale * W0, np.zeros(9)
    for _ in range(steps):
        gradient = problem.A.T @ (problem.A @ x - problem.y)
        velocity = 0.9 * velocity + gradient
        x = x - STEP * (np.sign(gradient) if rule == "sign" else velocity)
    return x


def test_a_coordinate_wise_method_runs_in_full_coordinates_and_says_so(problem):
    expected = twin(problem, "sign", 50)
    result = wn.run(SignDescent(STEP), problem, 1.5, W0, tolerance=0, max_steps=50)
    np.testing.assert_allclose(result.weights, expected, atol=1e-12)
    assert "in full coordinates" in result.message
    data = wn.sweep(problem, {"sign": SignDescent(STEP), "gd": wn.GradientDescent(STEP)}, [1.5], W0, tolerance=0, max_steps=50)
    assert float(data.norm[0, 0, 0]) == pytest.approx(np.linalg.norm(expected), rel=1e-12)
    plain = wn.run(wn.GradientDescent(STEP), problem, 1.5, W0, tolerance=0, max_steps=50)
    assert float(data.norm[1, 0, 0]) == pytest.approx(plain.norm, rel=1e-12)
    assert "full coordinates" not in plain.message


def test_which_methods_may_run_reduced():
    assert [runs_reduced(method) for method in (wn.RPGD(0.1, 0.1), Half(0.1, 0.1), HeavyBall(0.1))] == [True] * 3
    assert not runs_reduced(SignDescent(0.1))
    assert not runs_reduced(SignDescent(wn.schedules.two_phase(0.0, 0.1, 100)))  # frozen at first: still found out
    assert runs_reduced(SaysSo(0.1))


def test_state_on_the_method_itself_does_not_leak(problem):
    method = HeavyBall(STEP)
    expected = twin(problem, "momentum", 40)
    for _ in range(2):
        result = wn.run(method, problem, 1.5, W0, tolerance=0, max_steps=40)
        np.testing.assert_allclose(result.weights, expected, atol=1e-12)
    assert not hasattr(method, "velocity")
    for threads in (1, 2):
        data = wn.sweep(problem, {"m": method}, [0.5, 1.5], [W0, -W0], tolerance=0, max_steps=40, threads=threads)
        assert float(data.norm[0, 0, 1]) == pytest.approx(np.linalg.norm(expected), rel=1e-12)


@pytest.mark.parametrize("trip", [lambda r: r, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_state_on_the_method_itself_goes_on(problem, trip):
    part = wn.run(HeavyBall(STEP), problem, 1.5, W0, tolerance=0, max_steps=25)
    rest = wn.run(HeavyBall(STEP), problem, start=trip(part), tolerance=0, max_steps=15)
    np.testing.assert_allclose(rest.weights, twin(problem, "momentum", 40), atol=1e-12)
    assert rest.total_steps == 40


def test_state_does_not_leak_on_matrix_sensing_either():
    class Slower(wn.RPGD):
        def update(self, state, evaluation, vector_step, scale_step):
            object.__setattr__(self, "made", getattr(self, "made", 0) + 1)
            return super().update(state, evaluation, vector_step / self.made, scale_step / self.made)

    sensing = wn.datasets.make_sensing(6, 1, 10, seed=0)
    start = wn.datasets.sensing_start(6, seed=0)
    method = Slower(1e-3, 1e-3)
    first, second = (wn.run(method, sensing, **start, tolerance=0, max_steps=20) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


def test_a_method_that_cannot_be_copied_is_refused_by_name(problem):
    class Stubborn(wn.GradientDescent):
        def __deepcopy__(self, memo):
            raise RuntimeError("no")

    with pytest.raises(TypeError, match="Stubborn cannot be copied"):
        wn.run(Stubborn(0.1), problem, 1.0, W0)
