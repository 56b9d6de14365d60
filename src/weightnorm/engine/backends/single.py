"""Runs on least squares one by one, by the compiled kernel that has every option of a step: decay,
clipping, batch norm, and the samples that random steps draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array
from ...methods.contract import Method
from ...methods.registry import COMPILED
from ...methods.state import State
from ...methods.steps import bind_steps
from ...methods.training import BUFFERS
from ..batch import (
    Batch,
    Position,
    Records,
    Start,
    other_coordinates,
    position_of,
    record_by_pieces,
)
from ..kernels.arguments import Rule, SingleProblem, SingleRuns, StepExtras, StepValues, plain


class SingleBatch(Batch):
    """n runs of one method on a diagonal problem, or on a least-squares problem whose samples are
    kept apart; see `batch.Batch`.

    Parameters
    ----------
    method : a registered method
    problem : Diagonal, or ReducedModel with the loss of least squares
    start : Start
    stop_loss : float
        The loss at which runs stop.
    threads : int
        Not used.
    """

    def __init__(
        self, method: Any, problem: Any, start: Start, stop_loss: float, threads: int = 1
    ) -> None:
        from ..kernels import single as kernels

        self._kernels = kernels
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._stop_loss, self._perp_units = stop_loss, start.perp_units
        code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._rule = Rule(code, method.momentum, method.nesterov)
        self._steps = bind_steps(method, problem)
        self._powers = np.array(
            [power for step in self._steps for power in (step.scale_power, step.norm_power)]
        )
        self._decays = np.array([method.direction_decay, method.scale_decay])
        self._clip = np.inf if method.clip is None else method.clip
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
        self._samples = _samples(problem, count)
        self._factors = np.array([np.broadcast_to(step.factor, count) for step in self._steps])
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, start.clock, dtype=np.int64)
        self.loss = np.full(count, np.nan)
        self.divergence_loss = start.divergence_loss
        self._clock = np.array([start.clock], dtype=np.int64)
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether it is compiled: it has every feature."""
        from ..kernels import single as kernels

        return kernels.COMPILED

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
        sizes = 4 * self._vector.shape[1] + 2 * self._samples.matrix.size
        return int(sizes * len(self._scale) + 16 * self._samples.y.size)

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
        values = [step.values_and_end(first, count) for step in self._steps]
        rows, noise = self._drawn(first, count)
        judged = self.alive, self.loss, self.ended_at, self.divergence_loss
        runs = SingleRuns(self._vector, self._buffer, self._scale, self._scale_buffer, *judged)
        steps = StepValues(values[0], values[1], self._powers)
        extras = StepExtras(self._factors, self._decays, self._clip, rows, noise)
        groups = plain(self._rule, self._samples, runs, steps, extras)
        self._kernels.advance(*groups, self._stop_loss, self._clock)
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


def _samples(problem: Any, count: int) -> SingleProblem:
    """Curvatures, target and floor of each run, and the samples; what a problem lacks is empty."""
    if problem.curvatures is None:
        samples, y = problem.num_samples, np.array(problem.loss.y)
        if problem.matrix.shape != (samples, problem.dimension - 1) or y.shape != (samples,):
            raise ValueError(
                "the samples of a problem were changed after it was made; make it anew"
            )
        nothing = np.empty((count, 0))
        return SingleProblem(nothing, nothing, np.zeros(count), problem.matrix, y)
    shape = (count, problem.dimension - 1)
    curvatures, target = (
        np.ascontiguousarray(np.broadcast_to(a, shape))
        for a in (problem.curvatures, problem.target)
    )
    floor = np.array(np.broadcast_to(np.asarray(problem.floor, dtype=np.float64), count))
    return SingleProblem(curvatures, target, floor, np.empty((0, shape[1])), np.empty(0))
