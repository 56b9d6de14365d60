"""Labels of sweeps, in memory and on disk: names, coordinates, attributes, exact limits."""

import json

import numpy as np
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm.methods.steps import constant_ratio
from weightnorm.runs.dataset import count_statuses, describe_statuses, exact_norms
from weightnorm.sweeps import SweepConfig, rerun, run_sweep

STEPS = [0.02, 0.05]


def methods(step):
    return {
        "gd": wn.GradientDescent(step),
        "rpgd": wn.RPGD(step, 2 * step),
        "slow": wn.WeightNorm(step, 0.5 * step, initial_norm=2.0),
        "thaw": wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, step, 20)),
    }


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(5, 12, condition_number=2.0, solution_norm=2.0, seed=0)


@pytest.fixture(scope="module")
def starts():
    return np.array([wn.datasets.random_direction(12, seed) for seed in range(3)])


@pytest.fixture(scope="module")
def data(problem, starts):
    return wn.sweep(problem, methods, [-1.0, 0.5, 2.5], starts, steps=STEPS)


def test_steps_are_an_axis(problem, starts, data):
    assert data.norm.dims == ("step", "algorithm", "start", "scale")
    assert data.step.values.tolist() == STEPS
    for step in STEPS:
        alone = wn.sweep(problem, methods(step), [-1.0, 0.5, 2.5], starts)
        np.testing.assert_array_equal(data.norm.sel(step=step), alone.norm)
        np.testing.assert_array_equal(data.status.sel(step=step), alone.status)
        entry = data.sel(step=step, algorithm="rpgd")
        assert float(entry.direction_step) == step
        assert float(entry.scale_step) == 2 * step


def test_coordinates_say_what_each_algorithm_is(data):
    one = data.isel(step=0)
    assert one.kind.values.tolist() == ["gd", "rpgd", "wn", "rpgd"]
    np.testing.assert_array_equal(one.ratio, [np.nan, 2.0, 0.5 * 4.0, np.nan])
    np.testing.assert_array_equal(one.direction_step, [0.02, 0.02, 0.02, np.nan])
    np.testing.assert_array_equal(one.scale_step, [np.nan, 0.04, 0.01, np.nan])
    names = vars(wn) | vars(wn.schedules)
    for text, method in zip(one.settings.values, methods(0.02).values(), strict=True):
        assert eval(str(text), names) == method  # it can be typed in again
    for name in (*data.data_vars, *data.coords):
        assert data[name].attrs["long_name"], name
    assert "NaN" in data.distance.attrs["comment"]


def test_exact_norms_are_those_of_the_theory(problem, starts, data):
    limits = exact_norms(data)
    assert limits.dims == data.norm.dims
    for name, ratio in (("gd", None), ("rpgd", 2.0), ("slow", 2.0)):
        for i, w0 in enumerate(starts):
            for scale in data.scale.values:
                if ratio is None:
                    limit = wn.theory.gd_limit(problem, scale, w0)
                else:
                    limit = wn.theory.flow_limit(problem, scale, w0, ratio)
                entry = limits.sel(algorithm=name, start=i, scale=scale).values
                np.testing.assert_allclose(entry, limit.norm, rtol=1e-12)
    assert np.isnan(limits.sel(algorithm="thaw")).all()
    assert float(data.minimum_norm) == pytest.approx(2.0)
    perp = [np.linalg.norm(problem.split(w0)[1]) for w0 in starts]
    np.testing.assert_allclose(data.start_perp_norm, perp, rtol=1e-12)


def test_where_the_theory_knows_nothing_there_are_no_limits(starts):
    model = wn.datasets.make_generalized_linear(5, 12, loss="huber", seed=0)
    assert exact_norms(wn.sweep(model, methods(0.1), [1.0], starts, max_steps=5)) is None
    assert np.isnan(constant_ratio(wn.RPGD(0.1, 0.1, label_noise=0.1, seed=0)))
    assert np.isnan(constant_ratio(wn.RPGD(0.0, 0.1)))
    assert constant_ratio(wn.RPGD(0.2, 0.1, momentum=0.5)) == 0.5


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
@settings(max_examples=40)
def test_statuses_are_counted_and_said(codes):
    counts = count_statuses(np.array(codes, dtype=np.int8))
    assert sum(counts.values()) == len(codes)
    for status, count in counts.items():
        assert count == codes.count(wn.Status(status).code)
    text = describe_statuses(counts)
    assert f"{len(codes)}" in text or len(codes) == 1
    assert ("converged" in text) == ("converged" in counts)


def test_a_file_has_the_labels_of_a_sweep_in_memory(tmp_path, problem, starts, data):
    config = SweepConfig(
        name="labels",
        steps=STEPS,
        problems={
            "num_samples": 5,
            "num_features": 12,
            "condition_number": [2.0],
            "solution_norm": 2.0,
        },
        starts={"scales": [-1.0, 0.5, 2.5], "num_directions": 3},
        methods={
            "gd": {"kind": "gd", "step": "step"},
            "rpgd": {"kind": "rpgd", "direction_step": "step", "scale_step": 0.1},
        },
    )
    outcome = run_sweep(config, tmp_path)
    stored = xarray.load_dataset(outcome.path, engine="h5netcdf")
    for name in data.data_vars:
        assert stored[name].attrs.keys() == data[name].attrs.keys(), name
        assert stored[name].attrs["long_name"] == data[name].attrs["long_name"]
        assert stored[name].dtype == data[name].dtype
    assert set(data.coords) <= set(stored.coords)
    assert set(data.attrs) <= set(stored.attrs)
    assert stored.norm.dims == (
        *("condition_number", "seed", "step", "algorithm", "start", "scale"),
    )
    assert stored.attrs["summary"] == outcome.summary == "all 36 runs converged"
    w0 = [wn.datasets.random_direction(12, int(seed)) for seed in stored.start_seed.values[0]]
    table = {"gd": wn.GradientDescent(0.05), "rpgd": wn.RPGD(0.05, 0.1)}
    direct = wn.sweep(problem, table, [-1.0, 0.5, 2.5], w0)
    entry = stored.sel(condition_number=2.0, seed=0, step=0.05)
    np.testing.assert_allclose(entry.norm, direct.norm, rtol=1e-12)
    np.testing.assert_allclose(entry.minimum_norm, direct.minimum_norm, rtol=1e-12)
    np.testing.assert_allclose(entry.start_perp_norm, direct.start_perp_norm, rtol=1e-12)
    np.testing.assert_allclose(
        exact_norms(entry).transpose(*direct.norm.dims), exact_norms(direct), rtol=1e-12
    )
    cell = entry.sel(algorithm="rpgd", start=1, scale=2.5)
    again = rerun(cell, record=1, keep="direction")
    assert again.norm == pytest.approx(float(cell.norm), rel=1e-12)
    assert again.num_steps == int(cell.num_steps)
    np.testing.assert_allclose(again.history.direction[0], w0[1], atol=1e-12)
    written = json.loads(stored.attrs["configuration"])
    assert written["methods"]["rpgd"]["direction_step"] == "step"
    with pytest.raises(ValueError, match="cell must be one run, and has"):
        rerun(entry)
    with pytest.raises(ValueError, match="cell must come from a sweep file"):
        rerun(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((methods, None), "methods is a callable, so steps are needed"),
        ((methods(0.1), [0.1]), "with steps=… methods must be a callable"),
        ((lambda step: {f"m{step}": wn.RPGD(step, step)}, [0.1, 0.2]), "the same names for every"),
        ((lambda step: [wn.RPGD(step, step)], [0.1]), "methods must be a mapping"),
        ((methods, [np.nan]), "steps"),
    ],
)
def test_steps_are_checked(problem, starts, arguments, message):
    table, steps = arguments
    with pytest.raises((TypeError, ValueError), match=message):
        wn.sweep(problem, table, [1.0], starts, steps=steps)


def test_old_names_give_one_sentence():
    with pytest.raises(TypeError, match=r"has no scale since 0\.2: it is called solution_norm; w"):
        wn.datasets.make_regression(scale=3.0)
    with pytest.raises(TypeError, match="positional"):
        wn.datasets.make_regression(5, 9, 1.0, 3.0, 7)  # was the seed, and is no noise now
