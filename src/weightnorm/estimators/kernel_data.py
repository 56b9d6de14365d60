"""What a kernel fit does to its data: means taken off, samples weighted, and how to undo both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import EPS, Array
from ..problems import KernelLeastSquares
from ..problems.kernel.gram import IndefiniteKernelError, centre
from .data import power_of_two

# K, its eps and the norm of its errors; targets (n, n_targets); values of the start; weights
Parts = tuple[tuple[Array, float, float], Array, Array | None, Array | None]
INACCURATE = 1e-5  # of the largest eigenvalue: a negative one under this may be an error of K
WHOLE = 0.05  # the same for whole numbers, which may have been rounded
CONSTANT = 4e-16  # a y that varies by this share of its mean is constant


@dataclass(frozen=True, eq=False)
class KernelData:
    """The kernel, targets and start of a fit, centred and weighted, and how to undo both.

    Attributes
    ----------
    K, targets, starts : arrays
        D C K Cᵀ D, D (y − mean) and D C f0: C takes the (weighted) mean off, where there is an
        intercept, and D has the roots of the weights.
    noise : float
        The norm of the rounding errors that K is known to have.
    eps : float
        That of the numbers that K came in.
    rows, shares : (n,) arrays
        The diagonal of D, and the weights that sum to 1; zeros without an intercept.
    means : (n,) array
        K times shares: the mean of every column of K.
    start_means, offsets : (n_targets,) arrays
        The means of the start's values and of the targets.
    """

    K: Array
    targets: Array
    starts: Array | None
    noise: float
    eps: float
    rows: Array
    shares: Array
    means: Array
    start_means: Array
    offsets: Array

    @classmethod
    def of(cls, parts: Parts, intercept: bool) -> KernelData:
        """Centre, if there is an intercept to put the means back, and weight."""
        (K, eps, noise), targets, starts, weights = parts
        n = len(targets)
        rows = np.ones(n) if weights is None else np.sqrt(weights)
        shares, means = np.zeros(n), np.zeros(n)
        offsets = start_means = np.zeros(targets.shape[1])
        y, f0 = targets, starts
        if intercept:
            shares = rows**2 / float(rows @ rows)
            with np.errstate(over="ignore"):
                offsets = targets[0] + shares @ (targets - targets[0])
            y = targets - offsets
            y = y - shares @ y
            y[:, np.ptp(y, axis=0) <= CONSTANT * np.abs(offsets)] = 0.0
            means = K @ shares
            K, taken = centre(K, shares)
            noise = max(noise, taken)
            if starts is not None:
                start_means = shares @ starts
                f0 = starts - start_means
        if weights is not None:
            K, y = rows[:, None] * K * rows, rows[:, None] * y
            f0 = None if f0 is None else rows[:, None] * f0
            noise *= float(rows.max()) ** 2
        return cls(K, y, f0, noise, eps, rows, shares, means, start_means, offsets)

    @cached_property
    def units(self) -> Array:
        """A unit for each target, so that none is tiny or huge."""
        return np.array([power_of_two(column) for column in self.targets.T])

    def problem(self, allowed: float = 0.0) -> KernelLeastSquares:
        """The problem of the first target in its unit; a negative eigenvalue of at most the share
        `allowed` of the largest is taken for an error, with a warning.
        """
        y, noise = self.targets[:, 0] / self.units[0], self.noise
        try:
            return KernelLeastSquares(self.K, y, noise=noise, eps=self.eps)
        except IndefiniteKernelError as error:
            if -error.lowest > allowed * error.largest:
                raise
            warnings.warn(
                f"the kernel has a negative eigenvalue, {error.lowest:.3g} against a largest of "
                f"{error.largest:.3g}: taken for errors of that size in how it was computed, so "
                "that smaller eigenvalues are not kept",
                UserWarning,
                stacklevel=4,
            )
            noise = max(noise, -2.0 * error.lowest)
            return KernelLeastSquares(self.K, y, noise=noise, eps=self.eps)

    def dual(self, found: Array) -> Array:
        """Dual coefficients (n, n_targets) for K as it was given, from those for `K`."""
        weighted = self.rows[:, None] * found
        return np.asarray(weighted - np.outer(self.shares, weighted.sum(axis=0)))

    def intercepts(self, dual: Array, share: Array) -> Array:
        """The intercepts (n_targets,) that give the targets their means."""
        return np.asarray(self.offsets - self.means @ dual - self.start_means * share)


def precision_of(kernel: Any) -> tuple[float, float]:
    """The eps of the numbers that a kernel matrix was given in, and the share of its largest
    eigenvalue that a negative one may be by an error: whole numbers may have been rounded.
    """
    matrix = np.asarray(kernel)
    if matrix.dtype.kind == "f":
        return max(float(np.finfo(matrix.dtype).eps), EPS), INACCURATE
    if matrix.dtype.kind not in "iu":
        return EPS, INACCURATE
    rounded = float(np.sqrt(len(matrix))) / max(float(np.abs(matrix).max()), 1.0)
    return EPS, max(INACCURATE, min(WHOLE, rounded))


def start_columns(start_values: Any, shape: tuple[int, ...]) -> Array | None:
    """Values of a start as (n, n_targets); one column may stand for all."""
    if start_values is None:
        return None
    values = validate.numbers("start_values", start_values)
    n, targets = shape
    if values.shape not in ((n,), (n, 1), (n, targets)):
        wanted = f"({n},)" if targets == 1 else f"({n},) or ({n}, {targets})"
        raise ValueError(
            f"start_values must have shape {wanted}, one value per sample, got shape {values.shape}"
        )
    return np.array(np.broadcast_to(values.reshape(n, -1), (n, targets)))
