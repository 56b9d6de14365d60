"""Plain simulations of training: momentum, mini-batches, clipping, decay, noise and batch norm, all
written out on arrays, many runs at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weightnorm._support.numeric import Array

Rng = np.random.Generator


@dataclass
class SimulatedRuns:
    """Runs side by side: A is (n, m, d), y (n, m), g (n,), w (n, d), and one entry per run of all
    else. A batch of 0 is every sample, a clip of infinity none.
    """

    A: Array
    y: Array
    g: Array
    w: Array
    eta: Any
    gamma: Any
    wn: Any = False
    beta: Any = 0.0
    nesterov: Any = False
    batch: int = 0
    clip: Any = np.inf
    scale_decay: Any = 0.0
    direction_decay: Any = 0.0
    noise: float = 0.0
    rng: Rng | None = None
    v_g: Any = field(default=None, init=False)
    v_w: Any = field(default=None, init=False)
    residual: Any = field(default=None, init=False)

    def step(self) -> None:
        """One step of all runs: v ← βv + ∇, then w ← w − ηv (Nesterov: ∇ + βv for v); rPGD
        projects w, and not v.
        """
        n = np.sqrt(np.sum(self.w * self.w, axis=1))
        u = self.w / n[:, None]
        r = np.matmul(self.A, (self.g[:, None] * u)[:, :, None])[:, :, 0] - self.y
        self.residual = r
        if self.noise:
            assert self.rng is not None
            r = r - self.noise * self.rng.standard_normal(r.shape)
        if self.batch:
            assert self.rng is not None
            m = r.shape[1]
            places = np.argsort(self.rng.random(r.shape), axis=1)
            r = np.where(places < self.batch, r * (m / self.batch), 0.0)
        pull = np.matmul(r[:, None, :], self.A)[:, 0, :]
        s = np.sum(u * pull, axis=1)
        wn = np.broadcast_to(self.wn, n.shape)
        across = (self.g / n)[:, None] * (pull - s[:, None] * u)
        slope = np.where(wn[:, None], across, self.g[:, None] * pull)
        size = np.sqrt(s * s + np.sum(slope * slope, axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            keep = np.where(size > self.clip, self.clip / size, 1.0)
        s, slope = keep * s + self.scale_decay * self.g, keep[:, None] * slope
        slope = slope + np.reshape(self.direction_decay, (-1, 1)) * self.w
        beta, ahead = np.asarray(self.beta), np.asarray(self.nesterov)
        self.v_g = s if self.v_g is None else beta * self.v_g + s
        column = np.reshape(beta, (-1, 1))
        self.v_w = slope if self.v_w is None else column * self.v_w + slope
        move_g = np.where(ahead, s + beta * self.v_g, self.v_g)
        move_w = np.where(np.reshape(ahead, (-1, 1)), slope + column * self.v_w, self.v_w)
        self.g = self.g - self.gamma * move_g
        w = self.w - np.reshape(self.eta, (-1, 1)) * move_w
        length = np.where(wn, 1.0, np.sqrt(np.sum(w * w, axis=1)))
        self.w = w / length[:, None]

    def until(self, share: float, most: int) -> SimulatedRuns:
        """Steps until every residual is under a share of ‖y‖, or so many."""
        floor = (share * np.linalg.norm(self.y, axis=1)) ** 2
        for count in range(most):
            self.step()
            if count % 20 == 0 and (np.sum(self.residual**2, axis=1) <= floor).all():
                break
        return self

    @property
    def weights(self) -> Array:
        """g·w/‖w‖ of every run."""
        return np.asarray((self.g / np.linalg.norm(self.w, axis=1))[:, None] * self.w)


def jacobian(step: Callable[[Any], Any], state: Array) -> Array:
    """The derivative of a step of an array, by complex steps: exact to rounding."""
    columns = []
    for place in range(state.size):
        moved = state.astype(np.complex128)
        moved[place] += 1e-30j
        columns.append(np.imag(step(moved)) / 1e-30)
    return np.array(columns).T


def shrinkage(residual: Callable[[Any], Any], step: Callable[[Any], Any], state: Array) -> Array:
    """K with residual(step(state)) = (I − K)·residual(state), for states near one at rest."""
    seen = jacobian(residual, state)
    after = jacobian(lambda z: residual(step(z)), state)
    return np.asarray(np.eye(len(seen)) - after @ np.linalg.pinv(seen, rcond=1e-9))


def length(v: Any) -> Any:
    """The norm without conjugation, for complex steps."""
    return np.sqrt(np.sum(v * v))


def normalised_step(
    gradient: Callable[[Any], Any], method: str, eta: float, gamma: float
) -> Callable[[Any], Any]:
    """One step of (g, w), as an array, for any gradient by x."""

    def step(state: Any) -> Any:
        g, w = state[0], state[1:]
        n = length(w)
        pull = gradient(g * w / n)
        s = np.sum(w * pull) / n
        if method == "wn":
            w = w - eta * g / n * (pull - s * w / n)
        else:
            w = w / n - eta * g * pull
            w = w / length(w)
        return np.concatenate([[g - gamma * s], w])

    return step


def batchnorm_slope(A: Array, y: Array, g: Any, w: Any) -> tuple[Any, Any]:
    """The gradient by g and w of ½‖A x − y‖², x = g·w/‖Aw‖, through A w."""
    seen = A @ w
    size = length(seen)
    u = seen / size
    r = g * u - y
    along = np.sum(u * r)
    return along, A.T @ (r - along * u) * (g / size)


def batchnorm_end(
    A: Array, y: Array, g: float, w: Array, c: float, time: float
) -> tuple[float, Array]:
    """The flow of batch norm after a time: g and w."""
    from scipy.integrate import solve_ivp

    def move(t: float, state: Array) -> Array:
        by_g, by_w = batchnorm_slope(A, y, state[0], state[1:])
        return -np.concatenate([[c * by_g], by_w])

    start = np.concatenate([[g], w])
    end = solve_ivp(move, (0.0, time), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
    return float(end[0]), end[1:]


def decayed_flow(A: Array, y: Array, g: float, w: Array, c: float, mu: float, times: Any) -> Any:
    """The flow with the penalty ½μg²: rows of g, log‖w⊥‖ − log‖w0⊥‖, μ∫g² and w∥ at the times,
    with w⊥ as a number that cannot underflow.
    """
    from scipy.integrate import solve_ivp

    V = np.linalg.svd(A, full_matrices=False)[2]
    inside = V @ w
    perp = float(np.sqrt(max(0.0, 1.0 - float(inside @ inside))))

    def move(t: float, state: Array) -> Array:
        g, log, z = state[0], state[1], state[3:]
        unit = z / np.sqrt(z @ z + (perp * np.exp(log)) ** 2)
        pull = V @ (A.T @ (A @ (g * (unit @ V)) - y))
        s = float(unit @ pull)
        return np.concatenate([[-c * (s + mu * g), g * s, mu * g * g], -g * (pull - s * unit)])

    start = np.concatenate([[g, 0.0, 0.0], inside])
    span = (0.0, float(times[-1]))
    end = solve_ivp(move, span, start, "LSODA", t_eval=times, rtol=1e-11, atol=1e-13).y
    weights = []
    for g, log, _, *z in end.T:
        z = np.array(z)
        weights.append(g * z / np.sqrt(z @ z + (perp * np.exp(log)) ** 2) @ V)
    return end[0], end[1], end[2], np.array(weights)


def layer_flow(
    X: Array, y: Array, row: Array, rates: tuple[float, float], bias: Any, time: float
) -> tuple[Array, float]:
    """A row and its bias after a time of the flow of (g, w, b), rates of g and b relative to that
    of the unit w; `bias` is the start's, None for none.
    """
    from scipy.integrate import solve_ivp

    c, kappa = rates if bias is not None else (rates[0], 0.0)
    size = float(np.linalg.norm(row))

    def move(t: float, state: Array) -> Array:
        g, w, b = state[0], state[1:-1], state[-1]
        u = w / np.linalg.norm(w)
        r = X @ (g * u) + b - y
        pull = X.T @ r
        s = float(u @ pull)
        return -np.concatenate([[c * s], g * (pull - s * u), [kappa * r.sum()]])

    start = np.concatenate([[size], row / size, [bias or 0.0]])
    end = solve_ivp(move, (0.0, time), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[0] * end[1:-1] / np.linalg.norm(end[1:-1]), float(end[-1])


def margin_path(
    rows: Array, w: Array, g0: float, scales: tuple[float, ...]
) -> list[tuple[Array, float]]:
    """The WN flow of the logistic loss Σ log(1 + e^{−z_iᵀx}), c = 1, by its scale: at each the unit
    direction and loss × time. ŵ′ = g(v/⟨ŵ, v⟩ − ŵ), v = −∇L.
    """
    from scipy.integrate import solve_ivp

    def parts(g: float, u: Array) -> tuple[float, Array]:
        odds = np.exp(-(rows @ (g * u)))
        return float(np.sum(np.log1p(odds))), (odds / (1.0 + odds)) @ rows

    def move(g: float, state: Array) -> Array:
        u = state[:-1] / np.linalg.norm(state[:-1])
        loss, v = parts(g, u)
        along = float(u @ v)
        turn = g * (v / along - u)
        # loss × time: L/⟨ŵ, v⟩ and what L loses along the way
        lost = float(v @ (u + g * turn)) / loss
        return np.append(turn, loss / along - state[-1] * lost)

    found, state, at = [], np.append(w, 0.0), g0
    for g in scales:
        state = solve_ivp(move, (at, g), state, method="LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
        at = g
        found.append((state[:-1] / np.linalg.norm(state[:-1]), float(state[-1])))
    return found


def grouped_flow(
    A: Array, y: Array, g: Array, w: Array, parts: list[slice], c: Array, time: float
) -> tuple[Array, Array]:
    """The flow of x = (g_k·w_k/‖w_k‖)_k after a time: the scales, and the unit directions."""
    from scipy.integrate import solve_ivp

    k = len(parts)
    unit = np.concatenate([w[part] / np.linalg.norm(w[part]) for part in parts])

    def move(t: float, state: Array) -> Array:
        scales, turned = state[:k], state[k:]
        x = np.concatenate(
            [
                scale * turned[part] / np.linalg.norm(turned[part])
                for scale, part in zip(scales, parts, strict=True)
            ]
        )
        pull = A.T @ (A @ x - y)
        by_g, by_w = [], []
        for scale, part in zip(scales, parts, strict=True):
            u = turned[part] / np.linalg.norm(turned[part])
            s = float(u @ pull[part])
            by_g.append(s)
            by_w.append(scale * (pull[part] - s * u))
        return -np.concatenate([c * np.array(by_g), *by_w])

    start = np.concatenate([g, unit])
    end = solve_ivp(move, (0.0, time), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[:k], end[k:]


def coordinate_ends(angles: Array) -> dict[str, Array]:
    """What WN by gradient descent, by Adam and by signs keep of the start that A = [1, 0]R does
    not see, for rotations R by these angles, in degrees; the step is 0.001.
    """
    turn = np.deg2rad(angles)
    a = np.column_stack([np.cos(turn), -np.sin(turn)])
    off = np.column_stack([np.sin(turn), np.cos(turn)])
    ends = {}
    for rule in ("wn", "adam", "sign"):
        g, w = np.full(angles.shape, 0.5), 0.6 * a + 0.8 * off
        m = np.zeros((angles.size, 3))
        v, kept, going = m.copy(), np.zeros(angles.size), np.ones(angles.size, dtype=bool)
        for t in range(1, 60_000):
            n = np.sqrt(np.sum(w * w, axis=1))
            u = w / n[:, None]
            seen = np.sum(a * u, axis=1)
            r = g * seen - 1.0
            stop = going & (np.abs(r) <= (1e-3 if rule == "sign" else 1e-9))
            kept = np.where(stop, g * np.sum(off * u, axis=1), kept)
            going &= ~stop
            if not going.any():
                break
            across = (r * g / n)[:, None] * (a - seen[:, None] * u)
            slope = np.column_stack([r * seen, across])
            move = slope
            if rule == "sign":
                move = np.sign(slope)
            elif rule == "adam":
                m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
                move = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            g, w = g - 1e-3 * move[:, 0], w - 1e-3 * move[:, 1:]
        ends[rule] = kept
    return ends
