"""Plain simulations in d dimensions for the certificate: no reduction, no kernels, none of the
theory.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problems import LeastSquares

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One step of WN or rPGD: where it came from, what it computed, where it went."""

    g: float
    w: Array
    pull: Array
    residual: Array
    v_norm: float
    g_next: float
    w_next: Array


def rpgd_step(problem: LeastSquares, g: float, w: Array, eta: float, gamma: float) -> Step:
    """v = w − η g Aᵀr, w' = v/‖v‖, g' = g − γ wᵀAᵀr."""
    r = problem.A @ (g * w) - problem.y
    pull = problem.A.T @ r
    v = w - eta * g * pull
    size = float(np.linalg.norm(v))
    return Step(g, w, pull, r, size, g - gamma * float(w @ pull), v / size)


def wn_step(problem: LeastSquares, g: float, w: Array, eta: float, gamma: float) -> Step:
    """Gradient descent on (g, w) of ½‖A g w/‖w‖ − y‖²."""
    n = float(np.linalg.norm(w))
    u = w / n
    r = problem.A @ (g * u) - problem.y
    pull = problem.A.T @ r
    s = float(u @ pull)
    new = w - eta * g / n * (pull - s * u)
    return Step(g, w, pull, r, float(np.linalg.norm(new)), g - gamma * s, new)


def rpgd_path(problem: LeastSquares, g: float, w: Array, gammas: Any) -> list[Step]:
    """Steps with η = 1/g² and these scale steps."""
    steps = []
    for gamma in gammas:
        steps.append(rpgd_step(problem, g, w, 1.0 / g**2, float(gamma)))
        g, w = steps[-1].g_next, steps[-1].w_next
    return steps


def run_for_time(
    problem: LeastSquares, step: Any, g: float, w: Array, eta: float, c: float, time: float
) -> Array:
    """The weights after time/η steps with rates η and cη."""
    for _ in range(round(time / eta)):
        moved = step(problem, g, w, eta, c * eta)
        g, w = moved.g_next, moved.w_next
    return np.asarray(g * w / np.linalg.norm(w))


def wn_gradient_flow(
    gradient: Any, g: float, w: Array, c: float, time: float
) -> tuple[float, Array]:
    """The flow ġ = −c ∂_g h, ẇ = −∂_w h of h(g, w) = L(g w/‖w‖) for any gradient of L,
    integrated in d dimensions.
    """
    from scipy.integrate import solve_ivp

    def field(t: float, state: Array) -> Array:
        scale, direction = state[0], state[1:]
        n = float(np.linalg.norm(direction))
        u = direction / n
        pull = gradient(scale * u)
        s = float(u @ pull)
        return np.concatenate([[-c * s], -scale / n * (pull - s * u)])

    answer = solve_ivp(
        field, (0.0, time), np.concatenate([[g], w]), method="DOP853", rtol=1e-12, atol=1e-14
    )
    return float(answer.y[0, -1]), answer.y[1:, -1]


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


def ball_descent(problem: LeastSquares, scale: float, w: Array, num_steps: int) -> Array:
    """Projected gradient descent on ‖A g0 w − y‖² over the ball ‖w‖ ≤ 1."""
    eta = 1.0 / (scale**2 * float(np.linalg.norm(problem.A, 2)) ** 2)
    for _ in range(num_steps):
        w = w - eta * scale * (problem.A.T @ (problem.A @ (scale * w) - problem.y))
        size = float(np.linalg.norm(w))
        w = w / size if size > 1.0 else w
    return w


@dataclass(frozen=True)
class End:
    """Where a flow integrated in d dimensions ended."""

    scale: float
    weights: Array
    time: float
    perp: float


def flow_end(problem: LeastSquares, g: float, w: Array, c: float, tolerance: float) -> End:
    """Integrate the WN flow for (g, w/‖w‖) in d dimensions until the loss is small, or nothing
    moves any more.
    """
    from scipy.integrate import LSODA, Radau

    def parts(state: Array) -> tuple[float, Array, Array, float]:
        scale, u = float(state[0]), state[1:] / np.linalg.norm(state[1:])
        pull = problem.A.T @ (problem.A @ (scale * u) - problem.y)
        return scale, u, pull, float(u @ pull)

    def field(t: float, state: Array) -> Array:
        scale, u, pull, s = parts(state)
        return np.concatenate([[-c * s], -scale * (pull - s * u)])

    state, mark, marked_at, time = np.concatenate([[g], w]), np.concatenate([[g], w]), 0.0, 0.0
    for kind in (LSODA, Radau):  # the second, should the first fail
        solver = kind(field, time, state, np.inf, rtol=1e-12, atol=1e-14)
        while solver.status == "running":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solver.step()
            if (
                solver.status == "failed"
                or float(solver.t) == time
                or not np.isfinite(solver.y).all()
            ):
                break
            state, time = solver.y.copy(), float(solver.t)
            scale, u, pull, s = parts(state)
            if float(problem.value(scale * u)) <= tolerance:
                return _end(problem, scale, u, time)
            if time >= 2 * marked_at:
                still = np.abs(state - mark).max() <= 1e-12 * max(1.0, abs(scale))
                if (
                    still
                    and marked_at > 0
                    and np.linalg.norm(pull - s * u) <= 1e-8 * np.linalg.norm(pull)
                ):
                    return _end(problem, scale, u, time)
                mark, marked_at = state, time
    raise RuntimeError(f"the simulation of the flow stopped at time {time:g}")


def _end(problem: LeastSquares, scale: float, u: Array, time: float) -> End:
    weights = scale * u
    rest = weights - np.linalg.pinv(problem.A) @ (problem.A @ weights)
    return End(scale, weights, time, float(np.linalg.norm(rest)))
