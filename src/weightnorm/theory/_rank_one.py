"""A diagonal matrix plus a multiple of bbᵀ: whether it is under a threshold, and its extremes.

K = diag(d) + ρbbᵀ is what a step multiplies residuals with, in coordinates where AAᵀ is diagonal.
By Sylvester's law and det(D + ρbbᵀ) = det D·(1 + ρbᵀD⁻¹b), the number of its eigenvalues above a
number μ is that of the d_i above it, and one more or less where 1 + ρΣb_i²/(d_i − μ) is negative.
So every question takes O(m) per matrix, and a map of many matrices is one array operation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array

AT_ONCE = 2**20  # numbers of one array operation
HALVINGS = 56  # of a bracket: to rounding


def _poles(square: Array, gaps: Array) -> Array:
    """Σ b_i²/gap_i; a zero b_i has no pole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(square > 0.0, square / gaps, 0.0).sum(axis=-1))


def is_below(diagonal: Array, rho: Array, square: Array, top: float) -> NDArray[np.bool_]:
    """Whether diag(d) + ρbbᵀ has all eigenvalues under `top`; d is (n, m), ρ is (n,), b² is (m,).

    At most one d_i may be above, and then only a negative ρ brings it down: the sum is then
    positive, and 1 + ρΣ negative.
    """
    above = (diagonal >= top).sum(axis=-1)
    lost = ((diagonal >= top) & (square == 0.0)).any(axis=-1)
    with np.errstate(invalid="ignore"):
        slack = 1.0 - rho * _poles(square, top - diagonal)
    # a d_i of exactly `top` makes the sum infinite: then the sign of −ρ decides
    slack = np.where(np.isnan(slack), 1.0, slack)
    touching = (diagonal == top).any(axis=-1)
    good = np.where(above == 0, slack > 0.0, np.where(touching, rho < 0.0, slack < 0.0))
    return np.asarray(good & (above <= 1) & ~lost & ((above == 0) | (rho < 0.0)))


def extremes(diagonal: Array, rho: Array, square: Array) -> tuple[Array, Array]:
    """The smallest and the largest eigenvalue of diag(d) + ρbbᵀ, by halving."""
    smallest, largest = np.empty(len(rho)), np.empty(len(rho))
    some = max(1, AT_ONCE // max(1, diagonal.shape[-1]))
    for first in range(0, len(rho), some):
        part = slice(first, first + some)
        largest[part] = _largest(diagonal[part], rho[part], square)
        smallest[part] = -_largest(-diagonal[part], -rho[part], square)
    return smallest, largest


def _largest(diagonal: Array, rho: Array, square: Array) -> Array:
    """Halve between bounds: max d_i and max d_i + ρ‖b‖², or for a negative ρ the second d_i and
    the first. A d_i with b_i = 0 is an eigenvalue by itself.
    """
    alone, seen = diagonal[:, square == 0.0], diagonal[:, square > 0.0]
    largest = alone.max(axis=-1, initial=-np.inf)
    if not seen.shape[-1]:
        return np.asarray(largest)
    weights = square[square > 0.0]
    top, shift = seen.max(axis=-1), rho * weights.sum()
    second = np.partition(seen, -2, axis=-1)[:, -2] if seen.shape[-1] > 1 else top + shift
    up = rho >= 0.0
    low, high = np.where(up, top, np.maximum(second, top + shift)), np.where(up, top + shift, top)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            slack = 1.0 - rho * ((1.0 / (middle[:, None] - seen)) @ weights)
            under = np.where(up, slack > 0.0, slack < 0.0)
            low, high = np.where(under, low, middle), np.where(under, middle, high)
    return np.asarray(np.maximum(largest, high))
