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
    """Where n runs stand: `vector` is w (x itself for gradient descent), `scale` is g (1 there).

    The vector is (n, d) or, for matrix problems, (n, d, r). The scale is (n,), or (n, r) with one scale a column.
    """

    vector: Array
    scale: Array


@dataclass(frozen=True)
class Evaluation:
    """The loss (n,) at a state, and its gradients in the method's own coordinates, shaped like the state."""

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
                step = step * block_norm(state.vector, state.scale) ** self.norm_power
        return step

    def undefined_at(self, scale: Array) -> NDArray[np.bool_]:
        """Where the step divides by a zero scale."""
        return np.asarray((scale == 0.0) & (self.scale_power < 0))


class Problem(Protocol):
    """What a method asks of a problem; a curvature step also its `curvature`, λmax."""

    def value_and_gradient(self, x: Any) -> tuple[Any, Array]:
        """Loss and gradient in the vector of gradient descent, run by run."""

    def polar(self, unit: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Loss, gradient in the unit direction and gradient in the scale, run by run."""


class Method(Protocol):
    """A training rule. It has two schedules: the vector's first, the scale's second."""

    name: ClassVar[str]
    has_scale: ClassVar[bool]
    curvature_powers: ClassVar[tuple[float, float]]

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The schedules of the vector and of the scale."""

    def init(self, scale: Array, direction: Array) -> State:
        """The state of runs that start at this scale and these unit directions."""

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


def block_dot(a: Array, b: Array, scale: Array) -> Array:
    """⟨a, b⟩ over all that shares a scale: a whole run, or each column of it."""
    axes = tuple(range(1, a.ndim)) if scale.ndim == 1 else (1,)
    return np.asarray((a * b).sum(axis=axes))


def block_norm(vector: Array, scale: Array) -> Array:
    """The norm of all that shares a scale."""
    axes = tuple(range(1, vector.ndim)) if scale.ndim == 1 else (1,)
    if vector.ndim == 2:
        return np.asarray(np.linalg.norm(vector, axis=1))
    return np.asarray(np.sqrt((vector * vector).sum(axis=axes)))


def safe_norm(vector: Array, scale: Array) -> Array:
    """`block_norm` without over- or underflow of the squares: slower, for what is shown and not for every step."""
    largest = np.abs(vector).max(axis=tuple(range(1, vector.ndim)) if scale.ndim == 1 else (1,))
    largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return np.asarray(largest * block_norm(vector / expand(largest, vector), scale))


def expand(values: NDArray[Any], vector: Array) -> NDArray[Any]:
    """One value a scale, shaped so as to multiply the vector."""
    return values.reshape(-1, *[1] * (vector.ndim - 1)) if values.ndim == 1 else values[:, None, :]
