"""How the phases of Theorem 3.2 grow with the accuracy, and what its trade-offs are."""

from __future__ import annotations

import math

from weightnorm.theory.formula import formula, log, log1p
from weightnorm.theory.statement import Assumption, Value, all_hold, assume
from weightnorm.theory.step_sizes import room


def _ranges(gstar: float, g0: float, accuracy: float, rho: float) -> tuple[Assumption, ...]:
    return (
        assume("0 < g0 < g*", 0 < g0 < gstar),
        assume("0 < ε < 1", 0 < accuracy < 1),
        assume("0 < ρ < 1", 0 < rho < 1),
    )


@formula
def two_phase_a_order(
    gstar: float, g0: float, accuracy: float, rho: float, second_step: float = 0.5
) -> Value:
    """How the phases of Theorem 3.2 (a) grow as the accuracy ε gets smaller.

    Before rounding up, T1 ≤ 4·(g*²/(ρδ0))·log(1/ε) for all parameters, with δ0 = g*² − g0²: the
    paper's order. T2 ≤ (1/γ)·(½log(1/ε) + log(1/√(1 − ε²))) and is of the order (1/γ)·log(1/ε) as
    ε → 0 with the rest fixed, which is how the paper reads its O(·); its
    T2 = O((1/γ) log((ρδ0/g*²)²/ε)) is negative for ρδ0 < √ε·g*².

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
    Value
        `.value` has the keys "first" and "second", the bounds on T1 and T2 before rounding up, and
        "printed_second", the paper's order of T2.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_a_order
    >>> value = two_phase_a_order(3.0, 1.0, 0.01, 0.5).value
    >>> round(value["first"], 2), round(value["second"], 2)
    (41.45, 4.61)
    """
    conditions = (*_ranges(gstar, g0, accuracy, rho), assume("γ > 0", second_step > 0))
    if not all_hold(conditions):
        nan = math.nan
        value = {"first": nan, "second": nan, "printed_second": nan}
        return Value(value, assumptions=conditions, paper="Theorem 3.2 (a), O(·)")
    share, logarithm = rho * room(gstar, g0), -log(accuracy)
    value = {
        "first": 4.0 / share * logarithm,
        "second": (0.5 * logarithm - 0.5 * log1p(-(accuracy**2))) / second_step,
        "printed_second": (2.0 * log(share) + logarithm) / second_step,
    }
    return Value(value, assumptions=conditions, paper="Theorem 3.2 (a), O(·)")


@formula
def two_phase_a_step_order(
    gstar: float, g0: float, parallel: float, accuracy: float, rho: float
) -> Value:
    """How small the scale's step γ⁽¹⁾ of the first phase of Theorem 3.2 (a) has to be.

    Before T1 is rounded,

        γ⁽¹⁾ = ρδ0·g0²·log((1 − ρ)(g*/g0)² + ρ)/((g*² + ρδ0)(g*² − g0²‖Aw0‖²)·log(‖w0⊥‖²/ε²))

    with δ0 = g*² − g0². The paper's order (ρ/log(1/ε))(g0/g*)²·log((1 − ρ)g*/g0 + ρ) is right in ε;
    it lacks the square in the logarithm and the factor δ0/(g*² − g0²‖Aw0‖²).

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    parallel : float
        ‖Aw0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1).
    accuracy : float
        ε; between 0 and ‖w0⊥‖.
    rho : float
        ρ, the share of δ0 that the first phase leaves; between 0 and 1.

    Returns
    -------
    Value
        `.value` has the keys "exact" and "printed".

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_a_step_order
    >>> value = two_phase_a_step_order(3.0, 1.0, 0.6, 0.01, 0.5).value
    >>> {name: round(number, 4) for name, number in value.items()}
    {'exact': 0.0065, 'printed': 0.0084}
    """
    outside = (1.0 - parallel) * (1.0 + parallel)
    conditions = (*_ranges(gstar, g0, accuracy, rho), assume("ε < ‖w0⊥‖", accuracy**2 < outside))
    if not all_hold(conditions):
        value = {"exact": math.nan, "printed": math.nan}
        return Value(value, assumptions=conditions, paper="Theorem 3.2 (a), O(·)")
    share, ratio = rho * room(gstar, g0), gstar / g0
    growth = log1p((1.0 - rho) * (ratio - 1.0) * (ratio + 1.0))
    turns = log(outside) - 2.0 * log(accuracy)
    value = {
        "exact": growth / ((1.0 + 1.0 / share) * turns * (ratio - parallel) * (ratio + parallel)),
        "printed": rho / -log(accuracy) / ratio**2 * log((1.0 - rho) * ratio + rho),
    }
    return Value(value, assumptions=conditions, paper="Theorem 3.2 (a), O(·)")


@formula
def rho_tradeoff(
    gstar: float, g0: float, accuracy: float, rho: float, second_step: float = 0.25
) -> Value:
    """What a small ρ does to the second phase of Theorem 3.2 (a): less than the paper says.

    With the prescribed γ⁽¹⁾ the first phase moves the scale by at most κ·max(g* − g0, g*/2),
    κ = g0² log((1 − ρ)g*²/g0² + ρ)/δ0, however small ρ is. So a share `leftover` of g* is left, and
    the second phase needs at least log(leftover/(√(ε/(1 − ε²)) + ε²/2))/log(1/(1 − γ)) steps: it
    grows like log(1/ε), also for ρ ≈ ε, where the paper has T2 = O(1). That would be true with a
    γ⁽¹⁾ tuned to end at g² = g*² − ρδ0.

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
        γ, the scale's step in the second phase; below 1.

    Returns
    -------
    Value
        `.value` has the keys "leftover", a lower bound of 1 − g/g* after the first phase, and
        "second", a lower bound of the number of steps that the second phase needs; 0 where none is
        known.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import rho_tradeoff
    >>> [round(rho_tradeoff(1.0, 0.5, e, rho=e).value["second"], 2) for e in (1e-2, 1e-4, 1e-6)]
    [3.45, 11.44, 19.45]
    """
    conditions = (*_ranges(gstar, g0, accuracy, rho), assume("0 < γ < 1", 0 < second_step < 1))
    if not all_hold(conditions):
        value = {"leftover": math.nan, "second": math.nan}
        return Value(value, assumptions=conditions, paper="after Theorem 3.2")
    ratio = gstar / g0
    excess = (ratio - 1.0) * (ratio + 1.0)  # δ0/g0²
    moved = log1p((1.0 - rho) * excess) / excess * max(1.0 - 1.0 / ratio, 0.5)
    leftover = max(0.0, 1.0 - 1.0 / ratio - moved)
    goal = math.sqrt(accuracy / (1.0 - accuracy**2)) + 0.5 * accuracy**2
    steps = log(leftover / goal) / -log1p(-second_step) if leftover > goal else 0.0
    value = {"leftover": leftover, "second": steps}
    return Value(value, assumptions=conditions, paper="after Theorem 3.2")


@formula
def two_phase_b_order(gstar: float, g0: float, accuracy: float) -> Value:
    """How the first phase of Theorem 3.2 (b) grows as the accuracy ε gets smaller.

    Before rounding up, T1 ≤ (2/log 2)·max(1, g0²/δ0)·log(1/ε), with δ0 = g*² − g0². The paper's
    O((g0²/δ0) log(1/ε)) is that for g0² > g*²/2, which it assumes on the way.

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
        `.value` has the keys "first", the bound on T1 before rounding up, and "printed", the
        paper's order (g0²/δ0)·log(1/ε).

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_b_order
    >>> value = two_phase_b_order(1.0, 0.01, 0.01).value
    >>> round(value["first"], 2), round(value["printed"], 6)
    (13.29, 0.000461)
    """
    conditions = (assume("0 < g0 < g*", 0 < g0 < gstar), assume("0 < ε < 1", 0 < accuracy < 1))
    if not all_hold(conditions):
        value = {"first": math.nan, "printed": math.nan}
        return Value(value, assumptions=conditions, paper="Theorem 3.2 (b), O(·)")
    share = (g0 / gstar) ** 2 / room(gstar, g0)
    logarithm = -log(accuracy)
    value = {"first": 2.0 / log(2.0) * max(1.0, share) * logarithm, "printed": share * logarithm}
    return Value(value, assumptions=conditions, paper="Theorem 3.2 (b), O(·)")


@formula
def two_phase_b_second_order(gstar: float, g0: float, accuracy: float, second_step: float) -> Value:
    """How the second phase of Theorem 3.2 (b) grows as the accuracy ε gets smaller.

    Before rounding up, T2 ≤ log(1 + (1 − ε²)(1 − g0/g*)/ε²)/(γ(1 − ε²)), attained as γ → 0, and so
    T2 ≤ (4/3γ)·log(1 + δ0/(ε²g*²)) for ε ≤ ½, with δ0 = g*² − g0². The paper's order
    (1/γ)·log(√(δ0/g*²)/ε) is that for δ0 ≥ 2ε²g*²; for a smaller δ0 it may be negative.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.
    accuracy : float
        ε; between 0 and ½.
    second_step : float
        γ, the scale's step in the second phase.

    Returns
    -------
    Value
        `.value` has the keys "second", the bound on T2 before rounding up, and "printed", the
        paper's order.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_b_second_order
    >>> value = two_phase_b_second_order(1.0, 0.997, 0.1, 0.2).value
    >>> {name: round(number, 2) for name, number in value.items()}
    {'second': 1.31, 'printed': -1.28}
    """
    conditions = (
        assume("0 < g0 < g*", 0 < g0 < gstar),
        assume("0 < ε < ½", 0 < accuracy < 0.5),
        assume("0 < γ ≤ 1", 0 < second_step <= 1),
    )
    if not all_hold(conditions):
        value = {"second": math.nan, "printed": math.nan}
        return Value(value, assumptions=conditions, paper="Theorem 3.2 (b), O(·)")
    kept = 1.0 - accuracy**2
    value = {
        "second": log1p(kept * (1.0 - g0 / gstar) / accuracy**2) / (second_step * kept),
        "printed": (0.5 * log(room(gstar, g0)) - log(accuracy)) / second_step,
    }
    return Value(value, assumptions=conditions, paper="Theorem 3.2 (b), O(·)")


@formula
def two_phase_b_gain(gstar: float, g0: float) -> Value:
    """How many times shorter the first phase of Theorem 3.2 (b) is than that of (a), for ρ → 1.

    Between the explicit T1, for the same ‖w⊥‖ and before rounding up, the factor is
    (1 + g*²/δ0)·log(g*²/g0²) with δ0 = g*² − g0². The paper's (g*/g0)² is the ratio of its two
    orders; that of (b) is valid for g0² > g*²/2, where the ratio is under 2.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    g0 : float
        Scale of the start; between 0 and g*.

    Returns
    -------
    Value
        `.value` has the keys "exact", between the explicit T1, and "printed", between the orders.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_b_gain
    >>> {name: round(float(v), 2) for name, v in two_phase_b_gain(3.0, 2.4).value.items()}
    {'exact': 1.69, 'printed': 1.56}
    """
    ratio = gstar / g0
    exact = (1.0 + 1.0 / room(gstar, g0)) * 2.0 * log(ratio)
    conditions = (
        assume("0 < g0 < g*", 0 < g0 < gstar),
        assume("g0² > g*²/2, where the order of (b) is valid", 2.0 * g0**2 > gstar**2),
    )
    return Value(
        {"exact": exact, "printed": ratio**2}, assumptions=conditions, paper="after Theorem 3.2"
    )
