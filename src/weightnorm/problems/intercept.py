"""Losses made of losses: with an intercept that is always at its best, and with a weight per
sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._support.numeric import Array, Vector
from .losses import Loss

MAX_ITERATIONS = 200
ROUNDING = 4e-16


def second_derivative(loss: Loss, z: Array) -> Array:
    """ℓ″(z), by the loss itself or by central differences of its derivative.

    Parameters
    ----------
    loss : Loss
        With or without `second`.
    z : (m,) or (n, m) array
        Predictions.

    Returns
    -------
    array
        Shaped like z; not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.intercept import second_derivative
    >>> from weightnorm.problems.losses import Poisson
    >>> second_derivative(Poisson.of(np.array([1.0])), np.array([0.0])).tolist()
    [1.0]
    """
    own = getattr(loss, "second", None)
    if own is not None:
        return np.asarray(own(z))
    h = 1e-5 * np.maximum(1.0, np.abs(z))
    difference = np.asarray(loss.derivative(z + h)) - np.asarray(loss.derivative(z - h))
    return np.maximum(difference / (2.0 * h), 0.0)


@dataclass(frozen=True, eq=False)
class Weighted:
    """A loss with a weight per sample, of predictions that are multiplied by the weights' roots.

    With A's rows multiplied by the roots, too, all that depends on A, its singular values and the
    largest curvature, is that of the weighted samples: a sample of weight 2 is one that is there
    twice.

    Parameters
    ----------
    loss : Loss
        The loss of every sample.
    weights : (m,) array
        What it counts; greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.intercept import Weighted
    >>> from weightnorm.problems.losses import Squared
    >>> loss = Weighted(Squared(np.zeros(2)), np.array([1.0, 4.0]))
    >>> loss.value(loss.constant * np.ones(2)).tolist()
    [0.5, 2.0]
    """

    loss: Any
    weights: Vector
    checked: ClassVar[bool] = True

    @cached_property
    def constant(self) -> Vector:
        """The roots of the weights: how predictions change with an intercept."""
        return np.sqrt(self.weights)

    @property
    def convex(self) -> bool:
        """Whether the loss is."""
        return bool(getattr(self.loss, "convex", False))

    @property
    def smoothness(self) -> float | None:
        """The largest second derivative, that of the loss."""
        own: float | None = getattr(self.loss, "smoothness", None)
        return own

    def value(self, z: Array) -> Array:
        """The weighted losses."""
        return np.asarray(self.weights * self.loss.value(z / self.constant))

    def derivative(self, z: Array) -> Array:
        """Their derivatives."""
        return np.asarray(self.constant * self.loss.derivative(z / self.constant))

    def second(self, z: Array) -> Array:
        """Their second derivatives: those of the loss."""
        return second_derivative(self.loss, z / self.constant)

    def __getattr__(self, name: str) -> Any:
        """`recession`, where the loss has it."""
        if name != "recession":
            raise AttributeError(name)
        return self.loss.recession


@dataclass(frozen=True, eq=False)
class WithIntercept:
    """min over b of Σ_i ℓ(z_i + b): a loss of z that has its intercept at its best everywhere.

    It is convex where ℓ is, and its derivative sums to zero; so gradients lie in the row space of
    the centred A, and all that holds for a loss of A x holds for this one. (For a weighted loss b
    comes times the roots of the weights, as z does.)

    Parameters
    ----------
    loss : Loss
        A convex loss, given entry by entry, with a best b for every z.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.intercept import WithIntercept
    >>> from weightnorm.problems.losses import Squared
    >>> loss = WithIntercept(Squared(np.array([1.0, 3.0])))
    >>> loss.intercept(np.zeros((1, 2))).tolist(), loss.derivative(np.zeros((1, 2))).tolist()
    ([2.0], [[1.0, -1.0]])
    """

    loss: Any
    convex: bool = True
    checked: ClassVar[bool] = True

    @property
    def constant(self) -> Any:
        """How predictions change with the intercept."""
        return getattr(self.loss, "constant", 1.0)

    @property
    def smoothness(self) -> float | None:
        """The largest second derivative: no more than that of ℓ."""
        own: float | None = getattr(self.loss, "smoothness", None)
        return own

    def value(self, z: Array) -> Array:
        """The summed loss (n,)."""
        return np.asarray(np.asarray(self.loss.value(self._shifted(z))).sum(axis=-1))

    def derivative(self, z: Array) -> Array:
        """ℓ′ at z + b."""
        return np.asarray(self.loss.derivative(self._shifted(z)))

    def intercept(self, z: Array, start: Vector | None = None) -> Vector:
        """The best b of every row of z, from a guess: where Σ ℓ′(z + b) = 0, by Newton's steps,
        in a bracket once there is one.
        """
        b = np.zeros(len(z)) if start is None else start
        reach = np.ones(len(z))
        low, high = np.full(len(z), -np.inf), np.full(len(z), np.inf)
        one = self.constant
        size = np.abs(z / one).max(axis=1, initial=0.0)
        for _ in range(MAX_ITERATIONS):
            at = z + b[:, None] * one
            slope = (one * np.asarray(self.loss.derivative(at))).sum(axis=1)
            low, high = np.where(slope <= 0, b, low), np.where(slope >= 0, b, high)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = -slope / (one**2 * second_derivative(self.loss, at)).sum(axis=1)
            step = np.where(slope == 0, 0.0, np.clip(step, -reach, reach))
            step = np.where(np.isfinite(step), step, -np.sign(slope) * reach)
            outside = (b + step < low) | (b + step > high)
            with np.errstate(invalid="ignore"):  # both ends are finite where it is outside
                step = np.where(outside, 0.5 * (low + high) - b, step)
            b, reach = b + step, 2.0 * reach
            if (np.abs(step) <= ROUNDING * np.maximum(np.abs(b), size)).all():
                break
        return b

    def _shifted(self, z: Array) -> Array:
        rows = np.atleast_2d(z)
        shifted = rows + self.intercept(rows)[:, None] * self.constant
        return np.asarray(shifted if z.ndim == 2 else shifted[0])
