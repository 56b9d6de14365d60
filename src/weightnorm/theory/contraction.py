"""How fast rPGD forgets w⊥ on orthogonal A with η = 1/g² (Lemma E.6, eq. 37), exactly."""

from __future__ import annotations

import math

from .._support import validate
from .formula import formula, log, log1p, whole
from .statement import Value, assume, part_of_unit

LARGE = 1e8  # beyond, 1 + x is x to rounding


def _turn(g: float, gstar: float) -> tuple[float, float]:
    """κ − 1 and log κ for κ = g*²/g²: by how much a step at the fixed scale g turns w in."""
    excess = (gstar - abs(g)) / abs(g) * ((gstar + abs(g)) / abs(g))
    near = -0.5 < excess < LARGE  # else κ itself says more than κ − 1
    return excess, log1p(excess) if near else 2.0 * (log(gstar) - log(abs(g)))


@formula
def perp_after(perp: float, g: float, gstar: float, steps: int) -> Value:
    """The norm ‖w⊥‖ after t steps of rPGD at a fixed scale, exactly; orthogonal A, η = 1/g².

    ‖w_t⊥‖⁻² = κᵗ/‖w_0⊥‖² + (κᵗ − 1)/(κ − 1) with κ = g*²/g². So w⊥ is forgotten like κ^{−t/2} for
    |g| < g*, like 1/√t for |g| = g*, and tends to √(1 − κ) beyond.

    Parameters
    ----------
    perp : float
        ‖w_0⊥‖, the norm of the part of the unit start direction that no row of A sees; in [0, 1].
    g : float
        The scale, which stays as it is; not zero.
    gstar : float
        g*, the norm of the minimum-norm solution; greater than 0.
    steps : int
        t, the number of steps; not negative.

    Returns
    -------
    Value
        `.value` is ‖w_t⊥‖, a number.

    Examples
    --------
    >>> from weightnorm.theory import perp_after
    >>> round(perp_after(1.0, 1.0, 3.0, steps=1).value, 6), perp_after(1.0, 1.0, 1.0, 3).value
    (0.316228, 0.5)
    """
    count = validate.integer("steps", steps)
    given = (part_of_unit("‖w⊥‖", perp), assume("y ≠ 0", gstar > 0))
    excess, rate = _turn(g, gstar)
    if perp == 0.0:
        return Value(0.0, assumptions=given, paper="eq. (37), iterated")
    if rate > 0:  # everything over κᵗ, which may overflow; its root, since squares underflow first
        shrink = -math.expm1(-rate * count) / excess
        after = math.exp(-0.5 * rate * count) * perp / math.sqrt(1.0 + shrink * perp**2)
    else:
        grown = math.expm1(rate * count) / excess if excess != 0.0 else float(count)
        after = perp / math.hypot(math.exp(0.5 * rate * count), math.sqrt(grown) * perp)
    return Value(after, assumptions=given, paper="eq. (37), iterated")


@formula
def steps_to_perp(perp: float, g: float, gstar: float, accuracy: float) -> Value:
    """The exact number of rPGD steps at a fixed scale until ‖w⊥‖ ≤ ε; orthogonal A, η = 1/g².

    `perp_after`, solved for t and rounded up: the smallest t with
    κᵗ ≥ (1/ε² + 1/(κ − 1))/(1/q0² + 1/(κ − 1)), κ = g*²/g². The T1 of Theorem 3.2 are upper bounds
    of it.

    Parameters
    ----------
    perp : float
        q0 = ‖w_0⊥‖, the norm of the part of the unit start direction that no row of A sees; in
        [0, 1].
    g : float
        The scale, which stays as it is; not zero.
    gstar : float
        g*, the norm of the minimum-norm solution; greater than 0.
    accuracy : float
        ε, the ‖w⊥‖ to reach; greater than 0.

    Returns
    -------
    Value
        `.value` is the number of steps, infinite where ‖w⊥‖ never falls so far.

    Examples
    --------
    >>> from weightnorm.theory import steps_to_perp
    >>> steps_to_perp(perp=0.8, g=0.999, gstar=1.0, accuracy=0.01).value
    1521
    """
    excess, rate = _turn(g, gstar)
    if perp <= accuracy:
        count: float = 0
    elif excess == 0.0:
        count = whole(1.0 / accuracy**2 - 1.0 / perp**2)
    else:
        base, ratio = 1.0 + perp**2 / excess, perp / accuracy
        if ratio > LARGE and rate > 0:  # its square may overflow
            count = whole((2.0 * (log(perp) - log(accuracy)) - log(base)) / rate)
        else:
            growth = (ratio - 1.0) * (ratio + 1.0) / base if base != 0.0 else -math.inf
            reached = growth > -1.0 and growth / rate > 0  # |g| > g*: only down to √(1 − κ)
            count = whole(log1p(growth) / rate) if reached else math.inf
    return Value(
        count,
        assumptions=(
            part_of_unit("‖w⊥‖", perp),
            assume("‖w⊥‖ falls to ε", count < math.inf),
            assume("ε > 0", accuracy > 0),
        ),
        paper="eq. (37), iterated",
    )
