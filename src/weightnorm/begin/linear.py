"""Runs on problems of A x: from a method and a start to runs in reduced or full coordinates, and from their end to a Result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _validate
from .._resume import Deferred, Resume
from .._validate import Vector
from ..loops.compiled import CompiledRuns, RawState, fresh_state
from ..loops.drive import divergence_limit
from ..loops.plain import PlainRuns
from ..loops.recording import Recorder
from ..loops.watch import Watch
from ..methods.base import Method, State
from ..methods.weight_norm import WeightNorm
from ..problems import GeneralizedLinear, LeastSquares
from ..result import Result, Status
from ..rowspace import Frame, ReducedProblem, RowSpace
from .check import check_scale
from .own_method import private_copy, runs_reduced, why_full

Linear = LeastSquares | GeneralizedLinear


@dataclass(eq=False)
class LinearRun:
    """A run under way: its runs (one), the axes that lead back from reduced coordinates, and what watches it."""

    runs: CompiledRuns | PlainRuns
    problem: Linear
    frame: Frame | None
    limit: float
    watch: Watch
    clock: int
    method: Method
    note: str = ""

    @property
    def floor(self) -> float | None:
        """The smallest loss there is, where it is known."""
        return self.problem.floor if self.frame is not None or self.problem.is_factorised else None

    @property
    def reference(self) -> float:
        """The loss at zero weights."""
        return self.problem.zero_loss

    @property
    def state(self) -> RawState | State:
        """The exact state, so that going on equals never having stopped."""
        return self.runs.raw() if isinstance(self.runs, CompiledRuns) else self.runs.state

    def result(self, status: Status, message: str, recorder: Recorder | None) -> Result:
        """Where the run ended, in the problem's own coordinates."""
        runs, problem = self.runs, self.problem
        position = runs.position()
        scale, unit, ended = float(position.scale[0]), position.unit[0], int(runs.ended_at[0])
        perp: float | None = abs(scale * float(position.perp[0]))
        distance: float | None = None
        if self.frame is not None:
            distance = np.nan
            if isinstance(runs.problem, ReducedProblem):
                distance = float(np.linalg.norm(scale * unit - np.append(runs.problem.target, 0.0)))
            unit = self.frame.lift(unit)
        weights = scale * unit
        if not np.isfinite(position.perp[0]) and np.isfinite(weights).all():
            perp = None
        return Result(
            weights=weights,
            scale=scale,
            direction=unit,
            norm=abs(scale),
            loss=float(runs.loss[0]),
            num_steps=ended - self.clock,
            status=status,
            message=message + self.note,
            history=None if recorder is None else recorder.history(),
            direction_norm=float(position.direction_norm[0]),
            total_steps=ended,
            _perp_norm=perp,
            _distance=distance,
            _measure=Deferred(_measure, problem, (weights,)),
            _resume=Resume(
                method=self.method,
                problem=problem,
                state=self.state,
                clock=ended,
                limit=self.limit,
                watch=self.watch.copy(),
                axes=None if self.frame is None else (self.frame.perp_unit, self.frame.rests),
                working=None if runs.method is self.method else runs.method,
            ),
        )


@dataclass(frozen=True, eq=False)
class _Start:
    """Where to start: scale, unit direction, step number; the result to go on from and, if it is the same run, its end."""

    scale: float
    unit: Vector
    clock: int = 0
    result: Result | None = None
    same: Resume | None = None


def begin(
    method: Method,
    problem: Linear,
    scale: Any,
    direction: Any,
    start: Result | None,
    tolerance: float,
    reduced: bool,
    recording: bool,
) -> LinearRun:
    """A run about to start, or to go on."""
    note = ""
    if reduced and not runs_reduced(method):
        reduced, note = False, why_full(method)
    if start is not None:
        origin = _continuation(method, problem, start, reduced)
    else:
        unit = _validate.direction("direction", direction, problem.shape[1])
        origin = _Start(_validate.real("scale", scale), unit)
    check_scale(method, problem, np.array([origin.scale]))
    same = None if origin.same is None else origin.same.working
    working = private_copy(method if same is None else same)
    if reduced:
        run = _begin_reduced(working, problem, origin, tolerance)
    else:
        run = _begin_full(working, problem, origin, tolerance, recording)
    return replace(run, method=method, note=note)


def _continuation(method: Method, problem: Linear, start: Result, reduced: bool) -> _Start:
    if start.weights.shape != (problem.shape[1],):
        raise ValueError(f"start has {start.weights.size} weights, the problem has {problem.shape[1]} features")
    if not (np.isfinite(start.weights).all() and np.isfinite(start.scale)):
        raise ValueError("start has weights that are not finite (it diverged); start from an earlier result")
    unit = start.direction
    if not unit.any():
        if method.has_scale:
            raise ValueError("start has zero weights, so no direction to go on with; give scale and direction")
        unit = np.eye(1, problem.shape[1])[0]  # gradient descent at scale 0: any direction will do
    end = start._resume
    if not end.continues(method, problem):
        return _Start(start.scale, unit, 0, start)
    fits = (end.axes is not None) == reduced and isinstance(end.state, RawState) <= CompiledRuns.can_run(method)
    return _Start(start.scale, unit, end.clock, start, end if fits else None)


def _begin_reduced(method: Method, problem: Linear, origin: _Start, tolerance: float) -> LinearRun:
    space = RowSpace(problem)
    reduced = space.reduced
    if origin.same is not None:
        frame = Frame(space, *origin.same.axes)
        state, limit = origin.same.state, np.array([origin.same.limit])
    else:
        entered, frame = space.start(origin.unit)
        limit = divergence_limit(reduced.value_and_gradient(origin.scale * entered[None])[0], problem.zero_loss)
        rule, scale = _with_norm(method, origin.result), np.array([origin.scale])
        if isinstance(reduced, ReducedProblem) and CompiledRuns.can_run(method):
            state = fresh_state(rule, reduced, entered[None], scale, limit)
        else:
            state = rule.init(scale, entered[None])
    watch = Watch() if origin.same is None else origin.same.watch.copy()
    if isinstance(state, RawState):
        assert isinstance(reduced, ReducedProblem)
        runs: CompiledRuns | PlainRuns = CompiledRuns(method, reduced, state, origin.clock, tolerance)
    else:  # another loss, or a method of the user's own: the rules in NumPy, in the same coordinates
        last = np.eye(1, state.vector.shape[1], state.vector.shape[1] - 1)
        runs = PlainRuns(method, reduced, state, origin.clock, tolerance, limit, last)
    return LinearRun(runs, problem, frame, float(limit[0]), watch, origin.clock, method)


def _begin_full(method: Method, problem: Linear, origin: _Start, tolerance: float, recording: bool) -> LinearRun:
    if origin.same is not None:
        state, limit, watch = origin.same.state, np.array([origin.same.limit]), origin.same.watch.copy()
        assert isinstance(state, State)
    else:
        state = _with_norm(method, origin.result).init(np.array([origin.scale]), origin.unit[None])
        limit = divergence_limit(np.atleast_1d(problem.value(origin.scale * origin.unit)), problem.zero_loss)
        watch = Watch()
    follow = perp_direction(problem, origin.unit)[None] if recording or problem.is_factorised else None
    return LinearRun(
        PlainRuns(method, problem, state, origin.clock, tolerance, limit, follow),
        problem,
        None,
        float(limit[0]),
        watch,
        origin.clock,
        method,
    )


def perp_direction(problem: Linear, unit: Vector) -> Vector:
    """The unit vector along a direction's part off the row space; zero if it has none."""
    rest = problem.split(unit)[1]
    size = float(np.linalg.norm(rest))
    return rest if not np.isfinite(size) else rest / size if size > 1e-12 else np.zeros_like(rest)


def _with_norm(method: Method, start: Result | None) -> Method:
    """WN going on from WN keeps ‖w‖, even if its steps have changed."""
    if isinstance(method, WeightNorm) and start is not None and start.direction_norm != 1.0:
        return replace(method, initial_norm=start.direction_norm)
    return method


def _measure(problem: Linear, weights: Vector) -> tuple[float, float]:
    """‖x⊥‖ and ‖x − x*‖ of weights, for a run that did not factorise A."""
    if isinstance(problem, GeneralizedLinear):
        return float(np.linalg.norm(problem.split(weights)[1])), np.nan
    best = problem.min_norm_solution(iterative=not problem.is_factorised)
    return float(np.linalg.norm(problem.split(weights)[1])), float(np.linalg.norm(weights - best))
