"""Coordinates for runs, and the way back from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._support.numeric import Array


@dataclass(eq=False)
class Reduction:
    """Coordinates for runs, an isometric image of the problem's own; here these themselves.

    A problem with better ones returns a subclass from `Problem.reduction`, with `enter` and `lift`,
    and `start` if lifting needs to know where a run started.

    Attributes
    ----------
    problem : Problem
        The problem in these coordinates, with a `reference` of its own for distances.
    trusted : bool
        Whether `lift` is known to undo `enter`; where it is not, every run looks at its start.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> coordinates, lifter = problem.reduce().start(w0)
    >>> coordinates.size < 22, lifter.lift(coordinates).shape
    (True, (50,))
    """

    problem: Any
    trusted: ClassVar[bool] = False

    def enter(self, units: Array) -> Array:
        """Unit vectors (n, …) -> their coordinates, also of unit length."""
        return units

    def start(self, unit: Array) -> tuple[Array, Lifter]:
        """The coordinates of one unit vector, and what leads back: a Lifter with whatever axes
        `lift` needs.
        """
        return self.enter(unit[None])[0], Lifter(self)

    def lift(self, coordinates: Array, axes: tuple[Any, ...]) -> Array:
        """The vector with these coordinates, for a start with these axes."""
        return coordinates

    def lift_rows(self, rows: Array, axes: tuple[Any, ...]) -> Array:
        """The vectors (n, …) with these coordinates, row by row."""
        return np.array([self.lift(row, axes) for row in rows])

    def perp_units(self, units: Array, wanted: bool) -> Array | None:
        """Unit vectors (n, k), or (1, k) for all, along each start's part off the row space; zero
        where there is none.

        None where they are not known, or only at a price and not `wanted`.
        """
        return None


@dataclass(frozen=True, eq=False)
class Lifter:
    """The coordinate axes of one start: what turns coordinates back into weights.

    Attributes
    ----------
    reduction : Reduction
        Whose coordinates they are.
    axes : tuple
        Whatever `Reduction.lift` needs to know of the start.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems import Reduction
    >>> coordinates, lifter = Reduction(problem=None).start(np.array([0.6, 0.8]))
    >>> lifter.lift(coordinates)  # the plain reduction changes nothing
    array([0.6, 0.8])
    """

    reduction: Any
    axes: tuple[Any, ...] = ()

    def lift(self, coordinates: Array) -> Any:
        """The vector with these coordinates."""
        return self.reduction.lift(coordinates, self.axes)

    def lift_rows(self, rows: Array) -> Any:
        """The vectors (n, …) with these coordinates, row by row."""
        return self.reduction.lift_rows(rows, self.axes)
