"""Starts of runs on a wide Dask array: unit vectors in its blocks, each known by a key.

A start is told from all others by its numbers where they are in memory, and by Dask's own name
where they are not. So a start that the first pass over A has seen is known again, alone or among
others, and costs no other pass.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.moved import by_old_names
from ..._support.numeric import Vector
from ..coordinates.factorisation import scaled_norm

__getattr__ = by_old_names(__name__)


class ChunkedStarts:
    """The starts of runs on a wide Dask array.

    Parameters
    ----------
    A : dask.array.Array
        (m, d), in one block of rows.

    Attributes
    ----------
    names : dict
        The keys of the starts that a Dask array, by its name, has as its rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from weightnorm.problems.dask.starts import ChunkedStarts
    >>> starts = ChunkedStarts(da.ones((2, 6), chunks=(2, 3)))
    >>> starts.one("direction", [3.0, 0.0, 0.0, 4.0, 0.0, 0.0]).compute()
    array([0.6, 0. , 0. , 0.8, 0. , 0. ])
    """

    def __init__(self, A: Any) -> None:
        self.dimension, self.chunks = int(A.shape[1]), A.chunks[1]
        self.names: dict[str, tuple[Any, ...]] = {}
        self._waiting: dict[Any, Any] | None = {}  # for the first pass, by key; None after it
        self._lengths: dict[str, Vector] = {}  # of starts as they were given

    def one(self, name: str, direction: Any) -> Any:
        """A direction (d,) of length 1 in the blocks of A; `name` is what messages call it."""
        rows, keys = self._unit_rows(name, direction, 1)
        unit = rows[0]
        self._keep(keys, rows, unit, unit[None])
        return unit

    def several(self, name: str, directions: Any) -> Any:
        """Directions (n, d), each of length 1, in the blocks of A."""
        rows, keys = self._unit_rows(name, directions, 2)
        self._keep(keys, rows)
        return rows

    def waiting(self, most: int) -> Any:
        """The first of the starts so far as one array (n, d), for the first pass; None without
        any. The others are measured when they are needed.
        """
        import dask.array as da

        waiting = self._waiting or {}
        keys = list(waiting)[:most]
        rows = [waiting[key] for key in keys]
        if not rows:
            return None
        together = da.stack(rows).rechunk((-1, self.chunks))
        self.names[together.name] = tuple(keys)
        return together

    def seen(self) -> None:
        """The first pass is over: no start need wait for it any more."""
        self._waiting = None

    def _keep(self, keys: tuple[Any, ...], rows: Any, *others: Any) -> None:
        for array in (rows, *others):
            self.names[array.name] = keys
        if self._waiting is not None:
            for key, row in zip(keys, rows, strict=True):
                self._waiting.setdefault(key, row)

    def _unit_rows(self, name: str, given: Any, ndim: int) -> tuple[Any, tuple[Any, ...]]:
        """Rows (n, d) of length 1 and their keys: a pass over the starts alone, not over A."""
        import dask.array as da
        from dask.base import tokenize

        several = isinstance(given, list | tuple) and any(map(validate.is_dask, given))
        if several and (ndim == 1 or {np.shape(part) for part in given} != {(self.dimension,)}):
            what = "one vector" if ndim == 1 else f"vectors of {self.dimension} entries"
            shapes = sorted({str(np.shape(part)) for part in given})
            raise ValueError(f"{name} must be {what}, got a list of shapes {', '.join(shapes)}")
        rows = da.stack(list(given)) if several else given
        if not validate.is_dask(rows):
            if ndim == 1:
                unit = validate.direction(name, rows, self.dimension)[None]
            else:
                unit = validate.directions(rows, self.dimension)
            keys = tuple(tokenize(row) for row in unit)
            return da.from_array(unit, chunks=(-1, self.chunks)), keys
        if not several and given.ndim not in (1, ndim):
            raise ValueError(f"{name} must have {self.dimension} entries, got shape {given.shape}")
        validate.require_plain_blocks(name, rows)
        if several:
            keys = tuple(part.name if validate.is_dask(part) else tokenize(part) for part in given)
        elif rows.ndim == 1:
            keys, rows = (rows.name,), rows[None]
        else:
            keys = tuple(row.name for row in rows)
        validate.require_real_dtype(name, rows.dtype)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(
                f"{name} must have {self.dimension} entries, one per feature, got shape "
                f"{rows.shape[1:] if ndim == 1 else rows.shape}"
            )
        rows = rows.astype(np.float64).rechunk((-1, self.chunks))
        if rows.name not in self._lengths:
            parts = rows.map_blocks(
                _lengths, dtype=np.float64, chunks=(rows.chunks[0], (1,) * rows.numblocks[1])
            )
            length = np.array([scaled_norm(row) for row in parts.compute()])
            if not (np.isfinite(length).all() and length.all()):
                what = "is zero" if not length.all() else "has NaN, infinite or huge entries"
                raise ValueError(f"{name} {what}; see wn.datasets.random_direction(…, chunks=…)")
            self._lengths[rows.name] = length
        return rows / self._lengths[rows.name][:, None], keys

    def copy(self) -> ChunkedStarts:
        """The same starts, to be seen by another first pass."""
        other = copy(self)
        other.names, other._lengths = dict(self.names), dict(self._lengths)
        other._waiting = None if self._waiting is None else dict(self._waiting)
        return other


def _lengths(block: Any) -> Any:
    """The length of each row's part in a block, without over- or underflow."""
    return np.array([[scaled_norm(row)] for row in np.asarray(block)])
