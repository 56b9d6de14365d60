"""Steps on orthogonal A with η = 1/g², exactly: identities, recursions and bounds (section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Value, assume


@formula
def step_identities(g: float, g_next: float, parallel: float, y: Any) -> Value:
    """Five exact numbers after one step of rPGD, for orthogonal A and η = 1/g².

    Lemma E.2, for AAᵀ = I, the direction's step η = 1/g² and any g ≠ 0. v_t = w_t − η g_t Aᵀr_t
    is the direction before it is normalised to w_{t+1} = v_t/‖v_t‖, with r_t = A g_t w_t − y. The
    minimum-norm solution has the norm g* = ‖y‖.

    Parameters
    ----------
    g : float
        g_t, the scale before the step; not zero.
    g_next : float
        g_{t+1}, the scale after the step.
    parallel : float
        ‖Aw_t‖, the norm of the part of the unit direction in the row space of A; in [0, 1].
    y : (m,) array
        The targets, not all zero.

    Returns
    -------
    Value
        `.value` has the keys "v_norm", ‖v_t‖; "Aw", the (m,) array Aw_{t+1}; "parallel",
        ‖Aw_{t+1}‖; "perp_square", 1 − ‖Aw_{t+1}‖²; and "gap", g_{t+1}² − ‖A g_{t+1} w_{t+1}‖².

    Examples
    --------
    >>> from weightnorm_paper.lemmas import step_identities
    >>> round(step_identities(1.0, 1.0, 0.0, [3.0]).value["v_norm"], 4)  # √(1 + 9)
    3.1623
    """
    y = validate.array("y", y, ndim=1)
    gstar = float(np.linalg.norm(y))
    square = g * g + gstar**2 - (g * parallel) ** 2  # g²‖v‖²
    v_norm = float(np.sqrt(square) / abs(g))
    next_parallel = float(gstar / np.sqrt(square))
    value = {
        "v_norm": v_norm,
        "Aw": y / (g * v_norm),
        "parallel": next_parallel,
        "perp_square": (1.0 - parallel**2) / v_norm**2,
        "gap": (g_next * next_parallel) ** 2 / gstar**2 * (g * g - (g * parallel) ** 2),
    }
    return Value(value, paper="Lemma E.2")


@formula
def scale_step(g: float, v_norm: float, residual: float, step: float) -> Value:
    """The scale after one step of rPGD, exactly and bounded, for orthogonal A and η = 1/g².

    g_{t+1} = g + (γg/2)(‖v‖² − 1) − (γ/2g)‖r‖², so for g > 0 it is at most its first two terms
    (Lemma E.3); for g < 0 the bound is from below.

    Parameters
    ----------
    g : float
        g_t, the scale before the step; not zero.
    v_norm : float
        ‖v‖, the norm of the direction after its step and before it is normalised.
    residual : float
        ‖r‖ = ‖A g w − y‖ before the step.
    step : float
        γ, the scale's step.

    Returns
    -------
    Value
        `.value` has the keys "exact", g_{t+1}, and "bound", the first two terms.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import scale_step
    >>> value = scale_step(1.0, 2.0, 1.0, 0.1).value
    >>> round(value["exact"], 12), round(value["bound"], 12)
    (1.1, 1.15)
    """
    bound = g + 0.5 * step * g * (v_norm**2 - 1.0)
    value = {"exact": bound - 0.5 * step / g * residual**2, "bound": bound}
    return Value(
        value,
        assumptions=(assume("g > 0 (for g < 0 the bound is from below)", g > 0),),
        paper="Lemma E.3",
    )


@formula
def scale_gap(a: float, b: float, g: float, step: float) -> Value:
    """How far the scale stays below g_t‖v_t‖ after a step of rPGD; orthogonal A, η = 1/g².

    b − g_{t+1} = (1 − γ)(a − g) − (a − b)(1 − γ(a + b)/(g + a)), with a = g_{t−1}‖v_{t−1}‖,
    b = g_t‖v_t‖ and g = g_t; v_t is the direction after its step and before it is normalised. So
    γ ≤ ½ contracts the gap by (1 − γ), and γ ≤ 1 keeps g_{t+1} ≤ g_t‖v_t‖. The paper's identity
    (Lemma E.3) has (γ/g)(a/(g + a))(a + b) in the last factor, and fails.

    Parameters
    ----------
    a : float
        g_{t−1}‖v_{t−1}‖.
    b : float
        g_t‖v_t‖.
    g : float
        g_t, the scale before the step.
    step : float
        γ, the scale's step; at most 1.

    Returns
    -------
    Value
        `.value` has the keys "exact", b − g_{t+1}, and "printed", the paper's number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import scale_gap
    >>> round(scale_gap(3.0, 2.9, 2.0, 0.1).value["exact"], 6)
    0.8118
    """
    value = {
        "exact": (1 - step) * (a - g) - (a - b) * (1 - step * (a + b) / (g + a)),
        "printed": (1 - step) * (a - g) - (a - b) * (1 - step / g * a / (g + a) * (a + b)),
    }
    return Value(
        value, assumptions=(assume("γ ≤ 1", step <= 1),), paper="Lemma E.3, identity (exact form)"
    )


@formula
def scale_increases(g: float, a: float, step: float) -> Value:
    """Whether a step of rPGD increases the scale, for orthogonal A and η = 1/g².

    g_{t+1} > g_t for t ≥ 1, γ > 0 and g_t < a = g_{t−1}‖v_{t−1}‖, with v the direction after its
    step and before it is normalised (Lemma E.4): g_{t+1} − g_t = γ(a − g_t)‖Aw_t‖².
    `scale_keeps_increasing` says from which starts that goes on for ever.

    Parameters
    ----------
    g : float
        g_t, the scale before the step.
    a : float
        g_{t−1}‖v_{t−1}‖, from the step before.
    step : float
        γ, the scale's step.

    Returns
    -------
    Value
        `.value` is True or False.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import scale_increases
    >>> scale_increases(1.0, 1.5, 0.1).value, scale_increases(5.0, 4.0, 0.1).value
    (True, False)
    """
    conditions = (assume("γ > 0", step > 0), assume("g_t < g_{t−1}‖v_{t−1}‖", g < a))
    return Value(step > 0 and g < a, assumptions=conditions, paper="Lemma E.4")


@formula
def scale_keeps_increasing(
    g0: float, parallel: float, gstar: float, step: float, first_step: float = 0.0
) -> Value:
    """Whether the scale of rPGD increases at every step from a start; orthogonal A, η = 1/g².

    With a frozen first step it does for g0 > 0, g0‖Aw0‖ < g* and 0 < γ < 1: then g stays under
    g_{t−1}‖v_{t−1}‖ for ever, and each step adds γ(g_{t−1}‖v_{t−1}‖ − g)‖Aw‖². After Theorem 3.2
    the paper says "for any g0 > 0"; its theorems assume g0 < g* and the frozen first step.

    Parameters
    ----------
    g0 : float
        Scale of the start; greater than 0.
    parallel : float
        ‖Aw0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1].
    gstar : float
        g*, the norm of the minimum-norm solution.
    step : float
        γ, the scale's step from the second step on.
    first_step : float
        The scale's step in the very first step; 0 freezes it.

    Returns
    -------
    Value
        `.value` is g_2 − g_0 after two steps, the first increase; `.applies` says whether it
        increases for ever.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import scale_keeps_increasing
    >>> scale_keeps_increasing(0.5, 0.6, 1.0, 0.1).applies
    True
    >>> too_far = scale_keeps_increasing(5.0, 1.0, 1.0, 0.1)  # g falls from 5 to 4.6
    >>> round(too_far.value, 12), too_far.failing
    (-0.4, ('g0‖Aw0‖ < g*',))
    """
    a = float(np.sqrt(g0 * g0 + gstar**2 - (g0 * parallel) ** 2))  # g0‖v0‖
    value = step * (a - g0) * (gstar / a) ** 2
    conditions = (
        assume("g0 > 0", g0 > 0),
        assume("g0‖Aw0‖ < g*", g0 * parallel < gstar),
        assume("0 < γ < 1", 0 < step < 1),
        assume("the first step is frozen", first_step == 0),
    )
    return Value(value, assumptions=conditions, paper="after Theorem 3.2, citing Lemma E.4")


@formula
def scale_norm_recursion(a: float, g: float, parallel: float) -> Value:
    """The next g_t²‖v_t‖² of rPGD from the one before, for orthogonal A and η = 1/g².

    g_t²‖v_t‖² = a² + (g_t² − a²)(1 − ‖Aw_t‖²) with a = g_{t−1}‖v_{t−1}‖; v is the direction after
    its step and before it is normalised. Lemma E.5 prints (1 − ‖Aw_t‖)² for the last factor.

    Parameters
    ----------
    a : float
        g_{t−1}‖v_{t−1}‖, from the step before.
    g : float
        g_t, the scale.
    parallel : float
        ‖Aw_t‖, the norm of the part of the unit direction in the row space of A; in [0, 1].

    Returns
    -------
    Value
        `.value` has the keys "exact", g_t²‖v_t‖², and "printed", the paper's number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import scale_norm_recursion
    >>> scale_norm_recursion(2.0, 1.0, 0.5).value["exact"]
    1.75
    """
    value = {
        "exact": a * a + (g * g - a * a) * (1.0 - parallel**2),
        "printed": a * a + (g * g - a * a) * (1.0 - parallel) ** 2,
    }
    return Value(value, paper="Lemma E.5 (misprint in the last factor)")


@formula
def loss_gap(g_next: float, g: float, v_norm: float, next_parallel: float) -> Value:
    """The squared residual after one step of rPGD, for orthogonal A and η = 1/g².

    ‖r_{t+1}‖² = (g_{t+1} − g_t‖v_t‖)²·‖Aw_{t+1}‖², with r = A g w − y and v the direction after its
    step and before it is normalised. The proof of Theorem E.1 prints "=" without the last factor,
    where "≤" is all it uses.

    Parameters
    ----------
    g_next : float
        g_{t+1}, the scale after the step.
    g : float
        g_t, the scale before the step.
    v_norm : float
        ‖v_t‖.
    next_parallel : float
        ‖Aw_{t+1}‖, the norm of the part of the next unit direction in the row space of A.

    Returns
    -------
    Value
        `.value` has the keys "exact", ‖r_{t+1}‖², and "printed", the paper's number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import loss_gap
    >>> loss_gap(1.0, 1.0, 2.0, 0.5).value
    {'exact': 0.25, 'printed': 1.0}
    """
    printed = (g_next - g * v_norm) ** 2
    return Value(
        {"exact": printed * next_parallel**2, "printed": printed}, paper="proof of Theorem E.1"
    )


@formula
def orthogonal_gstar(y: Any) -> Value:
    """The norm g* of the minimum-norm solution for orthogonal A (AAᵀ = I): it is ‖y‖.

    Parameters
    ----------
    y : (m,) array
        The targets.

    Returns
    -------
    Value
        `.value` is g*, a number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import orthogonal_gstar
    >>> orthogonal_gstar([3.0, 4.0]).value
    5.0
    """
    y = validate.array("y", y, ndim=1)
    return Value(float(np.linalg.norm(y)), paper="section 2, after Theorem 2.6")
