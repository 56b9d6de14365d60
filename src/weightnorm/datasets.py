"""Synthetic problems and starts, each from an explicit seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._support import validate
from ._support.numeric import Matrix, Vector
from .problems import GeneralizedLinear, LeastSquares, MatrixSensing

__all__ = [
    "make_generalized_linear",
    "make_regression",
    "make_sensing",
    "random_direction",
    "sensing_start",
]


@validate.renamed(scale="solution_norm")
def make_regression(
    num_samples: int = 20,
    num_features: int = 50,
    condition_number: float = 1.0,
    solution_norm: float = 3.0,
    *,
    noise: float = 0.0,
    seed: int = 0,
) -> LeastSquares:
    """Make a least-squares problem with a known spectrum, as in the paper's experiments.

    A = U Σ Vᵀ with random orthonormal U, V and singular values from 1 down to 1/condition_number,
    geometrically spaced. y = A x* + noise·ε, with x* uniform on the sphere of radius
    `solution_norm` in the row space of A and ε independent standard normal. Without noise x* is
    the minimum-norm solution; with noise it is what generated the data.

    Parameters
    ----------
    num_samples, num_features : int
        The shape of A; either may be the larger.
    condition_number : float
        Of A (not of AAᵀ), at least 1.
    solution_norm : float
        ‖x*‖, zero or more.
    noise : float
        The standard deviation of the noise on y, zero or more.
    seed : int
        A, x* and ε depend on it alone; the noise level changes neither A nor x*.

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
    >>> noisy = wn.datasets.make_regression(noise=0.1, seed=0)
    >>> bool(np.array_equal(noisy.A, problem.A)), bool(0 < abs(noisy.y - problem.y).max() < 1)
    (True, True)
    """
    A, x, z, errors = _linear_data(
        num_samples, num_features, condition_number, solution_norm, noise, seed
    )
    return LeastSquares(A, z if errors is None else z + errors, solution=x)


def make_generalized_linear(
    num_samples: int = 20,
    num_features: int = 50,
    condition_number: float = 1.0,
    solution_norm: float = 3.0,
    *,
    loss: str = "logistic",
    noise: float = 0.0,
    seed: int = 0,
) -> GeneralizedLinear:
    """Make a generalized linear model on the A and x* of `make_regression`.

    With z = A x* + noise·ε the targets are: 1 where z > 0 and 0 elsewhere (logistic), a draw from
    the Poisson distribution with mean e^z (poisson), z itself (huber, squared).

    Parameters
    ----------
    num_samples, num_features, condition_number, solution_norm, noise, seed
        As in `make_regression`.
    loss : {"logistic", "poisson", "huber", "squared"}

    Returns
    -------
    GeneralizedLinear

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_generalized_linear(num_samples=6, loss="poisson", seed=0)
    >>> bool((problem.y >= 0).all()), bool((problem.y == problem.y.round()).all())
    (True, True)
    """
    kind = validate.choice("loss", loss, ("logistic", "poisson", "huber", "squared"))
    A, _, z, errors = _linear_data(
        num_samples, num_features, condition_number, solution_norm, noise, seed
    )
    z = z if errors is None else z + errors
    if kind == "logistic":
        z = (z > 0).astype(np.float64)
    elif kind == "poisson":
        if z.max() > 30.0:
            raise ValueError(
                f"solution_norm = {solution_norm:g} gives Poisson means up to e^{z.max():.0f}; "
                "choose a smaller one"
            )
        z = _generator("make_generalized_linear", seed).poisson(np.exp(z)).astype(np.float64)
    return GeneralizedLinear(A, z, loss=kind)


def _linear_data(
    num_samples: int,
    num_features: int,
    condition_number: float,
    solution_norm: float,
    noise: float,
    seed: int,
) -> tuple[Matrix, Vector, Vector, Vector | None]:
    """A, x*, A x* and the errors on it (None without noise)."""
    m = validate.integer("num_samples", num_samples, minimum=1)
    d = validate.integer("num_features", num_features, minimum=1)
    _require_memory("num_samples · num_features", m * d)
    kappa = validate.real("condition_number", condition_number, minimum=1.0)
    radius = validate.real("solution_norm", solution_norm, minimum=0.0)
    radius = validate.squarable("solution_norm", radius)
    size = validate.squarable("noise", validate.real("noise", noise, minimum=0.0))
    rank = min(m, d)
    generator = _generator("make_regression", seed)
    U = np.linalg.qr(generator.standard_normal((m, rank)))[0]
    V = np.linalg.qr(generator.standard_normal((d, rank)))[0]
    singular = np.geomspace(1.0, 1.0 / kappa, rank)
    coordinates = generator.standard_normal(rank)
    coordinates *= radius / np.linalg.norm(coordinates)
    errors = size * generator.standard_normal(m) if size > 0 else None
    return (U * singular) @ V.T, V @ coordinates, U @ (singular * coordinates), errors


def random_direction(num_features: int, seed: int, chunks: Any = None) -> Any:
    """Draw a direction uniformly from the unit sphere.

    Parameters
    ----------
    num_features : int
    seed : int
        The same seed as a problem's is independent of it.
    chunks : int or tuple of int, optional
        Make a Dask array in blocks of these sizes, each from a stream of its own: the numbers
        depend on the seed and on the blocks. `A.chunks[1]` are those of a wide Dask array A.

    Returns
    -------
    (num_features,) array, or Dask array

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> w = wn.datasets.random_direction(50, seed=1)
    >>> w.shape, round(float(np.linalg.norm(w)), 12)
    ((50,), 1.0)
    >>> large = wn.datasets.random_direction(10**6, seed=1, chunks=10**5)
    >>> large.numblocks, round(float(np.linalg.norm(large)), 12)
    ((10,), 1.0)
    """
    d = validate.integer("num_features", num_features, minimum=1)
    if chunks is not None:
        return _direction_in_blocks(d, seed, chunks)
    _require_memory("num_features", d)
    w = _generator("random_direction", seed).standard_normal(d)
    return w / np.linalg.norm(w)


def _direction_in_blocks(d: int, seed: int, chunks: Any) -> Any:
    """The blocks are drawn again whenever they are needed: nothing of length d is in memory."""
    import dask.array as da
    from dask.array.core import normalize_chunks

    try:
        (sizes,) = normalize_chunks(chunks, shape=(d,), dtype=np.float64)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise ValueError(
            f"chunks must be a block size or sizes that add up to {d}, got {chunks!r}"
        ) from error
    entropy = [*b"random_direction", validate.integer("seed", seed)]
    w = da.map_blocks(
        _normal_block,
        chunks=(tuple(sizes),),
        entropy=entropy,
        sizes=tuple(sizes),
        dtype=np.float64,
        meta=np.empty(0),
    )
    squares = np.asarray(
        w.map_blocks(_square, chunks=((1,) * len(sizes),), dtype=np.float64).compute()
    )
    return w / np.sqrt(squares.sum())


def _normal_block(entropy: list[int], sizes: tuple[int, ...], block_id: Any = None) -> Vector:
    index = int(block_id[0])
    return np.random.default_rng([*entropy, index]).standard_normal(sizes[index])


def _square(block: Vector) -> Vector:
    return np.array([np.einsum("i,i->", block, block)])


def make_sensing(
    size: int = 30, rank: int = 4, num_measurements: int = 60, seed: int = 0, *, noise: float = 0.0
) -> MatrixSensing:
    """Make a matrix sensing problem as in the paper: y_i = ⟨A_i, X*⟩ + noise·ε_i, X* = Û Ûᵀ.

    The sensors A_i have independent standard normal entries, and so has ε.

    Parameters
    ----------
    size, rank : int
        Û is (size, rank), with independent standard normal entries.
    num_measurements : int
    seed : int
        The noise level changes neither the sensors nor X*.
    noise : float
        The standard deviation of the noise on y, zero or more.

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
    d = validate.integer("size", size, minimum=1)
    r = validate.integer("rank", rank, minimum=1)
    if r > d:
        raise ValueError(f"rank must be at most size = {d}, got {r}")
    m = validate.integer("num_measurements", num_measurements, minimum=1)
    _require_memory("num_measurements · size · size", m * d * d)
    level = validate.squarable("noise", validate.real("noise", noise, minimum=0.0))
    generator = _generator("make_sensing", seed)
    sensors = generator.standard_normal((m, d, d))
    U = generator.standard_normal((d, r))
    truth = U @ U.T
    y = np.tensordot(sensors, truth, axes=2)
    if level > 0:
        y += level * generator.standard_normal(m)
    return MatrixSensing(sensors, y, ground_truth=truth)


def sensing_start(
    size: int = 30, alpha: float = 1.0, seed: int = 0, *, per_column: bool = False
) -> dict[str, Any]:
    """Draw the paper's start for matrix sensing, as keyword arguments for `run`.

    The direction Z0 has independent normal entries and unit columns; the scale is α². With one
    scale `run` divides Z0 by ‖Z0‖_F, so gradient descent starts at ‖U0‖_F = α (the paper calls α
    the square root of ‖U Uᵀ‖_F, which differs). With one scale per column the paper's D0 = α² I
    makes the trace of X0 size times as large; `per_column=True` gives D0 = (α²/size) I, the same X0
    as the others.

    Parameters
    ----------
    size : int
        d, the size of X.
    alpha : float
        α, zero or more.
    seed : int
    per_column : bool

    Returns
    -------
    dict
        `scale`, a float, and `direction`, a (size, size) array.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> start = wn.datasets.sensing_start(30, alpha=0.5, seed=0)
    >>> start["scale"], start["direction"].shape
    (0.25, (30, 30))
    """
    d = validate.integer("size", size, minimum=1)
    _require_memory("size · size", d * d)
    Z = _generator("sensing_start", seed).standard_normal((d, d))
    scale = validate.squarable("alpha", validate.real("alpha", alpha, minimum=0.0)) ** 2
    return {"scale": scale / d if per_column else scale, "direction": Z / np.linalg.norm(Z, axis=0)}


def _require_memory(name: str, count: int) -> None:
    """Refuse sizes that no machine holds, before NumPy fails on them."""
    validate.integer(name, count, maximum=2**40)


def _generator(purpose: str, seed: int) -> np.random.Generator:
    """A stream of its own for each purpose: a start never shares random numbers with the problem
    of the same seed.
    """
    return np.random.default_rng([*purpose.encode(), validate.integer("seed", seed)])
