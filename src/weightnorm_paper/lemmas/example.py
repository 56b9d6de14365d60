"""The two-dimensional example of the paper (Section 2)."""

from __future__ import annotations

import numpy as np

from weightnorm.theory.formula import formula
from weightnorm.theory.scalar_limits import limit_perp
from weightnorm.theory.statement import Value, assume


@formula
def example_2d(g0: float, ratio: float = 1.0) -> Value:
    """The paper's two-dimensional example: A = [1, 0], y = 1 and the start direction w0 = [0, 1].

    The WN flow ends at [1, sign(g0)·√(G − 1)] with G = g∞² from `limit_square`; the paper prints
    [1, exp((g0² − 1)/2)], for c = 1. The gradient flow ends at [1, g0] (printed [1, 1]), so that
    the WN flow ends closer to the minimum-norm solution [1, 0] exactly for |g0| > 1/√(e^{1/c} − 1),
    0.763 at c = 1, and not for small g0. The loss on the set S = {g = 0, yᵀAw = 0} of rest points
    that are not solutions is ½ (printed 1).

    Parameters
    ----------
    g0 : float
        Scale of the start; not zero, because there the flow rests in S.
    ratio : float
        c, the scale's step over the direction's; greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "wn", "gd" and "printed", the ends of the WN flow, of the gradient
        flow and of the printed formula, each a (2,) array; "threshold", the |g0| above which the
        WN flow ends closer than the gradient flow; and "loss_on_s", ½.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import example_2d
    >>> value = example_2d(2.0).value
    >>> value["wn"].round(3).tolist(), value["printed"].round(2).tolist()
    ([1.0, 1.807], [1.0, 4.48])
    """
    printed = float(np.exp((g0 - 1.0) * ((g0 + 1.0) / (2.0 * ratio))))
    value = {
        "wn": np.array([1.0, np.sign(g0) * float(limit_perp(g0, 1.0, 1.0, ratio))]),
        "gd": np.array([1.0, g0]),
        "printed": np.array([1.0, printed]),
        "threshold": float(np.expm1(1.0 / ratio) ** -0.5),
        "loss_on_s": 0.5,
    }
    return Value(
        value, assumptions=(assume("g0 ≠ 0", g0 != 0),), paper="a concrete example, section 2"
    )
