"""A row of a linear layer in coordinates of the row space, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._support.numeric import Array
from ..problems import LeastSquares


@dataclass(frozen=True)
class RowSteps:
    """How a row is trained: rates c of g and κ of b over that of w; η = 0 is the flow itself.

    `frozen` is the number of steps in which g rests at first; without `corrected` the flow takes as
    long, but steps have no effect on it.
    """

    method: str
    ratio: float
    kappa: float
    step: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False
    frozen: int = 0
    norm: float = 1.0  # ‖v0‖ of WN
    corrected: bool = True

    @property
    def h(self) -> float:
        """Time per step."""
        return self.step / (1.0 - self.momentum)

    @property
    def lag(self) -> float:
        """By how many steps the buffer is behind."""
        beta = self.momentum
        return (beta**2 if self.nesterov else beta) / (1.0 - beta)

    @property
    def rho(self) -> float:
        """By how much momentum multiplies the effect of a step h."""
        return 1.0 + 2.0 * self.lag


@dataclass(frozen=True, eq=False)
class LayerRow:
    """A start on least squares in coordinates of the row space: r = S·x∥ + b·ones − right.

    With a bias, what of 1 and y lies out of the features' reach enters by outside = ‖1_out‖²,
    missed = ⟨1_out, y_out⟩ and rest = ‖y_out‖².
    """

    singular: Array
    right: Array
    scale: float
    inside: Array
    off: float
    ones: Array | float = 0.0
    bias: float = 0.0
    outside: float = 0.0
    missed: float = 0.0
    rest: float = 0.0

    @property
    def zero_loss(self) -> float:
        """The least loss at x = 0, twice."""
        whole = float(self.right @ self.right) + self.rest
        ones = np.broadcast_to(self.ones, self.right.shape)
        count, total = float(ones @ ones) + self.outside, float(ones @ self.right) + self.missed
        return whole - total**2 / count if count else whole

    def losses(self, errors: Array, bias: Array) -> Array:
        """Twice the loss of states with these errors in the features' reach."""
        out = self.outside * bias * bias - 2.0 * self.missed * bias + self.rest
        return np.asarray(np.sum(errors * errors, axis=1) + out)


def row_of(problem: LeastSquares, y: Array, row: Array, b0: float) -> LayerRow:
    """A row with a bias, by the features' factorisation."""
    factors = problem.factorisation
    size = float(np.linalg.norm(row))
    z0, rest = factors.split((row / size)[None])
    ones = np.ones(len(y))
    o, right = factors.left.transposed(ones), factors.left.transposed(y)
    return LayerRow(
        singular=factors.singular_values,
        right=right,
        scale=size,
        inside=z0[0],
        off=float(np.linalg.norm(rest)),
        ones=o,
        bias=b0,
        # what of 1 and y no feature reaches still pulls on the bias
        outside=float(len(y)) - float(o @ o),
        missed=float(ones @ y - o @ right),
        rest=max(float(y @ y - right @ right), 0.0),
    )
