"""The WN flow as an ordinary differential equation.

In reduced coordinates (`problems/coordinates/reduction.py`) with unit w = (z, p), e the gradient at
g z (λ(g z − ξ) for least squares) and s = z·e, the WN flow is

    ġ = −c s,   ż = −g (e − s z),   d(log p)/dt = g s.

log p is integrated as a state of its own although the invariant log p + g²/2c would give it, so
that the drift of the invariant measures the integration.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._support.numeric import EPS, Array
from ..problems.coordinates.reduction import Diagonal, ReducedModel
from ..runs.result import Status
from .walk import Walk

FLAT = 16 * EPS
# a field this small against its own terms, in a state that has stopped moving, is at rest
CALM = 1e-9


Reduced = Diagonal | ReducedModel


def _field(
    problem: Reduced, c: float, in_row_space: bool
) -> tuple[Callable[..., Array], Callable[..., Array] | None]:
    """The right-hand side in (g, z, log p) and, for least squares, its Jacobian.

    Everything depends on u = z/‖w‖, so that an error in ‖w‖ = √(z·z + p²) stays what it is; with z
    itself it would grow like w⊥ does, by e^{(g0² − g²)/c}.
    """

    def parts(state: Array) -> tuple[float, Array, float, float, Array, float]:
        g, z, p2 = (
            float(state[0]),
            state[1:-1],
            0.0 if in_row_space else float(np.exp(2.0 * state[-1])),
        )
        square = float(z @ z) + p2
        u = z / np.sqrt(square)
        e = problem.slope(g * u)
        return g, u, square, p2, e, float(u @ e)

    def derivative(t: float, state: Array) -> Array:
        g, u, square, _, e, s = parts(state)
        return np.concatenate(
            [[-c * s], -g * (e - s * u), [0.0 if in_row_space else g * s / np.sqrt(square)]]
        )

    if problem.curvatures is None:
        return derivative, None
    lam = problem.curvatures

    def jacobian(t: float, state: Array) -> Array:
        g, u, square, p2, e, s = parts(state)
        n = np.sqrt(square)
        s_g, s_u = float(u @ (lam * u)), e + g * lam * u
        s_z, s_p = (s_u - u * (u @ s_u)) / n, -float(s_u @ u) * p2 / square
        by_u = g * np.outer(u, s_u) + np.diag(g * s - g * g * lam)
        J = np.zeros((state.size, state.size))
        J[0, 0], J[0, 1:-1], J[0, -1] = -c * s_g, -c * s_z, -c * s_p
        J[1:-1, 0] = -(e - s * u) - g * (lam * u - s_g * u)
        J[1:-1, 1:-1] = (by_u - np.outer(by_u @ u, u)) / n
        J[1:-1, -1] = -(by_u @ u) * p2 / square
        J[-1, 0] = (s + g * s_g) / n
        J[-1, 1:-1] = g * s_z / n - g * s * u / square
        J[-1, -1] = g * s_p / n - g * s * p2 / (n * square)
        if in_row_space:
            J[-1] = 0.0
        return J

    return derivative, jacobian


def integrate(
    problem: Reduced, state: Array, c: float, tolerance: float, end: float, at: Array | None = None
) -> tuple[Array, Array, Status, str]:
    """Step until the loss is small enough, nothing moves, or the time is up: times, states (unit
    w), status, message.

    With `at` the states are those at these times, the last of which is the end, and the loss does
    not stop the flow.
    """
    # far out the size of a gradient is inf, which is no rest
    with np.errstate(over="ignore", invalid="ignore"):
        return _integrate(problem, state, c, tolerance, end, at)


def _integrate(
    problem: Reduced, state: Array, c: float, tolerance: float, end: float, at: Array | None
) -> tuple[Array, Array, Status, str]:
    in_row_space = not np.isfinite(state[-1])
    # a start in the row space has p = 0 for ever
    working = np.where(np.isfinite(state), state, 0.0)

    def seen(at: Array) -> Array:
        square = at[1:-1] @ at[1:-1] + (0.0 if in_row_space else np.exp(2.0 * at[-1]))
        return np.asarray(at[1:-1] / np.sqrt(square))

    def loss(at: Array) -> float:
        return float(problem.value_and_gradient(np.append(at[0] * seen(at), 0.0)[None])[0][0])

    times, states = [0.0], [working]
    sampled: list[Array] = [] if at is None else [working] * int((at <= 0.0).sum())
    if at is None and loss(working) <= tolerance:
        status, message = (
            Status.CONVERGED,
            f"loss {loss(working):.6g} <= tolerance {tolerance:g} at the start",
        )
    elif _at_rest(problem, float(state[0]), seen(working), c, FLAT):
        status, message = (
            Status.STATIONARY,
            "the right-hand side is zero: a point where the flow does not move",
        )
    else:

        def calm(at: Array) -> bool:
            return _at_rest(problem, float(at[0]), seen(at), c, CALM)

        field = _field(problem, c, in_row_space)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # a failed step is a status, not a warning
            goal = tolerance if at is None else -np.inf
            visit = None if at is None else partial(_sample, at, sampled)
            ends = 1.0 if problem.reference is None else float(np.linalg.norm(problem.reference))
            unit = max(abs(float(state[0])), ends) or 1.0
            walk = Walk(field, loss, calm, goal, end, unit, times, states, visit)
            status, message = walk.make()
    if at is not None:
        times, states = _at_times(at, sampled, times[-1], states[-1], status)
    table = np.array(states)
    outside = 0.0 if in_row_space else np.exp(2.0 * table[:, -1])
    log_norm = 0.5 * np.log(np.sum(table[:, 1:-1] ** 2, axis=1) + outside)
    table[:, 1:-1] *= np.exp(-log_norm)[:, None]
    table[:, -1] = -np.inf if in_row_space else table[:, -1] - log_norm
    return np.array(times), table, status, message


def _sample(at: Array, sampled: list[Array], solver: Any, before: float) -> None:
    """Append the states at the wanted times within the solver's last step."""
    wanted = at[(at > before) & (at <= solver.t)]
    if wanted.size:
        inside = solver.dense_output()
        sampled.extend(solver.y.copy() if t == solver.t else inside(t) for t in wanted)


def _at_times(
    at: Array, sampled: list[Array], end: float, last: Array, status: Status
) -> tuple[list[float], list[Array]]:
    """The states at the wanted times; a flow that has come to rest stays where it is.

    Where the integration got to none of them it is the state at the time that it got to.
    """
    if not sampled and status is not Status.STATIONARY:
        return [end], [last]
    if status is Status.STATIONARY:
        sampled = sampled + [last] * (at.size - len(sampled))
    return [float(t) for t in at[: len(sampled)]], sampled


def _at_rest(problem: Reduced, g: float, u: Array, c: float, tolerance: float) -> bool:
    """Whether the field vanishes against its own terms: at a solution, in S, or (c = 0) at a
    settled direction.
    """
    if problem.at_solution(g * u, tolerance):
        return True
    e = problem.slope(g * u)
    size, s = float(np.linalg.norm(e)), float(u @ e)
    # ‖P Aᵀr‖² in all coordinates: across w there is also −s times the part of w off the row space.
    across = float(np.sqrt(np.sum((e - s * u) ** 2) + s * s * max(0.0, 1.0 - float(u @ u))))
    along = c == 0.0 or abs(s) <= tolerance * size
    return bool((g == 0.0 or across <= tolerance * size) and along)
