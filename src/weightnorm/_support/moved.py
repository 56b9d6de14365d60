"""Modules by the names they had in 0.3: results that were pickled then name them.

Kept for one release. The modules that are packages now (`flows`, `problems.kernel`,
`problems.minimum`) offer the names that pickles of 0.3 have themselves; `run` and `sweep` are not
here, because nothing in them is pickled and these names are functions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE = __name__.partition(".")[0]
MOVED = {
    "_resume": "runs.resume",
    "approach": "advice.approach",
    "assessment": "advice.assessment",
    "estimators.model_file": "tables.model_file",
    "estimators.pictures": "tables.pictures",
    "estimators.table": "tables.fit",
    "foresight": "advice.foresight",
    "grids": "runs.grids",
    "history": "runs.history",
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
