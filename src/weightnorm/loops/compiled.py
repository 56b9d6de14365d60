"""Runs on a reduced problem by the compiled kernels: eight to a block, any number of blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.base import Array, Method, bind_steps, safe_norm
from ..rowspace import ReducedProblem
from ..schedules import Schedule
from .runs import Position, Records, multiples, records, settled, stopping_loss


@dataclass(frozen=True, eq=False)
class RawState:
    """The exact state of n runs between two calls of the kernel: columns (n, rank) and fields (n, NUM_FIELDS)."""

    vectors: Array
    fields: Array


class CompiledRuns:
    """n runs of one method on a reduced problem; see `runs.Runs`."""

    def __init__(self, method: Method, problem: ReducedProblem, raw: RawState, clock: int, tolerance: float) -> None:
        from .._kernels import least_squares as kernels

        self._kernels = kernels
        self.method, self.problem = method, problem
        self._code = _code(method)
        self._steps = bind_steps(method, problem)
        self._powers = np.array([power for step in self._steps for power in (step.scale_power, step.norm_power)])
        self._low = 2.0 * (stopping_loss(tolerance) - problem.floor)
        self._count = raw.fields.shape[0]
        self._clock = np.array([clock], dtype=np.int64)
        self._vectors = _to_lanes(raw.vectors, kernels.WIDTH)
        self._fields = _to_lanes(raw.fields, kernels.WIDTH)
        self._spare = np.empty_like(self._vectors)
        self._final_vectors = self._vectors.copy()
        self._final_fields = self._fields.copy()
        blocks = -(-self._count // kernels.WIDTH)
        bits = np.arange(blocks * kernels.WIDTH).reshape(blocks, -1) < self._count
        self._alive = (bits << np.arange(kernels.WIDTH)).sum(axis=1).astype(np.int64)
        self._ended_at = np.zeros(blocks * kernels.WIDTH, dtype=np.int64)
        self.advance(0)

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The method's."""
        return self.method.schedules

    def settled_since(self, step: int) -> NDArray[np.bool_]:
        """Whether the runs have had constant steps since that step, for good."""
        return np.full(self.alive.size, settled(self.schedules, step))

    def gradient_vanishes(self) -> NDArray[np.bool_]:
        """Where the gradient in the method's own coordinates is zero to rounding."""
        position = self.position()
        return self.problem.gradient_vanishes(position.unit, position.scale, self.method.has_scale)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether there is a kernel for exactly this method: a subclass may have another rule."""
        from .._kernels.compiling import enabled

        return type(method) in (GradientDescent, WeightNorm, RPGD) and enabled()

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return int(self._clock[0])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which runs still go on."""
        bits = (self._alive[:, None] >> np.arange(self._kernels.WIDTH)) & 1
        return np.asarray(bits.ravel()[: self._count] == 1)

    @property
    def ended_at(self) -> NDArray[np.int64]:
        """The step number each run is at, or ended at."""
        return np.where(self.alive, self.clock, self._ended_at[: self._count])

    @property
    def loss(self) -> Array:
        """The loss at the current iterate, or at the last one of a run that ended."""
        return np.asarray(self.problem.floor + 0.5 * self.raw().fields[:, self._kernels.LOSS])

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        fields = self._fields.reshape(self._alive.size, -1, self._kernels.WIDTH)
        return self.method.has_scale and not fields[:, self._kernels.SCALE].all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates."""
        return int(self._vectors.size + self._fields.size)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        first = self.clock
        rows = multiples(every, first, first + count) if every else np.empty(0, dtype=np.int64)
        record = np.empty((rows.size, self._kernels.NUM_RECORDED, self._kernels.WIDTH))
        self._kernels.advance(
            self._code,
            self.problem.curvatures,
            self.problem.target,
            self._vectors,
            self._spare,
            self._fields,
            self._final_vectors,
            self._final_fields,
            self._alive,
            self._ended_at,
            self._low,
            np.append(self._steps[0].values(first, count), 0.0),
            np.append(self._steps[1].values(first, count), 0.0),
            self._powers,
            self._clock,
            every,
            record,
        )
        if not every:
            return None
        return self._records(rows[rows <= self.ended_at[0]], record[..., 0])

    def raw(self) -> RawState:
        """The exact state of each run, to go on from later."""
        alive = self.alive[:, None]
        width = self._kernels.WIDTH
        pairs = ((self._vectors, self._final_vectors), (self._fields, self._final_fields))
        blocks = self._alive.size
        now, then = zip(*((_from_lanes(a, blocks, width), _from_lanes(b, blocks, width)) for a, b in pairs), strict=True)
        vectors, fields = (np.where(alive, a[: self._count], b[: self._count]) for a, b in zip(now, then, strict=True))
        return RawState(vectors, fields)

    def position(self) -> Position:
        """Where each run stands, or ended."""
        raw, kernels = self.raw(), self._kernels
        with np.errstate(over="ignore", invalid="ignore"):
            inverse = raw.fields[:, kernels.INVERSE_NORM]
            perp = _perp(raw.fields[:, kernels.PERP], raw.fields[:, kernels.PERP_EXPONENT])
            vector = np.column_stack([raw.vectors, perp])
            if not self.method.has_scale:
                norm = safe_norm(vector, inverse)
                safe = np.where(norm > 0, norm, 1.0)
                return Position(vector / safe[:, None], norm, np.ones_like(norm), perp / safe)
            return Position(
                vector * inverse[:, None],
                raw.fields[:, kernels.SCALE],
                1.0 / inverse if self._code == kernels.WEIGHT_NORM else np.ones_like(inverse),
                perp * inverse,
            )

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        raw, width = self.raw(), self._kernels.WIDTH
        going = self.alive & ~which
        self._final_vectors[:] = _to_lanes(raw.vectors, width)
        self._final_fields[:] = _to_lanes(raw.fields, width)
        self._ended_at[: self._count] = self.ended_at
        bits = np.zeros(self._alive.size * width, dtype=np.int64)
        bits[: self._count] = going
        self._alive[:] = (bits.reshape(-1, width) << np.arange(width)).sum(axis=1)

    def _records(self, step: NDArray[np.int64], record: Array) -> Records:
        loss, scale, inverse, perp, exponent, square = record[: step.size].T
        perp = _perp(perp, exponent)
        loss = self.problem.floor + 0.5 * loss
        if not self.method.has_scale:
            norm = np.sqrt(square + perp**2)
            scale, length, perp = norm, np.ones_like(norm), perp / np.where(norm > 0, norm, 1.0)
        else:
            length = 1.0 / inverse if self._code == self._kernels.WEIGHT_NORM else np.ones_like(inverse)
            perp = perp * inverse
        return records(self.problem, step, loss, scale, length, np.empty(0), perp)


def fresh_state(method: Method, problem: ReducedProblem, coordinates: Array, scale: Array, limit: Array) -> RawState:
    """The state of runs that start at x0 = scale·w0, for unit vectors w0 in reduced coordinates (n, rank + 1)."""
    from .._kernels import least_squares as kernels

    state = method.init(scale, coordinates)
    fields = np.zeros((scale.size, kernels.NUM_FIELDS))
    fields[:, kernels.SCALE] = state.scale
    fields[:, kernels.INVERSE_NORM] = 1.0 / np.linalg.norm(state.vector, axis=1) if method.has_scale else 1.0
    fields[:, kernels.PERP] = state.vector[:, -1]
    fields[:, kernels.PERP_WEIGHT] = 1.0
    fields[:, kernels.PERP_LOW] = np.where(state.vector[:, -1] > 0, 2.0**-kernels.PERP_BITS, -np.inf)
    fields[:, kernels.PERP_HIGH] = np.inf
    fields[:, kernels.LIMIT] = 2.0 * (limit - problem.floor)
    return RawState(state.vector[:, :-1], fields)


def _perp(mantissa: Array, exponent: Array) -> Array:
    from .._kernels.least_squares import PERP_BITS

    return np.ldexp(mantissa, (PERP_BITS * exponent).astype(np.int64))


def _to_lanes(rows: Array, width: int) -> Array:
    """(n, size) -> flat block × size × lane; missing lanes repeat the last run."""
    count, size = rows.shape
    blocks = -(-count // width)
    padded = rows[np.minimum(np.arange(blocks * width), count - 1)]
    return np.ascontiguousarray(padded.reshape(blocks, width, size).transpose(0, 2, 1)).ravel()


def _from_lanes(flat: Array, blocks: int, width: int) -> Array:
    """The inverse of `_to_lanes`, padding included."""
    return flat.reshape(blocks, -1, width).transpose(0, 2, 1).reshape(blocks * width, -1)


def _code(method: Method) -> int:
    from .._kernels import least_squares as kernels

    codes = {GradientDescent: kernels.GRADIENT_DESCENT, WeightNorm: kernels.WEIGHT_NORM, RPGD: kernels.RPGD}
    return int(codes[type(method)])
