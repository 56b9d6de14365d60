"""What every method of the registry must do, new ones too: nothing here names one."""

from dataclasses import MISSING, fields, replace

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.methods.registry import REGISTRY
from weightnorm.methods.training import GradientMethod

PROBLEM = wn.datasets.make_regression(6, 14, 3.0, seed=0)
W0 = wn.datasets.random_direction(14, seed=1)
START = {"scale": 1.0, "direction": W0}
STEPS = 30
MOMENTUM, BATCH = {"momentum": 0.5}, {"batch_size": 3, "seed": 0}
OPTIONS = {  # with it, and the same without it
    "momentum": (MOMENTUM, {}),
    "nesterov": (MOMENTUM | {"nesterov": True}, MOMENTUM),
    "scale_decay": ({"scale_decay": 0.05}, {}),
    "direction_decay": ({"direction_decay": 0.05}, {}),
    "clip": ({"clip": 0.5}, {}),
    "batch_size": (BATCH, {}),
    "label_noise": ({"label_noise": 0.5, "seed": 0}, {}),
    "seed": (BATCH | {"seed": 1}, BATCH),
}
CASES = [
    pytest.param(row, *OPTIONS[name], id=f"{row.name}-{name}")
    for row in REGISTRY
    for name in row.parameters
    if name in OPTIONS
]


def plain(row):
    """The method with small steps and nothing else."""
    needed = [f.name for f in fields(row.method) if f.init and f.default is MISSING]
    return row.method(**dict.fromkeys(needed, 0.02))


def ended(method, max_steps=STEPS, **options):
    """Where it ends after some steps."""
    start = {} if "start" in options else START
    return wn.run(method, PROBLEM, **start, tolerance=0, max_steps=max_steps, **options)


def test_all_options_are_known_here():
    assert {f.name for f in fields(GradientMethod) if f.init} == set(OPTIONS)


@pytest.mark.parametrize(("row", "options", "others"), CASES)
def test_an_option_does_something(row, options, others):
    a, b = (ended(replace(plain(row), **given)) for given in (options, others))
    # what only shrinks w is seen by its length alone
    assert not (np.array_equal(a.weights, b.weights) and a.direction_norm == b.direction_norm)


@pytest.mark.parametrize(("row", "options", "others"), CASES)
def test_reduced_is_full_and_interrupted_is_whole(row, options, others):
    method = replace(plain(row), **options)
    whole = ended(method)
    full = ended(method, coordinates="full")
    assert np.allclose(whole.weights, full.weights, rtol=1e-9, atol=1e-11)
    parts = ended(method, start=ended(method, max_steps=STEPS // 3), max_steps=STEPS - STEPS // 3)
    assert np.array_equal(parts.weights, whole.weights)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in REGISTRY])
def test_among_others_is_alone(row):
    method, scales = plain(row), [0.5, 1.0, 2.0]
    data = wn.sweep(PROBLEM, {"m": method}, scales, W0, tolerance=0, max_steps=STEPS)
    alone = [wn.run(method, PROBLEM, g, W0, tolerance=0, max_steps=STEPS).distance for g in scales]
    assert np.allclose(data.distance.values.ravel(), alone, rtol=1e-10)
