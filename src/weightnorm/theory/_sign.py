"""The sign of the WN flow's limiting scale: closed form where there is one, else a short private
integration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._support.numeric import Array
from ..problems.coordinates.factorisation import scaled_norm
from ._integrate import integrate_until
from .setup import ORTHOGONAL, Setup
from .statement import Assumption, assume

ROUNDING = 1e-14  # relative to its two terms, log F0 is known no better
FARTHER = 8  # doublings of the scale until its sign should be kept
CLOSE = 1e-6  # how well a critical scale is known, relatively
OF_DIRECTIONS = 1e-14  # how well the parts of a unit direction are known
TOO_NEAR = 1e-7  # to S for an integration: it would lose the digits that decide …
CLEARLY_LINEAR = 1e-4  # … so the flow linearised at S must, whose terms do not cancel beyond this
CLEARLY = 1 - 1e-9  # a loss under this share of that at x = 0 can never return to it


STUCK = "the start is not on the stable set of S"
UNDECIDED = "a short integration settles the sign of the scale"


def limit_sign(setup: Setup, c: float) -> tuple[float, Assumption]:
    """sign(g∞), and the assumption that the start does not flow into S."""
    sign, how = decide(setup, c)
    text = UNDECIDED if how == "undecided" else STUCK
    return sign, assume(text, how not in ("undecided", "stuck"))


def decide(setup: Setup, c: float) -> tuple[float, str]:
    """sign(g∞), and what decides it: "pull" from g0 = 0, "start" where the scale keeps its sign,
    "bracket" for y an eigenvector of AAᵀ, "integration", "linear" where a start is too near to S
    for one; "stuck" in S, and "undecided", also where rounding of the direction decides.
    """
    if setup.g0 == 0.0:
        steepest = scaled_norm(setup.slope(np.zeros_like(setup.target)))
        if abs(setup.pull) <= ROUNDING * steepest:
            return 1.0, "stuck"
        return float(np.sign(setup.pull)), "pull"
    own = float(np.sign(setup.g0))
    nearby = at_rest(setup, c)
    if nearby is not None and nearby.rounded:
        return nearby.sign or own, "undecided"
    with np.errstate(over="ignore"):  # a start in the row space has F0 = 0, however small c is
        log_f0 = setup.log_q0_square + setup.g0 * (setup.g0 / c) if setup.q0 > 0 else -np.inf
    aligned = setup.g0 * setup.pull > 0
    single = setup.target.size == 1  # m = 1
    if single and setup.q0 > 0 and not aligned:
        terms = abs(setup.log_q0_square) + setup.g0 * (setup.g0 / c)
        if abs(log_f0) <= ROUNDING * terms:  # F0 = 1
            return own, "stuck"
    if log_f0 > 0 or setup.starts_lower or (setup.orthogonal and aligned):
        return own, "start"
    if single or _under_the_bracket(setup, c):
        return float(np.sign(setup.pull)), "bracket"
    if nearby is not None and nearby.distance < TOO_NEAR:
        return nearby.sign, "linear" if nearby.clear > CLEARLY_LINEAR else "undecided"
    sign, done = _integrated_sign(setup, c)
    return sign, "integration" if done else "undecided"


@dataclass(frozen=True)
class Nearby:
    """A start near S = {g = 0, yᵀAŵ = 0}, by the flow linearised there.

    Attributes
    ----------
    distance : float
        From S: the largest of |g0|/g*, |g0|/√c and |yᵀAŵ0|/‖Aᵀy‖.
    sign : float
        That of μg0 + c·yᵀAŵ0.
    clear : float
        How much of the sizes of these two terms their sum has: 0 where they cancel.
    rounded : bool
        Whether the sum is no more than what rounding of the direction makes of it.
    """

    distance: float
    sign: float
    clear: float
    rounded: bool


def at_rest(setup: Setup, c: float) -> Nearby | None:
    """The flow of least squares linearised at S; None for other losses."""
    if setup.loss_at is not None:
        return None
    root = math.sqrt(c) / setup.gstar  # in units, as all else; both terms are without this factor
    setup, _ = setup.in_units(c)
    steep = float(np.linalg.norm(setup.lam * setup.target))  # ‖Aᵀy‖
    half = 0.5 * root * float(setup.lam @ setup.z0**2)  # of √c‖Aw0‖²
    mu = steep**2 / (half + math.hypot(half, steep))
    terms = mu * setup.g0, root * setup.pull
    sizes = abs(terms[0]) + abs(terms[1])
    turn = abs(setup.g0) / root if root > 0.0 else math.inf
    distance = max(abs(setup.g0), turn, abs(setup.pull) / steep)
    clear = abs(sum(terms)) / sizes if sizes > 0.0 else 0.0
    rounded = abs(sum(terms)) <= OF_DIRECTIONS * root * steep
    return Nearby(distance, float(np.sign(sum(terms))), clear, rounded)


def _under_the_bracket(setup: Setup, c: float) -> bool:
    """Whether y is an eigenvector of AAᵀ and log(1 − a²) + g²/c < 0, a = ⟨ŵ, w*⟩: that number
    never increases, and it is 0 on S and not negative at a = 0, so a keeps its sign and g ends
    with it.
    """
    if setup.loss_at is not None:
        return False
    felt = setup.lam[np.abs(setup.target) > ROUNDING * np.abs(setup.target).max()]
    if felt.max() - felt.min() > ORTHOGONAL * felt.max():
        return False
    cosine = float(setup.z0 @ setup.target) / setup.gstar
    with np.errstate(divide="ignore", over="ignore"):
        level = np.log1p(-min(cosine * cosine, 1.0)) + setup.g0 * (setup.g0 / c)
    return bool(level < -ROUNDING * setup.g0 * (setup.g0 / c))


def perp_square(setup: Setup, g: float, c: float) -> float:
    """‖w⊥‖² by the flow's invariant; a start in the row space has none, however large the
    exponent.
    """
    if setup.q0 == 0.0:
        return 0.0
    with np.errstate(over="ignore"):
        exponent = setup.log_q0_square + (setup.g0 - g) * ((setup.g0 + g) / c)
    return float(np.exp(min(exponent, 600.0)))


def _integrated_sign(setup: Setup, c: float) -> tuple[float, bool]:
    """Integrate (g, z) until the loss is clearly under that of x = 0: from there g cannot cross
    zero any more.
    """
    setup, c = setup.in_units(c)  # what is small, for an integration, is not relative

    def unit(state: Array) -> Array:
        """The row-space part of w/‖w‖, with w⊥ from the invariant: an error of ‖w‖ would grow
        like w⊥ does.
        """
        square = perp_square(setup, float(state[0]), c)
        return np.asarray(state[1:] / np.sqrt(state[1:] @ state[1:] + square))

    def field(t: float, state: Array) -> Array:
        g, z = state[0], unit(state)
        pull = setup.slope(g * z)
        along = z @ pull
        return np.concatenate([[-c * along], -g * (pull - along * z)])

    def clear(state: Array) -> bool:
        return setup.loss(state[0] * unit(state)) < CLEARLY * setup.zero_loss

    start = np.concatenate([[setup.g0], setup.z0])
    end, done = integrate_until(field, start, clear)
    return float(np.sign(end[0])) or 1.0, done


def critical_scale(setup: Setup, c: float) -> float | None:
    """The scale at which the flow from this direction ends in S: beyond it a scale keeps its sign,
    before it the data's wins. None where there is none within reach.
    """
    away = -float(np.sign(setup.pull))
    if away == 0.0:
        return 0.0
    low, high = 0.0, 1.5 * max(setup.gstar, abs(setup.g0))

    def keeps(size: float) -> bool:
        return decide(replace(setup, g0=away * size), c)[0] == away

    for _ in range(FARTHER):
        if keeps(high):
            break
        low, high = high, 2.0 * high
    else:
        return None
    while high - low > CLOSE * high:
        middle = 0.5 * (low + high)
        apart = abs(away * setup.g0 - middle)
        if high - low < min(0.01 * apart, 1e-3 * high):  # well enough for a start so far from it
            break
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return away * 0.5 * (low + high)
