"""The benchmark: its peers make the same steps, and what it measures is written."""

import json

import numpy as np
import pytest
from benchmarks import cases, kernels, models, peers, report, sensing
from benchmarks.__main__ import app
from typer.testing import CliRunner

import weightnorm as wn
from tests.support.commands import SURROUNDINGS


def bench(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=SURROUNDINGS)


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    assert bench("--quick", "--out", tmp_path / "no" / "such.json").exit_code == 2
    assert bench("--slow").exit_code == 2
    assert "Example" in bench("--help").output


def test_numbers_that_json_lacks_are_null_on_disk_and_on_the_terminal(tmp_path, monkeypatch):
    """With measurements that are made up, in no time."""
    for name in ("figure_1_sweep", "time_against_size", "theory_timings"):
        monkeypatch.setattr(cases, name, lambda *_, **__: {"seconds": float("inf")})
    monkeypatch.setattr(cases, "end_norms", lambda: ([1.0], {"wn": [1.0]}))
    monkeypatch.setattr(sensing, "sensing_case", lambda *_, **__: {})
    monkeypatch.setattr(models, "model_cases", lambda *_, **__: {})
    monkeypatch.setattr(report, "as_json", lambda measured: measured)
    result = bench("--quick", "--json", "--out", tmp_path / "bench.json")
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert written == json.loads(result.stdout)
    assert written["sizes"] == {"seconds": None}


@pytest.mark.slow
def test_quick_benchmark_writes_its_numbers(tmp_path):
    path = tmp_path / "bench.json"
    result = bench("--quick", "--json", "--out", path)
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
    from tests.support.pages import ROOT, load

    measured = load(ROOT / "tools" / "measured.py")
    data = json.loads((ROOT / "benchmarks" / "latest.json").read_text(encoding="utf-8"))
    assert measured.page(data) == measured.BENCHMARKS.read_text(encoding="utf-8")
    plans = measured.PLANNED.read_text(encoding="utf-8")
    assert measured.planned(plans, data) == plans
