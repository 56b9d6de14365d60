"""Coordinates in which the columns of A are orthonormal: A x = W t with x = lift(t).

By the singular vectors of a factorised A; or, for a tall A whose columns are clearly independent
once each has unit length, by the Cholesky factor of AᵀA, which costs a tenth of that and leaves a
sparse A sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validate import Matrix, Vector

# 1/κ(AᵀA) under this, for columns of unit length: the Cholesky factor is not trusted
SMALLEST_RCOND = 1e-9


@dataclass(frozen=True, eq=False)
class Columns:
    """W stored.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.whitening import Columns
    >>> Columns(np.eye(2)).apply(np.ones(2)).tolist()
    [1.0, 1.0]
    """

    columns: Matrix

    @property
    def size(self) -> int:
        """How many columns."""
        return int(self.columns.shape[1])

    def apply(self, t: Vector) -> Vector:
        """W t."""
        return np.asarray(self.columns @ t)

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""
        return np.asarray(self.columns.T @ slope)

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        half = np.sqrt(second)[:, None] * self.columns
        return np.asarray(half.T @ half)


@dataclass(frozen=True, eq=False)
class Triangular:
    """W = A R⁻¹, with R the Cholesky factor of AᵀA, upper triangular."""

    A: Any
    R: Matrix

    @property
    def size(self) -> int:
        """How many columns."""
        return int(self.R.shape[1])

    def apply(self, t: Vector) -> Vector:
        """W t."""
        return np.asarray(self.A @ self.lift(t))

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""
        return self._solve(np.asarray(self.A.T @ slope), trans=1)

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        if isinstance(self.A, np.ndarray):
            half = np.sqrt(second)[:, None] * self.A
            inner = half.T @ half
        else:
            inner = self.A.gram(second)
        return self._solve(self._solve(inner, trans=1).T, trans=1)

    def lift(self, t: Vector) -> Vector:
        """x = R⁻¹ t."""
        return self._solve(t, trans=0)

    def _solve(self, right: Any, trans: int) -> Any:
        from scipy.linalg import lapack

        return lapack.dtrtrs(self.R, right, trans=trans)[0]


@dataclass(frozen=True, eq=False)
class WithConstant:
    """One more, last column, a unit constant, beside those of W."""

    inner: Any
    num_samples: int

    @property
    def size(self) -> int:
        """How many columns."""
        return int(self.inner.size) + 1

    @property
    def height(self) -> float:
        """The entries of the constant column."""
        return 1.0 / float(np.sqrt(self.num_samples))

    def apply(self, t: Vector) -> Vector:
        """W t."""
        return np.asarray(self.inner.apply(t[:-1]) + self.height * t[-1])

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""
        return np.append(self.inner.adjoint(slope), self.height * slope.sum())

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        size = self.size
        whole = np.empty((size, size))
        whole[:-1, :-1] = self.inner.hessian(second)
        whole[-1, :-1] = whole[:-1, -1] = self.height * self.inner.adjoint(second)
        whole[-1, -1] = self.height**2 * float(second.sum())
        return whole


def by_gram(A: Any) -> Triangular | None:
    """Coordinates by the Cholesky factor of AᵀA; None where A is not tall, or its columns are not
    clearly independent.

    Parameters
    ----------
    A : array, or an operator with `gram()`
        A sparse matrix comes as `sparse_columns(A)`.

    Returns
    -------
    Triangular or None

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.whitening import by_gram
    >>> A = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> by_gram(A).R.tolist(), by_gram(A.T) is None
    ([[2.0, 0.0], [0.0, 1.0]], True)
    """
    from scipy.linalg import lapack

    if A.shape[0] < A.shape[1] or not (isinstance(A, np.ndarray) or hasattr(A, "gram")):
        return None
    gram = A.T @ A if isinstance(A, np.ndarray) else A.gram()
    lengths = np.sqrt(np.diagonal(gram))
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        return None
    gram = gram / lengths / lengths[:, None]
    norm = float(np.abs(gram).sum(axis=0).max())
    factor, info = lapack.dpotrf(gram, overwrite_a=True, clean=True)
    if info != 0 or lapack.dpocon(factor, norm)[0] < SMALLEST_RCOND:
        return None
    return Triangular(A, np.asfortranarray(factor * lengths))
