"""Watching for runs that stand still with their loss above the tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .runs import Position, Runs

EPS = float(np.finfo(np.float64).eps)
STILL = 8 * EPS  # a run that moved less than this between two looks, relatively, does not move
FIRST_LOOK = 4096


@dataclass
class Watch:
    """Looks at the runs at step 4,096 and then whenever the step number has doubled: often enough, and cheap."""

    last: Position | None = None
    last_clock: int = 0
    before: Position | None = None
    cycling: bool = False

    @staticmethod
    def next_look(clock: int) -> int:
        """The step number of the next look."""
        return max(FIRST_LOOK, 1 << clock.bit_length())

    def glance(self, runs: Runs) -> None:
        """Remember where the runs are one step before a look: a cycle comes back, but it moves."""
        self.before = runs.position()

    def look(self, runs: Runs) -> NDArray[np.bool_]:
        """Which runs stand still: their gradient vanishes, or nothing has moved since the last look nor in the last step."""
        now = runs.position()
        still = gradient_vanishes(runs)
        if self.last is not None and self.before is not None:
            back = _same(self.last, now) & runs.settled_since(self.last_clock)
            rests = back & _same(self.before, now)
            self.cycling = bool(back[0] and not rests[0])
            still |= rests
        self.last, self.last_clock, self.before = now, runs.clock, None
        return still


def gradient_vanishes(runs: Runs) -> NDArray[np.bool_]:
    """Where the gradient in the method's own coordinates is zero to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        return runs.gradient_vanishes()


def _same(last: Position, now: Position) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        count = len(now.scale)
        moved = np.abs(now.unit - last.unit).reshape(count, -1).max(axis=1, initial=0.0)
        grown = np.abs(now.scale - last.scale) <= STILL * np.abs(now.scale)
        return np.asarray((moved <= STILL) & grown.reshape(count, -1).all(axis=1))
