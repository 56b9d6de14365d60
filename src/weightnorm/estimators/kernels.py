"""Kernel matrices: by name, by a function of samples or of pairs of them, or as they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import EPS, Array

PRECOMPUTED = "precomputed"
PROBES = ((1, 2), (2, 3))  # x @ y has both of these shapes for no number of features
ERRORS = 4.0  # times eps·‖x‖²: the error of a squared distance from squared lengths


def kernel_names() -> tuple[str, ...]:
    """The names that a kernel may have: scikit-learn's, and "precomputed"."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    return (*sorted(PAIRWISE_KERNEL_FUNCTIONS), PRECOMPUTED)


def is_named(kernel: Any, *names: str) -> bool:
    """Whether a kernel is one of these names."""
    return isinstance(kernel, str) and kernel in names


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel, with the samples that others are compared to.

    Attributes
    ----------
    kernel : str or callable
        A name of scikit-learn's, "precomputed", or a function: of two matrices, k(X, Y) of shape
        (n, m), or of two samples, k(x, y), a number. A few samples decide which of the two it is.
    options : dict
        Further arguments of it.
    X : (n, d) array or sparse matrix
        The training samples.
    shift : (d,) array or None
        What to take off all samples: a kernel of distances does not mind, and keeps more digits.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.estimators.kernels import Kernel
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> of_pairs = Kernel(lambda x, y: float(x @ y), {}, X, None)
    >>> of_matrices = Kernel(lambda X, Y: X @ Y.T, {}, X, None)
    >>> np.array_equal(of_pairs.of(X), of_matrices.of(X))
    True
    """

    kernel: Any
    options: dict[str, Any]
    X: Any
    shift: Array | None

    def train(self) -> tuple[Array, float, float]:
        """The kernel of the training samples with each other, the eps of the numbers that it came
        in, and the norm of its rounding errors where they are known to be larger.
        """
        from sklearn.gaussian_process.kernels import Kernel as OfGaussianProcesses

        if isinstance(self.kernel, OfGaussianProcesses):  # white noise is in k(X) alone
            K = self._called(self.X)
        else:
            K = self._between(self.X)
        eps = validate.precision("kernel", K)
        matrix = validate.array("X" if is_named(self.kernel, PRECOMPUTED) else "kernel", K, ndim=2)
        if not is_named(self.kernel, "rbf"):
            return matrix, eps, 0.0
        X = self._shifted(self.X)
        gamma = self.options.get("gamma")
        gamma = 1.0 / X.shape[1] if gamma is None else gamma
        return matrix, eps, rbf_noise(X, float(gamma), matrix)

    def of(self, X: Any) -> Array:
        """The kernel of samples with the training samples."""
        return np.asarray(self._between(X), dtype=np.float64)

    def _between(self, X: Any) -> Any:
        if is_named(self.kernel, PRECOMPUTED):
            return X
        shape = X.shape[0], self.X.shape[0]
        if not callable(self.kernel):
            found = self._by_name(self._shifted(X), self._shifted(self.X))
        elif _takes_matrices(self.kernel, self.options, self.X):
            found = self._called(X, self.X)
        else:
            found = np.array([[self._called(x, y) for y in self.X] for x in X])
        if found.shape != shape:
            raise ValueError(f"kernel must give a matrix of shape {shape}, got {found.shape}")
        validate.require_real_dtype("kernel", found.dtype)
        validate.require_finite("kernel", found.astype(np.float64, copy=False))
        return found

    def _by_name(self, X: Any, Y: Any) -> Any:
        from sklearn.metrics.pairwise import pairwise_kernels

        name = validate.choice("kernel", self.kernel, kernel_names())
        known = {key: value for key, value in self.options.items() if value is not None}
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return _dense(pairwise_kernels(X, Y, metric=name, filter_params=True, **known))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"kernel={name!r} failed: {error}") from error

    def _called(self, *samples: Any) -> Any:
        try:
            return _dense(self.kernel(*samples, **self.options))
        except Exception as error:
            raise ValueError(
                f"kernel failed: {type(error).__name__}: {error}; it is called as kernel(X, Y) on "
                "matrices, or as kernel(x, y) on two samples"
            ) from error

    def _shifted(self, X: Any) -> Any:
        if self.shift is None:
            return X
        return (X.toarray() if hasattr(X, "tocsr") else X) - self.shift


def _takes_matrices(kernel: Any, options: dict[str, Any], X: Any) -> bool:
    """Whether a function gives a matrix for two matrices, tried on a few rows."""
    rows = np.arange(3) % X.shape[0]
    for n, m in PROBES:
        try:
            found = kernel(X[rows[:n]], X[rows[:m]], **options)
            if np.shape(_dense(found)) != (n, m):
                return False
        except Exception:  # whatever a function of two samples does with matrices
            return False
    return True


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "tocsr") else np.asarray(matrix)


def rbf_noise(X: Any, gamma: float, K: Array) -> float:
    """The norm of the rounding errors in a matrix exp(−γ‖x − x'‖²): squared distances come from
    differences of squared lengths, so that they are as far off as those; but for the diagonal,
    which is exact, and where the kernel is zero.
    """
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "tocsr") else np.einsum("ij,ij->i", X, X)
    sums = K.sum(axis=0) - np.diag(K)
    return ERRORS * EPS * gamma * float(np.max(squares)) * float(sums.max())
