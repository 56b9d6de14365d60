"""The triangular factor of a tall matrix that is read once, block by block.

R of [columns₁ | columns₂ | …] is all that runs, limits and norms need of the data. Every block
gives a triangle; triangles are folded together by a tree of fixed fan-in. The tree depends on the
blocks alone, and every fold runs on one BLAS thread: the bits of R do not depend on how many
workers there are, or which.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support.blas import one_thread
from ..._support.numeric import Matrix
from .lapack import fold_rows

FAN_IN = 4  # triangles folded by one task: so many are in memory at once
ROWS = 8  # rows folded at once, in multiples of the columns: they stay in the cache
MOST_ROWS = 8192
PANEL = 32


def triangle(*columns: Any) -> Matrix:
    """R (p, p) of the matrix [columns₁ | columns₂ | …] with p columns in all.

    Parameters
    ----------
    *columns : (n, p_i) arrays
        Side by side they are the matrix; n may be smaller than p.

    Returns
    -------
    (p, p) array
        Upper triangular; the signs of its rows mean nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.dask.tsqr import triangle
    >>> A = np.random.default_rng(0).standard_normal((1000, 3))
    >>> R = triangle(A[:, :2], A[:, 2:])
    >>> bool(np.allclose(R.T @ R, A.T @ A)), bool((np.tril(R, -1) == 0).all())
    (True, True)
    """
    widths = [part.shape[1] for part in columns]
    p, n = sum(widths), columns[0].shape[0]
    ends = np.cumsum([0, *widths])
    R = np.zeros((p, p), order="F")
    step = min(MOST_ROWS, max(ROWS * p, 64))
    with one_thread():
        for first in range(0, n, step):
            rows = np.empty((min(step, n - first), p), order="F")
            for part, a, b in zip(columns, ends[:-1], ends[1:], strict=True):
                rows[:, a:b] = part[first : first + step]
            fold_rows(R, rows, triangular=False, panel=PANEL)
    return np.triu(R)


def folded(triangles: list[Matrix]) -> Matrix:
    """R of triangles one above the other, folded in their order.

    Parameters
    ----------
    triangles : list of (p, p) arrays
        Upper triangular.

    Returns
    -------
    (p, p) array
        Upper triangular.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.dask.tsqr import folded, triangle
    >>> A = np.random.default_rng(0).standard_normal((1000, 3))
    >>> R = folded([triangle(A[:600]), triangle(A[600:])])
    >>> bool(np.allclose(R.T @ R, A.T @ A))
    True
    """
    R = np.array(triangles[0], order="F")
    with one_thread():
        for other in triangles[1:]:
            fold_rows(R, np.array(other, order="F"), triangular=True, panel=PANEL)
    return np.triu(R)


def tree(leaves: list[Any], fold: Any) -> Any:
    """The root over leaves: neighbours are folded FAN_IN at a time, level by level.

    Parameters
    ----------
    leaves : list
        Triangles, or tasks that will be.
    fold : callable
        Of a list: `folded`, or a task that calls it.

    Returns
    -------
    object
        What the last fold gives; the leaf itself where there is one.

    Examples
    --------
    >>> from weightnorm.problems.dask.tsqr import tree
    >>> tree(list("abcdef"), "".join)
    'abcdef'
    >>> tree(list("abcdef"), lambda parts: f"({''.join(parts)})")
    '((abcd)(ef))'
    """
    while len(leaves) > 1:
        leaves = [fold(leaves[i : i + FAN_IN]) for i in range(0, len(leaves), FAN_IN)]
    return leaves[0]
