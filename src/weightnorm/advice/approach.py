"""From a start far away to a scale from which there is a guarantee: the scale alone moves.

At a fixed unit direction w the loss is a parabola in the scale, with gradient a·g − b, a = ‖Aw‖²
and b = yᵀAw. A step γ takes g to g − γ(a·g − b): where the gradient is positive, one step of the
right size lands wherever below is wanted; where it is negative, a first step goes beyond the
bottom of the parabola and a second one comes back. Where there is no gradient to rely on, because
hardly anything of w is seen by the data, a step of the direction comes first.

The steps are fixed beforehand, so rounding must not lead them astray: a walk that makes small
perturbations large is not believed, and one in smaller strides is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods import RPGD
from ..methods.schedules import piecewise
from ..problems import LeastSquares

STRIDES = (1e-8, 1e-4, 1e-2)  # by how much one step may make the scale smaller, tried in turn
FLAT = 1e-6  # a gradient this small against its terms is none to rely on
FARTHEST = 1e6  # a step beyond the bottom that goes farther up than this is not tried
TURN = 0.5  # of 1/(g²λmax): a whole one would fit y at once where all λ are equal
TURNS = 3  # of the direction, one after the other
MOST_STEPS = 2_000
ROUNDING = 2e-15  # size of the perturbations, of the entries of a unit direction and of the scale
NEAR_ENOUGH = 0.05  # of the goal: how far they may lead
REPLAYS = 8


@dataclass(frozen=True, eq=False)
class Approach:
    """A stage that brings the scale down.

    Attributes
    ----------
    method : Method
    num_steps : int
    scale, perp : float
        The scale after it, and ‖w⊥‖.
    note : str
        What it does.
    """

    method: Any
    num_steps: int
    scale: float
    perp: float
    note: str


def approach(problem: LeastSquares, g0: float, unit: Any, goal: float) -> Approach:
    """Bring the scale from g0 > goal down to `goal` by gradient steps.

    Parameters
    ----------
    problem : LeastSquares
    g0 : float
        The scale of the start, positive.
    unit : (d,) array
        Its unit direction.
    goal : float
        The scale wanted, positive.

    Returns
    -------
    Approach

    Raises
    ------
    ValueError
        If the start fits y already, so that nothing has a gradient; or if hardly anything of it
        is seen by the data, and it is so far out that double precision cannot tell what.
    """
    space = problem.reduce()
    start, _ = space.start(unit)
    small = space.problem
    for stride in STRIDES:
        walk = _Walk(small.curvatures, small.target, g0, start[:-1], float(start[-1]))
        while walk.g > goal * (1.0 + FLAT) and len(walk.gammas) < MOST_STEPS:
            if not walk.come_nearer(goal, stride):
                break
        else:
            if _can_be_relied_on(walk, start, g0, goal):
                return _stage(walk, g0)
    raise ValueError(
        f"scale = {g0:.3g} is so far out, and so little of the direction is seen by the data, that "
        "double precision cannot tell which steps lead back; start from a smaller scale"
    )


def _stage(walk: _Walk, g0: float) -> Approach:
    """The walk as a method, and in words."""
    turns, count = sum(eta > 0 for eta in walk.etas), len(walk.gammas)
    highest = max(walk.places)
    via = f", by way of {highest:.4g}" if highest > g0 else ""
    first = f"{turns} turn{'s' * (turns == 1)} the direction, and " if turns else ""
    shown = [f"{gamma:.3g}" for gamma in walk.gammas if gamma > 0]
    listed = ", ".join(shown if len(shown) < 5 else [*shown[:3], "…"])
    note = (
        f"{count} step{'s' * (count != 1)}: {first}the scale alone moves from {g0:.4g} to "
        f"{walk.g:.4g}{via} (γ = {listed})"
    )
    method = RPGD(_schedule(walk.etas), _schedule(walk.gammas))
    return Approach(method, count, walk.g, walk.perp, note)


def _can_be_relied_on(walk: _Walk, start: Any, g0: float, goal: float) -> bool:
    """Whether the steps lead to the goal from nearby starts, and with errors on the way, too."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        return all(_replayed(walk, start, g0, goal, rng) for _ in range(REPLAYS))


def _replayed(walk: _Walk, start: Any, g0: float, goal: float, rng: Any) -> bool:
    """Whether the steps lead there once more, with errors of rounding size."""
    z = start[:-1] + ROUNDING * rng.standard_normal(start.size - 1)
    g, perp = g0, float(start[-1])
    for eta, gamma in zip(walk.etas, walk.gammas, strict=True):
        e = walk.lam * (g * z - walk.target)
        v = z - eta * g * e
        norm = np.sqrt(v @ v + perp * perp)
        g = (g - gamma * (z @ e)) * (1.0 + ROUNDING * rng.standard_normal())
        z = v / norm + ROUNDING * rng.standard_normal(z.size)
        perp = perp / norm
    near = abs(g - goal) <= NEAR_ENOUGH * goal
    return bool(near and abs(perp - walk.perp) <= NEAR_ENOUGH * max(perp, 1e-3))


def _schedule(values: list[float]) -> Any:
    """One value per step."""
    if len(set(values)) == 1:
        return values[0]
    return piecewise(values, list(range(1, len(values))))


@dataclass(eq=False)
class _Walk:
    """Where the start has come to: the scale g, and the direction's parts z and ‖w⊥‖."""

    lam: NDArray[np.float64]
    target: NDArray[np.float64]
    g: float
    z: NDArray[np.float64]
    perp: float
    turned: int = 0
    etas: list[float] = field(default_factory=list)
    gammas: list[float] = field(default_factory=list)
    places: list[float] = field(default_factory=list)

    def come_nearer(self, goal: float, stride: float) -> bool:
        """One step down, or what makes one possible: beyond the bottom, or a turn.

        Returns whether there was one.
        """
        a, b = float(self.lam @ (self.z * self.z)), float(self.lam @ (self.z * self.target))
        slope, terms = a * self.g - b, a * self.g + abs(b)
        if slope > FLAT * terms:
            self._move((self.g - max(goal, stride * self.g)) / slope, slope)
            return True
        if -slope > FLAT * terms and a > 0:
            beyond = 2.0 * b / a
            lowest = max(goal, stride * beyond)  # what the step after it can reach
            if beyond <= FARTHEST * self.g and (lowest == goal or lowest <= 0.1 * self.g):
                self._move((beyond - self.g) / -slope, slope)
                return True
        return self._turn()

    def _move(self, gamma: float, slope: float) -> None:
        """A step of the scale."""
        self.g -= gamma * slope
        self.turned = 0
        self._keep(0.0, gamma)

    def _turn(self) -> bool:
        """A step of the direction at the fixed scale, with η = TURN/(g²λmax)."""
        gap = self.lam * (self.g * self.z - self.target)
        terms = np.linalg.norm(self.lam * self.g * self.z) + np.linalg.norm(self.lam * self.target)
        if not np.linalg.norm(gap) > FLAT * terms:
            raise ValueError(
                "the start fits y already, so that no gradient leaves it, and it is not x*; start "
                "from another direction or a smaller scale"
            )
        if self.turned == TURNS:
            return False
        largest = float(self.lam.max())
        v = self.z - TURN * gap / (self.g * largest)
        norm = float(np.sqrt(v @ v + self.perp * self.perp))
        self.z, self.perp, self.turned = v / norm, self.perp / norm, self.turned + 1
        self._keep(TURN / (self.g * self.g * largest), 0.0)
        return True

    def _keep(self, eta: float, gamma: float) -> None:
        self.etas.append(eta)
        self.gammas.append(gamma)
        self.places.append(self.g)
