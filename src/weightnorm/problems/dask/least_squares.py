"""Least squares on a Dask array: A is read once, however many runs there are."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.blas import one_thread
from ..._support.numeric import LARGEST, Array, Vector
from ..coordinates.factorisation import scaled_norm
from ..coordinates.reduction import RowSpace
from ..lifting import Reduction
from ..linear.least_squares import LeastSquares
from ..linear.model import as_targets
from ..losses import Squared
from .blocks import BlockFactorisation, block_bytes, factorise_columns
from .passes import Cost
from .rows import Rows, factorise_rows
from .space import ChunkedRowSpace
from .starts import ChunkedStarts
from .tsqr import FAN_IN, MOST_ROWS, ROWS

MANY = 32  # starts that join the first pass, at least; more than that only up to the rows of A


class ChunkedLeastSquares(LeastSquares):
    """Least squares on a Dask array in column blocks (wide A) or row blocks (tall A).

    `LeastSquares(A, y)` makes one where A is a Dask array. The first run, sweep or limit reads A
    once; all later ones from the same starts read nothing. Weights of a wide A are Dask arrays,
    which read A once more when they are computed or stored. See docs/guides/larger-than-memory.md.

    Parameters
    ----------
    A : dask.array.Array
        Wide in one block of rows, or tall in one block of columns; chunked both ways it has no
        factorisation, only `min_norm_solution(iterative=True)` and limits by iteration.
    y : (m,) array, or Dask array
    solution : (d,) array, optional
    refine : bool
        Read a wide A once more, so that weights are orthonormal combinations to rounding instead of
        to rounding times the condition number.
    progress : callable, bool, optional
        As in `LeastSquares`.
    """

    def __init__(
        self, A: Any, y: Any, *, solution: Any = None, refine: bool = False, progress: Any = None
    ) -> None:
        self.A = as_chunked(A)
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self.num_samples, self.dimension = self.shape
        self.is_tall = self.shape[0] > self.shape[1]
        self.refine, self.progress = bool(refine), progress
        self.y = self._targets(y)
        self.solution = solution
        self._iterative_solution = None
        self._starts = ChunkedStarts(self.A)

    def _targets(self, y: Any) -> Any:
        """y in memory; for a tall A as it is, in the blocks of A's rows."""
        if not validate.is_dask(y):
            return as_targets(y, self.shape[0], self.shape)
        if y.shape != self.shape[:1]:
            raise ValueError(
                f"y must have {self.shape[0]} entries, one per row of A {self.shape}, got shape "
                f"{y.shape}"
            )
        if not self.is_tall:
            return as_targets(y.compute(), self.shape[0], self.shape)
        validate.require_real_dtype("y", y.dtype)
        validate.require_plain_blocks("y", y)
        return y

    def __repr__(self) -> str:
        blocks = self.A.numblocks[1 - int(self.is_tall)]
        return f"LeastSquares(shape={self.shape}, a Dask array of {blocks} blocks)"

    def with_targets(self, y: Any) -> LeastSquares:
        """The same A with another y; a tall A is read again for it."""
        other = copy(self)
        drop = ("_reductions", "target", "floor", "zero_loss")
        for name in (*drop, "factorisation") if self.is_tall else drop:
            other.__dict__.pop(name, None)
        other.y, other._iterative_solution, other.solution = self._targets(y), None, None
        if not self.is_factorised:
            other._starts = self._starts.copy()
        return other

    def centred(self) -> LeastSquares:
        """The problem with the mean of every column of A, and that of y, taken off; the means of a
        tall A are one pass.
        """
        means = self.A.mean(axis=0, keepdims=True)
        y = np.asarray(self.y) - np.asarray(self.y).mean()
        A = self.A - (means.compute() if self.is_tall else means)
        return ChunkedLeastSquares(A, y - y.mean(), refine=self.refine, progress=self.progress)

    def _refined(self, target: Vector) -> Vector:
        """The target as it is: every correction would read A, which `refine` does where weights are
        lifted.
        """
        return target

    # What it costs, and the one pass.

    def cost(self) -> Cost:
        """What it takes to read A.

        Returns
        -------
        Cost
            Passes, bytes, flops and memory, before anything is read.
        """
        short = min(self.shape)
        largest = 2 * max(block_bytes(self.A))  # as it is stored, and as an array
        rows = 8 * min(MOST_ROWS, ROWS * short) * short
        return Cost(
            num_bytes=sum(block_bytes(self.A)),
            flops=2.0 * max(self.shape) * short**2,
            memory=largest + rows + 8 * (FAN_IN + 2) * short**2,
            passes=1 if self.is_tall else 2 + self.refine,
        )

    @cached_property
    def factorisation(self) -> Any:
        """A = U S Vᵀ; the one pass over A, made at first use and kept."""
        self._require_one_way()
        if self.is_tall:
            found: Any = factorise_rows(self.A, self.y, self.progress, self.cost())
        else:
            starts = self._starts
            waiting = starts.waiting(max(MANY, self.shape[0]))
            found = factorise_columns(
                self.A, waiting, starts.names, self.refine, self.progress, self.cost()
            )
            starts.seen()
        largest = float(found.singular_values.max(initial=0.0))
        if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
            raise ValueError(
                f"A has a norm of {largest:.3g}, whose square over- or underflows; rescale A and y"
            )
        return found

    def factorise(self, noise: Any = 0.0, in_place: bool = False) -> None:
        """Read A now."""
        self.factorisation  # noqa: B018 (computed and kept)

    def _require_one_way(self) -> None:
        rows, columns = self.A.numblocks
        if (columns if self.is_tall else rows) == 1:
            return
        axis, other, kind = (1, 0, "row") if self.is_tall else (0, 1, "column")
        raise ValueError(
            f"A {self.shape} is in {rows} × {columns} blocks, and must be in {kind} blocks to be "
            f"factorised: A.rechunk({{{axis}: -1, {other}: 'auto'}}); where neither side fits, "
            "wn.theory.flow_limit(…, iterative=True) and min_norm_solution(iterative=True) need no "
            "factorisation"
        )

    @property
    def operator(self) -> Any:
        """A as products with it and with its transpose, one pass each."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape,
            matvec=lambda x: _finite(self.A @ np.ravel(x)),
            rmatvec=lambda r: _finite(self.A.T @ np.ravel(r)),
            dtype=np.float64,
        )

    # Starts: unit vectors in the blocks of A, known by name in the first pass.

    def unit_direction(self, name: str, direction: Any, columns: bool) -> Any:
        """A direction in the blocks of A, of length 1; a NumPy vector for a tall A."""
        if self.is_tall:
            return validate.direction(name, _in_memory(direction), self.dimension)
        return self._starts.one(name, direction)

    def unit_directions(self, directions: Any, columns: bool) -> Any:
        """Several directions (n, d), or one, in the blocks of A."""
        if self.is_tall:
            return validate.directions(_in_memory(directions), self.dimension)
        return self._starts.several("directions", directions)

    def announce_starts(self, directions: Any) -> None:
        """See these starts in the first pass."""
        if not self.is_factorised:
            self.unit_directions(directions, columns=False)

    def start_at(self, result: Any, columns: bool, has_scale: bool) -> tuple[Array, Any]:
        """The scale and direction of a result that another method goes on from."""
        if self.is_tall:
            return super().start_at(result, columns, has_scale)
        if result.weights.shape != (self.dimension,):
            raise ValueError(
                f"start has {result.weights.size} weights, the problem has {self.dimension} "
                "features"
            )
        unit = result.direction
        if not validate.is_dask(unit):  # of a run in memory
            unit = self._starts.one("start", unit)
        return np.array([result.scale]), unit

    # The loss, block by block.

    def value_and_gradient(self, x: Any) -> tuple[Any, Any]:
        """The loss and its gradient; one pass, and another when a wide A's gradient, a Dask array,
        is computed.
        """
        import dask

        if x.shape[-1:] != (self.dimension,) or x.ndim not in (1, 2):
            raise ValueError(
                f"x must have shape ({self.dimension},) or (n, {self.dimension}), got {x.shape}"
            )
        residual = (self.A @ x.T).T - self.y
        if not self.is_tall:
            residual = np.asarray(residual.compute())
            loss = 0.5 * np.einsum("...i,...i->...", residual, residual)
            return loss, (self.A.T @ residual.T).T
        loss, gradient = 0.5 * (residual * residual).sum(axis=-1), (self.A.T @ residual.T).T
        found: tuple[Any, Any] = dask.compute(loss, gradient)
        return found

    def value(self, x: Any) -> Any:
        """The loss ½‖Ax − y‖², for x of shape (d,) or (n, d): NumPy, or a Dask array; one pass."""
        return self.value_and_gradient(_points(x))[0]

    def gradient(self, x: Any) -> Any:
        """The gradient Aᵀ(Ax − y), a Dask array for a wide A; one pass, and another for that."""
        return self.value_and_gradient(_points(x))[1]

    # What the factorisation knows.

    @cached_property
    def target(self) -> Vector:
        """x* in row-space coordinates."""
        if not self.is_tall:
            with one_thread():
                return self._target()
        rows: Rows = self.factorisation
        return rows.target

    @cached_property
    def floor(self) -> float:
        """The smallest loss."""
        if not self.is_tall:
            with one_thread():
                return self._floor()
        rows: Rows = self.factorisation
        return rows.floor

    @cached_property
    def zero_loss(self) -> float:
        """½‖y‖²."""
        if not self.is_tall:
            return 0.5 * float(self.y @ self.y)
        rows: Rows = self.factorisation
        return rows.zero_loss

    @cached_property
    def largest_eigenvalue(self) -> float:
        """λmax(AᵀA), from the factorisation."""
        singular = self.factorisation.singular_values
        return float(singular[0] ** 2) if singular.size else 0.0

    def reduction(self, samples: bool) -> Any:
        """Row-space coordinates; those with samples kept apart for a wide A only."""
        if samples and self.is_tall:
            raise TypeError(
                f"mini-batches and label noise need every row of A {self.shape} at hand, and a "
                "tall Dask array is read once; run without them, or on some of its rows in memory"
            )
        factors = self.factorisation
        kind = RowSpace if self.is_tall else ChunkedRowSpace
        if samples:
            return kind.model(self, Squared(self.y), np.append(self.target, 0.0))
        return kind.diagonal(factors, self.target, self.floor, self.zero_loss)

    def in_full(self) -> Reduction:
        """Refused: full coordinates would read A at every step."""
        raise TypeError(
            "runs on a Dask array are made in reduced coordinates, and this one asks for full ones "
            "(coordinates='full', or a method without rotation_equivariant = True), which would "
            "read A at every step; use A.compute() if it fits into memory"
        )

    def split(self, x: Any) -> tuple[Any, Any]:
        """x as its parts in the row space of A and off it."""
        if self.is_tall:
            z, rest = self.factorisation.split(_in_memory(x))
            return self.factorisation.lift(z), rest
        factors: BlockFactorisation = self.factorisation
        x = self._in_blocks(x)
        z, rest = factors.split(x)
        return factors.lift(z), rest

    def _in_blocks(self, x: Any) -> Any:
        import dask.array as da

        x = x if validate.is_dask(x) else da.from_array(_points(x), chunks=-1)
        return x.rechunk((self.A.chunks[1],))

    def perp_and_distance(self, weights: Any, columns: bool) -> tuple[float, float]:
        """‖x⊥‖ and ‖x − x*‖ of weights."""
        if self.is_tall:
            return super().perp_and_distance(weights, columns)
        z, perp = self.factorisation.lengths(self._in_blocks(weights))
        return float(perp), float(np.hypot(scaled_norm(z - self.target), perp))

    def is_finite(self, result: Any) -> bool:
        """Whether a result has finite weights, without reading A for them."""
        return bool(np.isfinite(result.loss) and np.all(np.isfinite(result.scale)))

    def fingerprint(self) -> tuple[Any, ...]:
        """What tells this problem from others: Dask's own name of A, and y."""
        y = self.y if isinstance(self.y, np.ndarray) else np.zeros(0)
        name = getattr(self.y, "name", "")
        return f"{type(self).__name__} {self.shape} {self.A.name} {name}", y


def as_chunked(A: Any) -> Any:
    """A Dask array, checked without reading it."""
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(
            f"A must be a matrix (m, d) with at least one row and one column, got shape {A.shape}"
        )
    if not all(isinstance(size, int) or float(size).is_integer() for size in A.shape):
        raise ValueError("A has blocks of unknown sizes; call A.compute_chunk_sizes() first")
    validate.require_real_dtype("A", A.dtype)
    validate.require_plain_blocks("A", A)
    return A


def _finite(product: Any) -> Vector:
    """A product with A, which NaN in A would make an endless search."""
    found = np.asarray(product.compute())
    if not np.isfinite(found).all():
        raise ValueError(
            "A has entries that are NaN, infinite or too large; remove or rescale them"
        )
    return found


def _in_memory(x: Any) -> Any:
    return x.compute() if validate.is_dask(x) else x


def _points(x: Any) -> Any:
    return x if validate.is_dask(x) else validate.vector_or_rows("x", x)
