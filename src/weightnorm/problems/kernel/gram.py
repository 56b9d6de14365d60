"""The eigenvectors of a kernel matrix, what its rounding leaves of them, and starts placed by their
values.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.numeric import EPS, LARGEST, Matrix, Vector
from ..coordinates.factorisation import Explicit, Factorisation, scaled_norm

FEWEST = 16  # samples that rounding is judged by, at least
ASYMMETRY = 1e3  # times eps: K and its transpose may differ by this share of the largest entry
NEGATIVE = 16.0  # times the rounding of K: eigenvalues under minus that are not rounding
# times eps: the relative error of an entry that was computed, or had its mean taken off
ENTRIES = 4.0
TYPICAL = 8.0  # times eps·λmax: the error of an eigendecomposition, which n·eps·λmax bounds
UNSEEN = 1e-4  # ‖w0⊥‖² not known to this is worth a warning, where it may be zero
DOUBT = 0.1  # and to this share of itself, where it is not
BLOCK = 256  # rows that are compared with columns at once


class IndefiniteKernelError(ValueError):
    """A matrix with negative eigenvalues beyond rounding, which is AAᵀ for no A."""

    def __init__(self, lowest: float, largest: float) -> None:
        text = (
            f"K is indefinite: its most negative eigenvalue is {lowest:.4g}, its largest "
            f"{largest:.4g}, and K = AAᵀ has none below zero; use another kernel"
        )
        if -lowest < largest:
            error = f"{-1.1 * lowest:.2g}"
            text += (
                f" or, if that is an error of how K was computed, KernelLeastSquares(noise={error})"
            )
        super().__init__(text)
        self.lowest, self.largest = lowest, largest

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.lowest, self.largest)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """K = U S² Uᵀ, so that A = U S Vᵀ with V = [U; 0], without what is rounding.

    Attributes
    ----------
    factors : Factorisation
        Of [K^{1/2}, 0].
    cut : float
        The eigenvalue under which others are not kept: about the norm of the errors of K.
    error : float
        eps·λmax, or the errors that K is known to have, if they are larger.
    eps : float
        That of the numbers that K came in.
    """

    factors: Factorisation
    cut: float
    error: float
    eps: float

    @classmethod
    def of(cls, K: Matrix, eps: float, noise: float) -> Spectrum:
        """The eigenvectors of a symmetric K; refused where it is indefinite."""
        from scipy.linalg import eigh

        n = len(K)
        values, vectors = eigh(K, driver="evd", check_finite=False)
        largest, lowest = float(np.abs(values).max()), float(values[0])
        entries = ENTRIES * eps * float(np.linalg.norm(values)) if eps > EPS else 0.0
        rounding = max(max(n, FEWEST) * EPS * largest, entries)
        if -lowest > max(NEGATIVE * rounding, noise):
            raise IndefiniteKernelError(lowest, float(values[-1]))
        # a negative eigenvalue shows how far off the others are
        cut = max(rounding, noise, -2.0 * lowest)
        error = max(eps * largest, noise, -lowest if -lowest > rounding else 0.0)
        rank = int(np.count_nonzero(values > cut))
        right = np.zeros((n + 1, rank))
        right[:n] = vectors[:, ::-1][:, :rank]
        singular = np.sqrt(values[::-1][:rank])
        factors = Factorisation(singular, Explicit(right[:n]), Explicit(right), 8 * EPS)
        return cls(factors, cut, error, eps)

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue that was kept; 0 where none was."""
        singular = self.factors.singular_values
        return float(singular[-1] ** 2) if singular.size else 0.0

    def accuracy(self, solution: float, beyond: float) -> float:
        """The relative error that those of K leave in a solution of this norm, for a y with a part
        of norm `beyond` out of reach: it tilts into the smallest eigenvector that was kept.
        """
        if not self.smallest:
            return math.inf if beyond and self.error else self.eps
        tilted = beyond / (math.sqrt(self.smallest) * solution) if beyond and solution else 0.0
        return self.error / self.smallest * (1.0 + tilted)

    def split(self, values: Vector) -> tuple[Vector, float]:
        """The coordinates Uᵀf of values at the samples, and the norm of their part out of K's
        range.
        """
        left = self.factors.left
        inside = left.transposed(values)
        rest = values - left.apply(inside)
        return inside, scaled_norm(rest - left.apply(left.transposed(rest)))

    def beyond(self, values: Vector) -> float:
        """The norm of the part of targets out of K's range; 0 where it is rounding."""
        inside, rest = self.split(values)
        if self.factors.rank == values.size:
            return 0.0
        size, singular = scaled_norm(values), self.factors.singular_values
        tilted = self.eps * _top(singular) * scaled_norm(inside / singular / singular)
        rounding = FEWEST * max(values.size, FEWEST) * EPS * size
        # what a tilt of K's range by rounding explains, as long as no loss shows it
        return 0.0 if rest <= rounding + min(tilted, math.sqrt(self.eps) * size) else rest

    def leaked(self, beyond: float, size: float) -> Vector:
        """What errors of K likely make of a part out of reach along each eigenvector that was
        kept, for targets of norm `size`.
        """
        tilts = TYPICAL * self.error / self.factors.singular_values**2
        return np.asarray(tilts * beyond + 16 * self.eps * size)

    def unseen_error(self, z: Vector) -> float:
        """The error that those of K likely leave in ‖w0⊥‖² = 1 − ‖z‖², to first order."""
        dual = scaled_norm(z / self.factors.singular_values)
        return TYPICAL * self.error * dual * dual

    def place(self, values: Vector, eps: float) -> Vector:
        """The unit direction (n + 1,) with these values at the samples, known to a relative eps."""
        singular, size = self.factors.singular_values, scaled_norm(values)
        inside, rest = self.split(values)
        z = inside / singular
        dual, length = scaled_norm(z / singular), scaled_norm(z)
        rounding = max(values.size, FEWEST) * EPS + (ENTRIES * eps if eps > EPS else 0.0)
        # a unit direction may have values along the eigenvectors that were not kept
        if rest > math.sqrt(2.0 * self.cut) + self.cut * dual + FEWEST * rounding * size:
            raise ValueError(
                f"start_values is out of K's range: a part of size {rest:.3g} of {size:.3g} is "
                "orthogonal to every column of K, so no direction w0 has A w0 = start_values"
            )
        # the errors that those of K and of f0 leave in f0ᵀK⁺f0, to first order: at most, and likely
        slack = self.cut * dual * dual + 2.0 * rounding * size * dual
        likely = self.unseen_error(z) + 2.0 * TYPICAL * eps * size * dual
        unseen = (1.0 - length) * (1.0 + length)
        if -unseen > slack:
            raise ValueError(
                f"start_values has f0ᵀK⁺f0 = 1 + {-unseen:.3g}, above 1, so no unit direction has "
                "these values; f0 = A w0 of the unit direction, so divide the predictions of a "
                f"start x0 by its norm ‖x0‖, {length:.4g} times as large at least"
            )
        inside_row_space = unseen <= likely  # as far as K can tell
        if likely > (UNSEEN if inside_row_space else DOUBT * unseen):
            warnings.warn(
                f"start_values: 1 − f0ᵀK⁺f0 = {unseen:.2g}, the square of what the data cannot see "
                f"of the start, is known to ±{likely:.2g} only, at κ(K)·eps = "
                f"{self.error / self.smallest:.2g}; an end that depends on it is not known better",
                RuntimeWarning,
                stacklevel=3,
            )
        unit = np.zeros(values.size + 1)
        unit[:-1] = self.factors.left.apply(z / length if inside_row_space else z)
        unit[-1] = 0.0 if inside_row_space else math.sqrt(unseen)
        return np.asarray(unit / np.linalg.norm(unit))


def _top(singular: Vector) -> float:
    return float(singular[0] ** 2) if singular.size else 0.0


def centre(K: Matrix, shares: Vector) -> tuple[Matrix, float]:
    """CKCᵀ, with C = I − 1·sharesᵀ taking the weighted mean off; and the norm of the rounding
    errors that this leaves, by the size of what was taken off.
    """
    means = K @ shares
    found = K - means - means[:, None] + float(shares @ means)
    largest_sum = float(np.abs(K).sum(axis=0).max())
    return 0.5 * (found + found.T), ENTRIES * EPS * largest_sum


def symmetric(K: Any, eps: float) -> tuple[Matrix, float]:
    """K as a symmetric float64 matrix, checked, and the norm of what it lacked of that; eps is that
    of the numbers that it came in.
    """
    matrix = validate.array("K", K, ndim=2)
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"K must be square (n, n), one row and one column per sample, got shape {matrix.shape}"
        )
    largest = float(max(matrix.max(), -matrix.min()))
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"K has a largest entry of {largest:.3g}, whose square over- or underflows; rescale K "
            "and y"
        )
    square = 0.0
    for start in range(0, n, BLOCK):  # without a copy
        apart = np.abs(matrix[start : start + BLOCK] - matrix[:, start : start + BLOCK].T)
        if float(apart.max()) > ASYMMETRY * eps * largest:
            i, j = divmod(int(apart.argmax()), n)
            i += start
            raise ValueError(
                f"K must be symmetric, and K[{i}, {j}] = {matrix[i, j]:.6g} where K[{j}, {i}] = "
                f"{matrix[j, i]:.6g}; if that is rounding, give (K + K.T)/2"
            )
        square += scaled_norm(apart.ravel()) ** 2 / largest**2 if largest > 0 else 0.0
    lacking = 0.5 * largest * math.sqrt(square)
    return (0.5 * (matrix + matrix.T) if square > 0.0 else matrix), lacking
