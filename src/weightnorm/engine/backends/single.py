"""Runs on least squares one by one, by the compiled kernel that has every option of a step: decay,
clipping, batch norm, and the samples that random steps draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...methods.contract import Method, State
from ...methods.registry import COMPILED
from ...methods.schedules import bind_steps
from ...methods.training import BUFFERS
from ..batch import (
    Array,
    Batch,
    Position,
    Records,
    Start,
    other_coordinates,
    position_of,
    record_by_pieces,
)


class SingleBatch(Batch):
    """n runs of one method on a diagonal problem, or on a least-squares problem whose samples are
    kept apart; see `batch.Batch`.

    Parameters
    ----------
    method : a registered method
    problem : Diagonal, or ReducedModel with the loss of least squares
    start : Start
    low : float
        The loss at which runs stop.
    threads : int
        Not used.
    """

    def __init__(
        self, method: Any, problem: Any, start: Start, low: float, threads: int = 1
    ) -> None:
        from ..kernels import single as kernels

        self._kernels = kernels
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._low, self._perp_units = low, start.perp_units
        self._code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._steps = bind_steps(method, problem)
        self._powers = np.array(
            [power for step in self._steps for power in (step.scale_power, step.norm_power)]
        )
        self._rates = np.array([method.direction_decay, method.scale_decay])
        sampling = method.sampling
        self._draws = None if sampling is None else sampling.draws(problem.num_samples)
        state = start.state
        if state.vector.shape[1] != problem.dimension:
            raise other_coordinates(state.vector.shape[1], problem.dimension)
        self._vector, self._scale = state.vector.copy(), state.scale.copy()
        self._buffer, self._scale_buffer = np.zeros_like(self._vector), np.zeros_like(self._scale)
        for buffer, name in zip((self._buffer, self._scale_buffer), BUFFERS, strict=True):
            buffer[:] = state.arrays.get(name, 0.0)
        count = len(self._scale)
        self._data = _data(problem, count)
        self._factors = np.array([np.broadcast_to(step.factor, count) for step in self._steps])
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, start.clock, dtype=np.int64)
        self.loss = np.full(count, np.nan)
        self.limit = np.full(count, np.inf) if start.limit is None else start.limit
        self._clock = np.array([start.clock], dtype=np.int64)
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether the kernels that make many runs at once, which are faster, do not have it."""
        from ..kernels import single as kernels

        one: Any = method
        return kernels.COMPILED and (one.sampling is not None or not one.plain_rule)

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return int(self._clock[0])

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        return self.method.has_scale and not self._scale.all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates, about."""
        matrix, y = self._data[3:]
        return int((4 * self._vector.shape[1] + 2 * matrix.size) * len(self._scale) + 16 * y.size)

    def state(self) -> State:
        """Where the runs stand, with their momentum."""
        state = State(self._vector.copy(), self._scale.copy())
        if not self.method.momentum:
            return state
        return state.also(vector_buffer=self._buffer.copy(), scale_buffer=self._scale_buffer.copy())

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        if every:
            return record_by_pieces(self, self.advance, count, every)
        first = self.clock
        self._kernels.advance(
            self._code,
            *self._data,
            self._vector,
            self._buffer,
            self._scale,
            self._scale_buffer,
            self.alive,
            self.loss,
            self.ended_at,
            self._low,
            self.limit,
            *(np.append(step.values(first, count), 0.0) for step in self._steps),
            self._factors,
            self._powers,
            self.method.momentum,
            self.method.nesterov,
            self._rates,
            np.inf if self.method.clip is None else self.method.clip,
            *self._drawn(first, count),
            self._clock,
        )
        return None

    def _drawn(self, first: int, count: int) -> tuple[NDArray[np.intp], Array]:
        """The rows and the noise of these steps, (count, 0) where there is none."""
        drawn = (
            [] if self._draws is None else [self._draws.at(t) for t in range(first, first + count)]
        )
        rows = np.array([rows for rows, _ in drawn if rows is not None], dtype=np.intp)
        noise = np.array([noise for _, noise in drawn if noise is not None])
        return (
            rows if rows.size else np.empty((count, 0), dtype=np.intp),
            noise if noise.size else np.empty((count, 0)),
        )

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended."""
        which = slice(1) if first_only else slice(None)
        state = State(self._vector[which], self._scale[which].copy())
        problem = self.problem.of_runs(np.arange(len(self._scale))[which])
        return position_of(state, self.method, problem, self._perp_units)


def _data(problem: Any, count: int) -> tuple[Array, Array, Array, Array, Array]:
    """Curvatures, target and floor of each run, and the samples; what a problem lacks is empty."""
    if problem.curvatures is None:
        samples, y = problem.num_samples, np.array(problem.loss.y)
        if problem.matrix.shape != (samples, problem.dimension - 1) or y.shape != (samples,):
            raise ValueError(
                "the samples of a problem were changed after it was made; make it anew"
            )
        nothing = np.empty((count, 0))
        return nothing, nothing, np.zeros(count), problem.matrix, y
    shape = (count, problem.dimension - 1)
    curvatures, target = (
        np.ascontiguousarray(np.broadcast_to(a, shape))
        for a in (problem.curvatures, problem.target)
    )
    floor = np.array(np.broadcast_to(np.asarray(problem.floor, dtype=np.float64), count))
    return curvatures, target, floor, np.empty((0, shape[1])), np.empty(0)
