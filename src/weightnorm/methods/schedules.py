"""Steps as functions of the step number t = 0, 1, 2, …, for any method and problem.

A step is value(t)·|g|^a·‖w‖^b: a value that may change with t, times powers of the current scale g
and of the current norm of the direction w. Wherever a method takes a step, a plain number or any
callable t -> number will do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate

__all__ = ["Schedule", "as_schedule", "constant", "curvature", "piecewise", "scaled", "stable"]
__all__ += ["two_phase"]


@dataclass(frozen=True)
class Schedule:
    """A step that depends on the step number t: value(t)·|g|^scale_power·‖w‖^norm_power.

    g is the current scale and ‖w‖ the current norm of the direction. Build a schedule with the
    functions of this module. Called with step numbers, it gives the value without the powers.

    Attributes
    ----------
    phases : tuple of float
        The values: phases[0] before t = switches[0], and phases[i] from t = switches[i − 1] on.
    switches : tuple of int
        The step numbers at which the next value takes over; one fewer than phases.
    function : callable, optional
        t -> value, instead of phases.
    scale_power : float
        The power of |g|.
    norm_power : float
        The power of ‖w‖.
    per_curvature : bool
        Divide by the problem's largest curvature λmax; the powers are then the method's own.
    share : bool
        The value is a share of the largest stable step; see `stable`.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import schedules
    >>> schedules.two_phase(0.0, 0.1, switch=2)(np.arange(4))
    array([0. , 0. , 0.1, 0.1])
    """

    phases: tuple[float, ...] = ()
    switches: tuple[int, ...] = ()
    function: Callable[[int], float] | None = None
    scale_power: float = 0.0
    norm_power: float = 0.0
    per_curvature: bool = False
    share: bool = False

    def __post_init__(self) -> None:
        if self.function is None:
            phases, turns = _checked_phases("phases", self.phases, self.switches)
            object.__setattr__(self, "phases", phases)
            object.__setattr__(self, "switches", turns)
        else:
            validate.function("function", self.function)
        for name in ("scale_power", "norm_power"):
            object.__setattr__(self, name, validate.real(name, getattr(self, name)))

    def __call__(self, t: Any) -> NDArray[np.float64]:
        """The value, without the powers of g and ‖w‖, at each step number.

        Parameters
        ----------
        t : int or array of int
            Step numbers, not negative.

        Returns
        -------
        array
            The values, shaped like t.
        """
        steps = validate.step_numbers("t", t)
        if self.function is None and not self.switches:
            return np.full(steps.shape, self.phases[0])
        if self.function is None:
            return np.asarray(self.phases)[np.searchsorted(self.switches, steps, side="right")]
        # One call per step: a function with a branch in it would answer wrongly, or not at all, for
        # a whole array.
        return np.array(
            [self._checked(int(step)) for step in steps.ravel()], dtype=np.float64
        ).reshape(steps.shape)

    def _checked(self, t: int) -> float:
        assert self.function is not None
        name = f"the step size at t = {t}, from the callable {self.function!r},"
        return validate.real(name, validate.answer(name, self.function, t), minimum=0)

    def __repr__(self) -> str:
        """The call that makes it."""
        if self.function is not None:
            value = f"{getattr(self.function, '__name__', self.function)!s}"
        elif not self.switches:
            value = repr(self.phases[0])
        elif len(self.switches) == 1:
            value = f"two_phase({self.phases[0]!r}, {self.phases[1]!r}, {self.switches[0]})"
        else:
            value = f"piecewise({list(self.phases)}, {list(self.switches)})"
        if self.share:
            return f"stable({value})"
        if self.per_curvature:
            return f"curvature({'' if value == '1.0' else value})"
        if self.scale_power or self.norm_power:
            powers = (("scale_power", self.scale_power), ("norm_power", self.norm_power))
            return f"scaled({value}{''.join(f', {n}={p:g}' for n, p in powers if p)})"
        return f"constant({value})" if self.function is None and not self.switches else value

    @property
    def settled_from(self) -> int | None:
        """The step number from which the value is constant; None for a callable."""
        if self.function is not None:
            return None
        return self.switches[-1] if self.switches else 0

    @property
    def settled_value(self) -> float | None:
        """The constant that it ends with; None where there is none."""
        plain = self.function is None and not self.per_curvature
        if not plain or self.scale_power or self.norm_power:
            return None
        return float(self.phases[-1])

    @property
    def ends_frozen(self) -> bool:
        """Whether the last value is zero for good."""
        return self.function is None and self.phases[-1] == 0.0


def _switch(name: str, value: object) -> int:
    return validate.integer(name, value, maximum=validate.MAX_COUNT)


Phases = tuple[tuple[float, ...], tuple[int, ...]]


def _checked_phases(name: str, values: Any, switches: Any) -> Phases:
    """Values, called `name`, and the step numbers between them."""
    given, at = validate.items(name, values), validate.items("switches", switches)
    phases = [validate.real(f"{name}[{i}]", value, minimum=0.0) for i, value in enumerate(given)]
    turns = [_switch(f"switches[{i}]", switch) for i, switch in enumerate(at)]
    if len(phases) != len(turns) + 1:
        counts = f"{len(phases)} and {len(turns)}"
        raise ValueError(f"{name} must have one entry more than switches, got {counts}")
    return tuple(phases), tuple(turns)


def constant(value: float) -> Schedule:
    """A step that is the same at every step number.

    Parameters
    ----------
    value : float
        The step; not negative.

    Returns
    -------
    Schedule
        The constant schedule. A method takes the plain number as well.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> float(schedules.constant(0.1)(1000))
    0.1
    """
    return Schedule(phases=(validate.real("value", value, minimum=0.0),))


def two_phase(before: float, after: float, switch: int) -> Schedule:
    """A step with one value before a step number and another from there on.

    It is `before` while t < switch and `after` from t = switch on. A scale that is frozen at first
    has the schedule two_phase(0, step, switch).

    Parameters
    ----------
    before : float
        The step while t < switch; not negative.
    after : float
        The step from t = switch on; not negative.
    switch : int
        The step number of the change; not negative.

    Returns
    -------
    Schedule
        The schedule of the two phases.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> freeze = schedules.two_phase(0.0, 0.1, switch=5000)
    >>> float(freeze(4999)), float(freeze(5000))
    (0.0, 0.1)
    """
    return Schedule(
        phases=(
            validate.real("before", before, minimum=0.0),
            validate.real("after", after, minimum=0.0),
        ),
        switches=(_switch("switch", switch),),
    )


def piecewise(values: Sequence[float], switches: Sequence[int]) -> Schedule:
    """A step that is constant between given step numbers.

    It is values[0] while t < switches[0], and values[i] from t = switches[i − 1] on.

    Parameters
    ----------
    values : sequence of float
        The steps; not negative, and one more than switches.
    switches : sequence of int
        The step numbers of the changes, increasing.

    Returns
    -------
    Schedule
        The piecewise constant schedule.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> schedules.piecewise([1.0, 0.5, 0.25], switches=[10, 20])([0, 10, 19, 20])
    array([1.  , 0.5 , 0.5 , 0.25])
    """
    phases, turns = _checked_phases("values", values, switches)
    if any(late <= early for early, late in pairwise(turns)):
        raise ValueError(f"switches must increase, got {list(turns)}")
    return Schedule(phases=phases, switches=turns)


def scaled(value: Step, scale_power: float = 0.0, norm_power: float = 0.0) -> Schedule:
    """A step that is proportional to powers of the current scale and of the current norm of w.

    It is value(t)·|g|^scale_power·‖w‖^norm_power, with g the scale and w the direction.

    Parameters
    ----------
    value : float, Schedule or callable
        The step without the powers: a number, a schedule, or a function of the step number t. The
        powers of a schedule are kept, and these are added to them.
    scale_power : float
        The power of |g|.
    norm_power : float
        The power of ‖w‖.

    Returns
    -------
    Schedule
        The schedule with these powers.

    Raises
    ------
    ValueError
        For a `curvature` schedule, whose powers are the method's own.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> schedules.scaled(0.1, norm_power=1).norm_power  # the paper's c‖W‖
    1.0
    """
    base = as_schedule("value", value)
    if base.per_curvature:
        raise ValueError(
            "value is a curvature schedule, whose powers are the method's own; scale its factor "
            "instead"
        )
    return replace(
        base,
        scale_power=base.scale_power + validate.real("scale_power", scale_power),
        norm_power=base.norm_power + validate.real("norm_power", norm_power),
    )


def curvature(factor: Step = 1.0) -> Schedule:
    """A step that is stable at any scale: the inverse of the largest curvature it meets.

    It is factor/(g² λmax) for rPGD, factor·‖w‖²/(g² λmax) for weight normalization and factor/λmax
    for gradient descent, with g the scale, w the direction and λmax the largest eigenvalue of AᵀA.
    The paper prints ‖w‖ for weight normalization; the gradient and the curvature both lose a factor
    ‖w‖², so ‖w‖² it is. The step is undefined at g = 0.

    Parameters
    ----------
    factor : float, Schedule or callable
        What to multiply the inverse with: a number, a function of the step number t, or a schedule
        without powers.

    Returns
    -------
    Schedule
        The schedule; λmax is put in when a method runs on a problem.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> schedules.curvature(0.5).per_curvature
    True
    """
    base = as_schedule("factor", factor)
    if base.scale_power or base.norm_power or base.per_curvature:
        raise ValueError("factor must be a number, a callable or a schedule without powers")
    return replace(base, per_curvature=True)


def stable(fraction: float = 0.9) -> Schedule:
    """The largest stable steps, times a fraction: for w, for g and for gradient descent's x alike.

    It is 2·fraction/(g²λmax) for the direction of rPGD, 2·fraction·‖w‖²/(g²λmax) for that of weight
    normalization, and 2·fraction/λmax for a scale and for gradient descent. Together these multiply
    a residual near a solution by I − 2·fraction·AAᵀ/λmax, wherever that solution is, just as
    gradient descent does; with a fraction of 1 and more they do not converge. The scale's first
    step is zero, which keeps rPGD out of its 2-cycle. The steps of the direction are undefined at
    g = 0. Gradient descent with momentum β has 2(1 + β) for 2, and 2(1 + β)/(1 + 2β) for
    Nesterov's. With momentum on a scale and a direction it is refused: steps that follow the
    current g do not fit a buffer that remembers others, and runs from afar diverge. It is refused
    for batch norm as well, whose ‖w‖ such steps drive up without end. Take constant steps from
    `theory.stability` there.

    Parameters
    ----------
    fraction : float
        How much of the largest stable step to take; between 0 and 1.

    Returns
    -------
    Schedule
        The schedule; λmax and the momentum are put in when a method runs on a problem.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> steps = wn.schedules.stable(), wn.schedules.stable()
    >>> wn.run(wn.RPGD(*steps), problem, scale=2.8, direction=w0).num_steps < 60
    True
    """
    share = validate.real("fraction", fraction, minimum=0.0, strict=True)
    if share >= 1.0:
        raise ValueError(f"fraction must be below 1, got {share:g}: larger steps do not converge")
    return Schedule(phases=(share,), per_curvature=True, share=True)


Step = float | Schedule | Callable[[int], float]


def as_schedule(name: str, step: Step) -> Schedule:
    """Turn what a user gives as a step into a schedule.

    A schedule is itself, a number is a constant schedule, and a callable becomes a schedule that
    calls it.

    Parameters
    ----------
    name : str
        What error messages call the step.
    step : float, Schedule or callable
        The step: a number that is not negative, a schedule, or a function of the step number t.

    Returns
    -------
    Schedule
        The schedule.

    Examples
    --------
    >>> from weightnorm import schedules
    >>> decay = schedules.as_schedule("step", lambda t: 0.1 / (1 + t))
    >>> decay([0, 1, 4])
    array([0.1 , 0.05, 0.02])
    """
    if isinstance(step, Schedule):
        return step
    if callable(step):
        return Schedule(function=step)
    return _constant(validate.real(name, step, minimum=0.0))


@lru_cache(maxsize=256)
def _constant(value: float) -> Schedule:
    return Schedule(phases=(value,))
