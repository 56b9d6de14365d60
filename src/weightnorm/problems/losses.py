"""Losses ℓ(z) of predictions z = A x, entry by entry: value and derivative, safe where
exponentials overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .._validate import Vector

Array = NDArray[np.float64]

LARGEST_EXPONENT = 650.0  # e^z beyond this would overflow once it is multiplied and summed


class Loss(Protocol):
    """What a loss has: values and derivatives for predictions z of shape (m,) or, row by row, (n,
    m).

    `smoothness`, the largest second derivative, is optional: curvature steps need it.
    """

    def value(self, z: Array) -> Array:
        """The loss of every entry, shaped like z, or summed over the last axis."""

    def derivative(self, z: Array) -> Array:
        """The derivative by every entry, shaped like z."""


@dataclass(frozen=True, eq=False)
class Squared:
    """½(z − y)²."""

    y: Vector
    smoothness: float | None = 1.0

    def value(self, z: Array) -> Array:
        """½(z − y)²."""
        return np.asarray(0.5 * (z - self.y) ** 2)

    def derivative(self, z: Array) -> Array:
        """z − y."""
        return np.asarray(z - self.y)

    def noisy(self, noise: Array) -> Squared:
        """The same with noise on y."""
        return replace(self, y=self.y + noise)


@dataclass(frozen=True, eq=False)
class Logistic:
    """log(1 + e^(−s z)) for labels s = ±1; labels 0 and 1 are read as −1 and 1."""

    signs: Vector
    smoothness: float | None = 0.25

    @classmethod
    def of(cls, y: Vector) -> Logistic:
        """From labels in {0, 1} or {−1, 1}."""
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


@dataclass(frozen=True, eq=False)
class Poisson:
    """e^z − y z for counts y, less its smallest value: half the deviance. It has no largest
    second derivative.
    """

    y: Vector
    smoothness: float | None = None

    @classmethod
    def of(cls, y: Vector) -> Poisson:
        """From counts (any numbers that are not negative)."""
        if (y < 0).any():
            raise ValueError(f"y must not be negative for loss='poisson', got {y.min():g}")
        return cls(y)

    def value(self, z: Array) -> Array:
        """e^z − y z − y + y log y = y (e^u − 1 − u) with u = z − log y, which does not cancel;
        e^z for y = 0.
        """
        u, positive = self._shifted(z)
        value = np.where(positive, self.y * (np.expm1(u) - u), np.exp(u))
        return np.where(z > LARGEST_EXPONENT, np.inf, value)

    def derivative(self, z: Array) -> Array:
        """e^z − y."""
        u, positive = self._shifted(z)
        return np.asarray(np.where(positive, self.y * np.expm1(u), np.exp(u)))

    def _shifted(self, z: Array) -> tuple[Array, NDArray[np.bool_]]:
        """z − log y (z for y = 0), cut off where y·e^u would overflow."""
        positive = self.y > 0
        shift = np.log(np.where(positive, self.y, 1.0))
        return np.minimum(z, LARGEST_EXPONENT) - shift, positive


@dataclass(frozen=True, eq=False)
class Huber:
    """½(z − y)² near y and linear from a distance of `width` on."""

    y: Vector
    width: float = 1.0
    smoothness: float | None = 1.0

    def value(self, z: Array) -> Array:
        """½r² for |r| ≤ width, width(|r| − width/2) beyond."""
        size = np.abs(z - self.y)
        inside = np.minimum(size, self.width)
        return np.asarray(inside * (size - 0.5 * inside))

    def derivative(self, z: Array) -> Array:
        """r, cut off at ± width."""
        return np.asarray(np.clip(z - self.y, -self.width, self.width))

    def noisy(self, noise: Array) -> Huber:
        """The same with noise on y."""
        return replace(self, y=self.y + noise)


NAMES = ("squared", "logistic", "poisson", "huber")


def as_loss(loss: Any, y: Vector) -> Loss:
    """The loss of a name, or a user's own object, checked on one row."""
    if isinstance(loss, str):
        name = _validate.choice("loss", loss, NAMES)
        makers: dict[str, Any] = {
            "squared": Squared,
            "logistic": Logistic.of,
            "poisson": Poisson.of,
            "huber": Huber,
        }
        made: Loss = makers[name](y)
        return made
    for method in ("value", "derivative"):
        if not callable(getattr(loss, method, None)):
            raise TypeError(
                f"loss must be one of {', '.join(map(repr, NAMES))} or an object with value(z) and "
                f"derivative(z), got {loss!r}"
            )
    rows = np.zeros((2, y.size))
    value, slope = np.shape(loss.value(rows)), np.shape(loss.derivative(rows))
    if value not in (rows.shape, (2,)) or slope != rows.shape:
        raise ValueError(
            f"loss must take z of shape (n, {y.size}): value(z) gives that shape or (n,), "
            "derivative(z) that shape; for n = 2 "
            f"they gave {value} and {slope}"
        )
    for method in ("value", "derivative"):
        _validate.numbers(f"loss.{method}(0)", getattr(loss, method)(rows))
    if getattr(loss, "smoothness", None) is not None:
        _validate.real("loss.smoothness", loss.smoothness, minimum=0.0)
    own: Loss = loss
    return own


def total(loss: Loss, z: Array) -> Array:
    """The loss summed over the last axis."""
    values = np.asarray(loss.value(z))
    return np.asarray(values.sum(axis=-1) if values.shape == z.shape else values)
