"""The WN flow against gradient descent: which ends closer, over all starts, and an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from .formula import formula, log, log1p
from .scalar_limits import limit_perp
from .statement import Statement, assume, part_of_unit


@dataclass(frozen=True)
class Comparison(Statement):
    """The WN flow against gradient descent from the same start.

    w∥ and w⊥ are the parts of the unit direction in the row space of A and orthogonal to it, g* is
    the norm of the minimum-norm solution x*, and c is the scale's step over the direction's.

    Attributes
    ----------
    direction_turns_in : bool
        Whether ‖w⊥‖ shrinks, that is |g∞| > |g0|: it does exactly when |g0|·‖w0∥‖ < g*.
    closer : bool
        Whether ‖x⊥‖, the distance to x*, ends smaller than gradient descent's: with
        D = g*² − g0²‖w0∥‖² it does exactly when c < c* for D > 0 and when c > c* for D < 0; D = 0
        is a tie.
    critical_ratio : float
        c* = D/log(1 + D/g0²), the ratio c at which the two end at the same distance; g0² at D = 0.
    threshold : float
        g*/‖w0∥‖, the start scale above which ‖w⊥‖ grows.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> from weightnorm.theory import wn_beats_gd
    >>> comparison = wn_beats_gd(g0=2.0, gstar=3.0, q0=0.6)
    >>> comparison.closer, comparison.threshold, round(comparison.critical_ratio, 4)
    (True, 3.75, 6.7129)
    """

    direction_turns_in: bool
    closer: bool
    threshold: float
    critical_ratio: float


@formula
def wn_beats_gd(g0: float, gstar: float, q0: float, ratio: float = 1.0) -> Comparison:
    """Decide whether the WN flow ends closer to x* than gradient descent does.

    The WN flow is the limit of weight normalization and rPGD for infinitely small steps. x* is the
    minimum-norm solution, and both start at the same weights. The paper's condition g0² ≤ g*² alone
    does not decide it; the ratio c against c* = D/log(1 + D/g0²), D = g*² − g0²‖w0∥‖², does.
    For D > 0 any c ≤ g0² is enough.

    Parameters
    ----------
    g0 : float
        Scale of the start.
    gstar : float
        g*, the norm of the minimum-norm solution x*; greater than 0.
    q0 : float
        Norm of the part of the unit start direction w0 orthogonal to the row space of A; in [0, 1].
    ratio : float
        c, the scale's step over the direction's; greater than 0.

    Returns
    -------
    Comparison
        With `.closer`, `.direction_turns_in`, `.threshold` and `.critical_ratio`.

    Examples
    --------
    >>> from weightnorm.theory import wn_beats_gd
    >>> [wn_beats_gd(g0, 3.0, 0.6**0.5, ratio=10.0).closer for g0 in (1.0, 2.6, 2.8, 4.7, 4.8)]
    [False, False, True, True, False]
    """
    parallel = float(np.sqrt(max(0.0, (1.0 - q0) * (1.0 + q0))))
    share = gstar / abs(g0) if g0 != 0 else np.inf
    excess = (share - parallel) * (share + parallel)  # D/g0²
    if excess < -0.5:  # 1 + D/g0² = share² + q0², of which 1 + excess would keep too little
        critical = g0**2 * excess / (2.0 * log(float(np.hypot(share, q0))))
    elif excess < 1e16:
        critical = g0**2 * (excess / log1p(excess) if excess != 0 else 1.0)
    else:  # D = g*² to rounding; g0 = 0 keeps nothing that could be kept less
        logarithm = log(share) if share < np.inf or g0 == 0 else log(gstar) - log(abs(g0))
        critical = gstar * (gstar / (2.0 * logarithm))
    inside = abs(g0) * parallel
    closer = ratio < critical if gstar > inside else ratio > critical
    return Comparison(
        direction_turns_in=inside < gstar,
        closer=closer and gstar != inside and q0 > 0,
        threshold=gstar / parallel if parallel > 0 else np.inf,
        critical_ratio=critical,
        assumptions=(
            assume("c > 0", ratio > 0),
            assume("w0⊥ ≠ 0", q0 > 0),
            part_of_unit("‖w0⊥‖", q0),
            assume("y ≠ 0", gstar > 0),
        ),
        paper="after Theorem 2.6 (exact form)",
    )


def distance_map(g0: Any, ratio: Any, gstar: float, q0: float) -> Array:
    """The distance ‖x∞ − x*‖ where the WN flow ends, over a grid of start scales and ratios.

    The WN flow is the limit of weight normalization and rPGD for infinitely small steps. It is the
    phase diagram of the WN flow: where the flow forgets its start, and where it does not.

    Parameters
    ----------
    g0 : (n,) array
        Scales of the start, one per row of the map.
    ratio : (k,) array
        c, the scale's step over the direction's, one per column; each greater than 0.
    gstar : float
        g*, the norm of the minimum-norm solution x*; greater than 0.
    q0 : float
        Norm of the part of the unit start direction w0 orthogonal to the row space of A; in [0, 1].

    Returns
    -------
    (n, k) array
        The distances; a single number for g0 or ratio counts as a vector of one.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.theory import distance_map
    >>> distance_map(np.linspace(0, 4, 5), [0.1, 1.0], gstar=3.0, q0=0.7).shape
    (5, 2)
    """
    rows, columns = (
        np.atleast_1d(validate.numbers("g0", g0)),
        np.atleast_1d(validate.numbers("ratio", ratio)),
    )
    if rows.ndim != 1 or columns.ndim != 1:
        raise ValueError(
            f"g0 and ratio must be vectors, got shapes {rows.shape} and {columns.shape}"
        )
    return limit_perp(
        rows[:, None], validate.real("gstar", gstar), validate.real("q0", q0), columns[None, :]
    )
