"""Methods of the user's own: a copy per run, and whether they may run in reduced coordinates.

The reduction is an isometry onto rank + 1 coordinates, so it is exact for rules that see lengths and angles only. A rule
that looks at single coordinates (their signs, a box, a threshold) means something else there, and no trial can rule that
out: so a class of unknown kind runs in full coordinates, unless it says `rotation_equivariant = True` in its own body.
"""

from __future__ import annotations

import copy

from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.base import Method

BUILT_IN = (GradientDescent, WeightNorm, RPGD)


def private_copy(method: Method) -> Method:
    """The method a run works with: a copy where it may keep state on itself, so that nothing leaks into the next run."""
    if type(method) in BUILT_IN:
        return method
    try:
        return copy.deepcopy(method)
    except Exception as error:
        raise TypeError(
            f"method {type(method).__name__} cannot be copied ({error}); every run works on a copy of its own, so that "
            "what a method keeps on itself does not leak into other runs"
        ) from error


def runs_reduced(method: Method) -> bool:
    """Whether a method means the same in reduced coordinates: one of ours, or one whose own class says so."""
    for kind in type(method).__mro__:
        if kind in BUILT_IN:
            return kind is type(method)
        if "rotation_equivariant" in vars(kind):
            return bool(vars(kind)["rotation_equivariant"])
    return False


def why_full(method: Method) -> str:
    """What to tell the user of a method that runs in full coordinates although reduced ones were asked for."""
    return (
        f"; ran in full coordinates, because {type(method).__name__} does not say rotation_equivariant = True (true of a "
        "rule that sees lengths and angles only)"
    )
