"""What 0.3 pickled names modules and classes of 0.3: they are found for one release."""

import pickle
from importlib import import_module

import numpy as np
import pytest

import weightnorm as wn
from weightnorm._support.moved import MOVED, RENAMED

PROBLEM, W0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_module_is_found_by_its_old_name(old, new):
    assert import_module(f"weightnorm.{old}") is import_module(f"weightnorm.{new}")


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m, names in RENAMED.items() for n in names]
)
def test_a_class_is_found_by_its_old_name(module, name):
    place, _, new = RENAMED[module][name].partition(":")
    found = getattr(import_module(f"weightnorm.{module}"), name)
    assert found is getattr(import_module(f"weightnorm.{place}"), new)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = import_module(f"weightnorm.{module}").nothing


def as_pickled_by(old, thing):
    """A pickle that names modules as they were called: (now, then), …"""
    text = pickle.dumps(thing, protocol=0)
    for now, then in old:
        assert now.encode() in text, now
        text = text.replace(now.encode(), then.encode())
    return text


def test_a_run_goes_on_from_a_result_that_names_old_modules():
    method = wn.RPGD(wn.schedules.two_phase(0.01, 0.02, 10), 0.01)
    part = wn.run(method, PROBLEM, 2.0, W0, tolerance=0, max_steps=50)
    names = [
        ("weightnorm.runs.result\nResult", "weightnorm.result\nResult"),
        ("weightnorm.runs.resume\nResume", "weightnorm._resume\nResume"),
        ("weightnorm.engine.stopping\nStationarityTest", "weightnorm.engine.loop\nStandstill"),
        ("weightnorm.methods.schedules\n", "weightnorm.schedules\n"),
    ]
    old = pickle.loads(as_pickled_by(names, part))
    ends = [wn.run(method, PROBLEM, start=p, tolerance=0, max_steps=50) for p in (old, part)]
    np.testing.assert_array_equal(ends[0].weights, ends[1].weights)


def test_a_method_that_was_pickled_with_an_attribute_more_goes_on_with_its_momentum():
    method = wn.RPGD(0.01, 0.01, momentum=0.9)
    object.__setattr__(method, "plain_rule", True)  # as 0.3 did
    old = pickle.loads(pickle.dumps(wn.run(method, PROBLEM, 2.0, W0, tolerance=0, max_steps=50)))
    new = wn.RPGD(0.01, 0.01, momentum=0.9)
    whole = wn.run(new, PROBLEM, 2.0, W0, tolerance=0, max_steps=100)
    part = wn.run(new, PROBLEM, start=old, tolerance=0, max_steps=50)
    np.testing.assert_array_equal(part.weights, whole.weights)


def test_a_flow_that_names_old_modules_is_whole():
    path = wn.flow(PROBLEM, 2.0, W0)
    names = [("weightnorm.problems.lifting\nLifter", "weightnorm.problems.contract\nFrame")]
    old = pickle.loads(as_pickled_by(names, path))
    np.testing.assert_array_equal(old.weights, path.weights)
