"""Runs with random steps on least squares by the compiled kernel: the method's rule, and the
samples it draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...methods.contract import Method, State
from ...methods.registry import COMPILED
from ...methods.training import BUFFERS
from ...schedules import bind_steps
from ..batch import Batch, Position, Records, Start, position_of, record_by_pieces


class SampledBatch(Batch):
    """n runs of one method with random steps, on a least-squares problem whose samples are kept
    apart; see `batch.Batch`.

    Parameters
    ----------
    method : a registered method with random steps
    problem : ReducedModel
    start : Start
    low : float
        The loss at which runs stop.
    threads : int
        Not used.
    """

    def __init__(
        self, method: Any, problem: Any, start: Start, low: float, threads: int = 1
    ) -> None:
        from ..kernels import sampled as kernels

        self._kernels = kernels
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._low, self._perp_units = low, start.perp_units
        self._code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._steps = bind_steps(method, problem)
        self._powers = np.array(
            [power for step in self._steps for power in (step.scale_power, step.norm_power)]
        )
        self._draws = method.sampling.draws(problem.num_samples)
        state = start.state
        self._vector, self._scale = state.vector.copy(), state.scale.copy()
        self._buffer, self._scale_buffer = np.zeros_like(self._vector), np.zeros_like(self._scale)
        for buffer, name in zip((self._buffer, self._scale_buffer), BUFFERS, strict=True):
            buffer[:] = state.arrays.get(name, 0.0)
        count = len(self._scale)
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, start.clock, dtype=np.int64)
        self.loss = np.full(count, np.nan)
        self.limit = np.full(count, np.inf) if start.limit is None else start.limit
        self._clock = np.array([start.clock], dtype=np.int64)
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether the method has random steps; without them the diagonal kernel is faster."""
        from ..kernels import sampled as kernels

        return kernels.COMPILED and method.sampling is not None  # type: ignore[attr-defined]

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
        return int(2 * self.problem.matrix.size * len(self._scale) + 16 * self.problem.num_samples)

    def state(self) -> State:
        """Where the runs stand, with their momentum."""
        state = State(self._vector.copy(), self._scale.copy())
        return state.also(vector_buffer=self._buffer.copy(), scale_buffer=self._scale_buffer.copy())

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        if every:
            return record_by_pieces(self, self.advance, count, every)
        first = self.clock
        drawn = [self._draws.at(t) for t in range(first, first + count)]
        rows = np.array([rows for rows, _ in drawn if rows is not None], dtype=np.intp)
        noise = np.array([noise for _, noise in drawn if noise is not None])
        self._kernels.advance(
            self._code,
            self.problem.matrix,
            self.problem.loss.y,
            self._vector,
            self._buffer,
            self._scale,
            self._scale_buffer,
            self.alive,
            self.loss,
            self.ended_at,
            self._low,
            self.limit,
            *(np.append(step.values(first, count) * step.factor, 0.0) for step in self._steps),
            self._powers,
            self.method.momentum,
            self.method.nesterov,
            rows.reshape(len(rows), -1) if rows.size else np.empty((count, 0), dtype=np.intp),
            noise if noise.size else np.empty((count, 0)),
            self._clock,
        )
        return None

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended."""
        which = slice(1) if first_only else slice(None)
        state = State(self._vector[which], self._scale[which].copy())
        return position_of(state, self.method.has_scale, self.problem, self._perp_units)
