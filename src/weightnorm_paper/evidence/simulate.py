"""Plain simulations for the certificate: steps and flows on arrays, none of the product's own
runs, flows or coordinates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from weightnorm._support.numeric import Array

from .instances import Instance


def _length(v: Array) -> float:
    """What np.linalg.norm gives, to the last bit; it takes longer than all else in a small step."""
    return math.sqrt(v @ v)


class Step(NamedTuple):
    """One step of WN or rPGD: where it came from, what it computed, where it went."""

    g: float
    w: Array
    pull: Array
    residual: Array
    v_norm: float
    g_next: float
    w_next: Array


def rpgd_step(it: Instance, g: float, w: Array, eta: float, gamma: float) -> Step:
    """v = w − η g Aᵀr, w' = v/‖v‖, g' = g − γ wᵀAᵀr."""
    r = it.A @ (g * w) - it.y
    pull = it.A.T @ r
    v = w - eta * g * pull
    size = _length(v)
    return Step(g, w, pull, r, size, g - gamma * float(w @ pull), v / size)


def wn_step(it: Instance, g: float, w: Array, eta: float, gamma: float) -> Step:
    """Gradient descent on (g, w) of ½‖A g w/‖w‖ − y‖²."""
    n = _length(w)
    u = w / n
    r = it.A @ (g * u) - it.y
    pull = it.A.T @ r
    s = float(u @ pull)
    new = w - eta * g / n * (pull - s * u)
    return Step(g, w, pull, r, _length(new), g - gamma * s, new)


def rpgd_path(
    it: Instance, g: float, w: Array, gammas: Iterable[float], curvature: float = 1.0
) -> list[Step]:
    """Steps with η = 1/(g²·curvature), for A with AAᵀ = curvature·I, and these scale steps."""
    steps: list[Step] = []
    for gamma in gammas:
        steps.append(rpgd_step(it, g, w, 1.0 / (g**2 * curvature), float(gamma)))
        g, w = steps[-1].g_next, steps[-1].w_next
    return steps


def after(it: Instance, steps: list[Step]) -> tuple[float, Array]:
    """g and w after these steps; the start if there are none."""
    return (steps[-1].g_next, steps[-1].w_next) if steps else (it.g0, it.w0)


def run_for_time(
    it: Instance, step: Callable[..., Step], g: float, w: Array, eta: float, c: float, time: float
) -> Array:
    """The weights after time/η steps with rates η and cη."""
    for _ in range(round(time / eta)):
        moved = step(it, g, w, eta, c * eta)
        g, w = moved.g_next, moved.w_next
    return np.asarray(g * w / np.linalg.norm(w))


def run_until(it: Instance, step: Callable[..., Step], eta: float, gamma: float) -> Array:
    """The weights once the loss is at rounding, or after 60,000 steps."""
    g, w = it.g0, it.w0
    floor = 1e-25 * float(it.y @ it.y)
    for _ in range(60_000):
        moved = step(it, g, w, eta, gamma)
        g, w = moved.g_next, moved.w_next
        if float(moved.residual @ moved.residual) <= floor:
            break
    return np.asarray(g * w / np.linalg.norm(w))


def flow_at(
    gradient: Callable[[Array], Array], g: float, w: Array, c: float, time: float
) -> tuple[float, Array]:
    """The flow ġ = −c ∂_g h, ẇ = −∂_w h of h(g, w) = L(g w/‖w‖) for any gradient of L, after a
    time, integrated in d dimensions.
    """
    from scipy.integrate import solve_ivp

    if not np.isfinite(time):
        raise ValueError(f"a flow cannot be integrated to the time {time}")

    def field(t: float, state: Array) -> Array:
        scale, direction = state[0], state[1:]
        n = _length(direction)
        u = direction / n
        pull = gradient(scale * u)
        s = float(u @ pull)
        slope = np.empty_like(state)
        slope[0], slope[1:] = -c * s, -scale / n * (pull - s * u)
        return slope

    answer = solve_ivp(
        field, (0.0, time), np.concatenate([[g], w]), method="DOP853", rtol=1e-12, atol=1e-14
    )
    return float(answer.y[0, -1]), answer.y[1:, -1]


def flow_path(
    it: Instance, g: float, w: Array, c: float, times: Array
) -> list[tuple[float, Array]]:
    """(g, w/‖w‖) of the flow at several times, from one integration."""
    ends, before = [], 0.0
    for time in times:
        g, w = flow_at(it.gradient, g, w / np.linalg.norm(w), c, float(time - before))
        before = float(time)
        ends.append((g, w / np.linalg.norm(w)))
    return ends


def perp_by_digits(g0: float, gstar: float, q0: float, c: float) -> float:
    """‖x∞⊥‖ with 50 digits: the root D of log(D/(g*² + D)) = 2 log q0 + (g0² − g*² − D)/c, which
    increases with D, by bisection in log D.
    """
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 50, 999_999, -999_999
        square, target = Decimal(g0) ** 2, Decimal(gstar) ** 2
        ratio, start = Decimal(c), 2 * Decimal(q0).ln()
        low, high = Decimal(-6000), Decimal(6000)
        for _ in range(90):
            middle = (low + high) / 2
            D = middle.exp()
            x = target / D
            share = (1 + x).ln() if x > Decimal("1e-25") else x - x * x / 2
            value = -share - start - (square - target - D) / ratio
            low, high = (low, middle) if value > 0 else (middle, high)
        return float((low / 2).exp())


def weights_at(it: Instance, g: float, w: Array, c: float, time: float) -> Array:
    """The weights of the flow after a time."""
    scale, direction = flow_at(it.gradient, g, w, c, time)
    return np.asarray(scale * direction / np.linalg.norm(direction))


@dataclass(frozen=True)
class SimulatedEnd:
    """Where a flow ended, or stood still."""

    scale: float
    weights: Array
    time: float
    perp: float
    loss: float


def flow_end(it: Instance, tolerance: float) -> SimulatedEnd:
    """Integrate the flow from an instance's start until the loss is small, or nothing moves.

    In d dimensions; but where w⊥ grows by so much that rounding off the row space would swamp it,
    in coordinates of the row space and w⊥ (by an SVD of A).
    """
    growth = (it.g0**2 - it.gstar**2) / (2.0 * it.c) if it.c > 0 else 0.0
    if growth > 5.0 and it.kind in ("row space", "nearly in the row space"):
        V = np.linalg.svd(it.A, full_matrices=False)[2]
        rest = it.w0 - V.T @ (V @ it.w0)
        rest -= V.T @ (V @ rest)
        size = 0.0 if it.kind == "row space" else float(np.linalg.norm(rest))
        inside = np.column_stack([it.A @ V.T, np.zeros(len(it.y))])
        small = Instance(
            inside, np.append(V @ it.x, 0.0), it.g0, np.append(V @ it.w0, size), it.c, "reduced"
        )
        end = _integrate(small, tolerance)
        back = V.T @ end.weights[:-1] + end.weights[-1] * (rest / size if size > 0 else 0.0 * rest)
        return SimulatedEnd(end.scale, back, end.time, abs(float(end.weights[-1])), end.loss)
    return _integrate(it, tolerance)


def _integrate(it: Instance, tolerance: float) -> SimulatedEnd:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the solvers' own; what they say is looked at
        return _integrate_quietly(it, tolerance)


def _integrate_quietly(it: Instance, tolerance: float) -> SimulatedEnd:
    from scipy.integrate import LSODA, Radau

    def unit(state: Array) -> Array:
        w = state[1:]
        return np.asarray(w / _length(w))

    def field(t: float, state: Array) -> Array:
        scale, u = float(state[0]), unit(state)
        pull = it.gradient(scale * u)
        s = float(u @ pull)
        slope = np.empty_like(state)
        slope[0], slope[1:] = -it.c * s, -scale * (pull - s * u)
        return slope

    state = np.concatenate([[it.g0], it.w0])
    mark, marked_at, time = state, 0.0, 0.0
    for kind in (LSODA, Radau):  # the second, should the first fail
        solver = kind(field, time, state, np.inf, rtol=1e-12, atol=1e-14)
        while solver.status == "running":
            solver.step()
            stuck = float(solver.t) == time or not np.isfinite(solver.y).all()
            if solver.status == "failed" or stuck:
                break
            state, time = solver.y.copy(), float(solver.t)
            scale, u = float(state[0]), unit(state)
            if it.loss(scale * u) <= tolerance:
                return _end(it, scale, u, time)
            if time >= 2 * marked_at:
                still = np.abs(state - mark).max() <= 1e-12 * max(1.0, abs(scale))
                pull = it.gradient(scale * u)
                across = np.linalg.norm(pull - float(u @ pull) * u)
                flat = across <= 1e-8 * np.linalg.norm(pull)
                if still and marked_at > 0 and flat:
                    return _end(it, scale, u, time)
                mark, marked_at = state, time
    raise RuntimeError(f"the simulation of the flow stopped at time {time:g}")


def _end(it: Instance, scale: float, u: Array, time: float) -> SimulatedEnd:
    weights = scale * u
    return SimulatedEnd(scale, weights, time, it.q(weights), it.loss(weights))


def descend(it: Instance, x: Array, step: float, count: int) -> Array:
    """Plain gradient descent on the weights."""
    for _ in range(count):
        x = x - step * it.gradient(x)
    return x


def ball_path(it: Instance, g0: float, w: Array, count: int) -> list[tuple[Array, Array, float]]:
    """rPGD at a fixed scale next to projected descent over the ball ‖w‖ ≤ 1, from one start: the
    two iterates and ‖v‖ of rPGD.
    """
    eta = 1.0 / (g0**2 * float(it.lam.max()))
    sphere, ball, points = w, w, []
    for _ in range(count):
        v = sphere - eta * g0 * it.gradient(g0 * sphere)
        size = _length(v)
        sphere = v / size
        ball = ball - eta * g0 * it.gradient(g0 * ball)
        ball = ball / max(1.0, _length(ball))
        points.append((sphere, ball, size))
    return points


def nearest_in_hull(points: Array) -> Array:
    """The point of a convex hull nearest to the origin, by Frank and Wolfe's steps with steps
    away (Guélat and Marcotte).
    """
    weights = np.zeros(len(points))
    weights[0] = 1.0
    for _ in range(20_000):
        x = weights @ points
        slopes = points @ x
        towards = int(np.argmin(slopes))
        away = int(np.argmax(np.where(weights > 0, slopes, -np.inf)))
        if slopes[away] - slopes[towards] <= 1e-13 * float(x @ x):
            break
        forward = x @ x - slopes[towards] >= slopes[away] - x @ x
        change = points[towards] - x if forward else x - points[away]
        longest = 1.0 if forward else weights[away] / (1.0 - weights[away] or 1.0)
        step = min(longest, -float(x @ change) / float(change @ change))
        weights *= 1.0 - step if forward else 1.0 + step
        weights[towards if forward else away] += step if forward else -step
        weights = np.maximum(weights, 0.0)
    return np.asarray(weights @ points)


Losses = dict[str, Callable[[Array, Array], Array]]
SLOPES: Losses = {  # the derivative of each loss by z = Ax
    "squared": lambda z, y: z - y,
    "logistic": lambda z, y: 1.0 / (1.0 + np.exp(-z)) - y,
    "poisson": lambda z, y: np.exp(z) - y,
    "huber": lambda z, y: np.clip(z - y, -1.0, 1.0),
}


def gradient_of(loss: str, A: Array, y: Array) -> Callable[[Array], Array]:
    """The gradient of Σ loss((Ax)_i, y_i), written out."""
    slope: Any = SLOPES[loss]
    return lambda x: A.T @ slope(A @ x, y)
