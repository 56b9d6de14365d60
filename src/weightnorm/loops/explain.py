"""A status in a sentence: what happened, why, and what to do about it."""

from __future__ import annotations

from ..result import Status
from .runs import Runs


def explain(status: Status, runs: Runs, floor: float, tolerance: float, max_steps: int) -> str:
    """Why the first of these runs stopped; `floor` is the smallest loss there is."""
    loss = float(runs.loss[0])
    if status is Status.CONVERGED:
        return f"loss {loss:.6g} <= tolerance {tolerance:g}"
    if status is Status.DIVERGED:
        return f"the loss grew to {loss:.6g} or is not a number; try smaller steps"
    if status is Status.MAX_STEPS:
        reason = (
            f"; y has a part out of A's reach, so the loss cannot go below {floor:.6g}" if floor > tolerance else ""
        )
        return f"made max_steps = {max_steps} steps; the loss is {loss:.6g}, above tolerance {tolerance:g}{reason}"
    if runs.method.has_scale and runs.position().scale[0] == 0.0:
        return f"a point of S = {{g = 0, yᵀAw = 0}}: no step leaves it, and the loss stays {loss:.6g}"
    if floor > tolerance:
        return f"the floor of an unreachable y: the loss cannot go below {floor:.6g}, above tolerance {tolerance:g}"
    frozen = [name for name, s in zip(("direction", "scale"), runs.method.schedules, strict=True) if s.ends_frozen]
    if runs.method.has_scale and frozen:
        return f"the {' and the '.join(frozen)} will not move any more, and the rest has settled at loss {loss:.6g}"
    return f"the update no longer moves the iterate, at loss {loss:.6g}: rounding allows no less; raise the tolerance"
