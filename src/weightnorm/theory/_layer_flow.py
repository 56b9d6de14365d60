"""The flow of one row of a linear layer with a bias, also as finite steps and momentum change it.

In the basis of A = U S Vᵀ the residual is r = S·x∥ + b·o − y with o = Uᵀ1, so that a field costs
O(rank). Steps of size h follow the flow of F − (hρ/2)F′F instead of F, to first order in h, where
θ ← θ + hF(θ) are plain steps; momentum β makes h = η/(1 − β) and ρ = 1 + 2l, with the lag
l = β/(1 − β) (Nesterov: β²/(1 − β)). WN makes plain steps of (g, v, b). So does rPGD of (g, W, b)
where W = R·w and R collects the norms it divides by: W ← W − ηR·u with u = gAᵀr, but the buffer of
u knows nothing of R, which adds h·l·R⟨w, u⟩u to the field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.numeric import Array
from ..problems import LeastSquares
from ._integrate import MANY, integrate_for, integrate_until
from ._row import LayerRow, RowSteps, row_of

# the squared gradient over that of the start, or of zero weights, at the end; the explicit method
# for many coordinates does not get as low
TAIL, MANY_TAIL = 1e-24, 1e-17
TINY = 1e-30  # of a complex step: its derivatives have no cancellation


@dataclass(frozen=True)
class RowEnd:
    """Where a row ends: g, ‖w⊥‖/‖w‖, the bias, and how much finite steps did on the way.

    `variation` is the integral of the sizes of the invariant's drifts, `equivalent` the largest
    ρh·(max(g²/N, c)·λmax + κn) on the way.
    """

    scale: float
    off: float
    bias: float
    variation: float
    equivalent: float
    settled: bool


class RowFlow:
    """The field of one row in (g, w∥, log ‖w⊥‖, b), over that of time.

    A state has a last number more: how much finite steps did on the way.

    Parameters
    ----------
    start : LayerRow
    steps : RowSteps
    count : int
        Of samples.
    """

    def __init__(self, start: LayerRow, steps: RowSteps, count: int) -> None:
        self.start, self.steps = start, steps
        self.wn, self.count = steps.method == "wn", float(count)
        self.steep = float(start.singular.max()) ** 2

    def parts(self, g: Any, z: Any, log_off: Any, b: Any) -> tuple[Any, Any, Any, Any]:
        """‖w‖², V-coordinates of Aᵀr, ⟨w, Aᵀr⟩/‖w‖ and Σr; of complex numbers too."""
        start = self.start
        square = z @ z + np.exp(2.0 * log_off)
        length = np.sqrt(square)
        r = g / length * (start.singular * z) + b * start.ones - start.right
        pull = start.singular * r
        return square, pull, z @ pull / length, start.ones @ r + start.outside * b - start.missed

    def plain(self, c: float, state: Any) -> Any:
        """F, its part of w⊥ over w⊥ itself; W in place of w for rPGD."""
        g, z, b = state[0], state[1:-2], state[-1]
        square, pull, s, total = self.parts(g, z, state[-2], b)
        length = np.sqrt(square)
        if self.wn:
            moved, grown = -(g / length) * (pull - (s / length) * z), g * s / square
        else:
            moved, grown = -length * g * pull, 0.0 * s
        return np.concatenate([[-c * s], moved, [grown], [-self.steps.kappa * total]])

    def field(self, c: float, full: Array) -> Array:
        """The field with the effect of finite steps, and the drift's size."""
        state, steps, wn = full[:-1], self.steps, self.wn
        F = self.plain(c, state)
        g, z = float(state[0]), state[1:-2]
        square, pull, s, _ = self.parts(g, z, float(state[-2]), float(state[-1]))
        if steps.h and steps.corrected:
            turned = self.plain(c, state + 1j * TINY * F).imag / TINY
            turned[-2] += F[-2] ** 2  # of w⊥ itself, not of its logarithm
            F = F - 0.5 * steps.h * steps.rho * turned
            if not wn:
                F[1:-2] += steps.h * steps.lag * np.sqrt(square) * (g * s) * (g * pull)
        if not wn:  # back to the sphere
            along = float(z @ F[1:-2]) / square
            F[1:-2] -= along * z
            F[-2] -= along
        N = square if wn else 1.0
        p = max(float(pull @ pull) - s * s, 0.0)
        drift = abs(c / N - (g / N) ** 2) if wn else c + g * g
        sizes = 0.5 * steps.h * steps.rho * (drift * s * s + (g / N) ** 2 * N * p)
        if wn:
            sizes += abs(g * s * (1.0 / N - 1.0 / steps.norm**2))
        return np.concatenate([F, [sizes]]) / self.steep

    def at(self, full: Array) -> tuple[Any, Any, Any, Any]:
        """`parts` of a state with its last number."""
        return self.parts(full[0], full[1:-3], full[-3], full[-2])

    def slope(self, full: Array) -> float:
        """The squared gradient."""
        _, pull, _, total = self.at(full)
        return float(pull @ pull) / self.steep + float(total) ** 2 / self.count

    def steepness(self, full: Array) -> float:
        """g²/‖w‖², by which the curvature of the direction is multiplied."""
        N = self.at(full)[0] if self.wn else 1.0
        return float(full[0]) ** 2 / float(N)

    def thawed(self, full: Array) -> Array:
        """The state when g is let go: its buffer went on while it rested."""
        if self.steps.corrected:
            steps = self.steps
            full[0] -= steps.ratio * steps.h * steps.lag * float(self.at(full)[2])
        return full


def row_end(problem: LeastSquares, y: Array, row: Array, steps: RowSteps, b0: float) -> RowEnd:
    """Integrate (g, w∥, log ‖w⊥‖, b) from the row as it is until the gradient has died."""
    start = row_of(problem, y, row, b0)
    flow = RowFlow(start, steps, len(y))
    with np.errstate(divide="ignore"):
        log_off = float(np.log(max(steps.norm * start.off, 1e-300)))
    first = np.concatenate([[start.scale], steps.norm * start.inside, [log_off, b0, 0.0]])
    zero = first.copy()
    zero[0] = zero[-2] = 0.0
    low = TAIL if first.size <= MANY else MANY_TAIL
    low *= max(flow.slope(first), flow.slope(zero))
    widest = [flow.steepness(first)]

    def watch(full: Array) -> None:
        widest[0] = max(widest[0], flow.steepness(full))

    state, done = first, True
    if steps.frozen:
        time = steps.frozen * steps.h * flow.steep
        state, done = integrate_for(lambda t, at: flow.field(0.0, at), state, time)
        watch(flow.thawed(state))
    if done:
        state, done = integrate_until(
            lambda t, at: flow.field(steps.ratio, at),
            state,
            lambda at: flow.slope(at) <= low,
            watch,
        )
    if not np.isfinite(state).all():  # steps far too large for a first order
        if steps.corrected:
            plain = row_end(problem, y, row, replace(steps, corrected=False), b0)
            return replace(plain, settled=False)
        state, done = first, False
    square = float(flow.at(state)[0])
    # a row in the row space has no w⊥, and none comes
    off = float(np.exp(state[-3]) / np.sqrt(square)) if start.off > 0.0 else 0.0
    steep = max(widest[0], steps.ratio) * flow.steep + steps.kappa * flow.count
    equivalent = steps.rho * steps.h * steep
    return RowEnd(float(state[0]), off, float(state[-2]), float(state[-1]), equivalent, done)
