"""Batch normalization of a linear model: gradient descent on (g, w) with x = g·w/‖Aw‖."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._support.numeric import EPS, Array
from .state import Evaluation, State, block_norm, expand
from .training import TwoSteps
from .weight_norm import checked_norm

# a length ‖Aw‖ this small, against that of another direction, is rounding
UNSEEN = 64 * EPS


@dataclass(frozen=True, repr=False)
class BatchNorm(TwoSteps):
    """Batch normalization of a linear model: gradient descent on (g, w) with x = g·w/‖Aw‖.

    The predictions are g·Aw/‖Aw‖, of length |g|. With G = ∇f(x) and n = ‖Aw‖: g ← g − γ⟨w, G⟩/n,
    w ← w − (η g/n)(G − ⟨w, G⟩AᵀAw/n²). The gradient of w lies in the row space of A and is
    orthogonal to w: ‖w‖ only grows, and the part of w off the row space never moves. n is that of
    all samples, at every step: batch_size chooses the samples of the loss alone.

    A run starts at x0 = scale·direction, as with every method, so its own g0 is scale·‖Aw0‖/‖w0‖;
    the scale of results and histories is that of the weights, x = scale·direction, and so is the g
    of a step with powers of g. The mean is not taken off: `LeastSquares.centred` does that.
    direction_decay shrinks ‖w‖, so that the steps of w/‖w‖ grow until they throw x off: it does not
    come to rest.

    Parameters
    ----------
    direction_step, scale_step : float, Schedule or callable
        η for w and γ for g: a number, a schedule, or a function of the step number t.
    initial_norm : float
        ‖w0‖, between 1e-100 and 1e100.
    momentum, nesterov, scale_decay, direction_decay, clip, batch_size, label_noise, seed
        See `weightnorm.methods.GradientMethod`. scale_decay is that of its own g, |g| = ‖Ax‖.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> result = wn.run(wn.BatchNorm(0.05, 0.05), problem, scale=1.0, direction=w0)
    >>> result.status == "converged", result.norm > 3.5  # the minimum norm is 3
    (True, True)
    """

    initial_norm: float = 1.0

    name: ClassVar[str] = "BatchNorm"
    has_scale: ClassVar[bool] = True
    rotation_equivariant: ClassVar[bool] = True
    free_norm: ClassVar[bool] = True
    needs_predictions: ClassVar[bool] = True
    curvature_powers: ClassVar[tuple[float, float]] = (-2.0, 2.0)

    @property
    def features(self) -> frozenset[str]:
        """Those of all methods, and that its scale is that of ‖Aw‖."""
        return super().features | {"own scale"}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "initial_norm", checked_norm(self.initial_norm))

    def own_scale(self, problem: Any, scale: Array, unit: Array) -> Array:
        """The method's own g for weights scale·unit: scale·‖A unit‖.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the directions.
        scale : (n,) array
            Of the weights.
        unit : (n, d) array
            Unit directions.

        Returns
        -------
        (n,) array
            g.

        Raises
        ------
        ValueError
            For a direction with Aw = 0, which the method divides by.
        """
        length, _ = problem.normal(unit)
        other, _ = problem.normal(
            np.tile(np.cos(np.arange(1.0, unit.shape[1] + 1.0)), (len(unit), 1))
        )
        unseen = ~(length > UNSEEN * other)
        if unseen.any():
            which = "" if len(unit) == 1 else f" number {int(np.argmax(unseen))}"
            raise ValueError(
                f"direction{which} has Aw = 0 for the data A, and BatchNorm divides by ‖Aw‖; start "
                "from a direction that the data sees"
            )
        return np.asarray(scale * length)

    def weights_scale(self, problem: Any, scale: Array, unit: Array) -> Array:
        """The scale of the weights for the method's own g: g/‖A unit‖.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the directions.
        scale : (n,) array
            g.
        unit : (n, d) array
            Unit directions.

        Returns
        -------
        (n,) array
            The signed scale of the weights; NaN where A unit = 0.
        """
        length, _ = problem.normal(unit)
        return np.asarray(scale / np.where(length > 0, length, np.nan))

    def decay_gradient(self, problem: Any, x: Array) -> Array:
        """What the decay of g = ‖Ax‖ adds to the gradient by the weights: μAᵀAx."""
        return np.asarray(self.scale_decay * problem.normal(x)[1])

    def evaluate(self, problem: Any, state: State) -> Evaluation:
        """Loss, ∇_w = (g/n)(G − ⟨w, G⟩AᵀAw/n²) and ∇_g = ⟨w, G⟩/n, at x = g w/n with n = ‖Aw‖."""
        w, g = state.vector, state.scale
        length, normal = problem.normal(w)
        # overflowed, or no longer seen by the data: diverged
        length = np.where(np.isfinite(length) & (length > 0), length, np.nan)
        stretch = expand(g / length, w)
        loss, gradient = problem.value_and_gradient(stretch * w)
        slope = np.einsum("ij,ij->i", w, gradient) / length
        return Evaluation(loss, stretch * (gradient - expand(slope / length, w) * normal), slope)

    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """Gradient descent on both, with momentum if there is any; no step leads to w = 0."""
        move, scale_move, buffers = self.step_directions(state, evaluation)
        w = state.vector - expand(vector_step, state.vector) * move
        w = np.where(expand(block_norm(w, state.scale), w) == 0.0, state.vector, w)
        return state.moved(w, state.scale - scale_step * scale_move, **buffers)
