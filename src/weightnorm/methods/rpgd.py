"""rPGD: projected gradient descent on the unit sphere, and gradient descent on the scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support import validate
from .._support.numeric import Array
from .state import Evaluation, State, block_norm, expand
from .training import TwoSteps


@dataclass(frozen=True, repr=False)
class RPGD(TwoSteps):
    """Reparametrised projected gradient descent: x = g·w with ‖w‖ = 1 after every step.

    g is the scale and w the direction. With G = ∇f(g w), the gradient by the weights:
    v = w − η g G, w ← v/‖v‖, g ← g − γ⟨w, G⟩. Where v = 0 exactly, every point of the sphere is
    equally near, and w stays where it is for that step. With direction_decay v = w − η(g G + λw):
    the sphere undoes it, but for longer steps.

    Parameters
    ----------
    direction_step, scale_step : float, Schedule or callable
        η for w and γ for g: a number, a schedule, or a function of the step number t.
    blocks : {"all", "columns"}
        One scale for all weights, or one for each column of a matrix problem's factor.
    momentum, nesterov, scale_decay, direction_decay, clip, batch_size, label_noise, seed
        See `weightnorm.methods.GradientMethod`. The buffer of w is neither projected nor rescaled.

    Examples
    --------
    Freeze the scale for 1,000 steps, then free it:

    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> method = wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, switch=1000))
    >>> round(wn.run(method, problem, scale=2.8, direction=w0, tolerance=1e-12).norm, 5)
    3.0
    """

    blocks: str = "all"

    name: ClassVar[str] = "RPGD"
    has_scale: ClassVar[bool] = True
    rotation_equivariant: ClassVar[bool] = True
    curvature_powers: ClassVar[tuple[float, float]] = (-2.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.choice("blocks", self.blocks, ("all", "columns"))

    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """A step of w projected back onto the sphere, and a step of g."""
        move, scale_move, buffers = self.step_directions(state, evaluation)
        v = state.vector - expand(vector_step, state.vector) * move
        norm = expand(block_norm(v, state.scale), v)
        with np.errstate(invalid="ignore", divide="ignore"):
            w = np.where(norm == 0.0, state.vector, v / np.where(np.isfinite(norm), norm, np.nan))
        return state.moved(w, state.scale - scale_step * scale_move, **buffers)
