"""The flow's right-hand side, its rest points and its invariant (Lemmas 2.2, 2.3, 2.5; Appendix
D).
"""

from __future__ import annotations

from typing import Any

from .._support import validate
from ..runs.history import invariant as kept_by_the_flow
from ._sign import limit_sign
from .formula import formula
from .setup import require_target, set_up
from .statement import Value, assume


def require_positive(name: str, values: Any) -> None:
    """Refuse an array with an entry that is not greater than 0."""
    if not (values > 0).all():
        raise ValueError(f"{name} must be greater than 0, got {values.min():g}")


@formula
def invariant(perp_norm: Any, g: Any, ratio: Any) -> Any:
    """Compute the invariant of the WN flow, log ‖w⊥‖ + g²/2c, for a unit direction w.

    The flow keeps it, and with it ‖w⊥‖² exp(g²/c), the exponential of twice this number (the second
    display of the paper's Lemma 2.5 prints exp(g²/2c)). `Trajectory.invariant` and
    `History.invariant` are this number.

    Parameters
    ----------
    perp_norm : float or array
        ‖w⊥‖, the norm of the part of the unit direction that no row of A sees, at least 0.
    g : float or array
        The scale.
    ratio : float or array
        c > 0, the scale's rate over the direction's.

    Returns
    -------
    float or array
        −inf where ‖w⊥‖ is 0.

    Examples
    --------
    >>> from weightnorm.theory import invariant
    >>> round(float(invariant(0.5, 2.0, 1.0)), 6)
    1.306853
    """
    perp, scale, c = validate.broadcast(perp_norm=perp_norm, g=g, ratio=ratio)
    require_positive("ratio", c)
    if (perp < 0).any():
        raise ValueError(f"perp_norm must not be negative, got {perp.min():g}")
    return kept_by_the_flow(perp, scale, c)[()]


@formula
def flow_outcome(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float | None = None,
    *,
    start_values: Any = None,
) -> Value:
    """The loss at which the WN flow ends: zero, or that of a rest point which is not a solution.

    Theorem 2.6 (a), (b): with c > 0 the loss goes to zero, or the flow ends in the set S = {g = 0,
    yᵀAw = 0}, where it is ½‖y‖². With c = 0, a fixed scale, neither need happen: for orthogonal A
    (AAᵀ = I) and w0⊥ ≠ 0 the loss ends at ½((g* − |g0|)₊)², with g* the norm of the minimum-norm
    solution. For one sample the starts that end in S are known exactly (F0 = ‖w0⊥‖² e^{g0²/c} = 1
    and g0·w0ᵀx* < 0); `.applies` is False there, because rounding decides in practice.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    ratio : float
        c, the scale's step over the direction's; not negative. The theorem is for c > 0.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Value
        `.value` is the loss at the end, a number.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> round(wn.theory.flow_outcome(problem, 1.0, w0, ratio=0.0).value, 12)
    2.0
    """
    from .fixed_scale import fixed_scale_limit

    c = validate.real("ratio", validate.given("ratio", ratio), minimum=0.0)
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    if c > 0:
        settled = limit_sign(setup, c)[1]
        loss = 0.0 if settled.holds else setup.zero_loss
    elif setup.g0 == 0.0:
        loss = setup.zero_loss
    else:
        r = (
            problem.A
            @ fixed_scale_limit(problem, scale, direction, start_values=start_values).weights
            - problem.y
        )
        loss = 0.5 * float(r @ r)
    conditions = (assume("c > 0", c > 0), *((settled,) if c > 0 else ()))
    return Value(loss, assumptions=conditions, paper="Theorem 2.6 (a), (b)")
