"""What every method is: frozen configuration, a start, an evaluation and an update, batched over runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..schedules import Schedule

Array = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """Where n runs stand: `vector` (n, d) is w (x itself for gradient descent), `scale` (n,) is g (1 there)."""

    vector: Array
    scale: Array


@dataclass(frozen=True)
class Evaluation:
    """The loss (n,) at a state, and its gradients in the method's own coordinates."""

    loss: Array
    vector_gradient: Array
    scale_gradient: Array


@dataclass(frozen=True)
class StepSize:
    """A schedule bound to a method and a problem: value(t)·|g|^scale_power·‖w‖^norm_power."""

    schedule: Schedule
    factor: float
    scale_power: float
    norm_power: float

    def values(self, start: int, count: int) -> Array:
        """The values, without the powers, of the steps start … start + count − 1."""
        return self.schedule(np.arange(start, start + count)) * self.factor

    def at(self, value: float, state: State) -> Array:
        """The step of each run, for a value of this schedule."""
        step = np.full(state.scale.shape, value)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self.scale_power:
                step = step * np.abs(state.scale) ** self.scale_power
            if self.norm_power:
                step = step * np.linalg.norm(state.vector, axis=-1) ** self.norm_power
        return step

    def undefined_at(self, scale: Array) -> NDArray[np.bool_]:
        """Where the step divides by a zero scale."""
        return np.asarray((scale == 0.0) & (self.scale_power < 0))


class Problem(Protocol):
    """What a method asks of a problem."""

    @property
    def curvature(self) -> float:
        """The largest curvature, λmax."""

    def value_and_gradient(self, x: Any) -> tuple[Any, Array]:
        """Loss and gradient, row by row."""


class Method(Protocol):
    """A training rule. It has two schedules: the vector's first, the scale's second."""

    name: ClassVar[str]
    has_scale: ClassVar[bool]
    curvature_powers: ClassVar[tuple[float, float]]

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The schedules of the vector and of the scale."""

    def init(self, scale: Array, direction: Array) -> State:
        """The state of runs that start at x0 = scale·direction, for unit directions (n, d)."""

    def weights(self, state: State) -> Array:
        """The weights x (n, d) a state stands for."""

    def evaluate(self, problem: Problem, state: State) -> Evaluation:
        """Loss and gradients at a state."""

    def update(self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array) -> State:
        """One step."""


def bind_steps(method: Method, problem: Any) -> tuple[StepSize, StepSize]:
    """The method's schedules with the problem's curvature put in; refuses, naming both, what the problem lacks."""
    return _bind(method, method.schedules[0], problem), _bind(method, method.schedules[1], problem)


def _bind(method: Method, schedule: Schedule, problem: Any) -> StepSize:
    if not schedule.per_curvature:
        return StepSize(schedule, 1.0, schedule.scale_power, schedule.norm_power)
    largest = getattr(problem, "curvature", None)
    if largest is None:
        raise ValueError(
            f"{method.name} has a curvature step, which needs the largest curvature λmax, and {type(problem).__name__} "
            "has none; use a constant step or schedules.scaled"
        )
    if largest == 0.0:
        raise ValueError(f"{method.name} has a curvature step 1/λmax, but A is zero, so λmax = 0; use a constant step")
    return StepSize(schedule, 1.0 / largest, *method.curvature_powers)


def row_dot(a: Array, b: Array) -> Array:
    """⟨a_i, b_i⟩ for each row i."""
    return np.asarray(np.einsum("ij,ij->i", a, b))
