"""One step of WN and rPGD on any A, exactly, and the drift of the flow's invariant in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .._support.validate import Vector
from .formula import formula
from .statement import Value, unit_norm


def _parts(g: float, unit: Vector, pull: Vector) -> tuple[float, float, float]:
    """s = ⟨ŵ, Aᵀr⟩, ‖Aᵀr‖² and ‖P Aᵀr‖²."""
    s = float(unit @ pull)
    across = pull - s * unit
    return s, float(pull @ pull), float(across @ across)


@formula
def wn_step(g: float, w: Any, pull: Any, step: float) -> Value:
    """What one step of weight normalization does to ‖w‖² and to w⊥, exactly.

    With N = ‖w‖², ŵ = w/‖w‖, s = ⟨ŵ, Aᵀr⟩ and P = I − ŵŵᵀ: N' = N + η²g²‖PAᵀr‖²/N and w⊥' = w⊥·(1 +
    ηgs/N). w⊥ is the part of the direction that no row of A sees, and r = A g ŵ − y. This goes
    beyond the paper.

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
    >>> from weightnorm.theory import wn_step
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

    With s = ⟨w, Aᵀr⟩ and v = w − ηgAᵀr, the direction before it is normalised: ‖v‖² = 1 − 2ηgs +
    η²g²‖Aᵀr‖² and w⊥' = w⊥/‖v‖, which grows exactly when ‖v‖ < 1, that is 2s > ηg‖Aᵀr‖² for g > 0.
    This goes beyond the paper.

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
    >>> from weightnorm.theory import rpgd_step
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


@formula
def invariant_drift(method: str, g: Any, s: Any, across: Any, ratio: float) -> Any:
    """The change of the WN flow's invariant in one step of rPGD or weight normalization, over η².

    I = log(‖w⊥‖/‖w‖) + g²/2c is constant along the flow; a finite step changes it by a term of
    second order in η. Over η² that is ½[(c + g²)s² − g²‖PAᵀr‖²] for rPGD and ½[(c − g²)s² −
    g²‖PAᵀr‖²] for weight normalization with N = ‖w‖² = 1, where ŵ = w/‖w‖, s = ⟨ŵ, Aᵀr⟩ and P = I −
    ŵŵᵀ. For weight normalization with N ≠ 1 a term ηgs(1/N − 1) of first order in η comes on top
    (`finite_step_limit` has it). This goes beyond the paper.

    Parameters
    ----------
    method : {"rpgd", "wn"}
        Which method makes the step.
    g : float or array
        The scale before the step.
    s : float or array
        ⟨ŵ, Aᵀr⟩, the gradient of the loss by the scale.
    across : float or array
        ‖PAᵀr‖², the squared norm of the part of Aᵀr orthogonal to w. g, s and across broadcast.
    ratio : float
        c, the scale's step over the direction's.

    Returns
    -------
    float or array
        The change of I in one step, divided by η².

    Examples
    --------
    >>> from weightnorm.theory import invariant_drift
    >>> float(invariant_drift("rpgd", g=1.0, s=1.0, across=0.0, ratio=1.0))
    1.0
    """
    sign = 1.0 if validate.choice("method", method, ("rpgd", "wn")) == "rpgd" else -1.0
    g, s, across = validate.broadcast(g=g, s=s, across=across)
    return 0.5 * ((ratio + sign * g * g) * s * s - g * g * across)
