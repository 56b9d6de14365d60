"""The engine's contracts: every method × every problem through one door, and the arrows of the house."""

import ast
import copy
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weightnorm as wn
from weightnorm._pool import share
from weightnorm.engine import kernels
from weightnorm.engine.backends import diagonal
from weightnorm.engine.batch import Start
from weightnorm.engine.loop import Policy, Standstill, loop
from weightnorm.engine.start import start
from weightnorm.methods.registry import REGISTRY, Row
from weightnorm.sweep import compute_grid
from weightnorm.sweeps.methods import _spec

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "weightnorm"


def example(name):
    """The classes of an example, without running what it prints."""
    path = ROOT / "examples" / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef)]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, None))
    sys.modules[name] = module
    exec(compile(tree, str(path), "exec"), module.__dict__)
    return module


AdaptiveRPGD = example("own_method").AdaptiveRPGD
PhaseRetrieval = example("own_problem").PhaseRetrieval
RNG = np.random.default_rng(0)
A = RNG.standard_normal((6, 14)) / np.sqrt(14)


class Quartic(wn.Problem):
    """The two things that a problem must give, and nothing else."""

    dimension = 14

    def value_and_gradient(self, x):
        return ((x - 1.0) ** 4).sum(axis=1) / 4, (x - 1.0) ** 3


class Slowing(wn.GradientDescent):
    """Two more arrays of state, one of them of integers; full coordinates."""

    def init(self, scale, direction):
        state = super().init(scale, direction)
        return state.also(total=np.zeros_like(state.vector), steps=np.zeros(len(scale), dtype=np.int64))

    def update(self, state, evaluation, vector_step, scale_step):
        total = state["total"] + np.abs(evaluation.vector_gradient)
        step = vector_step[:, None] / (1.0 + total)
        vector = state.vector - step * evaluation.vector_gradient
        return state.moved(vector, state.scale, total=total, steps=state["steps"] + 1)


PROBLEMS = {
    "least squares": lambda: wn.LeastSquares(A, RNG.standard_normal(6)),
    "logistic": lambda: wn.GeneralizedLinear(A, [0, 1, 1, 0, 1, 0]),
    "phase retrieval": lambda: PhaseRetrieval(A, (A @ RNG.standard_normal(14)) ** 2),
    "quartic": Quartic,
}
METHODS = {
    "gd": wn.GradientDescent(0.05),
    "gd with momentum": wn.GradientDescent(0.02, momentum=0.7),
    "wn": wn.WeightNorm(0.05, 0.05, initial_norm=2.0),
    "wn with momentum": wn.WeightNorm(0.02, 0.02, momentum=0.7, nesterov=True),
    "rpgd": wn.RPGD(0.05, 0.05),
    "rpgd with momentum": wn.RPGD(0.02, 0.02, momentum=0.7),
    "own, reduced": AdaptiveRPGD(0.05, 0.05),
    "own with momentum": AdaptiveRPGD(0.05, 0.05, momentum=0.6),
    "own, full": Slowing(0.1),
}
W0 = RNG.standard_normal(14)


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]()


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
class TestEveryMethodOnEveryProblem:
    def test_reduced_is_full(self, problem, method):
        a, b = (
            wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=200, coordinates=c, record=50) for c in ("reduced", "full")
        )
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(a.history.loss, b.history.loss, rtol=1e-9, atol=1e-14)
        assert a.loss == pytest.approx(float(problem.value_and_gradient(a.weights[None])[0][0]), rel=1e-9, abs=1e-14)

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
        tolerance = 0.5 * float(problem.value_and_gradient(1.3 * W0[None] / np.linalg.norm(W0))[0][0])
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
    spec = _spec(Row("slowing", Slowing, "slowing descent", ("step", "momentum")))
    method = spec(kind="slowing", step={"schedule": "two_phase", "before": 0.0, "after": 0.1, "switch": 5}).build()
    assert method == Slowing(wn.schedules.two_phase(0.0, 0.1, 5))
    with pytest.raises(ValueError, match="Extra inputs"):
        spec(kind="slowing", step=0.1, scale_step=0.1)


def test_a_row_names_parameters_of_its_class():
    for row in REGISTRY:
        assert set(row.parameters) <= set(row.method.__dataclass_fields__)


COMPILED = ["gd", "wn", "rpgd", "gd with momentum", "wn with momentum", "rpgd with momentum"]


@pytest.mark.parametrize("name", COMPILED)
def test_a_run_has_the_same_bits_in_any_company(name, monkeypatch):
    """Alone or with 39 others, in narrow lanes or wide ones, on one thread or two: the same arithmetic."""
    method, problem = METHODS[name], wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0)
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
        batch = start(method, space.problem, Start(scale[which], units[which]), 1e-3, threads=threads)
        loop(batch, Policy(1e-3, 700, Standstill()))
        raw = batch.raw()
        kinds[which.start, wide_from, threads] = [batch.loss, batch.ended_at, raw.vectors, raw.buffers, raw.fields]
    wide, *others, alone = kinds.values()
    assert len(set(wide[1].tolist())) > 1  # they end at different steps
    for other in others:
        for a, b in zip(wide, other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(wide, alone, strict=True):
        np.testing.assert_array_equal(a[7:8], b)


@pytest.mark.parametrize("name", COMPILED)
def test_runs_on_different_problems_share_a_batch(name):
    method = METHODS[name]
    problems = [wn.datasets.make_regression(m, 14, condition_number=k, seed=m) for k in (1.0, 2.0) for m in (2, 5, 7)]
    starts, scales = np.array([wn.datasets.random_direction(14, s) for s in range(6)]), [0.5, 1.5]
    together, _ = compute_grid(problems, {"m": method}, scales, starts, 1e-6, 3_000)
    for i, problem in enumerate(problems):
        alone, _ = compute_grid(problem, {"m": method}, scales, starts, 1e-6, 3_000)
        np.testing.assert_array_equal(alone["num_steps"][0, i], together["num_steps"][0, i])
        for variable in ("norm", "loss", "perp_norm", "distance", "final_scale"):
            np.testing.assert_allclose(alone[variable][0, i], together[variable][0, i], rtol=1e-12)


def test_problems_with_curvatures_of_their_own_share_a_batch():
    """A curvature step has another factor in every lane; the floor and the limit are each problem's own."""
    rng = np.random.default_rng(1)
    problems = [wn.LeastSquares(f * rng.standard_normal((6, 4)), rng.standard_normal(6)) for f in 40 * (0.3, 1.0, 4.0)]
    starts = rng.standard_normal((120, 4))
    method = wn.RPGD(wn.schedules.curvature(0.5), wn.schedules.curvature(0.1))
    found, _ = compute_grid(problems, {"m": method}, [1.0], starts, 0.5, 20_000)
    assert {1, 0} <= set(np.ravel(found["status"] == 0).astype(int).tolist())  # some floors are above the tolerance
    for i, problem in enumerate(problems):
        run = wn.run(method, problem, 1.0, starts[i], tolerance=0.5, max_steps=20_000)
        if i < 6:  # by the rules in NumPy, with λmax in both steps
            rule, kernel = (
                wn.run(method, problem, 1.0, starts[i], tolerance=0, max_steps=40, coordinates=c) for c in ("full", "reduced")
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
    """The wide kernel found in the narrow one's place would compute something else, and say nothing."""
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
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
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


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_no_isinstance_on_problems_outside_problems():
    kinds = {
        "LeastSquares",
        "GeneralizedLinear",
        "MatrixSensing",
        "Logits",
        "Diagonal",
        "ReducedModel",
        "LinearModel",
        "Problem",
    }
    for name, tree in modules():
        if name.startswith("problems/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not named & kinds, (name, node.lineno)


def test_no_room_reaches_another_through_a_string():
    """import-linter does not see import_module("…"): only the package itself and the kernels' two widths use it."""
    for name, tree in modules():
        if name in ("__init__.py", "engine/kernels/__init__.py"):
            continue
        used = {
            n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Name)
        }
        assert not used & {"import_module", "__import__"}, name


def test_every_room_is_in_the_arrows():
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    rooms = {f"weightnorm.{p.stem}" for p in SOURCE.iterdir() if p.stem[:2] != "__" and (p.suffix == ".py" or p.is_dir())}
    rooms.discard("weightnorm.py")
    layers = {room for layer in contracts[0]["layers"] for room in layer.replace(" ", "").split("|")}
    assert rooms == layers
    numba = set(next(c for c in contracts if "numba" in c["name"])["source_modules"])
    inside = {f"weightnorm.engine.{p.stem}" for p in (SOURCE / "engine").iterdir() if p.stem[:2] != "__"} - {
        "weightnorm.engine.kernels"
    }
    assert numba == (rooms - {"weightnorm.engine"}) | inside


def test_a_run_on_least_squares_passes_ten_files():
    """Those whose functions run, once the problem is reduced; the checks of input are an eleventh."""
    code = (
        "import sys, weightnorm as wn\n"
        "p, w = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)\n"
        "m = wn.RPGD(0.1, 0.1)\n"
        "wn.run(m, p, 1.0, w)\n"
        "seen = set()\n"
        "sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_filename))\n"
        "wn.run(m, p, 1.0, w)\n"
        "sys.setprofile(None)\n"
        "print('\\n'.join(f for f in seen if 'weightnorm' in f))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = {Path(line).relative_to(SOURCE).as_posix() for line in done.stdout.split()} - {"_validate.py"}
    assert len(files) <= 10, sorted(files)


def test_a_method_keeps_its_options_when_it_is_replaced():
    method = wn.RPGD(0.1, 0.2, momentum=0.9, nesterov=True, batch_size=3, seed=1)
    assert replace(method) == method
    assert repr(method) == "RPGD(direction_step=0.1, scale_step=0.2, momentum=0.9, nesterov=True, batch_size=3, seed=1)"
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

        with pytest.raises(ValueError, match=r"array 'count' of a state must have one entry per run"):
            wn.run(Wrong(0.1), self.problem, 1.0, W0)

    @pytest.mark.parametrize(
        "answer", [lambda x: (0.0, x), lambda x: (np.zeros((len(x), 1)), x), lambda x: (np.zeros(len(x)), x[:, :-1])]
    )
    def test_a_problem_whose_answers_have_other_shapes(self, answer):
        class Odd(wn.Problem):
            dimension = 14

            def value_and_gradient(self, x):
                return answer(x)

        with pytest.raises(ValueError, match=r"GradientDescent.evaluate on Odd must give a loss of shape \(1,\)"):
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

    def test_samples_that_cannot_be_drawn(self):
        class Odd(Quartic):
            num_samples = 5

        with pytest.raises(TypeError, match=r"Odd has no sample"):
            wn.run(wn.GradientDescent(0.1, batch_size=2), Odd(), 1.0, W0)


def test_a_row_does_not_change_what_a_class_says(monkeypatch):
    """A registered method without a kernel keeps its own word about coordinates, and its runs their copies."""
    from weightnorm.methods import registry

    class Sign(wn.GradientDescent):
        rotation_equivariant = False

        def update(self, state, evaluation, vector_step, scale_step):
            return state.moved(state.vector - vector_step[:, None] * np.sign(evaluation.vector_gradient), state.scale)

    row = Row("sign", Sign, "sign descent", ("step",))
    monkeypatch.setattr(registry, "REGISTRY", (*REGISTRY, row))
    a, b = (wn.run(Sign(0.01), TestBadRules.problem, 1.0, W0, max_steps=50, coordinates=c).weights for c in ("reduced", "full"))
    np.testing.assert_array_equal(a, b)
    assert row.kernel is None


def test_a_result_from_other_coordinates_goes_on_from_its_weights(monkeypatch):
    """Another machine's factorisation may have other signs; then the state means nothing there, but the weights do."""
    problem = wn.datasets.make_regression(5, 14, condition_number=2.0, seed=0)
    for method in (wn.RPGD(0.05, 0.05), wn.RPGD(0.05, 0.05, momentum=0.5)):
        part = pickle.loads(pickle.dumps(wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=40)))
        part._resume.state.vectors[:, 0] *= -1.0
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
    """Where equal singular values are collapsed, and where not: entering does not depend on how many enter."""
    for kappa in (1.0, 2.0):
        problem = wn.datasets.make_regression(condition_number=kappa, seed=0)
        starts = np.array([wn.datasets.random_direction(50, seed) for seed in range(8)])
        for method in (wn.GradientDescent(0.05), wn.WeightNorm(0.05, 0.05), wn.RPGD(0.05, 0.05, momentum=0.3)):
            data = wn.sweep(problem, {"m": method}, [0.5, 2.0], starts)
            runs = [[wn.run(method, problem, g, w) for g in (0.5, 2.0)] for w in starts]
            for name in ("loss", "num_steps", "final_scale"):
                if name != "final_scale" or method.has_scale:  # gradient descent's is a norm, taken of all runs at once
                    expected = [[getattr(run, name.removeprefix("final_")) for run in row] for row in runs]
                    np.testing.assert_array_equal(data[name].values[0], expected)


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("name", ["wn", "own, full", "rpgd with momentum"])
def test_sweeps_have_the_same_bits_on_any_number_of_threads(name, coordinates):
    problem = wn.LeastSquares(A, np.ones(6))
    starts = RNG.standard_normal((13, 14))
    options = {"max_steps": 200, "coordinates": coordinates}
    one, two = (wn.sweep(problem, {"m": METHODS[name]}, np.linspace(0.3, 2, 7), starts, threads=t, **options) for t in (1, 2))
    assert one.identical(two)


@pytest.mark.parametrize("place", ["evaluate", "update"])
@pytest.mark.parametrize("method", [wn.GradientDescent(0.05), wn.RPGD(0.02, 0.02, momentum=0.7, batch_size=3, seed=1)])
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


def test_momentum_is_not_dropped_where_another_backend_would_go_on(monkeypatch):
    problem = wn.LeastSquares(A, np.ones(6))
    method = wn.RPGD(0.02, 0.02, momentum=0.7)
    part = wn.run(method, problem, 1.3, W0, tolerance=0, max_steps=20)
    monkeypatch.setattr(diagonal.DiagonalBatch, "can_run", staticmethod(lambda method: False))
    with pytest.raises(ValueError, match=r"made by DiagonalBatch and would go on by RulesBatch .* momentum"):
        wn.run(method, problem, start=part, tolerance=0, max_steps=20)


def test_a_status_does_not_depend_on_the_other_runs():
    """Whether a run is judged at a look is its own affair: alone it stops where it stops in company."""
    problem = wn.LeastSquares(np.vstack([A, A[:2]]), RNG.standard_normal(8))  # an unreachable y: runs come to rest
    starts, scales = RNG.standard_normal((6, 14)), [0.3, 1.0, 4.0]
    for method in (wn.WeightNorm(0.02, 0.5), wn.RPGD(0.2, 0.05), wn.GradientDescent(0.02)):
        together = wn.sweep(problem, {"m": method}, scales, starts, tolerance=1e-31, max_steps=40_000)
        for i, w in enumerate(starts):
            alone = wn.sweep(problem, {"m": method}, scales, w, tolerance=1e-31, max_steps=40_000)
            np.testing.assert_array_equal(alone.num_steps.values[0, 0], together.num_steps.values[0, i])
            np.testing.assert_array_equal(alone.status.values[0, 0], together.status.values[0, i])


def test_a_run_that_diverged_says_nan_in_every_backend():
    problem = wn.LeastSquares(A, np.ones(6))
    for method, c in ((wn.RPGD(1e200, 1e155), "full"), (wn.RPGD(1e200, 1e155, batch_size=2, seed=0), "reduced")):
        result = wn.run(method, problem, 1.3, W0, max_steps=50, coordinates=c)
        assert result.status == "diverged"
        assert not np.isfinite(result.weights).all()
        with pytest.raises(ValueError, match="not finite"):
            wn.run(wn.GradientDescent(0.1), problem, start=result)


@pytest.mark.slow
def test_code_found_under_another_signature_is_not_run(tmp_path):
    """A race of two processes can leave one's index and another's code on disk; the forgery is noticed."""
    code = (
        "import sys, numpy as np, weightnorm as wn\n"
        "from weightnorm.sweep import compute_grid\n"
        "p = [wn.datasets.make_regression(5, 14, condition_number=2.0, seed=s) for s in range(20)]\n"
        "w = np.array([wn.datasets.random_direction(14, s) for s in range(20)])\n"
        "which = p if sys.argv[1] == 'many' else p[3]\n"
        "found, _ = compute_grid(which, {'m': wn.GradientDescent(0.05)}, [1.0], w, 1e-5, 10**4)\n"
        "print(int(found['num_steps'][0, 3, 0]))\n"
    )

    def steps(kind, folder):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        command = [sys.executable, "-c", code, kind]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    expected = steps("one", tmp_path / "one")
    assert steps("many", tmp_path / "many") == expected
    for data in (tmp_path / "many").rglob("diagonal.advance*.nbc"):
        (target,) = (tmp_path / "one").rglob(data.name)
        target.write_bytes(data.read_bytes())
    assert steps("one", tmp_path / "one") == expected


def test_a_sweep_is_of_one_problem():
    with pytest.raises(TypeError, match="problem must be one problem, got list"):
        wn.sweep([wn.LeastSquares(A, np.ones(6))], {"gd": METHODS["gd"]}, 1.0, W0)
