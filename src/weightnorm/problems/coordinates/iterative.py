"""Minimum-norm solutions by LSQR, for an A that is too large to factorise: with an error estimate,
and the number of times that A was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.numeric import EPS, LARGEST, Vector
from .factorisation import require_squares, scaled_norm

ROUNDING = 32  # times eps: what rounding may do in all the iterations
TIGHT = 1e-15  # what LSQR is asked for: as little as rounding allows


@dataclass(frozen=True, eq=False)
class Iterated:
    """The least-squares solution of smallest norm, by LSQR.

    Attributes
    ----------
    weights : (d,) array
        x; where LSQR ran out of iterations, how far it got.
    error : float
        An estimate of ‖x − x*‖: the gradient left over, and rounding, both through the smallest
        singular value that the iterations met. One that b has no part in they do not meet.
    num_passes : int
        Products with A and with Aᵀ: each reads A once.
    converged : bool
        Whether LSQR stopped by itself.
    slope, residual, norm, smallest : float
        ‖Aᵀr‖ and ‖r‖ of r = b − Ax, LSQR's estimate of ‖A‖, and the smallest singular value met.

    Examples
    --------
    >>> import weightnorm as wn
    >>> found = wn.LeastSquares([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]).iterate()
    >>> found.weights.round(6).tolist(), found.converged
    ([3.0, 2.0], True)
    """

    weights: Vector
    num_passes: int
    converged: bool
    slope: float
    residual: float
    norm: float
    smallest: float

    @property
    def error(self) -> float:
        """An estimate of ‖x − x*‖."""
        return self.error_above(self.smallest)

    def error_above(self, smallest: float) -> float:
        """The same where A is known to have a singular value as small as this."""
        if smallest <= 0.0:
            return 0.0 if self.slope == 0.0 else np.inf
        left = min(self.slope / smallest**2, self.residual / smallest)
        size = float(np.linalg.norm(self.weights)) * self.norm + self.residual
        return left + ROUNDING * EPS * size / smallest


def solve(A: Any, right_side: Vector, max_iterations: int | None = None) -> Iterated:
    """The x of smallest norm with ‖Ax − b‖ smallest.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
    right_side : (m,) array
        b.
    max_iterations : int, optional
        Of two passes each; 20 times the longer side by default.

    Returns
    -------
    Iterated
        See there.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.coordinates.iterative import solve
    >>> found = solve(np.array([[3.0, 4.0]]), np.array([5.0]))
    >>> found.weights.round(12).tolist(), found.error < 1e-14, found.converged
    ([0.6, 0.8], True, True)
    """
    from scipy.sparse.linalg import aslinearoperator, lsqr

    require_squares(A)
    operator = aslinearoperator(A)
    limit = 20 * max(A.shape) if max_iterations is None else max_iterations
    seen = _checked_norm(operator.rmatvec(right_side), right_side)
    answer = lsqr(operator, right_side, atol=TIGHT, btol=TIGHT, conlim=0.0, iter_lim=limit)
    x, stop, count, norm, condition = answer[0], answer[1], answer[2], answer[5], answer[6]
    residual = right_side - operator.matvec(x)
    slope = scaled_norm(operator.rmatvec(residual))
    # the smallest singular value met, from LSQR's own estimates of ‖A‖ and of its condition
    smallest = float(norm / condition) if condition > 0 else 0.0
    if norm == 0.0:  # one step was enough: b is a left singular vector
        norm = smallest = seen
    return Iterated(
        weights=np.asarray(x),
        num_passes=2 * int(count) + 4,
        converged=stop != 7 and (smallest > 0.0 or slope == 0.0),
        slope=slope,
        residual=scaled_norm(residual),
        norm=float(norm),
        smallest=smallest,
    )


def _checked_norm(product: Vector, right_side: Vector) -> float:
    """‖Aᵀb‖/‖b‖; an A is refused whose square over- or underflows, as far as that shows it."""
    size, length = scaled_norm(product), scaled_norm(right_side)
    norm = size / length if length > 0 else 0.0
    if norm != 0.0 and not 1.0 / LARGEST < norm < LARGEST:
        raise ValueError(
            f"A has a norm of about {norm:.3g}, whose square over- or underflows; rescale A and y"
        )
    return norm
