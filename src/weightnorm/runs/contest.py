"""The candidates of a step search, and which of them are still needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Matrix
from ..engine.batch import Batch
from ..engine.stopping import StoppingRule
from ..problems.sensing.factors import nuclear_norm
from .result import Status

HIGH_LOSS = 1e-3  # above this …
IMPROVEMENT = 0.98  # … a best loss that has not shrunk to this share of itself …
# … in so many steps, by a loss that goes up and down, means that the step is too large
PATIENCE = 2_000
SLICE = 500


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


class Contest(StoppingRule):
    """Who is still needed: the rule of a search, called every SLICE steps. Arrays are (task,
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
