"""Where the flows end, as functions of single numbers: the invariant met by g* = ‖x*‖."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ._root import perp_at_the_end


def limit_perp(g0: Any, gstar: Any, q0: Any, ratio: Any) -> Array:
    """The norm ‖x∞⊥‖ of what the WN flow keeps of its start, exact to rounding. Vectorised.

    The WN flow is the limit of weight normalization and rPGD for infinitely small steps. ‖x∞⊥‖ is
    the norm of the part of the final weights that no row of A sees; since the rest is the
    minimum-norm solution x*, it is also the distance ‖x∞ − x*‖. It is accurate over the whole range
    of double precision.

    Parameters
    ----------
    g0 : float or array
        Scale of the start; its sign does not matter here.
    gstar : float or array
        g*, the norm of the minimum-norm solution x*; greater than 0.
    q0 : float or array
        Norm of the part of the unit start direction w0 orthogonal to the row space of A; in [0, 1].
    ratio : float or array
        c, the scale's step over the direction's; greater than 0. The four arguments broadcast.

    Returns
    -------
    array
        ‖x∞⊥‖, of the shape the arguments broadcast to.

    Raises
    ------
    ValueError
        For g* ≤ 0, c ≤ 0 (for c = 0 see `fixed_scale_limit`), or q0 outside [0, 1].

    Examples
    --------
    >>> from weightnorm.theory import limit_perp
    >>> float(limit_perp(g0=2.8, gstar=3.0, q0=0.6**0.5, ratio=1.0).round(4))
    0.9035
    >>> float(limit_perp(g0=1e5, gstar=1.0, q0=0.5, ratio=1e-7).round(4))
    100000.0
    """
    g0, gstar, q0, c = validate.broadcast(g0=g0, gstar=gstar, q0=q0, ratio=ratio)
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
    """The final scale |g∞| of the WN flow, which is also the norm of its final weights. Vectorised.

    The WN flow is the limit of weight normalization and rPGD for infinitely small steps. G = g∞² is
    the root of G (1 − F0 e^{−G/c}) = g*² with F0 = q0² e^{g0²/c}.

    Parameters
    ----------
    g0 : float or array
        Scale of the start; its sign does not matter here.
    gstar : float or array
        g*, the norm of the minimum-norm solution x*; greater than 0.
    q0 : float or array
        Norm of the part of the unit start direction w0 orthogonal to the row space of A; in [0, 1].
    ratio : float or array
        c, the scale's step over the direction's; greater than 0. The four arguments broadcast.

    Returns
    -------
    array
        |g∞|, of the shape the arguments broadcast to.

    Examples
    --------
    >>> from weightnorm.theory import limit_scale
    >>> float(limit_scale(g0=2.8, gstar=3.0, q0=0.6**0.5, ratio=1.0).round(4))
    3.1331
    """
    return np.asarray(np.hypot(gstar, limit_perp(g0, gstar, q0, ratio)))


def limit_square(log_f0: Any, gstar: Any, ratio: Any) -> Array:
    """The square G = g∞² of the WN flow's final scale, from the logarithm of its start constant F0.

    G is the root of G (1 − F0 e^{−G/c}) = g*². F0 = q0² e^{g0²/c} is what the flow keeps of its
    start (`limit_scale` starts from g0 and q0 instead); log F0 may be −inf, for a start in the row
    space of A.

    Parameters
    ----------
    log_f0 : float or array
        log F0 = 2 log q0 + g0²/c, finite or −inf; g0 is the scale of the start and q0 the norm of
        the part of its unit direction orthogonal to the row space.
    gstar : float or array
        g*, the norm of the minimum-norm solution x*; greater than 0.
    ratio : float or array
        c, the scale's step over the direction's; greater than 0. The three arguments broadcast.

    Returns
    -------
    array
        G, of the shape the arguments broadcast to.

    Examples
    --------
    >>> from weightnorm.theory import limit_square
    >>> float(limit_square(float("-inf"), 3.0, 1.0))
    9.0
    """
    start = validate.numbers("log_f0", log_f0, minus_infinity=True)
    _, gstar, c = validate.broadcast(log_f0=np.zeros(start.shape), gstar=gstar, ratio=ratio)
    if not ((gstar > 0) & (c > 0)).all():
        raise ValueError("gstar and ratio must be greater than 0")
    with np.errstate(over="ignore"):
        return np.asarray(gstar**2 + perp_at_the_end(0.0, gstar, start, c) ** 2)


def perp_of_limit(g0: Any, g_limit: Any, q0: Any, ratio: Any) -> Array:
    """The norm ‖x∞⊥‖ of what the WN flow keeps of its start, from a known final scale.

    ‖x∞⊥‖ = |g∞| q0 exp((g0² − g∞²)/2c). Prefer `limit_perp`, which does not need g∞: at small c
    this formula loses its digits, because an error in g∞ is magnified by 1/c in the exponent.

    Parameters
    ----------
    g0 : float or array
        Scale of the start; its sign does not matter here.
    g_limit : float or array
        g∞, the scale at the end, for instance from `limit_scale`.
    q0 : float or array
        Norm of the part of the unit start direction w0 orthogonal to the row space of A; not
        negative.
    ratio : float or array
        c, the scale's step over the direction's; greater than 0. The four arguments broadcast.

    Returns
    -------
    array
        ‖x∞⊥‖, of the shape the arguments broadcast to.

    Examples
    --------
    >>> from weightnorm.theory import limit_scale, perp_of_limit
    >>> g = limit_scale(2.0, 3.0, 0.6**0.5, 1.0)
    >>> float(perp_of_limit(2.0, g, 0.6**0.5, 1.0).round(4))
    0.1878
    """
    g0, g_limit, q0, c = validate.broadcast(g0=g0, g_limit=g_limit, q0=q0, ratio=ratio)
    if not ((q0 >= 0) & (c > 0)).all():
        raise ValueError("q0 must not be negative, and ratio must be greater than 0")
    g0, g_limit = np.abs(g0), np.abs(g_limit)
    # q0 = 0 is a start in the row space: nothing, whatever the exponent
    with np.errstate(all="ignore"):
        exponent = np.where(g0 == g_limit, 0.0, (g0 - g_limit) * ((g0 + g_limit) / (2.0 * c)))
        return np.where((q0 == 0) | (g_limit == 0), 0.0, g_limit * np.exp(np.log(q0) + exponent))


def ratio_for_share(gstar: float, q0: float, perp: float) -> float | None:
    """The ratio with which the WN flow from scale 0 keeps a given unseen part.

    The inverse of `limit_perp` at g0 = 0, in units of g*²: with G = g*² + ‖x∞⊥‖² the flow's
    equation is ‖x∞⊥‖ = √G q0 e^{−G/2c}, so c = G/(2 log(√G q0/‖x∞⊥‖)).

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution x*.
    q0 : float
        Norm of the part of the unit start direction orthogonal to the row space of A; in [0, 1].
    perp : float
        ‖x∞⊥‖, what is to be kept.

    Returns
    -------
    float or None
        c/g*²; None where no ratio of finite size keeps as much (or as little: 0).

    Examples
    --------
    >>> from weightnorm.theory import limit_perp, ratio_for_share
    >>> ratio = ratio_for_share(gstar=3.0, q0=0.6, perp=1.0)
    >>> float(limit_perp(0.0, 3.0, 0.6, 9.0 * ratio).round(9))
    1.0
    """
    gstar = validate.real("gstar", gstar, minimum=0.0)
    q0, perp = (validate.real(n, v, minimum=0.0) for n, v in (("q0", q0), ("perp", perp)))
    if q0 > 1 + 1e-12:
        raise ValueError(f"q0 must be between 0 and 1: it is ‖w0⊥‖ of a unit w0; got {q0:g}")
    if not (gstar > 0 and q0 > 0 and perp > 0):
        return None
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        kept, least = np.divide(perp, gstar), np.divide(gstar, perp)
        # log(√G/‖x∞⊥‖): near 1 a difference of logarithms would lose what is wanted
        if least < 1.0:
            over = 0.5 * np.log1p(least**2)
        else:
            over = np.log(np.hypot(1.0, least)) if least < np.inf else np.log(gstar) - np.log(perp)
        ratio = np.divide(1.0 + kept**2, 2.0 * (over + np.log(q0)))
    return float(ratio) if 0.0 < ratio < np.inf else None
