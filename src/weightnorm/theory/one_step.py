"""The drift of the flow's invariant in one step of WN and rPGD."""

from __future__ import annotations

from typing import Any

from .._support import validate
from .formula import formula


@formula
def invariant_drift(method: str, g: Any, s: Any, across: Any, ratio: float) -> Any:
    """The change of the WN flow's invariant in one step of rPGD or weight normalization, over η².

    I = log(‖w⊥‖/‖w‖) + g²/2c is constant along the flow; a finite step changes it by a term of
    second order in η. Over η² that is ½[(c + g²)s² − g²‖PAᵀr‖²] for rPGD and
    ½[(c − g²)s² − g²‖PAᵀr‖²] for weight normalization with N = ‖w‖² = 1, where ŵ = w/‖w‖,
    s = ⟨ŵ, Aᵀr⟩ and P = I − ŵŵᵀ. For weight normalization with N ≠ 1 a term ηgs(1/N − 1) of first
    order in η comes on top (`finite_step_limit` has it). This goes beyond the paper.

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
