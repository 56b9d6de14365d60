"""The maximum margin between two classes, with a gap that proves how near it is.

min ‖v‖ over s_i (a_iᵀ v + b) ≥ 1 is a least distance problem, which Lawson and Hanson solve by
nonnegative least squares: its solution u ≥ 0 weights the samples, and the nearest points of the two
convex hulls are their averages with these weights. The margin of the direction v found is a lower
bound; half the distance of any two points of the hulls is an upper one; the gap is between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Matrix, Vector

# The weight of the equation Σ s_i u_i = 0, which an intercept adds: at least, and relative to the
# largest entry of the others.
HEAVY, HEAVIER = 1e4, 10.0
FIRST = 2  # samples to begin with, per coordinate: those nearest to the boundary
MAX_ROUNDS = 60
ENOUGH = 1e-9  # a gap this small, relatively, is rounding
MANY, CLOSE = 200, 1e-3  # with more coordinates than MANY this gap is enough: each round is costly


@dataclass(frozen=True, eq=False)
class Margin:
    """A separating direction.

    Attributes
    ----------
    direction : vector
        Unit length, in the coordinates of the matrix.
    intercept : float
        b for this direction; 0 without one.
    margin : float
        min_i s_i (a_iᵀ direction + intercept).
    gap : float
        How much larger the margin of another direction may be, at most.
    """

    direction: Vector
    intercept: float
    margin: float
    gap: float


def find_margin(matrix: Any, signs: Vector, start: Vector, with_intercept: bool) -> Margin:
    """The maximum-margin direction of separable samples.

    Parameters
    ----------
    matrix : (m, r) array, or `Centred`
        One row per sample; only those near the boundary are ever dense.
    signs : (m,) array
        The labels −1 and 1; both, if there is an intercept.
    start : (r,) array
        A direction that separates them: a certificate, and the first guess.
    with_intercept : bool
        Whether the boundary may be off the origin, at no price.

    Returns
    -------
    Margin
        The best direction found, with its gap.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.minimum.margin import find_margin
    >>> A, signs = np.array([[3.0, 4.0], [-3.0, -4.0]]), np.array([1.0, -1.0])
    >>> found = find_margin(A, signs, np.array([1.0, 0.0]), with_intercept=False)
    >>> found.direction.round(6).tolist(), round(found.margin, 6), bool(found.gap < 1e-9)
    ([0.6, 0.8], 5.0, True)
    """
    best = _measure(matrix, signs, start, with_intercept)
    upper = np.inf
    size = min(matrix.shape[0], FIRST * matrix.shape[1] + 20)
    enough = ENOUGH if matrix.shape[1] <= MANY else CLOSE
    work = _nearest(matrix, signs, best, size)
    for _ in range(MAX_ROUNDS):
        if with_intercept:  # both classes, always
            work = np.union1d(work, [np.argmax(signs), np.argmin(signs)])
        rows = matrix[work]
        weights, directions = _on_some(rows, signs[work], best, with_intercept)
        found = [_measure(matrix, signs, v, with_intercept) for v in directions]
        best = max([best, *found], key=lambda one: one.margin)
        # the bound is that of the samples looked at: it bounds all of them, being no smaller
        upper = min(upper, _distance(rows, signs[work], weights, with_intercept))
        if upper - best.margin <= enough * upper:
            break
        # what is nearest to the boundary of any direction found: the best one may know no more
        near = [_nearest(matrix, signs, one, size) for one in (best, *found)]
        new = np.setdiff1d(np.concatenate(near), work)
        if not new.size:
            break
        work = np.concatenate([work, new])
    return Margin(best.direction, best.intercept, best.margin, max(0.0, upper - best.margin))


def _nearest(matrix: Any, signs: Vector, one: Margin, size: int) -> NDArray[np.intp]:
    """The samples nearest to the boundary, or furthest beyond it."""
    margins = signs * (matrix @ one.direction + one.intercept)
    return np.argsort(margins, kind="stable")[:size]


def _measure(matrix: Any, signs: Vector, v: Vector, with_intercept: bool) -> Margin:
    """The margin of a direction, with the intercept midway between the classes."""
    unit = v / (float(np.linalg.norm(v)) or 1.0)
    z = matrix @ unit
    b = 0.0
    if with_intercept:
        b = -0.5 * (float(z[signs > 0].min()) + float(z[signs < 0].max()))
    return Margin(unit, b, float((signs * (z + b)).min()), np.inf)


def _on_some(
    matrix: Matrix, signs: Vector, best: Margin, with_intercept: bool
) -> tuple[Vector, list[Vector]]:
    """Weights u ≥ 0 of these samples, and directions: as found, and by solving for those with
    weight exactly.
    """
    unit = best.margin if best.margin > 0 else float(np.abs(matrix).max()) or 1.0
    weights, direction = _by_nnls(matrix / unit, signs, with_intercept)
    seen = weights > 0
    if not seen.any():
        return np.ones(len(signs)), []
    support = matrix[seen]
    centre = support.mean(axis=0) if with_intercept else 0.0
    wanted = signs[seen] - (signs[seen].mean() if with_intercept else 0.0)
    exact = np.linalg.lstsq(support - centre, wanted, rcond=None)[0]
    return weights, [v for v in (direction, exact) if np.linalg.norm(v) > 0]


def _by_nnls(matrix: Matrix, signs: Vector, with_intercept: bool) -> tuple[Vector, Vector]:
    """Lawson and Hanson's: minimise ‖(Bᵀ; 1ᵀ)u − (0; 1)‖ over u ≥ 0, B = s_i a_i."""
    from scipy.optimize import nnls

    scaled = (signs[:, None] * matrix).T
    heavy = max(HEAVY, HEAVIER * float(np.abs(scaled).max()))
    rows = [heavy * signs] if with_intercept else []
    system = np.vstack([*rows, scaled, np.ones(len(signs))])
    right = np.zeros(len(system))
    right[-1] = 1.0
    try:
        weights = nnls(system, right, maxiter=30 * system.shape[1])[0]
    except RuntimeError:  # too many iterations
        return np.zeros(len(signs)), np.zeros(matrix.shape[1])
    return weights, (system @ weights - right)[len(rows) : -1]


def _distance(matrix: Matrix, signs: Vector, weights: Vector, with_intercept: bool) -> float:
    """Half the distance of two points of the hulls; without an intercept, of the hull of s_i a_i
    to the origin: no margin is larger.
    """
    parts = [weights * (signs > 0), weights * (signs < 0)] if with_intercept else [weights]
    if any(part.sum() <= 0 for part in parts):
        return np.inf
    shares = sum(part / part.sum() for part in parts)
    size = float(np.linalg.norm((shares * signs) @ matrix))
    return 0.5 * size if with_intercept else size
