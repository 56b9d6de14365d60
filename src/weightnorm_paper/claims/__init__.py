"""Every claim of the paper and every result beyond it: what is printed, what is true, and why.

A file of this folder has a tuple `CLAIMS`, and is found by being here. The checks of the paper's
own claims are in `weightnorm_paper.checks`; a new claim has its check beside it, in the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from .claim import GROUPS, KINDS, RELATIONS, SURVIVES, Claim
from .preamble import PREAMBLE

# The order of the paper; files that are not named here come after them, by their names.
IN_ORDER = (
    *("flow", "limits", "adaptive", "steps", "phases", "orders", "general", "proofs", "setups"),
    *("beyond", "training", "ends"),
)
HELPERS = {"claim", "preamble"}


def _files() -> list[str]:
    """The files that have claims, in order."""
    found = {module.name for module in iter_modules(__path__)} - HELPERS
    return [*IN_ORDER, *sorted(found.difference(IN_ORDER))]


def _claims() -> Iterator[Claim]:
    """Those of all files; what is none is named with its file, and so is an id given twice."""
    places: dict[str, str] = {}
    for name in _files():
        claims = import_module(f"{__name__}.{name}").CLAIMS
        if not (isinstance(claims, tuple) and all(isinstance(claim, Claim) for claim in claims)):
            raise TypeError(f"claims/{name}.py: CLAIMS must be a tuple of Claim: (Claim(…),)")
        for claim in claims:
            if claim.id in places:
                raise ValueError(f"claims/{name}.py: {claim.id!r} is in {places[claim.id]}.py too")
            places[claim.id] = name
            yield claim


CLAIMS: tuple[Claim, ...] = tuple(_claims())

__all__ = ["CLAIMS", "GROUPS", "KINDS", "PREAMBLE", "RELATIONS", "SURVIVES", "Claim"]
