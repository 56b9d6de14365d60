"""The flow's right-hand side, rest points and sphere (Lemmas 2.2, 2.3, 2.5; Section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm.problems import LeastSquares
from weightnorm.theory.dynamics import require_positive
from weightnorm.theory.fixed_scale import ridge_direction
from weightnorm.theory.formula import formula
from weightnorm.theory.setup import require_target, set_up
from weightnorm.theory.statement import Value, assume, unit_norm

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
    >>> from weightnorm_paper.lemmas import flow_step_sizes
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

    With the residual r = A g w − y they are ∇_w f = g Aᵀr and ∇_g f = wᵀAᵀr. Lemma 2.2 prints
    r = y − A g w, and ∇_w f without the factor g.

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
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> value = lemmas.gradients(problem, 2.0, [1.0, 0.0]).value
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
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> lemmas.flow_field(problem, 2.0, [0.0, 1.0], ratio=1.0).value["w"].tolist()
    [2.0, -0.0]
    """
    w, pull = _residual(problem, g, w)
    along = float(w @ pull)
    value = {"g": -ratio * along, "w": -g * (pull - along * w)}
    return Value(value, assumptions=(unit_norm(w),), paper="Lemma 2.2")


@formula
def stationary_point(problem: Any, g: float, w: Any) -> Value:
    """Classify a point (g, w) of the WN flow as a solution, a spurious rest point, or a moving one.

    By Lemma 2.3 a point where the flow rests is a solution, or lies in the set
    S = {g = 0, yᵀAw = 0} of spurious rest points. On S the loss is ½‖y‖², so a point with a loss
    under that cannot be in S, nor flow into it.

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
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> [lemmas.stationary_point(problem, g, w).value["kind"] for g, w in
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
    value = {"kind": kind, "loss": loss, "excluded_from_s": loss < at_zero}
    return Value(value, assumptions=(assume("y ≠ 0", at_zero > 0),), paper="Lemma 2.3")


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
    >>> from weightnorm_paper.lemmas import perp_factor
    >>> round(float(perp_factor(1.0, 3.0, ratio=2.0)), 6)
    0.135335
    """
    first, last, c, size = validate.broadcast(g0=g0, g=g, ratio=ratio, norm=norm)
    require_positive("ratio", c)
    require_positive("norm", size)
    return np.exp((first - last) / (2.0 * c) * (first + last) / size / size)


@formula
def sphere_ball(problem: Any, scale: float) -> Value:
    """Minimise ‖A g0 w − y‖² over the ball ‖w‖ ≤ 1, and compare with the sphere ‖w‖ = 1.

    For 0 < |g0| ≤ g* the ball's minimiser is unique and lies on the sphere, so the two problems are
    the same. For |g0| > g* the ball's smallest minimiser x*/g0 is inside: the minima agree (zero,
    for d > m) and the minimisers do not. The iterates of the two projections coincide as long as
    ‖v_t‖ ≥ 1, the premise of Section 3, whatever g0 is. x* is the minimum-norm solution, g* its
    norm.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0; not zero.

    Returns
    -------
    Value
        `.value` has the keys "minimiser", the smallest minimiser w over the ball, a (d,) array;
        "norm", its norm; and "value", the minimum, less what the part of y out of A's reach adds.
        `.applies` says whether the two problems are the same.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm_paper import lemmas
    >>> problem = wn.datasets.make_regression(condition_number=2.0, seed=0)
    >>> lemmas.sphere_ball(problem, 1.0).applies, lemmas.sphere_ball(problem, 4.0).applies
    (True, False)
    """
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    if validate.real("scale", scale) == 0.0:
        raise ValueError("scale is 0: then the loss does not depend on w")
    setup = set_up(problem, scale, np.ones(problem.shape[1]))  # the minima depend on no direction
    require_target(setup)
    small = abs(setup.g0) < setup.gstar
    inside = np.sign(setup.g0) * ridge_direction(setup) if small else setup.target / setup.g0
    error = setup.g0 * inside - setup.target
    value = {
        "minimiser": setup.lift(inside, 0.0),
        "norm": float(np.linalg.norm(inside)),
        "value": float((setup.lam * error) @ error),
    }
    return Value(
        value,
        assumptions=(assume("|g0| ≤ g*", abs(setup.g0) <= setup.gstar),),
        paper="Section 3, general A",
    )
