"""What the theory of finite steps needs of a problem at its solutions: curvatures and x*."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._support.numeric import Array, Vector
from ..problems import require_least_squares
from ..problems.coordinates.factorisation import scaled_norm
from ..problems.require import has_minimum
from .setup import require_attained

ABOVE = 1e-9  # a norm may be under g* by this share of it: rounding


@dataclass(frozen=True, eq=False)
class Solved:
    """A problem at its solutions, in the coordinates in which its Hessian there is diagonal.

    Attributes
    ----------
    lam, target : (rank,) arrays
        The Hessian's eigenvalues other than those off the row space, AᵀA's for least squares, and
        x*.
    free : bool
        Whether there are solutions other than x*: more features than the rank.
    """

    lam: Vector
    target: Vector
    free: bool

    @property
    def gstar(self) -> float:
        """‖x*‖."""
        return scaled_norm(self.target)

    @cached_property
    def across(self) -> Vector:
        """The eigenvalues of E AAᵀ E, E = I − yyᵀ/‖y‖², without its zero along y."""
        # a reflection H takes the first axis to y; E AAᵀ E is then HΛH without its first row
        v = self.pull / np.linalg.norm(self.pull)
        v[0] += np.copysign(1.0, v[0])
        v /= np.linalg.norm(v)
        turned = np.outer(2.0 * v, self.lam * v)
        matrix = 4.0 * float(v @ (self.lam * v)) * np.outer(v, v) - turned - turned.T
        matrix[np.arange(v.size), np.arange(v.size)] += self.lam
        return np.asarray(np.linalg.eigvalsh(matrix[1:, 1:]), dtype=np.float64)

    @property
    def pull(self) -> Vector:
        """b = √λ x*, the reachable part of y in these coordinates."""
        return np.asarray(np.sqrt(self.lam) * self.target)


def solved(problem: Any) -> Solved:
    """The curvatures and the solution x* of least squares, or of a convex loss at its minimum."""
    if not has_minimum(problem):
        problem = require_least_squares(problem)
        values = problem.factorisation.singular_values
        found = Solved(values**2, problem.target, problem.shape[1] > values.size)
    else:
        minimum = require_attained(problem)
        second = getattr(problem.loss, "second", None)
        if second is None:
            kind = type(problem.loss).__name__
            raise ValueError(f"the loss of problem, {kind}, needs second(z), its second derivative")
        matrix = problem.reduce().problem.matrix
        at = problem.factorisation.coordinates(minimum.weights)
        curved = matrix.T @ (np.ravel(second((matrix @ at)[None]))[:, None] * matrix)
        lam, axes = np.linalg.eigh(curved)
        lam = np.maximum(lam[::-1], 0.0)
        found = Solved(lam, axes.T[::-1] @ at, problem.shape[1] > lam.size)
    if found.gstar == 0.0:
        raise ValueError("y is zero, or wholly out of A's reach: then x* = 0 has no direction")
    return found


def squares_above(norm: Array, gstar: float) -> Array:
    """‖x‖², and not under g*² where rounding put it there."""
    return np.asarray(np.maximum(norm, gstar) ** 2)


def reachable(norm: Array, at: Solved) -> Any:
    """Whether there are solutions of this norm."""
    low, high = at.gstar * (1.0 - ABOVE), np.inf if at.free else at.gstar * (1.0 + ABOVE)
    return np.logical_and(norm >= low, norm <= high).all()


def contraction(k: Array, momentum: float, nesterov: bool) -> Array:
    """The factor per step of a mode whose step has the eigenvalue k: the largest root's size."""
    total = (1.0 + momentum) * (1.0 - k) if nesterov else 1.0 + momentum - k
    product = momentum * (1.0 - k) if nesterov else momentum + 0.0 * k
    inside = total * total - 4.0 * product
    wide = 0.5 * (np.abs(total) + np.sqrt(np.maximum(inside, 0.0)))
    return np.asarray(np.where(inside >= 0.0, wide, np.sqrt(np.maximum(product, 0.0))))
