"""Classification with a weight vector per class: logistic, one class against the rest, or softmax,
in reduced coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array, Matrix, Vector
from ..contract import FLAT, Problem
from ..intercept import Weighted, WithIntercept
from ..losses import Logistic

MAX_ITERATIONS = 100
POWER_STEPS, DENSE = 40, 300
# Over the curvature of each class alone: 2 bounds the coupling at a point, and as much again is for
# steps in which several classes move.
COUPLED = 4.0


@dataclass(frozen=True, eq=False)
class Logits(Problem):
    """The weighted log-loss of logits a_iᵀx_k + b_k, for weights x (n, rank + 1, K); the last
    coordinate is off the row space, and b is at its best everywhere.

    Attributes
    ----------
    columns, singular_values : (m, rank) and (rank,) arrays
        W and S of the rows a_i times the roots of their weights.
    targets : (m, K) array
        Ones where a sample is of the class; for K = 1, of the second class.
    counts : (m,) array
        What every sample counts.
    softmax : bool
        Whether the classes compete; otherwise the loss is the sum of a logistic loss for each.
    with_intercept : bool
        Whether there is a b.
    """

    columns: Matrix
    singular_values: Vector
    targets: Matrix
    counts: Vector
    softmax: bool = False
    with_intercept: bool = True
    # the last b: the next is near, and found in two steps from there
    _memory: dict[str, Vector] = field(default_factory=dict)

    @cached_property
    def matrix(self) -> Matrix:
        """The rows a_i in these coordinates."""
        return np.asarray(self.columns * self.singular_values) / np.sqrt(self.counts)[:, None]

    @cached_property
    def smoothness(self) -> float:
        """The largest curvature of the loss anywhere."""
        largest = float((self.singular_values**2).max(initial=0.0))
        return (0.5 if self.softmax else 0.25) * largest

    @cached_property
    def zero_loss(self) -> float:
        """The loss at zero weights."""
        shape = (1, self.matrix.shape[1] + 1, self.targets.shape[1])
        return float(self.value_and_gradient(np.zeros(shape))[0][0])

    @cached_property
    def total_weight(self) -> float:
        """What a mean loss is divided by."""
        classes = 1 if self.softmax else self.targets.shape[1]
        return float(self.counts.sum()) * classes

    @cached_property
    def _one_by_one(self) -> Any:
        return Logistic(np.where(self.targets.T > 0, 1.0, -1.0))

    def intercept(self, logits: Matrix) -> Vector:
        """The best b (K,) for logits (m, K) without it; zeros if there is none."""
        if not self.with_intercept:
            return np.zeros(logits.shape[1])
        last = self._memory.get("intercept", np.zeros(logits.shape[1]))
        if self.softmax:
            found = self._best_shift(logits, last)
        else:
            weighted = Weighted(self._one_by_one, self.counts)
            found = WithIntercept(weighted).intercept(weighted.constant * logits.T, last)
        if np.isfinite(found).all():  # that of a step too far is not a start for the next
            self._memory["intercept"] = found
        return found

    def losses_and_slopes(self, logits: Matrix) -> tuple[float, Matrix]:
        """The loss and its derivatives (m, K) by the logits (m, K), which include b."""
        if not self.softmax:
            loss = float((self.counts * self._one_by_one.value(logits.T)).sum())
            return loss, (self.counts * self._one_by_one.derivative(logits.T)).T
        top = logits.max(axis=1, keepdims=True)
        shares = np.exp(logits - top)  # at most 1: nothing overflows
        sums = shares.sum(axis=1, keepdims=True)
        each = (np.log(sums) + top)[:, 0] - (logits * self.targets).sum(axis=1)
        return float(self.counts @ each), self.counts[:, None] * (shares / sums - self.targets)

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient (n, rank + 1, K)."""
        losses, gradient = np.empty(len(x)), np.zeros_like(x)
        for i, one in enumerate(x):
            logits = self.matrix @ one[:-1]
            losses[i], slopes = self.losses_and_slopes(logits + self.intercept(logits))
            gradient[i, :-1] = self.matrix.T @ slopes
        return losses, gradient

    def optimality(self, x: Matrix) -> float:
        """‖Wᵀ slope‖/‖slope‖ of the class with the largest: the gradient over its terms, in
        coordinates that have no units.
        """
        logits = self.matrix @ x[:-1]
        slopes = self.losses_and_slopes(logits + self.intercept(logits))[1]
        slopes = slopes / np.sqrt(self.counts)[:, None]
        sizes = np.linalg.norm(slopes, axis=0)
        along = np.linalg.norm(self.columns.T @ slopes, axis=0)
        return float((along / np.where(sizes > 0, sizes, 1.0)).max())

    def local_curvature(self, x: Matrix) -> float:
        """The largest curvature at x, for many coordinates by a few products only; larger for
        classes that compete.
        """
        logits = self.matrix @ x[:-1]
        slopes = self.losses_and_slopes(logits + self.intercept(logits))[1]
        shares = np.abs(slopes) / self.counts[:, None]  # p, or 1 − p
        second = (self.counts[:, None] * shares * (1.0 - shares)).max(axis=1)
        if self.matrix.shape[1] <= DENSE:
            inner = self.matrix.T @ (second[:, None] * self.matrix)
            size = float(np.linalg.eigvalsh(inner)[-1]) if inner.size else 0.0
        else:
            v, size = np.ones(self.matrix.shape[1]), 0.0
            for _ in range(POWER_STEPS):
                v = self.matrix.T @ (second * (self.matrix @ v))
                size = float(np.linalg.norm(v))
                v = v / (size or 1.0)
        return (COUPLED if self.softmax else 1.0) * size

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

    def _best_shift(self, logits: Matrix, b: Vector) -> Vector:
        """The best b of softmax, by damped Newton steps; its mean is zero, which no loss sees."""
        loss, slopes = self.losses_and_slopes(logits + b)
        for _ in range(MAX_ITERATIONS):
            gradient = slopes.sum(axis=0)
            shares = slopes + self.counts[:, None] * self.targets  # weight × probability
            probabilities = shares / self.counts[:, None]
            inner = np.diag(shares.sum(axis=0)) - shares.T @ probabilities
            # the mean is fixed; and a class that has all but vanished moves by no more than 2
            inner += np.full_like(inner, max(float(np.trace(inner)), 1e-300) / len(b))
            step = -np.linalg.lstsq(inner, gradient, rcond=None)[0]
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            for _ in range(40):
                new_loss, new_slopes = self.losses_and_slopes(logits + (b + step))
                if new_loss <= loss * (1.0 + 1e-13):  # but for rounding
                    break
                step = 0.5 * step
            else:
                break
            done = np.abs(step).max() <= 1e-12 * max(1.0, float(np.abs(b).max()))
            b, loss, slopes = b + step, new_loss, new_slopes
            if done:
                break
        return np.asarray(b - b.mean())
