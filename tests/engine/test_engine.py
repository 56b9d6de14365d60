"""Batches: bits, lanes, threads, interruptions, and going on."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import weightnorm as wn
from tests.support.engine_cases import METHODS, RNG, W0, A
from weightnorm._support.pool import share
from weightnorm.engine import kernels
from weightnorm.engine.backends import diagonal, single
from weightnorm.engine.batch import Start
from weightnorm.engine.loop import Policy, loop
from weightnorm.engine.many_runs import run_many
from weightnorm.engine.start import start
from weightnorm.engine.stopping import StationarityTest

COMPILED = ["gd", "wn", "rpgd", "gd with momentum", "wn with momentum", "rpgd with momentum"]


@pytest.mark.parametrize("name", COMPILED)
def test_a_run_has_the_same_bits_in_any_company(name, monkeypatch):
    """Alone or with 39 others, in narrow lanes or wide ones, on one thread or two: the same
    arithmetic.
    """
    method, problem = (
        METHODS[name],
        wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0),
    )
    space = problem.reduce()
    units = space.enter(np.array([wn.datasets.random_direction(14, s) for s in range(40)]))
    scale, kinds = np.linspace(0.3, 2.0, 40), {}
    for which, wide_from, threads in (
        (slice(None), 12, 1),
        (slice(None), 10**9, 1),
        (slice(None), 12, 2),
        (slice(7, 8), 12, 1),
    ):
        monkeypatch.setattr(diagonal, "WIDE_FROM", wide_from)
        monkeypatch.setattr(diagonal, "WORTH_A_THREAD", 1)
        batch = start(
            method, space.problem, Start(scale[which], units[which]), 1e-3, threads=threads
        )
        loop(batch, Policy(1e-3, 700, StationarityTest()))
        states = batch.states()
        kinds[which.start, wide_from, threads] = [
            batch.loss,
            batch.ended_at,
            states.vector,
            states.scale,
            *states.arrays.values(),
        ]
    wide, *others, alone = kinds.values()
    assert len(set(wide[1].tolist())) > 1  # they end at different steps
    for other in others:
        for a, b in zip(wide, other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(wide, alone, strict=True):
        np.testing.assert_array_equal(a[7:8], b)


@pytest.mark.parametrize("name", [*COMPILED, "own, reduced"])
def test_runs_on_different_problems_share_a_batch(name):
    method = METHODS[name]
    problems = [
        wn.datasets.make_regression(m, 14, condition_number=k, seed=m)
        for k in (1.0, 2.0)
        for m in (2, 5, 7)
    ]
    starts, scales = np.array([wn.datasets.random_direction(14, s) for s in range(6)]), [0.5, 1.5]
    together = run_many(problems, {"m": method}, scales, starts, 1e-6, 3_000).arrays
    for i, problem in enumerate(problems):
        alone = run_many(problem, {"m": method}, scales, starts, 1e-6, 3_000).arrays
        np.testing.assert_array_equal(alone["num_steps"][0, i], together["num_steps"][0, i])
        for variable in ("norm", "loss", "perp_norm", "distance", "final_scale"):
            np.testing.assert_allclose(alone[variable][0, i], together[variable][0, i], rtol=1e-12)


def test_problems_with_curvatures_of_their_own_share_a_batch():
    """A curvature step has another factor in every lane; the floor and the limit are each
    problem's own.
    """
    rng = np.random.default_rng(1)
    problems = [
        wn.LeastSquares(f * rng.standard_normal((6, 4)), rng.standard_normal(6))
        for f in 40 * (0.3, 1.0, 4.0)
    ]
    starts = rng.standard_normal((120, 4))
    method = wn.RPGD(wn.schedules.curvature(0.5), wn.schedules.curvature(0.1))
    found = run_many(problems, {"m": method}, [1.0], starts, 0.5, 20_000).arrays
    # some floors are above the tolerance
    assert {1, 0} <= set(np.ravel(found["status"] == 0).astype(int).tolist())
    for i, problem in enumerate(problems):
        run = wn.run(method, problem, 1.0, starts[i], tolerance=0.5, max_steps=20_000)
        if i < 6:  # by the rules in NumPy, with λmax in both steps
            rule, kernel = (
                wn.run(method, problem, 1.0, starts[i], tolerance=0, max_steps=40, coordinates=c)
                for c in ("full", "reduced")
            )
            assert kernel.scale == pytest.approx(rule.scale, rel=1e-9)
        assert run.num_steps == found["num_steps"][0, i, 0]
        assert run.status.code == found["status"][0, i, 0]
        assert run.loss == pytest.approx(found["loss"][0, i, 0], rel=1e-13)


def test_kernels_of_two_widths_have_names_of_their_own():
    """By which numba's cache on disk knows them."""
    narrow, wide = (kernels.diagonal_kernel(wide=w) for w in (False, True))
    for name in ("advance", "_evaluate_gd", "_update_wn_momentum", "_power"):
        a, b = (getattr(kernel, name).py_func.__qualname__ for kernel in (narrow, wide))
        assert a.startswith(f"{name}_4_")
        assert b.startswith(f"{name}_32_")


@pytest.mark.slow
def test_kernels_of_two_widths_do_not_share_a_place_on_disk(tmp_path):
    """The wide kernel found in the narrow one's place would compute something else, and say
    nothing.
    """
    code = (
        "import numpy as np, weightnorm as wn\n"
        "p = wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0)\n"
        "w = np.array([wn.datasets.random_direction(14, s) for s in range(40)])\n"
        "d = wn.sweep(p, {'m': wn.WeightNorm(0.05, 0.05)}, [1.0], w)\n"
        "r = wn.run(wn.WeightNorm(0.05, 0.05), p, 1.0, w[3])\n"
        "print(int(d.num_steps[0, 3, 0]) == r.num_steps, float(d.loss[0, 3, 0]) == r.loss)\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # compiled, then found
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["True", "True"]


def test_shared_work_is_finished_before_an_error_is_raised():
    done = []

    def work(part):
        if part == 2:
            raise ValueError("two")
        threading.Event().wait(0.05)
        done.append(part)

    with pytest.raises(ValueError, match="two"):
        share(work, [0, 1, 2, 3], 2)
    assert sorted(done) == [0, 1, 3]

    def interrupted(part):
        if part == 0:
            raise KeyboardInterrupt
        work(part + 10)

    with pytest.raises(KeyboardInterrupt):
        share(interrupted, [0, 1], 2)
    assert 11 in done


def test_a_result_from_other_coordinates_goes_on_from_its_weights(monkeypatch):
    """Another machine's factorisation may have other signs; then the state means nothing there,
    but the weights do.
    """
    problem = wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0)
    for method in (wn.RPGD(0.05, 0.05), wn.RPGD(0.05, 0.05, momentum=0.5)):
        part = pickle.loads(
            pickle.dumps(wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=40))
        )
        part._resume.state.vector[:, 0] *= -1.0
        if method.momentum:
            with pytest.raises(ValueError, match="other coordinates"):
                wn.run(method, problem, start=part, tolerance=0, max_steps=10)
        else:
            rest = wn.run(method, problem, start=part, tolerance=0, max_steps=10)
            whole = wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=50)
            np.testing.assert_allclose(rest.weights, whole.weights, rtol=1e-12)


@pytest.mark.parametrize("name", COMPILED)
def test_a_run_that_converged_goes_on_to_a_smaller_tolerance(name):
    """A run that ended inside a call of the kernel keeps its buffers, too."""
    problem = wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0)
    part = wn.run(METHODS[name], problem, 1.3, W0, tolerance=1e-2)
    rest = wn.run(METHODS[name], problem, start=part, tolerance=1e-8)
    whole = wn.run(METHODS[name], problem, 1.3, W0, tolerance=1e-8)
    assert part.status == rest.status == "converged"
    np.testing.assert_array_equal(rest.weights, whole.weights)
    assert rest.total_steps == whole.num_steps


def test_run_and_sweep_have_the_same_bits():
    """Where equal singular values are collapsed, and where not: entering does not depend on how
    many enter.
    """
    for kappa in (1.0, 2.0):
        problem = wn.datasets.make_regression(condition_number=kappa, seed=0)
        starts = np.array([wn.datasets.random_direction(50, seed) for seed in range(8)])
        for method in (
            wn.GradientDescent(0.05),
            wn.WeightNorm(0.05, 0.05),
            wn.RPGD(0.05, 0.05, momentum=0.3),
        ):
            data = wn.sweep(problem, {"m": method}, [0.5, 2.0], starts)
            runs = [[wn.run(method, problem, g, w) for g in (0.5, 2.0)] for w in starts]
            for name in ("loss", "num_steps", "final_scale"):
                if (
                    name != "final_scale" or method.has_scale
                ):  # gradient descent's is a norm, taken of all runs at once
                    expected = [
                        [getattr(run, name.removeprefix("final_")) for run in row] for row in runs
                    ]
                    np.testing.assert_array_equal(data[name].values[0], expected)


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("name", ["wn", "own, full", "rpgd with momentum"])
def test_sweeps_have_the_same_bits_on_any_number_of_threads(name, coordinates):
    problem = wn.LeastSquares(A, np.ones(6))
    starts = RNG.standard_normal((13, 14))
    options = {"max_steps": 200, "coordinates": coordinates}
    one, two = (
        wn.sweep(
            problem, {"m": METHODS[name]}, np.linspace(0.3, 2, 7), starts, threads=t, **options
        )
        for t in (1, 2)
    )
    assert one.identical(two)


@pytest.mark.parametrize("place", ["evaluate", "update"])
@pytest.mark.parametrize(
    "method", [wn.GradientDescent(0.05), wn.RPGD(0.02, 0.02, momentum=0.7, batch_size=3, seed=1)]
)
def test_an_interruption_inside_a_rule_loses_nothing(method, place, monkeypatch):
    """Wherever Ctrl-C strikes, the result's state, step number and loss belong together."""
    problem = wn.LeastSquares(A, np.ones(6))
    whole = wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=60, coordinates="full")
    original, calls = getattr(type(method), place), []

    def interrupt(self, *arguments):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(type(method), place, interrupt)
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=60, coordinates="full")
    monkeypatch.undo()
    part = stop.value.result
    assert part.loss == pytest.approx(float(problem.value(part.weights)), rel=1e-12)
    rest = wn.run(method, problem, start=part, tolerance=0, max_steps=60 - part.num_steps)
    np.testing.assert_array_equal(rest.weights, whole.weights)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("compiled_first", [True, False])
def test_a_run_goes_on_in_another_backend(monkeypatch, name, compiled_first):
    """One state for all of them: what a kernel made goes on by the rules in NumPy, and back, with
    its momentum.
    """
    problem, method = wn.LeastSquares(A, np.ones(6)), METHODS[name]
    whole = wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=60)

    def part(compiled, steps, **start):
        with monkeypatch.context() as patch:
            if not compiled:
                for kind in (diagonal.DiagonalBatch, single.SingleBatch):
                    patch.setattr(kind, "can_run", staticmethod(lambda method: False))
            return wn.run(method, problem, **start, tolerance=0, max_steps=steps)

    first = part(compiled_first, 20, scale=1.3, direction=W0)
    second = part(not compiled_first, 20, start=first)
    rest = part(compiled_first, 20, start=second)
    kinds = [result._resume.kind for result in (first, second, rest)]
    assert kinds[0] == kinds[2] != kinds[1]
    np.testing.assert_allclose(rest.weights, whole.weights, rtol=1e-12)
    assert rest.total_steps == whole.total_steps


def test_a_status_does_not_depend_on_the_other_runs():
    """Whether a run is judged at a look is its own affair: alone it stops where it stops in
    company.
    """
    # an unreachable y: runs come to rest
    problem = wn.LeastSquares(np.vstack([A, A[:2]]), RNG.standard_normal(8))
    starts, scales = RNG.standard_normal((6, 14)), [0.3, 1.0, 4.0]
    for method in (wn.WeightNorm(0.02, 0.5), wn.RPGD(0.2, 0.05), wn.GradientDescent(0.02)):
        together = wn.sweep(
            problem, {"m": method}, scales, starts, tolerance=1e-31, max_steps=40_000
        )
        for i, w in enumerate(starts):
            alone = wn.sweep(problem, {"m": method}, scales, w, tolerance=1e-31, max_steps=40_000)
            np.testing.assert_array_equal(
                alone.num_steps.values[0, 0], together.num_steps.values[0, i]
            )
            np.testing.assert_array_equal(alone.status.values[0, 0], together.status.values[0, i])


def test_a_run_that_diverged_says_nan_in_every_backend():
    problem = wn.LeastSquares(A, np.ones(6))
    for method, c in (
        (wn.RPGD(1e200, 1e155), "full"),
        (wn.RPGD(1e200, 1e155, batch_size=2, seed=0), "reduced"),
    ):
        result = wn.run(method, problem, 1.3, W0, max_steps=50, coordinates=c)
        assert result.status == "diverged"
        assert not np.isfinite(result.weights).all()
        with pytest.raises(ValueError, match="not finite"):
            wn.run(wn.GradientDescent(0.1), problem, start=result)


@pytest.mark.slow
def test_code_found_under_another_signature_is_not_run(tmp_path):
    """A race of two processes can leave one's index and another's code on disk; the forgery is
    noticed.
    """
    code = (
        "import sys, numpy as np, weightnorm as wn\n"
        "from weightnorm.engine.many_runs import run_many\n"
        "p = [wn.datasets.make_regression(5, 14, condition_number=2.0, seed=s) for s in "
        "range(20)]\n"
        "w = np.array([wn.datasets.random_direction(14, s) for s in range(20)])\n"
        "which = p if sys.argv[1] == 'many' else p[3]\n"
        "m = {'m': wn.GradientDescent(0.05)}\n"
        "found = run_many(which, m, [1.0], w, 1e-5, 10**4).arrays\n"
        "print(int(found['num_steps'][0, 3, 0]))\n"
    )

    def steps(kind, folder):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        command = [sys.executable, "-c", code, kind]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    expected = steps("one", tmp_path / "one")
    assert steps("many", tmp_path / "many") == expected
    for data in (tmp_path / "many").rglob("diagonal.advance*.nbc"):
        (target,) = (tmp_path / "one").rglob(data.name)
        target.write_bytes(data.read_bytes())
    assert steps("one", tmp_path / "one") == expected


def test_a_sweep_is_of_one_problem():
    with pytest.raises(TypeError, match="problem must be one problem, got list"):
        wn.sweep([wn.LeastSquares(A, np.ones(6))], {"gd": METHODS["gd"]}, 1.0, W0)
