"""How rPGD leaves its start on orthogonal A with η = 1/g² (Lemma E.6, eq. 37)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm.theory.cycle import turned
from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Value, assume, part_of_unit


@formula
def perp_bound(scales: Any, parallels: Any, gstar: float) -> Value:
    """A bound on ‖w⊥‖² after t steps of rPGD, from the scales on the way; orthogonal A, η = 1/g².

    ‖w_t⊥‖² ≤ exp(−Σ_{i<t} h_i/(g*² + h_i))·‖w_0⊥‖² with h_i = g*² − ‖A g_i w_i‖², while |g_i| ≤ g*
    (Lemma E.6). w⊥ is the part of the direction that no row of A sees. The paper prints ‖w⊥‖ for
    ‖w⊥‖² = 1 − ‖Aw‖², and sums over i = 1 … t, which is valid after a frozen first step.

    Parameters
    ----------
    scales : (t,) array
        g_0, …, g_{t−1}, the scales before each step.
    parallels : (t,) array
        ‖Aw_0‖, …, ‖Aw_{t−1}‖, the norms of the directions' parts in the row space of A.
    gstar : float
        g*, the norm of the minimum-norm solution.

    Returns
    -------
    Value
        `.value` is the bound on ‖w_t⊥‖², a number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import perp_bound
    >>> round(perp_bound([1.0, 1.0], [0.5, 0.9], gstar=3.0).value, 4)
    0.2845
    """
    g = validate.array("scales", scales, ndim=1)
    p = validate.vector("parallels", parallels, g.size)
    h = gstar**2 - (g * p) ** 2
    bound = float(np.exp(-np.sum(h / (gstar**2 + h))) * (1.0 - p[0] ** 2))
    return Value(
        bound,
        assumptions=(assume("|g_i| ≤ g*", (np.abs(g) <= gstar).all()),),
        paper="Lemma E.6 (exact form)",
    )


@formula
def perp_contraction(perp: float, g: float, gstar: float) -> Value:
    """The square of ‖w⊥‖ after one step of rPGD, exactly and bounded; orthogonal A, η = 1/g².

    ‖w⊥_{t+1}‖² = ‖w⊥‖²/(‖w⊥‖² + g*²/g²) ≤ (g²/g*²)‖w⊥‖² (eq. 37). w⊥ is the part of the unit
    direction that no row of A sees.

    Parameters
    ----------
    perp : float
        ‖w⊥‖ before the step; in [0, 1].
    g : float
        The scale; not zero.
    gstar : float
        g*, the norm of the minimum-norm solution; not zero.

    Returns
    -------
    Value
        `.value` has the keys "exact", ‖w⊥_{t+1}‖², and "bound", the right-hand side.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import perp_contraction
    >>> round(perp_contraction(1.0, 1.0, 3.0).value["exact"], 12)
    0.1
    """
    value = {"exact": perp**2 / (perp**2 + (gstar / g) ** 2), "bound": (g / gstar) ** 2 * perp**2}
    return Value(value, assumptions=(part_of_unit("‖w⊥‖", perp),), paper="eq. (37)")


@formula
def norm_after_first_step(g0: float, parallel: float, gstar: float) -> Value:
    """The norm ‖Aw_1‖ after the first step of rPGD, positive: a spurious rest point is left.

    ‖Aw_1‖ = g*/√(g*² + g0²(1 − ‖Aw_0‖²)) > 0 for orthogonal A (AAᵀ = I), η = 1/g0² and g0 ≠ 0
    (after Theorem 3.2): one step leaves the set S = {g = 0, yᵀAw = 0} of rest points that are no
    solutions, and its basin. That is not yet a guarantee of convergence: see `two_cycle`.

    Parameters
    ----------
    g0 : float
        Scale of the start; not zero.
    parallel : float
        ‖Aw_0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1].
    gstar : float
        g*, the norm of the minimum-norm solution; greater than 0.

    Returns
    -------
    Value
        `.value` is ‖Aw_1‖, a number.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import norm_after_first_step
    >>> round(norm_after_first_step(1.0, 0.0, 3.0).value, 6)
    0.948683
    """
    return Value(
        float(turned(g0, parallel, gstar)),
        assumptions=(
            assume("g0 ≠ 0", g0 != 0),
            assume("y ≠ 0", gstar > 0),
            part_of_unit("‖Aw0‖", parallel),
        ),
        paper="after Theorem 3.2",
    )
