"""The thin singular value decomposition A = U S Vᵀ that every reduced run stands on.

Dense A: Householder QR of the long side, then the SVD of the small triangular factor. The
reflectors are kept as they are, and the long factor is applied, never formed: the memory is one
copy of A. Sparse A and operators: a sequential TSQR over blocks of the long side that keeps only R;
the long factor is then applied as Aᵀ U S⁻¹ (or A V S⁻¹ for a tall A), so that no dense copy of A
ever exists.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import EPS, LARGEST, Matrix, Vector

SMALL = 2**16  # a V with no more entries than this is formed after all: products with it cost least
# sparse matrices and operators are read in this many blocks: about an eighth of a dense copy each
NUM_PASSES = 8
REFLECTORS = 8 * EPS  # how orthogonal columns made of reflectors are
GRADED = 1e3  # columns whose lengths differ by more need Jacobi's method for their small directions


class Orthonormal(Protocol):
    """Orthonormal columns, known by what they do to a vector."""

    def apply(self, coordinates: Vector) -> Vector:
        """The combination of the columns with these coordinates."""

    def transposed(self, vector: Vector) -> Vector:
        """The inner product of every column with a vector."""


@dataclass(frozen=True, eq=False)
class Explicit:
    """Columns that are stored."""

    columns: Matrix

    def apply(self, coordinates: Vector) -> Vector:
        """The combination of the columns with these coordinates, or with each row of them."""
        return np.asarray(np.matmul(self.columns, coordinates[..., None])[..., 0])

    def transposed(self, vector: Vector) -> Vector:
        """The inner product of every column with a vector, or with each row of them."""
        return np.asarray(np.matmul(self.columns.T, vector[..., None])[..., 0])


@dataclass(frozen=True, eq=False)
class Householder:
    """The columns Q W, with Q as LAPACK's reflectors and a small orthogonal W (given as Wᵀ)."""

    reflectors: Matrix
    tau: Vector
    small: Matrix

    def apply(self, coordinates: Vector) -> Vector:
        """The combination of the columns with these coordinates."""
        padded = np.zeros(self.reflectors.shape[0])
        padded[: self.tau.size] = self.small.T @ coordinates
        return self._multiply(padded, "N")

    def transposed(self, vector: Vector) -> Vector:
        """The inner product of every column with a vector."""
        return np.asarray(self.small @ self._multiply(vector, "T")[: self.tau.size])

    def _multiply(self, vector: Vector, trans: str) -> Vector:
        from scipy.linalg import lapack

        # The smallest workspace makes LAPACK apply the reflectors one by one: for one column six
        # times faster.
        product, _, info = lapack.dormqr("L", trans, self.reflectors, self.tau, vector[:, None], 1)
        _require_success("dormqr", info)
        return np.asarray(product[:, 0])


@dataclass(frozen=True, eq=False)
class Implicit:
    """The columns B W for an operator B and a small W that makes them orthonormal."""

    operator: Any
    weights: Matrix

    def apply(self, coordinates: Vector) -> Vector:
        """The combination of the columns with these coordinates."""
        return np.asarray(self.operator @ (self.weights @ coordinates))

    def transposed(self, vector: Vector) -> Vector:
        """The inner product of every column with a vector."""
        return np.asarray(self.weights.T @ (self.operator.T @ vector))


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A = U S Vᵀ with `rank` singular values kept, in descending order.

    Attributes
    ----------
    singular_values : (rank,) array
    left, right : Orthonormal
        U and V.
    orthogonality : float
        An estimate of ‖VᵀV − I‖: a few ulp where V comes from reflectors, times the condition
        number where it is recovered as Aᵀ U S⁻¹. Runs on a sparse A or an operator are accurate to
        about this.
    """

    singular_values: Vector
    left: Orthonormal
    right: Orthonormal
    orthogonality: float

    @property
    def rank(self) -> int:
        """The numerical rank of A."""
        return int(self.singular_values.size)

    def lift(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """V z for z of shape (rank,) or, row by row, (n, rank)."""
        return _on_rows(self.right, self.right.apply, coordinates)

    def coordinates(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vᵀ x for x of shape (d,) or, row by row, (n, d)."""
        return _on_rows(self.right, self.right.transposed, x)

    def split(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Row-space coordinates z = Vᵀx and the rest x⊥ = x − V z, projected twice so that x⊥ is
        clean.
        """
        z = self.coordinates(x)
        rest = x - self.lift(z)
        correction = self.coordinates(rest)
        return z + correction, rest - self.lift(correction)


def _on_rows(factor: Orthonormal, function: Any, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row: a product with many columns at once would round each by how many there are."""
    if rows.ndim == 1 or isinstance(factor, Explicit):
        return np.asarray(function(rows))
    return np.array([function(row) for row in rows])


def factorise(A: Any, *, overwrite: bool = False, noise: Any = 0.0) -> Factorisation:
    """Factorise a dense array, a scipy.sparse matrix or a LinearOperator.

    With `overwrite` a dense A whose long axis is contiguous gives its memory to the factors.
    `noise` is the norm of the rounding errors that A is known to have: singular values under it are
    not kept. Given for each column, the rank of a tall A is that of its columns in units of their
    own; otherwise small columns are taken for rounding, as numpy.linalg.matrix_rank does.
    """
    _require_memory(A.shape)
    require_squares(A)
    if isinstance(A, np.ndarray):
        factors = (
            _factorise_wide(A, overwrite, noise)
            if A.shape[0] <= A.shape[1]
            else _factorise_tall(A, overwrite, noise)
        )
    else:
        factors = _factorise_blocks(A, noise)
    if factors.rank * A.shape[1] > SMALL:
        return factors
    rows = [factors.lift(axis) for axis in np.eye(factors.rank)]
    return replace(
        factors, right=Explicit(np.array(rows).reshape(factors.rank, A.shape[1]).T.copy())
    )


def _require_memory(shape: tuple[int, int]) -> None:
    """Refuse, before trying, a factorisation whose small factors alone do not fit: the shorter
    side squared, thrice.
    """
    needed, there = 3 * 8 * min(shape) ** 2, physical_memory()
    if needed > there:
        raise MemoryError(
            f"factorising A of shape {shape} needs about {needed / 2**30:.0f} GiB, and this "
            f"machine has {there / 2**30:.0f}; run with coordinates='full', which works on A "
            "itself and needs no factorisation"
        )


def physical_memory() -> float:
    """Bytes of memory in this machine; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def require_squares(A: Any) -> None:
    """Refuse a matrix whose largest entry squared over- or underflows; an operator does not show
    its entries.
    """
    values = A if isinstance(A, np.ndarray) else A.data if hasattr(A, "tocsr") else None
    largest = 0.0 if values is None else _largest(values)
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"A has a largest entry of {largest:.3g}, whose square over- or underflows; rescale A "
            "and y"
        )


def require_squarable(
    name: str, values: NDArray[np.float64], smallest: float = 0.0, advice: str = "rescale A and y"
) -> None:
    """Refuse entries whose squares overflow, for which no loss could be computed, and those that
    are all too small.
    """
    largest = _largest(values)
    if largest > LARGEST:
        raise ValueError(
            f"{name} has a largest entry of {largest:.3g}, whose square overflows; {advice}"
        )
    if 0.0 < largest < smallest:
        raise ValueError(
            f"{name} has a largest entry of {largest:.3g}, which nothing can be divided by; "
            f"{advice}"
        )


def scaled_norm(vector: Vector) -> float:
    """‖vector‖ without over- or underflow of the squares; NaN or infinite as its entries are."""
    largest = _largest(vector)
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(vector / largest))


def _largest(values: NDArray[np.float64]) -> float:
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def rounding(shape: tuple[int, int]) -> float:
    """The share of the largest singular value under which others are rounding.

    numpy.linalg.matrix_rank's rule, the longer side times eps, up to 64 times the shorter side:
    the rounding of a matrix grows with the longer side no faster than the matrix itself does, so
    that at d = 10⁹ that rule would drop everything beyond a condition number of 4.5e6.
    """
    return EPS * min(max(shape), 64 * min(shape))


def small_svd(square: Matrix, shape: tuple[int, int], noise: Any) -> tuple[Matrix, Vector, Matrix]:
    """SVD of a small factor, truncated to its numerical rank."""
    left, singular, right = np.linalg.svd(square, full_matrices=False)
    smallest = max(singular[0] * rounding(shape), float(np.linalg.norm(noise)))
    rank = int(np.count_nonzero(singular > smallest))
    return left[:, :rank], singular[:rank], right[:rank]


def tall_svd(R: Matrix, shape: tuple[int, int], noise: Any) -> tuple[Matrix, Vector, Matrix]:
    """SVD of the triangular factor of a tall matrix, truncated to its numerical rank.

    With a noise for each column, the rank is that of the columns brought to unit length, so that it
    does not depend on the units of features; where their lengths differ much, Jacobi's method finds
    small singular values as exactly as large ones. A singular value is noise if the rounding of the
    columns it combines is as large.
    """
    if np.ndim(noise) == 0:
        return small_svd(R, shape, noise)
    lengths = np.linalg.norm(R, axis=0)
    units = np.where(lengths > 0, lengths, 1.0)
    kept = lengths > noise
    scaled = np.where(kept, R / units, 0.0)
    singular, right = np.linalg.svd(scaled, full_matrices=False)[1:]
    noisy = np.linalg.norm(right * (noise / units), axis=1)
    smallest = np.maximum(float(singular.max(initial=0.0)) * rounding(shape), noisy)
    rank = int(np.count_nonzero(singular > smallest))
    whole = np.where(kept, R, 0.0)
    if float(units[kept].max(initial=1.0)) <= GRADED * float(units[kept].min(initial=np.inf)):
        left, singular, right = np.linalg.svd(whole, full_matrices=False)
        return left[:, :rank], singular[:rank], right[:rank]
    return _jacobi(whole, rank)


def _jacobi(R: Matrix, rank: int) -> tuple[Matrix, Vector, Matrix]:
    """The first singular values and vectors of a matrix with columns of very different lengths."""
    from scipy.linalg import lapack

    values, left, right, work, _, info = lapack.dgejsv(R, joba=0, jobu=0, jobv=0)
    _require_success("dgejsv", info)
    singular = values * (work[0] / work[1])
    order = np.argsort(-singular, kind="stable")[:rank]
    return left[:, order], singular[order], right[:, order].T


def _factorise_wide(A: Matrix, overwrite: bool, noise: Any) -> Factorisation:
    reflectors, tau = _reflectors(A.T, overwrite)
    left, singular, right = small_svd(np.triu(reflectors[: A.shape[0]]).T, A.shape, noise)
    return Factorisation(singular, Explicit(left), Householder(reflectors, tau, right), REFLECTORS)


def _factorise_tall(A: Matrix, overwrite: bool, noise: Any) -> Factorisation:
    reflectors, tau = _reflectors(A, overwrite)
    left, singular, right = tall_svd(np.triu(reflectors[: A.shape[1]]), A.shape, noise)
    long = Householder(reflectors, tau, left.T)
    return Factorisation(singular, long, Explicit(right.T), REFLECTORS)


def _reflectors(tall: Matrix, overwrite: bool) -> tuple[Matrix, Vector]:
    """The Householder QR of a tall matrix, in its memory or in a copy of it: the one copy of A."""
    from scipy.linalg import lapack

    workspace = int(lapack.dgeqrf_lwork(*tall.shape)[0])
    own = overwrite and tall.flags.writeable  # f2py would write into read-only memory all the same
    reflectors, tau, _, info = lapack.dgeqrf(tall, lwork=workspace, overwrite_a=own)
    _require_success("dgeqrf", info)
    return reflectors, tau


def _factorise_blocks(A: Any, noise: Any) -> Factorisation:
    """TSQR of the long side: with B = A or Aᵀ wide, Bᵀ = Q R and R alone is kept."""
    tall = A.shape[0] > A.shape[1]
    wide = A.T if tall else A
    R = np.zeros((0, wide.shape[0]))
    for block in _blocks(wide):
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
    if tall:
        _, singular, right_rows = tall_svd(R, A.shape, noise)
        short = right_rows.T
    else:
        short, singular, _ = small_svd(R.T, A.shape, noise)
    long = (
        Implicit(wide.T, short / singular)
        if singular.size
        else Explicit(np.zeros((wide.shape[1], 0)))
    )
    quality = REFLECTORS * float(singular[0] / singular[-1]) if singular.size else 0.0
    left, right = (long, Explicit(short)) if tall else (Explicit(short), long)
    return Factorisation(singular, left, right, quality)


def _blocks(wide: Any) -> Iterator[Matrix]:
    """Dense blocks (columns, m) of the transpose of a wide matrix, each about an eighth of it or
    m columns.
    """
    m, d = wide.shape
    size = max(m, math.ceil(d / NUM_PASSES))
    starts = range(0, d, size)
    if hasattr(wide, "tocsc"):
        by_column = wide.tocsc()
        for start in starts:
            yield by_column[:, start : start + size].toarray().T
        return
    rows = max(1, m // NUM_PASSES)
    identity = np.eye(m)
    # one pass of m adjoint products per block; d forward products would cost far more
    for start in starts:
        block = np.empty((min(size, d - start), m))
        for row in range(0, m, rows):
            block[:, row : row + rows] = wide.rmatmat(identity[:, row : row + rows])[
                start : start + size
            ]
        yield block


def _require_success(routine: str, info: int) -> None:
    if info != 0:
        raise RuntimeError(f"LAPACK {routine} failed with info={info}")
