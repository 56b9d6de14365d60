"""Training a classifier: the one loop, with steps that follow the scale at a fixed ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.batch import Start
from ..engine.loop import Policy, Standstill, loop, quietly
from ..engine.start import check_scale, start
from ..methods.contract import State
from ..problems.linear.logits import Logits
from ..runs.result import Status
from .base import SMALLER, Options
from .rules import make_rule

Array = NDArray[np.float64]
SAFETY = 1.5  # over the curvature where a slice of steps starts
SLICE = 50  # steps after which progress is judged and the steps are chosen anew
SMALLEST_DAMPING = 1e-12  # steps this much smaller than what should be stable will not help either


@dataclass(frozen=True)
class Trained:
    """Where training ended: weights (rank + 1, K) in reduced coordinates, scales (K,)."""

    weights: Array
    scale: Array
    num_steps: int
    status: str
    message: str


@quietly
def train(
    problem: Logits,
    scale: Array,
    directions: Array,
    natural: float,
    options: Options,
    direction_step: Any,
    scale_step: Any,
) -> Trained:
    """Train from x_k = scale_k·direction_k until the gradient is `tol` of its terms, or the mean
    loss at most `tol`; c = ratio·max(g², natural), anew every SLICE steps.
    """
    kind, ratio, tol, max_iter = options
    norms = np.linalg.norm(directions, axis=0)
    unit = (directions / np.where(norms > 0, norms, 1.0))[None]
    chosen = direction_step is not None or scale_step is not None
    state: State | None = None
    limit = None
    done, loss, status, damping = 0, np.inf, Status.MAX_STEPS, 1.0
    low = max(tol * problem.total_weight, float(np.finfo(np.float64).tiny))
    optimality = problem.optimality(scale * unit[0])
    # a start that no step leaves is no minimum unless its gradient vanishes
    if optimality <= tol:
        status = Status.CONVERGED
    while done < max_iter and damping > SMALLEST_DAMPING and status is Status.MAX_STEPS:
        largest = float(np.abs(scale if state is None else _scales(kind, state)).max())
        # As the loss falls so does the curvature, and the steps may grow.
        here = scale * unit[0] if state is None else _of_state(kind, state)
        local = SAFETY * problem.local_curvature(here)
        curvature = min(problem.smoothness, local) / damping
        c = ratio * max(largest**2, natural)
        steps = (direction_step, scale_step)
        rule = make_rule(kind, curvature, c, largest, steps, blocks="columns")
        if state is None:
            state = rule.init(scale[None].copy(), unit)
            check_scale(rule, problem, state.scale)
        runs = start(
            rule, problem, Start(state.scale, unit, done if chosen else 0, state, limit), low
        )
        limit = runs.limit
        # short slices first: from a small scale a few steps change everything
        before, count = float(runs.loss[0]), min(SLICE, max(1, done), max_iter - done)
        code = loop(runs, Policy(low, count, Standstill()))[0]
        done += int(runs.ended_at[0]) - (done if chosen else 0)
        status = list(Status)[int(code)]
        if not chosen and not float(runs.loss[0]) <= before:
            # too far: from the same place again, with smaller steps
            loss, damping, status = before, 0.25 * damping, Status.MAX_STEPS
            continue
        state, loss, damping = runs.state(), float(runs.loss[0]), min(1.0, 2.0 * damping)
        if status is Status.DIVERGED or not np.isfinite(loss):
            break
        optimality = problem.optimality(_of_state(kind, state))
        if optimality <= tol:
            status = Status.CONVERGED
    weights = scale * unit[0] if state is None else _of_state(kind, state)
    final = scale if state is None else _scales(kind, state)
    finite = np.isfinite(weights).all() and np.isfinite(final).all()
    if not finite or status is Status.DIVERGED:
        raise ValueError(f"training diverged after {done} steps; {SMALLER}")
    mean = (problem.zero_loss if state is None else loss) / problem.total_weight
    text = f"made {done} steps; the mean loss is {mean:.6g}, the relative gradient {optimality:.2g}"
    if damping <= SMALLEST_DAMPING:
        text += "; no step lowers the loss any more, however small"
    if status is not Status.CONVERGED:
        text += f"; tol = {tol:g} was asked for: raise max_iter, or use method='limit'"
    return Trained(weights, final, done, status.value, text)


def _of_state(kind: str, state: State) -> Array:
    """The weights (rank + 1, K)."""
    vector = state.vector[0]
    return np.asarray(
        vector if kind == "gd" else state.scale[0] * vector / np.linalg.norm(vector, axis=0)
    )


def _scales(kind: str, state: State) -> Array:
    """The scale of every class (K,)."""
    return np.asarray(np.linalg.norm(state.vector[0], axis=0) if kind == "gd" else state.scale[0])
