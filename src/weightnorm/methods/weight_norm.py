"""Weight normalization: gradient descent on (g, w) with x = g·w/‖w‖."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._support import validate
from .._support.numeric import Array
from .state import Evaluation, State, block_dot, block_norm, expand
from .training import TwoSteps


def checked_norm(value: Any) -> float:
    """‖w0‖ as a user gives it."""
    norm = validate.real("initial_norm", value, minimum=0.0, strict=True)
    if not 1e-100 <= norm <= 1e100:
        raise ValueError(f"initial_norm must be between 1e-100 and 1e100, got {norm:g}")
    return norm


@dataclass(frozen=True, repr=False)
class WeightNorm(TwoSteps):
    """Weight normalization (Salimans & Kingma): gradient descent on (g, w) with x = g·w/‖w‖.

    g is the scale and w the direction, which is never normalised. With ŵ = w/‖w‖ and G = ∇f(g ŵ),
    the gradient by the weights: g ← g − γ⟨ŵ, G⟩, w ← w − (η g/‖w‖)(G − ⟨ŵ, G⟩ŵ). The gradient of w
    is orthogonal to w, so ‖w‖ only grows. That holds with heavy-ball momentum too, whatever the
    steps, and with Nesterov's while the step of w does not grow: −⟨w, v⟩, with v the momentum's
    buffer, is then a sum of terms that are not negative. With Nesterov's momentum and a growing
    step ‖w‖ can shrink. Where a step would lead to w = 0 exactly, w stays where it is for that
    step, while the buffers go on; a zero start direction is refused. direction_decay shrinks ‖w‖,
    so that the steps of w/‖w‖ grow until they throw x off: it does not come to rest.

    Parameters
    ----------
    direction_step, scale_step : float, Schedule or callable
        η for w and γ for g: a number, a schedule, or a function of the step number t.
    blocks : {"all", "columns"}
        One scale for all weights, or one for each column of a matrix problem's factor.
    initial_norm : float
        ‖w0‖, between 1e-100 and 1e100. A flow from ‖w0‖ ≠ 1 behaves like one with the ratio γ/η
        multiplied by ‖w0‖².
    momentum, nesterov, scale_decay, direction_decay, clip, batch_size, label_noise, seed
        See `weightnorm.methods.GradientMethod`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> result = wn.run(wn.WeightNorm(0.005, 0.005), problem, scale=1.0, direction=w0)
    >>> round(result.norm, 2)  # the minimum norm is 3
    3.0
    """

    blocks: str = "all"
    initial_norm: float = 1.0

    name: ClassVar[str] = "WeightNorm"
    has_scale: ClassVar[bool] = True
    rotation_equivariant: ClassVar[bool] = True
    # ‖w‖ is the method's own: a run that goes on from one with a free norm keeps it
    free_norm: ClassVar[bool] = True
    curvature_powers: ClassVar[tuple[float, float]] = (-2.0, 2.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.choice("blocks", self.blocks, ("all", "columns"))
        object.__setattr__(self, "initial_norm", checked_norm(self.initial_norm))

    def evaluate(self, problem: Any, state: State) -> Evaluation:
        """Loss, ∇_w = (1/‖w‖)(∇_ŵ − ⟨ŵ, ∇_ŵ⟩ŵ), and ∇_g, at x = g ŵ."""
        norm = block_norm(state.vector, state.scale)
        # overflowed: diverged
        unit = state.vector / expand(np.where(np.isfinite(norm), norm, np.nan), state.vector)
        loss, gradient, slope = problem.scale_direction_gradients(unit, state.scale)
        tangent = gradient - expand(block_dot(unit, gradient, state.scale), unit) * unit
        return Evaluation(loss, tangent / expand(norm, unit), slope)

    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """Gradient descent on both, with momentum if there is any."""
        move, scale_move, buffers = self.step_directions(state, evaluation)
        w = state.vector - expand(vector_step, state.vector) * move
        if self.momentum or self.direction_decay:
            w = np.where(expand(block_norm(w, state.scale), w) == 0.0, state.vector, w)
        return state.moved(w, state.scale - scale_step * scale_move, **buffers)
