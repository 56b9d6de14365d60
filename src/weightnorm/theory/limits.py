"""Where the flows end, exactly (Theorem 2.6 and what it should say)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from ..problems.coordinates.reduction import NEGLIGIBLE
from ..problems.kernel.expansion import Expanded
from ._sign import decide, limit_sign
from .scalar_limits import limit_perp
from .setup import Setup, require_target, set_up, set_up_convex
from .statement import Assumption, Statement, assume

VAGUE = 0.01  # of the norm at the end, not known, is worth a warning
UNSEEN = 1e-15  # what rounding may leave of a unit direction off the row space
ROUNDING_DECIDES = (
    "the start lies in the row space of A, to rounding, and training from this scale at this ratio "
    "of the steps makes what rounding leaves off it large: ‖x⊥‖ may end anywhere between 0 and "
    "{:.3g}. Reduced coordinates keep it at 0; full ones, and other software, need not. Start from "
    "a smaller |scale| or with a larger ratio, or give the direction a part off the row space"
)
SIGN_BY_ROUNDING = (
    "the start lies in the row space of A, to rounding, and the data opposes its scale: with what "
    "rounding leaves off the row space the scale may keep its sign, without it the scale changes "
    "it. So the scale and the direction may both end with the other sign; the weights hardly "
    "depend on it. Start from a smaller |scale| or with a larger ratio"
)
GOOD = 0.01  # the first term of the series may be so large for the printed limit to be good to 1 %


@dataclass(frozen=True, eq=False)
class Limit(Expanded, Statement):
    """The point where a flow, or a method with small steps, ends.

    Here x* is the minimum-norm solution of least squares (the minimiser in the row space, for
    another convex loss), and ⊥ marks the part of a vector orthogonal to the row space of A, which
    the data cannot see.

    Attributes
    ----------
    weights : (d,) array
        The weights x∞ at the end.
    scale : float
        The scale g∞ at the end; it may be negative.
    norm : float
        ‖x∞‖.
    perp_norm : float
        ‖x∞⊥‖.
    distance : float
        ‖x∞ − x*‖.
    dual_coef, start_share
        On `KernelLeastSquares` alone: α and s of x∞ = Aᵀα + s·w0; see `Expansion`.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> limit = wn.theory.gd_limit(problem, scale=2.0, direction=[0.0, 1.0])
    >>> limit.weights.tolist(), limit.distance
    ([1.0, 2.0], 2.0)
    """

    weights: Vector
    scale: float
    norm: float
    perp_norm: float
    distance: float
    _expand: Any = field(default=None, kw_only=True, repr=False)


def _flow_assumptions(setup: Setup, c: float) -> tuple[Assumption, ...]:
    return (assume("c > 0", c > 0), assume("y ≠ 0", setup.gstar > 0))


def flow_limit(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float = 1.0,
    *,
    iterative: bool = False,
    start_values: Any = None,
) -> Limit:
    """Predict where the WN flow ends, without integrating it.

    The WN flow is what weight normalization and rPGD become for infinitely small steps. It ends at
    x* + g∞ exp((g0² − g∞²)/2c) w0⊥, with x* the minimum-norm solution, w0⊥ the part of the unit
    start direction orthogonal to the row space of A, and g∞ the final scale, found as the root of a
    scalar equation (`limit_scale`).

    The same holds for every convex loss of A x that has a unique minimiser in the row space of A,
    which then takes the place of x*: gradients lie in the row space, so what is off it is moved by
    the normalisation alone. The minimiser is found by Newton's method, without training.

    Theorem 2.6, part I, prints g* in place of g∞ (`flow_limit_as_printed`): the first term of a
    series, good for |g0| well under g* and c well under g*², and far off above. The sign of g∞ has
    a closed form except for m ≥ 2 samples with F0 ≤ 1 (F0 = ‖w0⊥‖² e^{g0²/c}) and a start no better
    than x = 0; there a private integration runs until the loss is under ½‖y‖², which settles it.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y, with a y that is not zero in A's reach. Separable classes have no
        minimum: see `max_margin`.
    scale : float
        g0, the scale of the start; it may be zero or negative.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    ratio : float
        c, the scale's step over the direction's; greater than 0.
    iterative : bool
        For least squares with an A too large to factorise (a LinearOperator, a Dask array chunked
        both ways): find x* and w0⊥ by LSQR alone, see `IterativeLimit`.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Limit
        The weights at the end, their scale, norm and distance to x*. `.applies` is False where the
        start flows into a rest point that is not a solution.

    Raises
    ------
    ValueError
        If y is zero or wholly out of A's reach: then x* = 0 and the theory does not apply. If a
        loss other than least squares has no unique minimum.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> limit = wn.theory.flow_limit(problem, scale=1.0, direction=w0, ratio=0.1)
    >>> round(limit.norm, 6), limit.applies
    (3.0, True)
    >>> counts = wn.GeneralizedLinear([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1, 3], loss="poisson")
    >>> limit = wn.theory.flow_limit(counts, scale=1.0, direction=[1.0, 0.0, 1.0], ratio=1.0)
    >>> limit.weights.round(4).tolist()
    [0.0, 1.0986, 0.6576]
    """
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    if iterative:
        from .iterative import flow_limit_by_iteration

        given = problem.start_direction(direction, start_values)
        return flow_limit_by_iteration(problem, scale, given, c)
    setup = set_up_convex(problem, scale, direction, start_values)
    require_target(setup)
    sign, settled = limit_sign(setup, c)
    perp = float(limit_perp(setup.g0, setup.gstar, setup.q0, c))
    norm = float(np.hypot(setup.gstar, perp))
    warn_of_doubt(setup, c, norm)
    return Limit(
        weights=setup.lift(setup.target, sign * perp),
        scale=sign * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        assumptions=(*_flow_assumptions(setup, c), settled),
        paper=("Theorem 2.6, part I (exact form)" if setup.loss_at is None else "beyond the paper"),
        _expand=setup.expand,
    )


def warn_of_doubt(setup: Setup, c: float, norm: float, stack: int = 3) -> Assumption:
    """Warn where the end hinges on a part of the start that is known too little of; and the
    assumption that it does not.
    """
    # what is under NEGLIGIBLE is taken for nothing, so that nothing may be as much
    least = UNSEEN if setup.q0 > 0.0 else NEGLIGIBLE
    rounding = least * (2.0 * setup.q0 + least) if setup.free else 0.0
    error = setup.unseen_error + rounding
    squares = setup.q0**2 + error * np.array([-1.0, 1.0])
    ends = limit_perp(setup.g0, setup.gstar, np.sqrt(np.clip(squares, 0.0, 1.0)), c)
    clear = bool(ends[1] - ends[0] <= VAGUE * norm)
    if not clear:
        text = (
            "the end hinges on what the data cannot see of the start, whose square "
            f"{setup.q0**2:.2g} is known to ±{error:.2g} only: ‖x⊥‖ is between "
            f"{ends[0]:.3g} and {ends[1]:.3g}"
        )
        if setup.q0 <= UNSEEN and not setup.unseen_error:
            text = ROUNDING_DECIDES.format(float(ends[1]))
        warnings.warn(text, RuntimeWarning, stacklevel=stack)
    elif sign_by_rounding(setup, c):
        clear = False
        warnings.warn(SIGN_BY_ROUNDING, RuntimeWarning, stacklevel=stack)
    return assume("rounding of the start's part off the row space does not decide the end", clear)


def sign_by_rounding(setup: Setup, c: float) -> bool:
    """Whether the sign of g∞ hinges on what rounding may leave of a start off the row space: it
    counts once it has grown by e^{g0²/2c}.
    """
    if not setup.free or setup.q0 > NEGLIGIBLE or setup.g0 * setup.pull >= 0.0:
        return False
    with np.errstate(over="ignore"):
        if setup.g0 * (setup.g0 / c) <= -2.0 * np.log(NEGLIGIBLE):
            return False
    signs = [decide(replace(setup, q0=q0), c)[0] for q0 in (0.0, NEGLIGIBLE)]
    return signs[0] != signs[1]


def flow_limit_as_printed(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float = 1.0,
    *,
    start_values: Any = None,
) -> Limit:
    """The end of the WN flow by the paper's printed formula, the first term of the exact one.

    Theorem 2.6, part I, prints x* + g* exp((g0² − g*²)/2c) w0⊥, with g* = ‖x*‖ where the final
    scale g∞ should stand; `flow_limit` is the exact form. The two agree where q*² max(1, g*²/c) is
    small, with q*² = ‖w0⊥‖² e^{(g0² − g*²)/c}: for |g0| well under g* and c well under g*², or a
    small w0⊥. `.applies` says so for a hundredth, where ‖x⊥‖ is good to a percent.

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
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Limit
        The end as printed; its norms are infinite where the printed exponential overflows.
        `.applies` says whether it is good to a percent of ‖x⊥‖.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.theory.flow_limit_as_printed(problem, scale=4.0, direction=w0).norm > 50
    True
    """
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = (setup.g0 - setup.gstar) * ((setup.g0 + setup.gstar) / (2 * c))
        perp = float(setup.gstar * setup.q0 * np.exp(exponent)) if setup.q0 > 0 else 0.0
        norm = float(np.hypot(setup.gstar, perp))
        weights, seen = setup.lift(setup.target, perp), setup.lift(setup.target, 0.0)
        first_term = (perp / setup.gstar) * max(perp / setup.gstar, perp / c * setup.gstar)
    sign, settled = limit_sign(setup, c)
    good = (
        assume("q*²·max(1, g*²/c) ≤ 0.01", first_term <= GOOD),
        assume("the scale ends positive", sign > 0),
        settled,
    )
    return Limit(
        # an infinite part has none along a zero axis
        weights=np.where(np.isnan(weights), seen, weights),
        scale=norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        assumptions=(*_flow_assumptions(setup, c), *good),
        paper="Theorem 2.6, part I (as printed)",
        _expand=setup.expand,
    )


def gd_limit(
    problem: Any, scale: float, direction: Any = None, *, start_values: Any = None
) -> Limit:
    """Predict where gradient descent and the gradient flow end: at x* + g0 w0⊥.

    They keep the part g0 w0⊥ of the start that no row of A sees, and the rest becomes the
    minimum-norm solution x*, or the minimiser of another convex loss in the row space. The paper
    prints g* w0⊥, with g* = ‖x*‖, for g0 w0⊥.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y.
    scale : float
        g0, the norm of the start x0 = g0 w0, with a sign.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Limit
        The weights at the end, their norm and their distance to x*; `.scale` is the norm.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.theory.gd_limit(problem, scale=0.0, direction=w0).distance
    0.0
    """
    setup = set_up_convex(problem, scale, direction, start_values)
    perp = setup.g0 * setup.q0
    norm = float(np.hypot(setup.gstar, perp))
    return Limit(
        weights=setup.lift(setup.target, perp),
        scale=norm,
        norm=norm,
        perp_norm=abs(perp),
        distance=abs(perp),
        paper="after Theorem 2.6",
        _expand=setup.expand,
    )
