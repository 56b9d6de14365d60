"""Where training goes on separable classes: the direction of maximum margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _validate
from .._validate import Vector
from ..problems import GeneralizedLinear
from ..problems.margin import find_margin
from .statement import Statement


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
    _validate.instance(
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
