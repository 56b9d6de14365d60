"""What runs and sweeps say of steps that cannot work, before and after; and the stable steps."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm.advice import before_run
from weightnorm.methods.schedules import curvature, stable, two_phase

PROBLEM = wn.datasets.make_regression(condition_number=3.0, seed=0)
PLANE = wn.LeastSquares([[1.0, 0.0]], [1.0])
W0 = wn.datasets.random_direction(50, 0)
TRAP = {"scale": 0.01, "direction": [-0.6, 0.8]}


def said(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(w.message) for w in caught]


class TestBefore:
    def test_an_empty_bracket_is_told_with_the_largest_steps_that_work(self):
        run, texts = said(lambda: wn.run(wn.RPGD(0.5, 0.1), PROBLEM, 2.8, W0, max_steps=2000))
        assert len(texts) == 1
        assert "cannot converge" in texts[0]
        assert run.status != "converged"
        eta, gamma = (
            float(texts[0].split(f"{name}=")[2].split()[0].rstrip(","))
            for name in ("direction_step", "scale_step")
        )
        assert wn.theory.norm_bracket(PROBLEM, 0.999 * eta, 0.999 * gamma) is not None
        assert wn.theory.norm_bracket(PROBLEM, 1.001 * eta, 1.001 * gamma) is None

    def test_a_start_in_the_basin_is_told_with_the_way_out(self):
        run, texts = said(lambda: wn.run(wn.RPGD(curvature(), 0.1), PLANE, **TRAP, max_steps=3000))
        assert "2-cycle" in texts[0]
        assert run.status == "max_steps"
        for method in (
            wn.RPGD(curvature(), two_phase(0.0, 0.1, 1)),
            wn.RPGD(curvature(), 0.99 * float(texts[0].split("scale_step < ")[1].split()[0])),
        ):
            out, nothing = said(lambda method=method: wn.run(method, PLANE, **TRAP))
            assert out.status == "converged"
            assert not nothing

    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            (wn.RPGD(0.1, 0.1), {}),  # it converges
            (wn.RPGD(0.5, 0.1), {"tolerance": 0.0}),  # all the steps are wanted
            (wn.RPGD(0.5, 0.1, clip=1.0), {}),  # not what the theory is about
            (wn.RPGD(0.5, 0.1, batch_size=3, seed=0), {}),
            (wn.WeightNorm(0.5, 0.1), {}),  # ‖w‖ grows until it is stable
            (wn.RPGD(0.5, 0.1), {"coordinates": "full"}),  # that would need a factorisation
            (wn.RPGD(lambda t: 0.5 / (1 + t), 0.1), {}),
            (wn.RPGD(two_phase(0.1, 0.5, 2000), 0.1), {}),  # it may converge before the switch
            (wn.RPGD(0.2225, 0.1), {}),  # it grows so slowly that the tolerance comes first
            (wn.RPGD(0.5, 0.1), {"max_steps": 0}),
        ],
    )
    def test_nothing_is_said_without_reason(self, method, arguments):
        problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
        _, texts = said(lambda: wn.run(method, problem, 2.8, W0, **({"max_steps": 50} | arguments)))
        assert not texts

    def test_a_run_in_full_coordinates_factorises_nothing(self):
        problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
        wn.run(wn.RPGD(0.5, 0.1), problem, 2.8, W0, max_steps=5, coordinates="full")
        assert not problem.is_factorised

    def test_momentum_moves_the_line(self):
        plain, heavy = wn.RPGD(0.3, 0.1), wn.RPGD(0.3, 0.1, momentum=0.9)
        assert said(lambda: wn.run(plain, PROBLEM, 2.8, W0, max_steps=5))[1]
        assert not said(lambda: wn.run(heavy, PROBLEM, 2.8, W0, max_steps=5))[1]

    def test_the_answer_is_kept_with_the_problem(self, monkeypatch):
        problem, method = wn.datasets.make_regression(seed=3), wn.RPGD(5.0, 0.1)
        first = said(lambda: wn.run(method, problem, 2.8, W0, max_steps=5))[1]
        monkeypatch.setattr(before_run, "_settles_nowhere", lambda *_: pytest.fail("asked again"))
        assert said(lambda: wn.run(method, problem, 2.8, W0, max_steps=5))[1] == first

    def test_a_sweep_warns_once_and_names_the_methods(self):
        problem = wn.datasets.make_regression(seed=0)
        starts = [wn.datasets.random_direction(50, seed) for seed in range(6)]
        methods = {
            "large": wn.RPGD(5.0, 0.1),
            "fine": wn.RPGD(0.1, 0.1),
            "trap": wn.RPGD(curvature(), 0.1),
        }
        data, texts = said(lambda: wn.sweep(problem, methods, [0.01, 2.0], starts, max_steps=5000))
        assert len(texts) == 1
        assert "large: rPGD" in texts[0]
        assert "fine" not in texts[0]
        stuck = int((data.status.sel(algorithm="trap") == 1).sum())
        assert "trap: rPGD with the curvature step" in texts[0]
        assert f"does not converge from {stuck} of 12 starts" in texts[0]

    @pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
    def test_the_largest_steps_are_found_in_any_unit(self, unit):
        problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [unit, unit])
        method = wn.RPGD(10.0 / unit**2, 0.1)
        options = {"max_steps": 5, "tolerance": 1e-9 * unit**2}
        _, texts = said(lambda: wn.run(method, problem, unit, [1.0, 1.0, 1.0], **options))
        eta = float(texts[0].split("direction_step=")[2].split()[0])
        gamma = 0.1 * eta * unit**2 / 10.0
        assert wn.theory.norm_bracket(problem, 0.999 * eta, 0.999 * gamma) is not None
        assert wn.theory.norm_bracket(problem, 1.001 * eta, 1.001 * gamma) is None

    @settings(deadline=None, max_examples=60)
    @given(st.integers(0, 10**6))
    def test_no_run_converges_that_was_warned_of(self, seed):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 5))
        A = rng.standard_normal((m, m + 2))
        problem = wn.LeastSquares(A, A @ rng.standard_normal(m + 2))
        low, top = float(problem.target @ problem.target), float(problem.curvature)
        method = wn.RPGD(10 ** rng.uniform(-1, 1) / (low * top), 10 ** rng.uniform(-1, 1) / top)
        # an unstable run wanders, and meets a larger tolerance by chance
        tolerance = 1e-22 * float(problem.y @ problem.y)
        run, texts = said(
            lambda: wn.run(
                method,
                problem,
                np.sqrt(low),
                rng.standard_normal(m + 2),
                tolerance=tolerance,
                max_steps=3000,
            )
        )
        assert not (texts and run.status == "converged")


class TestAfter:
    @pytest.mark.parametrize(
        ("method", "largest"),
        [
            (wn.GradientDescent(2.5), 2.0),
            (wn.GradientDescent(4.0, momentum=0.9), 3.8),
            (wn.GradientDescent(4.0, momentum=0.5, nesterov=True), 1.5),
        ],
    )
    def test_gradient_descent_is_told_its_largest_step(self, method, largest):
        run = wn.run(method, PROBLEM, 2.8, W0)
        assert run.status == "diverged"
        assert run.message.endswith(f"take one < {largest:.4g}")

    def test_a_cycle_names_the_threshold_at_its_norm(self):
        run = wn.run(wn.RPGD(0.243, 0.0486), PROBLEM, 2.8, W0, max_steps=100_000)
        largest = float(run.message.split("< ")[-1])
        norm = float(run.message.split("‖x‖ = ")[1].split()[0])
        known = wn.theory.stability(PROBLEM, norm, 0.243, 0.0486).max_direction_step
        assert largest == pytest.approx(known, rel=2e-3)

    def test_a_run_with_stable_steps_is_told_nothing_of_the_kind(self):
        run = wn.run(wn.RPGD(0.001, 0.001), PROBLEM, 2.8, W0, max_steps=10)
        assert run.status == "max_steps"
        assert "stable" not in run.message

    def test_batch_norm_is_told_of_a_scale_step_beyond_two(self):
        run = wn.run(wn.BatchNorm(0.1, 3.0), PROBLEM, 2.8, W0, max_steps=5000)
        assert run.message.endswith("take a scale step < 2")


class TestStableSteps:
    @pytest.mark.parametrize("fraction", [0.3, 0.9])
    @pytest.mark.parametrize("kappa", [1.0, 3.0, 10.0])
    def test_they_converge_from_everywhere(self, kappa, fraction):
        """Both signs, tiny and large scales; also orthogonal A, where the 2-cycle lurks."""
        step = stable(fraction)
        problem = wn.datasets.make_regression(condition_number=kappa, seed=1)
        starts = [wn.datasets.random_direction(50, seed) for seed in range(8)]
        methods = {"rpgd": wn.RPGD(step, step), "wn": wn.WeightNorm(step, step)}
        methods |= {"gd": wn.GradientDescent(step)}
        scales = [-6.0, -1.0, -0.01, 0.01, 1.0, 2.8, 6.0]
        data = wn.sweep(problem, methods, scales, starts, max_steps=20_000)
        assert (data.status == 0).all()

    def test_near_a_solution_they_are_the_steps_of_gradient_descent(self):
        eta, gamma = 1.8 / (3.2**2), 1.8
        found = wn.theory.stability(PROBLEM, 3.2, eta, gamma)
        plain = wn.theory.stability(PROBLEM, 3.2, 1.8, method="gd")
        np.testing.assert_allclose(found.eigenvalues, plain.eigenvalues, rtol=1e-9)

    def test_momentum_of_gradient_descent_allows_larger_ones(self):
        for kwargs in ({"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}):
            run = wn.run(wn.GradientDescent(stable(0.95), **kwargs), PROBLEM, 2.8, W0)
            assert run.status == "converged"
        largest = wn.theory.stability(PROBLEM, 3.0, 0.1, method="gd", momentum=0.9)
        assert largest.max_direction_step == pytest.approx(3.8)

    @pytest.mark.parametrize(
        ("method", "text"),
        [
            (wn.RPGD(stable(), 0.1, momentum=0.5), "momentum=0.5"),
            (wn.WeightNorm(0.1, stable(), momentum=0.5), "momentum=0.5"),
            (wn.BatchNorm(stable(), 0.1), "BatchNorm"),
        ],
    )
    def test_where_they_would_not_work_they_are_refused(self, method, text):
        with pytest.raises(ValueError, match=text):
            wn.run(method, PROBLEM, 2.8, W0)

    @pytest.mark.parametrize("fraction", [0.0, 1.0, 1.5, -0.1, np.nan])
    def test_a_fraction_is_between_zero_and_one(self, fraction):
        with pytest.raises(ValueError, match="fraction"):
            stable(fraction)

    def test_it_prints_as_it_is_called(self):
        assert repr(stable(0.5)) == "stable(0.5)"
