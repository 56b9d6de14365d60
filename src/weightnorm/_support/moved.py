"""Modules by the names they had in 0.3: results that were pickled then name them.

Kept for one release. The modules that are packages now (`flows`, `problems.kernel`,
`problems.minimum`) offer the names that pickles of 0.3 have themselves; `run` and `sweep` are not
here, because nothing in them is pickled and these names are functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]
MOVED = {
    "_resume": "runs.resume",
    "approach": "advice.approach",
    "assessment": "advice.certificate",
    "estimators.model_file": "tables.model_file",
    "estimators.pictures": "tables.pictures",
    "estimators.table": "tables.fit",
    "engine.optimum": "engine.gradient_test",
    "foresight": "advice.before_run",
    "grids": "runs.dataset",
    "history": "runs.history",
    "methods.batch_norm": "methods.batchnorm",
    "messages": "runs.messages",
    "planning": "advice.planning",
    "problems.blocks": "problems.dask.blocks",
    "problems.centred": "problems.linear.centred",
    "problems.chunked": "problems.dask.least_squares",
    "problems.chunked_rows": "problems.dask.rows",
    "problems.chunked_space": "problems.dask.space",
    "problems.expansion": "problems.kernel.expansion",
    "problems.factorisation": "problems.coordinates.factorisation",
    "problems.factors": "problems.sensing.factors",
    "problems.generalized_linear": "problems.linear.generalized_linear",
    "problems.gram": "problems.kernel.gram",
    "problems.iterative": "problems.coordinates.iterative",
    "problems.lapack": "problems.dask.lapack",
    "problems.least_squares": "problems.linear.least_squares",
    "problems.logits": "problems.linear.logits",
    "problems.margin": "problems.minimum.margin",
    "problems.matrix_sensing": "problems.sensing.matrix_sensing",
    "problems.newton": "problems.minimum.newton",
    "problems.nuclear_norm": "problems.sensing.nuclear_norm",
    "problems.passes": "problems.dask.passes",
    "problems.recession": "problems.minimum.recession",
    "problems.reduction": "problems.coordinates.reduction",
    "problems.starts": "problems.dask.starts",
    "problems.tsqr": "problems.dask.tsqr",
    "problems.whitening": "problems.minimum.whitening",
    "result": "runs.result",
    "schedules": "methods.schedules",
    "step_search": "runs.step_search",
    "theory.batch_norm": "theory.batchnorm",
}
# names that are others now: old module -> old name -> new place
RENAMED = {
    "advice.certificate": {"Assessment": "advice.certificate:Certificate"},
    "methods": {"Training": "methods.training:GradientMethod"},
    "methods.training": {"Training": "methods.training:GradientMethod"},
    "problems": {"Frame": "problems.lifting:Lifter"},
    "problems.contract": {"Frame": "problems.lifting:Lifter"},
    "problems.dask.blocks": {"Blocks": "problems.dask.blocks:BlockFactorisation"},
    "problems.dask.starts": {"Starts": "problems.dask.starts:ChunkedStarts"},
    "engine.loop": {
        "Judge": "engine.stopping:StoppingRule",
        "Standstill": "engine.stopping:StationarityTest",
        "_Glimpse": "engine.stopping:Glimpse",
    },
    "engine.gradient_test": {"Optimum": "engine.gradient_test:GradientTest"},
    "engine.backends.diagonal": {"RawState": "engine.backends.raw_state:RawState"},
}


class Moved(MetaPathFinder, Loader):
    """Finds a module by the name it had, and gives the one there is now."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for the old names only."""
        known = name.startswith(f"{PACKAGE}.") and name.removeprefix(f"{PACKAGE}.") in MOVED
        return ModuleSpec(name, self) if known else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of now in the place of an empty one."""
        new = MOVED[module.__name__.removeprefix(f"{PACKAGE}.")]
        sys.modules[module.__name__] = import_module(f"{PACKAGE}.{new}")


def register() -> None:
    """Let the old names be found, after all others."""
    if not any(isinstance(finder, Moved) for finder in sys.meta_path):
        sys.meta_path.append(Moved())


def by_old_names(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module of whose names pickles of 0.3 know others."""
    known = RENAMED[module.removeprefix(f"{PACKAGE}.")]

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, new = known[name].partition(":")
        return getattr(import_module(f"{PACKAGE}.{place}"), new)

    return find
