"""The few numbers that theory needs of a problem and a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _validate
from .._validate import Vector
from ..problems import Frame, require_least_squares
from ..problems.factorisation import scaled_norm

ORTHOGONAL = 1e-12


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem and a start in reduced coordinates.

    Attributes
    ----------
    g0, q0 : float
        The start's scale, and the norm of its unit direction off the row space.
    z0, lam, target : (rank,) arrays
        The direction in the row space, the eigenvalues of AAᵀ, and x*.
    gstar : float
        g* = ‖x*‖.
    """

    g0: float
    q0: float
    z0: Vector
    lam: Vector
    target: Vector
    frame: Frame

    @property
    def gstar(self) -> float:
        """‖x*‖."""
        return scaled_norm(self.target)

    @property
    def orthogonal(self) -> bool:
        """Whether AAᵀ is a multiple of I that is I itself."""
        return bool(np.abs(self.lam - 1.0).max(initial=0.0) <= ORTHOGONAL)

    @property
    def start_loss(self) -> float:
        """½‖Ax0 − y‖² without the part of y out of reach."""
        error = self.g0 * self.z0 - self.target
        return float(0.5 * (self.lam * error) @ error)

    @property
    def zero_loss(self) -> float:
        """½‖y‖² for the reachable part of y: the loss at x = 0, and on S."""
        return float(0.5 * (self.lam * self.target) @ self.target)

    @property
    def pull(self) -> float:
        """yᵀAw0, which decides the sign of the scale from g0 = 0."""
        return float(self.z0 @ (self.lam * self.target))

    def lift(self, row_space: Vector, perp: float) -> Vector:
        """The weights with these row-space coordinates and this multiple of the unit vector
        along w0⊥.
        """
        return self.frame.lift(np.append(row_space, perp))


def set_up(problem: Any, scale: Any, direction: Any) -> Setup:
    """Check a problem and a start, and reduce them."""
    problem = require_least_squares(problem)
    g0 = _validate.squarable("scale", scale)
    unit = _validate.direction("direction", direction, problem.shape[1])
    space = problem.reduce()
    start, frame = space.start(unit)
    reduced = space.problem
    return Setup(g0, float(start[-1]), start[:-1], reduced.curvatures, reduced.target, frame)


def require_target(setup: Setup) -> None:
    """Refuse y = 0, which the theory excludes."""
    if setup.gstar == 0.0:
        raise ValueError(
            "y is zero, or wholly out of A's reach: then x* = 0 and the theory does not apply"
        )
