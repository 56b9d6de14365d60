"""The continuous limits of training: the WN flow, and the gradient flow in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from .._support.numeric import Array, Vector
from ..problems import GeneralizedLinear, LeastSquares, Lifter
from ..problems.coordinates.reduction import Diagonal, ReducedModel
from ..problems.kernel.expansion import Expanded
from ..runs.history import invariant_of_log, to_dataframe, to_dataset
from ..runs.result import Status
from .ode import integrate

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False)
class Trajectory(Expanded):
    """A flow at the times the integration stepped on, or at those asked for.

    Every array has one entry per time.

    Attributes
    ----------
    time, scale, loss : (n,) arrays
    perp_norm : (n,) array
        ‖x⊥‖.
    invariant : (n,) array
        log ‖w⊥‖ + g²/2c, which the WN flow keeps (`wn.theory.invariant`); −inf for a start in the
        row space. NaN where c = 0 and for the gradient flow, which have none.
    status : Status
        `converged`, `stationary`, `max_time` if the time was up, `max_steps` if the integration
        got no further.
    message : str
    drift : float
        The largest departure of the invariant from its start, relative to the larger of 1 and its
        terms log ‖w⊥‖ and g²/2c. NaN where g²/2c overflows.
    dual_coef, start_share
        On `KernelLeastSquares` alone: α and s of x = Aᵀα + s·w0 at every time.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> trajectory = wn.flow(problem, 2.0, w0, times=[0.0, 1.0, 10.0])
    >>> trajectory.to_dataset().direction.sel(time=1.0).shape
    (50,)
    >>> trajectory.to_dataframe().index.tolist()
    [0.0, 1.0, 10.0]
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
    _frame: Lifter
    _units: Array
    _expand: Any = None

    @cached_property
    def weights(self) -> Array:
        """The weights (n, d), lifted at first use."""
        weights: Array = self._frame.lift_rows(self.coordinates)
        return weights

    @cached_property
    def direction(self) -> Array:
        """The unit directions (n, d), with weights = scale·direction."""
        units: Array = self._frame.lift_rows(self._units)
        return units

    @property
    def final_weights(self) -> Vector:
        """The weights (d,) at the last time."""
        weights: Vector = self._frame.lift(self.coordinates[-1])
        return weights

    def measured_invariant(self) -> Vector:
        """The invariant, as a history has it."""
        return self.invariant

    def to_dataset(self) -> xarray.Dataset:
        """Everything over the dimension `time`, with directions and weights over `feature`.

        Returns
        -------
        xarray.Dataset
        """
        about = {"status": self.status.value, "message": self.message, "drift": self.drift}
        return to_dataset("time", self.time, self._columns(), about)

    def to_dataframe(self) -> pandas.DataFrame:
        """One row per time, indexed by `time`; weights as columns weights_0, weights_1, ….

        Returns
        -------
        pandas.DataFrame
        """
        return to_dataframe("time", self.time, self._columns())

    def _columns(self) -> dict[str, Any]:
        names = ("loss", "scale", "perp_norm", "invariant", "direction", "weights")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.status.value} at time {self.time[-1]:.6g}: "
            f"loss={self.loss[-1]:.6g}, scale={self.scale[-1]:.6g}, "
            f"perp_norm={self.perp_norm[-1]:.6g}, drift={self.drift:.2g})"
        )


def flow(
    problem: LeastSquares | GeneralizedLinear,
    scale: float,
    direction: Any = None,
    ratio: float = 1.0,
    tolerance: float = 1e-10,
    max_time: float | None = None,
    *,
    times: Any = None,
    restart_ratio: float | None = None,
    start_values: Any = None,
) -> Trajectory:
    """Integrate the WN flow, the common limit of WN and rPGD as their steps shrink.

    Parameters
    ----------
    problem : LeastSquares or GeneralizedLinear
    scale : float
        g0.
    direction : (d,) array, optional
        w0, which is normalised.
    ratio : float
        c = γ/η ≥ 0, the scale's rate over the direction's; 0 fixes the scale.
    tolerance : float
        Stop where the loss is at most this.
    max_time : float, optional
        Stop there at the latest (counted anew after a restart); without it, at the loss or at a
        standstill.
    times : vector that does not decrease, optional
        Give the flow at these times, the last of which is the end, whatever the loss. A run with
        the step η is at time η·t after t steps. With the status `max_steps` they are only those
        that the integration got to.
    restart_ratio : float, optional
        Theorem 2.6, part II, in one call: run with `ratio` until nothing moves, then go on with
        this one.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Trajectory

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
    validate.instance("problem", problem, *kinds, use="wn.LeastSquares(A, y)")
    g = validate.squarable("scale", scale)
    direction = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", direction, False)
    ratios = [validate.real("ratio", ratio, minimum=0.0)]
    if restart_ratio is not None:
        ratios.append(validate.real("restart_ratio", restart_ratio, minimum=0.0, strict=True))
    tolerance = validate.real("tolerance", tolerance, minimum=0.0)
    end = np.inf if max_time is None else validate.real("max_time", max_time, minimum=0.0)
    at = None if times is None else _times(times)
    if at is not None:
        if max_time is not None or restart_ratio is not None:
            other = "max_time" if max_time is not None else "restart_ratio"
            raise ValueError(
                f"give either times or {other}, not both: the last of times is the end"
            )
        end = float(at[-1])
    space = problem.reduce()
    start, lifter = space.start(unit)
    with np.errstate(divide="ignore"):
        state = np.concatenate([[g], start[:-1], [np.log(start[-1])]])
    with np.errstate(all="ignore"):
        loss = float(space.problem.value_and_gradient(g * start[None])[0][0])
    if not np.isfinite(loss):
        advice = "start from a smaller one, or rescale the problem"
        raise ValueError(f"scale = {g:g} starts at a loss of {loss:g}; {advice}")
    pieces, begun, status, message = [], 0.0, Status.MAX_STEPS, ""
    for c in ratios:
        times, states, status, message = integrate(space.problem, state, c, tolerance, end, at)
        pieces.append((times + begun, states, c))
        begun, state = pieces[-1][0][-1], states[-1]
    expand = problem.dual_expansion(unit)
    found = _trajectory(space.problem, lifter, pieces, status, message, expand)
    if at is not None and status is not Status.MAX_STEPS and found.loss[-1] <= tolerance:
        text = f"loss {found.loss[-1]:.6g} <= tolerance {tolerance:g} at the last time"
        return replace(found, status=Status.CONVERGED, message=text)
    return found


def _times(times: Any) -> Vector:
    """Increasing times, none of them negative."""
    at = validate.array("times", times, ndim=1)
    if at.min() < 0 or (np.diff(at) < 0).any():
        raise ValueError("times must not decrease, nor be negative")
    return at


def gradient_flow(
    problem: LeastSquares,
    scale: float,
    direction: Any = None,
    times: Any = None,
    *,
    start_values: Any = None,
) -> Trajectory:
    """Evaluate the gradient flow ẋ = −Aᵀ(Ax − y) at the given times, in closed form.

    In row-space coordinates it is ξ + e^{−λt}(x0 − ξ), with ξ the minimum-norm solution and λ the
    eigenvalues of AAᵀ; the part x0⊥ that the data cannot see stays for ever.

    Parameters
    ----------
    problem : LeastSquares
    scale : float
        g0.
    direction : (d,) array, optional
        w0, which is normalised.
    times : vector that does not decrease
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> wn.gradient_flow(problem, 2.8, w0, times=[0.0, 1.0, 50.0]).loss.round(3).tolist()
    [4.485, 0.607, 0.0]
    """
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    g = validate.squarable("scale", scale)
    direction = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", direction, False)
    if times is None:
        raise ValueError("times is needed: the times at which to evaluate the flow, as in [0, 1]")
    t = _times(times)
    space = problem.reduce()
    start, lifter = space.start(unit)
    reduced = space.problem
    x = np.empty((t.size, start.size))
    x[:, -1] = g * start[-1]
    with np.errstate(over="ignore", under="ignore"):  # e^−∞ is 0
        decay = np.exp(-np.outer(t, reduced.curvatures))
    x[:, :-1] = reduced.target + decay * (g * start[:-1] - reduced.target)
    missing = np.full(t.size, np.nan)
    norm, perp = np.linalg.norm(x, axis=1), np.abs(x[:, -1])
    loss = reduced.value_and_gradient(x)[0]
    message = f"closed form, up to time {t[-1]:g}"
    units = x / np.where(norm > 0, norm, 1.0)[:, None]
    status = Status.MAX_TIME
    expand = problem.dual_expansion(unit)
    about = status, message, np.nan, x, lifter, units, expand
    return Trajectory(t, norm, perp, loss, missing, *about)


def _trajectory(
    problem: Diagonal | ReducedModel,
    lifter: Lifter,
    pieces: list[tuple[Array, Array, float]],
    status: Status,
    message: str,
    expand: Any,
) -> Trajectory:
    invariants = []
    drift = 0.0
    for _, states, c in pieces:
        log_perp, g = states[:, -1], states[:, 0]
        values = invariant_of_log(log_perp, g, c)
        invariants.append(values)
        if c > 0 and np.isfinite(values).all():
            terms = max(1.0, float(np.abs(log_perp).max()), float((g**2).max() / (2 * c)))
            drift = max(drift, float(np.abs(values - values[0]).max()) / terms)
        elif np.isposinf(values).any():
            drift = np.nan  # nothing to measure it by
    states = np.concatenate([states for _, states, _ in pieces])
    g = states[:, 0]
    units = np.column_stack([states[:, 1:-1], np.exp(states[:, -1])])
    coordinates = g[:, None] * units
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
        _frame=lifter,
        _units=units,
        _expand=expand,
    )
