"""WN and rPGD as gradient descent with a penalty λ_t‖x‖² that changes every step (Appendix A)."""

from __future__ import annotations

import numpy as np

from .formula import formula
from .statement import Value, assume


@formula
def adaptive_lambda_rpgd(g: float, g_next: float, v_norm: float, step: float) -> Value:
    """λ_t = (g‖v‖ − g')/(2ηg²g'), with x' = x − η_x (Aᵀr + 2λ_t x) and η_x = ηgg'/‖v‖ (the paper
    lacks the 2).

    >>> from weightnorm.theory import adaptive_lambda_rpgd
    >>> adaptive_lambda_rpgd(1.0, 1.0, 2.0, 0.5).value
    {'penalty': 1.0, 'step': 0.25, 'printed': 2.0}
    """
    printed = (g * v_norm - g_next) / (step * g * g * g_next)
    value = {"penalty": printed / 2.0, "step": step * g * g_next / v_norm, "printed": printed}
    return Value(
        value,
        assumptions=(assume("g' ≠ 0 and η > 0", g_next != 0 and step > 0),),
        paper="Appendix A, rPGD",
    )


@formula
def adaptive_lambda_wn(
    g: float, g_next: float, norm: float, norm_next: float, along: float, step: float
) -> Value:
    """WN's: (‖w'‖‖w‖/(2ηg'g))·(1 − g'‖w‖/(g‖w'‖) − η(g'/‖w'‖)⟨w, Aᵀr⟩/‖w‖²); the paper's prefactor
    lacks 2η.

    `along` is ⟨w, Aᵀr⟩, with w not normalised.

    >>> from weightnorm.theory import adaptive_lambda_wn
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
    return Value(
        value,
        assumptions=(assume("g ≠ 0, g' ≠ 0 and η > 0", g * g_next != 0 and step > 0),),
        paper="Appendix A, WN",
    )


@formula
def adaptive_lambda_sign(g: float, parallel: float, gstar: float) -> Value:
    """Orthogonal A, rPGD, η = 1/g²: whether a small enough scale step makes λ_t > 0 — iff ‖A g w‖ <
    g*, for g > 0.

    λ_t > 0 iff g' < g‖v‖, and g²‖v‖² = g² + g*² − ‖A g w‖². The paper asks for a small scale step
    only. The value is the largest |g' − g| that keeps the sign, (‖v‖ − 1)·g; near the solution it
    is 0, and so is λ_t.

    >>> from weightnorm.theory import adaptive_lambda_sign
    >>> adaptive_lambda_sign(1.0, 0.5, 3.0).applies, adaptive_lambda_sign(4.0, 1.0, 3.0).applies
    (True, False)
    """
    v_norm = float(np.sqrt(g * g + gstar**2 - (g * parallel) ** 2) / abs(g))
    conditions = (assume("g > 0", g > 0), assume("‖A g w‖ < g*", abs(g) * parallel < gstar))
    return Value((v_norm - 1.0) * g, assumptions=conditions, paper="Appendix A, last paragraph")
