"""A status in a sentence: what happened, why, and what to do about it."""

from __future__ import annotations

import numpy as np

from ..result import Status
from .runs import Runs
from .watch import Watch, gradient_vanishes

TINY = 1e-20  # a loss under this share of ½‖y‖² is rounding, one above it is not


def explain(
    status: Status, runs: Runs, floor: float | None, reference: float, tolerance: float, max_steps: int, watch: Watch
) -> str:
    """Why the first of these runs stopped.

    `floor` is the smallest loss there is, where it is known; `reference` is ½‖y‖².
    """
    loss = float(runs.loss[0])
    if status is Status.CONVERGED:
        return f"loss {loss:.6g} <= tolerance {tolerance:g}"
    if status is Status.DIVERGED:
        if runs.ended_at[0] == 0:
            return f"the loss is {loss:.6g} at the start already: rescale the problem or start nearer"
        return f"the loss grew to {loss:.6g}, or ‖w‖ overflowed; try smaller steps"
    unreachable = floor is not None and floor > tolerance
    if status is Status.MAX_STEPS:
        text = f"made max_steps = {max_steps} steps; the loss is {loss:.6g}"
        if tolerance > 0:
            text += f", above tolerance {tolerance:g}"
        if tolerance > 0 and unreachable:
            text += f"; y is partly out of reach, so the loss cannot go below {floor:.6g}"
        if watch.cycling is not None and watch.cycling[0]:
            text += "; it keeps coming back to the same points, a cycle: try smaller steps"
        elif watch.rough is not None and watch.rough[0]:
            text += "; the loss goes up and down: try smaller steps"
        return text
    return _explain_standstill(runs, floor if unreachable else None, loss, floor is None, reference, tolerance)


def _explain_standstill(runs: Runs, floor: float | None, loss: float, unknown: bool, reference: float, tolerance: float) -> str:
    method = runs.method
    position = runs.position()
    own = runs.problem.standstill(position.unit, position.scale)
    if own:
        return f"{own}; the loss stays {loss:.6g}"
    if method.has_scale and not np.any(position.scale[0]):
        return f"a point of S = {{g = 0, yᵀAw = 0}}: no step leaves it, and the loss stays {loss:.6g}"
    if floor is not None:
        return f"the floor of an unreachable y: the loss cannot go below {floor:.6g}, above tolerance {tolerance:g}"
    frozen = [name for name, s in zip(("direction", "scale"), method.schedules, strict=True) if s.ends_frozen]
    if len(frozen) == 2:
        return f"every step is zero from here on; the loss stays {loss:.6g}"
    if method.has_scale and frozen:
        return f"the {frozen[0]} will not move any more, and the rest has settled at loss {loss:.6g}"
    if unknown and loss > TINY * reference and bool(gradient_vanishes(runs)[0]):
        return f"the floor of an unreachable y: the gradient vanishes at loss {loss:.6g}, above tolerance {tolerance:g}"
    return f"the update no longer moves the iterate, at loss {loss:.6g}: rounding allows no less; raise the tolerance"
