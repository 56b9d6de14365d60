"""Two-phase step sizes with a guaranteed number of steps (Theorem 3.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .formula import formula
from .statement import Assumption, Statement, Value, assume


@dataclass(frozen=True)
class TwoPhase(Statement):
    """A plan of two phases for rPGD on orthogonal A (AAᵀ = I) with the direction's step η = 1/g².

    The first phase turns the direction while the scale is frozen or slow, the second lets the scale
    grow. w⊥ is the part of the direction that no row of A sees.

    Attributes
    ----------
    first, second : int
        T1 and T2, the numbers of steps of the phases.
    first_step, second_step : float
        γ, the scale's step, in each phase. In case (a) the very first step is frozen as well.
    perp : float
        ‖w⊥‖ after the first phase is at most this.
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
    """

    first: int
    second: int
    first_step: float
    second_step: float
    perp: float

    @property
    def total(self) -> int:
        """T1 + T2."""
        return self.first + self.second


def _between(g0: float, gstar: float) -> Assumption:
    """The scale both cases start from; elsewhere their formulas have no meaning."""
    if not 0 < g0 < gstar:
        raise ValueError(f"g0 must be between 0 and g* = {gstar:g}, got {g0:g}")
    return assume("0 < g0 < g*", True)


def _require(name: str, value: float, low: float, high: float) -> None:
    if not low < value <= high:
        raise ValueError(f"{name} must be greater than {low:g} and at most {high:g}, got {value:g}")


def whole(number: float) -> int:
    """Rounded up, and not below zero; an integer within rounding is itself."""
    if not number < math.inf:
        raise OverflowError  # no such number of steps: `formula` says so
    return max(0, int(np.ceil(number - 1e-12 * max(1.0, abs(number))))) if number > 0.0 else 0


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
    with δ0 = g*² − g0². After T1 + T2 steps ‖w⊥‖ ≤ ε and ‖r‖² ≤ ε g*², with w⊥ the part of the
    direction that no row of A sees and r = A g w − y.

    The paper's T2 is wrong (481 of 900 random cases fail; `two_phase_a_printed_second`); here it is
    ⌈(1/γ) log((1/√(1 − δ²) − g0/g*)/√ε)⌉, with δ the bound on ‖w⊥‖ after the first phase.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    parallel : float
        ‖Aw0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1].
    accuracy : float
        ε; greater than 0 and at most 1.
    rho : float
        ρ, the share of δ0 that the first phase leaves; between 0 and 1.
    second_step : float
        γ, the scale's step in the second phase; the theorem holds for 0 < γ ≤ ½.

    Returns
    -------
    TwoPhase
        The plan, with `.first` and `.second` steps.

    Raises
    ------
    ValueError
        If an argument is outside its range, so that the formulas have no meaning.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_a
    >>> plan = two_phase_a(gstar=3.0, g0=1.0, parallel=0.6, accuracy=0.01)
    >>> plan.first, plan.second, plan.first_step < 0.5
    (41, 4, True)
    """
    between = _between(g0, gstar)
    _require("accuracy", accuracy, 0.0, 1.0)
    _require("rho", rho, 0.0, 1.0)
    _require("second_step", second_step, 0.0, 1.0)
    if not 0 <= parallel <= 1 + 1e-12:
        raise ValueError(
            f"parallel must be between 0 and 1, as ‖Aw0‖ of a unit w0, got {parallel:g}"
        )
    perp = 0.99 * accuracy / (2.0 * gstar + accuracy)
    room = gstar**2 - g0**2
    # At least one step: it is what turns w towards w*, however small w⊥ is to begin with.
    first = max(
        1,
        whole((1.0 + gstar**2 / (rho * room)) * np.log(max(1.0 - parallel**2, 1e-300) / perp**2)),
    )
    growth = np.log((1.0 - rho) * gstar**2 / g0**2 + rho)
    slow = g0**2 * growth / (first * (gstar**2 - (g0 * parallel) ** 2))
    second = whole(
        np.log((1.0 / np.sqrt(1.0 - perp**2) - g0 / gstar) / np.sqrt(accuracy)) / second_step
    )
    conditions = (
        between,
        assume("0 < ρ < 1", 0 < rho < 1),
        assume("0 < γ ≤ ½ in the second phase", 0 < second_step <= 0.5),
    )
    return TwoPhase(
        first,
        second,
        float(min(0.5, slow)),
        second_step,
        perp,
        assumptions=conditions,
        paper="Theorem 3.2 (a)",
    )


@formula
def two_phase_a_printed_second(
    gstar: float, g0: float, accuracy: float, rho: float, second_step: float
) -> int:
    """The second phase T2 that the paper prints for Theorem 3.2 (a): too short in general.

    (1/γ) log(ρδ0/(g*²(1 − ε)√ε)), rounded up and not below 0, with δ0 = g*² − g0². `two_phase_a`
    has a T2 that is long enough.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; between 0 and 1.
    rho : float
        ρ, the share of δ0 that the first phase leaves; between 0 and 1.
    second_step : float
        γ, the scale's step in the second phase.

    Returns
    -------
    int
        T2 as printed.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_a_printed_second
    >>> two_phase_a_printed_second(3.0, 1.0, 0.01, rho=0.01, second_step=0.25)
    0
    """
    room = gstar**2 - g0**2
    return whole(
        np.log(rho * room / (gstar**2 * (1.0 - accuracy) * np.sqrt(accuracy))) / second_step
    )


@formula
def two_phase_b(gstar: float, g0: float, accuracy: float, second_step: float = 1.0) -> TwoPhase:
    """Plan the two phases of Theorem 3.2 (b) for rPGD: the scale is frozen in the first.

    For orthogonal A (AAᵀ = I) and the direction's step η = 1/g². After T1 + T2 steps ‖w⊥‖ ≤ ε, (1 −
    2ε²)g* ≤ g ≤ g*/√(1 − ε²) and ‖r‖ ≤ 2.5ε²g*, for any 0 < γ ≤ 1 (the paper asks for more, and
    promises g ≤ g*, which fails). w⊥ is the part of the direction that no row of A sees, and r = A
    g w − y.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; greater than 0. The theorem holds below ½.
    second_step : float
        γ, the scale's step in the second phase; greater than 0 and at most 1.

    Returns
    -------
    TwoPhase
        The plan, with `.first` and `.second` steps.

    Raises
    ------
    ValueError
        If an argument is outside its range, so that the formulas have no meaning.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b
    >>> plan = two_phase_b(gstar=3.0, g0=1.0, accuracy=0.01)
    >>> plan.first, plan.second
    (5, 1)
    """
    between = _between(g0, gstar)
    _require("accuracy", accuracy, 0.0, 1.0)
    _require("second_step", second_step, 0.0, 1.0)
    shrink = 1.0 - accuracy**2
    first = max(1, whole(-2.0 * np.log(accuracy) / np.log(gstar**2 / g0**2)))
    left = 1.0 - second_step + second_step * accuracy**2  # 1 − (1 − ε²)γ, without cancelling
    second = (
        whole((np.log(1.0 - shrink * g0 / gstar) - 2.0 * np.log(accuracy)) / -np.log(left))
        if left > 0
        else 1
    )
    conditions = (
        between,
        assume("0 < ε < ½", 0 < accuracy < 0.5),
        assume("0 < γ ≤ 1", 0 < second_step <= 1),
    )
    return TwoPhase(
        first, second, 0.0, second_step, accuracy, assumptions=conditions, paper="Theorem 3.2 (b)"
    )


@formula
def two_phase_b_bounds(g: float, gstar: float, accuracy: float, step: float) -> Value:
    """Bounds on the next scale in the second phase of Theorem 3.2 (b).

    (1 − γ')g + γ'g* ≤ g_{t+1} ≤ g*/√(1 − ε²) with γ' = γ(1 − ε²), where ‖w⊥‖ ≤ ε (Lemma fixg; it
    prints g_{t+1} ≤ g*, which fails).

    Parameters
    ----------
    g : float
        g_t, the scale before the step.
    gstar : float
        g*, the norm of the minimum-norm solution.
    accuracy : float
        ε, a bound on ‖w⊥‖, the norm of the part of the direction that no row of A sees; below 1.
    step : float
        γ, the scale's step; greater than 0 and at most 1.

    Returns
    -------
    Value
        `.value` has the keys "lower" and "upper", and "printed", the paper's upper bound g*.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b_bounds
    >>> two_phase_b_bounds(2.0, 3.0, 0.1, 0.5).value["lower"]
    2.495
    """
    rate = step * (1.0 - accuracy**2)
    value = {
        "lower": (1.0 - rate) * g + rate * gstar,
        "upper": gstar / np.sqrt(1.0 - accuracy**2),
        "printed": gstar,
    }
    return Value(
        value,
        assumptions=(assume("‖w⊥‖ ≤ ε and 0 < γ ≤ 1", 0 < step <= 1),),
        paper="Lemma fixg (ii)",
    )


@formula
def two_phase_a_order(gstar: float, g0: float, accuracy: float, rho: float) -> Value:
    """How the phases of Theorem 3.2 (a) grow as the accuracy ε gets smaller.

    The first phase has T1 ≤ 1 + 4·(g*²/(ρδ0))·log((2g* + ε)/(0.99 ε)) steps, with δ0 = g*² − g0²,
    so T1 = O(g*²/(ρδ0)·log(1/ε)) holds.

    The trade-off in the paper does not: with ρ ≈ ε the first phase has about 1/ε steps, but its
    admissible scale step is then so small that g stays below g* by a fixed share, `leftover` > 0
    for g0 up to about 0.6 g*: one step adds at most γ·max(g* − g0, g*/2), and γ⁽¹⁾T1 ≤ κ = g0²
    log(g*²/g0²)/δ0. So T2 grows like log(1/ε) and is not O(1).

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; between 0 and 1.
    rho : float
        ρ, the share of δ0 that the first phase leaves; between 0 and 1.

    Returns
    -------
    Value
        `.value` has the keys "first", the bound on T1, and "leftover", a lower bound of 1 − g/g*
        after the first phase.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_a_order
    >>> two_phase_a_order(3.0, 1.0, 0.01, 0.5).value["first"] // 1
    58.0
    """
    room = gstar**2 - g0**2
    first = 1.0 + 4.0 * gstar**2 / (rho * room) * np.log(
        (2.0 * gstar + accuracy) / (0.99 * accuracy)
    )
    kappa = g0**2 * np.log(gstar**2 / g0**2) / room
    leftover = 1.0 - g0 / gstar - kappa * max(1.0 - g0 / gstar, 0.5)
    return Value(
        {"first": float(first), "leftover": float(leftover)},
        assumptions=(_between(g0, gstar),),
        paper="Theorem 3.2 (a), O(·)",
    )


@formula
def two_phase_b_order(gstar: float, g0: float, accuracy: float) -> Value:
    """How the first phase of Theorem 3.2 (b) grows as the accuracy ε gets smaller.

    The first phase has T1 ≤ 1 + 4·max(1, g0²/δ0)·log(1/ε) steps, with δ0 = g*² − g0². The paper's
    O((g0²/δ0) log(1/ε)) fails for g0 ≪ g*, where T1 ≥ 1.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; between 0 and 1.

    Returns
    -------
    Value
        `.value` has the keys "first", the bound on T1, and "printed", what the paper's order would
        allow with the same constant 4.

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b_order
    >>> value = two_phase_b_order(3.0, 0.003, 0.01).value
    >>> value["first"] > 1 > value["printed"]
    True
    """
    share = g0**2 / (gstar**2 - g0**2)
    logarithm = np.log(1.0 / accuracy)
    value = {
        "first": float(1.0 + 4.0 * max(1.0, share) * logarithm),
        "printed": float(4.0 * share * logarithm),
    }
    return Value(value, assumptions=(_between(g0, gstar),), paper="Theorem 3.2 (b), O(·)")


@formula
def two_phase_b_gain(gstar: float, g0: float) -> Value:
    """How many times shorter the first phase of Theorem 3.2 (b) is than that of (a).

    This compares them with ρ → 1 in (a), for the same ‖w⊥‖ and before rounding up. The paper says
    (g*/g0)²; the exact factor is (1 + g*²/δ0)·log(g*²/g0²) with δ0 = g*² − g0², which grows only
    like a logarithm as g0 → 0.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.

    Returns
    -------
    Value
        `.value` has the keys "exact" and "printed".

    Examples
    --------
    >>> from weightnorm.theory import two_phase_b_gain
    >>> {name: round(float(v), 2) for name, v in two_phase_b_gain(3.0, 0.03).value.items()}
    {'exact': 18.42, 'printed': 10000.0}
    """
    room = gstar**2 - g0**2
    exact = (1.0 + gstar**2 / room) * np.log(gstar**2 / g0**2)
    value = {"exact": exact, "printed": (gstar / g0) ** 2}
    return Value(value, assumptions=(_between(g0, gstar),), paper="after Theorem 3.2")
