"""Fits of convex losses other than least squares: where training ends, by Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from .._support.numeric import Array
from ..problems import GeneralizedLinear
from ..problems.intercept import Weighted, WithIntercept, second_derivative
from ..problems.linear.centred import Centred
from ..problems.minimum.margin import find_margin
from ..problems.minimum.minimum import Minimum
from ..runs.run import run
from ..theory import flow_limit
from .base import AT_REST, SMALLER, STUCK, FitEnd, FitOptions, FitStart
from .data import column_means
from .rules import make_rule

TIGHTER = 0.1
SMALL_GAP = 1e-3  # of the margin: beyond, the message tells


def convex_problem(
    X: Any, weights: Array | None, fit_intercept: bool
) -> tuple[GeneralizedLinear, Array]:
    """The problem of a matrix, for `with_loss`, and the means that were taken off its columns.

    Its rows are multiplied by the roots of the weights: see `Weighted`.
    """
    means = column_means(X, weights, fit_intercept)
    rows = None if weights is None else np.sqrt(weights)
    problem = GeneralizedLinear(Centred(X, means, rows), np.zeros(X.shape[0]), "squared")
    return problem, means


def with_options(loss: Any, weights: Array | None, fit_intercept: bool) -> Any:
    """The loss with weights and an intercept."""
    loss = loss if weights is None else Weighted(loss, weights)
    return WithIntercept(loss) if fit_intercept else loss


def convex_limit(problem: GeneralizedLinear, start: FitStart, ratio: float, tol: float) -> FitEnd:
    """Where the WN flow ends; on separable classes, the direction of maximum margin, scaled until
    the mean loss is at most `tol`.
    """
    found = problem.minimum()
    if found.status == "separable":
        return _separable(problem, found, tol)
    size = float(np.linalg.norm(found.weights))
    status = {"attained": "limit", "receding": "quasi_separable", "flat": "not_unique"}
    end = FitEnd(
        found.weights, found.intercept, size, num_steps=max(1, found.num_steps),
        status=status.get(found.status, "unfinished"), message=found.message,
    )  # fmt: skip
    if found.status != "attained" or start.direction is None or size == 0.0:
        return end
    limit = flow_limit(problem, start.scale, start.direction, ratio * size**2)
    if not limit.applies:
        zero = np.zeros_like(found.weights)
        return FitEnd(zero, _intercept(problem, zero), distance=size, status=STUCK, message=AT_REST)
    return FitEnd(
        limit.weights, found.intercept, limit.scale, limit.perp_norm, limit.distance,
        max(1, found.num_steps), "limit", found.message,
    )  # fmt: skip


def _intercept(problem: GeneralizedLinear, weights: Array) -> float:
    """The best intercept for these weights; 0 if there is none."""
    loss: Any = problem.loss
    if not hasattr(loss, "intercept"):
        return 0.0
    return float(loss.intercept(np.asarray(problem.A @ weights)[None])[0])


def _separable(problem: GeneralizedLinear, found: Minimum, tol: float) -> FitEnd:
    """The largest margin, scaled."""
    loss: Any = problem.loss
    with_intercept = hasattr(loss, "intercept")
    base = loss.loss if with_intercept else loss
    signs = getattr(base, "loss", base).signs
    direction = np.asarray(found.direction)
    roots = np.broadcast_to(getattr(base, "constant", 1.0), problem.shape[:1])
    if problem.shape[0] >= problem.shape[1] and not problem.is_factorised:
        A = problem.A.dense() if hasattr(problem.A, "dense") else problem.A
        # without weights
        samples = A / roots[:, None] if isinstance(A, np.ndarray) else Centred(A.X, A.means)
        margin = find_margin(samples, signs, direction, with_intercept)
        unit = margin.direction
    else:
        matrix = problem.reduce().problem.matrix
        start = problem.factorisation.coordinates(direction)
        margin = find_margin(matrix / roots[:, None], signs, start, with_intercept)
        unit = problem.factorisation.lift(margin.direction)
    z = np.asarray(problem.A @ unit) / roots + margin.intercept
    weights = roots**2
    size = _scale_for(signs * z, weights / weights.sum(), tol)
    text = (
        f"the classes are separable, by a margin of {margin.margin:.3g}: the loss has no minimum; "
        f"the coefficients are the direction of maximum margin, scaled to a mean loss of {tol:g}"
    )
    if margin.gap > SMALL_GAP * margin.margin:
        text += f" (another direction may have a margin larger by up to {margin.gap:.2g})"
    return FitEnd(
        size * unit, size * margin.intercept, size, num_steps=max(1, found.num_steps),
        status="separable", message=text,
    )  # fmt: skip


def _scale_for(margins: Array, shares: Array, tol: float) -> float:
    """The least t with Σ shares·log(1 + e^(−t·margin)) ≤ tol."""
    target = max(tol, 1e-300)
    unit = 1.0 / float(margins.min())

    def excess(log_scale: float) -> float:
        losses = np.logaddexp(0.0, -np.exp(log_scale) * unit * margins)
        return float(np.log(max(float(shares @ losses), 1e-320)) - np.log(target))

    low, high = -50.0, 10.0
    if excess(low) <= 0:
        return 0.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-13)) * unit)


def convex_training(
    problem: GeneralizedLinear, start: FitStart, options: FitOptions, steps: tuple[Any, Any]
) -> FitEnd:
    """Train until the gradient is `tol` of its terms, in coordinates that have no units."""
    direction = start.direction
    if direction is None:
        direction = -problem.gradient(np.zeros(problem.shape[1]))
        if not direction.any():
            return convex_limit(problem, FitStart(0.0, None), options.ratio, options.tol)
    found = problem.minimum()
    size = float(np.linalg.norm(found.weights))
    c = options.ratio * (size**2 or 1.0)
    largest = max(size, abs(start.scale))
    rule = make_rule(options.method, _curvature(problem, found), c, largest, steps)
    tolerance, begin, done = options.tol, {"scale": start.scale, "direction": direction}, 0
    while True:
        more: Any = begin
        result = run(
            rule, problem, tolerance=0.0, max_steps=options.max_iter - done,
            gradient_tolerance=tolerance, **more,
        )  # fmt: skip
        done += result.num_steps
        if result.status == "diverged" or not np.isfinite(result.weights).all():
            raise ValueError(f"training diverged after {done} steps; {SMALLER}")
        share = _relative_gradient(problem, result.weights)
        if share <= options.tol or result.status != "converged" or done >= options.max_iter:
            break
        # in the units of the data the gradient is small, in its own it is not
        tolerance, begin = TIGHTER * tolerance, {"start": result}
    converged = share <= options.tol
    text = f"made {done} steps; the relative gradient is {share:.2g}"
    if not converged:
        text += f"; tol = {options.tol:g} was asked for: raise max_iter, or use method='limit'"
    inside, rest = problem.split(result.weights)
    unseen = float(np.linalg.norm(rest))
    stopped = STUCK if result.status == "stationary" else "max_steps"
    return FitEnd(
        result.weights,
        _intercept(problem, result.weights),
        result.scale,
        unseen,
        float(np.hypot(unseen, np.linalg.norm(inside - found.weights))),
        max(1, done),
        "converged" if converged else stopped,
        text,
    )


def _relative_gradient(problem: GeneralizedLinear, weights: Array) -> float:
    """‖Wᵀℓ′‖ over ‖ℓ′‖, or over its size at zero weights if that is larger."""
    white = problem.whitened[0]
    z = np.stack([np.zeros(problem.shape[0]), np.asarray(problem.A @ weights)])
    slopes = np.asarray(problem.loss.derivative(z))
    return float(np.linalg.norm(white.adjoint(slopes[1])) / np.linalg.norm(slopes, axis=1).max())


def _curvature(problem: GeneralizedLinear, found: Minimum) -> float:
    """The largest curvature of the loss anywhere; where there is none, twice that at the minimum
    or at zero.
    """
    known = problem.curvature
    if known is not None:
        return known
    base = getattr(problem.loss, "loss", problem.loss)
    points = np.stack([np.zeros(problem.shape[0]), np.asarray(problem.A @ found.weights)])
    points[1] += found.intercept * getattr(base, "constant", 1.0)
    return 2.0 * problem.largest_eigenvalue * float(second_derivative(base, points).max())
