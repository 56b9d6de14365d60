"""The few numbers that theory needs of a problem and a start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from ..problems import GeneralizedLinear, Lifter, require_least_squares
from ..problems.coordinates.factorisation import scaled_norm
from ..problems.minimum.minimum import Minimum
from ..problems.require import has_minimum

ORTHOGONAL = 1e-12  # eigenvalues of AAᵀ this close, relatively, are equal


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
    lifter: Lifter
    # least squares in these coordinates, less the part of y out of reach: overridden for others
    loss_at: Callable[[Vector], float] | None = None
    slope_at: Callable[[Vector], Vector] | None = None
    expand: Any = None  # what makes dual coefficients of weights, where the problem has them
    unseen_error: float = 0.0  # that of q0², where it is more than rounding
    free: bool = True  # whether there is anything off the row space

    def loss(self, x: Vector) -> float:
        """The loss at row-space coordinates x, less its smallest value."""
        if self.loss_at is not None:
            return self.loss_at(x)
        error = x - self.target
        with np.errstate(over="ignore"):  # far out the loss is infinite, and above all others
            return float(0.5 * (self.lam * error) @ error)

    def slope(self, x: Vector) -> Vector:
        """The gradient at row-space coordinates x."""
        if self.slope_at is not None:
            return self.slope_at(x)
        return np.asarray(self.lam * (x - self.target))

    @property
    def gstar(self) -> float:
        """‖x*‖."""
        return scaled_norm(self.target)

    @property
    def orthogonal(self) -> bool:
        """Whether the problem is least squares with AAᵀ = I."""
        return self.loss_at is None and bool(np.abs(self.lam - 1.0).max(initial=0.0) <= ORTHOGONAL)

    @property
    def start_loss(self) -> float:
        """The loss at the start less its smallest value: ½‖Ax0 − y‖² without the part of y out of
        reach.
        """
        return self.loss(self.g0 * self.z0)

    @property
    def zero_loss(self) -> float:
        """The loss at x = 0, and on S, less its smallest value: ½‖y‖² for the reachable part."""
        return self.loss(np.zeros_like(self.target))

    @property
    def log_q0_square(self) -> float:
        """log q0², also where next to nothing of the direction is seen and q0 is 1 to rounding."""
        inside = float(self.z0 @ self.z0)
        if inside < 0.5:
            return float(np.log1p(-inside))
        return 2.0 * float(np.log(self.q0)) if self.q0 > 0.0 else -np.inf

    @property
    def starts_lower(self) -> bool:
        """Whether the loss at the start is under that at x = 0; of least squares by what the start
        changes, since close to x = 0 a difference of losses would be rounding.
        """
        if self.loss_at is not None:
            return self.start_loss < self.zero_loss
        with np.errstate(over="ignore"):
            gained = 0.5 * self.g0 * float(self.lam @ self.z0**2)
        return bool(self.g0 * (gained - self.pull) < 0.0)

    @property
    def pull(self) -> float:
        """−⟨w0, ∇f(0)⟩, yᵀAw0 for least squares: it decides the sign of the scale from g0 = 0."""
        return -float(self.z0 @ self.slope(np.zeros_like(self.target)))

    def in_units(self, c: float) -> tuple[Setup, float]:
        """The same start of least squares, and c, in units in which ‖x*‖ = λmax = 1: the flow is
        the same but for its time. Another loss has no units, and stays as it is.
        """
        if self.loss_at is not None:
            return self, c
        size = self.gstar
        lam, target = self.lam / self.lam.max(), self.target / size
        return replace(self, g0=self.g0 / size, lam=lam, target=target), c / size / size

    def lift(self, row_space: Vector, perp: float) -> Any:
        """The weights with these row-space coordinates and this multiple of the unit vector
        along w0⊥.
        """
        return self.lifter.lift(np.append(row_space, perp))


def set_up(problem: Any, scale: Any, direction: Any, start_values: Any = None) -> Setup:
    """Check a problem and a start, and reduce them."""
    problem = require_least_squares(problem)
    g0 = validate.squarable("scale", scale)
    direction = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", direction, False)
    space = problem.reduce()
    start, lifter = space.start(unit)
    reduced = space.problem
    z0, lam, target = start[:-1], reduced.curvatures, reduced.target
    known = {"expand": problem.dual_expansion(unit), "unseen_error": problem.unseen_error(unit)}
    free = problem.shape[1] > problem.factorisation.singular_values.size
    return Setup(g0, float(start[-1]), z0, lam, target, lifter, free=free, **known)


def set_up_convex(problem: Any, scale: Any, direction: Any, start_values: Any = None) -> Setup:
    """The same for least squares and for every convex loss of A x with an attained minimum, which
    takes the place of x*.
    """
    if not has_minimum(problem):  # least squares has its own, by factorisation
        return set_up(problem, scale, direction, start_values)
    found = require_attained(problem)
    g0 = validate.squarable("scale", scale)
    direction = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", direction, False)
    space = problem.reduce()
    start, lifter = space.start(unit)
    reduced = space.problem

    def loss(x: Vector) -> float:
        with np.errstate(over="ignore"):
            return float(reduced.value_and_gradient(np.append(x, 0.0)[None])[0][0]) - found.loss

    target = problem.factorisation.coordinates(found.weights)
    free = problem.shape[1] > problem.factorisation.singular_values.size
    convex = {"loss_at": loss, "slope_at": reduced.slope, "free": free}
    return Setup(g0, float(start[-1]), start[:-1], np.zeros(0), target, lifter, **convex)


def require_attained(problem: GeneralizedLinear) -> Minimum:
    """The minimum, refused where there is none or it is not unique."""
    found = problem.minimum()
    if found.status == "attained":
        return found
    advice = {
        "separable": "training goes to infinity along the direction of wn.theory.max_margin",
        "receding": "training goes to infinity; a penalty on the weights would stop it",
    }.get(found.status, "the limit of training from a given start is then not known")
    raise ValueError(f"y and A leave the loss without a unique minimum: {found.message}; {advice}")


def require_target(setup: Setup) -> None:
    """Refuse y = 0, which the theory excludes."""
    if setup.gstar == 0.0:
        raise ValueError(
            "y is zero, or wholly out of A's reach: then x* = 0 and the theory does not apply"
        )
