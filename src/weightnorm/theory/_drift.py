"""How far finite steps take the flow's invariant: an integral along the flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.numeric import Array
from ._integrate import integrate_until
from ._samples import Samples
from .setup import Setup

# ‖Aᵀr‖² fallen by this factor: the drift is an integral of such squares, and what is left of it is
# nothing
TAIL = 1e-11


@dataclass(frozen=True)
class TrainingSteps:
    """How the steps are made: h = η/(1 − β), the ratio c, momentum, clipping and ‖w0‖²."""

    method: str
    step: float
    ratio: float
    momentum: float
    nesterov: bool
    clip: float | None
    square: float

    @property
    def rho(self) -> float:
        """By how much momentum multiplies the drift of a step h."""
        beta = self.momentum
        if self.nesterov:
            return 1.0 + 2.0 * beta**2 / (1.0 - beta)
        return (1.0 + beta) / (1.0 - beta)

    @property
    def kicks(self) -> float:
        """a₂, the part of the variance of s that rPGD's projection feels at once."""
        beta = self.momentum
        if self.nesterov:
            return ((1.0 + beta) ** 2 + beta**4 / (1.0 - beta**2)) * (1.0 - beta) ** 2
        return (1.0 - beta) / (1.0 + beta)

    def coefficients(self, c: float, final: float) -> Array:
        """Those of s², p, V_s and V_p in 2D, hD the drift of log q + g²/2c per unit of time: each a
        polynomial in g², by its three coefficients.

        In units of ‖w0‖ = 1, to first order in h; ‖w‖ of WN, which grows, moves g²/2cN besides,
        with the G = g∞² of the end.
        """
        rho = self.rho
        if self.method == "wn":
            along, across = np.array([c, -1.0, 0.0]), np.array([0.0, final / c - 1.0, -1.0 / c])
            return np.array([rho * along, rho * across, along, across])
        return np.array(
            [[rho * c, 1.0, 0.0], [0.0, -rho, 0.0], [c, self.kicks, 0.0], [0.0, -1.0, 0.0]]
        )


@dataclass(frozen=True)
class Drift:
    """What the integration found.

    `change` is that of J = log‖w⊥‖ + g²/2cN (of I for rPGD) over the run, `variation` the integral
    of the sizes of its parts, `spread` its standard deviation under mini-batches if they did not
    move the way, `square` is ‖w‖² at the end, `equivalent` the largest ρh·max(g²/N, c)·λmax.
    """

    change: float
    variation: float
    spread: float
    square: float
    equivalent: float
    done: bool


def drift_along(setup: Setup, training: TrainingSteps, samples: Samples | None) -> Drift:
    """Integrate g, the row-space part of ŵ, log N and the drift until the gradient has died.

    In units in which g* = λmax = 1, so that nothing depends on those of the data; w⊥ comes from
    the invariant.
    """
    size, steep = setup.gstar, float(setup.lam.max())
    c, h = training.ratio / size**2, training.step * size**2 * steep
    rho, wn = training.rho, training.method == "wn"
    z0, slope = _model(setup, samples, size, steep)
    g0, start = setup.g0 / size, training.square
    clip = np.inf if training.clip is None else training.clip / (steep * size)
    widest = [0.0]

    def unit(state: Array) -> tuple[Array, float, float]:
        """The row-space part of ŵ, the square of the rest, and N."""
        N = start * float(np.exp(state[-4]))
        perp2 = 0.0
        if setup.q0 > 0.0:
            g = float(state[0])
            log = 2.0 * (np.log(setup.q0) + state[-3]) - state[-4] + (g0**2 / start - g**2 / N) / c
            perp2 = float(np.exp(min(log, 600.0)))
        z = state[1:-4]
        whole = float(z @ z) + perp2
        return z / np.sqrt(whole), perp2 / whole, N

    def field(t: float, state: Array) -> Array:
        g = float(state[0])
        z, perp2, N = unit(state)
        pull, V_s, V_p, spread = _pull(slope, samples, g, z)
        s = float(z @ pull)
        across = pull - s * z
        # the part of Aᵀr across w has no component off the row space but that of −s·w⊥
        p = float(across @ across) + s * s * perp2
        gain = min(1.0, clip / _joint(wn, g, N, s, p, size)) if clip < np.inf else 1.0
        half = 0.5 * h * gain
        if wn:
            along, turn = c / N - g**2 / N**2, g**4 / (c * N**3)
            signs = along, (g / N) ** 2
            parts = (rho * along * s * s + along * V_s, -rho * turn * p - turn * V_p)
            growth = h * gain * (g / N) ** 2 * (rho * p + V_p)
        else:
            inside = (rho * c + g**2) * s * s + (c + training.kicks * g**2) * V_s
            signs = c + g**2, g**2
            parts = (inside, -(g**2) * (rho * p + V_p))
            growth = 0.0
        drift = half * (parts[0] + parts[1])
        sizes = abs(signs[0]) * (rho * s * s + V_s) + signs[1] * (rho * p + V_p)
        variation = half * sizes + abs(g * s * (1.0 / N - 1.0 / start))
        wide = _wide(rho, V_s, spread, *signs)
        wide *= 0.25 * (h * gain) ** 3
        rates = [growth, drift, variation, wide]
        return np.concatenate([[-c * s], -(g / N) * across, rates])

    first = np.concatenate([[g0], z0, np.zeros(4)])
    reference = max(float(np.sum(slope(x) ** 2)) for x in (0.0 * z0, g0 * z0))

    def settled(state: Array) -> bool:
        pull = slope(state[0] * unit(state)[0])
        return bool(pull @ pull <= TAIL * reference)

    def watch(state: Array) -> None:
        widest[0] = max(widest[0], float(state[0]) ** 2 / (start * float(np.exp(state[-4]))))

    watch(first)
    end, done = integrate_until(field, first, settled, watch, accuracy=1e-7)
    equivalent = rho * h * max(widest[0], c)
    square = start * float(np.exp(end[-4]))
    return Drift(float(end[-3]), float(end[-2]), float(np.sqrt(end[-1])), square, equivalent, done)


def _joint(wn: bool, g: float, N: float, s: float, p: float, size: float) -> float:
    """The norm of the gradient by g and w; in units of g*, where ∇_w has one more."""
    turned = g * g * p / N if wn else g * g * (s * s + p)
    return float(np.sqrt(s * s + size**2 * turned)) or 1e-300


def _model(
    setup: Setup, samples: Samples | None, size: float, steep: float
) -> tuple[Array, Callable[[Array], Array]]:
    """The start and the gradient of the scaled problem."""
    if samples is None:
        lam, xi = setup.lam / steep, setup.target / size
        return setup.z0, lambda x: lam * (x - xi)
    rows, targets = samples.rows, samples.targets
    return samples.start, lambda x: rows.T @ (rows @ x - targets)


def _pull(
    slope: Callable[[Array], Array], samples: Samples | None, g: float, z: Array
) -> tuple[Array, float, float, Any]:
    """Aᵀr, the variances of s and of PAᵀr over the batches, and what single samples add."""
    if samples is None:
        return slope(g * z), 0.0, 0.0, None
    seen, r, pull, s = samples.parts(g, z)
    m, share = len(r), samples.share
    # over all of ŵ: ‖PAᵀr‖² = ‖Aᵀr‖² − s², and so for every sample
    V_s = share * (m * float(r**2 @ seen**2) - s * s)
    V_p = share * (m * float(r**2 @ (samples.squares - seen**2)) - (float(pull @ pull) - s * s))
    along = m * r * seen * s
    squares = (share * m * np.outer(r, r) * (samples.gram - np.outer(seen, seen))) ** 2
    single = share, along, m * r * (samples.rows @ pull) - along, float(squares.sum())
    return pull, max(V_s, 0.0), max(V_p, 0.0), single


def _wide(rho: float, V_s: float, single: Any, along: float, turn: float) -> float:
    """The variance over batches of FᵀJ″F_B and of F_BᵀJ″F_B, as if F_B were normal; J″ has these
    two coefficients.
    """
    if single is None:
        return 0.0
    share, s_parts, p_parts, squares = single
    mixed = share * float(np.var(along * s_parts - turn * p_parts))
    own = (along * V_s) ** 2 + turn**2 * float(squares)
    return float((1.0 + rho) ** 2 * mixed + 2.0 * rho * own)
