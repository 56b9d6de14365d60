"""How fast the loss falls along the flow (Lemma 2.4; Appendix C)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm.problems import LeastSquares
from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Bounds, Value, unit_norm


@formula
def loss_rate_bounds(problem: Any, g: float, w: Any, ratio: float) -> Bounds:
    """Bounds on how fast the loss falls along the WN flow.

    −max(g², c)‖Aᵀr‖² ≤ d(½‖r‖²)/dt ≤ −min(g², c)‖Aᵀr‖² with r = A g w − y, for a unit w and any
    sign of g (Lemma 2.4).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    g : float
        The scale.
    w : (d,) array
        The direction, of norm 1; it is used as given, not normalised.
    ratio : float
        c, the scale's step over the direction's; not negative.

    Returns
    -------
    Bounds
        On the derivative of the loss by time; both bounds are negative or zero.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> lemmas.loss_rate_bounds(problem, 2.0, [1.0, 0.0], ratio=1.0).upper
    -1.0
    """
    c = validate.real("ratio", ratio, minimum=0.0)
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    validate.squarable("g", g)
    w = validate.vector("w", w, problem.shape[1])
    pull = problem.gradient(g * w)
    square = float(pull @ pull)
    bounds = -max(g * g, c) * square, -min(g * g, c) * square
    return Bounds(*bounds, assumptions=(unit_norm(w),), paper="Lemma 2.4")


@formula
def loss_rate(problem: Any, g: float, w: Any, ratio: float) -> Value:
    """How fast the loss falls along the WN flow, exactly.

    d(½‖r‖²)/dt = −c s² − g²‖PAᵀr‖² with r = A g w − y, s = ⟨w, Aᵀr⟩ and P = I − wwᵀ. The proof of
    the restart in Appendix C.4.3 has the first term alone, and without c.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    g : float
        The scale.
    w : (d,) array
        The direction, of norm 1; it is used as given, not normalised.
    ratio : float
        c, the scale's step over the direction's; not negative.

    Returns
    -------
    Value
        `.value` has the keys "exact", the derivative of the loss by time, and "printed", −s².

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.0])
    >>> lemmas.loss_rate(problem, 1.0, [0.0, 1.0, 0.0], ratio=1.0).value
    {'exact': -2.0, 'printed': -1.0}
    """
    c = validate.real("ratio", ratio, minimum=0.0)
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    w = validate.vector("w", w, problem.shape[1])
    pull = problem.gradient(g * w)
    s = float(w @ pull)
    across = pull - s * w
    value = {"exact": -c * s**2 - g**2 * float(across @ across), "printed": -(s**2)}
    return Value(value, assumptions=(unit_norm(w),), paper="Appendix C.4.3")


@formula
def loss_envelope(time: Any, scale_bound: float, ratio: float, smallest: float) -> Any:
    """A bound on the loss of the WN flow at time t, as a share of the loss at the start.

    ‖r_t‖²/‖r_0‖² ≤ exp(−2kt) with k = λmin·min(C², c), while |g| ≥ C. Lemma 2.4 prints the rate
    without λmin; Appendix C.2 has it, without the 2.

    Parameters
    ----------
    time : float or array
        t, the time along the flow.
    scale_bound : float
        C, a lower bound of |g| until then.
    ratio : float
        c, the scale's step over the direction's.
    smallest : float
        λmin, the smallest eigenvalue of AAᵀ.

    Returns
    -------
    float or array
        The bound at each time.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import loss_envelope
    >>> float(loss_envelope(0.0, 1.0, 1.0, 0.5))
    1.0
    """
    rate = smallest * min(scale_bound**2, ratio)
    return np.exp(-2.0 * rate * validate.numbers("time", time))
