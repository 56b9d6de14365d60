"""The methods that estimators train with, and their steps: given, or half of what is stable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.contract import Method
from ..methods.schedules import as_schedule, constant


def make_rule(
    method: str,
    curvature: float,
    c: float,
    largest_scale: float,
    steps: tuple[Any, Any],
    blocks: str = "all",
) -> Method:
    """A method whose steps are given, or stable for this curvature and scales up to the largest.

    Parameters
    ----------
    method : {"rpgd", "wn", "gd"}
        Which.
    curvature : float
        The largest curvature of the loss; 0 leaves nothing to be stable about.
    c : float
        The scale's step over the direction's.
    largest_scale : float
        The largest scale that steps must be stable at.
    steps : pair
        direction_step and scale_step, or None for each.
    blocks : {"all", "columns"}
        One scale, or one per column.

    Returns
    -------
    Method

    Examples
    --------
    >>> from weightnorm.estimators.rules import make_rule
    >>> make_rule("rpgd", 1.0, 0.5, 2.0, (None, None)).schedules[0].phases
    (0.125,)
    """
    direction_step, scale_step = steps
    curvature = curvature or 1.0
    if method == "gd":
        return GradientDescent(1.0 / curvature if direction_step is None else direction_step)
    eta = 0.5 / (curvature * max(largest_scale**2, c))
    both = both_steps(eta, c, direction_step, scale_step)
    return RPGD(*both, blocks=blocks) if method == "rpgd" else WeightNorm(*both, blocks=blocks)


def both_steps(eta: float, c: float, direction_step: Any, scale_step: Any) -> tuple[Any, Any]:
    """The steps of w and g: given, or by default η and γ = c·η; one number gives the other."""
    if direction_step is None and scale_step is None:
        return eta, c * eta
    if direction_step is not None and scale_step is not None:
        return direction_step, scale_step
    name, step = (
        ("direction_step", direction_step) if scale_step is None else ("scale_step", scale_step)
    )
    given = as_schedule(name, step)
    if given.function is not None or given != constant(given.phases[0]):
        raise ValueError(
            f"{name} changes with time or scale, so the other step must be given too; only a "
            "number implies it"
        )
    value = given.phases[0]
    return (value, c * value) if scale_step is None else (value / c, value)


def in_units(name: str, step: Any, unit: float, power: int) -> Any:
    """A step given for weights, in place of weights/unit: the step of w, which goes with g², has
    power 2, that of g 0.
    """
    if step is None:
        return None
    schedule = as_schedule(name, step)
    own = -2.0 if schedule.per_curvature else schedule.scale_power
    with np.errstate(over="ignore", under="ignore"):
        factor = float(np.float64(unit) ** (power + own))
        largest = factor * max(schedule.phases, default=0.0)
    if factor == 0.0 or not np.isfinite(factor) or not np.isfinite(largest):
        reason = f"whose largest entry is about {unit:.3g}; rescale y"
        raise ValueError(f"{name} cannot be given in units of y, {reason}")
    function = schedule.function
    if function is None:
        return replace(schedule, phases=tuple(factor * value for value in schedule.phases))
    return replace(schedule, function=lambda t: factor * function(t))
