"""The steps themselves, in reduced coordinates, until the sign of the scale is settled.

Near the set S = {g = 0, yᵀAŵ = 0} the flow cannot say on which side finite steps pass it: the
steps are followed one by one until their loss, with momentum their energy, is below that at x = 0.
From there g cannot cross zero any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._support.numeric import Array
from ._row import LayerRow, RowSteps

MOST = 10_000  # steps that are followed: half a second
ENOUGH = 2_000  # larger ones, where the steps themselves are more than that
LONGEST = 20_000  # steps themselves, where those end opposite to the flow
CLEARLY = 1.0 - 1e-9  # a loss under this share of that at x = 0 can never return to it
WELL_UNDER = 0.9  # nor an energy under this one: momentum and a moving w do not quite keep it
APART = np.array([0.0, -1e-12, 1e-12])  # of g0: nearer to the edge than this, rounding decides
AROUND = np.linspace(-1.0, 1.0, 17)  # starts at once, about an edge
FARTHEST = 0.3  # of an edge, by which large steps may move it
ZOOMS = 4


@dataclass(frozen=True, eq=False)
class Followed:
    """The sign of the scale, whether it is settled, and after how many steps."""

    sign: float
    settled: bool
    count: int


class _FollowedSide:
    """Runs side by side: a state is (g, w∥, w⊥, b)."""

    def __init__(self, row: LayerRow, steps: RowSteps, clip: float, unit: float, scales: Array):
        self.row, self.steps, self.clip, self.unit = row, steps, clip, unit
        first = np.concatenate([[0.0], row.inside * steps.norm, [row.off * steps.norm, row.bias]])
        self.states = np.repeat(first[None], scales.size, axis=0)
        self.states[:, 0] = scales
        self.buffers, self.kinetic = np.zeros_like(self.states), np.zeros(scales.size)
        self.rates = np.full(first.size, steps.step)
        self.rates[-1] *= steps.kappa

    def errors(self) -> tuple[Array, Array, Array]:
        """r in the features' reach, ŵ and ‖w‖."""
        w = self.states[:, 1:-1]
        length = np.sqrt(np.sum(w * w, axis=1))
        unit = w / length[:, None]
        g, b = self.states[:, :1], self.states[:, -1:]
        r = g * (self.row.singular * unit[:, :-1]) + b * self.row.ones - self.row.right
        return r, unit, length

    def gradients(self, r: Array, unit: Array, length: Array) -> Array:
        """By g, w and b, clipped; rPGD's by w is not projected."""
        row, g, b = self.row, self.states[:, :1], self.states[:, -1]
        pull = np.zeros_like(unit)
        pull[:, :-1] = row.singular * r
        s = np.sum(unit * pull, axis=1, keepdims=True)
        turned = g * pull
        if self.steps.method == "wn":
            turned = (turned - g * s * unit) / length[:, None]
        total = np.sum(row.ones * r, axis=1) + row.outside * b - row.missed
        if self.clip < np.inf:
            joint = np.sqrt(s * s + self.unit**2 * np.sum(turned**2, axis=1, keepdims=True))
            gain = np.minimum(1.0, self.clip / np.maximum(joint, 1e-300))
            s, turned = gain * s, gain * turned
        return np.concatenate([s, turned, total[:, None]], axis=1)

    def step(self, gradients: Array, frozen: bool) -> None:
        """One step: v ← βv + ∇, and v, or ∇ + βv, is gone along."""
        beta = self.steps.momentum
        self.buffers = beta * self.buffers + gradients
        moves = gradients + beta * self.buffers if self.steps.nesterov else self.buffers
        self.rates[0] = 0.0 if frozen else self.steps.step * self.steps.ratio
        self.states = self.states - self.rates * moves
        if beta:
            self.kinetic = beta * np.sum(self.rates * moves**2, axis=1)
        if self.steps.method == "rpgd":
            w = self.states[:, 1:-1]
            w /= np.sqrt(np.sum(w * w, axis=1, keepdims=True))

    def go(self, most: int) -> tuple[bool, int]:
        """Follow so many steps, or until all are so far under the loss at x = 0 that no scale
        crosses zero any more; whether they are, and the steps made.
        """
        zero = self.row.zero_loss * (WELL_UNDER if self.steps.momentum else CLEARLY)
        with np.errstate(all="ignore"):
            for t in range(most + 1):
                r, unit, length = self.errors()
                energy = self.row.losses(r, self.states[:, -1]) + self.kinetic
                if t >= self.steps.frozen and (energy < zero).all():
                    return True, t
                if not np.isfinite(energy).all():
                    break
                self.step(self.gradients(r, unit, length), t < self.steps.frozen)
        return False, t


def follow(row: LayerRow, steps: RowSteps, clip: float, unit: float, most: int = MOST) -> Followed:
    """Follow the start and two beside it; `unit` is what ∇_w has more than ∇_g."""
    runs = _FollowedSide(row, steps, clip, unit, row.scale * (1.0 + APART))
    settled, count = runs.go(most)
    signs = np.sign(runs.states[:, 0])
    agreed = bool((signs == signs[0]).all() and signs[0] != 0.0)
    return Followed(float(signs[0]), settled and agreed, count)


def followed_side(
    row: LayerRow,
    steps: RowSteps,
    coarsest: float,
    flow_sign: float,
    clip: float = np.inf,
    unit: float = 1.0,
) -> Followed:
    """The side on which steps end.

    By the steps themselves where 10,000 are enough. Else by fewer and larger ones, up to `coarsest`
    of them as one: those are further from the flow than the steps themselves, so where they end on
    its side, steps in between do too. Where they do not, again by the steps themselves, up to
    20,000.
    """
    factor = max(coarsest, 1.0)
    rough = follow(row, _coarser(steps, factor), clip, unit)
    if factor == 1.0 or not rough.settled:
        return rough
    whole = 1.5 * factor * rough.count
    if whole > MOST:
        fewer = follow(row, _coarser(steps, max(1.0, whole / ENOUGH)), clip, unit)
        if fewer.settled and fewer.sign == flow_sign:
            return fewer
    return follow(row, steps, clip, unit, LONGEST if whole > MOST else MOST)


def steps_edge(row: LayerRow, steps: RowSteps, edge: float, coarsest: float, unit: float) -> float:
    """The scale at which steps change their side, from that of the flow; NaN where none is near.

    Large steps move it, in proportion to their size: so it is found for larger ones, of a quarter
    of the largest that are allowed.
    """
    factor = max(0.25 * coarsest, 1.0)
    larger, found, reach = _coarser(steps, factor), edge, FARTHEST
    for _ in range(ZOOMS):
        scales = found + edge * reach * AROUND
        runs = _FollowedSide(row, larger, np.inf, unit, scales)
        runs.go(ENOUGH)
        turns = np.flatnonzero(np.diff(np.sign(runs.states[:, 0])))
        if not turns.size:
            return np.nan
        first = turns[np.argmin(np.abs(scales[turns] - found))]
        found = 0.5 * float(scales[first] + scales[first + 1])
        reach *= 2.0 * float(AROUND[1] - AROUND[0])
    return edge + (found - edge) / factor


def _coarser(steps: RowSteps, factor: float) -> RowSteps:
    """The same in fewer and larger steps."""
    return replace(steps, step=steps.step * factor, frozen=round(steps.frozen / factor))
