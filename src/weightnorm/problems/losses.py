"""Losses ℓ(z) of predictions z = A x, entry by entry: value and derivative, safe where
exponentials overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Vector

SMALL_EXPONENT = 0.1  # under which e^u − 1 − u is summed up
LARGEST_EXPONENT = 650.0  # e^z beyond this would overflow once it is multiplied and summed
SMALLEST_COUNT = 1e-25  # e^z over it does not overflow for any z up to LARGEST_EXPONENT


class Loss(Protocol):
    """What a loss of `GeneralizedLinear` has: values and derivatives for predictions z.

    The predictions have shape (m,) or, row by row, (n, m). Optional: `smoothness`, the largest
    second derivative, which curvature steps need; `convex = True`, which says that a zero gradient
    is a minimum; `second(z)`, the second derivatives, without which minimisation takes differences
    of the derivative; and `recession()`, two (m,) arrays: the sign of a change of z_i along which
    the loss of sample i never rises, and whether z_i has to stay. Without it the loss is taken to
    grow in every direction.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> class Quartic:
    ...     def value(self, z):
    ...         return (z - 1.0) ** 4 / 4
    ...     def derivative(self, z):
    ...         return (z - 1.0) ** 3
    >>> problem = wn.GeneralizedLinear([[1.0, 0.0]], [1.0], loss=Quartic())
    >>> float(problem.value([3.0, 0.0]))
    4.0
    """

    def value(self, z: Array) -> Array:
        """The loss of every prediction.

        Parameters
        ----------
        z : (m,) or (n, m) array
            Predictions.

        Returns
        -------
        array
            Shaped like z, or summed over the last axis.
        """

    def derivative(self, z: Array) -> Array:
        """The derivative of the loss by every prediction.

        Parameters
        ----------
        z : (m,) or (n, m) array
            Predictions.

        Returns
        -------
        array
            Shaped like z.
        """


@dataclass(frozen=True, eq=False)
class Squared:
    """The squared loss ½(z − y)².

    Parameters
    ----------
    y : (m,) array
        The targets.
    smoothness : float
        The largest second derivative, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Squared
    >>> Squared(np.array([1.0, 2.0])).value(np.array([3.0, 2.0])).tolist()
    [2.0, 0.0]
    """

    y: Vector
    smoothness: float | None = 1.0
    convex: bool = True

    def value(self, z: Array) -> Array:
        """½(z − y)²."""
        return np.asarray(0.5 * (z - self.y) ** 2)

    def derivative(self, z: Array) -> Array:
        """z − y."""
        return np.asarray(z - self.y)

    def second(self, z: Array) -> Array:
        """1."""
        return np.ones_like(z)

    def noisy(self, noise: Array) -> Squared:
        """The same with noise on y."""
        return replace(self, y=self.y + noise)


@dataclass(frozen=True, eq=False)
class Logistic:
    """The logistic loss log(1 + e^(−s z)) for labels s = ±1.

    `Logistic.of` also takes labels 0 and 1 and reads them as −1 and 1.

    Parameters
    ----------
    signs : (m,) array
        The labels −1 and 1.
    smoothness : float
        The largest second derivative, ¼.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Logistic
    >>> Logistic.of(np.array([0.0, 1.0])).derivative(np.zeros(2)).tolist()
    [0.5, -0.5]
    """

    signs: Vector
    smoothness: float | None = 0.25
    convex: bool = True

    @classmethod
    def of(cls, y: Vector) -> Logistic:
        """The logistic loss of labels in {0, 1} or {−1, 1}.

        Parameters
        ----------
        y : (m,) array
            The labels.

        Returns
        -------
        Logistic
            The loss.

        Raises
        ------
        ValueError
            For other labels.
        """
        values = set(np.unique(y).tolist())
        if not (values <= {0.0, 1.0} or values <= {-1.0, 1.0}):
            raise ValueError(
                "y must have labels 0 and 1, or −1 and 1, for loss='logistic', got "
                f"{sorted(values)[:5]}"
            )
        return cls(np.where(y > 0, 1.0, -1.0))

    def value(self, z: Array) -> Array:
        """log(1 + e^(−s z)), without overflow."""
        return np.asarray(np.logaddexp(0.0, -self.signs * z))

    def derivative(self, z: Array) -> Array:
        """−s/(1 + e^(s z))."""
        from scipy.special import expit

        return np.asarray(-self.signs * expit(-self.signs * z))

    def second(self, z: Array) -> Array:
        """p (1 − p), with p = 1/(1 + e^z)."""
        from scipy.special import expit

        return np.asarray(expit(z) * expit(-z))

    def recession(self) -> tuple[Vector, NDArray[np.bool_]]:
        """The way of z along which each sample's loss never rises; none has to stay."""
        return self.signs, np.zeros(self.signs.shape, dtype=bool)


@dataclass(frozen=True, eq=False)
class Poisson:
    """The Poisson loss e^z − y z for counts y, less its smallest value: half the deviance.

    It has no largest second derivative.

    Parameters
    ----------
    y : (m,) array
        The counts; not negative.
    smoothness : None
        There is none.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Poisson
    >>> Poisson.of(np.array([0.0, 1.0])).value(np.zeros(2)).tolist()
    [1.0, 0.0]
    """

    y: Vector
    smoothness: float | None = None
    convex: bool = True

    @classmethod
    def of(cls, y: Vector) -> Poisson:
        """The Poisson loss of counts: any numbers that are 0 or at least 1e-25.

        Parameters
        ----------
        y : (m,) array
            The counts.

        Returns
        -------
        Poisson
            The loss.

        Raises
        ------
        ValueError
            For a negative count, and for one so small that e^z/y overflows where e^z does not.
        """
        if (y < 0).any():
            raise ValueError(f"y must not be negative for loss='poisson', got {y.min():g}")
        smallest = float(y.min(initial=np.inf, where=y > 0))
        if smallest < SMALLEST_COUNT:
            raise ValueError(
                f"y must be 0 or at least {SMALLEST_COUNT:g} for loss='poisson', got {smallest:g}"
            )
        return cls(y)

    def value(self, z: Array) -> Array:
        """e^z − y z − y + y log y, without cancellation; e^z for y = 0.

        It is computed as y (e^u − 1 − u) with u = z − log y, by its series where u is small.
        """
        u, positive = self._shifted(z)
        value = np.where(positive, self.y * _exp_less_line(u), np.exp(u))
        return np.where(z > LARGEST_EXPONENT, np.inf, value)

    def derivative(self, z: Array) -> Array:
        """e^z − y."""
        u, positive = self._shifted(z)
        return np.asarray(np.where(positive, self.y * np.expm1(u), np.exp(u)))

    def second(self, z: Array) -> Array:
        """e^z."""
        return np.asarray(np.exp(np.minimum(z, LARGEST_EXPONENT)))

    def recession(self) -> tuple[Vector, NDArray[np.bool_]]:
        """The way of z along which each sample's loss never rises; samples with counts stay."""
        return -np.ones_like(self.y), self.y > 0

    def _shifted(self, z: Array) -> tuple[Array, NDArray[np.bool_]]:
        """z − log y (z for y = 0), cut off where y·e^u would overflow."""
        positive = self.y > 0
        shift = np.log(np.where(positive, self.y, 1.0))
        return np.minimum(z, LARGEST_EXPONENT) - shift, positive


@dataclass(frozen=True, eq=False)
class Huber:
    """The Huber loss: ½(z − y)² near y, and linear from a distance of `width` on.

    Parameters
    ----------
    y : (m,) array
        The targets.
    width : float
        The distance from y at which it becomes linear.
    smoothness : float
        The largest second derivative, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Huber
    >>> Huber(np.zeros(2)).value(np.array([1.0, 3.0])).tolist()
    [0.5, 2.5]
    """

    y: Vector
    width: float = 1.0
    smoothness: float | None = 1.0
    convex: bool = True

    def value(self, z: Array) -> Array:
        """½r² for |r| ≤ width, width(|r| − width/2) beyond."""
        size = np.abs(z - self.y)
        inside = np.minimum(size, self.width)
        return np.asarray(inside * (size - 0.5 * inside))

    def derivative(self, z: Array) -> Array:
        """r, cut off at ± width."""
        return np.asarray(np.clip(z - self.y, -self.width, self.width))

    def second(self, z: Array) -> Array:
        """1 within `width` of y, 0 beyond."""
        return np.asarray((np.abs(z - self.y) < self.width).astype(np.float64))

    def noisy(self, noise: Array) -> Huber:
        """The same with noise on y."""
        return replace(self, y=self.y + noise)


def _exp_less_line(u: Array) -> Array:
    """e^u − 1 − u, exact where it is small."""
    series = np.ones_like(u)
    for k in range(12, 2, -1):  # u²/2 (1 + u/3 (1 + u/4 (…)))
        series = 1.0 + np.where(np.abs(u) < SMALL_EXPONENT, u, 0.0) / k * series
    return np.where(np.abs(u) < SMALL_EXPONENT, 0.5 * u * u * series, np.expm1(u) - u)


def total(loss: Loss, z: Array) -> Array:
    """The loss summed over the last axis of the predictions.

    Parameters
    ----------
    loss : Loss
        Whose value(z) is shaped like z, or already summed.
    z : (m,) or (n, m) array
        Predictions.

    Returns
    -------
    float or (n,) array
        The sums.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Squared, total
    >>> float(total(Squared(np.array([1.0, 2.0])), np.zeros(2)))
    2.5
    """
    values = np.asarray(loss.value(z))
    return np.asarray(values.sum(axis=-1) if values.shape == z.shape else values)
