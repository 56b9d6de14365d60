"""What the theory knows before a run: steps that can settle nowhere, starts that lead into a cycle.

It asks only where the run itself has factorised A, compares a few numbers first, and keeps the
answer with the problem; so a run that can converge pays next to nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .methods import RPGD
from .schedules import Schedule, stable_below

Array = NDArray[np.float64]
EQUAL = 1e-12  # eigenvalues of AAᵀ this close, relatively, are equal
_KNOWN: WeakKeyDictionary[Any, dict[tuple[Any, ...], str]] = WeakKeyDictionary()


def warn_before(
    methods: Mapping[str, Any],
    problem: Any,
    scales: Array,
    units: Array,
    tolerance: float,
    stack: int,
) -> None:
    """Warn once of methods that can settle nowhere, and of starts that end in the 2-cycle.

    Parameters
    ----------
    methods : mapping of name -> method
    problem : Problem
        It is asked only if it is least squares and factorised.
    scales : (k,) array
        The scales of the starts.
    units : (n, d) array
        Their unit directions; every direction has every scale.
    tolerance : float
        Of the loss; with zero all steps are wanted, whatever they do, and nothing is said.
    stack : int
        How many calls up the warning is shown.
    """
    if not tolerance > 0 or not getattr(problem, "is_factorised", False):
        return
    found = []
    for name, method in methods.items():
        if type(method) is not RPGD:
            continue
        text = _settles_nowhere(method, problem) or _trapped(method, problem, scales, units)
        if text:
            found.append(text if len(methods) == 1 else f"{name}: {text}")
    if found:
        warnings.warn("; ".join(found), RuntimeWarning, stacklevel=stack)


def predictable(methods: Mapping[str, Any], problem: Any) -> bool:
    """Whether the theory has something to say before a run: of rPGD on least squares."""
    return hasattr(problem, "with_targets") and any(type(m) is RPGD for m in methods.values())


def undisturbed(method: Any) -> bool:
    """Whether a method makes the steps that the theory of stability is about: whole batches
    without noise, decay or clipping; momentum is part of it.
    """
    disturbed = getattr(method, "decays", True) or method.clip is not None
    return not disturbed and method.sampling is None


def settled_value(schedule: Schedule) -> float | None:
    """The constant that a schedule ends with; None where there is none."""
    plain = schedule.function is None and not schedule.per_curvature
    if not plain or schedule.scale_power or schedule.norm_power:
        return None
    return float(schedule.phases[-1])


def _settles_nowhere(method: Any, problem: Any) -> str:
    """That the norm bracket is empty, with the largest steps whose bracket is not."""
    eta, gamma = (settled_value(schedule) for schedule in method.schedules)
    small = problem.reduce().problem
    if eta is None or gamma is None or not undisturbed(method) or small.curvatures is None:
        return ""
    beta, ahead = method.momentum, method.nesterov
    top = stable_below(beta, ahead)
    # K ⪯ max(η‖x*‖², γ)·AAᵀ at the minimum-norm solution: it is stable there, and all is well
    largest = float(small.curvature)
    if max(eta * float(small.target @ small.target), gamma) * largest < top:
        return ""
    known = _KNOWN.setdefault(problem, {})
    key = (eta, gamma, beta, ahead)
    if key not in known:
        known[key] = _explained(problem, eta, gamma, beta, ahead, top)
    return known[key]


def _explained(problem: Any, eta: float, gamma: float, beta: float, ahead: bool, top: float) -> str:
    from .theory.bracket import norm_bracket, stable_share

    try:
        if norm_bracket(problem, eta, gamma, beta, ahead) is not None:
            return ""
    except ValueError:  # y = 0: x* has no direction, and there is nothing to predict
        return ""
    share = stable_share(problem, eta, gamma, top)
    return (
        f"rPGD with direction_step={eta:g} and scale_step={gamma:g} cannot converge: no solution "
        "is stable at these steps; with their ratio the largest that work are direction_step="
        f"{share * eta:.4g} and scale_step={share * gamma:.4g} (see wn.theory.norm_bracket)"
    )


def _trapped(method: Any, problem: Any, scales: Array, units: Array) -> str:
    """That starts lead into the 2-cycle of rPGD with the curvature step, and how to avoid it."""
    turn, grow = method.schedules
    step = settled_value(grow)
    small = problem.reduce().problem
    plain = undisturbed(method) and not method.momentum and small.curvatures is not None
    if not plain or not turn.per_curvature or turn.phases != (1.0,) or grow.switches:
        return ""
    lam = small.curvatures
    if not step or lam.min() < lam.max() * (1.0 - EQUAL) or not small.target.any():
        return ""
    from .theory.cycle import flips

    gamma, gstar = step * float(lam.max()), float(np.linalg.norm(small.target))
    g0 = scales[scales != 0.0]
    if gamma > 1.0 + EQUAL or not g0.size:
        return ""
    z = problem.reduce().enter(units)[:, :-1]
    cosine, parallel = z @ small.target / gstar, np.linalg.norm(z, axis=1)
    ends = flips(g0, cosine[:, None], parallel[:, None], gstar, gamma) < 0
    if not ends.any():
        return ""
    smallest = np.abs(np.broadcast_to(g0, ends.shape)[ends]).min()
    many = "this start" if ends.size == 1 else f"{int(ends.sum())} of {ends.size} starts"
    return (
        f"rPGD with the curvature step and scale_step={step:g} does not converge from {many} but "
        f"ends in its 2-cycle: freeze the first step, scale_step=two_phase(0, {step:g}, 1), or "
        f"take scale_step < {smallest / (gstar + smallest) / lam.max():.3g} (see "
        "wn.theory.two_cycle)"
    )
