"""The continuous limits of training: the WN flow, and the gradient flow in closed form.

In reduced coordinates (`rowspace.py`) with unit w = (z, p), e = λ(g z − ξ) and s = z·e, the WN flow is

    ġ = −c s,   ż = −g (e − s z),   d(log p)/dt = g s.

log p is integrated as a state of its own although the invariant log p + g²/2c would give it, so that the drift of the
invariant measures the integration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate
from ._validate import Vector
from .problems import LeastSquares
from .result import Status
from .rowspace import Frame, ReducedProblem, RowSpace

Array = NDArray[np.float64]

RELATIVE, ABSOLUTE = 1e-12, 1e-14  # of the integration
MAX_STEPS = 200_000
STILL = 1e-12  # a state that moved less than this while time doubled does not move
FLAT = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A flow at the times the integration stepped on; every array has one entry per time.

    Attributes
    ----------
    time, scale, loss : (n,) arrays
    perp_norm : (n,) array
        ‖x⊥‖.
    invariant : (n,) array
        log ‖w⊥‖ + g²/2c, which the WN flow keeps; log ‖w⊥‖ where c = 0 and −inf for a start in the row space. NaN for
        the gradient flow, which has none.
    status : Status
        `max_steps` if the time was up.
    message : str
    drift : float
        The largest departure of the invariant from its start.
    """

    time: Vector
    scale: Vector
    perp_norm: Vector
    loss: Vector
    invariant: Vector
    status: Status
    message: str
    drift: float
    coordinates: Array
    _frame: Frame

    @cached_property
    def weights(self) -> Array:
        """The weights (n, d), lifted at first use."""
        return np.array([self._frame.lift(row) for row in self.coordinates])

    @property
    def final_weights(self) -> Vector:
        """The weights (d,) at the last time."""
        return self._frame.lift(self.coordinates[-1])

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.status.value} at time {self.time[-1]:.6g}: loss={self.loss[-1]:.6g}, "
            f"scale={self.scale[-1]:.6g}, perp_norm={self.perp_norm[-1]:.6g}, drift={self.drift:.2g})"
        )


def flow(
    problem: LeastSquares,
    scale: float,
    direction: Any,
    ratio: float = 1.0,
    tolerance: float = 1e-10,
    max_time: float | None = None,
    *,
    restart_ratio: float | None = None,
) -> Trajectory:
    """Integrate the WN flow, the common limit of weight normalization and rPGD as their steps shrink.

    Parameters
    ----------
    problem : LeastSquares
    scale, direction
        g0 and w0, which is normalised.
    ratio : float
        c = γ/η ≥ 0, the scale's rate over the direction's; 0 fixes the scale.
    tolerance : float
        Stop where the loss is at most this.
    max_time : float, optional
        Stop there at the latest (counted anew after a restart); without it, at the loss or at a standstill.
    restart_ratio : float, optional
        Theorem 2.5, part II, in one call: run with `ratio` until nothing moves, then go on with this one.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> trajectory = wn.flow(problem, scale=2.8, direction=w0, ratio=1.0, tolerance=1e-20)
    >>> limit = wn.theory.flow_limit(problem, scale=2.8, direction=w0, ratio=1.0)
    >>> bool(abs(trajectory.scale[-1] - limit.scale) < 1e-9)
    True
    """
    if not isinstance(problem, LeastSquares):
        raise TypeError(f"problem must be a LeastSquares, got {type(problem).__name__}; use wn.LeastSquares(A, y)")
    g = _validate.real("scale", scale)
    unit = _validate.direction("direction", direction, problem.shape[1])
    ratios = [_validate.real("ratio", ratio, minimum=0.0)]
    if restart_ratio is not None:
        ratios.append(_validate.real("restart_ratio", restart_ratio, minimum=0.0, strict=True))
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    end = np.inf if max_time is None else _validate.real("max_time", max_time, minimum=0.0)
    space = RowSpace(problem)
    start, frame = space.start(unit)
    with np.errstate(divide="ignore"):
        state = np.concatenate([[g], start[:-1], [np.log(start[-1])]])
    pieces, begun, status, message = [], 0.0, Status.MAX_STEPS, ""
    for c in ratios:
        times, states, status, message = _integrate(space.reduced, state, c, tolerance, end)
        pieces.append((times + begun, states, c))
        begun, state = pieces[-1][0][-1], states[-1]
    return _trajectory(space.reduced, frame, pieces, status, message)


def gradient_flow(problem: LeastSquares, scale: float, direction: Any, times: Any) -> Trajectory:
    """The gradient flow ẋ = −Aᵀ(Ax − y) at the given times, in closed form: ξ + e^{−λt}(x0 − ξ), and x0⊥ for ever.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.gradient_flow(problem, 2.8, w0, times=[0.0, 1.0, 50.0]).loss.round(3).tolist()
    [4.485, 0.607, 0.0]
    """
    g = _validate.real("scale", scale)
    unit = _validate.direction("direction", direction, problem.shape[1])
    t = _validate.array("times", times, ndim=1)
    if t.min() < 0 or (np.diff(t) < 0).any():
        raise ValueError("times must be increasing and not negative")
    space = RowSpace(problem)
    start, frame = space.start(unit)
    reduced = space.reduced
    x = np.empty((t.size, start.size))
    x[:, -1] = g * start[-1]
    x[:, :-1] = reduced.target + np.exp(-np.outer(t, reduced.curvatures)) * (g * start[:-1] - reduced.target)
    missing = np.full(t.size, np.nan)
    norm, perp = np.linalg.norm(x, axis=1), np.abs(x[:, -1])
    loss = reduced.value_and_gradient(x)[0]
    return Trajectory(t, norm, perp, loss, missing, Status.MAX_STEPS, "closed form", np.nan, x, frame)


def _field(problem: ReducedProblem, c: float) -> tuple[Callable[..., Array], Callable[..., Array]]:
    """The right-hand side in (g, z, log p) and its Jacobian."""
    lam, xi = problem.curvatures, problem.target

    def derivative(t: float, state: Array) -> Array:
        g, z = state[0], state[1:-1]
        e = lam * (g * z - xi)
        s = z @ e
        return np.concatenate([[-c * s], -g * (e - s * z), [g * s]])

    def jacobian(t: float, state: Array) -> Array:
        g, z = state[0], state[1:-1]
        e = lam * (g * z - xi)
        s = z @ e
        s_g, s_z = z @ (lam * z), e + g * lam * z
        J = np.zeros((state.size, state.size))
        J[0, 0], J[0, 1:-1] = -c * s_g, -c * s_z
        J[1:-1, 0] = -(e - s * z) - g * (lam * z - s_g * z)
        J[1:-1, 1:-1] = g * np.outer(z, s_z) + np.diag(g * s - g * g * lam)
        J[-1, 0], J[-1, 1:-1] = s + g * s_g, g * s_z
        return J

    return derivative, jacobian


def _integrate(
    problem: ReducedProblem, state: Array, c: float, tolerance: float, end: float
) -> tuple[Array, Array, Status, str]:
    """Step until the loss is small enough, nothing moves, or the time is up."""
    from scipy.integrate import LSODA

    derivative, jacobian = _field(problem, c)
    in_row_space = not np.isfinite(state[-1])
    working = np.where(np.isfinite(state), state, 0.0)  # a start in the row space has log p = −inf for ever

    def loss(at: Array) -> float:
        error = at[0] * at[1:-1] - problem.target
        return float(problem.floor + 0.5 * (problem.curvatures * error) @ error)

    times, states = [0.0], [working]
    if loss(working) <= tolerance:
        status, message = Status.CONVERGED, f"loss {loss(working):.6g} <= tolerance {tolerance:g} at the start"
    elif _stuck(problem, working, c):
        status, message = Status.STATIONARY, "the right-hand side is zero: a point where the flow does not move"
    else:
        solver = LSODA(derivative, 0.0, working, end, rtol=RELATIVE, atol=ABSOLUTE, jac=jacobian)
        mark, marked_at = working, 0.0
        while True:
            trouble = solver.step()
            if solver.status == "failed":
                status, message = Status.MAX_STEPS, f"the integration stopped at time {solver.t:.6g}: {trouble}"
                break
            here = solver.y.copy()
            if loss(here) <= tolerance:
                when, here = _crossing(solver, times[-1], lambda at: loss(at) - tolerance)
                times.append(when)
                states.append(here)
                status, message = Status.CONVERGED, f"loss {loss(here):.6g} <= tolerance {tolerance:g}"
                break
            times.append(solver.t)
            states.append(here)
            if solver.status == "finished":
                status, message = Status.MAX_STEPS, f"the time is up; the loss is {loss(here):.6g}"
                break
            if solver.t >= 2.0 * marked_at:
                size = np.maximum(1.0, np.abs(here))
                if marked_at > 0 and (np.abs(here - mark)[:-1] <= STILL * size[:-1]).all():
                    status, message = Status.STATIONARY, f"nothing moves any more; the loss is {loss(here):.6g}"
                    break
                mark, marked_at = here, solver.t
            if len(times) > MAX_STEPS:
                status, message = Status.MAX_STEPS, f"{MAX_STEPS} steps of the integration were not enough"
                break
    table = np.array(states)
    if in_row_space:
        table[:, -1] = -np.inf
    return np.array(times), table, status, message


def _crossing(solver: Any, before: float, height: Callable[[Array], float]) -> tuple[float, Array]:
    """The time and state at which `height` falls to zero within the solver's last step."""
    from scipy.optimize import brentq

    inside, after = solver.dense_output(), float(solver.t)
    if not height(inside(before)) > 0 > height(inside(after)):
        return after, solver.y.copy()
    when = float(brentq(lambda t: height(inside(t)), before, after, xtol=1e-14 * after, rtol=1e-14))
    return when, inside(when)


def _stuck(problem: ReducedProblem, state: Array, c: float) -> bool:
    """Whether the start is a rest point to rounding: S, or a solution, or (c = 0) a settled direction."""
    g, z = state[0], state[1:-1]
    e = problem.curvatures * (g * z - problem.target)
    size = float(np.linalg.norm(e))
    terms = float(np.linalg.norm(problem.curvatures * problem.target) + abs(g) * np.linalg.norm(problem.curvatures * z))
    across = float(np.linalg.norm(g * (e - (z @ e) * z)))
    along = c * abs(float(z @ e))
    return size <= FLAT * terms or (across <= FLAT * abs(g) * size and along <= FLAT * c * size)


def _trajectory(
    problem: ReducedProblem, frame: Frame, pieces: list[tuple[Array, Array, float]], status: Status, message: str
) -> Trajectory:
    invariants = []
    drift = 0.0
    for _, states, c in pieces:
        values = states[:, -1] + (states[:, 0] ** 2 / (2 * c) if c > 0 else 0.0)
        invariants.append(values)
        if c > 0 and np.isfinite(values[0]):
            drift = max(drift, float(np.abs(values - values[0]).max()))
    states = np.concatenate([states for _, states, _ in pieces])
    g = states[:, 0]
    coordinates = g[:, None] * np.column_stack([states[:, 1:-1], np.exp(states[:, -1])])
    return Trajectory(
        time=np.concatenate([times for times, _, _ in pieces]),
        scale=g,
        perp_norm=np.abs(coordinates[:, -1]),
        loss=problem.value_and_gradient(coordinates)[0],
        invariant=np.concatenate(invariants),
        status=status,
        message=message,
        drift=drift,
        coordinates=coordinates,
        _frame=frame,
    )
