"""The norms at which rPGD can settle, from its steps alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..schedules import stable_below
from ._rank_one import HALVINGS, is_below
from ._solution import Solved, solved
from .refuse import momentum_of
from .stability import largest_scale_step

Array = NDArray[np.float64]
LARGEST = 1e3  # times the given steps: no larger ones are looked for


def norm_bracket(
    problem: Any,
    direction_step: Any,
    scale_step: Any,
    momentum: float = 0.0,
    nesterov: bool = False,
) -> tuple[Any, Any] | None:
    """The interval of norms ‖x‖ at which rPGD with constant steps can settle; None if it is empty.

    The largest eigenvalue of K (see `stability`) depends on a solution through its norm alone, and
    is convex in ‖x‖². So the norms of stable solutions form one interval, and every run from almost
    every start that converges ends in it. If it is empty no run converges. It is necessary, not
    sufficient: a run may also never arrive. Weight normalization obeys the lower end only: its ‖w‖
    grows until the direction's step is stable.

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
    eta, gamma = _validate.broadcast(direction_step=direction_step, scale_step=scale_step)
    for name, values in (("direction_step", eta), ("scale_step", gamma)):
        if not (values >= 0).all():
            raise ValueError(f"{name} must be at least 0, got {values.min():g}")
    at, shape = solved(problem), eta.shape
    low, high = _bracket(at, eta.ravel(), gamma.ravel(), stable_below(beta, ahead))
    if shape:
        return np.sqrt(low).reshape(shape), np.sqrt(high).reshape(shape)
    return None if np.isnan(low[0]) else (float(np.sqrt(low[0])), float(np.sqrt(high[0])))


def stable_share(problem: Any, eta: float, gamma: float, top: float) -> float:
    """The largest number by which both steps may be multiplied for the bracket not to be empty."""
    at = solved(problem)
    low, high = 0.0, 1.0
    while high < LARGEST and not np.isnan(
        _bracket(at, *_both(high * eta, high * gamma), top)[0][0]
    ):
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.isnan(_bracket(at, *_both(middle * eta, middle * gamma), top)[0][0]):
            high = middle
        else:
            low = middle
    return low


def _both(eta: float, gamma: float) -> tuple[Array, Array]:
    return np.array([eta]), np.array([gamma])


def _bracket(at: Solved, eta: Array, gamma: Array, top: float) -> tuple[Array, Array]:
    """The ends in ‖x‖², NaN where there is none.

    The largest stable scale step is a function of ‖x‖² whose level sets are intervals: halve its
    slope's sign for its top, then look for γ on both sides of it.
    """
    first = np.full(eta.shape, at.gstar**2)
    if not at.free:  # x* is the only solution
        fits = largest_scale_step(at, first, eta, np.ones_like(eta), top) >= gamma
        return np.where(fits, first, np.nan), np.where(fits, first, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        # ‖x‖²ηλ_i − ηb_i² is a diagonal entry of K's first part
        last = (top / (eta[:, None] * at.lam) + at.target**2).min(axis=-1)
        last = np.where(np.isfinite(last), np.maximum(last, first), np.inf)
    far = np.where(
        np.isfinite(last), last, np.maximum(first, gamma * float(at.pull @ at.pull) / top)
    )
    left, right = first, far
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        rising = _rises(at, middle, eta, top)
        left, right = np.where(rising, middle, left), np.where(rising, right, middle)
    best = _better(at, eta, top, first, left)

    def fits_at(square: Array) -> NDArray[np.bool_]:
        return largest_scale_step(at, square, eta, np.ones_like(eta), top) >= gamma

    low = _edge(fits_at, best, first)
    high = np.where(np.isinf(last), np.inf, _edge(fits_at, best, far))
    # without a step of w any norm from the lowest on will do
    found = fits_at(np.where(np.isinf(last), far, best)) & is_below(
        eta[:, None] * first[:, None] * at.lam, -eta, at.pull**2, top
    )
    return np.where(found, low, np.nan), np.where(found, high, np.nan)


def _better(at: Solved, eta: Array, top: float, one: Array, other: Array) -> Array:
    """Of two squared norms the one that allows the larger scale step."""
    steps = [largest_scale_step(at, each, eta, np.ones_like(eta), top) for each in (one, other)]
    return np.where(steps[0] > steps[1], one, other)


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
    outside = np.where(np.isfinite(outside), outside, inside)
    whole = fits(outside)
    good, bad = inside, outside
    for _ in range(HALVINGS):
        middle = 0.5 * (good + bad)
        fine = fits(middle)
        good, bad = np.where(fine, middle, good), np.where(fine, bad, middle)
    return np.where(whole, outside, good)
