"""Least squares fits, of one target or of several with one factorisation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.numeric import LARGEST, TINY, Array
from ..methods.contract import Method
from ..problems import LeastSquares
from ..problems.coordinates.factorisation import scaled_norm
from ..problems.linear.centred import Centred
from ..problems.minimum.whitening import by_gram
from ..runs.run import run
from ..theory import flow_limit, limit_perp
from .base import AT_REST, SMALLER, STUCK, FitEnd, FitOptions, FitStart
from .data import Prepared
from .rules import in_units, make_rule

# the tolerance on the loss falls by this factor until the coefficients are as near as asked for
TIGHTER = 1e-2
ROUNDED = 1e-10  # a standstill this near to the best coefficients is rounding
REFINEMENTS = 3  # of a solution by normal equations: after that it is as exact as A is
# the shorter side of a sparse matrix up to which AᵀA or AAᵀ is formed; beyond, LSQR is quicker
LARGE = 1_000
LEAST_NORM = "the fit of minimum norm, exactly"
ONLY_ONE = "the least squares fit: the data sees every feature, so there is only one"
SMALL_STEPS = "where training with small steps ends"
MAX_ITERATIONS, WORST = 500, 1e5  # of LSQR, and the condition number beyond which it is not used


@dataclass(frozen=True)
class Fits:
    """The ends of all targets, in units of the targets, and what is known of A."""

    ends: list[FitEnd]
    rank: int | None
    singular_values: Array | None


def fit_squares(
    prepared: Prepared,
    targets: Array,
    starts: list[FitStart],
    options: FitOptions,
    steps: tuple[Any, Any],
    units: Array,
) -> Fits:
    """Fit every column of the targets, each given in a unit of its own."""
    if options.method == "limit" and all(start.scale == 0.0 for start in starts):
        quick = _quick_limits(prepared.A, targets, starts, options.ratio)
        if quick is not None:
            return quick
    problem = LeastSquares(prepared.A, targets[:, 0])
    problem.factorise(prepared.noise, in_place=True)
    ends = []
    for y, start, unit in zip(targets.T, starts, units, strict=True):
        ends.append(fit_one(problem.with_targets(y), start, options, steps, float(unit)))
    factors = problem.factorisation
    return Fits(ends, factors.rank, factors.singular_values)


def fit_one(
    problem: LeastSquares, start: FitStart, options: FitOptions, steps: tuple[Any, Any], unit: float
) -> FitEnd:
    """Fit one target, given in a unit of its own."""
    target = problem.target
    gstar = float(np.linalg.norm(target))
    if gstar == 0.0:
        return FitEnd(np.zeros(problem.shape[1]), message="y is constant, or out of X's reach")
    c = options.ratio * gstar**2
    if options.method == "limit":
        if start.direction is None:  # in the row space: exactly minimum norm
            best = problem.factorisation.lift(target)
            unique = problem.factorisation.rank == problem.shape[1]
            text = ONLY_ONE if unique else LEAST_NORM
            return FitEnd(best, scale=gstar, status="limit", message=text)
        return _limit(problem, start, c)
    direction = start.direction
    if direction is None:
        direction = problem.factorisation.lift(target * problem.factorisation.singular_values**2)
    direction_step, scale_step = steps
    if options.method != "gd":  # gradient descent's step has no unit of y
        direction_step = in_units("direction_step", direction_step, unit, 2)
        scale_step = in_units("scale_step", scale_step, unit, 0)
    largest = max(gstar, abs(start.scale))
    given = (direction_step, scale_step)
    rule = make_rule(options.method, problem.curvature, c, largest, given)
    with warnings.catch_warnings():
        if start.direction is None:  # in the row space, and reduced coordinates keep it there
            warnings.filterwarnings("ignore", ".*the start lies in the row space", RuntimeWarning)
        return _train(rule, problem, start.scale, direction, options)


def _limit(problem: LeastSquares, start: FitStart, c: float) -> FitEnd:
    limit = flow_limit(problem, start.scale, start.direction, c)
    if not limit.applies:
        gstar = float(np.linalg.norm(problem.target))
        return FitEnd(np.zeros(problem.shape[1]), distance=gstar, status=STUCK, message=AT_REST)
    return FitEnd(
        limit.weights,
        scale=limit.scale,
        perp_norm=limit.perp_norm,
        distance=limit.distance,
        status="limit",
        message=SMALL_STEPS,
    )


def _train(
    rule: Method, problem: LeastSquares, scale: float, direction: Array, options: FitOptions
) -> FitEnd:
    """Train until the coefficients that the data sees are within `tol` of the best ones."""
    factors, target = problem.factorisation, problem.target
    reachable = problem.with_targets(factors.left.apply(factors.singular_values * target))
    gstar = float(np.linalg.norm(target))
    reach = min(options.tol * gstar, LARGEST)
    wanted = 0.5 * reach**2  # times an eigenvalue: the loss at that distance
    squares = factors.singular_values**2
    smallest = max(wanted * float(squares[-1]), TINY)
    tolerance = min(max(wanted * float(squares[0]), smallest), float(np.finfo(np.float64).max))
    result, done, error = None, 0, np.inf
    while True:
        begin: Any = {"scale": scale, "direction": direction}
        begin = begin if result is None else {"start": result}
        with warnings.catch_warnings():  # how it ended is said below, or by an error
            warnings.filterwarnings("ignore", ".*cannot converge", RuntimeWarning)
            result = run(
                rule, reachable, tolerance=tolerance, max_steps=options.max_iter - done, **begin
            )
        if result.status == "diverged" or not np.isfinite(result.weights).all():
            steps = done + result.num_steps
            raise ValueError(f"training diverged after {steps} steps; {SMALLER}")
        done += result.num_steps
        error = float(np.linalg.norm(factors.coordinates(result.weights) - target)) / gstar
        ended = result.status != "converged" or tolerance <= smallest
        if error <= options.tol or ended or done >= options.max_iter:
            break
        tolerance = max(TIGHTER * tolerance, smallest)
    near = f"the coefficients that the data sees are within {error:.2g} of the best, relatively"
    # or as near as rounding allows
    converged = error <= options.tol or (result.status == "stationary" and error <= ROUNDED)
    status = "converged" if converged else result.status.value
    status = "max_steps" if status == "converged" and not converged else status
    text = f"made {done} steps; {near}"
    if not converged:
        text += f"; tol = {options.tol:g} was asked for: raise max_iter, or use method='limit'"
    return FitEnd(
        result.weights,
        scale=result.scale,
        perp_norm=result.perp_norm,
        distance=float(np.hypot(result.perp_norm, error * gstar)),
        num_steps=max(1, done),
        status=status,
        message=text,
    )


class _BadlyConditionedError(ArithmeticError):
    """A sparse matrix that needs a factorisation after all."""


def _quick_limits(A: Any, targets: Array, starts: list[FitStart], ratio: float) -> Fits | None:
    """The limits from scale 0 on a sparse A without a factorisation; None for a dense A, whose
    factorisation is as quick, and for a badly conditioned one.
    """
    if isinstance(A, np.ndarray):
        return None
    A = A if hasattr(A, "gram") else Centred(A, np.zeros(A.shape[1]))
    try:
        solve, rank = _solver(A)
        ends = [
            _limit_from_zero(A, solve, y, start, ratio)
            for y, start in zip(targets.T, starts, strict=True)
        ]
    except _BadlyConditionedError:
        return None
    return Fits(ends, rank, None)


def _solver(A: Centred) -> tuple[Callable[[Array], Array], int | None]:
    """What gives the least squares solution of smallest norm: LSQR where A is large, the Cholesky
    factor of AᵀA or AAᵀ where it is not; and the rank of A, where that is known.
    """
    if min(A.shape) > LARGE:
        return lambda right: _lsqr(A, right), None
    if A.shape[0] >= A.shape[1]:
        tall = by_gram(A, A.noise)
        if tall is None:
            raise _BadlyConditionedError
        return lambda right: _refined(A, right, tall.solve), tall.size
    outer = A.outer()
    wide = None if outer is None else by_gram(_Gram(outer[0]))
    if outer is None or wide is None or wide.size < A.shape[0]:
        raise _BadlyConditionedError
    return lambda right: _refined(A, right, lambda r: A.T @ wide.twice(r)), outer[1]


def _limit_from_zero(
    A: Centred, solve: Callable[[Array], Array], y: Array, start: FitStart, ratio: float
) -> FitEnd:
    """The end of the WN flow from scale 0."""
    best, fall = solve(y), np.asarray(A.T @ y)
    gstar = float(np.linalg.norm(best))
    if gstar == 0.0 or not fall.any():
        return FitEnd(np.zeros(best.size), message="y is constant, or out of X's reach")
    if start.direction is None:
        return FitEnd(best, scale=gstar, status="limit", message=LEAST_NORM)
    unit = start.direction / scaled_norm(start.direction)
    pull = float(fall @ unit)
    if abs(pull) <= 1e-15 * float(np.linalg.norm(fall)):
        return FitEnd(np.zeros(best.size), distance=gstar, status=STUCK, message=AT_REST)
    rest = unit - solve(A @ unit)
    rest = rest - solve(A @ rest)
    q0 = min(1.0, float(np.linalg.norm(rest)))
    perp = float(limit_perp(0.0, gstar, q0, ratio * gstar**2))
    off = perp * np.sign(pull) / q0 * rest if q0 > 0 else 0.0
    return FitEnd(
        best + off, scale=float(np.sign(pull) * np.hypot(gstar, perp)), perp_norm=perp,
        distance=perp, status="limit", message=SMALL_STEPS,
    )  # fmt: skip


@dataclass(frozen=True)
class _Gram:
    """A square positive definite matrix in the place of AᵀA."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        size = len(self.matrix)
        return size, size

    def gram(self, second: Any = None) -> Array:
        return self.matrix


def _refined(A: Any, y: Array, solve: Callable[[Array], Array]) -> Array:
    """A solution by normal equations, refined until it is as exact as A."""
    x = np.zeros(A.shape[1])
    for _ in range(REFINEMENTS):
        x = x + solve(y - A @ x)
    return np.asarray(x)


def _lsqr(A: Any, y: Array) -> Array:
    """The solution of smallest norm, where A is not too badly conditioned to find it so."""
    from scipy.sparse.linalg import lsqr

    answer = lsqr(A, y, atol=1e-14, btol=1e-14, conlim=WORST, iter_lim=MAX_ITERATIONS)
    if answer[1] in (3, 6, 7):  # too badly conditioned, or out of iterations
        raise _BadlyConditionedError
    return np.asarray(answer[0])
