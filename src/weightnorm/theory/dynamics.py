"""The flow's right-hand side, its rest points and its invariant (Lemmas 2.2, 2.3, 2.5; Appendix
D).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from ..problems import LeastSquares
from ..runs.history import invariant as kept_by_the_flow
from ._sign import limit_sign
from .formula import formula
from .setup import require_target, set_up
from .statement import Value, assume, unit_norm

REST = 1e-9


def _residual(problem: Any, g: float, w: Any) -> tuple[Any, Any]:
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    w = validate.vector("w", w, problem.shape[1])
    r = problem.A @ (g * w) - problem.y
    return w, np.asarray(problem.A.T @ r)


@formula
def flow_step_sizes(step: float, ratio: float) -> Value:
    """The steps of direction and scale that lead to the WN flow with ratio c: η and c·η.

    This is the paper's Condition 2.1: the direction w moves with the step η and the scale g with
    cη. The paper's sentence has the two swapped.

    Parameters
    ----------
    step : float
        η, the direction's step; not negative.
    ratio : float
        c, the scale's step over the direction's; not negative.

    Returns
    -------
    Value
        `.value` has the keys "direction_step" and "scale_step".

    Examples
    --------
    >>> from weightnorm.theory import flow_step_sizes
    >>> flow_step_sizes(0.01, ratio=3.0).value
    {'direction_step': 0.01, 'scale_step': 0.03}
    """
    eta = validate.real("step", step, minimum=0.0)
    c = validate.real("ratio", ratio, minimum=0.0)
    return Value(
        {"direction_step": eta, "scale_step": c * eta}, paper="Condition 2.1 (misprint: swapped)"
    )


@formula
def gradients(problem: Any, g: float, w: Any) -> Value:
    """The gradients of the least-squares loss f = ½‖A g w − y‖² by the direction w and the scale g.

    With the residual r = A g w − y they are ∇_w f = g Aᵀr and ∇_g f = wᵀAᵀr. Lemma 2.2 prints r = y
    − A g w, and ∇_w f without the factor g.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    g : float
        The scale.
    w : (d,) array
        The direction; it is used as given, not normalised.

    Returns
    -------
    Value
        `.value` has the keys "w", a (d,) array, and "g", a number.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> value = wn.theory.gradients(problem, 2.0, [1.0, 0.0]).value
    >>> {name: v.tolist() for name, v in value.items()}
    {'w': [2.0, 0.0], 'g': 1.0}
    """
    w, pull = _residual(problem, g, w)
    return Value({"w": g * pull, "g": w @ pull}, paper="Lemma 2.2 (misprint: sign and a factor g)")


@formula
def flow_field(problem: Any, g: float, w: Any, ratio: float) -> Value:
    """The velocity of the WN flow, the common small-step limit of weight normalization and rPGD.

    ġ = −c wᵀAᵀr and ẇ = −g (I − wwᵀ) Aᵀr for a unit direction w, with r = A g w − y: the limit of
    (g, w/‖w‖) for weight normalization and of (g, w) for rPGD (Lemma 2.2).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    g : float
        The scale.
    w : (d,) array
        The direction, of norm 1; it is used as given, not normalised.
    ratio : float
        c, the scale's step over the direction's.

    Returns
    -------
    Value
        `.value` has the keys "g", the number ġ, and "w", the (d,) array ẇ.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> wn.theory.flow_field(problem, 2.0, [0.0, 1.0], ratio=1.0).value["w"].tolist()
    [2.0, -0.0]
    """
    w, pull = _residual(problem, g, w)
    along = float(w @ pull)
    value = {"g": -ratio * along, "w": -g * (pull - along * w)}
    return Value(value, assumptions=(unit_norm(w),), paper="Lemma 2.2")


@formula
def stationary_point(problem: Any, g: float, w: Any) -> Value:
    """Classify a point (g, w) of the WN flow as a solution, a spurious rest point, or a moving one.

    By Lemma 2.3 a point where the flow rests is a solution, or lies in the set S = {g = 0, yᵀAw =
    0} of spurious rest points. On S the loss is ½‖y‖², so a point with a loss under that cannot be
    in S, nor flow into it.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with y ≠ 0.
    g : float
        The scale.
    w : (d,) array
        The direction, nonzero; it is normalised.

    Returns
    -------
    Value
        `.value` has the keys "kind", which is "solution", "spurious" (in S) or "moving"; "loss",
        the loss there; and "excluded_from_s", whether the loss is under ½‖y‖².

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> [wn.theory.stationary_point(problem, g, w).value["kind"] for g, w in
    ...  ((1.0, [1.0, 0.0]), (0.0, [0.0, 1.0]), (0.0, [1.0, 0.0]))]
    ['solution', 'spurious', 'moving']
    """
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    w = validate.direction("w", w, problem.shape[1])
    pull_y = np.asarray(problem.A.T @ problem.y)
    r = problem.A @ (g * w) - problem.y
    pull = np.asarray(problem.A.T @ r)
    loss, at_zero = 0.5 * float(r @ r), 0.5 * float(problem.y @ problem.y)
    if np.linalg.norm(pull) <= REST * np.linalg.norm(pull_y):
        kind = "solution"
    elif g == 0.0 and abs(float(w @ pull_y)) <= REST * np.linalg.norm(pull_y):
        kind = "spurious"
    else:
        kind = "moving"
    value = {
        "kind": kind,
        "loss": loss,
        "excluded_from_s": loss < at_zero,
    }
    return Value(value, assumptions=(assume("y ≠ 0", at_zero > 0),), paper="Lemma 2.3")


def _require_positive(name: str, values: Any) -> None:
    if not (values > 0).all():
        raise ValueError(f"{name} must be greater than 0, got {values.min():g}")


@formula
def perp_factor(g0: Any, g: Any, ratio: Any, norm: Any = 1.0) -> Any:
    """The factor by which the WN flow changes w⊥, the part of the direction no row of A sees.

    w_t⊥ = exp((g0² − g_t²)/(2 c ‖w0‖²)) w0⊥: it depends on the scales alone, and holds for any loss
    of Ax (Lemma 2.5; Theorem D.2, which is about the gradient flow and so has c = 1).

    Parameters
    ----------
    g0 : float or array
        Scale of the start.
    g : float or array
        g_t, the scale now.
    ratio : float or array
        c, the scale's step over the direction's; greater than 0.
    norm : float or array
        ‖w0‖, the norm of the start's direction; greater than 0. The four arguments broadcast.

    Returns
    -------
    float or array
        The factor, of the shape the arguments broadcast to; above 1 where w⊥ has grown.

    Examples
    --------
    >>> from weightnorm.theory import perp_factor
    >>> round(float(perp_factor(1.0, 3.0, ratio=2.0)), 6)
    0.135335
    """
    first, last, c, size = validate.broadcast(g0=g0, g=g, ratio=ratio, norm=norm)
    _require_positive("ratio", c)
    _require_positive("norm", size)
    return np.exp((first - last) / (2.0 * c) * (first + last) / size / size)


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
    _require_positive("ratio", c)
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
    """The loss at which the WN flow ends: zero, or that of a rest point which is no solution.

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
