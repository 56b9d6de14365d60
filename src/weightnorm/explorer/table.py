"""A table's numbers as a problem: what `weightnorm explore DATA` shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._support.numeric import Matrix
from ..problems import LeastSquares
from ..problems.linear.centred import centring_noise


def table_problem(features: Any, values: Any, standardize: bool = True) -> LeastSquares:
    """Least squares on features and a target with their means taken off.

    Parameters
    ----------
    features : (m, d) array
        Numbers, one row per sample.
    values : (m,) array
        The target.
    standardize : bool
        Whether to bring every feature to variance 1.

    Returns
    -------
    LeastSquares
        With an intercept that is at its best for all weights, as `weightnorm fit` has it.

    Raises
    ------
    ValueError
        If the target, or every feature, is the same in all rows.

    Examples
    --------
    >>> from weightnorm.explorer.table import table_problem
    >>> problem = table_problem([[1.0, 5.0], [3.0, 5.0]], [0.0, 4.0])
    >>> problem.A.tolist(), problem.y.tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [-2.0, 2.0])
    """
    A, y = np.asarray(features, dtype=np.float64), np.asarray(values, dtype=np.float64)
    for name, numbers in (("features", A), ("values", y)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity; leave such rows out")
    if float(y.min()) == float(y.max()):
        raise ValueError("the target is the same in every row: there is nothing to fit")
    A = standardized(A) if standardize else A
    if not np.ptp(A, axis=0).any():
        raise ValueError("every feature is the same in every row: there is nothing to fit with")
    return LeastSquares(A, y).centred()


def standardized(features: Matrix) -> Matrix:
    """Columns of mean 0 and variance 1; a constant column becomes zero.

    Parameters
    ----------
    features : (m, d) array
        Left as it is.

    Returns
    -------
    (m, d) array
        Of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.explorer.table import standardized
    >>> standardized(np.array([[1.0, 0.1], [3.0, 0.1], [8.0, 0.1]])).std(axis=0).round(12).tolist()
    [1.0, 0.0]
    """
    means, size = features.mean(axis=0), math.sqrt(features.shape[0])
    rest = features - means
    rest -= rest.mean(axis=0)
    largest = np.abs(rest).max(axis=0)
    units = np.where(largest > 0, largest, 1.0)  # so that no square over- or underflows
    lengths = units * np.linalg.norm(rest / units, axis=0)
    varies = lengths > centring_noise(means, size)
    return np.asarray(np.where(varies, rest / np.where(varies, lengths / size, 1.0), 0.0))
