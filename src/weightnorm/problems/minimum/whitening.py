"""Coordinates in which the columns of A are orthonormal: A x = W t with x = lift(t).

By the singular vectors of a factorised A. A tall A is first brought to columns of unit length, so
that the units of its features do not matter: if they are clearly independent then, by the Cholesky
factor of AᵀA, which costs a tenth of that and leaves a sparse A sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import EPS, Matrix, Vector

# 1/κ(AᵀA) under this, for columns of unit length: the Cholesky factor is not trusted
SMALLEST_RCOND = 1e-9


@dataclass(frozen=True, eq=False)
class Columns:
    """W stored.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.minimum.whitening import Columns
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

    def magnitude(self, t: Vector) -> Vector:
        """What the terms of W t add up to without their signs: how large rounding may be."""
        return np.asarray(np.abs(self.columns) @ np.abs(t))

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        half = np.sqrt(second)[:, None] * self.columns
        return np.asarray(half.T @ half)


@dataclass(frozen=True, eq=False)
class Triangular:
    """W = A R⁻¹ for the columns of A that are not zero, R the Cholesky factor of their AᵀA."""

    A: Any
    R: Matrix
    kept: NDArray[np.intp]

    @property
    def size(self) -> int:
        """How many columns."""
        return int(self.R.shape[1])

    def apply(self, t: Vector) -> Vector:
        """W t."""
        return np.asarray(self.A @ self.lift(t))

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""
        return np.asarray(self._solve(np.asarray(self.A.T @ slope)[self.kept], trans=1))

    def magnitude(self, t: Vector) -> Vector:
        """What the terms of W t add up to without their signs: how large rounding may be."""
        x = self.lift(t)
        if isinstance(self.A, np.ndarray):
            return np.asarray(np.abs(self.A) @ np.abs(x))
        return np.asarray(self.A.magnitude(x))

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        inner = gram(self.A, second)[np.ix_(self.kept, self.kept)]
        return np.asarray(self._solve(self._solve(inner, trans=1).T, trans=1))

    def lift(self, t: Vector) -> Vector:
        """x = R⁻¹ t, and 0 for the other columns."""
        x = np.zeros(self.A.shape[1])
        x[self.kept] = self._solve(t, trans=0)
        return x

    def solve(self, right: Vector) -> Vector:
        """The least squares solution of A x = right, by normal equations."""
        return self.lift(self.adjoint(right))

    def twice(self, right: Vector) -> Vector:
        """(RᵀR)⁻¹ right."""
        return np.asarray(self._solve(self._solve(right, trans=1), trans=0))

    def _solve(self, right: Any, trans: int) -> Any:
        from scipy.linalg import lapack

        return lapack.dtrtrs(self.R, right, trans=trans)[0]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Singular vectors of A with columns of unit length, and the smallest x for each prediction."""

    columns: Columns
    back: Matrix  # (d, rank): x = back t is a solution of A x = W t
    null: Matrix  # an orthonormal basis of what A does not see

    def lift(self, t: Vector) -> Vector:
        """The smallest x with A x = W t."""
        x = self.back @ t
        for _ in range(2):
            x = x - self.null @ (self.null.T @ x)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class WithConstant:
    """One more, last column beside those of W: the unit vector along which an intercept moves."""

    inner: Any
    column: Vector

    @property
    def size(self) -> int:
        """How many columns."""
        return int(self.inner.size) + 1

    def apply(self, t: Vector) -> Vector:
        """W t."""
        return np.asarray(self.inner.apply(t[:-1]) + t[-1] * self.column)

    def adjoint(self, slope: Vector) -> Vector:
        """Wᵀ slope."""
        return np.append(self.inner.adjoint(slope), self.column @ slope)

    def magnitude(self, t: Vector) -> Vector:
        """What the terms of W t add up to without their signs: how large rounding may be."""
        return np.asarray(self.inner.magnitude(t[:-1]) + abs(float(t[-1])) * np.abs(self.column))

    def hessian(self, second: Vector) -> Matrix:
        """Wᵀ D W."""
        size = self.size
        whole = np.empty((size, size))
        whole[:-1, :-1] = self.inner.hessian(second)
        whole[-1, :-1] = whole[:-1, -1] = self.inner.adjoint(second * self.column)
        whole[-1, -1] = float(second @ self.column**2)
        return whole


def gram(A: Any, second: Vector | None = None) -> Matrix:
    """Aᵀ D A of an array, or of an operator that knows its own."""
    if not isinstance(A, np.ndarray):
        return np.asarray(A.gram(second))
    half = A if second is None else np.sqrt(second)[:, None] * A
    return np.asarray(half.T @ half)


def by_gram(A: Any, noise: Any = 0.0) -> Triangular | None:
    """Coordinates by the Cholesky factor of AᵀA; None where A is not tall, or its columns are not
    clearly independent.

    Parameters
    ----------
    A : array, or an operator with `gram()`
        One row per sample.
    noise : float or (d,) array
        The length of a column that is nothing but rounding.

    Returns
    -------
    Triangular or None
        The coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.minimum.whitening import by_gram
    >>> A = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> by_gram(A).R.tolist(), by_gram(A.T) is None
    ([[2.0, 0.0], [0.0, 1.0]], True)
    """
    from scipy.linalg import lapack

    if A.shape[0] < A.shape[1] or not (isinstance(A, np.ndarray) or hasattr(A, "gram")):
        return None
    inner = gram(A)
    lengths = np.sqrt(np.diagonal(inner))
    if not np.isfinite(lengths).all():
        return None
    kept = np.flatnonzero(lengths > noise)
    if not kept.size:
        return None
    lengths = lengths[kept]
    inner = inner[np.ix_(kept, kept)] / lengths / lengths[:, None]
    norm = float(np.abs(inner).sum(axis=0).max())
    factor, info = lapack.dpotrf(inner, overwrite_a=True, clean=True)
    if info != 0 or lapack.dpocon(factor, norm)[0] < SMALLEST_RCOND:
        return None
    return Triangular(A, np.asfortranarray(factor * lengths), kept)


def by_scaling(A: Matrix, noise: Any = 0.0) -> Scaled:
    """Coordinates by the singular vectors of A with its columns brought to unit length.

    Parameters
    ----------
    A : (m, d) array
        One row per sample.
    noise : float or (d,) array
        The length of a column that is nothing but rounding.

    Returns
    -------
    Scaled
        The coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.minimum.whitening import by_scaling
    >>> A = np.array([[1e-6, 1e6, 1e6], [0.0, 1e6, 1e6]])
    >>> white = by_scaling(A)
    >>> t = white.columns.adjoint(np.array([2.0, 1.0]))
    >>> (white.lift(t) * [1e-6, 1e6, 1e6]).round(9).tolist()
    [1.0, 0.5, 0.5]
    """
    from scipy.linalg import qr, svd

    lengths = np.linalg.norm(A, axis=0)
    noise = np.broadcast_to(np.asarray(noise, dtype=np.float64), lengths.shape)
    kept = lengths > noise
    units = np.where(kept, lengths, 1.0)
    Q, R = qr(np.where(kept, A / units, 0.0), mode="economic")
    left, singular, right = svd(R, full_matrices=False)
    # a singular value is noise if the rounding of the columns it combines is as large
    rounding = np.linalg.norm(right * (noise / units), axis=1)
    floor = np.maximum(rounding, EPS * max(A.shape) * float(singular.max(initial=0.0)))
    rank = int(np.count_nonzero(singular > floor))
    left = Q @ left[:, :rank]
    full = svd(right[:rank], full_matrices=True)[2] if rank else np.eye(A.shape[1])
    # entries that are rounding would grow with the units of a feature that has no part in it
    unseen = np.where(np.abs(full[rank:]) > 64 * EPS, full[rank:], 0.0)
    null = qr(unseen.T / units[:, None], mode="economic")[0]
    back = right[:rank].T / singular[:rank] / units[:, None]
    return Scaled(Columns(left), back, null)
