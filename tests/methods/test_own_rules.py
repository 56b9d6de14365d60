"""What a method of one's own may forget: it is refused by name, where runs would be wrong."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.methods import block_norm, expand

PROBLEM = wn.datasets.make_regression(6, 14, 3.0, seed=0)
W0 = wn.datasets.random_direction(14, seed=1)
SENSING = wn.datasets.make_sensing(6, 2, 12, seed=0)
SENSING_START = wn.datasets.sensing_start(6, 1.0, seed=0)


class Projected(wn.Method):
    """rPGD without momentum, written anew."""

    rotation_equivariant = True
    schedules = wn.schedules.constant(0.005), wn.schedules.constant(0.005)

    def update(self, state, evaluation, vector_step, scale_step):
        vector = state.vector - expand(vector_step, state.vector) * evaluation.vector_gradient
        vector = vector / expand(block_norm(vector, state.scale), vector)
        return state.moved(vector, state.scale - scale_step * evaluation.scale_gradient)


class Unprojected(Projected):
    """It forgets the projection."""

    def update(self, state, evaluation, vector_step, scale_step):
        vector = state.vector - expand(vector_step, state.vector) * evaluation.vector_gradient
        return state.moved(vector, state.scale - scale_step * evaluation.scale_gradient)


class ByRows(Projected):
    """It takes norms row by row: right for vectors, wrong for the factors of matrix sensing."""

    def update(self, state, evaluation, vector_step, scale_step):
        vector = state.vector - expand(vector_step, state.vector) * evaluation.vector_gradient
        vector = vector / np.linalg.norm(vector, axis=1, keepdims=True)
        return state.moved(vector, state.scale - scale_step * evaluation.scale_gradient)


def both_ways(method, problem, **start):
    """A run and a sweep."""
    several = {"scales": [start["scale"]], "directions": start["direction"]}
    return (
        lambda: wn.run(method, problem, **start, max_steps=50),
        lambda: wn.sweep(problem, {"m": method}, **several, max_steps=50),
    )


def test_a_direction_that_is_not_projected():
    for call in both_ways(Unprojected(), PROBLEM, scale=1.0, direction=W0):
        with pytest.raises(ValueError, match=r"Unprojected.update must return directions of unit"):
            call()


def test_norms_of_a_factor_taken_by_rows():
    same = [wn.run(m, PROBLEM, 1.0, W0, max_steps=50) for m in (ByRows(), Projected())]
    assert np.allclose(same[0].weights, same[1].weights)
    with pytest.raises(ValueError, match=r"block_norm\(vector, scale\)"):
        wn.run(ByRows(), SENSING, **SENSING_START)


@pytest.mark.parametrize(
    ("problem", "start"), [(PROBLEM, {"scale": 1.0, "direction": W0}), (SENSING, SENSING_START)]
)
def test_what_is_projected_by_hand_is_rpgd(problem, start):
    steps = 40
    ours = wn.run(wn.RPGD(0.005, 0.005), problem, **start, max_steps=steps)
    own = wn.run(Projected(), problem, **start, max_steps=steps)
    assert np.allclose(own.weights, ours.weights, rtol=1e-10, atol=1e-12)


def test_a_run_that_diverges_is_a_status():
    class Far(Projected):
        schedules = wn.schedules.constant(1e200), wn.schedules.constant(1e200)

    assert wn.run(Far(), PROBLEM, 1.0, W0).status == "diverged"


def test_a_direction_of_any_length_with_an_evaluation_of_its_own():
    class Free(Unprojected):
        free_norm = True

        def evaluate(self, problem, state):
            norm = block_norm(state.vector, state.scale)
            unit = state.vector / expand(norm, state.vector)
            loss, by_unit, by_scale = problem.scale_direction_gradients(unit, state.scale)
            along = expand((by_unit * unit).sum(axis=1), unit) * unit
            return wn.methods.contract.Evaluation(
                loss, (by_unit - along) / expand(norm, unit), by_scale
            )

    assert wn.run(Free(), PROBLEM, 1.0, W0, tolerance=1e-6).status == "converged"


def test_momentum_that_is_dropped():
    class Dropped(wn.RPGD):
        def update(self, state, evaluation, vector_step, scale_step):
            move, scale_move, _ = self.step_directions(state, evaluation)
            vector = state.vector - expand(vector_step, move) * move
            vector = vector / expand(block_norm(vector, state.scale), vector)
            return state.moved(vector, state.scale - scale_step * scale_move)

    for call in both_ways(Dropped(0.05, 0.05, momentum=0.5), PROBLEM, scale=1.0, direction=W0):
        with pytest.raises(ValueError, match=r"has momentum = 0.5.*\*\*buffers"):
            call()
    assert wn.run(Dropped(0.05, 0.05), PROBLEM, 1.0, W0).status == "converged"


@pytest.mark.parametrize("wrong", [(0.05, 0.05), wn.schedules.constant(0.05), ()])
def test_schedules_that_are_none(wrong):
    @dataclass(frozen=True)
    class Odd(Projected):
        schedules = wrong

    for call in both_ways(Odd(), PROBLEM, scale=1.0, direction=W0):
        with pytest.raises(TypeError, match=r"Odd.schedules must be two schedules"):
            call()


def test_an_array_that_is_not_there():
    class Forgets(Projected):
        def update(self, state, evaluation, vector_step, scale_step):
            return state.also(mean=0.9 * state["mean"])

    with pytest.raises(KeyError, match=re.escape("no array 'mean' (none); give it in init")):
        wn.run(Forgets(), PROBLEM, 1.0, W0)
