"""What the theory knows before a run: steps that can settle nowhere, starts that lead into a cycle.

It compares a few numbers first, and `expected_warning` keeps the answer with the problem; so a run
that can converge pays next to nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._support.momentum import stable_below
from .._support.numeric import Array
from ..methods import RPGD, Method, WeightNorm
from ..methods.steps import settled_ratio
from ..problems.require import has_minimum

Say = Callable[[Array, Array], str]
CLEARLY = 0.97  # of the steps, at most, must be stable for it to be said that they are not
FELT = 50.0  # g0²/c, from which on rounding off the row space may be felt at the end
EQUAL = 1e-12  # eigenvalues of AAᵀ this close, relatively, are equal
EXPECTED: WeakKeyDictionary[Any, dict[Any, Say | None]] = WeakKeyDictionary()


def warn_before(method: Method, problem: Any, scale: Array, units: Array, meant: bool) -> None:
    """Warn of a run whose end rounding decides, and of one that is meant to converge and cannot;
    the answer of a method is kept with the problem.
    """
    ratio = rounding_felt(method, problem, scale)
    if ratio is not None:
        warn_of({method.name: rounding_decides(problem, ratio, scale, units)}, 4)
    if not meant or type(method) is not RPGD or not problem.is_least_squares:
        return
    known = EXPECTED.get(problem, {})
    say = known[method] if method in known else expected_warning(method, problem)
    if say is not None:
        warn_of({method.name: say(scale, units)}, 4)


def rounding_felt(method: Method, problem: Any, scales: Array) -> float | None:
    """c of a method whose training may make what rounding leaves off the row space large; None of
    any other, and wherever no start is as far out.

    It multiplies w⊥ by e^{(g0² − g²)/2c}.
    """
    if type(method) not in (RPGD, WeightNorm) or not problem.has_row_space:
        return None
    ratio = settled_ratio(method)
    if ratio is None:
        return None
    largest = float(np.abs(scales).max(initial=0.0))
    with np.errstate(over="ignore", divide="ignore"):
        return ratio if largest * np.divide(largest, ratio) > FELT else None


def expected_warning(method: Any, problem: Any) -> Say | None:
    """What there is to say of runs of a method: a function of the scales (k,) and unit directions
    (n, d) of their starts, which gives "" or a sentence; None if there is nothing, whatever the
    start.

    The problem is one that runs reduce, so that this needs no factorisation of its own.
    """
    if type(method) is not RPGD or not problem.is_least_squares:
        return None
    known = EXPECTED.setdefault(problem, {})
    if method not in known:
        nowhere = _settles_nowhere(method, problem)
        known[method] = (lambda scales, units: nowhere) if nowhere else _cycle(method, problem)
    return known[method]


def rounding_decides(problem: Any, ratio: float, scales: Array, units: Array) -> str:
    """That starts in the row space may leave it by rounding alone; "" where they do not."""
    from ..problems.coordinates.reduction import NEGLIGIBLE
    from ..theory.limits import ROUNDING_DECIDES, SIGN_BY_ROUNDING, VAGUE, sign_by_rounding
    from ..theory.scalar_limits import limit_perp
    from ..theory.setup import set_up_convex

    gstar = _solution_norm(problem)
    full = problem.shape[1] == problem.factorisation.singular_values.size
    if full or not (ratio > 0.0 and gstar > 0.0):
        return ""
    inside = units[problem.reduce().enter(units)[:, -1] <= NEGLIGIBLE]
    if not len(inside):
        return ""
    kept = float(limit_perp(np.abs(scales).max(), gstar, NEGLIGIBLE, ratio))
    if kept > VAGUE * np.hypot(gstar, kept):
        return ROUNDING_DECIDES.format(kept)
    farthest = {float(scales.min()), float(scales.max())}
    starts = (set_up_convex(problem, g, unit) for g in farthest for unit in inside)
    return SIGN_BY_ROUNDING if any(sign_by_rounding(start, ratio) for start in starts) else ""


def _solution_norm(problem: Any) -> float:
    """‖x*‖; NaN where a loss has no unique minimum."""
    if not has_minimum(problem):
        return float(np.linalg.norm(problem.target))
    try:
        found = problem.minimum()
    except ValueError:  # a loss that is not convex
        return np.nan
    return float(np.linalg.norm(found.weights)) if found.status == "attained" else np.nan


def warn_of(texts: Mapping[str, str], stack: int) -> None:
    """Warn once of what there is to say of methods, by name; nothing where all is well.

    Parameters
    ----------
    texts : mapping of name -> str
    stack : int
        How many calls up the warning is shown.
    """
    found = [f"{name}: {text}" if len(texts) > 1 else text for name, text in texts.items() if text]
    if found:
        warnings.warn("; ".join(found), RuntimeWarning, stacklevel=stack + 1)


def undisturbed(method: Any) -> bool:
    """Whether a method makes the steps that the theory of stability is about: whole batches
    without noise, decay or clipping; momentum is part of it.
    """
    return not method.decays and method.clip is None and method.sampling is None


def _settles_nowhere(method: Any, problem: Any) -> str:
    """That the norm bracket is empty, with the largest steps whose bracket is not."""
    eta, gamma = (schedule.settled_value for schedule in method.schedules)
    if any(schedule.switches for schedule in method.schedules):  # it may converge before the switch
        return ""
    small = problem.reduce().problem
    if eta is None or gamma is None or not undisturbed(method) or small.curvatures is None:
        return ""
    beta, ahead = method.momentum, method.nesterov
    top = stable_below(beta, ahead)
    # K ⪯ max(η‖x*‖², γ)·AAᵀ at the minimum-norm solution: it is stable there, and all is well
    largest = float(small.curvature)
    if max(eta * float(small.target @ small.target), gamma) * largest < top:
        return ""
    return _explained(problem, eta, gamma, beta, ahead, top)


def _explained(problem: Any, eta: float, gamma: float, beta: float, ahead: bool, top: float) -> str:
    from ..theory.bracket import norm_bracket, stable_share

    try:
        if norm_bracket(problem, eta, gamma, beta, ahead) is not None:
            return ""
    except ValueError:  # y = 0: x* has no direction, and there is nothing to predict
        return ""
    share = stable_share(problem, eta, gamma, top)
    if share > CLEARLY:  # the residual grows so slowly that it may pass the tolerance first
        return ""
    return (
        f"rPGD with direction_step={eta:g} and scale_step={gamma:g} cannot converge: no solution "
        "is stable at these steps, though a run may pass the tolerance on its way; with their "
        f"ratio the largest that work are direction_step={share * eta:.4g} and "
        f"scale_step={share * gamma:.4g} (see wn.theory.norm_bracket)"
    )


def _cycle(method: Any, problem: Any) -> Say | None:
    """What to say of starts that lead into the 2-cycle of rPGD with the curvature step."""
    turn, grow = method.schedules
    step, small = grow.settled_value, problem.reduce().problem
    plain = undisturbed(method) and not method.momentum and not turn.share
    if not plain or not turn.per_curvature or turn.phases != (1.0,) or grow.switches:
        return None
    lam = small.curvatures
    if not step or lam.min() < lam.max() * (1.0 - EQUAL) or not small.target.any():
        return None
    gamma, gstar = step * float(lam.max()), float(np.linalg.norm(small.target))
    if gamma > 1.0 + EQUAL:
        return None

    def say(scales: Array, units: Array) -> str:
        from ..theory.cycle import flips

        g0 = scales[scales != 0.0]
        z = problem.reduce().enter(units)[:, :-1]
        cosine, parallel = z @ small.target / gstar, np.linalg.norm(z, axis=1)
        ends = flips(g0, cosine[:, None], parallel[:, None], gstar, gamma) < 0
        if not ends.any():
            return ""
        smallest = float(np.abs(np.broadcast_to(g0, ends.shape)[ends]).min())
        many = "this start" if ends.size == 1 else f"{int(ends.sum())} of {ends.size} starts"
        return (
            f"rPGD with the curvature step and scale_step={step:g} does not converge from {many} "
            "but ends in its 2-cycle: freeze the first step, "
            f"scale_step=two_phase(0, {step:g}, 1), or take scale_step < "
            f"{smallest / (gstar + smallest) / lam.max():.3g} (see wn.theory.two_cycle)"
        )

    return say
