"""One step of each method in closed form (Section 2; Appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm._support.numeric import Vector
from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Value, unit_norm


def _parts(g: float, unit: Vector, pull: Vector) -> tuple[float, float, float]:
    """s = ⟨ŵ, Aᵀr⟩, ‖Aᵀr‖² and ‖P Aᵀr‖²."""
    s = float(unit @ pull)
    across = pull - s * unit
    return s, float(pull @ pull), float(across @ across)


@formula
def wn_step(g: float, w: Any, pull: Any, step: float) -> Value:
    """What one step of weight normalization does to ‖w‖² and to w⊥, exactly.

    With N = ‖w‖², ŵ = w/‖w‖, s = ⟨ŵ, Aᵀr⟩ and P = I − ŵŵᵀ: N' = N + η²g²‖PAᵀr‖²/N and
    w⊥' = w⊥·(1 + ηgs/N). w⊥ is the part of the direction that no row of A sees, and r = A g ŵ − y.
    This goes beyond the paper.

    Parameters
    ----------
    g : float
        The scale before the step.
    w : (d,) array
        The direction before the step, not normalised; nonzero.
    pull : (d,) array
        Aᵀr, the gradient of the loss by the weights.
    step : float
        η, the direction's step.

    Returns
    -------
    Value
        `.value` has the keys "square", N', and "perp_factor", the factor of w⊥.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import wn_step
    >>> wn_step(1.0, [1.0, 0.0], [0.0, 1.0], 0.5).value["square"]
    1.25
    """
    w = validate.array("w", w, ndim=1)
    pull = validate.vector("pull", pull, w.size)
    square = float(w @ w)
    s, _, across = _parts(g, w / np.sqrt(square), pull)
    value = {
        "square": square + (step * g) ** 2 * across / square,
        "perp_factor": 1.0 + step * g * s / square,
    }
    return Value(value, paper="beyond the paper")


@formula
def rpgd_step(g: float, w: Any, pull: Any, step: float) -> Value:
    """What one step of rPGD does to w⊥, the part of the direction that no row of A sees, exactly.

    With s = ⟨w, Aᵀr⟩ and v = w − ηgAᵀr, the direction before it is normalised:
    ‖v‖² = 1 − 2ηgs + η²g²‖Aᵀr‖² and w⊥' = w⊥/‖v‖, which grows exactly when ‖v‖ < 1, that is
    2s > ηg‖Aᵀr‖² for g > 0. This goes beyond the paper.

    Parameters
    ----------
    g : float
        The scale before the step.
    w : (d,) array
        The direction before the step, of norm 1.
    pull : (d,) array
        Aᵀr with r = A g w − y, the gradient of the loss by the weights.
    step : float
        η, the direction's step.

    Returns
    -------
    Value
        `.value` has the keys "v_norm", ‖v‖; "perp_factor", the factor 1/‖v‖ of w⊥; and
        "perp_grows", whether it is above 1.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import rpgd_step
    >>> rpgd_step(1.0, [1.0, 0.0], [0.5, 0.0], 1.0).value
    {'v_norm': 0.5, 'perp_factor': 2.0, 'perp_grows': True}
    """
    w = validate.array("w", w, ndim=1)
    pull = validate.vector("pull", pull, w.size)
    s, whole, _ = _parts(g, w, pull)
    v_norm = float(np.sqrt(1.0 - 2.0 * step * g * s + (step * g) ** 2 * whole))
    value = {
        "v_norm": v_norm,
        "perp_factor": 1.0 / v_norm,
        "perp_grows": 2.0 * g * s > step * g * g * whole,
    }
    return Value(value, assumptions=(unit_norm(w),), paper="beyond the paper")
