"""Minimum-norm solutions by LSQR, for an A that is too large to factorise: with an error estimate,
and the number of times that A was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validate import Vector
from .factorisation import EPS, require_squares

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
        singular value that the iterations met.
    num_passes : int
        Products with A and with Aᵀ: each reads A once.
    converged : bool
        Whether LSQR stopped by itself.
    """

    weights: Vector
    error: float
    num_passes: int
    converged: bool


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
    >>> from weightnorm.problems.iterative import solve
    >>> found = solve(np.array([[3.0, 4.0]]), np.array([5.0]))
    >>> found.weights.round(12).tolist(), found.error < 1e-14, found.converged
    ([0.6, 0.8], True, True)
    """
    from scipy.sparse.linalg import aslinearoperator, lsqr

    require_squares(A)
    operator = aslinearoperator(A)
    limit = 20 * max(A.shape) if max_iterations is None else max_iterations
    answer = lsqr(operator, right_side, atol=TIGHT, btol=TIGHT, conlim=0.0, iter_lim=limit)
    x, stop, count, norm, condition = answer[0], answer[1], answer[2], answer[5], answer[6]
    residual = right_side - operator.matvec(x)
    slope = operator.rmatvec(residual)
    # the smallest singular value met, from LSQR's own estimates of ‖A‖ and of its condition
    smallest = float(norm / condition) if condition > 0 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.float64(np.linalg.norm(slope)) / smallest**2
        left = min(left, np.float64(np.linalg.norm(residual)) / smallest)
    rounding = 4 * EPS * condition * float(np.linalg.norm(x))
    error = float(left) + rounding if smallest > 0 else 0.0
    return Iterated(np.asarray(x), error, 2 * int(count) + 3, stop != 7)
