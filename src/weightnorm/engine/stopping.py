"""When runs end before their steps are used up: rules that look at a batch between its slices.

`StationarityTest` looks for runs that stand still or go round in a cycle; `gradient_test.py` has
the rule of a gradient tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import EPS, Array
from ..methods import Method
from .batch import Batch, Position

SLICE = 2**15  # steps of one call of a batch, at most
STILL = 8 * EPS  # a step that moves a run less than this, relatively, is rounding
FIRST_LOOK = 4096
# the relative gradient up to which a run that stands still, its steps being rounding, is optimal
AT_REST = 1e-12
WINDOW = 32  # steps before a look that are followed one by one …
LONGEST_PERIOD = WINDOW // 2  # … so that a cycle of this period passes twice
# coming back to within this share of the motion is a cycle, whatever rounding does to it
RECURS = 1e-3
# going round in less than this, relatively, is rounding too, where the loss gains nothing
SHALLOW = 1e-10
NUM_MIXED = 3  # combinations of a direction that stand for it
GAIN = 64 * EPS  # a loss that fell by less than this share of itself has not improved at all …
SMALL_GAIN = 0.5  # … and by less than this while the steps doubled, not to speak of
RISE = 0.01  # a step that takes the loss up by this share of it is not rounding


class StoppingRule:
    """Looks at the runs between slices and says which to end. This one never does.

    Attributes
    ----------
    active : bool
        Whether it need be asked at all.
    always : bool
        Whether it is asked even where the tolerance is zero.
    gradient_tolerance : float or None
        The gradient it waits for, relative to its terms, if it does.
    cycling, rough : (n,) bool arrays or None
        Which runs came back to the same points at the last look, and whose loss went up and down
        without improving.
    """

    active: ClassVar[bool] = False
    always: ClassVar[bool] = False
    gradient_tolerance: float | None = None
    cycling: NDArray[np.bool_] | None = None
    rough: NDArray[np.bool_] | None = None

    def copy(self) -> StoppingRule:
        """A rule of its own for a run that goes on."""
        return self

    def at_start(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Which runs are stuck before their first step."""

    def until(self, batch: Batch) -> int:
        """The step number up to which the batch may advance before `after` is asked."""
        return batch.clock + SLICE

    def after(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Which runs to end now."""

    def at_end(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Which of the runs that used up their steps stand still."""

    def optimal(self, batch: Batch) -> NDArray[np.bool_]:
        """Which runs are at the optimum, so that they have converged if they end now: never those
        of a method that minimises more than the loss.
        """
        if not batch.problem.converges_at_optimum or batch.method.penalised:
            return np.zeros(batch.alive.shape, dtype=bool)
        return relative_gradient(batch) <= AT_REST


def rule_for(method: Method) -> StoppingRule:
    """The rule that looks for standstill; none for a method with random steps, which never stands
    still for good.
    """
    return StationarityTest() if method.sampling is None else StoppingRule()


@dataclass(frozen=True, eq=False)
class Glimpse:
    """One step of the window: its number, a few numbers per run that tell positions apart, the
    loss, and what moved.
    """

    clock: int
    numbers: Array
    loss: Array
    moved: NDArray[np.bool_]


@dataclass
class StationarityTest(StoppingRule):
    """Looks at the runs at step 4,096 and then whenever the step number has doubled: often enough,
    and cheap.

    Before a look the runs are followed for a few steps, one by one, unless all of them still make
    good progress.

    Attributes
    ----------
    watched : (n,) bool array
        Which runs are judged at the next look: those whose loss has not halved since the last,
        whatever the others do.
    growing : (n, size + 1) bool array or None
        Which coordinates grew in size at every step of the window: a small part that leaves a
        saddle moves less than rounding at first, but it keeps growing. The last stands for 1/‖w‖:
        while decay shrinks w, the steps of its direction grow.
    """

    last_clock: int = 0
    best: Array | None = None
    cycling: NDArray[np.bool_] | None = None
    rough: NDArray[np.bool_] | None = None
    before: Position | None = None
    growing: NDArray[np.bool_] | None = None
    window: list[Glimpse] = field(default_factory=list)
    judged: int = 0
    watched: Any = True
    due: int = 0

    active: ClassVar[bool] = True

    def at_start(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those in S = {g = 0, yᵀAw = 0}; only a run at scale zero can be stuck from the start."""
        if not batch.has_zero_scale:
            return None
        return gradient_vanishes(batch) & ~batch.position().scale.reshape(batch.alive.size, -1).any(
            axis=1
        )

    def until(self, batch: Batch) -> int:
        """The window before the next look, or one step at a time inside it."""
        look, self.due = self.next_look(batch.clock), 0
        if batch.clock < look - WINDOW:
            return look - WINDOW
        if not self.follows(batch):
            return look
        self.remember(batch)
        self.due = look
        return batch.clock + 1

    def after(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those found at a look."""
        return self.look(batch) if batch.clock == self.due and batch.alive.any() else None

    def at_end(self, batch: Batch) -> NDArray[np.bool_]:
        """Those whose gradient vanishes."""
        return gradient_vanishes(batch)

    def copy(self) -> StationarityTest:
        """A rule of its own for a run that goes on."""
        return replace(self, window=list(self.window))

    @staticmethod
    def next_look(clock: int) -> int:
        """The step number of the next look."""
        return max(FIRST_LOOK, 1 << clock.bit_length())

    def follows(self, batch: Batch) -> bool:
        """Whether any runs are to be followed up to the next look; decided once, when the window
        before it begins.

        The first look only takes note of the loss. At later ones runs whose loss has halved since
        are left alone, whatever the others do.
        """
        look = self.next_look(batch.clock)
        if self.judged != look:
            self.judged = look
            loss = batch.loss.copy()
            if self.best is None:
                self.watched = np.zeros(batch.alive.shape, dtype=bool)
                self.best, self.last_clock = loss, batch.clock
                return False
            with np.errstate(invalid="ignore"):
                self.watched = batch.alive & ~(loss < SMALL_GAIN * self.best)
            self.best = np.where(self.watched, self.best, np.fmin(loss, self.best))
            if not self.watched.any():
                self.last_clock, self.cycling, self.rough = batch.clock, None, None
        return bool(self.watched.any())

    def remember(self, batch: Batch) -> None:
        """Remember where the runs are at one step of the window before a look."""
        now = batch.position()
        # steps were made unwatched: begin anew
        if self.window and self.window[-1].clock != batch.clock - 1:
            self.before, self.growing, self.window = None, None, []
        moved = np.ones(len(now.scale), dtype=bool)
        if self.before is not None:
            moved, grew = ~_same(self.before, now), _grew(self.before, now)
            self.growing = grew if self.growing is None else self.growing & grew
        self.window.append(Glimpse(batch.clock, _numbers(now), batch.loss.copy(), moved))
        self.before = now

    def look(self, batch: Batch) -> NDArray[np.bool_]:
        """Which runs stand still: their gradient vanishes, or their steps are rounding and the
        loss no longer improves.
        """
        self.remember(batch)
        still = gradient_vanishes(batch) & self.watched
        losses = np.array([glimpse.loss for glimpse in self.window])
        with np.errstate(invalid="ignore", over="ignore"):
            lowest = losses.min(axis=0)
            if self.best is not None and self.growing is not None:
                settled = batch.settled_since(self.last_clock)
                idle, fruitless = (
                    settled & ~(lowest < (1.0 - gain) * self.best) for gain in (GAIN, SMALL_GAIN)
                )
                recurs, depth = self._recurrence()
                rests = ~np.array([glimpse.moved for glimpse in self.window[1:]]).any(axis=0)
                leaves = self.growing.any(axis=1)
                still |= idle & (rests | (recurs & (depth <= SHALLOW))) & ~leaves & self.watched
                self.cycling = fruitless & recurs & ~still & self.watched
                rises = (np.diff(losses, axis=0) > RISE * losses[1:]).any(axis=0)
                self.rough = fruitless & rises & ~self.cycling & ~still & self.watched
                lowest = np.where(self.watched, np.fmin(lowest, self.best), self.best)
        # as for runs that were not followed
        self.best, self.last_clock = lowest, batch.clock - WINDOW
        self.before, self.growing, self.window = None, None, []
        return np.asarray(still)

    def _recurrence(self) -> tuple[NDArray[np.bool_], Array]:
        """Which runs came back after 2 … LONGEST_PERIOD steps, all through a period, and how far
        they went meanwhile.
        """
        track = np.array([glimpse.numbers for glimpse in self.window])  # (steps, runs, numbers)
        count, scales = track.shape[1], track[..., :-NUM_MIXED]
        largest = np.abs(scales).max(axis=(0, 2), keepdims=True)
        scales /= np.where(largest > 0, largest, 1.0)
        steps = np.abs(np.diff(track, axis=0)).max(axis=2)
        found, depth = np.zeros(count, dtype=bool), np.zeros(count)
        for period in range(2, min(LONGEST_PERIOD, (len(track) - 1) // 2) + 1):
            gap = np.abs(track[-period:] - track[-2 * period : -period]).max(axis=(0, 2))
            motion = steps[-period:].max(axis=0)
            new = (gap <= RECURS * motion) & (motion > 0) & ~found
            depth[new] = motion[new]
            found |= new
        return found, depth


def relative_gradient(batch: Batch) -> Array:
    """‖∇f(x)‖ of each run over the terms it is the sum of."""
    position = batch.position()
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(batch.problem.relative_gradient(position.unit, position.scale))


def gradient_vanishes(batch: Batch) -> NDArray[np.bool_]:
    """Where the gradient in the method's own coordinates, decay included, is zero to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        return batch.gradient_vanishes()


def _numbers(position: Position) -> Array:
    """The scale and a few fixed combinations of the direction: enough to tell whether a run is
    back where it was.
    """
    count = len(position.scale)
    unit = position.unit.reshape(count, -1)
    return np.column_stack([position.scale.reshape(count, -1), unit @ _mixture(unit.shape[1])])


@lru_cache(maxsize=4)
def _mixture(size: int) -> Array:
    place = np.arange(1.0, size + 1.0)[:, None]
    return np.asarray(np.cos(place * np.sqrt(np.arange(1.0, NUM_MIXED + 1.0))))


def _grew(last: Position, now: Position) -> NDArray[np.bool_]:
    """Which coordinates, and 1/‖w‖, grew by more than rounding, relative to themselves."""
    with np.errstate(invalid="ignore"):
        count = len(now.scale)
        grew = (np.abs(now.unit) > (1.0 + STILL) * np.abs(last.unit)).reshape(count, -1)
        shrank = last.direction_norm > (1.0 + STILL) * now.direction_norm
        return np.column_stack([grew, shrank.reshape(count, -1).any(axis=1)])


def _same(last: Position, now: Position) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        count = len(now.scale)
        moved = np.abs(now.unit - last.unit).reshape(count, -1).max(axis=1, initial=0.0)
        grown = np.abs(now.scale - last.scale) <= STILL * np.abs(now.scale)
        return np.asarray((moved <= STILL) & grown.reshape(count, -1).all(axis=1))
