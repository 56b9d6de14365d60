"""What the loop needs to know of a batch of runs, whether compiled or plain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..methods.base import Method
from ..schedules import Schedule

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Position:
    """Where n runs stand: x = scale·unit in the problem's coordinates. Gradient descent has scale ‖x‖ ≥ 0.

    For matrix problems unit is (n, d, r), and scale (n,) or (n, r). `perp` (n,) is the signed length of the unit
    direction's part off the row space; NaN where it is not known.
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
    perp_norm: Array
    weights_norm: Array
    direction_perp_norm: Array


def records(problem: Any, step: NDArray[np.int64], loss: Array, scale: Array, norm: Array, unit: Array, perp: Array) -> Records:
    """Records of iterates at these scales and unit directions; `perp` as in Position."""
    return Records(step, loss, scale, norm, *problem.sizes(unit, scale, perp))


class Runs(Protocol):
    """n runs of one method on one problem, at one step number `clock`."""

    method: Method
    problem: Any

    @property
    def schedules(self) -> Sequence[Schedule]:
        """All schedules that drive the runs."""

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

    def settled_since(self, step: int) -> NDArray[np.bool_]:
        """Which runs have had constant steps since that step, for good."""

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

    def gradient_vanishes(self) -> NDArray[np.bool_]:
        """Where the gradient in the method's own coordinates is zero to rounding."""

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""


def stopping_loss(tolerance: float) -> float:
    """The loss at which a run stops; a tolerance of zero asks for all the steps, so not even a loss of zero does."""
    return tolerance if tolerance > 0 else -np.inf


def multiples(every: int, first: int, last: int) -> NDArray[np.int64]:
    """The multiples of `every` in first … last."""
    return np.arange(-(-first // every) * every, last + 1, every, dtype=np.int64)


def settled(schedules: Sequence[Schedule], since: int) -> bool:
    """Whether schedules have kept their values since that step and will keep them: a frozen phase may thaw."""
    ends = [schedule.settled_from for schedule in schedules]
    return all(end is not None and end <= since for end in ends)


def join(pieces: Sequence[Records]) -> Records | None:
    """Records one after the other; None if there are none."""
    if not pieces:
        return None
    return Records(*(np.concatenate([getattr(piece, field.name) for piece in pieces]) for field in fields(Records)))


def gather(problem: Any, step: NDArray[np.int64], rows: list[tuple[Array, Position]]) -> Records:
    """The records of the first run from its losses and positions."""
    positions = [position for _, position in rows]
    columns = [np.array([getattr(p, name)[0] for p in positions]) for name in ("scale", "direction_norm", "unit", "perp")]
    return records(problem, step, np.concatenate([loss for loss, _ in rows]), *columns)
