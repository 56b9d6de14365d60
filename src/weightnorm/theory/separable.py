"""Where training goes on separable classes: the direction of maximum margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from ..problems import GeneralizedLinear
from ..problems.minimum.margin import find_margin
from .statement import Statement, assume

ON_THE_MARGIN = 1e-7  # a sample nearer than this, relatively, is a support vector
EXACT = 1e-6  # a gap beyond this share of the margin leaves the support open


@dataclass(frozen=True, eq=False)
class MaxMargin(Statement):
    """The direction that separates two classes with the largest margin.

    Attributes
    ----------
    direction : (d,) array
        The unit vector v; weights t·v have zero logistic loss as t → ∞.
    margin : float
        min_i s_i a_iᵀv, the distance of the nearest sample from the boundary.
    gap : float
        How much larger the margin of any other direction can be at most: a proof of optimality, by
        a point of the convex hull of the s_i a_i.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.GeneralizedLinear([[3.0, 4.0], [-3.0, -4.0]], [1, 0], loss="logistic")
    >>> found = wn.theory.max_margin(problem)
    >>> found.direction.round(6).tolist(), round(found.margin, 6)
    ([0.6, 0.8], 5.0)
    """

    direction: Vector
    margin: float
    gap: float


def max_margin(problem: Any) -> MaxMargin:
    """The maximum-margin direction of separable classes, where WN, rPGD and gradient descent go.

    On separable classes the logistic loss has no minimum: the weights grow for ever, and their
    direction tends to the one whose margin min_i s_i a_iᵀv over unit vectors v is largest. It lies
    in the row space of A, so WN forgets its start altogether; but slowly: the direction is
    O(1/log t) away after time t, for WN and for gradient descent.

    Parameters
    ----------
    problem : GeneralizedLinear
        With the logistic loss, and labels that some direction separates.

    Returns
    -------
    MaxMargin
        The direction, its margin, and a gap that proves how near to the largest it is.

    Raises
    ------
    ValueError
        If the loss is not logistic, or the classes are not separable: then the loss has a minimum
        (see `flow_limit`), or falls for ever without going to zero.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((10, 30))
    >>> found = wn.theory.max_margin(wn.GeneralizedLinear(A, A[:, 0] > 0, loss="logistic"))
    >>> bool(found.margin > 0), bool(found.gap < 1e-6 * found.margin)
    (True, True)
    """
    validate.instance(
        "problem", problem, GeneralizedLinear, use="wn.GeneralizedLinear(A, y, loss='logistic')"
    )
    signs = getattr(problem.loss, "signs", None)
    if signs is None:
        raise ValueError(f"problem must have the logistic loss, got {type(problem.loss).__name__}")
    found = problem.minimum()
    if found.status != "separable":
        raise ValueError(f"the classes are not separable by a direction: {found.message}")
    matrix = problem.reduce().problem.matrix
    start = problem.factorisation.coordinates(np.asarray(found.direction))
    margin = find_margin(matrix, signs, start, with_intercept=False)
    return MaxMargin(
        direction=problem.factorisation.lift(margin.direction),
        margin=margin.margin,
        gap=margin.gap,
        paper="beyond the paper",
    )


@dataclass(frozen=True, eq=False)
class MarginOffset(Statement):
    """How the direction of WN approaches the maximum-margin direction on separable classes.

    Attributes
    ----------
    offset : (d,) array
        ρ, the limit of g·(w/‖w‖ − v), v the maximum-margin direction: so w/‖w‖ is about v + ρ/g.
    direction : (d,) array
        v.
    margin : float
        The largest margin.
    support : (k,) array of int
        The samples on the margin.
    dual : (k,) array
        Their weights α in v = Σ α_i s_i a_i.
    others : float
        Δ, by how much the next sample is further away than those: the part of w/‖w‖ off the
        support vectors' span dies like e^{−gΔ}. Infinite if all samples are support vectors.
    loss_constant : float
        The limit of (loss × time × c), 1/margin².
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.GeneralizedLinear([[2.0, 0.0], [0.0, 1.0]], [1, 1], loss="logistic")
    >>> found = wn.theory.max_margin_offset(problem)
    >>> found.direction.round(4).tolist(), found.offset.round(4).tolist()
    ([0.4472, 0.8944], [0.5545, -0.2773])
    """

    offset: Vector
    direction: Vector
    margin: float
    support: Any
    dual: Vector
    others: float
    loss_constant: float


def max_margin_offset(problem: Any) -> MarginOffset:
    """The second term of the direction on separable classes: w/‖w‖ = v + ρ/g + …

    On separable classes WN goes to infinity along the maximum-margin direction v, and g(w/‖w‖ − v)
    tends to ρ: the vector in the span of the support vectors s_i a_i, orthogonal to v, with
    ρ·s_i a_i = −log α_i + const. Gradient descent has the same ρ plus a vector that depends on its
    start: both are O(1/log t) away, so WN removes the start and not the order. The part of WN's
    direction off the row space dies like exp(−log²t/(2c·margin²)). These are asymptotics, not
    proved with rates: at g = 60/margin the distance of g(w/‖w‖ − v) from ρ was a few percent of ‖ρ‖
    for half of the random problems measured, 28 % for one in ten and 123 % at worst, and it halves
    as g doubles.

    Parameters
    ----------
    problem : GeneralizedLinear
        With the logistic loss, and labels that some direction separates.

    Returns
    -------
    MarginOffset
        With `.offset`, `.direction`, `.margin`, `.support` and `.others`. `.applies` needs
        independent support vectors with positive weights.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> A = np.random.default_rng(0).standard_normal((6, 10))
    >>> found = wn.theory.max_margin_offset(wn.GeneralizedLinear(A, A[:, 0] > 0, loss="logistic"))
    >>> bool(abs(found.offset @ found.direction) < 1e-9), found.applies
    (True, True)
    """
    found = max_margin(problem)
    rows = problem.loss.signs[:, None] * problem.reduce().problem.matrix
    unit = problem.factorisation.coordinates(found.direction)
    margins = rows @ unit
    support = np.flatnonzero(margins <= found.margin * (1.0 + ON_THE_MARGIN))
    chosen = rows[support]
    gram = chosen @ chosen.T
    independent = np.linalg.matrix_rank(chosen) == support.size
    dual = np.linalg.lstsq(chosen.T, unit, rcond=None)[0]
    positive = bool((dual > ON_THE_MARGIN * dual.max(initial=0.0)).all())
    offset = np.full(problem.shape[1], np.nan)
    if independent and positive:
        logs = np.log(dual)
        wanted = float(dual @ logs) / float(dual.sum()) - logs
        offset = problem.factorisation.lift(chosen.T @ np.linalg.solve(gram, wanted))
    rest = np.delete(margins, support)
    return MarginOffset(
        offset=offset,
        direction=found.direction,
        margin=found.margin,
        support=support,
        dual=dual,
        others=float(rest.min() - found.margin) if rest.size else np.inf,
        loss_constant=found.margin**-2,
        assumptions=(
            assume("the support vectors are independent", independent),
            assume("every support vector has a positive weight", positive),
            assume("the direction is exact", found.gap <= EXACT * found.margin),
        ),
        paper="beyond the paper",
    )
