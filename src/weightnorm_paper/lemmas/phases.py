"""The bounds of the two phases, and what the paper prints for them (Theorem 3.2; E.1 and E.7)."""

from __future__ import annotations

from weightnorm.theory.formula import formula, log, root
from weightnorm.theory.statement import Value, assume
from weightnorm.theory.step_sizes import room


@formula
def two_phase_a_printed_second(
    gstar: float, g0: float, accuracy: float, rho: float, second_step: float
) -> float:
    """The second phase T2 that the paper prints for Theorem 3.2 (a): too short in general.

    (1/γ) log(ρδ0/(g*²(1 − ε)√ε)) with δ0 = g*² − g0², before rounding; it may be negative. Its
    proof takes g² = g*² − ρδ0 after the first phase, where only ≤ is known. `two_phase_a` has a T2
    that is long enough.

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
    float
        T2 as printed, not rounded.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_a_printed_second
    >>> round(two_phase_a_printed_second(1.0, 0.5, 1e-4, rho=0.1, second_step=0.25), 2)
    8.06
    """
    share = rho * room(gstar, g0)
    return log(share / ((1.0 - accuracy) * root(accuracy))) / second_step


@formula
def two_phase_b_bounds(g: float, gstar: float, accuracy: float, step: float) -> Value:
    """Bounds on the next scale in the second phase of Theorem 3.2 (b).

    (1 − γ')g + γ'g* ≤ g_{t+1} ≤ g* with γ' = γ(1 − ε²), where ‖w⊥‖ ≤ ε and g ≤ g* (Lemma E.8): for
    the first ⌊T2⌋ steps of the phase. Beyond them g_{t+1} ≤ g*/√(1 − ε²).

    Parameters
    ----------
    g : float
        g_t, the scale before the step; at most g*.
    gstar : float
        g*, the norm of the minimum-norm solution.
    accuracy : float
        ε, a bound on ‖w⊥‖, the norm of the part of the direction that no row of A sees; below 1.
    step : float
        γ, the scale's step; greater than 0 and at most 1.

    Returns
    -------
    Value
        `.value` has the keys "lower"; "upper", which holds for the first ⌊T2⌋ steps; and "later",
        the upper bound of every step.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_b_bounds
    >>> two_phase_b_bounds(2.0, 3.0, 0.1, 0.5).value["lower"]
    2.495
    """
    rate = step * (1.0 - accuracy**2)
    value = {
        "lower": (1.0 - rate) * g + rate * gstar,
        "upper": gstar,
        "later": gstar / root(1.0 - accuracy**2),
    }
    conditions = (assume("0 < γ ≤ 1", 0 < step <= 1), assume("0 < g ≤ g*", 0 < g <= gstar))
    return Value(value, assumptions=conditions, paper="Lemma E.8")


@formula
def two_phase_b_final(gstar: float, accuracy: float) -> Value:
    """What Theorem 3.2 (b) reaches: how well the direction agrees, and how small the loss is.

    ⟨w_T, w*⟩ ≥ √(1 − ε²) and ½‖r_T‖² ≤ ½(1 − (1 − 2ε²)√(1 − ε²))²g*² ≤ 3.2ε⁴g*², since r = g* − gp
    with g ≥ (1 − 2ε²)g* and p ≥ √(1 − ε²). Theorem E.7 promises 1 − ε and 3εg*², which is true and
    loose.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    accuracy : float
        ε; between 0 and ½.

    Returns
    -------
    Value
        `.value` has the keys "cosine" and "loss", the bounds on ⟨w_T, w*⟩ and ½‖r_T‖², and
        "printed_cosine" and "printed_loss", the paper's.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import two_phase_b_final
    >>> value = two_phase_b_final(1.0, 0.1).value
    >>> round(value["cosine"], 6), round(value["loss"], 6), value["printed_loss"]
    (0.994987, 0.00031, 0.30000000000000004)
    """
    cosine = root(1.0 - accuracy**2)
    value = {
        "cosine": cosine,
        "loss": 0.5 * (gstar * (1.0 - (1.0 - 2.0 * accuracy**2) * cosine)) ** 2,
        "printed_cosine": 1.0 - accuracy,
        "printed_loss": 3.0 * accuracy * gstar**2,
    }
    return Value(value, assumptions=(assume("0 < ε < ½", 0 < accuracy < 0.5),), paper="Theorem E.7")
