"""The steps of an integration of the flow, one by one, until it has come to an end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.numeric import Array
from ..runs.result import Status

RELATIVE, ABSOLUTE = 1e-12, 1e-14  # of the integration
MAX_STEPS = 15_000  # of the integration; stiff flows that converge were seen to need up to 6,400 …
# … and evaluations, with as many more per coordinate: a Jacobian by differences costs one each
EVALUATIONS = (50_000, 500)
LONGEST_TIME = 1e300  # beyond it times can no longer be added
STILL = 1e-12  # a state that moved less than this while time doubled does not move

Outcome = tuple[Status, str]


@dataclass
class Walk:
    """An integration under way, by LSODA and, should it fail, by Radau from where it stopped.

    Attributes
    ----------
    slope : (function, function or None)
        The right-hand side, and its Jacobian.
    loss, calm : functions of a state
        The loss, and whether the right-hand side vanishes.
    tolerance : float
        It ends where the loss gets there, at the crossing.
    end : float
        The time at which it ends.
    unit : float
        The size of the weights.
    times, states : list
        Where it has been; steps are appended.
    visit : function of a solver and the time before its step, optional
    """

    slope: tuple[Callable[..., Array], Callable[..., Array] | None]
    loss: Callable[[Array], float]
    calm: Callable[[Array], bool]
    tolerance: float
    end: float
    unit: float
    times: list[float]
    states: list[Array]
    visit: Callable[[Any, float], None] | None = None
    evaluations: int = 0
    inside: bool = field(default=False, init=False)  # the right-hand side
    mark: Array = field(init=False)
    marked_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.mark = self.states[0]
        self.budget = EVALUATIONS[0] + EVALUATIONS[1] * self.states[0].size

    def make(self) -> Outcome:
        """Make the steps: the status, and a sentence."""
        from scipy.integrate import LSODA, Radau

        for kind in (LSODA, Radau):
            outcome = self._by(kind)
            if outcome is not None:
                return outcome
        if len(self.times) > MAX_STEPS or self.evaluations >= self.budget:
            budget = f"{MAX_STEPS:,} steps or {self.budget:,} evaluations"
            what = f"the integration used up its {budget} at"
        else:
            what = "the integration got no further than"
        where = f"{what} time {self.times[-1]:.6g}, loss {self.loss(self.states[-1]):.6g}"
        advice = "rescale the problem, or give a looser tolerance or a max_time"
        return Status.MAX_STEPS, f"{where}; {advice}"

    def _by(self, kind: Any) -> Outcome | None:
        """Go on by one solver; None where it can go no further."""
        # g has the units of the weights, and may be tiny in them; w has none
        floor = np.full(self.states[0].size, ABSOLUTE)
        floor[0] *= min(1.0, self.unit)
        options = {"rtol": RELATIVE, "atol": floor, "jac": self.slope[1]}
        solver: Any = None
        while len(self.times) <= MAX_STEPS and self.evaluations < self.budget:
            before = self.times[-1]
            try:
                if solver is None:
                    solver = kind(self._counted, before, self.states[-1], self.end, **options)
                solver.step()
            except (FloatingPointError, ValueError):  # the field or its Jacobian overflows
                if self.inside:  # no: it is an error in the user's own loss
                    raise
                return None
            stalled = solver.status == "running" and float(solver.t) == before
            lost = not np.isfinite(solver.y).all() or not solver.t <= LONGEST_TIME
            if solver.status == "failed" or stalled or lost:
                return None
            outcome = self._arrive(solver)
            if outcome is not None:
                return outcome
        return None

    def _counted(self, t: float, state: Array) -> Array:
        self.evaluations, self.inside = self.evaluations + 1, True
        slope = self.slope[0](t, state)
        self.inside = False
        if not np.isfinite(slope).all():
            raise FloatingPointError
        return slope

    def _arrive(self, solver: Any) -> Outcome | None:
        """Keep the solver's last step; the outcome where it is the last of all."""
        here, now = solver.y.copy(), float(solver.t)
        if self.loss(here) <= self.tolerance:
            self._keep(*_crossing(solver, self.times[-1], self._above))
            loss = self.loss(self.states[-1])
            return Status.CONVERGED, f"loss {loss:.6g} <= tolerance {self.tolerance:g}"
        if self.visit is not None:
            self.visit(solver, self.times[-1])
        self._keep(now, here)
        if solver.status == "finished":
            return Status.MAX_TIME, f"the time {now:g} is up; the loss is {self.loss(here):.6g}"
        if now >= 2.0 * self.marked_at:
            if self.marked_at > 0 and self._stands(here) and self.calm(here):
                text = f"nothing moves any more; the loss is {self.loss(here):.6g}"
                return Status.STATIONARY, text
            self.mark, self.marked_at = here, now
        return None

    def _keep(self, time: float, state: Array) -> None:
        self.times.append(time)
        self.states.append(state)

    def _above(self, state: Array) -> float:
        return self.loss(state) - self.tolerance

    def _stands(self, here: Array) -> bool:
        """Whether nothing but log p has moved since the mark."""
        moved, size = np.abs(here - self.mark), np.maximum(1.0, np.abs(here))
        return bool((moved[:-1] <= STILL * size[:-1]).all())


def _crossing(solver: Any, before: float, height: Callable[[Array], float]) -> tuple[float, Array]:
    """The time and state at which `height` falls to zero within the solver's last step."""
    from scipy.optimize import brentq

    inside, after = solver.dense_output(), float(solver.t)
    if not height(inside(before)) > 0 > height(inside(after)):
        return after, solver.y.copy()
    when = float(brentq(lambda t: height(inside(t)), before, after, xtol=1e-14 * after, rtol=1e-14))
    return when, inside(when)
