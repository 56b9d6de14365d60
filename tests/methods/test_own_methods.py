"""Methods of the user's own: coordinates in which they mean what they say, and no state that
leaks between runs.
"""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import xarray

import weightnorm as wn
from weightnorm.engine.coordinates import runs_reduced
from weightnorm.methods.state import State
from weightnorm.sweeps import load_config, run_sweep
from weightnorm.sweeps.methods import SPECS

STEP = 0.02


@dataclass(frozen=True)
class SignDescent(wn.GradientDescent):
    """x ← x − η sign ∇f(x): every coordinate on its own."""

    def update(self, state, evaluation, vector_step, scale_step):
        return State(
            state.vector - vector_step[:, None] * np.sign(evaluation.vector_gradient), state.scale
        )


@dataclass(frozen=True)
class Half(wn.RPGD):
    """rPGD with half the step: lengths and angles only."""

    rotation_equivariant = True

    def update(self, state, evaluation, vector_step, scale_step):
        return super().update(state, evaluation, vector_step / 2, scale_step / 2)


class Clipped(wn.GradientDescent):
    """Coordinate-wise only where a gradient is large: no trial with moderate numbers would find
    out.
    """

    def update(self, state, evaluation, vector_step, scale_step):
        clipped = np.clip(evaluation.vector_gradient, -5.0, 5.0)
        return State(state.vector - vector_step[:, None] * clipped, state.scale)


class Preconditioned(wn.GradientDescent):
    """A method tied to its dimension."""

    def update(self, state, evaluation, vector_step, scale_step):
        weights = np.linspace(0.5, 1.5, 9)
        return State(
            state.vector - vector_step[:, None] * weights * evaluation.vector_gradient, state.scale
        )


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
    assert (
        "ran in full coordinates, because SignDescent does not say rotation_equivariant"
        in result.message
    )
    data = wn.sweep(
        problem,
        {"sign": SignDescent(STEP), "gd": wn.GradientDescent(STEP)},
        [1.5],
        W0,
        tolerance=0,
        max_steps=50,
    )
    assert float(data.norm[0, 0, 0]) == pytest.approx(np.linalg.norm(expected), rel=1e-12)
    plain = wn.run(wn.GradientDescent(STEP), problem, 1.5, W0, tolerance=0, max_steps=50)
    assert float(data.norm[1, 0, 0]) == pytest.approx(plain.norm, rel=1e-12)
    assert "full coordinates" not in plain.message


def test_which_methods_may_run_reduced():
    """Ours, and those whose own class says so: what a class inherits from ours says nothing of
    its own rule.
    """

    class Inherits(Half):
        pass

    class TakesBack(Half):
        rotation_equivariant = False

    assert all(
        map(
            runs_reduced,
            (wn.RPGD(0.1, 0.1), wn.WeightNorm(0.1, 0.1), wn.GradientDescent(0.1), Half(0.1, 0.1)),
        )
    )
    assert runs_reduced(Inherits(0.1, 0.1))
    assert not any(
        map(runs_reduced, (SignDescent(0.1), HeavyBall(0.1), Clipped(0.1), TakesBack(0.1, 0.1)))
    )


def test_a_method_that_says_so_runs_reduced_and_gives_the_same(problem):
    reduced, full = (
        wn.run(Half(STEP, STEP), problem, 1.5, W0, tolerance=0, max_steps=200, coordinates=c)
        for c in ("reduced", "full")
    )
    np.testing.assert_allclose(reduced.weights, full.weights, atol=1e-12)
    assert "full coordinates" not in reduced.message
    assert reduced._resume.axes


@pytest.mark.parametrize("kind", [Clipped, Preconditioned])
def test_what_no_trial_would_find_out_is_right_too(kind):
    large = wn.datasets.make_regression(4, 9, solution_norm=300.0, seed=0)
    x = 200.0 * W0
    for _ in range(50):
        gradient = large.A.T @ (large.A @ x - large.y)
        x = x - STEP * (
            np.clip(gradient, -5, 5) if kind is Clipped else np.linspace(0.5, 1.5, 9) * gradient
        )
    result = wn.run(kind(STEP), large, 200.0, W0, tolerance=0, max_steps=50)
    np.testing.assert_allclose(result.weights, x, rtol=1e-11)


def test_state_on_the_method_itself_does_not_leak(problem):
    method = HeavyBall(STEP)
    expected = twin(problem, "momentum", 40)
    for _ in range(2):
        result = wn.run(method, problem, 1.5, W0, tolerance=0, max_steps=40)
        np.testing.assert_allclose(result.weights, expected, atol=1e-12)
    assert not hasattr(method, "velocity")
    for threads in (1, 2):
        data = wn.sweep(
            problem,
            {"m": method},
            [0.5, 1.5],
            [W0, -W0],
            tolerance=0,
            max_steps=40,
            threads=threads,
        )
        assert float(data.norm[0, 0, 1]) == pytest.approx(np.linalg.norm(expected), rel=1e-12)


@pytest.mark.parametrize(
    "trip", [lambda r: r, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_state_on_the_method_itself_goes_on(problem, trip):
    part = wn.run(HeavyBall(STEP), problem, 1.5, W0, tolerance=0, max_steps=25)
    rest = wn.run(HeavyBall(STEP), problem, start=trip(part), tolerance=0, max_steps=15)
    np.testing.assert_allclose(rest.weights, twin(problem, "momentum", 40), atol=1e-12)
    assert rest.total_steps == 40


def test_state_does_not_leak_on_matrix_sensing_either():
    class Slower(wn.RPGD):
        def update(self, state, evaluation, vector_step, scale_step):
            object.__setattr__(self, "made", getattr(self, "made", 0) + 1)
            return super().update(
                state, evaluation, vector_step / self.made, scale_step / self.made
            )

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


def test_a_subclass_of_ours_is_called_by_its_own_name_and_told_nothing_of_its_parents_steps():
    class Tenfold(wn.RPGD):
        def update(self, state, evaluation, vector_step, scale_step):
            return super().update(state, evaluation, 1e3 * vector_step, 1e3 * scale_step)

    problem = wn.datasets.make_regression(seed=0)
    w0 = wn.datasets.random_direction(50, seed=0)
    result = wn.run(Tenfold(0.1, 0.1), problem, 2.0, w0, max_steps=500)
    assert Tenfold.name == "Tenfold"
    assert "not stable together" not in result.message


def test_a_sweep_file_describes_the_starts_of_methods_in_full_coordinates_too(
    tmp_path, monkeypatch
):
    """‖x*‖ and ‖w0⊥‖, which such runs have no use for, as beside reduced ones."""
    path = tmp_path / "sweep.toml"
    path.write_text(
        'name = "own"\nmax_steps = 50\n[problems]\nnum_samples = 4\nnum_features = 9\n'
        "[starts]\nscales = [1.0]\nnum_directions = 2\n"
        '[methods.m]\nkind = "gd"\nstep = 0.01\n'
    )
    found = []
    for own in (False, True):
        if own:  # as a registered method of one's own: its rule is not that of GradientDescent
            monkeypatch.setattr(SPECS["gd"], "build", lambda spec: SignDescent(spec.step))
        outcome = run_sweep(load_config(path), tmp_path / str(own), threads=1)
        with xarray.open_dataset(outcome.path, engine="h5netcdf") as data:
            found.append(data.load())
    assert not np.array_equal(found[0].norm, found[1].norm)
    for name in ("minimum_norm", "start_perp_norm"):
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-12)
