"""The package from outside: what an import costs, the command line, the benchmark."""

import json
import subprocess
import sys

import numpy as np
import pytest
from commands import run

import weightnorm as wn
from weightnorm.bench import cases, kernels, peers, report

HEAVY = (
    "numba",
    "llvmlite",
    "sklearn",
    "matplotlib",
    "cvxpy",
    "xarray",
    "pandas",
    "dask",
    "distributed",
    "zarr",
    "torch",
    "jax",
    "typer",
    "rich",
)


def test_importing_loads_nothing_heavy():
    code = f"import sys, weightnorm; print([name for name in {HEAVY} if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_importing_loads_no_more_of_scipy_than_it_must():
    code = (
        "import sys, weightnorm; print([n for n in ('scipy.optimize', 'scipy.integrate') if n in "
        "sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_every_public_name_exists_and_has_a_docstring():
    for name in wn.__all__:
        assert getattr(wn, name).__doc__


def test_the_verbs_stay_functions_after_their_modules_are_imported():
    import weightnorm.runs.run  # noqa: F401

    assert callable(wn.run)
    assert callable(wn.sweep)


def test_help_and_version():
    assert "bench" in run("--help").output
    assert "Example" in run("bench", "--help").output
    assert run("--version").output == f"weightnorm {wn.__version__}\n"


def test_a_wrong_option_is_refused_without_a_traceback(tmp_path):
    result = run("bench", "--quick", "--out", str(tmp_path / "no" / "such.json"))
    assert result.exit_code == 2
    assert run("bench", "--slow").exit_code == 2


@pytest.mark.slow
def test_quick_benchmark_writes_its_numbers(tmp_path):
    path = tmp_path / "bench.json"
    result = run("bench", "--quick", "--json", "--out", str(path))
    assert result.exit_code == 0, result.output
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data == json.loads(result.stdout)
    sweep = data["sweeps"][0]
    times = {row["name"]: row["seconds"] for row in sweep["rows"]}
    assert set(times) >= {"weightnorm", "NumPy, a loop per run"}
    for name, compared in sweep["times_slower"].items():  # each is its row over ours, nothing else
        ours = times["weightnorm"]
        assert compared["least"] == pytest.approx(
            min(times[name][m] / ours[m] for m in times[name])
        )
        assert compared["all"] == pytest.approx(
            sum(times[name].values()) / sum(ours[m] for m in times[name])
        )
    assert data["end_norms"]["gd"][-1] > data["end_norms"]["wn"][-1] > 3.0  # of the largest start
    for case in (*data["models"]["one_run"], data["models"]["many_runs"]):
        assert np.isfinite(case["times_slower"]["NumPy, a loop"])  # seconds are no property
    assert list(tmp_path.iterdir()) == [path]  # no partial file left


def test_the_benchmark_of_kernels():
    found = kernels.kernel_cases(lambda text: None, 1, n=40)
    assert found["samples"] == 40
    for case in (*found["limits"].values(), *found["fits"].values(), found["run"]):
        assert 0.0 < case["ratio"] < np.inf  # seconds are no property


@pytest.mark.parametrize("method", peers.METHODS)
def test_peers_make_the_same_steps(method):
    """The same weights after the same number of steps; where each stops may hinge on the last
    bit.
    """
    problem = wn.datasets.make_regression(6, 15, seed=0)
    w0 = wn.datasets.random_direction(15, 0)
    for count in (1, 10, 200):
        ours = wn.run(cases.methods(0.05)[method], problem, 1.5, w0, tolerance=0.0, max_steps=count)
        steps, weights = peers.numpy_loop(method, problem.A, problem.y, w0, 1.5, 0.05, 0.0, count)
        assert (steps, ours.num_steps) == (count, count)
        assert weights == pytest.approx(ours.weights, abs=1e-10)
    ours = wn.run(cases.methods(0.05)[method], problem, 1.5, w0)
    steps, _ = peers.numpy_loop(method, problem.A, problem.y, w0, 1.5, 0.05, 1e-5, 10**6)
    batched = peers.numpy_batched(
        method, problem.A, problem.y, w0[None], np.array([1.5]), 0.05, 1e-5
    )
    assert abs(steps - ours.num_steps) <= 1
    assert abs(int(batched[0]) - steps) <= 1


@pytest.mark.long
def test_a_peer_that_is_not_installed_is_skipped_with_a_line(monkeypatch):
    monkeypatch.setattr(cases, "installed", lambda module: False)
    table = cases.figure_1_sweep(1, 1, lambda text: None)
    assert [line.split(":")[1] for line in table.lines] == [" not installed, skipped"] * 3
    assert report.ratios(table).keys() == {"NumPy, all runs batched", "NumPy, a loop per run"}


def test_the_measurements_shown_are_what_was_measured():
    """Written by tools/measured.py from benchmarks/latest.json, and not by hand."""
    import json

    from pages import ROOT, load

    measured = load(ROOT / "tools" / "measured.py")
    data = json.loads((ROOT / "benchmarks" / "latest.json").read_text(encoding="utf-8"))
    assert measured.page(data) == measured.BENCHMARKS.read_text(encoding="utf-8")
    plans = measured.PLANNED.read_text(encoding="utf-8")
    assert measured.planned(plans, data) == plans
