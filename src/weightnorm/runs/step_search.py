"""The paper's search for a step size on matrix sensing, and what it hides: the answer as the
step is refined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._support import validate
from .._support.pool import available_cores
from ..engine.batch import Start
from ..engine.loop import Policy, loop, quietly
from ..engine.start import backend_of, check_method, check_scale, start
from ..methods.contract import Method
from ..problems import MatrixSensing
from ..problems.contract import require_problem
from .contest import Contest, StepSearch

Rule = Callable[[float], Method]

MAX_BUDGET = 10**9  # steps of the last refinement, at most: an hour and more


def search_step(
    problem: MatrixSensing,
    rule: Rule,
    scale: Any,
    direction: Any,
    *,
    largest: float = 0.5,
    num_candidates: int = 16,
    refinements: int = 4,
    tolerance: float = 1e-6,
    max_steps: int = 40_000,
    threads: int | None = None,
) -> StepSearch:
    """Find a step for matrix sensing: halve it until a run converges, then go on halving.

    Halving until a run converges is what the paper does. The first step that converges sits at the
    edge of stability, and where it ends depends on it; the refined answers show what small steps
    give. All candidates advance together and share their matrix products; one that cannot converge
    is dropped as soon as it shows: it diverges, or its loss stays above 1e-3 going up and down
    while its best shrinks by less than 2 % in 2,000 steps.

    Parameters
    ----------
    problem : MatrixSensing
        The measurements.
    rule : callable
        step -> method, for instance `lambda c: wn.RPGD(c, c)`.
    scale, direction
        The start, as in `run`.
    largest : float
        The first candidate; greater than 0.
    num_candidates : int
        How many candidates: largest/2^k for k = 0 … num_candidates − 1.
    refinements : int
        Halvings beyond the first step that converged.
    tolerance : float
        A run converges at the first iterate with loss <= tolerance; greater than 0.
    max_steps : int
        Updates for one candidate; each halving beyond the first that converged has twice as many.
    threads : int, optional
        All cores by default.

    Returns
    -------
    StepSearch
        The first step that converged, all candidates, and the refined answers.

    Raises
    ------
    TypeError
        If the problem is not a MatrixSensing, or the rule gives a method that is not compiled: one
        of your own, or one with momentum, random steps, decay or clipping.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_sensing(size=8, rank=1, num_measurements=24, seed=0)
    >>> start = wn.datasets.sensing_start(8, alpha=0.1, seed=0)
    >>> search = wn.search_step(problem, lambda c: wn.RPGD(c, c, blocks="columns"), **start)
    >>> search.found and search.step < 0.5
    True
    """
    task = (rule, scale, direction)
    return search_steps(
        problem, [task], largest, num_candidates, refinements, tolerance, max_steps, threads
    )[0]


@quietly
def search_steps(
    problem: MatrixSensing,
    tasks: Sequence[tuple[Rule, Any, Any]],
    largest: float = 0.5,
    num_candidates: int = 16,
    refinements: int = 4,
    tolerance: float = 1e-6,
    max_steps: int = 40_000,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[StepSearch]:
    """Run `search_step` for many (rule, scale, direction) on one problem, all together.

    Parameters
    ----------
    problem : MatrixSensing
        The measurements.
    tasks : sequence of (rule, scale, direction)
        One search each; see `search_step`.
    largest, num_candidates, refinements, tolerance, max_steps, threads
        As in `search_step`.
    progress : callable, optional
        Called as progress(ended, total) with the numbers of runs.

    Returns
    -------
    list of StepSearch
        One per task.
    """
    if not require_problem(problem).has_columns:
        raise TypeError(
            f"problem must be a MatrixSensing, got {type(problem).__name__}; search_step is for "
            "matrix sensing"
        )
    first = validate.real("largest", largest, minimum=0.0, strict=True)
    count = validate.integer("num_candidates", num_candidates, minimum=1)
    refinements = validate.integer("refinements", refinements)
    if count + refinements > 100:
        raise ValueError(
            f"num_candidates and refinements must be at most 100 together, got {count} and "
            f"{refinements}"
        )
    tolerance = validate.real("tolerance", tolerance, minimum=0.0, strict=True)
    max_steps = validate.integer("max_steps", max_steps, minimum=1, maximum=MAX_BUDGET)
    if max_steps * 2**refinements > MAX_BUDGET:
        most = (MAX_BUDGET // max_steps).bit_length() - 1
        raise ValueError(
            f"refinements must be at most {most} with max_steps = {max_steps}, got {refinements}: "
            f"each halving may take twice the steps, and {MAX_BUDGET:,} is the most there may be"
        )
    workers = (
        available_cores() if threads is None else validate.integer("threads", threads, minimum=1)
    )
    if not tasks:
        return []
    steps = [first / 2**k for k in range(count + refinements)]  # the last ones only refine
    methods, starts = [], []
    for rule, scale, direction in tasks:
        validate.function("rule", rule)
        for step in steps:
            method = validate.answer(f"rule({step:g})", rule, step)
            if not backend_of(method, problem).shares_methods:
                raise TypeError(
                    "rule must give a GradientDescent, WeightNorm or RPGD, got "
                    f"{type(method).__name__}; and the search runs compiled, so it must have "
                    "neither momentum nor random steps, no decay and no clipping, and "
                    "NUMBA_DISABLE_JIT must not be set"
                )
            check_method(method, problem)
            unit = problem.unit_direction("direction", direction, method.per_column)
            g = problem.start_scale(scale, unit, method.per_column)
            check_scale(method, problem, g)
            methods.append(method)
            starts.append(Start(method.own_scale(problem, g, unit[None]), unit[None]))
    batch = start(methods, problem, starts, tolerance, threads=workers)
    contest = Contest(batch, len(tasks), count, refinements, max_steps, tolerance, progress)
    loop(batch, Policy(tolerance, max_steps * 2**refinements, contest))
    return contest.searches(batch, steps)
