"""Where the flows end, exactly (Theorem 2.5 and what it should say)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .._validate import Vector
from ._root import perp_at_the_end
from ._sign import limit_sign
from .formula import formula
from .setup import Setup, require_target, set_up
from .statement import Assumption, Statement, Value, assume

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limit(Statement):
    """The end of a flow.

    Attributes
    ----------
    weights : (d,) array
    scale, norm, perp_norm : float
        g∞, ‖x∞‖ and ‖x∞⊥‖.
    distance : float
        ‖x∞ − x*‖.
    """

    weights: Vector
    scale: float
    norm: float
    perp_norm: float
    distance: float


def limit_perp(g0: Any, gstar: Any, q0: Any, ratio: Any) -> Array:
    """‖x∞⊥‖ of the WN flow, exact to rounding over the whole range of double precision. Vectorised.

    Parameters
    ----------
    g0, gstar, q0, ratio : numbers or arrays that broadcast
        The start's scale, ‖x*‖ > 0, ‖w0⊥‖ in [0, 1], and c > 0.

    Returns
    -------
    array

    Examples
    --------
    >>> from weightnorm.theory import limit_perp
    >>> float(limit_perp(g0=2.8, gstar=3.0, q0=0.6**0.5, ratio=1.0).round(4))
    0.9035
    >>> float(limit_perp(g0=1e5, gstar=1.0, q0=0.5, ratio=1e-7).round(4))
    100000.0
    """
    g0, gstar, q0, c = _validate.broadcast(g0=g0, gstar=gstar, q0=q0, ratio=ratio)
    if not (gstar > 0).all():
        raise ValueError(f"gstar must be greater than 0, got {gstar.min():g}: y = 0 is excluded")
    if not (c > 0).all():
        raise ValueError(
            f"ratio must be greater than 0, got {c.min():g}; for c = 0 see fixed_scale_limit"
        )
    if not ((q0 >= 0) & (q0 <= 1 + 1e-12)).all():
        raise ValueError("q0 must be between 0 and 1: it is ‖w0⊥‖ of a unit w0")
    with np.errstate(divide="ignore"):
        return perp_at_the_end(g0, gstar, 2.0 * np.log(q0), c)


def limit_scale(g0: Any, gstar: Any, q0: Any, ratio: Any) -> Array:
    """|g∞| of the WN flow: G = g∞² is the root of G (1 − F0 e^{−G/c}) = g*², F0 = q0² e^{g0²/c}.
    Vectorised.

    Parameters
    ----------
    g0, gstar, q0, ratio : numbers or arrays that broadcast
        The start's scale, ‖x*‖ > 0, ‖w0⊥‖ in [0, 1], and c > 0.

    Returns
    -------
    array

    Examples
    --------
    >>> from weightnorm.theory import limit_scale
    >>> float(limit_scale(g0=2.8, gstar=3.0, q0=0.6**0.5, ratio=1.0).round(4))
    3.1331
    """
    return np.asarray(np.hypot(gstar, limit_perp(g0, gstar, q0, ratio)))


def limit_square(log_f0: Any, gstar: Any, ratio: Any) -> Array:
    """The root G of G (1 − F0 e^{−G/c}) = g*², from log F0, which may be −inf.

    >>> from weightnorm.theory import limit_square
    >>> float(limit_square(float("-inf"), 3.0, 1.0))
    9.0
    """
    start = _validate.numbers("log_f0", log_f0, minus_infinity=True)
    _, gstar, c = _validate.broadcast(log_f0=np.zeros(start.shape), gstar=gstar, ratio=ratio)
    if not ((gstar > 0) & (c > 0)).all():
        raise ValueError("gstar and ratio must be greater than 0")
    with np.errstate(over="ignore"):
        return np.asarray(gstar**2 + perp_at_the_end(0.0, gstar, start, c) ** 2)


def perp_of_limit(g0: Any, g_limit: Any, q0: Any, ratio: Any) -> Array:
    """‖x∞⊥‖ = |g∞| q0 exp((g0² − g∞²)/2c) from a known g∞; `limit_perp` needs none, and no luck at
    small c.

    >>> from weightnorm.theory import limit_scale, perp_of_limit
    >>> g = limit_scale(2.0, 3.0, 0.6**0.5, 1.0)
    >>> float(perp_of_limit(2.0, g, 0.6**0.5, 1.0).round(4))
    0.1878
    """
    g0, g_limit, q0, c = _validate.broadcast(g0=g0, g_limit=g_limit, q0=q0, ratio=ratio)
    if not ((q0 >= 0) & (c > 0)).all():
        raise ValueError("q0 must not be negative, and ratio must be greater than 0")
    g0, g_limit = np.abs(g0), np.abs(g_limit)
    with np.errstate(
        all="ignore"
    ):  # q0 = 0 is a start in the row space: nothing, whatever the exponent
        exponent = np.where(g0 == g_limit, 0.0, (g0 - g_limit) * ((g0 + g_limit) / (2.0 * c)))
        return np.where((q0 == 0) | (g_limit == 0), 0.0, g_limit * np.exp(np.log(q0) + exponent))


def _flow_assumptions(setup: Setup, c: float) -> tuple[Assumption, ...]:
    return (assume("c > 0", c > 0), assume("y ≠ 0", setup.gstar > 0))


def flow_limit(problem: Any, scale: float, direction: Any, ratio: float = 1.0) -> Limit:
    """Where the WN flow ends: x* + g∞ exp((g0² − g∞²)/2c) w0⊥, by a scalar root.

    Theorem 2.5, part I, prints g* in place of g∞ (`flow_limit_as_printed`); that is its first term
    in a series that is good for |g0| well under g* and absurd above it. The sign of g∞ has a closed
    form but for m ≥ 2 with F0 ≤ 1 and a start no better than x = 0; there a private integration
    runs until the loss is under ½‖y‖², which settles it.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> limit = wn.theory.flow_limit(problem, scale=1.0, direction=w0, ratio=0.1)
    >>> round(limit.norm, 6), limit.applies
    (3.0, True)
    """
    c = _validate.real("ratio", ratio, minimum=0.0, strict=True)
    setup = set_up(problem, scale, direction)
    require_target(setup)
    sign, settled = limit_sign(setup, c)
    perp = float(limit_perp(setup.g0, setup.gstar, setup.q0, c))
    norm = float(np.hypot(setup.gstar, perp))
    return Limit(
        weights=setup.lift(setup.target, sign * perp),
        scale=sign * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        assumptions=(*_flow_assumptions(setup, c), settled),
        paper="Theorem 2.5, part I (exact form)",
    )


def flow_limit_as_printed(problem: Any, scale: float, direction: Any, ratio: float = 1.0) -> Limit:
    """The paper's formula, x* + g* exp((g0² − g*²)/2c) w0⊥, for comparison: it is wrong in general.

    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.theory.flow_limit_as_printed(problem, scale=4.0, direction=w0).norm > 50
    True
    """
    c = _validate.real("ratio", ratio, minimum=0.0, strict=True)
    setup = set_up(problem, scale, direction)
    require_target(setup)
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = (abs(setup.g0) - setup.gstar) * ((abs(setup.g0) + setup.gstar) / (2 * c))
        perp = float(setup.gstar * setup.q0 * np.exp(exponent)) if setup.q0 > 0 else 0.0
        norm = float(np.hypot(setup.gstar, perp))
        weights, seen = setup.lift(setup.target, perp), setup.lift(setup.target, 0.0)
    return Limit(
        weights=np.where(
            np.isnan(weights), seen, weights
        ),  # an infinite part has none along a zero axis
        scale=norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        assumptions=_flow_assumptions(setup, c),
        paper="Theorem 2.5, part I (as printed)",
    )


def gd_limit(problem: Any, scale: float, direction: Any) -> Limit:
    """Where gradient descent and the gradient flow end: x* + g0 w0⊥ (the paper prints g* w0⊥).

    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.theory.gd_limit(problem, scale=0.0, direction=w0).distance
    0.0
    """
    setup = set_up(problem, scale, direction)
    perp = setup.g0 * setup.q0
    norm = float(np.hypot(setup.gstar, perp))
    return Limit(
        weights=setup.lift(setup.target, perp),
        scale=norm,
        norm=norm,
        perp_norm=abs(perp),
        distance=abs(perp),
        paper="after Theorem 2.5",
    )


@dataclass(frozen=True)
class Comparison(Statement):
    """WN against gradient descent from the same start.

    Attributes
    ----------
    direction_turns_in : bool
        ‖w⊥‖ shrinks, that is |g∞| > |g0|: iff |g0|·‖w0∥‖ < g*.
    closer : bool
        ‖x⊥‖ ends smaller than gradient descent's: iff k(|g∞|) < k(|g0|), k(g) = g exp(−g²/2c).
    threshold : float
        g*/‖w0∥‖, the scale above which ‖w⊥‖ grows.
    """

    direction_turns_in: bool
    closer: bool
    threshold: float


@formula
def wn_beats_gd(g0: float, gstar: float, q0: float, ratio: float = 1.0) -> Comparison:
    """When the WN flow ends closer to x* than gradient descent; the paper's g0² ≤ g*² decides
    neither way.

    >>> from weightnorm.theory import wn_beats_gd
    >>> [wn_beats_gd(g0, 3.0, 0.6**0.5, ratio=10.0).closer for g0 in (1.0, 2.6, 2.8, 4.7, 4.8)]
    [False, False, True, True, False]
    """
    parallel = float(np.sqrt(max(0.0, 1.0 - q0**2)))
    wn, gd = float(limit_perp(g0, gstar, q0, ratio)), abs(g0) * q0
    return Comparison(
        direction_turns_in=abs(g0) * parallel < gstar,
        closer=bool(wn < gd),
        threshold=gstar / parallel if parallel > 0 else np.inf,
        assumptions=(assume("c > 0", ratio > 0), assume("w0⊥ ≠ 0", q0 > 0)),
        paper="after Theorem 2.5 (exact form)",
    )


def distance_map(g0: Any, ratio: Any, gstar: float, q0: float) -> Array:
    """‖x∞ − x*‖ over a grid of start scales (rows) and ratios (columns): the phase diagram of the
    WN flow.

    >>> import numpy as np
    >>> from weightnorm.theory import distance_map
    >>> distance_map(np.linspace(0, 4, 5), [0.1, 1.0], gstar=3.0, q0=0.7).shape
    (5, 2)
    """
    rows, columns = (
        np.atleast_1d(_validate.numbers("g0", g0)),
        np.atleast_1d(_validate.numbers("ratio", ratio)),
    )
    if rows.ndim != 1 or columns.ndim != 1:
        raise ValueError(
            f"g0 and ratio must be vectors, got shapes {rows.shape} and {columns.shape}"
        )
    return limit_perp(
        rows[:, None], _validate.real("gstar", gstar), _validate.real("q0", q0), columns[None, :]
    )


@formula
def example_2d(g0: float, ratio: float = 1.0) -> Value:
    """The paper's example A = [1, 0], y = 1, w0 = [0, 1]: the WN flow ends at [1, sign(g0)·√(G −
    1)].

    The paper prints [1, exp((g0² − 1)/2)]. The loss on S is ½ (printed 1), and the gradient flow
    ends at [1, g0].

    >>> from weightnorm.theory import example_2d
    >>> value = example_2d(2.0).value
    >>> value["wn"].round(3).tolist(), value["printed"].round(2).tolist()
    ([1.0, 1.807], [1.0, 4.48])
    """
    printed = float(np.exp((g0 - 1.0) * ((g0 + 1.0) / (2.0 * ratio))))
    value = {
        "wn": np.array([1.0, np.sign(g0) * float(limit_perp(g0, 1.0, 1.0, ratio))]),
        "gd": np.array([1.0, g0]),
        "printed": np.array([1.0, printed]),
        "loss_on_s": 0.5,
    }
    return Value(
        value, assumptions=(assume("g0 ≠ 0", g0 != 0),), paper="a concrete example, section 2"
    )
