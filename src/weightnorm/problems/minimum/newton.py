"""Newton's method for a convex loss of predictions z = W t, with W (nearly) orthonormal.

In such coordinates the units of the data are gone: the Hessian Wᵀ D W is as well conditioned as
the second derivatives D of the loss are alike. A step solves (Wᵀ D W + μ) p = −gradient, by
Cholesky or, for many coordinates, by conjugate gradients; the damping μ is zero until a step fails
to lower the loss as predicted, and falls again after steps that do (Levenberg and Marquardt).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._support.numeric import EPS, Matrix, Vector
from ..intercept import second_derivative
from ..losses import Loss, total

DENSE = 128  # coordinates up to which the Hessian is formed: beyond, its products cost less
NEAR = 1e-6  # the relative gradient that L-BFGS comes to: beyond, it cannot see the loss fall
APPROACH = 25  # steps of L-BFGS before Newton's, where these need conjugate gradients
MAX_STEPS = 200
MAX_FLAT = 8  # steps without a fall of the loss that can be seen
SMALL_STEP = 1e-9  # an undamped step this small, relatively, is the last: the next is its square
ROUNDED_STEP = 1e-6  # and one this small where rounding lets nothing fall any more
RESIDUE = 64 * EPS  # or this small against what rounding of the slopes alone makes a step
SMALL_GRADIENT = 1e-8  # the gradient at a minimum, against its terms
TINY_GRADIENT = 1e-10  # and at one that is proved otherwise, where steps are costly
SINGULAR = 1e-15  # eigenvalues of the Hessian this small, relatively, are zero
FLAT = 1e-13  # falls of the loss this small, relatively, cannot be seen in its values
NOISE = 1e-24  # and those this small relative to the first loss, where the least loss is zero
FIRST_DAMPING, LARGEST_DAMPING = 1e-3, 1e20  # μ, relative to the mean of D


class Predictions(Protocol):
    """z = W t: what Newton's method asks of a matrix with nearly orthonormal columns."""

    size: int

    def apply(self, t: Vector) -> Vector:
        """W t."""

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""

    def magnitude(self, t: Vector) -> Vector:
        """|W| |t|, or more: how large rounding in W t may be, over that of one number."""


@dataclass(frozen=True, eq=False)
class Found:
    """Where Newton's method ended.

    Attributes
    ----------
    t, z, step : vectors
        The coordinates, the predictions there, and the last step.
    loss : float
    gradient : float
        ‖Wᵀ ℓ′‖ relative to its terms.
    num_steps : int
    attained : bool
        Whether steps became negligible: a minimum. Where there is none, steps keep their length,
        however small the gradient is.
    singular : bool
        Whether the Hessian at the end is singular; False where it was not looked at.
    """

    t: Vector
    z: Vector
    step: Vector
    loss: float
    gradient: float
    num_steps: int
    attained: bool
    singular: bool


@dataclass(frozen=True, eq=False)
class _Point:
    """A point with all that one evaluation tells of it."""

    t: Vector
    z: Vector
    value: float
    slope: Vector
    gradient: Vector

    @classmethod
    def at(cls, model: Predictions, loss: Loss, t: Vector, z: Vector, value: float) -> _Point:
        slope = np.asarray(loss.derivative(z[None]))[0]
        return cls(t, z, value, slope, model.adjoint(slope))

    @property
    def size(self) -> float:
        """‖gradient‖."""
        return float(np.linalg.norm(self.gradient))


def newton(
    model: Predictions,
    loss: Loss,
    start: Vector,
    stop: Callable[[Vector, Vector], bool] = lambda t, z: False,
    proof: Callable[[Vector, float], bool] = lambda slope, gradient: False,
) -> Found:
    """Minimise from `start` until steps are negligible, or `stop(t, z)`, or nothing helps.

    Parameters
    ----------
    model : Predictions
        W.
    loss : Loss
        A convex loss of z.
    start : vector
        The first t.
    stop : callable of (t, z) -> bool, optional
        Asked before every step.
    proof : callable of (slope, ‖gradient‖) -> bool, optional
        Whether they prove that a minimum is attained: then a small gradient is enough, and no step
        need be small.

    Returns
    -------
    Found
        The end, with what is known of it.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Squared
    >>> from weightnorm.problems.minimum.newton import newton
    >>> from weightnorm.problems.minimum.whitening import Columns
    >>> found = newton(Columns(np.eye(2)), Squared(np.array([1.0, 3.0])), np.zeros(2))
    >>> found.t.tolist(), found.attained
    ([1.0, 3.0], True)
    """
    if model.size > DENSE:
        start = _approach(model, loss, start)
    z = model.apply(start)
    point = _Point.at(model, loss, start, z, _value(loss, z))
    first, noise = float(np.linalg.norm(point.slope)), NOISE * abs(point.value)
    damping, flat, attained, count, step = 0.0, 0, False, 0, np.zeros_like(start)
    small = SMALL_GRADIENT * first
    while count < MAX_STEPS and flat < MAX_FLAT and not stop(point.t, point.z):
        terms = max(first, float(np.linalg.norm(point.slope))) or 1.0
        costly = model.size > DENSE
        if costly and point.size <= TINY_GRADIENT * terms and proof(point.slope, point.size):
            attained = True
            break
        second = second_derivative(loss, point.z[None])[0]
        solver = _Solver(model, second, forcing=min(0.1, np.sqrt(point.size / terms)))
        # what the rounding of z does to the slope: no gradient is smaller than that
        rounding = 4.0 * EPS * float(np.linalg.norm(second * (1.0 + np.abs(point.z))))
        small = max(SMALL_GRADIENT * terms, rounding)
        trial, step, used, damping = _descend(model, loss, point, solver, damping, noise)
        length = float(np.linalg.norm(step)) / (float(np.linalg.norm(point.t)) or 1.0)
        if trial is None:  # rounding: as near as it gets
            attained = used == 0.0 and point.size <= small and _is_rounding(step, point, second)
            break
        flat += point.value - trial.value <= FLAT * abs(point.value)
        point, count = trial, count + 1
        if used == 0.0 and length <= SMALL_STEP and point.size <= small:
            attained = True
            break
    terms = max(first, float(np.linalg.norm(point.slope))) or 1.0
    singular = False
    if not attained and point.size <= small and model.size <= DENSE:
        attained, singular = _look_closer(model, loss, point)
    share = point.size / terms
    return Found(point.t, point.z, step, point.value, share, count, attained, singular)


def _look_closer(model: Predictions, loss: Loss, point: _Point) -> tuple[bool, bool]:
    """Whether a small gradient is that of a minimum, and whether the Hessian is singular there."""
    second = second_derivative(loss, point.z[None])[0]
    hessian = model.hessian(second)
    if not hessian.size:
        return True, False
    values, vectors = np.linalg.eigh(hessian)
    if not values[0] > SINGULAR * values[-1]:
        return False, True
    step = vectors @ ((vectors.T @ point.gradient) / values)
    return _is_rounding(step, point, second), False


def _is_rounding(step: Vector, point: _Point, second: Vector) -> bool:
    """Whether an undamped step is of rounding size: against t or, where t itself is no more than
    rounding, against the slopes, whose rounding moves the minimum by so much.
    """
    length, size = float(np.linalg.norm(step)), float(np.linalg.norm(point.t)) or 1.0
    residue = float(np.linalg.norm(point.slope)) / (float(second.mean()) or 1.0)
    return length <= max(ROUNDED_STEP * size, RESIDUE * residue)


def _approach(model: Predictions, loss: Loss, start: Vector) -> Vector:
    """A start nearer to the minimum, by a few cheap steps of L-BFGS."""
    from scipy.optimize import minimize

    def value_and_gradient(t: Vector) -> tuple[float, Vector]:
        z = model.apply(t)
        value = _value(loss, z)
        slope = np.asarray(loss.derivative(z[None]))[0]
        return min(value, 1e300), model.adjoint(slope)

    first = float(np.linalg.norm(loss.derivative(model.apply(start)[None])))
    largest = NEAR * first / np.sqrt(model.size)  # of an entry of the gradient
    options = {"maxiter": APPROACH, "gtol": largest, "ftol": 0.0}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x) if np.isfinite(found.x).all() else start


def _descend(
    model: Predictions, loss: Loss, point: _Point, solver: _Solver, damping: float, noise: float
) -> tuple[_Point | None, Vector, float, float]:
    """The next point (None if no step lowers the loss), the step (then the least damped), its
    damping, and the next one's.
    """
    first: Vector | None = None
    started = damping
    while damping <= LARGEST_DAMPING * solver.mean:
        tried = solver(point.gradient, damping)
        if tried is None:
            damping = solver.more(damping)
            continue
        step = tried
        first = step if first is None else first
        t = point.t + step
        z = model.apply(t)
        value = _value(loss, z)
        predicted, fell = -0.5 * float(point.gradient @ step), point.value - value
        if predicted <= FLAT * abs(point.value) + noise:  # too little to be seen in the loss
            trial = _Point.at(model, loss, t, z, value) if np.isfinite(value) else None
            better = trial is not None and trial.size < point.size
            return (trial if better else None), step, damping, 0.0
        if fell >= 1e-3 * predicted:
            following = solver.more(damping) if fell < 0.1 * predicted else solver.less(damping)
            return _Point.at(model, loss, t, z, value), step, damping, following
        damping = solver.more(damping)
    return None, np.zeros_like(point.t) if first is None else first, started, damping


def _value(loss: Loss, z: Vector) -> float:
    with np.errstate(over="ignore"):
        return float(total(loss, z[None])[0])


class _Solver:
    """(Wᵀ D W + μ) p = −gradient; None where the matrix is not positive definite."""

    def __init__(self, model: Predictions, second: Vector, forcing: float) -> None:
        self.model, self.second, self.forcing = model, second, forcing
        self.mean = float(second.mean()) or 1.0
        self.matrix = model.hessian(second) if model.size <= DENSE else None

    def __call__(self, gradient: Vector, damping: float) -> Any:
        if self.matrix is None:
            return self._conjugate_gradients(gradient, damping)
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        try:
            factor = cho_factor(self.matrix + damping * np.eye(len(gradient)), check_finite=False)
        except LinAlgError:
            return None
        step = -cho_solve(factor, gradient, check_finite=False)
        return step if np.isfinite(step).all() else None

    def more(self, damping: float) -> float:
        """The damping after a step that failed."""
        return max(10.0 * damping, FIRST_DAMPING * self.mean)

    def less(self, damping: float) -> float:
        """The damping after one that did as predicted."""
        return 0.0 if damping <= FIRST_DAMPING**4 * self.mean else 0.1 * damping

    def _conjugate_gradients(self, gradient: Vector, damping: float) -> Any:
        from scipy.sparse.linalg import LinearOperator, cg

        def product(p: Vector) -> Vector:
            p = np.ravel(p)
            seen = self.model.adjoint(self.second * self.model.apply(p))
            return np.asarray(seen + damping * p)

        size = gradient.size
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        step, _ = cg(operator, -gradient, rtol=self.forcing, atol=0.0, maxiter=10 * size)
        return step if np.isfinite(step).all() and gradient @ step <= 0 else None
