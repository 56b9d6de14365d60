"""plan(): a start scale and a two-phase method with a guaranteed number of steps, from the
theory's bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _validate, schedules
from .methods import RPGD, GradientDescent
from .methods.contract import Method
from .problems import LeastSquares
from .result import Result
from .run import run
from .theory import general_matrix, general_matrix_steps, two_phase_b
from .theory.statement import Statement, assume

EQUAL = 1e-12
DELTA = 1.0  # δ of Proposition 3.3: ‖w⊥‖ at least halves every step


@dataclass(frozen=True)
class Plan(Statement):
    """A guaranteed way to the minimum-norm solution.

    Attributes
    ----------
    scale : float
        The start scale g0.
    stages : tuple of (method, number of steps)
        One stage for orthogonal A (rPGD, two-phase); for general A rPGD at a fixed scale, then
        gradient descent.
    num_steps : int
        Steps of all stages.
    accuracy : float
        ‖x − x*‖ ≤ accuracy·‖x*‖ after them, from any direction.
    """

    scale: float
    stages: tuple[tuple[Method, int], ...]
    accuracy: float
    problem: LeastSquares = field(repr=False)

    @property
    def num_steps(self) -> int:
        """Steps of all stages."""
        return sum(steps for _, steps in self.stages)

    @property
    def method(self) -> Method:
        """The method of the first stage, the only one for orthogonal A."""
        return self.stages[0][0]

    def run(self, direction: Any) -> Result:
        """Run all stages from this direction."""
        result: Result | None = None
        for method, steps in self.stages:
            if result is None:
                result = run(
                    method, self.problem, self.scale, direction, tolerance=0, max_steps=steps
                )
            else:
                result = run(method, self.problem, start=result, tolerance=0, max_steps=steps)
        assert result is not None
        return result


def plan(problem: LeastSquares, accuracy: float) -> Plan:
    """A start scale and a method that reach ‖x − x*‖ ≤ accuracy·‖x*‖ in a guaranteed number of
    steps.

    Parameters
    ----------
    problem : LeastSquares
        With y ≠ 0 (in A's reach).
    accuracy : float
        Relative to ‖x*‖, greater than 0.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> plan = wn.theory.plan(problem, accuracy=1e-3)
    >>> result = plan.run(wn.datasets.random_direction(50, seed=0))
    >>> result.distance <= 1e-3 * 3.0, plan.num_steps
    (True, 68)
    """
    _validate.instance("problem", problem, LeastSquares, use="wn.LeastSquares(A, y)")
    target = _validate.real("accuracy", accuracy, minimum=1e-100)
    lam = problem.factorisation.singular_values**2
    gstar = float(np.linalg.norm(problem.target))
    if gstar == 0.0:
        raise ValueError(
            "y is zero, or wholly out of A's reach: x* = 0 is where you already are at scale 0"
        )
    if not np.isfinite(gstar):
        raise ValueError("problem has a y so large against A that ‖x*‖ overflows; rescale them")
    largest, smallest = float(lam.max()), float(lam.min())
    if smallest >= largest * (1.0 - EQUAL):
        return _plan_orthogonal(problem, gstar, largest, target)
    return _plan_general(problem, gstar, smallest, largest, target)


def _plan_orthogonal(
    problem: LeastSquares, gstar: float, curvature: float, accuracy: float
) -> Plan:
    """Case (b) with γ = 1: ‖x − x*‖² ≤ ‖r‖² + g²‖w⊥‖² ≤ (6.25ε⁴ + ε²/(1 − ε²)) g*²."""
    low, high = 0.0, 0.499
    for _ in range(200):
        middle = 0.5 * (low + high)
        fine = 6.25 * middle**4 + middle**2 / (1.0 - middle**2) <= min(accuracy, 1.0) ** 2
        low, high = (middle, high) if fine else (low, middle)
    phases = two_phase_b(gstar, 0.1 * gstar, low, second_step=1.0)
    thaw = schedules.two_phase(0.0, 1.0 / curvature, phases.first)
    method = RPGD(schedules.curvature(), thaw)
    stages: tuple[tuple[Method, int], ...] = ((method, phases.total),)
    equal = assume("AAᵀ is a multiple of I", True)
    return Plan(
        0.1 * gstar, stages, accuracy, problem, assumptions=(equal,), paper="Theorem 3.2 (b)"
    )


def _plan_general(
    problem: LeastSquares, gstar: float, smallest: float, largest: float, accuracy: float
) -> Plan:
    """rPGD at a fixed scale until g0‖w⊥‖ ≤ accuracy·g*/√2, then gradient descent, which keeps
    that and halves the rest.
    """
    share = min(accuracy, 1.0) * gstar / np.sqrt(2.0)
    g0 = general_matrix(gstar, smallest, largest, DELTA).value
    first = general_matrix_steps(1.0, min(1.0, share / g0), DELTA)
    second = max(0, int(np.ceil(np.log((g0 + gstar) / share) / -np.log1p(-smallest / largest))))
    stages: tuple[tuple[Method, int], ...] = (
        (RPGD(schedules.curvature(), 0.0), first),
        (GradientDescent(schedules.curvature()), second),
    )
    reach = assume("λmin > 0", smallest > 0)
    return Plan(
        g0,
        stages,
        accuracy,
        problem,
        assumptions=(reach,),
        paper="Proposition 3.3, and gradient descent after it",
    )
