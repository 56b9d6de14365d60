"""The kinds of matrices and of schedules that every method must handle: adding one means adding
a row.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import weightnorm as wn


def slow(values):
    """The values of a parameter that are tried with the slow tests only."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def _matrix(m, d, seed=0, condition_number=3.0):
    return wn.datasets.make_regression(m, d, condition_number, seed=seed).A


def _rank_deficient(m, d):
    A = _matrix(m, d)
    A[-2:] = A[:2] + A[2:4]
    return A / np.linalg.norm(A, 2)


def _sparse(m, d):
    A = scipy.sparse.random_array((m, d), density=0.3, rng=np.random.default_rng(0), format="csr")
    return A / np.linalg.norm(A.toarray(), 2)


# name -> (what LeastSquares gets, the same matrix as a dense array)
def _pair(A, dense=None):
    return A, np.asarray(A if dense is None else dense, dtype=np.float64)


MATRICES = {
    "dense": _pair(_matrix(8, 30)),
    "orthonormal rows": _pair(_matrix(8, 30, condition_number=1.0)),
    "Fortran order": _pair(np.asfortranarray(_matrix(8, 30))),
    "float32": _pair(_matrix(8, 30).astype(np.float32)),
    "integers": _pair(np.random.default_rng(0).integers(-1, 2, (4, 9)).astype(np.int8)),
    "one row": _pair(_matrix(1, 12)),
    "square": _pair(_matrix(9, 9)),
    "tall": _pair(_matrix(30, 8)),
    "rank-deficient": _pair(_rank_deficient(8, 30)),
    "sparse": (_sparse(8, 40), _sparse(8, 40).toarray()),
    "sparse tall": (_sparse(40, 8), _sparse(40, 8).toarray()),
    "operator": (aslinearoperator(_matrix(8, 30)), _matrix(8, 30)),
}

# name -> (schedule, value(t), power of |g|, power of ‖w‖); None as powers: those of the curvature
# step
SCHEDULES = {
    "constant": (0.05, lambda t: 0.05, 0, 0),
    "two_phase": (wn.schedules.two_phase(0.0, 0.05, 300), lambda t: 0.0 if t < 300 else 0.05, 0, 0),
    "piecewise": (
        wn.schedules.piecewise([0.1, 0.02, 0.05], [40, 500]),
        lambda t: 0.1 if t < 40 else 0.02 if t < 500 else 0.05,
        0,
        0,
    ),
    "curvature": (wn.schedules.curvature(0.5), lambda t: 0.5, None, None),
    "scaled": (wn.schedules.scaled(0.02, scale_power=-0.5, norm_power=1), lambda t: 0.02, -0.5, 1),
    "callable": (lambda t: 0.1 / (1 + t / 1000), lambda t: 0.1 / (1 + t / 1000), 0, 0),
}

METHODS = ("gd", "wn", "rpgd")


def build(method, direction_step, scale_step=0.02):
    if method == "gd":
        return wn.GradientDescent(direction_step)
    kinds = {"wn": wn.WeightNorm, "rpgd": wn.RPGD, "bn": wn.BatchNorm}
    return kinds[method](direction_step, scale_step)


def twin_steps(method, schedule, largest_curvature, scale_step=0.02):
    """steps(t, g, n) for the reference, from the numbers in SCHEDULES and not from the schedule
    object.
    """
    _, value, scale_power, norm_power = SCHEDULES[schedule]
    if scale_power is None:
        value_ = lambda t: value(t) / largest_curvature  # noqa: E731
        scale_power, norm_power = {"gd": (0, 0), "wn": (-2, 2), "rpgd": (-2, 0)}[method]
    else:
        value_ = value
    return lambda t, g, n: (value_(t) * abs(g) ** scale_power * n**norm_power, scale_step)
