"""Runs on a linear model with a loss that has a kernel: 8 to a block, or one alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array
from ..._support.pool import share
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
    multiples,
    other_coordinates,
    position_of,
    record_by_pieces,
)
from ..kernels import model_kernel

# Entries of the matrix from which BLAS makes the products of one run, because it shares them among
# threads: on two cores it wins from about 640 × 640 on. It is NumPy's, not that of SciPy, which
# numba would call: each has threads of its own, and those that wait keep the cores from the others.
BLAS_FROM = 400_000
LINE = 8  # numbers in a cache line: lanes across two of them cost a tenth more
PARTS_PER_THREAD = 4  # so that a core that wakes up late has less to do
WORTH_A_THREAD = 2**21  # entries of the matrix times runs and steps: some milliseconds


class ModelBatch(Batch):
    """n runs of one method on a linear model whose loss is compiled; see `batch.Batch`.

    Runs are the rows of arrays, and every call of the kernel puts those that are alive into lanes:
    the numbers of a run do not depend on which. A batch of one run has the kernel with the
    coordinates in the lanes, whose sums have another order: it agrees to rounding.

    Parameters
    ----------
    method : a registered method without random steps
    problem : ReducedModel
    start : Start
    stop_loss : float
        The loss at which runs stop.
    threads : int
        Blocks are shared out among so many; the numbers of a run do not depend on it.
    """

    uses_threads = True

    def __init__(
        self, method: Any, problem: Any, start: Start, stop_loss: float, threads: int = 1
    ) -> None:
        state: State = start.state
        if state.vector.shape[1] != problem.dimension:
            raise other_coordinates(state.vector.shape[1], problem.dimension)
        if problem.matrix.shape != (problem.num_samples, problem.dimension - 1):
            raise ValueError(
                "the samples of a problem were changed after it was made; make it anew"
            )
        count = len(state.scale)
        kernels = self._kernels = model_kernel(lone=count == 1)
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._stop_loss, self._perp_units, self._threads = stop_loss, start.perp_units, threads
        self._code = getattr(kernels, str(COMPILED[type(method)].kernel))
        self._loss_code = getattr(kernels, problem.kernel)
        self._steps = bind_steps(method, problem)
        powers = [[step.scale_power, step.norm_power] for step in self._steps]
        if self._code != kernels.WEIGHT_NORM:  # ‖w‖ is 1, or there is no w
            powers = [[power, 0.0] for power, _ in powers]
        self._powers = np.ravel(powers)
        self._matrix = _padded(problem.matrix, kernels.ROWS, kernels.COLUMNS)
        self._labels = _padded(problem.loss_rows, 1, kernels.ROWS).ravel()
        self._by_blas = kernels.LONE and self._matrix.size >= BLAS_FROM
        self._vectors, self._scale = state.vector.copy(), state.scale.copy()
        heavy = count if method.momentum else 0
        self._buffers = [np.zeros_like(a[:heavy]) for a in (self._vectors, self._scale)]
        for buffer, name in zip(self._buffers, BUFFERS, strict=True):
            buffer[:] = state.arrays.get(name, 0.0) if heavy else 0.0
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, start.clock, dtype=np.int64)
        self.loss = np.full(count, np.nan)
        self.divergence_loss = start.divergence_loss
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Whether the kernel has all that its steps have."""
        return model_kernel().COMPILED and method.features <= {"momentum"}

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive, or of the last that ended."""
        return int(self.ended_at[self.alive].max() if self.alive.any() else self.ended_at.max())

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        return self.method.has_scale and not self._scale.all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs is worth: about what it costs."""
        return max(1, int(self.alive.sum())) * (self._matrix.size + 8 * self._labels.size)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        if every and self.keeps_units:  # the kernel records a few numbers only
            return record_by_pieces(self, self.advance, count, every)
        going, first, self.passed = np.flatnonzero(self.alive), self.clock, None
        if not going.size:
            return None
        steps = multiples(every, first, first + count) if every else np.empty(0, dtype=np.int64)
        record = np.full((steps.size, 4), np.nan)
        values = (step.values_and_end(first, count) * step.factor for step in self._steps)
        rest = (*values, self._powers, self.method.momentum, self.method.nesterov, every, record)
        blocks = -(-going.size // self._kernels.RUNS)
        worth = 1 + going.size * self._matrix.size * count // WORTH_A_THREAD
        parts = 1 if self._threads == 1 else min(self._threads * PARTS_PER_THREAD, blocks, worth)
        block = np.arange(going.size) // self._kernels.RUNS
        shares = [going[block % parts == part] for part in range(parts)]
        done = False
        try:
            if self._by_blas:  # in another thread: Ctrl-C waits until the steps are made
                share(lambda steps: self._advance_by_blas(first, *steps), [rest], 1)
            elif parts == 1:
                self._call(going, *rest)
            else:
                share(lambda part: self._call(part, *rest), shares, self._threads)
            done = True
        finally:  # an interruption comes after the kernel's call, or before it
            if every and (done or self.ended_at[0] > first):
                self.passed = self._records(steps[steps <= self.ended_at[0]], record)
        return self.passed

    def _call(self, order: NDArray[np.intp], *rest: Any) -> None:
        self._kernels.advance(
            self._code,
            self._loss_code,
            self._matrix.reshape(-1),
            self._labels,
            self._vectors,
            self._scale,
            *self._buffers,
            self.loss,
            self.divergence_loss,
            self.alive,
            self.ended_at,
            order,
            self._stop_loss,
            *rest,
        )

    def _advance_by_blas(
        self, first: int, vector_values: Array, scale_values: Array, *others: Any
    ) -> None:
        """What the kernel's `advance` does, for one run on a large matrix."""
        *rest, every, record = others
        kernels, state = self._kernels, (self._vectors, self._scale, *self._buffers)
        predictions, x = np.zeros(self._matrix.shape[0]), np.zeros(self._matrix.shape[1])
        rows = iter(record)
        with np.errstate(over="ignore", invalid="ignore"):
            for i, steps in enumerate(np.column_stack([vector_values, scale_values])):
                inverse = kernels.weights(self._code, self._vectors, self._scale, x)
                np.matmul(self._matrix, x, out=predictions)
                loss = kernels.errors(self._loss_code, self._labels, predictions)
                self.loss[0], self.ended_at[0] = loss, first + i
                if every and (first + i) % every == 0:
                    w = self._vectors[0]
                    next(rows)[:] = loss, self._scale[0], w @ w, w[-1]
                self.alive[0] = self._stop_loss < loss <= self.divergence_loss[0]
                if not self.alive[0] or i == len(vector_values) - 1:
                    break
                np.matmul(predictions, self._matrix, out=x)
                kernels.move(self._code, *state, x, inverse, steps, *rest)

    def _records(self, step: NDArray[np.int64], record: Array) -> Records:
        """The records of the first run, from what the kernel wrote."""
        loss, scale, square, perp = record[: step.size].T
        length = np.sqrt(square)
        perp = perp / np.where(length > 0, length, 1.0)
        if not self.method.has_scale:
            scale, length = length, np.ones_like(length)
        return Records(step, loss, scale, length, *self.problem.norms(scale, scale, perp))

    def state(self) -> State:
        """The exact state of the first run, to go on from later."""
        state = State(self._vectors[:1].copy(), self._scale[:1].copy())
        if not self.method.momentum:
            return state
        buffers = (buffer[:1].copy() for buffer in self._buffers)
        return state.also(**dict(zip(BUFFERS, buffers, strict=True)))

    def position(self, first_only: bool = False) -> Position:
        """Where each run stands, or ended."""
        which = slice(1) if first_only else slice(None)
        state = State(self._vectors[which], self._scale[which].copy())
        return position_of(state, self.method, self.problem, self._perp_units)


def _padded(matrix: Array, rows: int, columns: int) -> Array:
    """The matrix with zeros around it, its shape a multiple of these; where lanes are columns, from
    a cache line on.
    """
    m, rank = matrix.shape
    shape = m + -m % rows, rank + -rank % columns
    if shape == matrix.shape and columns == 1:
        return matrix
    room = np.zeros(shape[0] * shape[1] + LINE)
    first = -room.ctypes.data % (8 * LINE) // 8
    answer = room[first : first + shape[0] * shape[1]].reshape(shape)
    answer[:m, :rank] = matrix
    return answer
