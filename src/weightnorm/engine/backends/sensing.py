"""Runs on matrix sensing by the compiled kernel: any methods together, a block of eight sharing
the sensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array, Vector
from ..._support.pool import share
from ...methods.contract import Method
from ...methods.registry import COMPILED
from ...methods.state import State
from ...methods.steps import bind_steps
from ...problems import MatrixSensing
from ..batch import Batch, Position, Records, Start, record_by_pieces, settled

NONE = np.empty(0)
# the sensors as the kernel reads them, for as long as there is their problem
LAYOUTS: WeakKeyDictionary[MatrixSensing, dict[tuple[int, ...], Vector]] = WeakKeyDictionary()


def layout(problem: MatrixSensing, rows: int, chunk: int, entries_first: bool = False) -> Vector:
    """The packed sensors in the order the compiled kernel reads them, padded with zeros."""
    known = LAYOUTS.setdefault(problem, {})
    key = (*problem.packed.shape, rows, chunk, entries_first)  # the kernel reads without asking
    if key not in known:
        m, entries = problem.packed.shape
        whole = np.zeros((-(-m // rows) * rows, -(-entries // chunk) * chunk))
        whole[:m, :entries] = problem.packed
        if entries_first:
            parts = whole.reshape(-1, rows, whole.shape[1]).swapaxes(1, 2)
        else:
            parts = whole.reshape(len(whole), -1, chunk).swapaxes(0, 1)
        known[key] = np.ascontiguousarray(parts).ravel()
    return known[key]


class SensingBatch(Batch):
    """n runs on one problem, each with a method of its own; see `batch.Batch`.

    A step of all runs is a call of the kernel per thread. Runs that have ended are left out of the
    next call, so their lanes are filled by others. The numbers of a run do not depend on the runs
    in the same batch.

    Parameters
    ----------
    methods : sequence of n methods
    problem : MatrixSensing
    starts : sequence of n starts, each of one run
    stop_loss : float
        The loss at which runs stop.
    threads : int
    """

    shares_methods = True  # any methods advance together
    uses_threads = True

    def __init__(
        self,
        methods: Sequence[Method],
        problem: MatrixSensing,
        starts: Sequence[Start],
        stop_loss: float,
        threads: int = 1,
    ) -> None:
        from ..kernels import sensing as kernels

        self._kernels = kernels
        self.problem, self.methods, self.method = problem, tuple(methods), methods[0]
        self.schedules = [schedule for method in methods for schedule in method.schedules]
        self._stop_loss, self._threads = stop_loss, threads
        states: list[State] = [start.state for start in starts]
        self._kind = np.array(
            [getattr(kernels, str(COMPILED[type(method)].kernel)) for method in methods]
        )
        self._columns = np.array([state.scale.ndim == 2 for state in states])
        bound = {id(method): bind_steps(method, problem) for method in methods}
        self._steps = [bound[id(method)] for method in methods]
        powers = [
            [p for step in steps for p in (step.scale_power, step.norm_power)]
            for steps in self._steps
        ]
        self._powers = np.array(powers, dtype=np.float64).ravel()
        count, (_, size, rank) = len(methods), states[0].vector.shape
        self._size, self._rank, self._y = size, rank, np.array(problem.y)
        self._require_unchanged()
        self._factor = np.zeros(
            (count, -(-rank // kernels.FACTOR_ROWS) * kernels.FACTOR_ROWS, kernels.width_of(size))
        )
        self._scale, self._norm = np.ones((count, rank)), np.ones((count, rank))
        for i, state in enumerate(states):
            self._factor[i, :rank, :size] = state.vector[0].T
            self._scale[i, slice(None) if self._columns[i] else slice(1)] = state.scale[0]
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, starts[0].clock, dtype=np.int64)
        self.loss = np.full(count, np.nan)
        self._work: int = 1 + (size**3 + 2 * problem.packed.size) // 16
        self.divergence_loss = np.concatenate([start.divergence_loss for start in starts])
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether there is a kernel for this method: of plain steps only."""
        from ..kernels import sensing as kernels

        return kernels.COMPILED and not method.features

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive, or of the last that ended."""
        return int(self.ended_at[self.alive].max() if self.alive.any() else self.ended_at.max())

    def settled_since(self, step: int) -> NDArray[np.bool_]:
        """Which runs have had constant steps since that step, for good."""
        return np.array([settled(method.schedules, step) for method in self.methods])

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now, or zero weights."""
        return bool(not self._scale.all() or not self._factor.any(axis=(1, 2)).all())

    @property
    def size(self) -> int:
        """How many numbers one step of all runs is worth: about what it costs."""
        return max(1, int(self.alive.sum())) * self._work

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        if every:
            return record_by_pieces(self, self._advance, count, every)
        self._advance(count)
        return None

    def _advance(self, count: int) -> None:
        going = np.flatnonzero(self.alive)
        if not going.size:
            return
        parts = np.array_split(going, min(self._threads, -(-going.size // 2)))
        share(lambda part: self._advance_part(part, count), parts, self._threads)

    def _advance_part(self, part: NDArray[np.intp], count: int) -> None:
        """Eight to a block; one that would have a block for itself goes as a lone run."""
        together = part.size - (part.size % self._kernels.WIDTH == 1)
        if together:
            self._call(part[:together], count, lone=False)
        if together < part.size:
            self._call(part[together:], count, lone=True)

    def _require_unchanged(self) -> None:
        """Refuse sensors of other shapes than the runs have: the kernel reads without asking."""
        entries = self._size * (self._size + 1) // 2
        if (self._y.size, entries) != self.problem.packed.shape:
            raise ValueError("a MatrixSensing was changed after it was made; make it anew")

    def _layouts(self, lone: bool) -> tuple[Vector, Vector]:
        """The sensors as the kernel reads them for a block, or twice for a lone run."""
        self._require_unchanged()  # they are taken from the problem, also long after the start
        kernels, problem = self._kernels, self.problem
        if lone:
            group = kernels.GROUP
            return layout(problem, 1, group), layout(problem, group, group, entries_first=True)
        whole = math.lcm(kernels.ROWS, kernels.WIDTH)
        return layout(problem, kernels.ROWS, whole, entries_first=True), NONE

    def _call(self, order: NDArray[np.intp], count: int, lone: bool) -> None:
        first, (sensors, groups) = int(self.ended_at[order[0]]), self._layouts(lone)
        self._kernels.advance(
            sensors,
            self._y,
            self._size,
            self._factor.reshape(-1),
            self._rank,
            self._scale.reshape(-1),
            self._norm.reshape(-1),
            self._kind,
            self._columns,
            self._powers,
            order.astype(np.int64),
            self.alive,
            self.loss,
            self.ended_at,
            self._stop_loss,
            self.divergence_loss,
            self._values(order, first, count),
            first,
            groups,
        )

    def _values(self, order: NDArray[np.intp], first: int, count: int) -> Array:
        """The values of both steps of each run, (2, count + 1, len(order)); the last is not
        used.
        """
        values = np.zeros((2, count + 1, order.size))
        known: dict[int, Array] = {}
        for i, run in enumerate(order):
            for which, step in enumerate(self._steps[run]):
                if id(step) not in known:
                    known[id(step)] = step.values(first, count)
                values[which, :count, i] = known[id(step)]
        return values

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended; scales are (n, r) if any run has one per column."""
        which = slice(1) if first_only else slice(None)
        T, scale, columns = (
            self._factor[which, : self._rank, : self._size],
            self._scale[which],
            self._columns[which],
        )
        vector = T.swapaxes(1, 2)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt((T * T).sum(axis=2))
            whole = np.sqrt((lengths * lengths).sum(axis=1))
            norm = np.where(columns[:, None], lengths, whole[:, None])
            unit = vector / np.where(norm > 0, norm, 1.0)[:, None, :]
            descends = self._kind[which] == self._kernels.GRADIENT_DESCENT
            scale = np.where(
                columns[:, None], scale, np.where(descends, whole**2, scale[:, 0])[:, None]
            )
        norm = np.where(descends[:, None], 1.0, norm)
        unknown = np.full(len(scale), np.nan)
        if not self._columns.any():
            return Position(unit, scale[:, 0], norm[:, 0], unknown)
        return Position(unit, scale, norm, unknown)

    def state(self) -> State:
        """The exact state of the first run, to go on from later."""
        scale = self._scale[:1] if self._columns[0] else self._scale[:1, 0]
        return State(
            self._factor[:1, : self._rank, : self._size].swapaxes(1, 2).copy(), scale.copy()
        )

    def gradient_vanishes(self) -> NDArray[np.bool_]:
        """Where the gradient in a run's own coordinates is zero to rounding."""
        position = self.position()
        has_scale = self._kind != self._kernels.GRADIENT_DESCENT
        answer = np.zeros(len(self.methods), dtype=bool)
        for scaled in (False, True):
            for columns in (False, True):
                which = (has_scale == scaled) & (self._columns == columns)
                if which.any():
                    scale = position.scale[which]
                    scale = scale[:, 0] if scale.ndim == 2 and not columns else scale
                    answer[which] = self.problem.gradient_vanishes(
                        position.unit[which], scale, scaled
                    )
        return answer
