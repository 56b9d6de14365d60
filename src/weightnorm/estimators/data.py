"""What both estimators do to their data: checks, centring without a dense copy of sparse data, and starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ..problems.factorisation import LARGEST

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Centred:
    """X less its column means, as an array that is ours to overwrite, a sparse matrix or an operator; and the means."""

    A: Any
    means: Array


def require_squares(X: Any) -> None:
    """Refuse entries whose squares overflow."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(f"X has a largest entry of {largest:.3g}, whose square overflows; rescale it")


def centre(X: Any, fit_intercept: bool, constant: float | None = None) -> Centred:
    """X with the means taken off, if there is an intercept to put them back; with a column of `constant` if given.

    The long axis is contiguous, so that the factorisation can take the memory over.
    """
    if sparse.issparse(X):
        return _centre_sparse(X, fit_intercept, constant)
    m, d = X.shape
    extra = 0 if constant is None else 1
    A = np.empty((m, d + extra), order="C" if m <= d + extra else "F")
    A[:, :d] = X
    if constant is not None:
        A[:, d] = constant
    if not fit_intercept:
        return Centred(A, np.zeros(d))
    means = X.mean(axis=0)
    A[:, :d] -= means
    flat = np.ptp(X, axis=0) == 0.0  # a constant feature is zero, not rounding
    A[:, :d][:, flat] = 0.0
    return Centred(A, means)


def _centre_sparse(X: Any, fit_intercept: bool, constant: float | None) -> Centred:
    m, d = X.shape
    means = np.asarray(X.mean(axis=0)).ravel() if fit_intercept else np.zeros(d)
    whole = X if constant is None else sparse.hstack([X, np.full((m, 1), constant)], format="csr")
    shift = means if constant is None else np.append(means, 0.0)
    if not fit_intercept:
        return Centred(whole, means)
    centred = LinearOperator(
        whole.shape,
        matvec=lambda v: whole @ np.ravel(v) - shift @ np.ravel(v),
        rmatvec=lambda r: whole.T @ np.ravel(r) - shift * np.sum(r),
        matmat=lambda V: whole @ V - shift @ V,
        rmatmat=lambda R: np.asarray(whole.T @ R) - shift[:, None] * R.sum(axis=0),
        dtype=np.float64,
    )
    return Centred(centred, means)


def start_direction(name: str, direction: Any, shape: tuple[int, ...], generator: Any) -> Array:
    """The direction given, checked, or one at random; as an array of this shape."""
    if direction is None:
        return np.asarray(generator.standard_normal(shape))
    value = np.asarray(direction, dtype=np.float64)
    if value.shape != shape or not np.isfinite(value).all():
        raise ValueError(f"{name} must have shape {shape} and finite entries, got shape {value.shape}")
    return value
