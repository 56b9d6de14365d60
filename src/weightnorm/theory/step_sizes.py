"""Two-phase step sizes with a guaranteed number of steps (Theorem 3.2; E.1 and E.7)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .contraction import steps_to_perp
from .formula import formula, log, log1p, root, whole
from .statement import Assumption, Statement, all_hold, assume

AT_MOST_ONE = 1 + 1e-12  # the norm of a part of a unit vector, to rounding


@dataclass(frozen=True)
class TwoPhase(Statement):
    """A plan of two phases for rPGD on orthogonal A (AAᵀ = I) with the direction's step η = 1/g².

    The first phase turns the direction while the scale is frozen or slow, the second lets the scale
    grow. w⊥ is the part of the direction that no row of A sees. Where an assumption does not hold
    (`.applies` is False) nothing is promised: the numbers of steps are 0 and the rest is NaN.

    Attributes
    ----------
    first, second : int
        T1 and T2, the numbers of steps of the phases.
    first_step, second_step : float
        γ, the scale's step, in each phase. In case (a) the very first step is frozen as well.
    perp : float
        ‖w⊥‖ after the first phase is at most this.
    needed : int
        The exact number of steps that bring ‖w⊥‖ down to `perp` with the scale frozen at g0
        (`steps_to_perp`); T1 is an upper bound of it in case (b).
    total : int
        T1 + T2.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b
    >>> plan = two_phase_b(gstar=3.0, g0=1.0, accuracy=0.01)
    >>> plan.first_step, plan.second_step, plan.total
    (0.0, 1.0, 6)
    >>> two_phase_b(gstar=3.0, g0=4.0, accuracy=0.01).failing
    ('0 < g0 < g*',)
    """

    first: int
    second: int
    first_step: float
    second_step: float
    perp: float
    needed: int

    @property
    def total(self) -> int:
        """T1 + T2."""
        return self.first + self.second


def room(gstar: float, g0: float) -> float:
    """δ0/g*² = 1 − g0²/g*²: the share of g*² by which the scale may still grow."""
    return (1.0 - g0 / gstar) * (1.0 + g0 / gstar)


def _nothing(conditions: tuple[Assumption, ...], paper: str) -> TwoPhase:
    """What is returned where nothing can be promised."""
    nan = math.nan
    return TwoPhase(0, 0, nan, nan, nan, 0, assumptions=conditions, paper=paper)


@formula
def two_phase_a(
    gstar: float,
    g0: float,
    parallel: float,
    accuracy: float,
    rho: float = 0.5,
    second_step: float = 0.5,
) -> TwoPhase:
    """Plan the two phases of Theorem 3.2 (a) for rPGD: the scale moves slowly in the first.

    For orthogonal A (AAᵀ = I) and the direction's step η = 1/g². In the first phase g² ≤ g*² − ρδ0
    with δ0 = g*² − g0², and it ends with ‖w⊥‖ ≤ δ = ε. After T1 + T2 steps ‖w⊥‖ ≤ ε and
    ‖r‖² ≤ ε g*², with w⊥ the part of the direction that no row of A sees and r = A g w − y.

    T1 = ⌈(1 + g*²/ρδ0)·log(‖w0⊥‖²/δ²)⌉, at least 1, with the very first step frozen, and
    γ⁽¹⁾ = min(½, g0² log((1 − ρ)g*²/g0² + ρ)/(T1(g*² − g0²‖Aw0‖²))).
    T2 = ⌈(1/γ) log((1/√(1 − δ²) − g0/g*)/√ε)⌉. The theorem leaves δ < ε/(2g* + ε) free, which
    exceeds ε for a small g*, and its T2 is too short in general.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    parallel : float
        ‖Aw0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1].
    accuracy : float
        ε; between 0 and 1.
    rho : float
        ρ, the share of δ0 that the first phase leaves; between 0 and 1.
    second_step : float
        γ, the scale's step in the second phase; greater than 0 and at most ½.

    Returns
    -------
    TwoPhase
        The plan, with `.first` and `.second` steps; `.failing` names an argument out of range.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_a
    >>> plan = two_phase_a(gstar=3.0, g0=1.0, parallel=0.6, accuracy=0.01)
    >>> plan.first, plan.second, plan.first_step < 0.5
    (29, 4, True)
    """
    conditions = (
        assume("0 < g0 < g*", 0 < g0 < gstar),
        assume("0 ≤ ‖Aw0‖ ≤ 1", 0 <= parallel <= AT_MOST_ONE),
        assume("0 < ε < 1", 0 < accuracy < 1),
        assume("0 < ρ < 1", 0 < rho < 1),
        assume("0 < γ ≤ ½ in the second phase", 0 < second_step <= 0.5),
    )
    if not all_hold(conditions):
        return _nothing(conditions, "Theorem 3.2 (a)")
    parallel = min(parallel, 1.0)
    outside = (1.0 - parallel) * (1.0 + parallel)  # ‖w0⊥‖²
    share = rho * room(gstar, g0)  # ρδ0/g*²
    # At least one step: it is what turns w towards w*, however small w⊥ is to begin with.
    turns = log(outside) - 2.0 * log(accuracy)
    first = max(1, whole((1.0 + 1.0 / share) * turns))
    growth = log1p((1.0 - rho) * (gstar - g0) / g0 * (gstar + g0) / g0)
    unseen = (gstar / g0 - parallel) * (gstar / g0 + parallel)  # g*²/g0² − ‖Aw0‖²
    slow = growth / (first * unseen)
    # 1/√(1 − ε²) − g0/g* without cancelling where both are near 1
    behind = accuracy**2 / (root(1.0 - accuracy**2) * (1.0 + root(1.0 - accuracy**2)))
    behind += (gstar - g0) / gstar
    second = whole((log(behind) - 0.5 * log(accuracy)) / second_step)
    return TwoPhase(
        first,
        second,
        min(0.5, slow),
        second_step,
        accuracy,
        steps_to_perp(root(outside), g0, gstar, accuracy).value,
        assumptions=conditions,
        paper="Theorem 3.2 (a)",
    )


@formula
def two_phase_b(
    gstar: float, g0: float, accuracy: float, second_step: float = 1.0, parallel: float = 0.0
) -> TwoPhase:
    """Plan the two phases of Theorem 3.2 (b) for rPGD: the scale is frozen in the first.

    For orthogonal A (AAᵀ = I) and the direction's step η = 1/g². T1 = ⌈log(1/ε²)/log(g*²/g0²)⌉ and
    T2 = ⌈log((1 − (1 − ε²)g0/g*)/ε²)/log(1/(1 − γ'))⌉ with γ' = (1 − ε²)γ. After T1 + T2 steps
    ‖w⊥‖ ≤ ε, (1 − 2ε²)g* ≤ g ≤ g*/√(1 − ε²) and ‖r‖ ≤ 2.5ε²g*, for any 0 < γ ≤ 1. With T2 rounded
    down and γ ≤ 4/9 it is g ≤ g*, as Theorem E.7 has it (the main text asks for γ < ¼). w⊥ is the
    part of the direction that no row of A sees, and r = A g w − y.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; between 0 and ½.
    second_step : float
        γ, the scale's step in the second phase; greater than 0 and at most 1.
    parallel : float
        ‖Aw0‖ of the unit start direction, in [0, 1]: only `.needed` depends on it, and 0 is the
        worst case.

    Returns
    -------
    TwoPhase
        The plan, with `.first` and `.second` steps; `.failing` names an argument out of range.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b
    >>> plan = two_phase_b(gstar=3.0, g0=1.0, accuracy=0.01)
    >>> plan.first, plan.second, plan.needed
    (5, 1, 5)
    """
    conditions = (
        assume("0 < g0 < g*", 0 < g0 < gstar),
        assume("0 < ε < ½", 0 < accuracy < 0.5),
        assume("0 < γ ≤ 1", 0 < second_step <= 1),
        assume("0 ≤ ‖Aw0‖ ≤ 1", 0 <= parallel <= AT_MOST_ONE),
    )
    if not all_hold(conditions):
        return _nothing(conditions, "Theorem 3.2 (b)")
    log_ratio = log1p((gstar - g0) / g0)  # log(g*/g0)
    first = whole(-log(accuracy) / log_ratio)
    left = 1.0 - second_step + second_step * accuracy**2  # 1 − (1 − ε²)γ, without cancelling
    behind = log((gstar - g0) / gstar + accuracy**2 * g0 / gstar)
    second = whole((behind - 2.0 * log(accuracy)) / -log(left))
    parallel = min(parallel, 1.0)
    outside = root((1.0 - parallel) * (1.0 + parallel))
    return TwoPhase(
        first,
        second,
        0.0,
        second_step,
        accuracy,
        steps_to_perp(outside, g0, gstar, accuracy).value,
        assumptions=conditions,
        paper="Theorem 3.2 (b)",
    )
