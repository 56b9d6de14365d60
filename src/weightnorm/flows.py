"""The continuous limits of training: the WN flow, and the gradient flow in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate
from ._flow_ode import integrate
from ._validate import Vector
from .problems import Frame, GeneralizedLinear, LeastSquares
from .problems.reduction import Diagonal, ReducedModel
from .result import Status

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A flow at the times the integration stepped on; every array has one entry per time.

    Attributes
    ----------
    time, scale, loss : (n,) arrays
    perp_norm : (n,) array
        ‖x⊥‖.
    invariant : (n,) array
        log ‖w⊥‖ + g²/2c, which the WN flow keeps; log ‖w⊥‖ where c = 0 and −inf for a start in the
        row space. NaN for the gradient flow, which has none.
    status : Status
        `max_steps` if the time was up.
    message : str
    drift : float
        The largest departure of the invariant from its start, relative to the larger of 1 and its
        terms log ‖w⊥‖ and g²/2c. NaN where g²/2c overflows.
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
            f"Trajectory({self.status.value} at time {self.time[-1]:.6g}: "
            f"loss={self.loss[-1]:.6g}, "
            f"scale={self.scale[-1]:.6g}, perp_norm={self.perp_norm[-1]:.6g}, "
            f"drift={self.drift:.2g})"
        )


def flow(
    problem: LeastSquares | GeneralizedLinear,
    scale: float,
    direction: Any,
    ratio: float = 1.0,
    tolerance: float = 1e-10,
    max_time: float | None = None,
    *,
    restart_ratio: float | None = None,
) -> Trajectory:
    """Integrate the WN flow, the common limit of weight normalization and rPGD as their steps
    shrink.

    Parameters
    ----------
    problem : LeastSquares or GeneralizedLinear
    scale, direction
        g0 and w0, which is normalised.
    ratio : float
        c = γ/η ≥ 0, the scale's rate over the direction's; 0 fixes the scale.
    tolerance : float
        Stop where the loss is at most this.
    max_time : float, optional
        Stop there at the latest (counted anew after a restart); without it, at the loss or at a
        standstill.
    restart_ratio : float, optional
        Theorem 2.5, part II, in one call: run with `ratio` until nothing moves, then go on with
        this one.

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
    kinds = LeastSquares, GeneralizedLinear
    _validate.instance("problem", problem, *kinds, use="wn.LeastSquares(A, y)")
    g = _validate.squarable("scale", scale)
    unit = _validate.direction("direction", direction, problem.shape[1])
    ratios = [_validate.real("ratio", ratio, minimum=0.0)]
    if restart_ratio is not None:
        ratios.append(_validate.real("restart_ratio", restart_ratio, minimum=0.0, strict=True))
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    end = np.inf if max_time is None else _validate.real("max_time", max_time, minimum=0.0)
    space = problem.reduce()
    start, frame = space.start(unit)
    with np.errstate(divide="ignore"):
        state = np.concatenate([[g], start[:-1], [np.log(start[-1])]])
    with np.errstate(all="ignore"):
        loss = float(space.problem.value_and_gradient(g * start[None])[0][0])
    if not np.isfinite(loss):
        advice = "start from a smaller one, or rescale the problem"
        raise ValueError(f"scale = {g:g} starts at a loss of {loss:g}; {advice}")
    pieces, begun, status, message = [], 0.0, Status.MAX_STEPS, ""
    for c in ratios:
        times, states, status, message = integrate(space.problem, state, c, tolerance, end)
        pieces.append((times + begun, states, c))
        begun, state = pieces[-1][0][-1], states[-1]
    return _trajectory(space.problem, frame, pieces, status, message)


def gradient_flow(problem: LeastSquares, scale: float, direction: Any, times: Any) -> Trajectory:
    """The gradient flow ẋ = −Aᵀ(Ax − y) at the given times, in closed form: ξ + e^{−λt}(x0 − ξ),
    and x0⊥ for ever.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.gradient_flow(problem, 2.8, w0, times=[0.0, 1.0, 50.0]).loss.round(3).tolist()
    [4.485, 0.607, 0.0]
    """
    _validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    g = _validate.squarable("scale", scale)
    unit = _validate.direction("direction", direction, problem.shape[1])
    t = _validate.array("times", times, ndim=1)
    if t.min() < 0 or (np.diff(t) < 0).any():
        raise ValueError("times must be increasing and not negative")
    space = problem.reduce()
    start, frame = space.start(unit)
    reduced = space.problem
    x = np.empty((t.size, start.size))
    x[:, -1] = g * start[-1]
    with np.errstate(over="ignore", under="ignore"):  # e^−∞ is 0
        decay = np.exp(-np.outer(t, reduced.curvatures))
    x[:, :-1] = reduced.target + decay * (g * start[:-1] - reduced.target)
    missing = np.full(t.size, np.nan)
    norm, perp = np.linalg.norm(x, axis=1), np.abs(x[:, -1])
    loss = reduced.value_and_gradient(x)[0]
    return Trajectory(
        t, norm, perp, loss, missing, Status.MAX_STEPS, "closed form", np.nan, x, frame
    )


def _trajectory(
    problem: Diagonal | ReducedModel,
    frame: Frame,
    pieces: list[tuple[Array, Array, float]],
    status: Status,
    message: str,
) -> Trajectory:
    invariants = []
    drift = 0.0
    for _, states, c in pieces:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite where c is tiny
            values = states[:, -1] + (states[:, 0] ** 2 / (2 * c) if c > 0 else 0.0)
        values = np.where(
            np.isneginf(states[:, -1]), -np.inf, values
        )  # in the row space, whatever g
        invariants.append(values)
        if c > 0 and np.isfinite(values).all():
            terms = max(
                1.0, float(np.abs(states[:, -1]).max()), float((states[:, 0] ** 2).max() / (2 * c))
            )
            drift = max(drift, float(np.abs(values - values[0]).max()) / terms)
        elif np.isposinf(values).any():
            drift = np.nan  # nothing to measure it by
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
