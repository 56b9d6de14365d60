"""What the WN flow minimises: the mirror potential and its Bregman divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array

NEAR = 8.0  # exponents that differ by less: the integral by Gauss's nodes, without cancellation
NODES = np.polynomial.legendre.leggauss(48)


def potential(x: Any, ratio: float = 1.0) -> Any:
    """The potential ψ(x) = ∫₀^‖x‖ e^{s²/2c} ds whose divergence the WN flow minimises.

    While g keeps its sign the WN flow stands, at every time, at the point nearest to its start in
    the Bregman divergence of ψ (see `bregman`) among all points with the same predictions Ax.
    For c → 0 that is the smallest norm; for c → ∞ it is the smallest ‖x‖ − ⟨x̂0, x⟩, x̂0 = x0/‖x0‖.

    Parameters
    ----------
    x : (d,) array, or (n, d)
        Weights, row by row.
    ratio : float
        c, the scale's step over the direction's; greater than 0.

    Returns
    -------
    float, or (n,) array
        ψ; infinite where e^{‖x‖²/2c} is beyond the largest float.

    Examples
    --------
    >>> import weightnorm as wn
    >>> round(wn.theory.potential([3.0, 4.0], ratio=1e9), 6)  # c → ∞: the norm
    5.0
    """
    from scipy.special import dawsn

    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    points = validate.vector_or_rows("x", x)
    norm = np.asarray(np.linalg.norm(points, axis=-1))
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.sqrt(2.0 * c)
        value = unit * dawsn(norm / unit) * np.exp((norm / unit) ** 2)
    return _plain(np.where(np.isnan(value), np.inf, value))


def bregman(x: Any, x0: Any, ratio: float = 1.0) -> Any:
    """The Bregman divergence D(x, x0) = ψ(x) − ψ(x0) − ⟨∇ψ(x0), x − x0⟩ of `potential`.

    The WN flow from x0, for any loss of Ax, stands where this is smallest among all points with
    the same predictions, as long as the scale keeps its sign; after a sign change −x0 takes the
    place of x0. So it certifies any result: no other weights with these predictions may be nearer.

    Parameters
    ----------
    x : (d,) array, or (n, d)
        Weights, row by row.
    x0 : (d,) array
        The start x0 = g0·w0/‖w0‖; not zero, because ψ has a kink there.
    ratio : float
        c, the scale's step over the direction's (times ‖w0‖² for weight normalization); greater
        than 0.

    Returns
    -------
    float, or (n,) array
        D; not negative, and infinite where the potential is beyond the largest float.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> x0 = np.array([0.3, 0.4])
    >>> end = wn.theory.flow_limit(problem, scale=0.5, direction=x0).weights
    >>> others = end + np.array([[0.0, 0.1], [0.0, -0.1]])  # the same predictions
    >>> bool((wn.theory.bregman(others, x0) > wn.theory.bregman(end, x0)).all())
    True
    """
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    points = validate.vector_or_rows("x", x)
    start = validate.array("x0", x0, ndim=1)
    if start.size != points.shape[-1]:
        raise ValueError(f"x0 must have {points.shape[-1]} entries like x, got {start.size}")
    if not start.any():
        raise ValueError(
            "x0 must not be zero, where the potential has a kink; give a start x0 = g0·w0 with a "
            "small g0"
        )
    size = float(np.linalg.norm(start))
    return _plain(divergence(points, size, start / size, c))


def divergence(points: Array, size: float, unit: Array, c: float) -> Array:
    """D(x, size·unit) for a unit vector; at size 0 with the gradient ψ has along that vector."""
    norm = np.asarray(np.linalg.norm(points, axis=-1))
    safe = np.where(norm > 0, norm, 1.0)
    # ‖x‖ − ⟨x̂0, x⟩ = ½‖x‖·‖x̂ − x̂0‖², without cancellation
    turned = np.linalg.norm(points / safe[..., None] - unit, axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        turning = 0.5 * norm * turned**2
        value = np.exp(size * (size / (2.0 * c))) * (_stretch(norm, size, c) + turning)
    return np.where(np.isnan(value), np.inf, value)


def _stretch(norm: Array, size: float, c: float) -> Array:
    """∫ (e^{(s² − a0²)/2c} − 1) ds from a0 = ‖x0‖ to ‖x‖: the divergence along one ray, over
    e^{a0²/2c}.
    """
    from scipy.special import dawsn

    nodes, weights = NODES
    half = 0.5 * (norm - size)
    points = size + half[..., None] * (1.0 + nodes)
    near = (np.expm1((points - size) * ((points + size) / (2.0 * c))) @ weights) * half
    unit = np.sqrt(2.0 * c)
    grown = (norm - size) * ((norm + size) / (2.0 * c))
    far = unit * (dawsn(norm / unit) * np.exp(grown) - dawsn(size / unit)) - (norm - size)
    return np.where(np.abs(grown) <= NEAR, near, far)


def _plain(value: Array) -> Any:
    return value if value.ndim else float(value)
