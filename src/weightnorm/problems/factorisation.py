"""The thin singular value decomposition A = U S Vᵀ that every reduced run stands on.

Dense A: Householder QR of the long side, then the SVD of the small triangular factor. The reflectors are kept as
they are, and V is applied, never formed: the memory is one copy of A. Sparse A and operators: a sequential TSQR over
blocks of features that keeps only R; V is then applied as Aᵀ U S⁻¹, so no dense m × d array ever exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._validate import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)
SMALL = 2**16  # a V with no more entries than this is formed after all: products with it cost least
NUM_PASSES = 8  # an operator is read in this many blocks of rows and of columns: an eighth of a dense copy each


class _RightFactor(Protocol):
    """How V, or its transpose, is applied to a vector."""

    def __call__(self, vector: Vector) -> Vector: ...


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A = U S Vᵀ with `rank` singular values kept, in descending order.

    Attributes
    ----------
    singular_values : (rank,) array
    left : (m, rank) array
        U, the left singular vectors.
    orthogonality : float
        An estimate of ‖VᵀV − I‖: a few ulp where V comes from reflectors, times the condition number where it is
        recovered as Aᵀ U S⁻¹.
    """

    singular_values: Vector
    left: Matrix
    orthogonality: float
    _apply: _RightFactor
    _apply_transposed: _RightFactor

    @property
    def rank(self) -> int:
        """The numerical rank of A."""
        return int(self.singular_values.size)

    def lift(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """V z for z of shape (rank,) or, row by row, (n, rank)."""
        return _on_rows(self._apply, coordinates)

    def coordinates(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vᵀ x for x of shape (d,) or, row by row, (n, d)."""
        return _on_rows(self._apply_transposed, x)

    def split(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Row-space coordinates z = Vᵀx and the rest x⊥ = x − V z, projected twice so that x⊥ is clean."""
        z = self.coordinates(x)
        rest = x - self.lift(z)
        correction = self.coordinates(rest)
        return z + correction, rest - self.lift(correction)


def _on_rows(apply: _RightFactor, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row: a product with many columns at once would round each by how many there are."""
    if rows.ndim == 1:
        return apply(rows)
    return np.array([apply(row) for row in rows])


def factorise(A: Any) -> Factorisation:
    """Factorise a dense array, a scipy.sparse matrix or a LinearOperator."""
    if isinstance(A, np.ndarray):
        factors = _factorise_wide(A) if A.shape[0] <= A.shape[1] else _factorise_tall(A)
    else:
        factors = _factorise_blocks(A)
    if factors.rank * A.shape[1] > SMALL:
        return factors
    V = np.array([factors.lift(axis) for axis in np.eye(factors.rank)]).reshape(factors.rank, A.shape[1])
    return replace(
        factors, _apply=partial(np.matmul, np.ascontiguousarray(V.T)), _apply_transposed=partial(np.matmul, V)
    )


def _small_svd(square: Matrix, shape: tuple[int, int]) -> tuple[Matrix, Vector, Matrix]:
    """SVD of a small factor, truncated to its numerical rank (the same rule as numpy.linalg.matrix_rank)."""
    left, singular, right = np.linalg.svd(square, full_matrices=False)
    rank = int(np.count_nonzero(singular > singular[0] * max(shape) * EPS)) if singular[0] > 0 else 0
    return left[:, :rank], singular[:rank], right[:rank]


def _factorise_wide(A: Matrix) -> Factorisation:
    from scipy.linalg import lapack

    num_rows = A.shape[0]
    workspace = int(lapack.dgeqrf_lwork(*A.T.shape)[0])
    reflectors, tau, _, info = lapack.dgeqrf(A.T, lwork=workspace)  # the one copy of A
    _require_success("dgeqrf", info)
    left, singular, right = _small_svd(np.triu(reflectors[:num_rows]).T, A.shape)

    def multiply(vector: Vector, trans: str) -> Vector:
        # The smallest workspace makes LAPACK apply the reflectors one by one: for one column six times faster.
        product, _, status = lapack.dormqr("L", trans, reflectors, tau, vector[:, None], 1)
        _require_success("dormqr", status)
        return np.asarray(product[:, 0])

    def apply(vector: Vector) -> Vector:
        padded = np.zeros(A.shape[1])
        padded[:num_rows] = right.T @ vector
        return multiply(padded, "N")

    def apply_transposed(vector: Vector) -> Vector:
        return np.asarray(right @ multiply(vector, "T")[:num_rows])

    return Factorisation(singular, left, 8 * EPS, apply, apply_transposed)


def _factorise_tall(A: Matrix) -> Factorisation:
    Q, R = np.linalg.qr(A)
    left, singular, right = _small_svd(R, A.shape)
    return Factorisation(singular, Q @ left, 8 * EPS, partial(np.matmul, right.T), partial(np.matmul, right))


def _factorise_blocks(A: Any) -> Factorisation:
    m, d = A.shape
    R = np.zeros((0, m))
    for block in _feature_blocks(A):
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
    left, singular, _ = _small_svd(R.T, A.shape)
    if not singular.size:
        return Factorisation(singular, left, 0.0, lambda vector: np.zeros(d), lambda vector: np.zeros(0))
    weighted = left / singular  # V = Aᵀ U S⁻¹
    return Factorisation(
        singular,
        left,
        8 * EPS * float(singular[0] / singular[-1]),
        lambda vector: np.asarray(A.T @ (weighted @ vector)),
        lambda vector: np.asarray(weighted.T @ (A @ vector)),
    )


def _feature_blocks(A: Any) -> Iterator[Matrix]:
    """Dense blocks (features, m) of Aᵀ, each about an eighth of it or 4 m features, whichever is more."""
    m, d = A.shape
    size = max(4 * m, math.ceil(d / NUM_PASSES))
    starts = range(0, d, size)
    if hasattr(A, "tocsc"):
        by_feature = A.tocsc()
        for start in starts:
            yield by_feature[:, start : start + size].toarray().T
        return
    rows = max(1, m // NUM_PASSES)
    identity = np.eye(m)
    for start in starts:  # one pass of m adjoint products per block; d forward products would cost far more
        block = np.empty((min(size, d - start), m))
        for row in range(0, m, rows):
            block[:, row : row + rows] = A.rmatmat(identity[:, row : row + rows])[start : start + size]
        yield block


def _require_success(routine: str, info: int) -> None:
    if info != 0:
        raise RuntimeError(f"LAPACK {routine} failed with info={info}")
