"""What the loop needs to know of a batch of runs, whether compiled or plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..methods.base import Method

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Position:
    """Where n runs stand: x = scale·unit in the problem's coordinates. Gradient descent has scale ‖x‖ ≥ 0.

    `perp` (n,) is the signed length of the unit direction's part off the row space; NaN where it is not known.
    """

    unit: Array
    scale: Array
    direction_norm: Array
    perp: Array

    @property
    def weights(self) -> Array:
        """x (n, dimension)."""
        return self.scale[:, None] * self.unit


@dataclass(frozen=True)
class Records:
    """Recorded iterates of the first run, one entry a record."""

    step: NDArray[np.int64]
    loss: Array
    scale: Array
    direction_norm: Array
    perp: Array


class Runs(Protocol):
    """n runs of one method on one problem, at one step number `clock`."""

    method: Method
    problem: Any

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which runs have neither reached the tolerance nor left the limit nor been retired."""

    @property
    def loss(self) -> Array:
        """The loss at the current iterate, or at the last one of a run that ended."""

    @property
    def ended_at(self) -> NDArray[np.int64]:
        """The step number each run is at, or ended at."""

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now: only there can a start be stuck."""

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates."""

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""

    def position(self) -> Position:
        """Where each run stands, or ended."""

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""


def stopping_loss(tolerance: float) -> float:
    """The loss at which a run stops; a tolerance of zero asks for all the steps, so not even a loss of zero does."""
    return tolerance if tolerance > 0 else -np.inf


def multiples(every: int, first: int, last: int) -> NDArray[np.int64]:
    """The multiples of `every` in first … last."""
    return np.arange(-(-first // every) * every, last + 1, every, dtype=np.int64)
