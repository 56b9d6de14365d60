"""The flow at a fixed scale, c = 0, and the restart from where it ends (Theorem 2.6, part II;
section 3's equivalence).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._support.numeric import Vector
from .formula import formula
from .limits import Limit
from .setup import Setup, require_target, set_up
from .statement import Value, assume

OPPOSED = 1 - 1e-14  # a cosine of −1, to rounding


def ridge_direction(setup: Setup) -> Vector:
    """The unit w̃ = (ĉ⁻¹ I + |g0| AᵀA)⁻¹ Aᵀy with ĉ > 0, for 0 < |g0| ≤ g*."""
    g, pull, shift = _ridge(setup)
    w = pull / (shift + g * setup.lam)
    return np.asarray(w / np.linalg.norm(w))


def _ridge(setup: Setup) -> tuple[float, Vector, float]:
    """|g0|, Aᵀy and 1/ĉ in units of g*, ĉ > 0 being where the direction has norm 1: it grows
    with ĉ from 0 to g*/|g0|.
    """
    from scipy.optimize import brentq

    unit = setup.gstar  # in units of g*, so that nothing under- or overflows
    g, pull = abs(setup.g0) / unit, setup.lam * (setup.target / unit)

    def excess(log_shift: float) -> float:
        return float(np.log(np.linalg.norm(pull / (np.exp(log_shift) + g * setup.lam))))

    high = np.log(np.linalg.norm(pull)) + 1.0
    low = high - 1.0
    while excess(low) <= 0:
        low -= 4.0
        if low < -700:  # |g0| = g* to rounding
            break
    shift = np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)) if excess(low) > 0 else 0.0
    return g, pull, float(shift)


@formula
def frozen_contraction(problem: Any, scale: float, direction_step: float) -> Value:
    """The number by which rPGD at a frozen scale divides ‖w⊥‖ at every step, in the long run.

    At a fixed scale 0 < |g0| < g* and a step η ≤ 1/(g0²λmax) the norm ‖v‖ before the projection
    tends to 1 + η|g0|/ĉ, with ĉ > 0 where ‖(I/ĉ + |g0|AᵀA)⁻¹Aᵀy‖ = 1, and w⊥ loses that factor a
    step, for any A. For orthogonal A it is (1 − ηg0²) + η|g0|g*.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the frozen scale; not zero, and under g* in size.
    direction_step : float
        η; greater than 0.

    Returns
    -------
    Value
        `.value` is the factor, above 1.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)  # g* = 3
    >>> round(wn.theory.frozen_contraction(problem, scale=1.0, direction_step=1.0).value, 4)
    1.7019
    """
    setup = set_up(problem, scale, np.ones(problem.shape[1]))
    require_target(setup)
    size = abs(setup.g0)
    if size == 0.0:
        raise ValueError("scale is 0: at a fixed zero scale nothing moves")
    shift = _ridge(setup)[2] if size < setup.gstar else 0.0
    largest = size**2 * float(setup.lam.max())
    return Value(
        1.0 + direction_step * size * shift * setup.gstar,
        assumptions=(
            assume("0 < |g0| < g*", size < setup.gstar),
            assume("0 < η ≤ 1/(g0²λmax)", 0 < direction_step * largest <= 1 + 1e-12),
        ),
        paper="beyond the paper",
    )


@formula
def fixed_scale_limit(
    problem: Any, scale: float, direction: Any = None, *, start_values: Any = None
) -> Limit:
    """Predict where the flow with a fixed scale (c = 0) ends: at g0·w̃, in the row space of A.

    This holds for 0 < |g0| ≤ g*, with g* the norm of the minimum-norm solution x*. w̃ is the unit
    vector (ĉ⁻¹ I + g0 AᵀA)⁻¹ Aᵀy with ĉ > 0, a ridge solution whose strength is set by ‖w̃‖ = 1;
    for orthogonal A (AAᵀ = I) it is w* = x*/g*. A negative g0 has ĉ < 0, the opposite w̃ and the
    same weights. For |g0| > g* the end is x* + sign(g0)·√(g0² − g*²)·w0⊥/‖w0⊥‖, with w0⊥ ≠ 0 the
    part of w0 orthogonal to the row space: rest points in the row space have g0·s > 0 there, and
    w⊥ = w0⊥ e^{∫g0·s} then grows (Theorem 2.6, part II; the paper has g0 < g*).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale, which stays as it is; not zero.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Limit
        The weights at the end, their scale g0, norm and distance to x*.

    Raises
    ------
    ValueError
        If the scale is zero, where nothing moves, or y is zero or out of A's reach.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> limit = wn.theory.fixed_scale_limit(problem, scale=1.0, direction=w0)
    >>> limit.perp_norm, round(limit.norm, 12)
    (0.0, 1.0)
    """
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    size = abs(setup.g0)
    if size == 0.0:
        raise ValueError("scale is 0: at a fixed zero scale nothing moves")
    if size <= setup.gstar:
        inside, perp = size * ridge_direction(setup), 0.0
    else:
        inside = setup.target
        perp = math.copysign(math.sqrt(size**2 - setup.gstar**2), setup.g0)
    # in the row space, against the limit: z0·x = −|g0|·‖x‖
    along = float(setup.z0 @ inside) * math.copysign(1.0, setup.g0)
    opposed = setup.q0 == 0.0 and along <= -size * OPPOSED
    return Limit(
        weights=setup.lift(inside, perp),
        scale=setup.g0,
        norm=float(np.hypot(np.linalg.norm(inside), perp)),
        perp_norm=abs(perp),
        distance=float(np.hypot(np.linalg.norm(inside - setup.target), perp)),
        assumptions=(
            assume("|g0| ≤ g*, or w0⊥ ≠ 0", size <= setup.gstar or setup.q0 > 0),
            assume(
                "w0 is not the opposite of the limit, and w0⊥ ≠ 0 or A is orthogonal",
                not opposed and (setup.q0 > 0 or setup.orthogonal),
            ),
        ),
        paper="Theorem 2.6, part II",
        _expand=setup.expand,
    )


@formula
def restart_limit(
    problem: Any, scale: float, direction: Any = None, *, start_values: Any = None
) -> Limit:
    """Predict where the flow ends that first fixes the scale and, once nothing moves, frees it.

    With c = 0 until nothing moves and c > 0 afterwards, it ends at (g*, w*) and, from g0 < 0, at
    (−g*, −w*): the minimum-norm solution x* = g* w* either way, for 0 < |g0| < g* (Theorem 2.6,
    part II).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised. Its part orthogonal to the row
        space of A must not be zero.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Limit
        x*, with the scale g* or −g*.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> round(wn.theory.restart_limit(problem, scale=-1.0, direction=w0).scale, 12)
    -3.0
    """
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    sign = np.sign(setup.g0)
    return Limit(
        weights=setup.lift(setup.target, 0.0),
        scale=float(sign * setup.gstar),
        norm=setup.gstar,
        perp_norm=0.0,
        distance=0.0,
        assumptions=(
            assume("0 < |g0| < g*", 0 < abs(setup.g0) < setup.gstar),
            assume("w0⊥ ≠ 0", setup.q0 > 0),
        ),
        paper="Theorem 2.6, part II (restart)",
        _expand=setup.expand,
    )
