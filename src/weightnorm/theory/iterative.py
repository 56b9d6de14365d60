"""Where the flow ends when A can only be multiplied with: by LSQR alone, with an error estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import EPS, Vector
from ..problems import require_least_squares
from ..problems.coordinates.factorisation import scaled_norm
from ..problems.coordinates.iterative import Iterated, solve
from ._sign import ROUNDING, STUCK
from .limits import Limit
from .scalar_limits import limit_perp
from .statement import Assumption, assume

UNSETTLED = "the sign of the scale follows from the start, without an integration"


@dataclass(frozen=True, eq=False)
class IterativeLimit(Limit):
    """The point where the flow ends, found by iteration: for an A too large to factorise.

    Attributes
    ----------
    error : float
        An estimate of the distance of `weights` from the limit: what LSQR leaves in x* and in w0⊥,
        and what that does to the scalar equation; 2‖x∞⊥‖ more where the sign of the scale is not
        settled. It is meant to be large rather than small.
    num_passes : int
        How many times A was read: fewer where x* was known from before.
    weights, scale, norm, perp_norm, distance, assumptions, paper, applies, failing
        As in `Limit`. Where only an integration would settle the sign of the scale, `applies` is
        False.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    >>> operator = wn.LeastSquares(aslinearoperator(problem.A), problem.y)
    >>> limit = wn.theory.flow_limit(operator, scale=1.0, direction=w0, iterative=True)
    >>> exact = wn.theory.flow_limit(problem, scale=1.0, direction=w0)
    >>> bool(np.linalg.norm(limit.weights - exact.weights) <= limit.error < 1e-12)
    True
    """

    error: float
    num_passes: int


@dataclass(frozen=True, eq=False)
class Iterative:
    """A problem and a start, by products with A alone.

    Attributes
    ----------
    g0, q0 : float
        The start's scale, and ‖w0⊥‖ of its unit direction.
    solution : Iterated
        x*.
    solution_error : float
        An estimate of its error, with what the split of w0 met of A.
    perp : (d,) array
        w0⊥.
    perp_error : float
        An estimate of the error of w0⊥.
    seen : (m,) array
        A w0.
    y, pull : (m,) and (d,) arrays
        y and Aᵀy.
    num_passes : int
        How often A was read for it all.
    converged : bool
        Whether every LSQR was done by itself.
    unit : (d,) array
        The direction of the start.
    """

    g0: float
    q0: float
    solution: Iterated
    solution_error: float
    perp: Vector
    perp_error: float
    seen: Vector
    y: Vector
    pull: Vector
    num_passes: int
    converged: bool
    unit: Vector

    @property
    def gstar(self) -> float:
        """‖x*‖."""
        return scaled_norm(self.solution.weights)

    def sign(self, c: float) -> tuple[float, Assumption]:
        """sign(g∞), and whether it is settled, see `_sign.decide`."""
        along = float(self.y @ self.seen)
        if self.g0 == 0.0:
            stuck = abs(along) <= ROUNDING * float(np.linalg.norm(self.pull))
            return (1.0 if stuck else float(np.sign(along))), assume(STUCK, not stuck)
        own = float(np.sign(self.g0))
        with np.errstate(over="ignore", divide="ignore"):
            inside = float(np.linalg.norm(self.unit - self.perp)) ** 2
            log_q2 = float(np.log1p(-inside)) if inside < 0.5 else 2.0 * np.log(self.q0)
            log_f0 = log_q2 + self.g0 * (self.g0 / c) if self.q0 > 0 else -np.inf
        # ½‖A x0 − y‖² < ½‖y‖²
        change = self.g0 * (0.5 * self.g0 * float(self.seen @ self.seen) - along)
        if log_f0 > 0 or change < 0:
            return own, assume(STUCK, True)
        if self.y.size == 1:
            return float(np.sign(along)), assume(STUCK, log_f0 != 0.0)
        return own, assume(UNSETTLED, False)


def set_up_iterative(problem: Any, scale: Any, direction: Any) -> Iterative:
    """x* and the split of a start by LSQR: three solutions, the last two for w0⊥."""
    problem = require_least_squares(problem)
    g0 = validate.squarable("scale", scale)
    given = direction.compute() if validate.is_dask(direction) else direction
    unit = validate.direction("direction", given, problem.shape[1])
    operator, y = problem.operator, np.asarray(problem.y, dtype=np.float64)
    known = problem.is_iterated
    solution = problem.iterate()
    if not solution.weights.any():
        raise ValueError(
            "y is zero, or wholly out of A's reach: then x* = 0 and the theory does not apply"
        )
    seen = np.asarray(operator @ unit)
    first = solve(operator, seen)
    rest = unit - first.weights
    second = solve(operator, np.asarray(operator @ rest))
    rest = rest - second.weights
    met = [each.smallest for each in (solution, first, second) if each.smallest > 0.0]
    smallest = min(met, default=0.0)
    error = min(first.error_above(smallest), second.error_above(smallest) + EPS)
    q0 = float(np.linalg.norm(rest))
    if q0 <= 4.0 * error:  # a start in the row space, as far as can be told
        q0, rest = 0.0, np.zeros_like(rest)
    done = (solution, first, second)
    return Iterative(
        g0,
        min(q0, 1.0),
        solution,
        solution.error_above(smallest),
        rest,
        error,
        seen,
        y,
        np.asarray(operator.T @ y),
        sum(each.num_passes for each in (done[1:] if known else done)) + 3,
        all(each.converged for each in done),
        unit,
    )


def flow_limit_by_iteration(
    problem: Any, scale: float, direction: Any, ratio: float
) -> IterativeLimit:
    """The end of the WN flow from x* and w0⊥ alone, with the error that LSQR leaves in them.

    Parameters
    ----------
    problem : LeastSquares
    scale, direction, ratio
        As in `flow_limit`.

    Returns
    -------
    IterativeLimit
        See there.
    """
    found, c = set_up_iterative(problem, scale, direction), ratio
    gstar, q0, settled = found.gstar, found.q0, found.sign(c)
    missed = found.solution_error
    perp = float(limit_perp(found.g0, gstar, q0, c))
    norm = float(np.hypot(gstar, perp))
    # what the errors of g* and q0 do to ‖x∞⊥‖, one at a time
    low, high = max(gstar - missed, 0.5 * gstar), gstar + missed
    near = limit_perp(
        found.g0,
        [low, high, gstar, gstar],
        [q0, q0, max(q0 - found.perp_error, 0.0), min(q0 + found.perp_error, 1.0)],
        c,
    )
    share = perp / q0 if q0 > 0 else 0.0
    error = missed + share * found.perp_error + float(np.abs(near - perp).max())
    sign = settled[0]
    if not settled[1].holds:  # it may be the other one
        error += 2.0 * perp
    return IterativeLimit(
        weights=found.solution.weights + sign * share * found.perp,
        scale=sign * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        error=error,
        num_passes=found.num_passes,
        assumptions=(
            assume("c > 0", c > 0),
            assume("y ≠ 0", gstar > 0),
            settled[1],
            assume("LSQR converged", found.converged),
        ),
        paper="Theorem 2.6, part I (exact form)",
        _expand=problem.dual_expansion(found.unit),
    )
