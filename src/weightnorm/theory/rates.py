"""How fast the loss falls along the WN flow (Lemma 2.4, Theorem 2.7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .formula import formula
from .setup import require_target, set_up
from .statement import Value, assume


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

    value = {"time": time(square) / 2, "printed": time(kept), "scale_bound": float(np.sqrt(square))}
    known = assume("F0 > 1, or the start is better than x = 0", square > 0)
    return Value(value, assumptions=(assume("λmin > 0", smallest > 0), known), paper="Theorem 2.7")
