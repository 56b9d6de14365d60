"""Gradient descent, x ← x − η ∇f(x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._support.numeric import Array
from .schedules import Schedule, Step, as_schedule, constant
from .state import Evaluation, State, expand
from .training import GradientMethod

_FROZEN = constant(0.0)


@dataclass(frozen=True, repr=False)
class GradientDescent(GradientMethod):
    """Gradient descent on the weights themselves: x ← x − η ∇f(x).

    It keeps every part of its start that the data cannot see: on least squares it ends at x* + x0⊥,
    with x* the minimum-norm solution and x0⊥ the part of the start orthogonal to the row space of
    A.

    Parameters
    ----------
    step : float, Schedule or callable
        η: a number, a schedule, or a function of the step number t.
    momentum, nesterov, direction_decay, clip, batch_size, label_noise, seed
        See `weightnorm.methods.GradientMethod`; direction_decay: x ← x − η(∇f(x) + λx).

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.run(wn.GradientDescent(0.1), problem, scale=2.8, direction=w0).status
    <Status.CONVERGED: 'converged'>
    """

    step: Step

    name: ClassVar[str] = "GradientDescent"
    has_scale: ClassVar[bool] = False
    rotation_equivariant: ClassVar[bool] = True
    curvature_powers: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._check_training()
        if self.scale_decay:
            raise ValueError(
                f"scale_decay must be 0 for GradientDescent, which has no scale, got "
                f"{self.scale_decay:g}; direction_decay is its weight decay"
            )
        schedule = as_schedule("step", self.step)
        if schedule.scale_power or schedule.norm_power:
            raise ValueError(
                "step of GradientDescent depends on the scale g or on ‖w‖, which it does not have"
            )

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The step's schedule; the scale's is a constant zero."""
        return as_schedule("step", self.step), _FROZEN

    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """x ← x − η v, v the gradient or its momentum."""
        move, _, buffers = self.step_directions(state, evaluation)
        return state.moved(
            state.vector - expand(vector_step, state.vector) * move, state.scale, **buffers
        )
