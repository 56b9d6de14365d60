"""Weight decay: on the scale it is ridge; on the direction it leads to the edge of stability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from ..problems import require_least_squares
from .formula import formula
from .limits import Limit
from .stability import stability
from .statement import Statement, assume


@dataclass(frozen=True, eq=False)
class DecayLimit(Limit):
    """Where training with decay of the scale ends, and how fast it forgets its start.

    Attributes
    ----------
    perp_rate : float
        The rate at which ‖w⊥‖ dies at the end, per unit of the flow's time: μ‖x‖².
    gd_perp_rate : float
        That of gradient descent with the same decay, μ.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[2.0, 0.0]], [2.0])
    >>> end = wn.theory.weight_decay_limit(problem, decay=1.0)
    >>> end.weights.tolist(), round(end.perp_rate, 6), end.gd_perp_rate
    ([0.8, 0.0], 0.64, 1.0)
    """

    perp_rate: float
    gd_perp_rate: float


@formula
def weight_decay_limit(problem: Any, decay: float) -> DecayLimit:
    """Predict where WN and rPGD with decay of the scale end: at ridge, from every start.

    The penalty ½μg² on the scale is ½μ‖x‖² in the weights, so the flow ends at (AᵀA + μI)⁻¹Aᵀy,
    unless it ends in S = {g = 0, yᵀAw = 0}; along it log‖w⊥‖ + g²/2c + μ∫g² is constant, so ‖w⊥‖
    dies like e^{−μ‖x‖²t}. With steps η and γ that is the rest point as well (`scale_decay=μ`).
    Decay of the direction has no part in it: it pulls the weights nowhere (see `edge_time`).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    decay : float
        μ, the decay of the scale; greater than 0.

    Returns
    -------
    DecayLimit
        The ridge solution; `.scale` is its norm, and −norm is possible as well.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> end = wn.theory.weight_decay_limit(problem, decay=0.1)
    >>> run = wn.run(wn.RPGD(0.1, 0.1, scale_decay=0.1), problem, 2.8, w0, max_steps=10_000)
    >>> bool(abs(run.weights - end.weights).max() < 1e-9)
    True
    """
    problem = require_least_squares(problem)
    mu = validate.real("decay", decay, minimum=0.0, strict=True)
    lam, target = problem.factorisation.singular_values**2, problem.target
    inside = lam / (lam + mu) * target
    norm = float(np.linalg.norm(inside))
    return DecayLimit(
        weights=problem.factorisation.lift(inside),
        scale=norm,
        norm=norm,
        perp_norm=0.0,
        distance=float(np.linalg.norm(mu / (lam + mu) * target)),
        perp_rate=mu * norm**2,
        gd_perp_rate=mu,
        assumptions=(assume("y ≠ 0 in A's reach", norm > 0),),
        paper="beyond the paper",
        _expand=problem.dual_expansion(np.zeros(problem.dimension)),
    )


@dataclass(frozen=True)
class EdgeTime(Statement):
    """When weight normalization with decay of the direction reaches the edge of stability.

    Attributes
    ----------
    steps : float
        Steps until ‖w‖ is so small that the solution is no longer stable; 0 if it is already.
    direction_norm : float
        ‖w‖ there, where λmax(K) = 2.
    forgetting : float
        The rate −log(1 − ηλ) at which log‖w⊥‖ + g²/2c‖w‖² falls per step from there on, c = γ/η:
        measured to a third, not proved. It is that of log‖w⊥‖ itself once x is close to x*, and
        far slower before where c‖w‖² is small.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> edge = wn.theory.edge_time(problem, 0.1, 0.1, decay=0.01, norm=3.2)
    >>> round(edge.steps), round(edge.direction_norm, 3)
    (335, 0.716)
    """

    steps: float
    direction_norm: float
    forgetting: float


@formula
def edge_time(
    problem: Any,
    direction_step: float,
    scale_step: float,
    decay: float,
    norm: Any = None,
    direction_norm: float = 1.0,
) -> EdgeTime:
    """How long weight normalization with decay of the direction stays at a solution.

    Decay λ of w never pulls the weights: w ⟂ ∇_w. But ‖w‖² falls by (1 − ηλ)² a step, and the
    step of the direction is η/‖w‖² in effect. It grows until λmax(K) = 2 (see `stability`), after
    log(N0/N_edge)/(−2 log(1 − ηλ)) steps, N = ‖w‖². From there ‖w‖ stays about where it is, the
    loss comes in bursts, and log‖w⊥‖ + g²/2cN keeps losing about ηλ a step: the start is forgotten,
    at first slowly where cN is small, because g falls, too.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y.
    direction_step, scale_step : float
        η and γ, constant.
    decay : float
        λ, the decay of the direction; ηλ between 0 and 1.
    norm : float or Result, optional
        ‖x‖ of the solution, by default that of the minimum-norm solution; a result stands for its
        norm.
    direction_norm : float
        ‖w‖ at the beginning.

    Returns
    -------
    EdgeTime
        With `.steps`, `.direction_norm` and `.forgetting`.

    Examples
    --------
    Twice the decay takes half as long:

    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> slow, fast = (wn.theory.edge_time(problem, 0.1, 0.1, decay) for decay in (1e-4, 2e-4))
    >>> round(slow.steps / fast.steps, 3)
    2.0
    """
    eta = validate.real("direction_step", direction_step, minimum=0.0, strict=True)
    lost = eta * validate.real("decay", decay, minimum=0.0, strict=True)
    length = validate.real("direction_norm", direction_norm, minimum=0.0, strict=True)
    size = getattr(norm, "norm", norm)
    found = stability(problem, size, eta, scale_step, method="wn")
    largest = float(found.max_direction_step)  # at ‖w‖ = 1
    square = eta / largest if largest > 0 else math.inf
    rate = -math.log1p(-lost) if lost < 1 else math.nan
    ahead = math.log(length**2 / square) if 0 < square < math.inf else math.inf
    return EdgeTime(
        steps=max(0.0, ahead / (2.0 * rate)) if square < math.inf else 0.0,
        direction_norm=math.sqrt(square),
        forgetting=rate,
        assumptions=(
            *found.assumptions,
            assume("0 < ηλ < 1", 0 < lost < 1),
            assume("the scale's step is stable by itself", largest > 0),
        ),
        paper="beyond the paper",
    )
