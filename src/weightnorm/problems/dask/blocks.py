"""A wide Dask array A = U S Vᵀ in column blocks: U and S here, V on disk, as blocks of Aᵀ U S⁻¹.

The first pass is the triangle of [Aᵀ | W0], with the starts W0 as further columns: its last rows
hold their parts off the row space, as exact as those in the row space, so that runs, sweeps and
limits read nothing after it. A start that comes later costs two passes of products. Weights are a
Dask array, and reading them is another pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.blas import one_thread
from ..._support.moved import by_old_names
from ..._support.numeric import EPS, Array, Matrix, Vector
from ..coordinates.factorisation import Explicit, Factorisation, small_svd
from .passes import Cost, run_pass
from .tsqr import folded, tree, triangle

Known = dict[Any, tuple[Vector, float]]
MERGED = 2  # blocks are merged until they have so many columns of A for each of its rows
__getattr__ = by_old_names(__name__)


@dataclass(frozen=True, eq=False)
class BlockFactorisation(Factorisation):
    """The factorisation of a wide array in column blocks; V is applied block by block.

    Attributes
    ----------
    A : dask.array.Array
        In one block of rows.
    first, second : (m, rank) array, and (rank, rank) array or None
        V = Aᵀ·first, or (Aᵀ·first)·second once refined.
    names : dict
        The keys of the starts that a Dask array, by its name, has as its rows.
    known : dict
        The row-space coordinates (rank,) of a start and the length of the rest, by its key.
    told, cost
        As in `run_pass`.
    """

    A: Any
    first: Matrix
    second: Matrix | None
    names: dict[str, tuple[Any, ...]]
    known: Known
    told: Any
    cost: Cost

    def lift(self, coordinates: Array) -> Any:
        """V z as a Dask array (d,), or (n, d) row by row; nothing is read yet."""
        return self.combine(coordinates, np.zeros(np.shape(coordinates)[:-1]), None)

    def combine(self, coordinates: Array, share: Any, start: Any) -> Any:
        """V z + share·start as a Dask array: (d,) for z of shape (rank,), (n, d) for (n, rank) and
        shares (n,); nothing is read yet.
        """
        import dask.array as da

        z, several = np.asarray(coordinates, dtype=np.float64), np.ndim(coordinates) == 2
        arrays = (self.A,) if start is None or not np.any(share) else (self.A, start)
        columns = self.A.chunks[1]
        return da.map_blocks(
            _lifted,
            *arrays,
            factors=self._inner(z.T),
            share=np.asarray(share, dtype=np.float64)[..., None],
            drop_axis=() if several else 0,
            chunks=((len(z),), columns) if several else (columns,),
            dtype=np.float64,
            meta=np.empty((0,) * z.ndim),
        )

    def coordinates(self, x: Any) -> Any:
        """Vᵀx for a Dask array x of shape (d,) or, row by row, (n, d)."""
        return self.lengths(x)[0]

    def lengths(self, x: Any) -> tuple[Any, Any]:
        """Vᵀx and ‖x − V Vᵀx‖ for x of shape (d,) or, row by row, (n, d); two passes of products
        where x was not known in the first pass.
        """
        count = 1 if x.ndim == 1 else x.shape[0]
        keys = self.names.setdefault(x.name, tuple((x.name, i) for i in range(count)))
        if not all(key in self.known for key in keys):
            z, rest = self._measured(x[None] if x.ndim == 1 else x)
            self.known.update(zip(keys, zip(z, rest, strict=True), strict=True))
        z, rest = (np.array(part) for part in zip(*(self.known[key] for key in keys), strict=True))
        return (z[0], rest[0]) if x.ndim == 1 else (z, rest)

    def split(self, x: Any) -> tuple[Any, Any]:
        """Row-space coordinates (rank,) and the rest (d,), the latter as a Dask array."""
        z = self.coordinates(x)
        return z, self.combine(-z, 1.0, x)

    def remember(self, name: str, z: Vector, perp: float) -> None:
        """Keep what is known of a vector that was made here: its coordinates and ‖x⊥‖."""
        self.names[name] = (name,)
        self.known[name] = z, abs(perp)

    def _inner(self, z: Array) -> tuple[Matrix, Matrix | None]:
        """What blocks are multiplied by for V z, with z (rank,) or (rank, n)."""
        with one_thread():
            return (self.first @ z, None) if self.second is None else (self.first, self.second @ z)

    def _measured(self, X: Any) -> tuple[Array, Vector]:
        """z = Vᵀx, and the length of x − Vz: from ‖x‖² less ‖z‖² it would have half the digits."""
        z, _ = self._products("products with starts", X, None)
        return z, np.sqrt(self._products("what is left of starts", X, z)[1])

    def _products(self, what: str, X: Any, z: Array | None) -> tuple[Array, Vector]:
        """Vᵀr and ‖r‖² of r = x − Vz, row by row: one pass."""
        import dask
        import dask.array as da

        n, m = X.shape[0], self.A.shape[0]
        parts = da.map_blocks(
            _product,
            self.A,
            X,
            factors=None if z is None else self._inner(z.T),
            dtype=np.float64,
            chunks=((n,), (m + 1,) * self.A.numblocks[1]),
            meta=np.empty((0, 0)),
        )
        leaves = list(parts.to_delayed().ravel())
        total = tree(leaves, dask.delayed(_summed, pure=True))
        found = run_pass(what, total, leaves, block_bytes(self.A), self.told, self.cost)
        left: Any = self.left
        with one_thread():
            return (found[:, :-1] @ left.columns) / self.singular_values, found[:, -1]


@one_thread()
def factorise_columns(
    A: Any, starts: Any, names: dict[str, tuple[Any, ...]], refine: bool, told: Any, cost: Cost
) -> BlockFactorisation:
    """Factorise a wide Dask array in column blocks: one pass, and another to refine.

    Parameters
    ----------
    A : dask.array.Array
        (m, d) with m ≤ d, in one block of rows.
    starts : dask.array.Array or None
        Unit vectors (n, d), row by row, in the columns' blocks.
    names : dict
        As in `BlockFactorisation`; it has the keys of the starts.
    refine : bool
        Whether to read A once more for a V that is orthonormal to rounding.
    told, cost
        As in `run_pass`.

    Returns
    -------
    BlockFactorisation
        With what is known of the starts.
    """
    R = _triangle("factorisation", A, starts, None, told, cost)
    m = A.shape[0]
    left, singular, right = small_svd(R[:m, :m].T, A.shape, 0.0)
    first, second = left / singular, None
    if refine and singular.size:
        again = _triangle("refinement", A, starts, first, told, cost)
        rank = singular.size
        # A = U S (R2)ᵀ Q2ᵀ
        turned, singular, right = np.linalg.svd(singular[:, None] * again[:rank, :rank].T)
        left = left @ turned
        second = np.asarray(np.linalg.solve(again[:rank, :rank], right.T), dtype=np.float64)
        R, m = again, rank
    inside, below = R[:m, m:], R[m:, m:]
    quality = 8 * EPS
    if second is None and singular.size:
        quality *= float(singular[0] / singular[-1])
    z = right @ inside
    rest = inside - right.T @ z
    more = right @ rest
    rest -= right.T @ more
    size = np.hypot(np.linalg.norm(rest, axis=0), np.linalg.norm(below, axis=0))
    keys = () if starts is None else names[starts.name]
    known: Known = dict(zip(keys, zip((z + more).T, size, strict=True), strict=True))
    return BlockFactorisation(
        singular,
        Explicit(left),
        Explicit(np.empty((0, 0))),
        quality,
        A,
        first,
        second,
        names,
        known,
        told,
        cost,
    )


def _triangle(what: str, A: Any, X: Any, first: Matrix | None, told: Any, cost: Cost) -> Matrix:
    """R of [Aᵀ | Xᵀ], or of [Aᵀ·first | Xᵀ]: one pass."""
    import dask
    import dask.array as da

    A = A.rechunk({1: merged(A.chunks[1], MERGED * A.shape[0])})
    width = A.shape[0] if first is None else first.shape[1]
    p = width + (0 if X is None else X.shape[0])
    arrays = (A,) if X is None else (A, X.rechunk({1: A.chunks[1]}))
    triangles = da.map_blocks(
        _leaf,
        *arrays,
        first=first,
        dtype=np.float64,
        chunks=((p,), (p,) * A.numblocks[1]),
        meta=np.empty((0, 0)),
    )
    leaves = list(triangles.to_delayed().ravel())
    root = tree(leaves, dask.delayed(folded, pure=True))
    return np.asarray(run_pass(what, root, leaves, block_bytes(A), told, cost))


def merged(sizes: Sequence[int], least: int) -> tuple[int, ...]:
    """Neighbouring blocks together until each has `least` entries, as far as there are.

    Examples
    --------
    >>> from weightnorm.problems.dask.blocks import merged
    >>> merged((3, 3, 3, 10, 1), least=5)
    (6, 14)
    """
    out: list[int] = []
    waiting = 0
    for size in sizes:
        waiting += size
        if waiting >= least:
            out.append(waiting)
            waiting = 0
    if waiting:
        out[-1:] = [waiting + (out[-1] if out else 0)]
    return tuple(out)


def block_bytes(A: Any) -> list[int]:
    """The bytes of every block, in order."""
    rows, columns = A.chunks
    return [A.dtype.itemsize * a * b for a in rows for b in columns]


def _leaf(block: Any, starts: Any = None, *, first: Any = None, block_id: Any = None) -> Matrix:
    """The triangle of one block: of its columns, as rows."""
    require_array(block)
    with one_thread():
        columns = [block.T if first is None else _plain(block).T @ first]
    if starts is not None:
        columns.append(starts.T)
    R = triangle(*columns)
    require_finite_block(R, block, block_id)
    return R


def require_array(block: Any) -> None:
    """Refuse a block that is not a plain array, whatever Dask was told: a mask would be lost."""
    if not isinstance(block, np.ndarray) or isinstance(block, np.ma.MaskedArray):
        kind = type(block)
        raise TypeError(
            f"A has a block of {kind.__module__}.{kind.__name__}; fill or convert them first"
        )


def require_finite_block(R: Matrix, block: Any, block_id: Any) -> None:
    """Refuse a block with NaN or infinities, which its triangle shows, and say which one."""
    if np.isfinite(R).all():
        return
    bad = int(np.count_nonzero(~np.isfinite(block)))
    what = f"{bad} entries that are NaN or infinite" if bad else "entries too large to be squared"
    raise ValueError(f"A has {what} in its block {tuple(block_id or ())}; remove or rescale them")


def _lifted(block: Any, start: Any = None, *, factors: Any, share: Any) -> Array:
    with one_thread():
        x = _applied(block, factors).T
    return x if start is None else np.asarray(x + share * start)


def _product(block: Any, x: Any, *, factors: Any) -> Matrix:
    """[r Aᵀ | ‖r‖²] of r = x − V z, for the columns of one block."""
    with one_thread():
        rest, block = _plain(x), _plain(block)
        if factors is not None:
            rest = rest - _applied(block, factors).T
        squares = np.einsum("ij,ij->i", rest, rest)
        return np.column_stack([rest @ block.T, squares])


def _applied(block: Any, factors: Any) -> Array:
    first, second = factors
    product = _plain(block).T @ first
    return np.asarray(product if second is None else product @ second)


def _plain(block: Any) -> Array:
    """Row by row and aligned in memory: a block that came over the network may begin at any byte,
    and then NumPy multiplies it by a loop of its own, with other bits and far slower than BLAS.
    """
    return np.require(block, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _summed(parts: list[Array]) -> Array:
    """In their order, so that the bits are those of any number of workers."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
