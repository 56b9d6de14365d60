"""Synthetic problems and starts, each from an explicit seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _validate
from ._validate import Vector
from .problems import LeastSquares, MatrixSensing

__all__ = ["make_regression", "make_sensing", "random_direction", "sensing_start"]


def make_regression(
    num_samples: int = 20,
    num_features: int = 50,
    condition_number: float = 1.0,
    scale: float = 3.0,
    seed: int = 0,
) -> LeastSquares:
    """A least-squares problem with a known spectrum, as in the paper's experiments.

    A = U Σ Vᵀ with random orthonormal U, V and singular values from 1 down to 1/condition_number,
    geometrically spaced; y = A x* with x* uniform on the sphere of radius `scale` in the row space,
    so that x* is the minimum-norm solution and ‖x*‖ = scale.

    Parameters
    ----------
    num_samples, num_features : int
        The shape of A; either may be the larger.
    condition_number : float
        Of A (not of AAᵀ), at least 1.
    scale : float
        ‖x*‖, zero or more.
    seed : int

    Returns
    -------
    LeastSquares
        With `.solution` = x*.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
    >>> round(float(np.linalg.norm(problem.solution)), 12)
    3.0
    >>> bool(np.allclose(problem.min_norm_solution(), problem.solution))
    True
    """
    m = _validate.integer("num_samples", num_samples, minimum=1)
    d = _validate.integer("num_features", num_features, minimum=1)
    _require_memory("num_samples · num_features", m * d)
    kappa = _validate.real("condition_number", condition_number, minimum=1.0)
    radius = _validate.squarable("scale", _validate.real("scale", scale, minimum=0.0))
    rank = min(m, d)
    generator = _generator("make_regression", seed)
    U = np.linalg.qr(generator.standard_normal((m, rank)))[0]
    V = np.linalg.qr(generator.standard_normal((d, rank)))[0]
    singular = np.geomspace(1.0, 1.0 / kappa, rank)
    coordinates = generator.standard_normal(rank)
    coordinates *= radius / np.linalg.norm(coordinates)
    y = U @ (singular * coordinates)
    return LeastSquares((U * singular) @ V.T, y, solution=V @ coordinates)


def random_direction(num_features: int, seed: int) -> Vector:
    """A direction uniform on the unit sphere.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> w = wn.datasets.random_direction(50, seed=1)
    >>> w.shape, round(float(np.linalg.norm(w)), 12)
    ((50,), 1.0)
    """
    d = _validate.integer("num_features", num_features, minimum=1)
    _require_memory("num_features", d)
    w = _generator("random_direction", seed).standard_normal(d)
    return w / np.linalg.norm(w)


def make_sensing(
    size: int = 30, rank: int = 4, num_measurements: int = 60, seed: int = 0
) -> MatrixSensing:
    """A matrix sensing problem as in the paper: X* = Û Ûᵀ and sensors with independent normal
    entries.

    Parameters
    ----------
    size, rank : int
        Û is (size, rank), with independent standard normal entries.
    num_measurements : int
    seed : int

    Returns
    -------
    MatrixSensing
        With `.ground_truth` = X*, which need not be the solution of smallest nuclear norm.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_sensing(seed=0)
    >>> problem.shape, float(problem.value(problem.ground_truth)) < 1e-20
    ((60, 30), True)
    """
    d = _validate.integer("size", size, minimum=1)
    r = _validate.integer("rank", rank, minimum=1)
    if r > d:
        raise ValueError(f"rank must be at most size = {d}, got {r}")
    m = _validate.integer("num_measurements", num_measurements, minimum=1)
    _require_memory("num_measurements · size · size", m * d * d)
    generator = _generator("make_sensing", seed)
    sensors = generator.standard_normal((m, d, d))
    U = generator.standard_normal((d, r))
    truth = U @ U.T
    return MatrixSensing(sensors, np.tensordot(sensors, truth, axes=2), ground_truth=truth)


def sensing_start(
    size: int = 30, alpha: float = 1.0, seed: int = 0, *, per_column: bool = False
) -> dict[str, Any]:
    """The paper's start for matrix sensing, as keyword arguments for `run`.

    The direction Z0 has independent normal entries and unit columns; the scale is α². With one
    scale `run` divides Z0 by ‖Z0‖_F, so gradient descent starts at ‖U0‖_F = α (the paper calls α
    the square root of ‖U Uᵀ‖_F, which differs). With a scale a column the paper's D0 = α² I makes
    the trace of X0 size times as large; `per_column=True` gives D0 = (α²/size) I, the same X0 as
    the others.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> start = wn.datasets.sensing_start(30, alpha=0.5, seed=0)
    >>> start["scale"], start["direction"].shape
    (0.25, (30, 30))
    """
    d = _validate.integer("size", size, minimum=1)
    _require_memory("size · size", d * d)
    Z = _generator("sensing_start", seed).standard_normal((d, d))
    scale = _validate.squarable("alpha", _validate.real("alpha", alpha, minimum=0.0)) ** 2
    return {"scale": scale / d if per_column else scale, "direction": Z / np.linalg.norm(Z, axis=0)}


def _require_memory(name: str, count: int) -> None:
    """Refuse sizes that no machine holds, before NumPy fails on them."""
    _validate.integer(name, count, maximum=2**40)


def _generator(purpose: str, seed: int) -> np.random.Generator:
    """A stream of its own for each purpose: a start never shares random numbers with the problem
    of the same seed.
    """
    return np.random.default_rng([*purpose.encode(), _validate.integer("seed", seed)])
