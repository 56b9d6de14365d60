"""A tall Dask array in row blocks: one triangle of [A | y] is all there is to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.blas import one_thread
from ..._support.numeric import EPS, Vector
from ..._support.validate import is_dask
from ..coordinates.factorisation import Explicit, Factorisation, scaled_norm, tall_svd
from .blocks import MERGED, block_bytes, merged, require_array, require_finite_block
from .passes import Cost, run_pass
from .tsqr import folded, tree, triangle


@dataclass(frozen=True, eq=False)
class Rows(Factorisation):
    """The factorisation of a tall array in row blocks, with what it says of y.

    Attributes
    ----------
    target : (rank,) array
        x* in row-space coordinates.
    floor, zero_loss : float
        Half the squares of the part of y out of reach, and of y.
    """

    target: Vector
    floor: float
    zero_loss: float


@one_thread()
def factorise_rows(A: Any, y: Any, told: Any, cost: Cost) -> Rows:
    """Factorise a tall Dask array in row blocks, and project y: one pass.

    Parameters
    ----------
    A : dask.array.Array
        (m, d) with m > d, in one block of columns.
    y : (m,) array or Dask array
    told, cost
        As in `run_pass`.

    Returns
    -------
    Rows
        V and S of A = U S Vᵀ, and Uᵀy; U, as long as A, is not kept.
    """
    import dask
    import dask.array as da

    d, sizes = A.shape[1], merged(A.chunks[0], MERGED * A.shape[1])
    A = A.rechunk({0: sizes})
    column = (y if is_dask(y) else da.from_array(y, chunks=-1))[:, None].rechunk((sizes, 1))
    triangles = da.map_blocks(
        _leaf,
        A,
        column,
        dtype=np.float64,
        chunks=((d + 1,) * len(sizes), (d + 1,)),
        meta=np.empty((0, 0)),
    )
    leaves = list(triangles.to_delayed().ravel())
    root = tree(leaves, dask.delayed(folded, pure=True))
    R = np.asarray(run_pass("factorisation", root, leaves, block_bytes(A), told, cost))
    left, singular, right = tall_svd(R[:d, :d], A.shape, 0.0)
    projected = R[:d, d]
    inside = left.T @ projected
    rest = projected - left @ inside
    rest -= left @ (left.T @ rest)
    length = scaled_norm(R[:, d])
    out = scaled_norm(np.append(rest, R[d, d]))
    if scaled_norm(inside) <= 16 * EPS * length:  # y is wholly out of reach
        inside = np.zeros_like(inside)
    return Rows(
        singular,
        Explicit(np.empty((0, 0))),
        Explicit(right.T),
        8 * EPS,
        inside / singular,
        0.0 if out <= 16 * EPS * length else 0.5 * out**2,
        0.5 * length**2,
    )


def _leaf(block: Any, y: Any, *, block_id: Any = None) -> Any:
    """The triangle of one block of rows, with y as its last column."""
    require_array(block)
    R = triangle(block, y)
    if not np.isfinite(R[:, -1]).all() and np.isfinite(R[:, :-1]).all():
        raise ValueError("y has entries that are NaN, infinite or too large to be squared")
    require_finite_block(R, block, block_id)
    return R
