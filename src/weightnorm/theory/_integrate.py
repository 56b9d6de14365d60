"""The private integrations of the theory: short, bounded, and no part of `flows`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MAX_STEPS = 20_000


def integrate_until(
    field: Callable[[float, Array], Array], start: Array, done: Callable[[Array], bool], watch: Callable[[Array], Any] = id
) -> tuple[Array, bool]:
    """Integrate until `done`, by LSODA and, should it fail, by Radau; the state, and whether it got there."""
    from scipy.integrate import LSODA, Radau

    state, time, count = start, 0.0, 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a failed step is an answer, not a warning
        for kind in (LSODA, Radau):
            try:
                solver = kind(field, time, state, np.inf, rtol=1e-10, atol=1e-13)
                while count < MAX_STEPS and solver.status == "running":
                    solver.step()
                    if solver.status == "failed" or float(solver.t) == time or not np.isfinite(solver.y).all():
                        break
                    state, time, count = solver.y.copy(), float(solver.t), count + 1
                    watch(state)
                    if done(state):
                        return state, True
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue  # beyond all measure: a field that overflows
    return state, False
