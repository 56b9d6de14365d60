"""WN and rPGD as gradient descent with a penalty λ_t‖x‖² that changes every step (Appendix A)."""

from __future__ import annotations

import numpy as np

from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Value, assume


@formula
def adaptive_lambda_rpgd(g: float, g_next: float, v_norm: float, step: float) -> Value:
    """The penalty that makes one step of rPGD a step of gradient descent with an L2 penalty.

    A step of rPGD from x = g w to x' = g' w' is x' = x − η_x (Aᵀr + 2λ_t x), a step on the loss
    plus λ_t‖x‖², with η_x = η g g'/‖v‖ and λ_t = (g‖v‖ − g')/(2η g² g'). Here v = w − η g Aᵀr is
    the direction before it is normalised and r = A x − y. The paper's λ_t (Appendix A) is twice
    that: right for the penalty ½λ_t‖x‖².

    Parameters
    ----------
    g : float
        The scale before the step; not zero.
    g_next : float
        g', the scale after the step; not zero.
    v_norm : float
        ‖v‖, the norm of the direction after its step and before it is normalised.
    step : float
        η, the direction's step; greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "penalty", λ_t; "step", η_x; and "printed", the paper's λ_t.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import adaptive_lambda_rpgd
    >>> adaptive_lambda_rpgd(1.0, 1.0, 2.0, 0.5).value
    {'penalty': 1.0, 'step': 0.25, 'printed': 2.0}
    """
    printed = (g * v_norm - g_next) / (step * g * g * g_next)
    value = {"penalty": printed / 2.0, "step": step * g * g_next / v_norm, "printed": printed}
    return Value(value, assumptions=(assume("η > 0", step > 0),), paper="Appendix A, rPGD")


@formula
def adaptive_lambda_wn(
    g: float, g_next: float, norm: float, norm_next: float, along: float, step: float
) -> Value:
    """The penalty that makes one step of weight normalization gradient descent with an L2 penalty.

    A step from x = g w/‖w‖ to x' is x' = x − η_x (Aᵀr + 2λ_t x), a step on the loss plus λ_t‖x‖²,
    with η_x = η g' g/(‖w'‖‖w‖), r = A x − y and

        λ_t = (‖w'‖‖w‖/(2η g' g))·(1 − g'‖w‖/(g‖w'‖) − η (g'/‖w'‖) ⟨w, Aᵀr⟩/‖w‖²).

    The paper's prefactor (Appendix A) lacks 1/η, and is for the penalty ½λ_t‖x‖².

    Parameters
    ----------
    g : float
        The scale before the step; not zero.
    g_next : float
        g', the scale after the step; not zero.
    norm : float
        ‖w‖, the norm of the direction before the step.
    norm_next : float
        ‖w'‖, the norm of the direction after the step.
    along : float
        ⟨w, Aᵀr⟩ before the step, with w not normalised.
    step : float
        η, the direction's step; greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "penalty", λ_t; "step", η_x; and "printed", the paper's λ_t.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import adaptive_lambda_wn
    >>> adaptive_lambda_wn(1.0, 1.0, 1.0, 1.0, 0.0, 0.5).value["penalty"]
    0.0
    """
    bracket = 1.0 - g_next * norm / (g * norm_next) - step * g_next / norm_next * along / norm**2
    printed = norm_next * norm / (g_next * g) * bracket
    value = {
        "penalty": printed / (2.0 * step),
        "step": step * g_next * g / (norm_next * norm),
        "printed": printed,
    }
    return Value(value, assumptions=(assume("η > 0", step > 0),), paper="Appendix A, WN")


@formula
def adaptive_lambda_sign(g: float, parallel: float, gstar: float) -> Value:
    """How far the scale may move while rPGD's penalty λ_t stays positive, for orthogonal A.

    For AAᵀ = I and the direction's step η = 1/g², λ_t of `adaptive_lambda_rpgd` is positive exactly
    when g' < g‖v‖, and g²‖v‖² = g² + g*² − ‖A g w‖². So a small enough scale step makes λ_t > 0
    exactly when ‖A g w‖ < g*, for g > 0 (Appendix A, last paragraph; Section 3 has g < g*). The
    value is (‖v‖ − 1)·g; near the solution it is 0, and so is λ_t.

    Parameters
    ----------
    g : float
        The scale before the step; greater than 0.
    parallel : float
        ‖Aw‖, the norm of the part of the unit direction w in the row space of A; in [0, 1].
    gstar : float
        g*, the norm of the minimum-norm solution; it is ‖y‖ for orthogonal A.

    Returns
    -------
    Value
        `.value` is the largest increase g' − g that keeps λ_t > 0, a number; `.applies` says
        whether there is one.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import adaptive_lambda_sign
    >>> adaptive_lambda_sign(1.0, 0.5, 3.0).applies, adaptive_lambda_sign(4.0, 1.0, 3.0).applies
    (True, False)
    """
    v_norm = float(np.sqrt(g * g + gstar**2 - (g * parallel) ** 2) / g)
    conditions = (assume("g > 0", g > 0), assume("‖A g w‖ < g*", g * parallel < gstar))
    return Value((v_norm - 1.0) * g, assumptions=conditions, paper="Appendix A, last paragraph")
