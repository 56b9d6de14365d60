"""A matrix less the mean of every column, without a copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ..._support.numeric import EPS, Array, Matrix, Vector

CANCELLED = 1e-7  # a column that keeps a smaller share of its square has lost its digits


def centring_noise(means: Vector, size: float) -> Vector:
    """The length of what taking its mean off leaves of a constant column.

    Parameters
    ----------
    means : (d,) array
        The means.
    size : float
        √m, or the norm of what rows are multiplied by.

    Returns
    -------
    (d,) array
        Columns that are not longer mean nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.linear.centred import centring_noise
    >>> bool(centring_noise(np.array([1e9]), 10.0)[0] < 1e-4)
    True
    """
    return 16.0 * EPS * size * np.abs(means)


class Centred(LinearOperator):  # type: ignore[misc]
    """X − 1 meansᵀ, each row times a number of its own.

    Parameters
    ----------
    X : (m, d) array or scipy.sparse matrix
    means : (d,) array
        What to take off every column; the columns' means, or zeros.
    rows : (m,) array, optional
        What to multiply every row by.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from weightnorm.problems.linear.centred import Centred
    >>> A = Centred(csr_array([[1.0, 0.0], [3.0, 0.0]]), np.array([2.0, 0.0]))
    >>> (A @ np.ones(2)).tolist(), A.gram().tolist()
    ([-1.0, 1.0], [[2.0, 0.0], [0.0, 0.0]])
    """

    checked = True  # its adjoint needs no test: it would be one of rounding for constant columns

    def __init__(self, X: Any, means: Vector, rows: Vector | None = None) -> None:
        super().__init__(dtype=np.float64, shape=X.shape)
        self.X, self.means = X, means
        self.rows = np.ones(X.shape[0]) if rows is None else rows
        self.is_sparse = hasattr(X, "tocsr")
        # products with Xᵀ are as fast as those with X
        self.by_column = X.T.tocsr() if self.is_sparse else X.T

    @property
    def noise(self) -> Vector:
        """The length of every column's rounding errors: what is left of a constant column."""
        return centring_noise(self.means, float(np.linalg.norm(self.rows)))

    def dense(self) -> Matrix | Centred:
        """The matrix itself, its long axis contiguous; a sparse one stays as it is."""
        if self.is_sparse:
            return self
        A = np.subtract(self.X, self.means, order="C" if self.shape[0] <= self.shape[1] else "F")
        if self.means.any():  # what rounding left of the means would be a direction of its own
            A -= (self.rows**2 / float(self.rows @ self.rows)) @ A
        return np.asarray(self.rows[:, None] * A)

    def __getitem__(self, rows: NDArray[np.intp]) -> Matrix:
        """Some rows, dense."""
        some = self.X[rows]
        some = some.toarray() if self.is_sparse else some
        return np.asarray(self.rows[rows, None] * (some - self.means))

    def magnitude(self, x: Vector) -> Vector:
        """What the terms of every prediction add up to without their signs."""
        size = np.abs(x)
        return self.rows * (np.asarray(abs(self.X) @ size) + float(np.abs(self.means) @ size))

    def _matvec(self, v: Array) -> Array:
        v = np.ravel(v)
        return self.rows * (np.asarray(self.X @ v) - float(self.means @ v))

    def _rmatvec(self, r: Array) -> Array:
        r = self.rows * np.ravel(r)
        return np.asarray(self.by_column @ r) - self.means * float(r.sum())

    def _matmat(self, V: Array) -> Array:
        return self.rows[:, None] * (np.asarray(self.X @ V) - self.means @ V)

    def _rmatmat(self, R: Array) -> Array:
        R = self.rows[:, None] * R
        return np.asarray(self.by_column @ R) - np.outer(self.means, R.sum(axis=0))

    def gram(self, second: Vector | None = None) -> Matrix:
        """Aᵀ D A (AᵀA without D), dense; NaN on the diagonal where the means took all digits."""
        squares = self.rows**2 if second is None else second * self.rows**2
        plain = bool((squares == 1.0).all())
        if self.is_sparse:
            weighted = self.X if plain else self.X.multiply(squares[:, None]).tocsr()
            inner = (self.by_column @ weighted).toarray()
        else:
            weighted = self.X if plain else squares[:, None] * self.X
            inner = np.asarray(self.by_column @ weighted)
        sums = np.asarray(weighted.sum(axis=0)).ravel()
        total = float(squares.sum())
        cross = np.outer(sums, self.means)
        gram = np.asarray(inner - cross - cross.T + total * np.outer(self.means, self.means))
        lost = np.diagonal(gram) < CANCELLED * np.diagonal(inner)
        gram[lost, lost] = np.where(np.diagonal(inner)[lost] > 0, np.nan, 0.0)
        return gram

    def outer(self) -> tuple[Matrix, int] | None:
        """A matrix that A Aᵀ may be inverted by, and the rank of A if that works; None where the
        means took all digits.

        Taking the weighted means off makes A Aᵀ singular along `rows`, where it is filled up.
        """
        X = self.X
        inner = (X @ self.by_column).toarray() if self.is_sparse else np.asarray(X @ self.by_column)
        if not self.means.any():
            return self.rows[:, None] * inner * self.rows, int(self.shape[0])
        along = np.asarray(X @ self.means)
        gram = inner - along - along[:, None] + float(self.means @ self.means)
        if (np.diagonal(gram) < CANCELLED * np.diagonal(inner)).any():
            return None
        gram = self.rows[:, None] * gram * self.rows
        unit = self.rows / float(np.linalg.norm(self.rows))
        return gram + float(np.diagonal(gram).mean()) * np.outer(unit, unit), self.shape[0] - 1
