"""Reduced coordinates of a wide Dask array: starts enter by name, weights leave block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support.numeric import Array, Vector
from ..coordinates.reduction import NEGLIGIBLE, RowSpace, collapse, unit_rest
from ..lifting import Lifter
from .blocks import BlockFactorisation


class ChunkedRowSpace(RowSpace):
    """The reduced coordinates of a wide Dask array.

    A unit vector w0 = V z0 + q0·u has its coordinates from the first pass. The axis u is never
    made: V z + p·u is V (z − (p/q0) z0) + (p/q0) w0, one product a block.
    """

    factors: BlockFactorisation

    def enter(self, directions: Any) -> Array:
        """Unit vectors (n, d) in blocks -> coordinates (n, rank + 1)."""
        z, size = self._lengths(directions)
        return np.column_stack([collapse(self.groups, z), size])

    def start(self, direction: Any) -> tuple[Vector, Lifter]:
        """The coordinates (rank + 1,) of one unit vector, and what leads back."""
        z, size = self._lengths(direction)
        coordinates = np.append(collapse(self.groups, z)[0], size)
        rests = tuple(
            unit_rest(z[0, group.start : group.stop], group.along) for group in self.groups
        )
        return coordinates, Lifter(self, (direction, z[0], float(size[0]), rests))

    def lift(self, coordinates: Array, axes: tuple[Any, ...]) -> Any:
        """The vector with these coordinates, as a Dask array; nothing is read yet."""
        start, z0, size, rests = axes
        share = float(coordinates[-1]) / size if size > 0 else 0.0
        z = self._expand(coordinates[:-1], rests)
        lifted = self.factors.combine(z - share * z0, share, start)
        self.factors.remember(lifted.name, z, float(coordinates[-1]))
        return lifted

    def lift_rows(self, rows: Array, axes: tuple[Any, ...]) -> Any:
        """The vectors (n, d) with these coordinates, as one Dask array: one pass for all."""
        start, z0, size, rests = axes
        share = rows[:, -1] / size if size > 0 else np.zeros(len(rows))
        expanded = [self._expand(row[:-1], rests) for row in rows]
        z = np.array(expanded).reshape(len(rows), z0.size) - share[:, None] * z0
        return self.factors.combine(z, share, start)

    def _lengths(self, directions: Any) -> tuple[Array, Vector]:
        """z and ‖w⊥‖; what is rounding in either becomes an exact zero."""
        found = self.factors.lengths(directions)
        z, size = np.array(found[0], ndmin=2), np.array(found[1], ndmin=1)
        threshold = max(NEGLIGIBLE, 8 * self.factors.orthogonality)
        size[size <= threshold] = 0.0
        z[np.linalg.norm(z, axis=1) <= threshold] = 0.0
        return z, size
