"""Steps of a method on a problem: schedules with the curvature put in, and their ratio c = γ/η.

This is the one place that says what c is. It multiplies w⊥ by e^{(g0² − g²)/2c} along the flow, and
where ‖w‖ is free, as in weight normalization, it is γ‖w0‖²/η.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.momentum import stable_below
from .contract import Method, curvature_need
from .schedules import Schedule

SAME_RATIO = 1e-12  # ratios of two phases that differ by less, relatively, are one ratio


@dataclass(frozen=True, eq=False)
class StepSize:
    """A schedule bound to a method and a problem: value(t)·factor·|g|^scale_power·‖w‖^norm_power.

    Attributes
    ----------
    schedule : Schedule
        Where value(t) comes from.
    factor : float or (n,) array
        A number, or one per run where each run has a problem of its own.
    scale_power, norm_power : float
        The powers of the scale |g| and of the direction's norm ‖w‖.
    """

    schedule: Schedule
    factor: Any
    scale_power: float
    norm_power: float

    def values(self, start: int, count: int) -> NDArray[np.float64]:
        """The values, without factor and powers, of the steps start, …, start + count − 1."""
        found = np.asarray(self.schedule(np.arange(start, start + count)), dtype=np.float64)
        if found.shape != (count,):  # compiled code reads them without asking
            raise ValueError(
                f"{self.schedule!r} must give one value for each t: for t of shape ({count},) it "
                f"gave shape {found.shape}"
            )
        return found

    def values_and_end(self, start: int, count: int) -> NDArray[np.float64]:
        """The same with a zero behind them: kernels evaluate once more than they step."""
        found = np.zeros(count + 1)
        found[:count] = self.values(start, count)
        return found

    def undefined_at(self, scale: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where the step divides by a zero scale."""
        return np.asarray((scale == 0.0) & (self.scale_power < 0))


def bind_steps(method: Method, problem: Any) -> tuple[StepSize, StepSize]:
    """Put the problem's curvature into the two schedules of a method: those of w and of g.

    Parameters
    ----------
    method : Method
        The training rule, with its schedules.
    problem : Problem
        The problem it is to run on.

    Returns
    -------
    tuple of StepSize
        For the direction (or the weights themselves) and for the scale.

    Raises
    ------
    ValueError
        For a curvature step on a problem without a largest curvature, or with a zero one; it names
        both.
    """
    vector, scale = method.schedules
    if vector.share or scale.share:
        _require_stable_steps(method)
    bound = _bind(method, scale, problem)
    if scale.share:
        first = replace(scale, phases=(0.0, *scale.phases), switches=(1,))
        bound = StepSize(first, bound.factor, 0.0, 0.0)  # g has no curvature of its own
    return _bind(method, vector, problem), bound


def _require_stable_steps(method: Method) -> None:
    """Refuse a step stable() where it would not be."""
    if method.has_scale and method.momentum:
        raise ValueError(
            f"{method.name} has momentum={method.momentum:g} and a step stable(), which follows "
            "the current g and does not fit a buffer that remembers others; use constant steps, "
            "wn.theory.stability says which"
        )
    if method.needs_predictions:
        raise ValueError(
            f"{method.name} has a step stable(), and steps that follow ‖w‖ drive it up without "
            "end there; use constant steps, wn.theory.stability says which"
        )


def _bind(method: Method, schedule: Schedule, problem: Any) -> StepSize:
    if not schedule.per_curvature:
        return StepSize(schedule, 1.0, schedule.scale_power, schedule.norm_power)
    curvature_need(method).require(problem)
    largest = np.asarray(problem.curvature)
    if not largest.all():
        raise ValueError(
            f"{method.name} has a curvature step 1/λmax, but A is zero, so λmax = 0; use a "
            "constant step"
        )
    size = stable_below(method.momentum, method.nesterov) if schedule.share else 1.0
    return StepSize(schedule, size / largest, *method.curvature_powers)


def constant_step(schedule: Schedule) -> float:
    """The value of a step that never changes, NaN of any other."""
    plain = not (schedule.per_curvature or schedule.scale_power or schedule.norm_power)
    constant = plain and schedule.function is None and len(schedule.phases) == 1
    return float(schedule.phases[0]) if constant else np.nan


def constant_ratio(method: Method) -> float:
    """c of a method with two constant steps and whole batches; NaN for any other, and for one whose
    own scale is not that of the weights.
    """
    first, second = (constant_step(schedule) for schedule in method.schedules)
    other = method.sampling is not None or not method.trains_weights_scale
    if not method.has_scale or not first > 0 or np.isnan(second) or other:
        return np.nan
    return second / first * method.initial_norm * method.initial_norm


def kept_ratio(method: Method, start_norm: float) -> float:
    """c of steps that keep their ratio through all phases, from ‖w0‖ = start_norm; NaN for any
    other.
    """
    turn, grow = method.schedules
    plain = [
        not (s.function or s.per_curvature or s.scale_power or s.norm_power) for s in (turn, grow)
    ]
    if not all(plain) or turn.switches != grow.switches or not all(turn.phases):
        return np.nan
    ratios = np.array(grow.phases) / np.array(turn.phases)
    same = np.ptp(ratios) <= SAME_RATIO * ratios[0]
    return float(ratios[0]) * start_norm**2 if same else np.nan


def settled_ratio(method: Method) -> float | None:
    """c of the values that both steps settle at, None where one has none or is zero then."""
    eta, gamma = (schedule.settled_value for schedule in method.schedules)
    return gamma / eta * method.initial_norm**2 if eta and gamma else None


def ratios_along(
    method: Method, problem: Any, steps: NDArray[np.int64], scale: Any, start_norm: float
) -> Any:
    """c at each of these step numbers, where the scales are these.

    The values of the schedules are those of the step that led there; |g| is that of the record, and
    ‖w‖ that of the start: a power of ‖w‖ in η is there to undo its growth.
    """
    before = np.maximum(steps - 1, 0)
    g, norm = np.abs(scale), np.float64(start_norm)  # whose powers may overflow

    def size(step: StepSize) -> Any:
        return step.schedule(before) * step.factor * g**step.scale_power * norm**step.norm_power

    with np.errstate(all="ignore"):
        eta, gamma = (size(step) for step in bind_steps(method, problem))
        return gamma / eta * (start_norm**2 if method.free_norm else 1.0)
