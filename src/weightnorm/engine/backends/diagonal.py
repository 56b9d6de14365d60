"""Runs on a diagonal problem by the compiled kernel: 4 or 32 to a block, any number of blocks, a
problem each if need be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.moved import by_old_names
from ..._support.numeric import Array
from ..._support.pool import share
from ...methods.contract import Method
from ...methods.registry import COMPILED
from ...methods.state import State
from ...methods.steps import bind_steps
from ...methods.training import BUFFERS
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
from ..kernels.arguments import Diagonals, LaneBlocks, Lanes, Rule, StepValues, plain

# runs from which, and coordinates up to which, wide lanes pay: then all is in cache
WIDE_FROM, WIDE_UP_TO = 12, 64
PARTS_PER_THREAD = 4  # so that a core that wakes up late has less to do
WORTH_A_THREAD = 2**19  # coordinates updated in all lanes of a block: some milliseconds


__getattr__ = by_old_names(__name__)


class DiagonalBatch(Batch):
    """n runs of one method on a diagonal problem, or on one each; see `batch.Batch`.

    Parameters
    ----------
    method : a registered method
    problem : Diagonal
    start : Start
    stop_loss : float
        The loss at which runs stop.
    threads : int
        Blocks are shared out among so many; the numbers of a run do not depend on it.
    """

    uses_threads, keeps_lanes = True, True

    def __init__(
        self, method: Method, problem: Diagonal, start: Start, stop_loss: float, threads: int = 1
    ) -> None:
        kernels = self._kernels = diagonal_kernel(
            wide=len(start.scale) >= WIDE_FROM and problem.dimension <= WIDE_UP_TO
        )
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._momentum = method.momentum
        self._rule = Rule(self._code, method.momentum, method.nesterov)
        self._steps = bind_steps(method, problem)
        self._powers = np.array(
            [power for step in self._steps for power in (step.scale_power, step.norm_power)]
        )
        vectors, buffers, fields = self._rows(start.state)
        fields[:, kernels.STOP_LOSS] = 2.0 * (stop_loss - problem.floor)
        fields[:, kernels.DIVERGENCE_LOSS] = 2.0 * (start.divergence_loss - problem.floor)
        self._count, self._width = len(fields), kernels.WIDTH
        self._blocks = -(-self._count // kernels.WIDTH)
        self._lane_bits = 1 << np.arange(kernels.WIDTH)
        curvatures, shift = self._of_problem(problem.curvatures), self._of_problem(-problem.target)
        self._diagonals = Diagonals(curvatures, shift, problem.dimension - 1)
        self._threads, most = (
            threads,
            1 if threads == 1 else min(threads * PARTS_PER_THREAD, self._blocks),
        )
        # one per part of a call, kept by the kernel: all the same
        self._clocks = np.full(most, start.clock, dtype=np.int64)
        self._now = Lanes._make(self._to_lanes(a) for a in (vectors, buffers, fields))
        self._spare = Lanes._make(np.empty_like(a) for a in (*self._now[:2], np.empty(0)))
        self._final = Lanes._make(a.copy() for a in self._now)
        self._alive = self._bits(np.ones(self._count, dtype=bool))
        self._ended_at = np.zeros(self._blocks * self._width, dtype=np.int64)
        self.advance(0)

    def set_divergence_loss(self, divergence_loss: Array) -> None:
        """Set the loss beyond which a run has diverged."""
        for fields in (self._now.fields, self._final.fields):
            twice = self._padded(2.0 * (divergence_loss - self.problem.floor))
            self._field(fields, self._kernels.DIVERGENCE_LOSS)[:] = twice.reshape(-1, self._width)
        beyond = ~(self.loss <= divergence_loss)
        if beyond.any():
            self.retire(beyond)

    def _rows(self, state: State) -> tuple[Array, Array, Array]:
        """Vectors and buffers (n, rank), and fields (n, NUM_FIELDS), of a state."""
        kernels, arrays = self._kernels, state.arrays
        buffer = arrays.get(BUFFERS[0], np.zeros_like(state.vector))
        for found in (state.vector, buffer):
            if found.shape[1] != self.problem.dimension:
                raise other_coordinates(found.shape[1], self.problem.dimension)
        fields = np.zeros((len(state.scale), kernels.NUM_FIELDS))
        fields[:, kernels.SCALE] = state.scale
        fields[:, kernels.INVERSE_NORM] = self._inverse_norm(state)
        perp = fields[:, kernels.PERP] = arrays.get("perp_mantissa", state.vector[:, -1])
        exponent = fields[:, kernels.PERP_EXPONENT] = arrays.get("perp_exponent", 0.0)
        fields[:, kernels.SCALE_BUFFER] = arrays.get(BUFFERS[1], 0.0)
        fields[:, kernels.PERP_BUFFER] = buffer[:, -1]
        # p that has a buffer, or has gone through zero, stays as it is
        apart = self._momentum and self._code == kernels.WEIGHT_NORM
        lowest = np.where(perp > 0, 2.0**-kernels.PERP_BITS, -np.inf)
        fields[:, kernels.PERP_LOW] = -np.inf if apart else lowest
        fields[:, kernels.PERP_HIGH] = np.where(exponent == 0.0, np.inf, 1.0)
        fields[:, kernels.PERP_WEIGHT] = exponent == 0.0
        fields[:, kernels.VECTOR_FACTOR] = self._steps[0].factor
        fields[:, kernels.SCALE_FACTOR] = self._steps[1].factor
        width = self.problem.dimension - 1 if self._momentum else 0
        return state.vector[:, :-1], buffer[:, :width], fields

    def _inverse_norm(self, state: State) -> Any:
        """What the vector is still to be multiplied by to be a unit vector; 1 without a scale."""
        if "inverse_norm" in state.arrays:
            return state["inverse_norm"]
        return 1.0 / np.linalg.norm(state.vector, axis=1) if self.method.has_scale else 1.0

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether the lanes have all that its steps have."""
        return diagonal_kernel().COMPILED and method.features <= {"momentum"}

    @property
    def divergence_loss(self) -> Array:
        """The loss beyond which a run has diverged."""
        fields = self._now_or_final().fields
        return np.asarray(self.problem.floor + 0.5 * fields[:, self._kernels.DIVERGENCE_LOSS])

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return int(self._clocks[0])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which runs still go on."""
        found = (self._alive[:, None] & self._lane_bits) != 0
        return np.asarray(found.ravel()[: self._count])

    @property
    def ended_at(self) -> NDArray[np.int64]:
        """The step number each run is at, or ended at."""
        return np.where(self.alive, self.clock, self._ended_at[: self._count])

    @property
    def loss(self) -> Array:
        """The loss at the current iterate, or at the last one of a run that ended."""
        now, final = (
            self._field(a.fields, self._kernels.LOSS).ravel()[: self._count]
            for a in (self._now, self._final)
        )
        return np.asarray(self.problem.floor + 0.5 * np.where(self.alive, now, final))

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        return (
            self.method.has_scale and not self._field(self._now.fields, self._kernels.SCALE).all()
        )

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
        values = tuple(step.values_and_end(first, count) for step in self._steps)
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
        lanes = self._now, self._spare, self._final
        which = LaneBlocks(blocks, self._alive, self._ended_at)
        steps = StepValues(values[0], values[1], self._powers)
        groups = plain(self._rule, self._diagonals, *lanes, which, steps)
        self._kernels.advance(*groups, clock, every, record)

    def _now_or_final(self) -> Lanes:
        """Vectors and buffers (n, rank), and fields (n, NUM_FIELDS), of each run where it is or
        ended.
        """
        alive = self.alive[:, None]
        pairs = zip(self._now, self._final, strict=True)
        return Lanes(*(np.where(alive, self._from_lanes(a), self._from_lanes(b)) for a, b in pairs))

    def state(self) -> State:
        """The exact state of the first run, to go on from later."""
        return self.states(slice(1))

    def states(self, which: slice = slice(None)) -> State:
        """The exact state of these runs: the kernel's own vector with the norm it is still to be
        divided by, and p with its mantissa and exponent.
        """
        vectors, buffers, fields = (a[which] for a in self._now_or_final())
        kernels = self._kernels
        mantissa, exponent = fields[:, kernels.PERP], fields[:, kernels.PERP_EXPONENT]
        perp = self._perp(mantissa, exponent)
        state = State(np.column_stack([vectors, perp]), fields[:, kernels.SCALE]).also(
            inverse_norm=fields[:, kernels.INVERSE_NORM],
            perp_mantissa=mantissa,
            perp_exponent=exponent,
        )
        if not self._momentum:
            return state
        whole = np.column_stack([buffers, fields[:, kernels.PERP_BUFFER]])
        return state.also(vector_buffer=whole, scale_buffer=fields[:, kernels.SCALE_BUFFER])

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended; all at once is cheap."""
        (vectors, _, fields), kernels = self._now_or_final(), self._kernels
        with np.errstate(over="ignore", invalid="ignore"):
            inverse = fields[:, kernels.INVERSE_NORM]
            perp = self._perp(fields[:, kernels.PERP], fields[:, kernels.PERP_EXPONENT])
            vector = np.column_stack([vectors, perp])
            if not self.method.has_scale:
                norm = safe_norm(vector, inverse)
                safe = np.where(norm > 0, norm, 1.0)
                return Position(vector / safe[:, None], norm, np.ones_like(norm), perp / safe)
            length = 1.0 / inverse if self._code == kernels.WEIGHT_NORM else np.ones_like(inverse)
            return Position(
                vector * inverse[:, None], fields[:, kernels.SCALE], length, perp * inverse
            )

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        now, alive = self._now_or_final(), self.alive
        self._ended_at[: self._count] = self.ended_at
        for final, rows in zip(self._final, now, strict=True):
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
        return np.asarray((bits.reshape(-1, self._width) * self._lane_bits).sum(axis=1))
