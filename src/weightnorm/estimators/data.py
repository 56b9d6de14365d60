"""What the estimators do to their data: checks, centring without a copy where it can be had,
starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._support import validate
from .._support.numeric import LARGEST, Array
from ..problems.linear.centred import Centred, centring_noise


def require_squares(X: Any) -> None:
    """Refuse features whose squares overflow, or vanish."""
    if sparse.issparse(X):
        high, low = (np.ravel(find(axis=0).toarray()) for find in (X.max, X.min))
    else:
        high, low = X.max(axis=0), X.min(axis=0)
    sizes = np.maximum(high, -low)
    largest = float(sizes.max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"X has a largest entry of {largest:.3g}, whose square overflows; rescale it"
        )
    tiny = np.flatnonzero((sizes > 0) & (sizes < 1.0 / LARGEST))
    if tiny.size:
        raise ValueError(
            f"X has a feature, column {tiny[0]}, with a largest entry of {sizes[tiny[0]]:.3g}, "
            "whose square vanishes; rescale it"
        )


def column_means(X: Any, weights: Array | None, fit_intercept: bool) -> Array:
    """The (weighted) means of the columns; zeros without an intercept."""
    if not fit_intercept:
        return np.zeros(X.shape[1])
    if weights is None:
        return np.asarray(X.mean(axis=0)).ravel()
    return np.asarray(X.T @ (weights / weights.sum())).ravel()


@dataclass(frozen=True)
class Prepared:
    """The matrix of a least squares fit.

    Attributes
    ----------
    A : array that is ours to overwrite, or an operator
        √weights (X − means).
    means : (d,) array
    noise : (d,) array
        The norms of the rounding errors that taking the means off leaves in the columns: what is
        not larger means nothing.
    """

    A: Any
    means: Array
    noise: Array


def prepare(X: Any, weights: Array | None, fit_intercept: bool) -> Prepared:
    """Centre the columns, if there is an intercept to put the means back, and weigh the rows.

    The long axis of a dense matrix is contiguous, so that the factorisation can take the memory
    over.
    """
    m, d = X.shape
    means = column_means(X, weights, fit_intercept)
    rows = None if weights is None else np.sqrt(weights)
    size = np.sqrt(m) if rows is None else float(np.linalg.norm(rows))
    noise = centring_noise(means, size)
    if sparse.issparse(X):
        if weights is None and not fit_intercept:
            return Prepared(X, means, noise)
        return Prepared(Centred(X, means, rows), means, noise)
    A = np.empty((m, d), order="C" if m <= d else "F")
    A[:] = X
    if fit_intercept:
        A -= means
        # again: what rounding left of the mean would become a direction of its own
        A -= column_means(A, weights, True)
    if rows is not None:
        A *= rows[:, None]
    return Prepared(A, means, noise)


def power_of_two(values: Array) -> float:
    """The power of two that brings the largest entry between ½ and 1; 1 for zeros."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    exponent = int(np.frexp(largest)[1])
    return float(np.ldexp(1.0, max(-1022, min(1023, exponent))))


def predictions(X: Any, coef: Array, intercept: Any) -> Array:
    """X coef + intercept, refused where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(X @ coef + intercept)
    if not np.isfinite(values).all():
        raise ValueError("X has entries so large that the predictions overflow; rescale it")
    return values


def start_rows(name: str, value: Any, num_rows: int, num_features: int) -> Array:
    """A direction or coefficients as (num_rows, n_features); one row may stand for all."""
    rows = validate.numbers(name, value)
    shapes = [(num_features,), (1, num_features), (num_rows, num_features)]
    if rows.shape not in shapes:
        wanted = f"({num_features},)" if num_rows == 1 else f"({num_rows}, {num_features})"
        raise ValueError(f"{name} must have shape {wanted}, got shape {rows.shape}")
    if np.abs(rows).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"{name} has a largest entry of {np.abs(rows).max():.3g}, whose square overflows; "
            "rescale it"
        )
    return np.broadcast_to(np.atleast_2d(rows), (num_rows, num_features))
