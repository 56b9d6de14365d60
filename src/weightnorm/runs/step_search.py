"""The paper's search for a step size on matrix sensing, and what it hides: the answer as the
step is refined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.pool import available_cores
from .._support.validate import Matrix
from ..engine.batch import Batch, Start
from ..engine.loop import Judge, Policy, loop, quietly
from ..engine.start import backend_of, check_method, check_scale, columns, own_scale, start
from ..methods.contract import Array, Method
from ..problems import MatrixSensing
from ..problems.sensing.matrix_sensing import nuclear_norm
from .result import Status

Rule = Callable[[float], Method]

HIGH_LOSS = 1e-3  # above this …
IMPROVEMENT = 0.98  # … a best loss that has not shrunk to this share of itself …
# … in so many steps, by a loss that goes up and down, means that the step is too large
PATIENCE = 2_000
SLICE = 500
MAX_BUDGET = 10**9  # steps of the last refinement, at most: an hour and more


@dataclass(frozen=True, eq=False)
class Candidate:
    """One step that a search tried, and where its run ended.

    Attributes
    ----------
    step : float
        The step.
    status : Status
        How the run ended.
    num_steps : int
        How many updates it made.
    loss, norm : float
        The loss and the nuclear norm of X at the end.
    weights : (d, d) array
        X at the end.
    """

    step: float
    status: Status
    num_steps: int
    loss: float
    norm: float
    weights: Matrix


@dataclass(frozen=True, eq=False)
class StepSearch:
    """What `search_step` found: the first step that converges, and how the answer changes below it.

    Attributes
    ----------
    found : bool
        Whether any candidate converged within max_steps.
    step, norm : float
        The first step that converged, and the nuclear norm there: what the paper reports. NaN if
        none did.
    candidates : tuple of Candidate
        Those tried, the largest step first; a candidate dropped because it could not converge
        counts as diverged, one dropped because it was not needed as max_steps.
    refined : tuple of Candidate
        The first that converged and those after it, each with half the step of the one before.
    limit : float
        The norm at the smallest refined step.
    change : float
        By how much the last halving changed it: how far `limit` may still be from the answer of
        infinitely small steps.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_sensing(size=8, rank=1, num_measurements=24, seed=0)
    >>> start = wn.datasets.sensing_start(8, alpha=0.1, seed=0)
    >>> rule = lambda c: wn.RPGD(c, c, blocks="columns")
    >>> search = wn.search_step(problem, rule, **start, refinements=2)
    >>> len(search.refined), search.change < 1.0
    (3, True)
    """

    candidates: tuple[Candidate, ...]
    refined: tuple[Candidate, ...]

    @property
    def found(self) -> bool:
        """Whether any candidate converged within max_steps."""
        return bool(self.refined)

    @property
    def step(self) -> float:
        """The first step that converged; NaN if none did."""
        return self.refined[0].step if self.refined else math.nan

    @property
    def norm(self) -> float:
        """The nuclear norm at the first step that converged; NaN if none did."""
        return self.refined[0].norm if self.refined else math.nan

    @property
    def limit(self) -> float:
        """The nuclear norm at the smallest refined step; NaN if none converged."""
        return self.refined[-1].norm if self.refined else math.nan

    @property
    def change(self) -> float:
        """|limit − the norm at twice its step|; NaN with a single step."""
        return (
            abs(self.refined[-1].norm - self.refined[-2].norm)
            if len(self.refined) > 1
            else math.nan
        )

    def __repr__(self) -> str:
        if not self.found:
            return f"StepSearch(none of {len(self.candidates)} steps converged)"
        return (
            f"StepSearch(first step={self.step:g}: norm={self.norm:.6g}; refined: {self.limit:.6g} "
            f"± {self.change:.2g})"
        )


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
        If the problem is no MatrixSensing, or the rule gives a method that is not compiled: one of
        your own, or one with momentum, random steps, decay or clipping.

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
    if getattr(problem, "backend", None) != "sensing":
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
                    f"{type(method).__name__}; and the search runs "
                    "compiled, so it must have neither momentum nor random steps, no decay and no "
                    "clipping, and NUMBA_DISABLE_JIT must not be set"
                )
            check_method(method, problem)
            unit = problem.unit_direction("direction", direction, columns(method))
            g = problem.start_scale(scale, unit, columns(method))
            check_scale(method, problem, g)
            methods.append(method)
            starts.append(Start(own_scale(method, problem, g, unit[None]), unit[None]))
    batch = start(methods, problem, starts, tolerance, threads=workers)
    contest = _Contest(batch, len(tasks), count, refinements, max_steps, tolerance, progress)
    loop(batch, Policy(tolerance, max_steps * 2**refinements, contest))
    return contest.searches(batch, steps)


class _Contest(Judge):
    """Who is still needed: the judge of a search, called every SLICE steps. Arrays are (task,
    candidate).
    """

    active = True

    def __init__(
        self,
        batch: Batch,
        num_tasks: int,
        eligible: int,
        refinements: int,
        max_steps: int,
        tolerance: float,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.progress = progress
        self.shape = (num_tasks, eligible + refinements)
        self.eligible, self.refinements, self.max_steps, self.tolerance = (
            eligible,
            refinements,
            max_steps,
            tolerance,
        )
        self.best = np.full(self.shape, np.inf)
        self.best_before = np.full(self.shape, np.inf)
        self.hopeless = np.zeros(self.shape, dtype=bool)  # diverged, or will not converge
        self.unneeded = np.zeros(self.shape, dtype=bool)
        self.winner = np.full(num_tasks, -1)
        ends = np.array(
            [np.inf if s.settled_from is None else s.settled_from for s in batch.schedules]
        )
        self.settled = ends.reshape(*self.shape, 2).max(axis=2)

    def until(self, batch: Batch) -> int:
        """The step number of the next judgement: a multiple of SLICE, or where a budget ends."""
        clock, budgets = batch.clock, [self.max_steps * 2**k for k in range(self.refinements + 1)]
        self.due = int(
            min([clock + SLICE - clock % SLICE, *(budget for budget in budgets if budget > clock)])
        )
        return self.due

    def after(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Which runs to end now."""
        if batch.clock < self.due and batch.alive.any():
            return None
        ended = self._judge(batch)
        if self.progress is not None:
            self.progress(int((~batch.alive | ended).sum()), batch.alive.size)
        return ended

    def at_end(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Nothing more."""
        return None

    def _judge(self, runs: Batch) -> NDArray[np.bool_]:
        alive, loss = runs.alive.reshape(self.shape), runs.loss.reshape(self.shape)
        steps = runs.ended_at.reshape(self.shape)
        converged = ~alive & (loss <= self.tolerance)
        stalled = self._stalled(runs.clock, alive, loss)
        self.hopeless |= stalled | (~alive & ~converged & ~self.unneeded)
        in_time = converged & (steps <= self.max_steps) & (np.arange(self.shape[1]) < self.eligible)
        failed = self.hopeless | (~in_time & (steps >= self.max_steps))
        # The winner is known when a candidate has converged and all larger ones have failed.
        first = in_time & (np.cumsum(failed, axis=1) - failed == np.arange(self.shape[1]))
        self.winner = np.where(
            (self.winner < 0) & first.any(axis=1), first.argmax(axis=1), self.winner
        )
        self.unneeded |= alive & ~stalled & self._unneeded(steps)
        return np.asarray(alive & (self.unneeded | stalled)).ravel()

    def _stalled(self, clock: int, alive: NDArray[np.bool_], loss: Array) -> NDArray[np.bool_]:
        """Which runs go up and down without getting anywhere, judged only while their steps have
        been constant.
        """
        with np.errstate(invalid="ignore"):
            self.best = np.fmin(self.best, loss)
            if clock % PATIENCE:
                return np.zeros(self.shape, dtype=bool)
            rough = (
                (loss > HIGH_LOSS)
                & (loss > 1.000001 * self.best)
                & (self.best > IMPROVEMENT * self.best_before)
            )
            stalled = alive & rough & (self.settled + PATIENCE <= clock)
        judged = self.settled <= clock  # a phase before that may have had a loss of its own
        self.best = np.where(judged, self.best, np.inf)
        self.best_before = self.best.copy()
        return np.asarray(stalled)

    def _unneeded(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        halvings = np.arange(self.shape[1]) - self.winner[:, None]
        known = self.winner[:, None] >= 0
        budget = self.max_steps * 2.0 ** np.clip(halvings, 0, self.refinements)
        late = steps >= np.where(known, budget, self.max_steps)
        return np.asarray(late | (known & ((halvings > self.refinements) | (halvings < 0))))

    def searches(self, runs: Batch, steps: list[float]) -> list[StepSearch]:
        """What was found, task by task."""
        position = runs.position()
        X = runs.problem.weights(position.unit, position.scale)
        shape = self.shape
        ends = (
            runs.loss.reshape(shape),
            runs.ended_at.reshape(shape),
            nuclear_norm(X).reshape(shape),
            X.reshape(*shape, *X.shape[1:]),
        )
        answers = []
        for task, winner in enumerate(self.winner):
            row = [
                Candidate(
                    step, self._status(task, k, loss), int(ended), float(loss), float(norm), matrix
                )
                for k, (step, loss, ended, norm, matrix) in enumerate(
                    zip(steps, *(v[task] for v in ends), strict=True)
                )
            ]
            chain = row[winner : winner + self.refinements + 1] if winner >= 0 else []
            kept = next((i for i, c in enumerate(chain) if c.status != "converged"), len(chain))
            tried = row[: max(self.eligible, winner + self.refinements + 1 if winner >= 0 else 0)]
            answers.append(StepSearch(tuple(tried), tuple(chain[:kept])))
        return answers

    def _status(self, task: int, k: int, loss: float) -> Status:
        if loss <= self.tolerance:
            return Status.CONVERGED
        return Status.DIVERGED if self.hopeless[task, k] else Status.MAX_STEPS
