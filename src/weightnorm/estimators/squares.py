"""Least squares fits, of one target or of several with one factorisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.contract import Method
from ..problems import LeastSquares
from ..problems.centred import Centred
from ..problems.whitening import by_gram
from ..run import run
from ..theory import flow_limit, limit_perp
from .base import End, Options, Start
from .data import Prepared, both_steps, in_units

Array = NDArray[np.float64]
# the tolerance on the loss falls by this factor until the coefficients are as near as asked for
TIGHTER = 1e-2
ROUNDED = 1e-10  # a standstill this near to the best coefficients is rounding
REFINEMENTS = 3  # of a solution by normal equations: after that it is as exact as A is
# the shorter side of a sparse matrix up to which AᵀA or AAᵀ is formed; beyond, LSQR is quicker
LARGE = 1_000
MAX_ITERATIONS, WORST = 500, 1e5  # of LSQR, and the condition number beyond which it is not used


@dataclass(frozen=True)
class Fits:
    """The ends of all targets, in units of the targets, and what is known of A."""

    ends: list[End]
    rank: int | None
    singular_values: Array | None


def fit_squares(
    prepared: Prepared,
    targets: Array,
    starts: list[Start],
    options: Options,
    steps: tuple[Any, Any],
    unit: float,
) -> Fits:
    """Fit every column of the targets, which are given in units of `unit`."""
    quick = None
    if options.method == "limit" and all(start.scale == 0.0 for start in starts):
        quick = _Sparse.of(prepared.A, targets[:, 0])
    if quick is not None:
        ends = [
            quick.limit(y, start, options.ratio) for y, start in zip(targets.T, starts, strict=True)
        ]
        return Fits(ends, quick.rank, None)
    problem = LeastSquares(prepared.A, targets[:, 0])
    problem.factorise(prepared.noise, in_place=True)
    ends = []
    for y, start in zip(targets.T, starts, strict=True):
        ends.append(_fit_one(problem.with_targets(y), start, options, steps, unit))
    factors = problem.factorisation
    return Fits(ends, factors.rank, factors.singular_values)


def _fit_one(
    problem: LeastSquares, start: Start, options: Options, steps: tuple[Any, Any], unit: float
) -> End:
    target = problem.target
    gstar = float(np.linalg.norm(target))
    if gstar == 0.0:
        return End(np.zeros(problem.shape[1]), message="y is constant, or out of X's reach")
    c = options.ratio * gstar**2
    if options.method == "limit":
        if start.direction is None:  # in the row space: exactly minimum norm
            best = problem.factorisation.lift(target)
            text = "the fit of minimum norm, exactly"
            if problem.factorisation.rank == problem.shape[1]:
                text = "the least squares fit: the data sees every feature, so there is only one"
            return End(best, scale=gstar, status="limit", message=text)
        return _limit(problem, start, c)
    direction = start.direction
    if direction is None:
        direction = problem.factorisation.lift(target * problem.factorisation.singular_values**2)
    rule = _rule(problem, options.method, c, max(gstar, abs(start.scale)), steps, unit)
    return _train(rule, problem, start.scale, direction, options)


def _limit(problem: LeastSquares, start: Start, c: float) -> End:
    limit = flow_limit(problem, start.scale, start.direction, c)
    if not limit.applies and start.scale == 0.0:
        text = "the flow does not reach its limit: it cannot leave its start, which is orthogonal "
        text += "to Xᵀy"
        gstar = float(np.linalg.norm(problem.target))
        return End(np.zeros(problem.shape[1]), distance=gstar, status="stationary", message=text)
    return End(
        limit.weights,
        scale=limit.scale,
        perp_norm=limit.perp_norm,
        distance=limit.distance,
        status="limit" if limit.applies else "stationary",
        message="where training with small steps ends"
        if limit.applies
        else f"the flow does not reach its limit: {'; '.join(limit.failing)} does not hold",
    )


def _rule(
    problem: LeastSquares,
    method: str,
    c: float,
    largest_scale: float,
    steps: tuple[Any, Any],
    unit: float,
) -> Method:
    curvature = problem.curvature or 1.0  # a zero X leaves nothing to be stable about
    direction_step, scale_step = steps
    if method == "gd":
        return GradientDescent(1.0 / curvature if direction_step is None else direction_step)
    eta = 0.5 / (curvature * max(largest_scale**2, c))
    given = both_steps(
        eta,
        c,
        in_units("direction_step", direction_step, unit, 2),
        in_units("scale_step", scale_step, unit, 0),
    )
    return RPGD(*given) if method == "rpgd" else WeightNorm(*given)


def _train(
    rule: Method, problem: LeastSquares, scale: float, direction: Array, options: Options
) -> End:
    """Train until the coefficients that the data sees are within `tol` of the best ones."""
    factors, target = problem.factorisation, problem.target
    reachable = problem.with_targets(factors.left.apply(factors.singular_values * target))
    gstar = float(np.linalg.norm(target))
    wanted = 0.5 * (options.tol * gstar) ** 2  # times an eigenvalue: the loss at that distance
    squares = factors.singular_values**2
    smallest = max(wanted * float(squares[-1]), float(np.finfo(np.float64).tiny))
    tolerance = max(wanted * float(squares[0]), smallest)
    result, done, error = None, 0, np.inf
    while True:
        begin: Any = {"scale": scale, "direction": direction}
        begin = begin if result is None else {"start": result}
        result = run(
            rule, reachable, tolerance=tolerance, max_steps=options.max_iter - done, **begin
        )
        if result.status == "diverged" or not np.isfinite(result.weights).all():
            advice = "use smaller direction_step and scale_step"
            steps = done + result.num_steps
            raise ValueError(f"training diverged after {steps} steps; {advice}")
        done = result.num_steps
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
    return End(
        result.weights,
        scale=result.scale,
        perp_norm=result.perp_norm,
        distance=float(np.hypot(result.perp_norm, error * gstar)),
        num_steps=max(1, done),
        status=status,
        message=text,
    )


class _Sparse:
    """Least squares on a sparse A without a factorisation: by LSQR where A is large, by the
    Cholesky factor of AᵀA or AAᵀ where it is not; both where A is well conditioned only.
    """

    def __init__(self, A: Any, solve: Callable[[Array], Any], rank: int | None) -> None:
        self.A, self.solve, self.rank = A, solve, rank

    @classmethod
    def of(cls, A: Any, y: Array) -> _Sparse | None:
        """None for a dense A, whose factorisation is as quick, and for a badly conditioned one."""
        if isinstance(A, np.ndarray):
            return None
        A = A if hasattr(A, "gram") else Centred(A, np.zeros(A.shape[1]))
        if min(A.shape) > LARGE:
            return None if _lsqr(A, y) is None else cls(A, lambda right: _lsqr(A, right), None)
        if A.shape[0] >= A.shape[1]:
            tall = by_gram(A, A.noise)
            if tall is None:
                return None
            return cls(A, lambda right: _refined(A, right, tall.solve), tall.size)
        outer = A.outer()
        if outer is None:
            return None
        gram, rank = outer
        wide = by_gram(_Gram(gram))
        if wide is None or wide.size < len(gram):
            return None
        return cls(A, lambda right: _refined(A, right, lambda r: A.T @ wide.twice(r)), rank)

    def limit(self, y: Array, start: Start, ratio: float) -> End:
        """The end of the WN flow from scale 0."""
        best = np.asarray(self.solve(y))
        gstar = float(np.linalg.norm(best))
        if gstar == 0.0 or np.linalg.norm(self.A.T @ y) == 0.0:
            return End(np.zeros(best.size), message="y is constant, or out of X's reach")
        if start.direction is None:
            text = "the fit of minimum norm, exactly"
            return End(best, scale=gstar, status="limit", message=text)
        unit = start.direction / np.linalg.norm(start.direction)
        rest = unit - self.solve(self.A @ unit)
        rest = rest - self.solve(self.A @ rest)
        q0 = min(1.0, float(np.linalg.norm(rest)))
        pull = float((self.A.T @ y) @ unit)
        if abs(pull) <= 1e-15 * float(np.linalg.norm(self.A.T @ y)):
            text = "the flow does not reach its limit: it cannot leave its start, which is "
            text += "orthogonal to Xᵀy"
            return End(np.zeros(best.size), distance=gstar, status="stationary", message=text)
        perp = float(limit_perp(0.0, gstar, q0, ratio * gstar**2))
        off = perp * np.sign(pull) / q0 * rest if q0 > 0 else 0.0
        return End(
            best + off, scale=float(np.sign(pull) * np.hypot(gstar, perp)), perp_norm=perp,
            distance=perp, status="limit", message="where training with small steps ends",
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


def _lsqr(A: Any, y: Array) -> Array | None:
    """The solution of smallest norm, or None where A is too badly conditioned to find it so."""
    from scipy.sparse.linalg import lsqr

    answer = lsqr(A, y, atol=1e-14, btol=1e-14, conlim=WORST, iter_lim=MAX_ITERATIONS)
    return np.asarray(answer[0]) if answer[1] in (0, 1, 2, 4, 5) else None
