"""Classification with a weight vector a class: logistic for two classes, softmax for more, in
reduced coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validate import Matrix
from .contract import FLAT, Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Logits(Problem):
    """The summed log-loss of logits (U S) x_k, for weights (n, rank + 1, K); the last coordinate is
    off the row space.

    K = 1 is logistic regression of two classes, K > 2 softmax.

    Attributes
    ----------
    matrix : (m, rank) array
        U S.
    targets : (m, K) array
        Ones where a sample is of the class; for K = 1, of the second class.
    """

    matrix: Matrix
    targets: Matrix

    @property
    def smoothness(self) -> float:
        """The largest second derivative of the loss of one sample in its logits."""
        return 0.25 if self.targets.shape[1] == 1 else 0.5

    @property
    def zero_loss(self) -> float:
        """The loss at zero weights."""
        return len(self.matrix) * float(np.log(max(2, self.targets.shape[1])))

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient (n, rank + 1, K)."""
        logits = self.matrix @ x[:, :-1]
        top = (
            np.maximum(logits.max(axis=2, keepdims=True), 0.0)
            if self.targets.shape[1] == 1
            else logits.max(axis=2, keepdims=True)
        )
        shares = np.exp(logits - top)  # at most 1: nothing overflows
        total = shares.sum(axis=2, keepdims=True)
        if self.targets.shape[1] == 1:
            total = total + np.exp(-top)  # the first class has logit 0
        picked = np.einsum("nmk,mk->n", logits, self.targets)
        loss = (np.log(total) + top).sum(axis=(1, 2)) - picked
        slope = shares / total - self.targets
        gradient = np.zeros_like(x)
        gradient[:, :-1] = self.matrix.T @ slope
        return loss, gradient

    def scale_direction_gradients(self, unit: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Loss, ∇_w and ∇_g of each class at x_k = g_k w_k."""
        loss, gradient = self.value_and_gradient(scale[:, None, :] * unit)
        return loss, scale[:, None, :] * gradient, (unit * gradient).sum(axis=1)

    def gradient_vanishes(self, unit: Array, scale: Array, has_scale: bool) -> NDArray[np.bool_]:
        """Where the gradient is rounding against its terms."""
        spread = scale[:, None, :] if scale.ndim == 2 else scale[:, None, None]
        _, gradient = self.value_and_gradient(spread * unit)
        _, at_zero = self.value_and_gradient(np.zeros_like(unit[:1]))
        return np.asarray(np.sqrt((gradient**2).sum(axis=(1, 2))) <= FLAT * np.linalg.norm(at_zero))
