"""Runs on a diagonal problem by the compiled kernel: 4 or 32 to a block, any number of blocks, a
problem each if need be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._support.pool import share
from ...methods.contract import Array, Method, State
from ...methods.registry import COMPILED
from ...methods.schedules import bind_steps
from ...problems.coordinates.reduction import Diagonal
from ..batch import (
    Batch,
    Position,
    Records,
    Start,
    multiples,
    other_coordinates,
    record_by_pieces,
    safe_norm,
)
from ..kernels import diagonal_kernel

# runs from which, and coordinates up to which, wide lanes pay: then all is in cache
WIDE_FROM, WIDE_UP_TO = (
    12,
    64,
)
PARTS_PER_THREAD = 4  # so that a core that wakes up late has less to do
WORTH_A_THREAD = 2**19  # coordinates updated in all lanes of a block: some milliseconds


@dataclass(frozen=True, eq=False)
class RawState:
    """The exact state of n runs between two calls of the kernel: vectors and buffers (n, rank),
    fields (n, NUM_FIELDS).
    """

    vectors: Array
    buffers: Array
    fields: Array

    @property
    def dimension(self) -> int:
        """Of the coordinates: the rank, and one for what the data cannot see."""
        return int(self.vectors.shape[1]) + 1


class DiagonalBatch(Batch):
    """n runs of one method on a diagonal problem, or on one each; see `batch.Batch`.

    Parameters
    ----------
    method : a registered method
    problem : Diagonal
    start : Start
    low : float
        The loss at which runs stop.
    threads : int
        Blocks are shared out among so many; the numbers of a run do not depend on it.
    """

    uses_threads = True

    def __init__(
        self, method: Method, problem: Diagonal, start: Start, low: float, threads: int = 1
    ) -> None:
        kernels = self._kernels = diagonal_kernel(
            wide=len(start.scale) >= WIDE_FROM and problem.dimension <= WIDE_UP_TO
        )
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._momentum: float = method.momentum  # type: ignore[attr-defined]
        self._nesterov: bool = method.nesterov  # type: ignore[attr-defined]
        self._steps = bind_steps(method, problem)
        self._powers = np.array(
            [power for step in self._steps for power in (step.scale_power, step.norm_power)]
        )
        raw = start.state if isinstance(start.state, RawState) else self._fresh(start.state)
        width = problem.dimension - 1
        if (raw.vectors.shape[1], raw.buffers.shape[1]) != (width, width if self._momentum else 0):
            raise other_coordinates(raw.vectors.shape[1] + 1, problem.dimension)
        fields = raw.fields.copy()
        fields[:, kernels.LOW] = 2.0 * (low - problem.floor)
        self._count, self._width = len(fields), kernels.WIDTH
        self._blocks = -(-self._count // kernels.WIDTH)
        self._curvatures, self._shift = (
            self._of_problem(a) for a in (problem.curvatures, -problem.target)
        )
        self._threads, most = (
            threads,
            1 if threads == 1 else min(threads * PARTS_PER_THREAD, self._blocks),
        )
        # one per part of a call, kept by the kernel: all the same
        self._clocks = np.full(most, start.clock, dtype=np.int64)
        self._now = [self._to_lanes(a) for a in (raw.vectors, raw.buffers, fields)]
        self._spare = [np.empty_like(a) for a in self._now[:2]]
        self._final = [a.copy() for a in self._now]
        self._alive = self._bits(np.ones(self._count, dtype=bool))
        self._ended_at = np.zeros(self._blocks * self._width, dtype=np.int64)
        self.advance(0)

    def set_limit(self, limit: Array) -> None:
        """Set the loss beyond which a run has diverged."""
        for fields in (self._now[2], self._final[2]):
            twice = self._padded(2.0 * (limit - self.problem.floor))
            self._field(fields, self._kernels.LIMIT)[:] = twice.reshape(-1, self._width)
        beyond = ~(self.loss <= limit)
        if beyond.any():
            self.retire(beyond)

    def _fresh(self, state: State) -> RawState:
        kernels, has_scale = self._kernels, self.method.has_scale
        fields = np.zeros((len(state.scale), kernels.NUM_FIELDS))
        perp = state.vector[:, -1]
        fields[:, kernels.SCALE] = state.scale
        fields[:, kernels.INVERSE_NORM] = (
            1.0 / np.linalg.norm(state.vector, axis=1) if has_scale else 1.0
        )
        fields[:, kernels.PERP] = perp
        fields[:, kernels.PERP_WEIGHT] = 1.0
        # then p has a buffer, and both stay as they are
        apart = self._momentum and self._code == kernels.WEIGHT_NORM
        fields[:, kernels.PERP_LOW] = (
            -np.inf if apart else np.where(perp > 0, 2.0**-kernels.PERP_BITS, -np.inf)
        )
        fields[:, kernels.PERP_HIGH] = np.inf
        fields[:, kernels.VECTOR_FACTOR] = self._steps[0].factor
        fields[:, kernels.SCALE_FACTOR] = self._steps[1].factor
        fields[:, kernels.LIMIT] = np.inf
        vectors = state.vector[:, :-1]
        return RawState(
            vectors,
            np.zeros_like(vectors) if self._momentum else np.zeros((len(fields), 0)),
            fields,
        )

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether the lanes have exactly this rule, and no random steps."""
        plain = method.plain_rule and method.sampling is None  # type: ignore[attr-defined]
        return diagonal_kernel().COMPILED and plain

    @property
    def limit(self) -> Array:
        """The loss beyond which a run has diverged."""
        return np.asarray(self.problem.floor + 0.5 * self.raw().fields[:, self._kernels.LIMIT])

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return int(self._clocks[0])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which runs still go on."""
        bits = (self._alive[:, None] >> np.arange(self._width)) & 1
        return np.asarray(bits.ravel()[: self._count] == 1)

    @property
    def ended_at(self) -> NDArray[np.int64]:
        """The step number each run is at, or ended at."""
        return np.where(self.alive, self.clock, self._ended_at[: self._count])

    @property
    def loss(self) -> Array:
        """The loss at the current iterate, or at the last one of a run that ended."""
        now, final = (
            self._field(a[2], self._kernels.LOSS).ravel()[: self._count]
            for a in (self._now, self._final)
        )
        return np.asarray(self.problem.floor + 0.5 * np.where(self.alive, now, final))

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        return self.method.has_scale and not self._field(self._now[2], self._kernels.SCALE).all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates."""
        return sum(a.size for a in self._now)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        if every and self.keeps_units:  # the kernel records a few numbers only
            return record_by_pieces(self, self.advance, count, every)
        first = self.clock
        rows = multiples(every, first, first + count) if every else np.empty(0, dtype=np.int64)
        record = np.empty((rows.size, self._kernels.NUM_RECORDED, self._width))
        values = tuple(np.append(step.values(first, count), 0.0) for step in self._steps)
        blocks = np.flatnonzero(self._alive)
        parts = min(
            len(self._clocks),
            1 + blocks.size * count * self.problem.dimension // WORTH_A_THREAD,
            max(1, blocks.size),
        )
        work = [
            (np.ascontiguousarray(blocks[i::parts]), self._clocks[i : i + 1]) for i in range(parts)
        ]
        self.passed, done = None, False
        try:
            if parts == 1:
                self._call(*work[0], values, every, record)
            else:
                share(lambda part: self._call(*part, values, every, record), work, self._threads)
            self._clocks[parts:] = self._clocks[0]
            done = True
        finally:  # an interruption comes after the kernel's call, or before it
            if every and (done or self._clocks[0] > first):
                self.passed = self._records(rows[rows <= self.ended_at[0]], record[..., 0])
        return self.passed if every else None

    def _call(
        self,
        blocks: NDArray[np.intp],
        clock: NDArray[np.int64],
        values: tuple[Array, ...],
        every: int,
        record: Array,
    ) -> None:
        self._kernels.advance(
            self._code,
            self._curvatures,
            self._shift,
            self.problem.dimension - 1,
            self._now[0],
            self._spare[0],
            self._now[1],
            self._spare[1],
            self._now[2],
            *self._final,
            blocks,
            self._alive,
            self._ended_at,
            *values,
            self._powers,
            self._momentum,
            self._nesterov,
            clock,
            every,
            record,
        )

    def raw(self) -> RawState:
        """The exact state of each run, to go on from later."""
        alive = self.alive[:, None]
        pairs = zip(self._now, self._final, strict=True)
        return RawState(
            *(np.where(alive, self._from_lanes(a), self._from_lanes(b)) for a, b in pairs)
        )

    def state(self) -> RawState:
        """That of the first run."""
        raw = self.raw()
        return RawState(raw.vectors[:1], raw.buffers[:1], raw.fields[:1])

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended; all at once is cheap."""
        raw, kernels = self.raw(), self._kernels
        with np.errstate(over="ignore", invalid="ignore"):
            inverse = raw.fields[:, kernels.INVERSE_NORM]
            perp = self._perp(raw.fields[:, kernels.PERP], raw.fields[:, kernels.PERP_EXPONENT])
            vector = np.column_stack([raw.vectors, perp])
            if not self.method.has_scale:
                norm = safe_norm(vector, inverse)
                safe = np.where(norm > 0, norm, 1.0)
                return Position(vector / safe[:, None], norm, np.ones_like(norm), perp / safe)
            length = 1.0 / inverse if self._code == kernels.WEIGHT_NORM else np.ones_like(inverse)
            return Position(
                vector * inverse[:, None], raw.fields[:, kernels.SCALE], length, perp * inverse
            )

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        raw, alive = self.raw(), self.alive
        self._ended_at[: self._count] = self.ended_at
        for final, rows in zip(self._final, (raw.vectors, raw.buffers, raw.fields), strict=True):
            final[:] = self._to_lanes(rows)
        self._alive[:] = self._bits(alive & ~which)

    def _records(self, step: NDArray[np.int64], record: Array) -> Records:
        loss, scale, inverse, perp, exponent, square = record[: step.size].T
        perp = self._perp(perp, exponent)
        floor = np.ravel(self.problem.floor)[0]  # of the first run
        if not self.method.has_scale:
            norm = np.sqrt(square + perp**2)
            scale, length, perp = norm, np.ones_like(norm), perp / np.where(norm > 0, norm, 1.0)
        else:
            length = (
                1.0 / inverse if self._code == self._kernels.WEIGHT_NORM else np.ones_like(inverse)
            )
            perp = perp * inverse
        norms = self.problem.norms(np.empty(0), scale, perp)
        return Records(step, floor + 0.5 * loss, scale, length, *norms)

    def _perp(self, mantissa: Array, exponent: Array) -> Array:
        return np.asarray(np.ldexp(mantissa, (self._kernels.PERP_BITS * exponent).astype(np.int64)))

    # Runs as lanes: flat block × size × lane; missing lanes repeat the last run.

    def _padded(self, rows: Array) -> Array:
        return rows[np.minimum(np.arange(self._blocks * self._width), self._count - 1)]

    def _to_lanes(self, rows: Array) -> Array:
        lanes = (
            self._padded(rows).reshape(self._blocks, self._width, rows.shape[1]).transpose(0, 2, 1)
        )
        return np.ascontiguousarray(lanes).ravel()

    def _from_lanes(self, flat: Array) -> Array:
        size = flat.size // (self._blocks * self._width)
        lanes = flat.reshape(self._blocks, size, self._width).transpose(0, 2, 1)
        return lanes.reshape(self._blocks * self._width, size)[: self._count]

    def _of_problem(self, values: Array) -> Array:
        return values if values.ndim == 1 else self._to_lanes(values).reshape(-1, self._width)

    def _field(self, fields: Array, which: int) -> Array:
        """A view (block, lane) of one field."""
        return fields.reshape(self._blocks, -1, self._width)[:, which]

    def _bits(self, alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        bits = np.zeros(self._blocks * self._width, dtype=np.int64)
        bits[: self._count] = alive
        return np.asarray((bits.reshape(-1, self._width) << np.arange(self._width)).sum(axis=1))
