"""The norms at which rPGD can settle, from its steps alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.momentum import stable_below
from .._support.numeric import LARGEST, Array
from ._rank_one import HALVINGS as FEWEST_HALVINGS
from ._rank_one import is_below
from ._solution import Solved, solved
from .refuse import momentum_of
from .stability import largest_scale_step

ROUNDING = 1e-13  # of γ: without a step of w the lowest norm is where it is exactly the largest
HALVINGS = FEWEST_HALVINGS + 12  # the first of them by orders of magnitude
FAR_APART = 4.0  # squares whose ratio is beyond this are halved in logarithms
TINIEST = 1e-40  # what steps are multiplied with at least, in search of stable ones
AT_ONCE, ROUNDS = 64, 5
FARTHEST = 1e290  # from 1, for steps in units of the problem


def norm_bracket(
    problem: Any,
    direction_step: Any,
    scale_step: Any,
    momentum: float = 0.0,
    nesterov: bool = False,
) -> tuple[Any, Any] | None:
    """The interval of norms ‖x‖ at which rPGD with constant steps can settle; None if it is empty.

    The largest eigenvalue of K (see `stability`) depends on a solution through its norm alone, and
    is convex in ‖x‖². So the norms of stable solutions form one interval. A run that comes to rest
    ends in it, from almost every start: that is measured over hundreds of runs, not proved, and a
    tolerance may stop a run before an instability shows. If it is empty none comes to rest. It is
    necessary, not sufficient: a run may also never arrive. Weight normalization obeys the lower end
    only: its ‖w‖ grows until the direction's step is stable.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y, with a y that is not zero in A's reach.
    direction_step : float or array
        η, the step of w, constant; not negative.
    scale_step : float or array
        γ, the step of g, constant; not negative. The two broadcast.
    momentum : float
        β in [0, 1), on both w and g.
    nesterov : bool
        Whether the momentum is Nesterov's.

    Returns
    -------
    tuple of float, or None
        The smallest and the largest norm; the largest is infinite where no step of w is too large.
        For arrays two arrays, NaN where the interval is empty.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)  # minimum norm 3
    >>> low, high = wn.theory.norm_bracket(problem, direction_step=0.1, scale_step=0.1)
    >>> round(low, 4), round(high, 4)
    (3.0, 4.4723)
    >>> wn.theory.norm_bracket(problem, direction_step=0.5, scale_step=0.1) is None
    True
    """
    beta, ahead = momentum_of(momentum, nesterov)
    eta, gamma = validate.broadcast(direction_step=direction_step, scale_step=scale_step)
    for name, values in (("direction_step", eta), ("scale_step", gamma)):
        if not (values >= 0).all():
            raise ValueError(f"{name} must be at least 0, got {values.min():g}")
    at, shape = solved(problem), eta.shape
    squares = _bracket(*_in_units(at, eta.ravel(), gamma.ravel()), stable_below(beta, ahead))
    with np.errstate(over="ignore"):  # a norm beyond every number is infinite
        low, high = (at.gstar * np.sqrt(each) for each in squares)
    if shape:
        return low.reshape(shape), high.reshape(shape)
    return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def stable_share(problem: Any, eta: float, gamma: float, top: float) -> float:
    """What both steps may be multiplied with at most for the bracket not to be empty, under 1.

    K is proportional to the steps, so every smaller number will do as well: look at many at once,
    three times closer each time.
    """
    at, one, other = _in_units(solved(problem), np.array([eta]), np.array([gamma]))
    low, high = TINIEST, 1.0
    for _ in range(ROUNDS):
        tried = np.geomspace(low, high, AT_ONCE)
        _, fits = _most_stable(at, tried * one, tried * other, top)
        last = int(np.flatnonzero(fits)[-1]) if fits.any() else 0
        low, high = float(tried[last]), float(tried[min(last + 1, AT_ONCE - 1)])
    return low


def _in_units(at: Solved, eta: Array, gamma: Array) -> tuple[Solved, Array, Array]:
    """A problem and its steps in units in which λmax = ‖x*‖ = 1, so that what follows neither
    over- nor underflows: ηλmax‖x*‖² and γλmax, K's scales at x*.
    """
    top, size = float(at.lam.max()), at.gstar
    felt = np.sqrt(top) * size
    with np.errstate(over="ignore"):
        turning, stretching = eta * felt * felt, gamma * top
    for name, given, wrong in (
        ("direction_step", eta, (eta > 0.0) & (turning < 1.0 / FARTHEST)),
        ("scale_step", gamma, stretching > FARTHEST),
    ):
        if wrong.any():
            raise ValueError(
                f"{name} is {given[wrong][0]:g}, so far from the steps that A and y ask for that "
                "the norms overflow; take 0 or another step, or rescale A and y"
            )
    unit = Solved(at.lam / top, at.target / size, at.free)
    return unit, np.minimum(turning, LARGEST), stretching


def _most_stable(
    at: Solved, eta: Array, gamma: Array, top: float
) -> tuple[Array, NDArray[np.bool_]]:
    """The ‖x‖² that allows the largest scale step, and whether γ is under that step.

    The largest stable scale step is a function of ‖x‖² whose level sets are intervals: halve by
    the sign of its slope.
    """
    first, last = _range(at, eta, gamma, top)
    left, right = first, last
    for _ in range(HALVINGS if at.free else 0):
        middle = _between(left, right)
        rising = _rises(at, middle, eta, top)
        left, right = np.where(rising, middle, left), np.where(rising, right, middle)
    ones = np.ones_like(eta)
    steps = [largest_scale_step(at, each, eta, ones, top) for each in (first, left)]
    best = np.where(steps[0] > steps[1], first, left)
    free = is_below(eta[:, None] * first[:, None] * at.lam, -eta, at.pull**2, top)
    return best, np.asarray(free & (np.maximum(*steps) >= gamma * (1.0 - ROUNDING)))


def _range(at: Solved, eta: Array, gamma: Array, top: float) -> tuple[Array, Array]:
    """The smallest ‖x‖², and one beyond which none is stable; without a step of w any is, from
    γ‖y‖²/top on.
    """
    first = np.full(eta.shape, at.gstar**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # ‖x‖²ηλ_i − ηb_i² is a diagonal entry of K's first part
        last = (top / (eta[:, None] * at.lam) + at.target**2).min(axis=-1)
    far = np.maximum(first, gamma * float(at.pull @ at.pull) / top)
    return first, np.where(np.isfinite(last), np.maximum(last, first), far)


def _bracket(at: Solved, eta: Array, gamma: Array, top: float) -> tuple[Array, Array]:
    """The ends in ‖x‖², NaN where there is none: look for γ on both sides of the best ‖x‖²."""
    first, last = _range(at, eta, gamma, top)
    best, found = _most_stable(at, eta, gamma, top)
    if not at.free:  # x* is the only solution
        return np.where(found, first, np.nan), np.where(found, first, np.nan)

    def fits(square: Array) -> NDArray[np.bool_]:
        largest = largest_scale_step(at, square, eta, np.ones_like(eta), top)
        return np.asarray(largest >= gamma * (1.0 - ROUNDING))

    high = np.where(eta > 0.0, _edge(fits, best, last), np.inf)
    return np.where(found, _edge(fits, best, first), np.nan), np.where(found, high, np.nan)


def _rises(at: Solved, square: Array, eta: Array, top: float) -> NDArray[np.bool_]:
    """Whether γ_max = G(1/Σ + η) grows with G = ‖x‖²: its derivative is 1/Σ + η − GΣ′/Σ²."""
    b2, steep = at.pull**2, eta[:, None] * at.lam
    gaps = top - steep * square[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        poles = np.where(b2 > 0.0, b2 / gaps, 0.0).sum(axis=-1)
        slopes = np.where(b2 > 0.0, b2 * steep / gaps**2, 0.0).sum(axis=-1)
        slope = 1.0 / poles + eta - square * slopes / poles**2
    free = is_below(steep * square[:, None], -eta, b2, top)
    return np.asarray(free & (slope > 0.0))


def _edge(fits: Any, inside: Array, outside: Array) -> Array:
    """The last squared norm from `inside` towards `outside` that fits."""
    good, bad = inside, outside
    for _ in range(HALVINGS):
        middle = _between(good, bad)
        fine = fits(middle)
        good, bad = np.where(fine, middle, good), np.where(fine, bad, middle)
    return np.where(fits(outside), outside, good)


def _between(one: Array, other: Array) -> Array:
    """Half-way between squares, in logarithms where they are far apart: a bracket may span many
    decades.
    """
    far = np.maximum(one, other) > FAR_APART * np.minimum(one, other)
    return np.where(far, np.sqrt(one) * np.sqrt(other), 0.5 * (one + other))
