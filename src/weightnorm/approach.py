"""From a start far away to a scale from which there is a guarantee: the scale alone moves.

At a fixed unit direction w the loss is a parabola in the scale, with gradient a·g − b, a = ‖Aw‖²
and b = yᵀAw. A step γ takes g to g − γ(a·g − b): where the gradient is positive, one step of the
right size lands wherever below is wanted; where it is negative, a first step goes beyond the
bottom of the parabola and a second one comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .methods import RPGD
from .problems import LeastSquares
from .schedules import piecewise

SHRINK = 1e-8  # a step that shrinks the scale by more would leave rounding only
FLAT = 1e-8  # a gradient this small against its terms is none to rely on
TURN = 0.5  # of 1/(g²λmax): a whole one would fit y at once where all λ are equal
TURNS = 3  # steps of the direction that are tried where the scale has no gradient


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
    """Bring the scale from g0 > goal down to `goal` by gradient steps of the scale.

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
        If the start fits y already, so that nothing has a gradient.
    """
    space = problem.reduce()
    start, _ = space.start(unit)
    small = space.problem
    lam, target = small.curvatures, small.target
    z, perp = start[:-1], float(start[-1])
    turns = 0
    while not _has_gradient(lam, target, z, g0):
        if turns == TURNS or not _can_turn(lam, target, z, g0):
            raise ValueError(
                "the start fits y already, so that no gradient leaves it, and it is not x*; start "
                "from another direction or a smaller scale"
            )
        z, perp = _turned(lam, target, z, perp, g0)
        turns += 1
    sizes, places = _scale_steps(float(lam @ (z * z)), float(lam @ (z * target)), g0, goal)
    steps = [0.0] * turns + sizes
    switches = list(range(1, len(steps)))
    turning: Any = 0.0
    if turns:  # the direction moves first, at the scale g0, then it is frozen
        turning = piecewise([TURN / (g0 * g0 * float(lam.max())), 0.0], [turns])
    method = RPGD(turning, piecewise(steps, switches) if switches else steps[0])
    via = f", by way of {', '.join(f'{g:.4g}' for g in places[:-1])}" if len(places) > 1 else ""
    first = f"{turns} turn{'s' * (turns == 1)} the direction, then " if turns else ""
    gammas = ", ".join(f"{size:.3g}" for size in sizes)
    note = (
        f"{len(steps)} step{'s' * (len(steps) != 1)}: {first}the scale alone moves from {g0:.4g} "
        f"to {places[-1]:.4g}{via} (γ = {gammas})"
    )
    return Approach(method, len(steps), places[-1], perp, note)


def _has_gradient(lam: Any, target: Any, z: Any, g: float) -> bool:
    """Whether the scale's gradient a·g − b is more than rounding, and a is not tiny."""
    a, b = float(lam @ (z * z)), float(lam @ (z * target))
    if abs(a * g - b) <= FLAT * (a * g + abs(b)):
        return False
    # where the bottom of the parabola lies far beyond g, a turn of the direction serves better
    return a * g > b or 2.0 * b <= a * g / SHRINK


def _can_turn(lam: Any, target: Any, z: Any, g: float) -> bool:
    """Whether the gradient of the direction is more than rounding."""
    gap = lam * (g * z - target)
    terms = np.linalg.norm(lam * g * z) + np.linalg.norm(lam * target)
    return bool(np.linalg.norm(gap) > FLAT * terms)


def _turned(lam: Any, target: Any, z: Any, perp: float, g: float) -> tuple[Any, float]:
    """The direction after one step of rPGD at the fixed scale with η = TURN/(g²λmax)."""
    v = z - TURN * lam * (g * z - target) / (g * lam.max())
    norm = float(np.sqrt(v @ v + perp * perp))
    return v / norm, perp / norm


def _scale_steps(a: float, b: float, g0: float, goal: float) -> tuple[list[float], list[float]]:
    """Step sizes, and where each leads, from g0 down to the goal."""
    sizes, places, g = [], [], g0
    if a * g < b:  # the scale would grow: beyond the bottom of the parabola first
        beyond = 2.0 * b / a
        sizes.append((beyond - g) / (b - a * g))
        places.append(beyond)
        g = beyond
    while g > goal:
        far = g * SHRINK > max(goal, 2.0 * b / a if a > 0 else 0.0)
        there = g * SHRINK if far else goal
        sizes.append((g - there) / (a * g - b))
        places.append(there)
        g = there
    return sizes, places
