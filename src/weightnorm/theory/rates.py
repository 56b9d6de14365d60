"""How fast the loss falls along the WN flow (Lemma 2.4, Theorem 2.7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from ..problems import LeastSquares
from .formula import formula
from .setup import require_target, set_up
from .statement import Bounds, Value, assume, unit_norm


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
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> wn.theory.loss_rate_bounds(problem, 2.0, [1.0, 0.0], ratio=1.0).upper
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
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.0])
    >>> wn.theory.loss_rate(problem, 1.0, [0.0, 1.0, 0.0], ratio=1.0).value
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
    >>> from weightnorm.theory import loss_envelope
    >>> float(loss_envelope(0.0, 1.0, 1.0, 0.5))
    1.0
    """
    rate = smallest * min(scale_bound**2, ratio)
    return np.exp(-2.0 * rate * validate.numbers("time", time))


@formula
def convergence_time(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float | None = None,
    accuracy: float | None = None,
    *,
    start_values: Any = None,
) -> Value:
    """A time after which the loss of the WN flow is at most `accuracy`.

    It is log(f0/ε)/(2 λmin min(C², c)) with f0 the loss at the start, ε the accuracy, λmin and λmax
    the extreme eigenvalues of AAᵀ, and C² = max(c log F0, (‖y‖ − ‖r0‖)₊²/λmax) a lower bound of g².
    The first part of C² comes from the invariant (F0 = ‖w0⊥‖² e^{g0²/c}, w0⊥ the part of the unit
    start direction that no row of A sees), the second from a loss that never grows. This is Theorem
    2.7, halved and extended: the paper's T0 is twice as long, and only for F0 > 1.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    ratio : float
        c, the scale's step over the direction's; greater than 0.
    accuracy : float
        ε, the loss to reach, less what the part of y out of A's reach adds; greater than 0.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Value
        `.value` has the keys "time"; "printed", the paper's T0; and "scale_bound", C. The times are
        infinite where no bound is known.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> bound = wn.theory.convergence_time(problem, 3.0, w0, ratio=1.0, accuracy=1e-6)
    >>> bound.applies, bound.value["time"] < bound.value["printed"]
    (True, True)
    """
    c = validate.real("ratio", validate.given("ratio", ratio), minimum=0.0, strict=True)
    target = validate.given("accuracy", accuracy)
    target = validate.real("accuracy", target, minimum=0.0, strict=True)
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    with np.errstate(divide="ignore"):
        kept = 2.0 * c * np.log(setup.q0) + setup.g0**2  # c log F0
    reach = np.sqrt(2 * setup.zero_loss) - np.sqrt(2 * setup.start_loss)
    square = max(kept, max(reach, 0.0) ** 2 / float(setup.lam.max()), 0.0)
    smallest, needed = (
        float(setup.lam.min()),
        max(0.0, float(np.log(max(setup.start_loss, 1e-300) / target))),
    )

    def time(bound: float) -> float:
        return needed / (smallest * min(bound, c)) if bound > 0 else np.inf

    value = {
        "time": time(square) / 2,
        "printed": time(kept),
        "scale_bound": float(np.sqrt(square)),
    }
    known = assume("F0 > 1, or the start is better than x = 0", square > 0)
    return Value(value, assumptions=(assume("λmin > 0", smallest > 0), known), paper="Theorem 2.7")
