"""A pytest plugin: the tests in the sdist of pytorch_optimizer, with our optimisers in its place.

Its tests of all optimisers find ours in the registry, and no others. Its tests of what takes any
optimiser (wrappers, schedulers, the factory) name one of its own; they run once for each of ours,
which answers to every name. The outcomes go to the file in OTHERS_REPORT.
"""

from __future__ import annotations

import inspect
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest
from others_left_out import FILES, TESTS, key, short  # beside it: `tests` is theirs here

from weightnorm.torch import RPGD, WeightNormSGD

RECIPES = (  # options, and the steps in which its training tests want the loss to fall by a third
    ({"lr": 0.5}, 10),
    ({"lr": 0.5, "weight_decay": 1e-3}, 10),
    ({"lr": 0.1, "momentum": 0.9}, 10),
    ({"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}, 10),
    ({"lr": 0.5, "scale_ratio": 0.1}, 10),
    ({"lr": 0.5, "dim": None}, 10),
    ({"lr": 0.5, "dim": 1, "vectors": True}, 10),
)
# its optimisers swallow any option; these are the ones that its tests hand to whatever is wrapped
SWALLOWED = ("model", "num_data", "num_iterations", "use_gc")
made: set[str] = set()  # the tests in which one of ours was asked for
outcomes: dict[str, list[str]] = defaultdict(list)


class Registered:
    """What its tests ask of a constructor: a default lr, weight_decay, and complex parameters.

    Its optimisers refuse complex parameters in their first step, ours when they are made: the
    refusal is kept for the step.
    """

    def __init__(self, params, lr=1e-3, *, weight_decay=0.0, **options):
        made.add(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
        told = {name: value for name, value in options.items() if name not in SWALLOWED}
        params = [_renamed(group) if isinstance(group, dict) else group for group in params]
        try:
            super().__init__(params, lr, scale_weight_decay=weight_decay, **told)
        except TypeError as error:
            if "parameters must be real" not in str(error):
                raise
            self.step = _refuse(error)


def _renamed(group):
    """A group of theirs, whose weight_decay is that of the scale."""
    return {"scale_weight_decay" if k == "weight_decay" else k: v for k, v in group.items()}


def _refuse(error):
    def step(closure=None):
        raise error

    return step


def registered(optimizer):
    """A class for its registry, whose tests read from the signature what an optimiser can do."""
    parameters = dict(inspect.signature(optimizer).parameters)
    decay = parameters.pop("scale_weight_decay").replace(name="weight_decay")
    signature = inspect.Signature([*parameters.values(), decay])
    name = optimizer.__name__
    return type(name, (Registered, optimizer), {"__signature__": signature})


OURS = {optimizer.__name__.lower(): registered(optimizer) for optimizer in (RPGD, WeightNormSGD)}


def pytest_configure(config):
    """Ours into the registry and the recipes, before the tests are collected and read them."""
    from pytorch_optimizer import optimizer as theirs
    from pytorch_optimizer.base import exception

    config.their_names = list(theirs.OPTIMIZERS)
    theirs.OPTIMIZERS.clear()
    theirs.OPTIMIZERS.update(OURS)
    # ours raise the usual errors, not classes of that package
    exception.NegativeLRError = (exception.NegativeLRError, ValueError)
    exception.NoComplexParameterError = (exception.NoComplexParameterError, TypeError)
    from tests import recipes  # theirs: this reads the registry

    ours = [(name, options, steps) for name in OURS for options, steps in RECIPES]
    recipes.OPTIMIZER_RECIPES[:] = ours
    recipes.COMPILE_SUPPORTED_OPTIMIZERS[:] = ours


def pytest_ignore_collect(collection_path, config):
    """Files that are left out are not even imported."""
    return True if collection_path in [config.rootpath / "tests" / name for name in FILES] else None


def pytest_generate_tests(metafunc):
    """A test that is not about ours by name runs once for each of ours."""
    if not _is_about_ours(metafunc):
        metafunc.parametrize("stand_in", list(OURS), indirect=True)


def _is_about_ours(metafunc):
    for mark in metafunc.definition.iter_markers("parametrize"):
        values = [v.values[0] if hasattr(v, "marks") else v for v in mark.args[1]]  # pytest.param
        names = [value[0] if isinstance(value, tuple) else value for value in values]
        if names and all(name in list(OURS) for name in names):
            return True
    return False


@pytest.fixture(autouse=True)
def stand_in(request, monkeypatch):
    """One of ours under every name."""
    from pytorch_optimizer.optimizer import OPTIMIZERS

    for name in request.config.their_names if hasattr(request, "param") else ():
        monkeypatch.setitem(OPTIMIZERS, name, OURS[request.param])


def pytest_collection_modifyitems(items):
    """Skip what is left out, with its reason."""
    for item in items:
        if key(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=TESTS[key(item.nodeid)]))


def pytest_runtest_logreport(report):
    """Keep what became of each phase of each test."""
    outcomes[report.nodeid].append(report.outcome)


def pytest_sessionfinish():
    """Write: passed with one of ours, passed without, skipped, failed."""
    found = {"passed": [], "without ours": [], "skipped": [], "failed": []}
    for nodeid, phases in outcomes.items():
        worst = next((o for o in ("failed", "skipped") if o in phases), "passed")
        if worst == "passed" and nodeid not in made:
            worst = "without ours"
        found[worst].append(short(nodeid))
    if "OTHERS_REPORT" in os.environ:
        Path(os.environ["OTHERS_REPORT"]).write_text(json.dumps(found, indent=1))
