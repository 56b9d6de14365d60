"""The flow's right-hand side, its rest points and its invariant (Lemmas 2.1, 2.2, 2.4; Appendix
D).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _validate
from ..problems import LeastSquares
from ._sign import limit_sign
from .formula import formula
from .setup import require_target, set_up
from .statement import Value, assume

REST = 1e-9


def _residual(problem: Any, g: float, w: Any) -> tuple[Any, Any]:
    _validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    w = _validate.vector("w", w, problem.shape[1])
    r = problem.A @ (g * w) - problem.y
    return w, np.asarray(problem.A.T @ r)


@formula
def flow_step_sizes(step: float, ratio: float) -> Value:
    """Condition 1: the direction w moves with η and the scale g with cη (the paper's sentence has
    them swapped).

    >>> from weightnorm.theory import flow_step_sizes
    >>> flow_step_sizes(0.01, ratio=3.0).value
    {'direction_step': 0.01, 'scale_step': 0.03}
    """
    eta = _validate.real("step", step, minimum=0.0)
    c = _validate.real("ratio", ratio, minimum=0.0)
    return Value(
        {"direction_step": eta, "scale_step": c * eta}, paper="Condition 1 (misprint: swapped)"
    )


@formula
def gradients(problem: Any, g: float, w: Any) -> Value:
    """∇_w f = g Aᵀr and ∇_g f = wᵀAᵀr of f = ½‖A g w − y‖², with r = A g w − y (Lemma 2.1 prints y
    − A g w, and no g).

    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> value = wn.theory.gradients(problem, 2.0, [1.0, 0.0]).value
    >>> {name: v.tolist() for name, v in value.items()}
    {'w': [2.0, 0.0], 'g': 1.0}
    """
    w, pull = _residual(problem, g, w)
    return Value({"w": g * pull, "g": w @ pull}, paper="Lemma 2.1 (misprint: sign and a factor g)")


@formula
def flow_field(problem: Any, g: float, w: Any, ratio: float) -> Value:
    """The WN flow ġ = −c wᵀAᵀr, ẇ = −g (I − wwᵀ) Aᵀr, for unit w: the limit of WN's (g, w/‖w‖) and
    of rPGD's (g, w).

    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> wn.theory.flow_field(problem, 2.0, [0.0, 1.0], ratio=1.0).value["w"].tolist()
    [2.0, -0.0]
    """
    w, pull = _residual(problem, g, w)
    along = float(w @ pull)
    unit = abs(np.linalg.norm(w) - 1.0) < 1e-9
    value = {"g": -ratio * along, "w": -g * (pull - along * w)}
    return Value(value, assumptions=(assume("‖w‖ = 1", unit),), paper="Lemma 2.1")


@formula
def stationary_point(problem: Any, g: float, w: Any) -> Value:
    """What kind of point (g, w) is: "solution", "spurious" (in S = {g = 0, yᵀAw = 0}) or "moving"
    (Lemma 2.2).

    On S the loss is ½‖y‖², so a loss under that excludes S.

    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> [wn.theory.stationary_point(problem, g, w).value["kind"] for g, w in
    ...  ((1.0, [1.0, 0.0]), (0.0, [0.0, 1.0]), (0.0, [1.0, 0.0]))]
    ['solution', 'spurious', 'moving']
    """
    _validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    w = _validate.direction("w", w, problem.shape[1])
    pull_y = np.asarray(problem.A.T @ problem.y)
    r = problem.A @ (g * w) - problem.y
    pull = np.asarray(problem.A.T @ r)
    loss, at_zero = 0.5 * float(r @ r), 0.5 * float(problem.y @ problem.y)
    if np.linalg.norm(pull) <= REST * (np.linalg.norm(pull_y) + np.linalg.norm(pull - (-pull_y))):
        kind = "solution"
    elif g == 0.0 and abs(float(w @ pull_y)) <= REST * np.linalg.norm(pull_y):
        kind = "spurious"
    else:
        kind = "moving"
    value = {
        "kind": kind,
        "loss": at_zero if kind == "spurious" else loss,
        "excluded_from_s": loss < at_zero,
    }
    return Value(value, assumptions=(assume("y ≠ 0", at_zero > 0),), paper="Lemma 2.2")


def _require_positive(name: str, values: Any) -> None:
    if not (values > 0).all():
        raise ValueError(f"{name} must be greater than 0, got {values.min():g}")


@formula
def perp_factor(g0: Any, g: Any, ratio: Any, norm: Any = 1.0) -> Any:
    """The invariant: w_t⊥ = exp((g0² − g_t²)/(2 c ‖w0‖²)) w0⊥, for any loss of Ax (Lemma 2.4;
    Appendix D without its misprint).

    >>> from weightnorm.theory import perp_factor
    >>> round(float(perp_factor(1.0, 3.0, ratio=2.0)), 6)
    0.135335
    """
    first, last, c, size = _validate.broadcast(g0=g0, g=g, ratio=ratio, norm=norm)
    _require_positive("ratio", c)
    _require_positive("norm", size)
    return np.exp((first - last) / (2.0 * c) * (first + last) / size / size)


@formula
def invariant(perp_norm: Any, g: Any, ratio: Any) -> Any:
    """‖w⊥‖² exp(g²/c), which the WN flow keeps (the second display of Lemma 2.4 prints exp(g²/2c)).

    >>> from weightnorm.theory import invariant
    >>> float(invariant(0.5, 0.0, 1.0))
    0.25
    """
    perp, scale, c = _validate.broadcast(perp_norm=perp_norm, g=g, ratio=ratio)
    _require_positive("ratio", c)
    return np.where(perp == 0.0, 0.0, np.square(perp) * np.exp(np.square(scale) / c))[()]


@formula
def flow_outcome(problem: Any, scale: float, direction: Any, ratio: float) -> Value:
    """Theorem 2.5 (a)/(b): with c > 0 the loss goes to zero, or the flow ends in S.

    With c = 0 neither need happen: for orthogonal A and 0 < g0 < g* the loss ends at ½(g* − g0)².

    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> round(wn.theory.flow_outcome(problem, 1.0, w0, ratio=0.0).value, 12)
    2.0
    """
    from .fixed_scale import fixed_scale_limit

    c = _validate.real("ratio", ratio, minimum=0.0)
    setup = set_up(problem, scale, direction)
    require_target(setup)
    if c > 0:
        loss = setup.zero_loss if setup.g0 == 0.0 and setup.pull == 0.0 else 0.0
    elif setup.g0 == 0.0:
        loss = setup.zero_loss
    else:
        r = problem.A @ fixed_scale_limit(problem, scale, direction).weights - problem.y
        loss = 0.5 * float(r @ r)
    conditions = (assume("c > 0", c > 0), *((limit_sign(setup, c)[1],) if c > 0 else ()))
    return Value(loss, assumptions=conditions, paper="Theorem 2.5 (a), (b)")
