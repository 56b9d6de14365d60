"""Every method × every problem through one door, and what a rule or a problem of one's own may
get wrong.
"""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import weightnorm as wn
from tests.support.engine_cases import METHODS, PROBLEMS, RNG, W0, A, Quartic, Slowing
from weightnorm.engine import start as engine_start
from weightnorm.methods.registry import REGISTRY, Entry, with_kernel
from weightnorm.sweeps.methods import _spec


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]()


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
class TestEveryMethodOnEveryProblem:
    def test_reduced_is_full(self, problem, method):
        a, b = (
            wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=200, coordinates=c, record=50)
            for c in ("reduced", "full")
        )
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(a.history.loss, b.history.loss, rtol=1e-9, atol=1e-14)
        assert a.loss == pytest.approx(
            float(problem.value_and_gradient(a.weights[None])[0][0]), rel=1e-9, abs=1e-14
        )

    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    def test_resumed_is_uninterrupted(self, problem, method, coordinates):
        options = {"tolerance": 0, "coordinates": coordinates}
        whole = wn.run(method, problem, 1.3, W0, max_steps=90, **options)
        part = wn.run(method, problem, 1.3, W0, max_steps=40, **options)
        for trip in (lambda r: r, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))):
            rest = wn.run(method, problem, start=trip(part), max_steps=50, **options)
            np.testing.assert_array_equal(rest.weights, whole.weights)
            assert rest.total_steps == 90

    def test_sweep_is_run(self, problem, method):
        """Also where some runs of a batch end before others."""
        starts, scales = [W0, -W0, RNG.standard_normal(14)], [0.4, 1.3]
        tolerance = 0.5 * float(
            problem.value_and_gradient(1.3 * W0[None] / np.linalg.norm(W0))[0][0]
        )
        data = wn.sweep(problem, {"m": method}, scales, starts, tolerance=tolerance, max_steps=150)
        for i, w in enumerate(starts):
            for j, scale in enumerate(scales):
                run = wn.run(method, problem, scale, w, tolerance=tolerance, max_steps=150)
                assert int(data.num_steps[0, i, j]) == run.num_steps
                assert int(data.status[0, i, j]) == run.status.code
                assert float(data.norm[0, i, j]) == pytest.approx(run.norm, rel=1e-10)
                assert float(data.loss[0, i, j]) == pytest.approx(run.loss, rel=1e-9, abs=1e-14)


def test_a_problem_that_is_not_one_is_refused():
    class Nothing:
        pass

    with pytest.raises(TypeError, match=r"problem must be .*, got Nothing; .*subclass wn.Problem"):
        wn.run(METHODS["gd"], Nothing(), 1.0, W0)

    class NoDimension(wn.Problem):
        def value_and_gradient(self, x):
            return x.sum(axis=1), x

    with pytest.raises((TypeError, ValueError), match="dimension of NoDimension"):
        wn.run(METHODS["gd"], NoDimension(), 1.0, W0)
    with pytest.raises(ValueError, match=r"draws samples .* and Quartic has none"):
        wn.run(wn.RPGD(0.1, 0.1, batch_size=2), Quartic(), 1.0, W0)
    with pytest.raises(ValueError, match=r"RPGD has a curvature step.*Quartic has none"):
        wn.run(wn.RPGD(wn.schedules.curvature(), 0.1), Quartic(), 1.0, W0)
    with pytest.raises(ValueError, match="Quartic has one block"):
        wn.run(wn.RPGD(0.1, 0.1, blocks="columns"), Quartic(), 1.0, W0)


def test_a_row_is_all_a_sweep_file_needs():
    spec = _spec(Entry("slowing", Slowing, "slowing descent", ("step", "momentum")))
    method = spec(
        kind="slowing", step={"schedule": "two_phase", "before": 0.0, "after": 0.1, "switch": 5}
    ).build()
    assert method == Slowing(wn.schedules.two_phase(0.0, 0.1, 5))
    with pytest.raises(ValueError, match="Extra inputs"):
        spec(kind="slowing", step=0.1, scale_step=0.1)


def test_a_row_names_parameters_of_its_class():
    for row in REGISTRY:
        assert set(row.parameters) <= set(row.method.__dataclass_fields__)


def test_a_method_keeps_its_options_when_it_is_replaced():
    method = wn.RPGD(0.1, 0.2, momentum=0.9, nesterov=True, batch_size=3, seed=1)
    assert replace(method) == method
    assert (
        repr(method) == "RPGD(direction_step=0.1, scale_step=0.2, momentum=0.9, nesterov=True, "
        "batch_size=3, seed=1)"
    )
    assert pickle.loads(pickle.dumps(method)) == method


class TestBadRules:
    """What a method or a problem of one's own may get wrong is said by name, not computed."""

    problem = wn.LeastSquares(A, np.ones(6))

    def test_a_rule_that_works_in_place(self):
        class InPlace(wn.GradientDescent):
            def update(self, state, evaluation, vector_step, scale_step):
                vector = state.vector
                vector -= vector_step[:, None] * evaluation.vector_gradient
                return state

        with pytest.raises(ValueError, match=r"InPlace.update must not change the state"):
            wn.run(InPlace(0.1), self.problem, 1.0, W0)

    @pytest.mark.parametrize("wrong", [None, 3.0, "transposed"])
    def test_a_rule_that_returns_something_else(self, wrong):
        class Wrong(wn.GradientDescent):
            def update(self, state, evaluation, vector_step, scale_step):
                return state.moved(state.vector.T, state.scale) if wrong == "transposed" else wrong

        with pytest.raises(TypeError, match=r"Wrong.update must return a State"):
            wn.run(Wrong(0.1), self.problem, 1.0, W0)

    def test_an_array_without_a_run_axis(self):
        class Wrong(wn.GradientDescent):
            def init(self, scale, direction):
                return super().init(scale, direction).also(count=0.0)

        with pytest.raises(
            ValueError, match=r"array 'count' of a state must have one entry per run"
        ):
            wn.run(Wrong(0.1), self.problem, 1.0, W0)

    @pytest.mark.parametrize(
        "answer",
        [
            lambda x: (0.0, x),
            lambda x: (np.zeros((len(x), 1)), x),
            lambda x: (np.zeros(len(x)), x[:, :-1]),
        ],
    )
    def test_a_problem_whose_answers_have_other_shapes(self, answer):
        class Odd(wn.Problem):
            dimension = 14

            def value_and_gradient(self, x):
                return answer(x)

        with pytest.raises(
            ValueError, match=r"GradientDescent.evaluate on Odd must give a loss of shape \(1,\)"
        ):
            wn.run(wn.GradientDescent(0.1), Odd(), 1.0, W0)

    def test_coordinates_that_change_lengths(self):
        class Stretched(wn.problems.Reduction):
            def enter(self, units):
                return 2.0 * units

        class Odd(Quartic):
            def reduction(self, samples):
                return Stretched(self)

        for call in (wn.run, lambda m, p, g, w: wn.sweep(p, {"m": m}, g, w)):
            with pytest.raises(ValueError, match=r"Stretched must keep lengths"):
                call(wn.GradientDescent(0.1), Odd(), 1.0, W0)

    def test_coordinates_that_do_not_lead_back(self):
        class Turned(wn.problems.Reduction):
            def lift(self, coordinates, axes):
                return -coordinates

        class Odd(Quartic):
            def reduction(self, samples):
                return Turned(self)

        with pytest.raises(ValueError, match=r"Turned.lift must lead back from the coordinates"):
            wn.run(wn.GradientDescent(0.1), Odd(), 1.0, W0)

    def test_a_step_that_is_not_expanded(self):
        """A lone run does not show the difference."""

        class Wrong(wn.GradientDescent):
            def update(self, state, evaluation, vector_step, scale_step):
                return state.moved(
                    state.vector - vector_step * evaluation.vector_gradient, state.scale
                )

        with pytest.raises(ValueError, match=r"multiply by weightnorm.methods.expand\(step, "):
            wn.sweep(self.problem, {"m": Wrong(0.1)}, [1.0, 2.0], [W0, 2.0 * W0, -W0])

    def test_samples_that_cannot_be_drawn(self):
        class Odd(Quartic):
            num_samples = 5

        with pytest.raises(TypeError, match=r"Odd has no sample"):
            wn.run(wn.GradientDescent(0.1, batch_size=2), Odd(), 1.0, W0)


def test_a_row_does_not_change_what_a_class_says(monkeypatch):
    """A registered method without a kernel keeps its own word about coordinates, and its runs
    their copies.
    """

    class Sign(wn.GradientDescent):
        rotation_equivariant = False

        def update(self, state, evaluation, vector_step, scale_step):
            object.__setattr__(self, "made", getattr(self, "made", 0) + 1)
            return state.moved(
                state.vector - vector_step[:, None] * np.sign(evaluation.vector_gradient),
                state.scale,
            )

    rows = (*REGISTRY, Entry("sign", Sign, "sign descent", ("step",)))
    monkeypatch.setattr(engine_start, "COMPILED", with_kernel(rows))
    method = Sign(0.01)
    a, b = (
        wn.run(method, TestBadRules.problem, 1.0, W0, max_steps=50, coordinates=c).weights
        for c in ("reduced", "full")
    )
    np.testing.assert_array_equal(a, b)
    assert not hasattr(method, "made")
