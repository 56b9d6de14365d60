"""In which coordinates a method runs on a problem, and what is asked of a reduction of one's own.

A reduction that is wrong gives wrong answers, not errors. So before a run in one that is not ours
the engine looks whether it keeps lengths, leads back to the start, and has the loss of the problem
there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.numeric import Array
from ..methods.registry import COMPILED
from ..problems import Lifter, Reduction

# what coordinates may change a squared length by: far more than rounding, far less than a mistake
ISOMETRY = 1e-3
SAME_LOSS = 1e-6  # the same of the loss at a start, against its size there and at zero weights


def runs_reduced(method: Any) -> bool:
    """Whether a method means the same in reduced coordinates: one of ours, or one whose own class
    says so.

    The reduction is an isometry, so it is exact for rules that see lengths and angles only. A rule
    that looks at single coordinates (their signs, a box, a threshold) means something else there,
    and no trial can rule that out: so a class of unknown kind runs in full coordinates, unless it
    says `rotation_equivariant = True` in its own body.
    """
    for kind in type(method).__mro__:
        if kind in COMPILED:  # ours: what a class inherits from it says nothing of its own rule
            return kind is type(method)
        if "rotation_equivariant" in vars(kind):
            return bool(vars(kind)["rotation_equivariant"])
    return False


def coordinates(method: Any, problem: Any, reduced: bool) -> Any:
    """The reduction a method runs in: the problem's own coordinates, or reduced ones where that
    means the same.
    """
    if reduced and runs_reduced(method):
        space = problem.reduce(samples=method.sampling is not None)
        _require_reduction(problem, space)
    else:
        space = problem.in_full()
    for need in method.needs:
        need.require_within(space.problem)
    return space


def enter(space: Any, problem: Any, unit: Any, scale: Array, columns: bool) -> tuple[Array, Lifter]:
    """The coordinates of one start and what leads back, after all that is asked of a reduction.

    Parameters
    ----------
    space : Reduction
    problem : Problem
        What it is a reduction of.
    unit : (d,) array, or (d, r)
        The direction of the start.
    scale : (1,) array, or (1, r)
        Its scale.
    columns : bool
        Whether each column of the direction is of unit length.
    """
    entered, lifter = _started(space, unit)
    require_isometry(space, entered[None], columns)
    _require_way_back(space, lifter, entered, unit)
    _require_same_loss(space, problem, entered[None], unit[None], scale)
    return entered, lifter


def _started(space: Any, unit: Any) -> tuple[Array, Lifter]:
    if space.trusted:
        return space.start(unit)  # type: ignore[no-any-return]
    found, kind = space.start(unit), type(space).__name__
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Lifter)):
        raise TypeError(
            f"{kind}.start must return two things, the coordinates of a start and a "
            f"weightnorm.problems.Lifter, got {type(found).__name__}"
        )
    entered, lifter = found
    if np.shape(entered)[:1] != (space.problem.dimension,):
        raise ValueError(
            f"{kind}.start must give {space.problem.dimension} coordinates, as many as its "
            f"problem has weights, got shape {np.shape(entered)}"
        )
    return entered, lifter


def perp_units_of(space: Any, units: Array, wanted: bool) -> Array | None:
    """What a reduction says is off the row space, unit vectors (n, k) in its coordinates."""
    found: Array | None = space.perp_units(units, wanted)
    if space.trusted or found is None:
        return found
    size = space.problem.dimension
    if np.shape(found) not in ((1, size), (len(units), size)):
        raise ValueError(
            f"{type(space).__name__}.perp_units must give unit vectors in the reduced coordinates, "
            f"of shape (1, {size}) or ({len(units)}, {size}), got {np.shape(found)}"
        )
    return found


def require_isometry(space: Any, entered: Array, columns: bool) -> None:
    """Refuse coordinates (n, …) that change lengths: runs in them are others than in full ones."""
    length = entered.shape[-1] if columns else 1.0
    off = np.abs((entered * entered).sum(axis=tuple(range(1, entered.ndim))) / length - 1.0)
    if not off.max(initial=0.0) <= ISOMETRY:
        raise ValueError(
            f"{type(space).__name__} must keep lengths, or runs in reduced coordinates are others "
            f"than in full ones; it changed a squared length by {off.max():.2g} of itself"
        )


def _require_way_back(space: Any, lifter: Lifter, entered: Array, unit: Array) -> None:
    """Refuse a reduction whose `lift` does not undo its `enter`: runs would be right, and the
    weights they end with not.
    """
    if space.trusted:
        return
    name = type(space).__name__
    try:
        back = np.asarray(lifter.lift(entered))
    except Exception as error:
        raise ValueError(
            f"{name}.lift failed at a start: {error}; where it needs to know the start, give "
            "`start`, which returns Lifter(self, axes)"
        ) from error
    if back.shape != unit.shape or not np.abs(back - unit).max() <= ISOMETRY:
        raise ValueError(
            f"{name}.lift must lead back from the coordinates of a start to that start, and led "
            "elsewhere; it gets what `enter` gave and the axes of the Lifter"
        )


def _require_same_loss(space: Any, problem: Any, entered: Array, unit: Array, scale: Array) -> None:
    """Refuse a reduction whose problem has another loss at a start (1, …) than the problem."""
    small = space.problem
    if space.trusted or small is problem:
        return
    with np.errstate(all="ignore"):
        full = float(problem.scale_direction_gradients(unit, scale)[0][0])
        reduced = float(small.scale_direction_gradients(entered, scale)[0][0])
        off = abs(full - reduced)
    if off > SAME_LOSS * (abs(full) + abs(small.zero_loss)):
        raise ValueError(
            f"{type(space).__name__}.problem must have the loss of the problem it reduces, and at "
            f"the start it has {reduced:g} where {type(problem).__name__} has {full:g}"
        )


def _require_reduction(problem: Any, space: Any) -> None:
    """Refuse what `reduction` of a problem of one's own must not return."""
    name = type(problem).__name__
    if not isinstance(space, Reduction):
        raise TypeError(
            f"{name}.reduction must return a weightnorm.problems.Reduction, got "
            f"{type(space).__name__}; its `problem` is the one in reduced coordinates"
        )
    reference = space.problem.reference
    if space.trusted or reference is None:
        return
    if np.shape(reference) != (space.problem.dimension,):
        raise ValueError(
            f"the reference of the problem that {name}.reduction gives must be in its coordinates, "
            f"of shape ({space.problem.dimension},), got {np.shape(reference)}; enter it, too"
        )
