"""From what a user asks to a run under way, and from its end to a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.numeric import Array
from ..engine.backends.raw_state import by_names
from ..engine.batch import KEPT_BY_LANES, Batch, Start
from ..engine.coordinates import coordinates as coordinates_of
from ..engine.coordinates import enter, perp_units_of, runs_reduced
from ..engine.recording import Recorder, make_history
from ..engine.start import check_scale, private_copy
from ..engine.start import start as start_batch
from ..engine.stopping import StoppingRule, rule_for
from ..methods import Method
from ..problems import Lifter, Problem
from .result import Result, Status
from .resume import Deferred, Resume

UNIT = 1e-12  # how far from 1 the norm of a unit direction may be by rounding
SAME_PLACE = 1e-6  # relative: other coordinates are off by as much as the weights themselves


@dataclass(frozen=True)
class RunOptions:
    """How far a run goes, what it records, and in which coordinates; as in `run`, checked.

    Attributes
    ----------
    tolerance : float
    max_steps : int
    every : int or None
        The spacing of the records.
    kept : tuple of str
        What they hold besides their few numbers.
    reduced : bool
    """

    tolerance: float
    max_steps: int
    every: int | None
    kept: tuple[str, ...]
    reduced: bool

    @property
    def keeps_directions(self) -> bool:
        """Whether records hold whole directions."""
        return not {"direction", "weights"}.isdisjoint(self.kept)


@dataclass(frozen=True, eq=False)
class StartPoint:
    """Where a run starts, in the problem's own coordinates.

    Attributes
    ----------
    scale : (1,) array, or (1, r) with one scale per column
    unit : (d,) array, or (d, r)
        The unit direction itself, not a view of it: a Dask array is known by its name.
    clock : int
        The step number at which schedules begin.
    norm : array, optional
        ‖w0‖ where it goes on from a run whose method leaves it free.
    """

    scale: Array
    unit: Any
    clock: int = 0
    norm: Array | None = None


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where a run began, which may have been in an earlier call.

    Attributes
    ----------
    norm : float
        ‖w0‖.
    scale : float
        g0, where this part of the run began; the first of several.
    origin : (float, array) or None
        g0 and the unit direction where the schedules began; None with a scale per column.
    """

    norm: float
    scale: float
    origin: tuple[float, Array] | None


@dataclass(frozen=True, eq=False)
class Run:
    """A run under way.

    Attributes
    ----------
    method, problem
        As the user gave them.
    batch : Batch
        Of one, in its coordinates; its method is a working copy.
    lifter : Lifter
        What leads back from these.
    stopping : StoppingRule
        What looks whether it stands still.
    beginning : Beginning
    clock : int
        The step number at which this part of it began.
    reduced : bool
        Whether reduced coordinates were asked for.
    expand : callable or None
        What makes dual coefficients of weights, where the problem has them.
    """

    method: Method
    problem: Problem
    batch: Batch
    lifter: Lifter
    stopping: StoppingRule
    beginning: Beginning
    clock: int
    reduced: bool
    expand: Any

    def stands_at(self, weights: Array) -> bool:
        """Whether the run stands at these weights; after a round trip to another machine its
        coordinates may not.
        """
        position = self.batch.position()
        here = self.problem.weights(self.lifter.lift(position.unit[0])[None], position.scale)[0]
        return bool(np.abs(here - weights).max() <= SAME_PLACE * np.abs(weights).max())

    def result(
        self, status: Status, message: str, recorder: Recorder | None, kept: tuple[str, ...]
    ) -> Result:
        """Where the run ended, in the problem's own coordinates."""
        batch, problem, position = self.batch, self.problem, self.batch.position()
        ended, scale = int(batch.ended_at[0]), position.scale
        found = batch.problem.summary(position.unit, scale, position.perp, measured=False)
        unit = self.lifter.lift(position.unit[0])
        weights = problem.weights(unit[None], scale)[0]
        # no more can be found out later
        final = not (np.isfinite(position.unit).all() and np.isfinite(scale).all())
        final |= not problem.can_measure
        perp, distance = (_number(found.get(name), final) for name in ("perp_norm", "distance"))
        if self.reduced and not runs_reduced(self.method):
            message += (
                f"; ran in full coordinates, because {type(self.method).__name__} does not say "
                "rotation_equivariant = True (true of a rule that sees lengths and angles only)"
            )
        arguments = weights, self.method.per_column
        return Result(
            weights=weights,
            scale=_first(scale),
            direction=unit,
            norm=float(found["norm"][0]),
            loss=float(batch.loss[0]),
            num_steps=ended - self.clock,
            status=status,
            message=message,
            history=None if recorder is None else make_history(self, recorder, kept),
            direction_norm=_first(position.direction_norm),
            total_steps=ended,
            _perp_norm=None if perp is not None and np.isnan(perp) and not final else perp,
            _distance=distance,
            _measure=Deferred(type(problem).perp_and_distance, problem, arguments),
            _resume=self._end(ended),
            _expand=self.expand,
        )

    def _end(self, clock: int) -> Resume:
        """What it needs to go on."""
        batch = self.batch
        return Resume(
            method=self.method,
            problem=self.problem,
            kind=type(batch).__name__,
            state=batch.state(),
            clock=clock,
            divergence_loss=batch.divergence_loss[:1],
            stopping=self.stopping.copy(),
            reduced=self.reduced,
            axes=self.lifter.axes,
            working=None if batch.method is self.method else batch.method,
            start_norm=self.beginning.norm,
            origin=self.beginning.origin,
        )


def begin(
    method: Method,
    problem: Problem,
    start: StartPoint,
    options: RunOptions,
    beginning: Beginning | None = None,
    expand: Any = None,
) -> Run:
    """A run from a start; its beginning is that start, unless it was earlier."""
    check_scale(method, problem, start.scale)
    space = coordinates_of(method, problem, options.reduced)
    unit, g0 = start.unit, float(start.scale.flat[0])
    entered, lifter = enter(space, problem, unit, start.scale, method.per_column)
    first = Start(
        method.own_scale(space.problem, start.scale, entered[None]),
        entered[None],
        start.clock,
        norm=start.norm,
        perp_units=perp_units_of(space, unit[None], options.every is not None),
    )
    tolerance, working = options.tolerance, private_copy(method)
    batch = start_batch(working, space.problem, first, tolerance, compiled=options.reduced)
    if beginning is None:
        beginning = Beginning(method.initial_norm, g0, None)
    if beginning.origin is None and start.scale.ndim == 1:
        beginning = replace(beginning, origin=(g0, unit))
    expand = problem.dual_expansion(unit) if expand is None else expand
    rule, clock = rule_for(method), start.clock
    return Run(method, problem, batch, lifter, rule, beginning, clock, options.reduced, expand)


def go_on(method: Method, problem: Problem, result: Result, options: RunOptions) -> Run:
    """A run from a result: the same run going on, or another one from the same weights."""
    if not problem.is_finite(result):
        raise ValueError(
            "start has weights that are not finite (it diverged); start from an earlier result"
        )
    end, expand = result._resume, _dual_expansion(problem, result)
    same = end.continues(method, problem)
    if same:
        run = _exactly(method, problem, result, options, expand)
        if run is not None:
            return run
        if method.momentum or by_names(end.state).arrays.keys() - set(KEPT_BY_LANES):
            raise ValueError(
                "start was made where the factorisation of A came out in other coordinates, so its "
                "momentum means nothing here, nor does what else its method keeps; go on where it "
                "was made, or give scale and direction"
            )
    scale, unit = problem.start_at(result, method.per_column, method.has_scale)
    norm = np.atleast_1d(result.direction_norm)
    if method.per_column:
        norm = norm[None]
    # the unit directions of other methods have a norm of 1 to rounding, which is none to keep
    trained = end.method.free_norm or bool((np.abs(norm - 1.0) > UNIT).any())
    keeps = method.free_norm and norm.shape == scale.shape and trained
    g0 = float(scale.flat[0])
    if same:
        beginning = Beginning(end.start_norm, g0, end.origin)
    else:
        beginning = Beginning(float(norm.flat[0]) if keeps else method.initial_norm, g0, None)
    clock, kept = end.clock if same else 0, norm if keeps else None
    return begin(method, problem, StartPoint(scale, unit, clock, kept), options, beginning, expand)


def _exactly(
    method: Method, problem: Problem, result: Result, options: RunOptions, expand: Any
) -> Run | None:
    """The same run going on in the coordinates it is in; None where the problem has others."""
    end = result._resume
    state, space = by_names(end.state), coordinates_of(method, problem, end.reduced)
    if state.dimension != space.problem.dimension:
        return None
    perp_units = perp_units_of(space, result.direction[None], options.every is not None)
    start = Start.from_result(result, state, perp_units)
    working = private_copy(method if end.working is None else end.working)
    small, tolerance = space.problem, options.tolerance
    batch = start_batch(working, small, start, tolerance, compiled=end.reduced)
    beginning = Beginning(end.start_norm, float(np.ravel(result.scale)[0]), end.origin)
    lifter, rule = Lifter(space, end.axes), end.stopping.copy()
    run = Run(method, problem, batch, lifter, rule, beginning, end.clock, end.reduced, expand)
    return run if end.problem is not None or run.stands_at(result.weights) else None


def _dual_expansion(problem: Problem, result: Result) -> Any:
    """What makes dual coefficients of the weights of a run that goes on from a result."""
    if result.dual_expansion is None:
        return None
    expand = problem.dual_expansion(result.dual_expansion.start)
    if expand is None:
        raise ValueError(
            "start is a result on a kernel, whose weights are not weights of features; give "
            "scale and direction"
        )
    return expand


def _first(values: Array) -> Any:
    """The number of the first run, or its several."""
    return values[0] if values.ndim == 2 else float(values[0])


def _number(values: Any, final: bool) -> float | None:
    """The number of a run, None where it can be measured later."""
    return (np.nan if final else None) if values is None else float(values[0])
