"""Methods of the user's own: a copy per run, and whether they may run in reduced coordinates.

The reduction is an isometry onto rank + 1 coordinates, so it is exact for rules that see lengths and angles only. A rule
that looks at single coordinates (the sign of each, the largest of them) means something else there. Whether a rule of
unknown kind is of the first sort is tried out on a small problem, unless its class says so itself.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.base import Array, Method, bind_steps
from ..problems import LeastSquares
from ..rowspace import RowSpace

BUILT_IN = (GradientDescent, WeightNorm, RPGD)
TRIAL_STEPS, TRIAL_STEP = 3, 0.05
NOT_EQUIVARIANT = "in full coordinates, because the method treats coordinates one by one and would mean another in reduced ones"
AGREEMENT = 1e-8  # between full and reduced coordinates after the trial, relative


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
    """Whether a method means the same in reduced coordinates.

    A class may say so itself, with `rotation_equivariant = True` or `False` in its own body; otherwise it is tried.
    """
    if type(method) in BUILT_IN:
        return True
    for kind in type(method).__mro__:
        if kind in BUILT_IN:
            break
        if "rotation_equivariant" in vars(kind):
            return bool(vars(kind)["rotation_equivariant"])
    return _agrees_when_tried(method)


def _agrees_when_tried(method: Method) -> bool:
    generator = np.random.default_rng(0)
    A, unit = generator.standard_normal((2, 6)), generator.standard_normal(6)
    problem, unit = LeastSquares(A, [1.0, -0.5]), unit / np.linalg.norm(unit)
    space = RowSpace(problem)
    entered, frame = space.start(unit)
    full = _try(private_copy(method), problem, unit)
    reduced = _try(private_copy(method), space.reduced, entered)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(frame.lift(reduced[0]) - full[0]).max(initial=0.0)
        gap = max(gap, abs(reduced[1] - full[1]))
        return bool(gap <= AGREEMENT * (1.0 + np.abs(full[0]).max() + abs(full[1])))


def _try(method: Method, problem: Any, unit: Array) -> tuple[Array, float]:
    """The vector and the scale after a few steps of moderate size, whatever the method's schedules say."""
    steps = bind_steps(method, problem)
    state = method.init(np.array([1.3]), unit[None])
    with np.errstate(all="ignore"):
        for _ in range(TRIAL_STEPS):
            evaluation = method.evaluate(problem, state)
            first, second = (step.at(TRIAL_STEP * step.factor, state) for step in steps)
            state = method.update(state, evaluation, first, second)
    return state.vector[0], float(np.ravel(state.scale)[0])
