"""plan(): a method in stages, from the user's start, with a guaranteed number of steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from ..methods import RPGD, GradientDescent, schedules
from ..methods.contract import Method
from ..problems import LeastSquares
from ..runs.result import Result, Status
from ..runs.run import run
from ..theory import safe_scale, safe_scale_steps, two_phase_b
from ..theory.statement import Assumption, Statement, assume
from .approach import NEAR_ENOUGH, Approach, approach

EQUAL = 1e-12
DELTA = 1.0  # δ of Proposition 3.3: ‖w⊥‖ at least halves every step
NEAR = 0.9  # of g*: from below this share the scale need not be brought down first …
NEAREST = 0.999  # … nor can it without a direction; beyond, phase one would take too long
SMALL = 1e-3  # of the accuracy: a start so small is as good as zero
ROOM = 0.9  # of the largest scale that the proposition allows, so that rounding does no harm


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Statement):
    """A guaranteed way to the minimum-norm solution x*.

    In its repr T1 and T2 are the numbers of steps of the two phases of the paper, η and γ the steps
    of the direction and of the scale, and δ the parameter of Proposition 3.3.

    Attributes
    ----------
    scale : float
        The start scale g0.
    direction : (d,) array or None
        The start direction, if the plan was made for one; otherwise it holds for any.
    stages : tuple of (method, number of steps)
        A stage that brings the scale down, if the start is too far out; then rPGD in two phases
        for orthogonal A, or rPGD at a fixed scale and gradient descent for general A.
    notes : tuple of str
        What each stage does, with its numbers.
    num_steps : int
        Steps of all stages.
    accuracy : float
        ‖x − x*‖ ≤ accuracy·‖x*‖ after them.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> wn.theory.plan(problem, accuracy=1e-3)
    Plan: from scale 0.3 and any direction to ‖x − x*‖ ≤ 0.001·‖x*‖, guaranteed after 5 steps
      4 steps: phase one of rPGD (T1 = 4), η = 1/(g²λmax), γ = 0: ‖w⊥‖ ≤ 0.001
      1 step: phase two (T2 = 1), γ = 1: the scale moves to ‖x*‖ = 3
      by Theorem 3.2 (b)
    """

    scale: float
    stages: tuple[tuple[Method, int], ...]
    notes: tuple[str, ...]
    accuracy: float
    problem: LeastSquares = field(repr=False)
    direction: Vector | None = field(repr=False)

    @property
    def num_steps(self) -> int:
        """Steps of all stages."""
        return sum(steps for _, steps in self.stages)

    @property
    def method(self) -> Method:
        """The method of the first stage that makes steps."""
        return next((method for method, steps in self.stages if steps), self.stages[0][0])

    def run(self, direction: Any = None, *, start_values: Any = None) -> Result:
        """Run all stages.

        Parameters
        ----------
        direction : (d,) array, optional
            The start direction; by default that of the plan.
        start_values : (n,) array, optional
            For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`.

        Returns
        -------
        Result
            `converged` where ‖x − x*‖ is as small as was promised.

        Raises
        ------
        ValueError
            Without a direction (but for `KernelLeastSquares`, where none is a start orthogonal to
            the data), or with another one than a plan that depends on it was made for.
        """
        if start_values is not None:
            direction = self.problem.start_direction(direction, start_values)
        if direction is None:
            direction = self.direction
        elif self.direction is not None and not self._is_own(direction):
            raise ValueError(
                "direction is not the one that the plan was made for, and its steps depend on it; "
                "make a plan for this one, or one without a direction"
            )
        if direction is None and not self.problem.needs_direction:
            direction = self.problem.start_direction(None, None)
        if direction is None:
            raise ValueError("direction is needed: the plan holds for any, so give plan.run one")
        result: Result | None = None
        for method, steps in self.stages:
            options: dict[str, Any] = {"tolerance": 0, "max_steps": steps}
            if result is None:
                result = run(method, self.problem, self.scale, direction, **options)
            else:
                result = run(method, self.problem, start=result, **options)
        assert result is not None
        goal = self.accuracy * float(np.linalg.norm(self.problem.target))
        reached = result.distance <= goal
        text = f"‖x − x*‖ = {result.distance:.3g} {'≤' if reached else '>'} {goal:.3g}"
        return replace(
            result,
            num_steps=self.num_steps,
            status=Status.CONVERGED if reached else Status.MAX_STEPS,
            message=f"{text} after {_steps(self.num_steps)}, "
            + ("as planned" if reached else "more than was promised: rounding allows no better"),
        )

    def _is_own(self, direction: Any) -> bool:
        unit = self.problem.unit_direction("direction", direction, False)
        return self.direction is not None and bool(np.abs(unit - self.direction).max() < 1e-9)

    def __repr__(self) -> str:
        start = "any direction" if self.direction is None else "this direction"
        if self.scale < 0:
            start += f" (the same as {-self.scale:.4g} and the opposite one)"
        head = (
            f"Plan: from scale {self.scale:.4g} and {start} to ‖x − x*‖ ≤ {self.accuracy:g}·‖x*‖, "
            f"guaranteed after {_steps(self.num_steps)}"
        )
        return "\n".join([head, *(f"  {note}" for note in self.notes), f"  by {self.paper}"])


def plan(
    problem: LeastSquares,
    accuracy: float,
    scale: float | None = None,
    direction: Any = None,
    *,
    start_values: Any = None,
) -> Plan:
    """Plan stages of training that reach ‖x − x*‖ ≤ accuracy·‖x*‖ in a guaranteed number of steps.

    From a start too far out (the scale above what the theory allows) a first stage moves the scale
    alone: its gradient is known, so that a few steps of the right sizes bring it to where the
    guarantee begins. Then rPGD turns the direction into the row space, and the rest converges.

    Parameters
    ----------
    problem : LeastSquares
        With y ≠ 0 (in A's reach).
    accuracy : float
        Relative to ‖x*‖, greater than 0.
    scale : float, optional
        g0, where training starts; by default one that suits, from which any direction will do.
    direction : (d,) array, optional
        The start's direction; needed where the scale is too large for a guarantee from any.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`.

    Returns
    -------
    Plan
        Its repr says what each stage does; `.run()` runs it.

    Raises
    ------
    ValueError
        For y = 0, for a scale that needs a direction, and for a start that fits y already but is
        not x*: no gradient leaves it.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> plan = wn.theory.plan(problem, accuracy=1e-3)
    >>> result = plan.run(w0)
    >>> result.distance <= 1e-3 * 3.0, plan.num_steps
    (True, 68)
    >>> far = wn.theory.plan(problem, accuracy=1e-3, scale=100.0, direction=w0)
    >>> far.run().status == "converged", far.num_steps
    (True, 69)
    """
    validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    target = validate.real("accuracy", accuracy, minimum=1e-100)
    g0 = None if scale is None else validate.squarable("scale", scale)
    unit = None
    if direction is not None or start_values is not None:
        direction = problem.start_direction(direction, start_values)
        unit = problem.unit_direction("direction", direction, False)
    lam = problem.factorisation.singular_values**2
    gstar = float(np.linalg.norm(problem.target))
    if gstar == 0.0:
        raise ValueError(
            "y is zero, or orthogonal to the range of A: then x* = 0, and an accuracy relative to "
            "‖x*‖ means nothing"
        )
    if not np.isfinite(gstar):
        raise ValueError("problem has a y so large against A that ‖x*‖ overflows; rescale them")
    largest, smallest = float(lam.max()), float(lam.min())
    orthogonal = smallest >= largest * (1.0 - EQUAL)
    limit = gstar if orthogonal else safe_scale(gstar, smallest, largest, DELTA).value
    if g0 is not None and unit is not None:
        gap = float(np.linalg.norm(g0 * unit - problem.min_norm_solution()))
        if gap <= 0.5 * target * gstar:
            note = f"no step is needed: ‖x0 − x*‖ = {gap:.2g} is small enough"
            nothing: tuple[tuple[Method, int], ...] = ((GradientDescent(schedules.curvature()), 0),)
            return Plan(g0, nothing, (note,), accuracy, problem, unit, paper="its definition")
    if g0 is not None and abs(g0) <= SMALL * min(target, 1.0) * gstar:
        return _from_zero(problem, g0, smallest / largest, target, unit)
    down = _bring_down(problem, g0, unit, limit, 0.1 * gstar if orthogonal else ROOM * limit)
    begin, perp = 0.1 * gstar if orthogonal else limit, 1.0
    if down is not None:  # as far off as rounding may lead
        begin, perp = (1 + NEAR_ENOUGH) * down.scale, min(1.0, (1 + NEAR_ENOUGH) * down.perp)
    else:
        begin = begin if g0 is None else abs(g0)
        if unit is not None:
            perp = float(np.linalg.norm(problem.factorisation.split(unit)[1]))
    if orthogonal:
        made = _orthogonal(gstar, largest, begin, target)
    else:
        made = _general(gstar, smallest, largest, begin, perp, target)
    stages, notes, conditions, paper = made
    if down is not None:
        stages, notes = ((down.method, down.num_steps), *stages), (down.note, *notes)
    start = g0 if g0 is not None else begin
    return Plan(start, stages, notes, accuracy, problem, unit, assumptions=conditions, paper=paper)


Made = tuple[tuple[tuple[Method, int], ...], tuple[str, ...], tuple[Assumption, ...], str]


def _bring_down(
    problem: LeastSquares, g0: float | None, unit: Any, limit: float, goal: float
) -> Approach | None:
    """The stage that brings the scale down to `goal`, where the start is too far out."""
    orthogonal = limit == float(np.linalg.norm(problem.target))
    share = 1.0 if not orthogonal else NEAR if unit is not None else NEAREST
    if g0 is None or abs(g0) <= share * limit:
        return None
    if unit is None:
        raise ValueError(
            f"scale = {g0:g} is above {share * limit:.4g}, up to which there is a guarantee from "
            f"any direction; give {'direction' if problem.needs_direction else 'start_values'}= as "
            "well, or leave scale out"
        )
    return approach(problem, abs(g0), unit if g0 > 0 else -unit, goal)


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def _from_zero(problem: LeastSquares, g0: float, share: float, accuracy: float, unit: Any) -> Plan:
    """x0 is zero, or so small that what it has off the row space may stay: gradient descent alone.

    ‖x⊥‖ ≤ SMALL·accuracy·g* stays, and the rest starts within (1 + SMALL)·g* of x*.
    """
    rate = -np.log1p(-share) if share < 1.0 - EQUAL else np.inf
    wanted = np.log((1.0 + SMALL) / (min(accuracy, 1.0) * (1.0 - SMALL)))
    count = max(1, int(np.ceil(wanted / rate))) if accuracy < 1.0 + SMALL else 0
    note = f"{_steps(count)}: gradient descent, step 1/λmax; so small a start has nothing to forget"
    stages: tuple[tuple[Method, int], ...] = ((GradientDescent(schedules.curvature()), count),)
    paper = "the contraction of gradient descent by 1 − λmin/λmax"
    return Plan(g0, stages, (note,), accuracy, problem, unit, paper=paper)


def _orthogonal(gstar: float, curvature: float, g0: float, accuracy: float) -> Made:
    """Case (b) with γ = 1: ‖x − x*‖² ≤ ‖r‖² + g²‖w⊥‖² ≤ (6.25ε⁴ + ε²/(1 − ε²)) g*²."""
    low, high = 0.0, 0.499
    for _ in range(200):
        middle = 0.5 * (low + high)
        fine = 6.25 * middle**4 + middle**2 / (1.0 - middle**2) <= min(accuracy, 1.0) ** 2
        low, high = (middle, high) if fine else (low, middle)
    phases = two_phase_b(gstar, g0, low, second_step=1.0)
    thaw = schedules.two_phase(0.0, 1.0 / curvature, phases.first)
    stages: tuple[tuple[Method, int], ...] = ((RPGD(schedules.curvature(), thaw), phases.total),)
    second = f"{_steps(phases.second)}: phase two (T2 = {phases.second}), γ = {1 / curvature:.4g}: "
    second += f"the scale moves to ‖x*‖ = {gstar:.4g}"
    if phases.second == 0:
        second = f"phase two needs no step: the scale is within the accuracy of ‖x*‖ = {gstar:.4g}"
    notes = (
        f"{_steps(phases.first)}: phase one of rPGD (T1 = {phases.first}), η = 1/(g²λmax), γ = 0: "
        f"‖w⊥‖ ≤ {low:.2g}",
        second,
    )
    return stages, notes, (assume("AAᵀ is a multiple of I", True),), "Theorem 3.2 (b)"


def _general(
    gstar: float, smallest: float, largest: float, g0: float, perp: float, accuracy: float
) -> Made:
    """rPGD at a fixed scale until g0‖w⊥‖ ≤ accuracy·g*/√2, then gradient descent, which keeps that
    and contracts the rest.
    """
    share = min(accuracy, 1.0) * gstar / np.sqrt(2.0)
    wanted = min(1.0, share / g0)
    first = safe_scale_steps(perp, wanted, DELTA) if perp > 0 else 0
    rate = -np.log1p(-smallest / largest)
    second = max(0, int(np.ceil(np.log((g0 + gstar) / share) / rate)))
    stages: tuple[tuple[Method, int], ...] = (
        (RPGD(schedules.curvature(), 0.0), first),
        (GradientDescent(schedules.curvature()), second),
    )
    fixed = (
        f"{_steps(first)}: rPGD at the fixed scale {g0:.4g} (T1 = {first}), η = 1/(g²λmax), γ = 0: "
        f"‖w⊥‖ falls to {wanted:.2g}, by 1 + δ = {1 + DELTA:g} or more per step (δ = {DELTA:g})"
    )
    if first == 0:
        fixed = f"rPGD needs no step: ‖w⊥‖ = {perp:.2g} is small enough at the scale {g0:.4g}"
    rest = (
        f"{_steps(second)}: gradient descent (T2 = {second}), step 1/λmax: the rest of the error "
        f"shrinks by 1 − λmin/λmax = {1 - smallest / largest:.4g} per step"
    )
    if second == 0:
        rest = "gradient descent needs no step: the start is within the accuracy"
    conditions = (assume("λmin > 0", smallest > 0),)
    return stages, (fixed, rest), conditions, "Proposition 3.3, and gradient descent after it"
