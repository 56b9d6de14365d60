"""sweep(): a labelled grid whose entries are the single runs."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.runs.dataset import OF_RUNS

STEPS = {
    "gd": wn.GradientDescent(0.05),
    "wn": wn.WeightNorm(0.05, 0.05),
    "rpgd": wn.RPGD(0.05, 0.05),
    "two-phase": wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, 100)),
    "grown": wn.WeightNorm(wn.schedules.scaled(0.05, norm_power=1), 0.02, initial_norm=2.0),
}
SCALES = [-1.5, 0.0, 0.3, 1.0, 2.5, 4.0]


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(6, 15, condition_number=2.0, seed=5)


@pytest.fixture(scope="module")
def starts():
    return np.array([wn.datasets.random_direction(15, seed) for seed in range(11)])


@pytest.fixture(scope="module")
def data(problem, starts):
    return wn.sweep(problem, STEPS, SCALES, starts)


def test_labels(data):
    assert data.distance.dims == ("algorithm", "start", "scale")
    assert list(data.algorithm.values) == list(STEPS)
    assert data.scale.values.tolist() == SCALES
    assert data.sizes == {"algorithm": 5, "start": 11, "scale": 6}
    variables = {"norm", "loss", "num_steps", "status", "final_scale", "perp_norm", "distance"}
    assert set(data.data_vars) == variables
    assert data.status.dtype == np.int8
    assert data.status.attrs["flag_meanings"].split() == [status.value for status in OF_RUNS]
    assert data.status.attrs["flag_values"].tolist() == [status.code for status in OF_RUNS]


def test_every_entry_equals_its_run(data, problem, starts):
    for name, method in STEPS.items():
        for i, start in enumerate(starts[::3]):
            for scale in SCALES:
                entry = data.sel({"algorithm": name, "start": 3 * i, "scale": scale})
                if scale == 0.0 and name == "two-phase":
                    assert int(entry.status) == wn.Status.UNDEFINED.code
                    assert np.isnan(entry.norm)
                    continue
                result = wn.run(method, problem, scale, start)
                assert int(entry.num_steps) == result.num_steps
                assert int(entry.status) == result.status.code
                for variable in ("norm", "loss", "perp_norm", "distance"):
                    assert float(entry[variable]) == pytest.approx(
                        getattr(result, variable), rel=1e-12, abs=1e-15
                    )
                assert float(entry.final_scale) == pytest.approx(result.scale, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_bits_for_any_number_of_threads(data, problem, starts, threads):
    assert wn.sweep(problem, STEPS, SCALES, starts, threads=threads).identical(data)


def test_the_same_bits_for_any_grouping(data, problem, starts):
    """A part of the grid alone, so that every run has other neighbours, or padding, in its
    block.
    """
    part = wn.sweep(problem, {"wn": STEPS["wn"], "rpgd": STEPS["rpgd"]}, SCALES[1:4], starts[4:7])
    whole = data.sel({"algorithm": ["wn", "rpgd"], "scale": SCALES[1:4], "start": [4, 5, 6]})
    for variable in part.data_vars:
        np.testing.assert_array_equal(part[variable].values, whole[variable].values)


def test_full_coordinates_give_the_same(data, starts):
    problem = wn.datasets.make_regression(6, 15, condition_number=2.0, seed=5)
    full = wn.sweep(
        problem,
        {"rpgd": STEPS["rpgd"], "gd": STEPS["gd"]},
        SCALES[2:],
        starts[:4],
        coordinates="full",
    )
    assert not problem.is_factorised
    for variable in ("norm", "perp_norm", "distance", "num_steps", "status"):
        reduced = data[variable].sel(
            {"algorithm": ["rpgd", "gd"], "scale": SCALES[2:], "start": range(4)}
        )
        np.testing.assert_allclose(full[variable].values, reduced.values, rtol=1e-8, atol=1e-9)


def test_an_entry_does_not_depend_on_a_neighbour_that_is_stuck():
    """A start at the floor of an unreachable y, alone and beside one at scale zero."""
    rng = np.random.default_rng(0)
    problem = wn.LeastSquares(rng.standard_normal((9, 3)), rng.standard_normal(9))
    best = problem.min_norm_solution()
    size, method = float(np.linalg.norm(best)), {"m": wn.RPGD(0.01, 0.01)}
    alone, beside = (wn.sweep(problem, method, scales, best) for scales in ([size], [0.0, size]))
    run = wn.run(method["m"], problem, size, best)
    assert int(alone.num_steps[0, 0, 0]) == int(beside.num_steps[0, 0, 1]) == run.num_steps
    assert int(alone.status[0, 0, 0]) == int(beside.status[0, 0, 1]) == run.status.code


def test_one_direction_is_one_start(problem, starts):
    assert wn.sweep(problem, {"gd": STEPS["gd"]}, 1.0, starts[0]).sizes == {
        "algorithm": 1,
        "start": 1,
        "scale": 1,
    }


def test_divergence_is_data(problem, starts):
    data = wn.sweep(
        problem, {"wild": wn.GradientDescent(1e3), "gd": STEPS["gd"]}, [1.0], starts[:3]
    )
    assert (data.status.sel({"algorithm": "wild"}) == wn.Status.DIVERGED.code).all()
    assert (data.status.sel({"algorithm": "gd"}) == wn.Status.CONVERGED.code).all()


def test_progress_counts_every_run_once(problem, starts):
    seen = []
    wn.sweep(
        problem, STEPS, SCALES, starts, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (330, 330)
    assert seen == sorted(seen)


def test_an_error_in_a_schedule_reaches_the_caller(problem, starts):
    bad = wn.RPGD(lambda t: -1.0 if t == 3 else 0.1, 0.1)
    with pytest.raises(ValueError, match=r"step size at t = 3.*at least 0, got -1"):
        wn.sweep(problem, {"bad": bad}, [1.0], starts)


def test_ctrl_c_returns_promptly():
    """The sweep would take hours: it ends by itself, with KeyboardInterrupt, or this test kills
    it.
    """
    script = """
        import signal, numpy as np, weightnorm as wn
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have ignored it
        problem = wn.datasets.make_regression(20, 50, condition_number=1.1, seed=0)
        starts = [wn.datasets.random_direction(50, s) for s in range(64)]
        wn.sweep(problem, {"gd": wn.GradientDescent(1e-9)}, [1.0], starts[:1], max_steps=1)
        try:
            print("ready", flush=True)
            methods, scales = {"gd": wn.GradientDescent(1e-9)}, np.linspace(1, 2, 50)
            wn.sweep(problem, methods, scales, starts, max_steps=10**9)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1.0)  # until it is busy; earlier is no mistake
            os.kill(process.pid, signal.SIGINT)
            assert process.communicate(timeout=300)[0] == "interrupted\n"
            assert process.returncode == 0
        finally:
            process.kill()


def test_survives_a_round_trip_through_netcdf(data, tmp_path):
    import xarray

    data.to_netcdf(tmp_path / "sweep.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "sweep.nc", engine="h5netcdf") as again:
        for variable in data.data_vars:
            np.testing.assert_array_equal(again[variable].values, data[variable].values)
