"""The private integrations of the theory: short, bounded, and no part of `flows`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._support.numeric import Array

MAX_EVALUATIONS = 40_000  # of the field: a second or two
FALLBACK = 12_000  # of them by the method that is tried after another failed, which takes longer
MANY = 100  # coordinates, beyond which an implicit step costs more than the explicit ones it saves


def integrate_until(
    field: Callable[[float, Array], Array],
    start: Array,
    done: Callable[[Array], bool],
    watch: Callable[[Array], Any] = id,
    accuracy: float = 1e-10,
) -> tuple[Array, bool]:
    """Integrate until `done`, by LSODA and, should it fail, by Radau, or with many coordinates by
    an explicit method; the state, and whether it got there.
    """
    from scipy.integrate import DOP853, LSODA, Radau

    state, time, evaluations = start, 0.0, 0
    kinds = (LSODA, Radau) if start.size <= MANY else (DOP853,)
    most = MAX_EVALUATIONS if start.size <= MANY else 10 * MAX_EVALUATIONS

    def counted(t: float, at: Array) -> Array:
        nonlocal evaluations
        evaluations += 1
        slope = field(t, at)
        if not np.isfinite(slope).all():
            raise FloatingPointError
        return slope

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a failed step is an answer, not a warning
        for place, kind in enumerate(kinds):
            solver: Any = None
            if place:
                most = min(most, evaluations + FALLBACK)
            while evaluations < most and (solver is None or solver.status == "running"):
                try:
                    solver = solver or kind(
                        counted, time, state, np.inf, rtol=accuracy, atol=1e-3 * accuracy
                    )
                    solver.step()
                except (ArithmeticError, ValueError):  # the field or its Jacobian overflows
                    break
                stalled = float(solver.t) == time or not np.isfinite(solver.y).all()
                if solver.status == "failed" or stalled:
                    break
                state, time = solver.y.copy(), float(solver.t)
                watch(state)
                if done(state):
                    return state, True
    return state, False


def integrate_for(
    field: Callable[[float, Array], Array], start: Array, time: float, accuracy: float = 1e-10
) -> tuple[Array, bool]:
    """Integrate over a span of time; the state, and whether it got there."""
    from scipy.integrate import solve_ivp

    kind = "LSODA" if start.size <= MANY else "DOP853"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = solve_ivp(
            field, (0.0, time), start, method=kind, rtol=accuracy, atol=1e-3 * accuracy
        )
    return np.asarray(found.y[:, -1]), bool(found.success and np.isfinite(found.y).all())
