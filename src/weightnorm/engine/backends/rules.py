"""Runs by the methods' own rules in NumPy, in any coordinates: the reference, and the path
without a kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.interrupts import held
from ..._support.numeric import Array
from ...methods.contract import Method
from ...methods.state import Evaluation, State, block_norm, expand
from ...methods.steps import StepSize, bind_steps
from ..batch import Batch, Position, Records, Start, gather, multiples, position_of, weights_scale
from .own_rules import updated


class RulesBatch(Batch):
    """n runs of one method, advanced together; see `batch.Batch`.

    Parameters
    ----------
    method, problem
    start : Start
    stop_loss : float
        The loss at which runs stop.
    threads : int
        Not used: NumPy's products have their own.
    """

    def __init__(
        self, method: Method, problem: Any, start: Start, stop_loss: float, threads: int = 1
    ) -> None:
        self.method, self.problem, self.schedules = method, problem, method.schedules
        self._stop_loss, self._perp_units = stop_loss, start.perp_units
        self._steps = bind_steps(method, problem)
        sampling = method.sampling
        self._draws = None if sampling is None else sampling.draws(problem.num_samples)
        state: State = start.state
        count = len(state.scale)
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, start.clock, dtype=np.int64)
        # replaced as one, so an interruption finds them consistent
        self._moment: tuple[State, int] = (state, start.clock)
        self.loss = np.full(count, np.nan)
        self.divergence_loss = start.divergence_loss
        self.advance(0)

    @staticmethod
    def can_run(method: Method) -> bool:
        """Any method."""
        return True

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return self._moment[1]

    def state(self) -> State:
        """Where the runs stand, all that the method keeps."""
        return self._moment[0]

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        state = self.state()
        stuck = (
            state.scale
            if self.method.has_scale
            else state.vector.reshape(len(state.scale), -1).any(axis=1)
        )
        return not stuck.all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates, an interpreted step counting for a
        million at least.
        """
        return max(self.state().vector.size, 2**20)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        rows: list[tuple[Array, Position]] = []
        first = self.clock
        vector_values = self._steps[0].values(first, count)
        scale_values = self._steps[1].values(first, count)
        self.passed = None
        try:
            with held() as interrupted, np.errstate(over="ignore", invalid="ignore"):
                for i in range(count + 1):
                    evaluation = self._evaluated(self.problem)
                    np.copyto(self.loss, evaluation.loss, where=self.alive)
                    np.copyto(self.ended_at, self.clock, where=self.alive)
                    if every and self.clock % every == 0 and self.alive[0]:
                        rows.append((self.loss[:1].copy(), self.position()))
                    self.alive &= (self.loss > self._stop_loss) & (
                        self.loss <= self.divergence_loss
                    )
                    if i == count or not self.alive.any() or interrupted():
                        break
                    self._update(evaluation, vector_values[i], scale_values[i])
        finally:
            if rows:
                steps = multiples(every, first, first + count)[: len(rows)]
                self.passed = gather(self, steps, rows)
        return self.passed

    def _evaluated(self, problem: Any) -> Evaluation:
        """Loss and gradients, of the shapes they must have."""
        state = self.state()
        evaluation: Evaluation = self.method.evaluate(problem, state)
        gradients = (
            (evaluation.vector_gradient, state.vector),
            (evaluation.scale_gradient, state.scale),
        )
        if np.shape(evaluation.loss) != self.alive.shape or any(
            np.shape(a) != b.shape for a, b in gradients
        ):
            shapes = [np.shape(evaluation.loss), *(np.shape(a) for a, _ in gradients)]
            raise ValueError(
                f"{type(self.method).__name__}.evaluate on {type(problem).__name__} must give a "
                f"loss of shape {self.alive.shape} and gradients of shapes {state.vector.shape} "
                f"and {state.scale.shape}, got {shapes}; value_and_gradient(x) gets one row per "
                "run, and returns one loss and one gradient row per run"
            )
        return evaluation

    def _update(self, evaluation: Evaluation, vector_value: float, scale_value: float) -> None:
        state = self.state()
        # the loss was that of all samples without noise; the step sees a part of them
        if self._draws is not None:
            evaluation = self._evaluated(self.problem.sample(*self._draws.at(self.clock)))
        sizes = self._sizes(state)
        steps = (
            step_at(self._steps[0], vector_value, *sizes),
            step_at(self._steps[1], scale_value, *sizes),
        )
        new = updated(self.method, state, evaluation, *steps)
        if not self.alive.all():
            new = _where(self.alive, new, state)
        self._moment = (new, self.clock + 1)

    def _sizes(self, state: State) -> tuple[Array, Array]:
        """The scale of the weights and ‖w‖, which a step may have powers of."""
        other = not self.method.trains_weights_scale and any(s.scale_power for s in self._steps)
        if not (other or any(step.norm_power for step in self._steps)):
            return state.scale, state.scale
        norm = block_norm(state.vector, state.scale)
        if not other:
            return state.scale, norm
        unit = state.vector / expand(norm, state.vector)
        return weights_scale(self.method, self.problem, state.scale, unit, norm), norm

    def position(self) -> Position:
        """Where each run stands, or ended."""
        return position_of(self.state(), self.method, self.problem, self._perp_units)


def step_at(step: StepSize, value: float, scale: Array, norm: Array) -> Array:
    """The step of each run, for a value of its schedule, at these scales and norms."""
    size = np.full(scale.shape, value * step.factor)
    if not (step.scale_power or step.norm_power):
        return size
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if step.scale_power:
            size = size * np.abs(scale) ** step.scale_power
        if step.norm_power:
            size = size * norm**step.norm_power
    return np.asarray(size)


def _where(alive: NDArray[np.bool_], new: State, old: State) -> State:
    """The new state of the runs that are alive, the old one of the others, array by array."""

    def mixed(after: NDArray[Any], before: Any) -> NDArray[Any]:
        return np.where(alive.reshape(-1, *[1] * (after.ndim - 1)), after, before)

    arrays = {
        name: mixed(after, old.arrays.get(name, np.zeros_like(after)))
        for name, after in new.arrays.items()
    }
    return State(mixed(new.vector, old.vector), mixed(new.scale, old.scale), arrays)
