"""Where rPGD with η = 1/g² on orthogonal A can fail to converge: its 2-cycle and its basin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .formula import formula
from .setup import ORTHOGONAL, require_target, set_up
from .statement import Statement, Value, assume, part_of_unit

AT_MOST_ONE = 1 + ORTHOGONAL  # λ times a step of 1/λ, to rounding


def turned(g0: Any, parallel: Any, gstar: float) -> Any:
    """‖Aw1‖ after the first step, in any unit."""
    outside = np.sqrt(np.maximum(0.0, (1.0 - parallel) * (1.0 + parallel)))
    return gstar / np.hypot(gstar, g0 * outside)


def flips(g0: Any, cosine: Any, parallel: Any, gstar: float, step: float) -> Any:
    """−1 where the scale changes sign in both of the first two steps, which leads into the cycle,
    0 where it becomes zero, 1 elsewhere; arrays broadcast.
    """
    first = (1.0 - step * parallel**2) * g0 + step * gstar * cosine
    parallel_after = turned(g0, parallel, gstar)
    pull = np.copysign(step * parallel_after * gstar, g0)
    second = (1.0 - step * parallel_after**2) * first + pull
    # g2 alone cannot change the sign: where g0·g1 > 0 both terms of g2 have that sign as well
    return np.sign(first) * np.sign(second)  # the product itself could underflow


@dataclass(frozen=True)
class TwoCycle(Statement):
    """Whether rPGD from a start ends in its 2-cycle, and what that cycle is.

    In it the scale flips between +scale and −scale at every step while the direction stays at the
    opposite of the solution's, and the loss stays above that of zero weights.

    Attributes
    ----------
    trapped : bool
        Whether this start ends in the cycle; otherwise, where `.applies`, at zero loss (less what
        the part of y out of A's reach adds).
    scale : float
        |g| in the cycle, γg*/(2 − γ).
    loss : float
        The loss in the cycle, ½(2g*/(2 − γ))².
    safe_step : float
        |g0|/(g* + |g0|): with a smaller scale step no direction leads into the cycle.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> cycle = wn.theory.two_cycle(problem, scale=1 / 3, direction=[-1.0, 0.0], scale_step=0.5)
    >>> cycle.trapped, round(cycle.scale, 6), round(cycle.loss, 6), round(cycle.safe_step, 6)
    (True, 0.333333, 0.888889, 0.25)
    """

    trapped: bool
    scale: float
    loss: float
    safe_step: float


@formula
def two_cycle_basin(g0: float, cosine: float, parallel: float, gstar: float, step: float) -> Value:
    """Whether rPGD with η = 1/g² ends in its 2-cycle; orthogonal A (AAᵀ = I), 0 < γ ≤ 1.

    It does exactly when the scale changes sign in both of the first two steps (for γ ≤ ½ the first
    is enough). As g0 → 0 these are half of all starts.

    Parameters
    ----------
    g0 : float
        Scale of the start; not zero.
    cosine : float
        ⟨w0, w*⟩ with w* the direction of the minimum-norm solution; in [−1, 1].
    parallel : float
        ‖Aw0‖, the norm of the part of the unit start direction in the row space of A; in [0, 1].
    gstar : float
        g*, the norm of the minimum-norm solution; greater than 0.
    step : float
        γ, the scale's step.

    Returns
    -------
    Value
        `.value` is True for a start that ends in the cycle.

    Examples
    --------
    >>> from weightnorm.theory import two_cycle_basin
    >>> [two_cycle_basin(g0, -0.6, 0.6, 1.0, step=0.1).value for g0 in (0.01, 0.1)]
    [True, False]
    """
    signs = float(flips(g0, cosine, parallel, gstar, step))
    conditions = (
        assume("g0 ≠ 0", g0 != 0),
        assume("0 < γ ≤ 1", 0 < step <= AT_MOST_ONE),
        part_of_unit("‖Aw0‖", parallel),
        assume("y ≠ 0", gstar > 0),
        assume("the scale does not become exactly zero", signs != 0),
    )
    return Value(signs < 0, assumptions=conditions, paper="after Theorem 3.2 (exact form)")


@formula
def two_cycle(
    problem: Any,
    scale: float,
    direction: Any = None,
    scale_step: float | None = None,
    *,
    start_values: Any = None,
) -> TwoCycle:
    """Predict whether rPGD with η = 1/(g²λmax) falls into its 2-cycle instead of converging.

    For A with AAᵀ = λI: (g, w) = ±(γg*/(2 − γ), −w*) is an attracting 2-cycle for 0 < γ < 1 (γ
    stands for λ times the scale's step), at a loss above that of x = 0. The paper says after
    Theorem 3.2 that rPGD reaches the global minimum from any g0 ≠ 0; for γ ≤ 1 it does from all
    other starts, always if the first step is frozen, and always for γ < |g0|/(g* + |g0|).

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with y ≠ 0 in A's reach.
    scale : float
        g0, the scale of the start; not zero.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    scale_step : float
        The scale's step, constant from the first step on.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    TwoCycle
        With `.trapped`, `.scale`, `.loss` and `.safe_step`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> cycle = wn.theory.two_cycle(problem, scale=0.01, direction=[-0.6, 0.8], scale_step=0.1)
    >>> run = wn.run(wn.RPGD(wn.schedules.curvature(), 0.1), problem, 0.01, [-0.6, 0.8],
    ...              tolerance=0, max_steps=1001)
    >>> cycle.trapped, round(cycle.loss, 5), round(run.loss, 5)
    (True, 0.55402, 0.55402)
    """
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    lam, gstar = float(setup.lam.max()), setup.gstar
    gamma = validate.real("scale_step", validate.given("scale_step", scale_step)) * lam
    cosine = float(setup.z0 @ setup.target) / gstar
    basin = two_cycle_basin(setup.g0, cosine, float(np.linalg.norm(setup.z0)), gstar, gamma)
    equal = assume("AAᵀ is a multiple of I", setup.lam.min() >= lam * (1.0 - ORTHOGONAL))
    share = abs(setup.g0) / (gstar + abs(setup.g0))
    return TwoCycle(
        trapped=bool(basin.value and basin.applies and equal.holds),
        scale=gamma * gstar / (2.0 - gamma),
        loss=0.5 * lam * (2.0 * gstar / (2.0 - gamma)) ** 2 + float(problem.floor),
        safe_step=share / lam,
        assumptions=(equal, *basin.assumptions),
        paper="after Theorem 3.2 (exact form)",
    )
