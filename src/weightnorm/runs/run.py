"""run(): one method, one problem, one start: a batch of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.interrupts import held
from ..advice.foresight import OUTLOOKS, outlook, rounding_decides, warn_of
from ..engine.batch import Batch, Start
from ..engine.loop import Judge, Policy, judge_for, loop, quietly
from ..engine.optimum import with_gradient
from ..engine.recording import Recorder, make_history, record_limit
from ..engine.start import (
    backend_of,
    check_method,
    check_scale,
    columns,
    own_scale,
    private_copy,
    require_isometry,
    runs_reduced,
)
from ..engine.start import coordinates as coordinates_of
from ..engine.start import start as start_batch
from ..methods import RPGD, WeightNorm
from ..methods.contract import Array, Method
from ..problems import Frame, Problem
from .history import KEPT
from .result import Interrupted, Result, Status
from .resume import Deferred, Resume

MAX_STEPS = 1_000_000
FELT = 50.0  # g0²/c, from which on rounding off the row space may be felt at the end
UNIT = 1e-12  # how far from 1 the norm of a unit direction may be by rounding
SAME_PLACE = 1e-6  # relative: other coordinates are off by as much as the weights themselves
STATUSES = tuple(Status)


@quietly
def run(
    method: Method,
    problem: Problem,
    scale: Any = None,
    direction: Any = None,
    *,
    start_values: Any = None,
    start: Result | None = None,
    tolerance: float = 1e-5,
    max_steps: int = MAX_STEPS,
    gradient_tolerance: float | None = None,
    record: int | None = None,
    keep: Sequence[str] = (),
    coordinates: str = "reduced",
) -> Result:
    """Run a method from x0 = scale·direction/‖direction‖ until loss <= tolerance.

    Parameters
    ----------
    method : GradientDescent, WeightNorm, RPGD or BatchNorm, or one of your own
    problem : LeastSquares, KernelLeastSquares, GeneralizedLinear, MatrixSensing, or your own
    scale : float
        g0; negative and zero scales are legal unless a step divides by them. For matrix sensing X0
        = scale·W0 W0ᵀ/‖W0‖_F² for every method; with `blocks="columns"` a number or a vector, D0,
        and each column of W0 is normalised.
    direction : (d,) array, for matrix sensing (d, r)
        w0, nonzero; it is normalised for every method (`WeightNorm(initial_norm=…)` sets
        ‖w0‖).
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, the values of the unit
        direction w0 at the samples. Without them the start is orthogonal to the data.
    start : Result, optional
        Go on from a result instead of scale and direction. The same method goes on exactly where it
        stopped, in the same coordinates, with its schedules and momentum; another method starts its
        own at t = 0, from the same weights, and keeps ‖w‖ of a method that trained it (WN, batch
        norm) in place of its own `initial_norm`.
    tolerance : float
        The run stops at the first iterate with loss <= tolerance. Zero is legal: make all the
        steps, whatever the loss.
    max_steps : int
        Updates this call may make.
    gradient_tolerance : float, optional
        The run has converged, whatever its loss, when ‖∇f(x)‖ is at most this share of the terms
        ‖∇f(0)‖ + ‖∇f(x) − ∇f(0)‖, which do not depend on units; looked at every 16 steps, and later
        32 times while the steps double. Without it, a generalized linear model with a convex loss
        has converged where that share is rounding.
    record : int, optional
        Keep the numbers of the steps 0, k, 2k, … in `result.history`; the end is in the result.
    keep : sequence of {"direction", "weights", "invariant"}
        What the history holds besides: w/‖w‖, x, and the invariant log(‖w⊥‖/‖w‖) + g²/2c of the WN
        flow.
    coordinates : {"reduced", "full"}
        "reduced" factorises A once (kept with the problem) and then needs O(rank) per step,
        whatever the dimension; "full" works on A itself, for an A too large to factorise. Both give
        the same result. Matrix sensing has no reduction: there "reduced" runs compiled, "full" by
        the rules in NumPy.

    Returns
    -------
    Result

    Raises
    ------
    Interrupted
        On Ctrl-C; a KeyboardInterrupt whose `.result` holds the run so far, or None before the
        first step, while the problem is factorised for instance.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> gd = wn.run(wn.GradientDescent(0.005), problem, scale=2.0, direction=w0)
    >>> rpgd = wn.run(wn.RPGD(0.005, 0.005), problem, scale=2.0, direction=w0)
    >>> gd.distance > 5 * rpgd.distance
    True
    >>> rpgd.status == "converged"
    True
    """
    try:
        check_method(method, problem)
        tolerance = validate.real("tolerance", tolerance, minimum=0.0)
        max_steps = validate.integer("max_steps", max_steps, maximum=validate.MAX_COUNT)
        every, kept = _what_to_record(record, keep)
        reduced = validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
        _check_start(problem, scale, direction, start_values, start)
        if start is None:
            direction = problem.start_direction(direction, start_values)
            unit = problem.unit_direction("direction", direction, columns(method))
            g0 = problem.start_scale(scale, unit, columns(method))
            begun = _begin(method, problem, g0, unit, reduced, tolerance, every)
            if max_steps and begun.batch.alive[0]:
                _foresee(method, problem, g0.ravel(), unit[None], tolerance > 0 and reduced)
        else:
            begun = _go_on(method, problem, start, reduced, tolerance, every)
        begun.batch.keeps_units = not {"direction", "weights"}.isdisjoint(kept)
        size = problem.dimension ** (1 + problem.has_columns) if begun.batch.keeps_units else 0
        recorder = None if every is None else Recorder(every, record_limit(size))
        judge = begun.judge
        if gradient_tolerance is not None:
            judge = with_gradient(judge, problem, tolerance, gradient_tolerance)
        policy = Policy(tolerance, max_steps, judge, recorder)
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    result = None
    try:
        code = loop(begun.batch, policy)
        status, loss = STATUSES[int(code[0])], float(begun.batch.loss[0])
        if status is Status.CONVERGED and loss <= tolerance:
            message = f"loss {loss:.6g} <= tolerance {tolerance:g}"
        else:
            from .messages import explain

            message = explain(begun, status, policy)
        with held():
            result = begun.result(status, message, recorder, kept)
    except KeyboardInterrupt:
        with held():
            if result is None:
                # the loss and the step number become those of the state, which is recorded
                begun.batch.advance(0, 0 if recorder is None else recorder.every)
                if recorder is not None:
                    recorder.add(begun.batch.passed)
                count = begun.batch.clock - begun.clock
                message = f"interrupted after {count} steps; go on with start="
                result = begun.result(Status.MAX_STEPS, message, recorder, kept)
            raise Interrupted(result) from None
    return result


def _foresee(method: Method, problem: Problem, scale: Array, units: Array, meant: bool) -> None:
    """Warn of a run whose end rounding decides, and of one that is meant to converge and cannot;
    the answer of a method is kept with the problem.
    """
    ratio = rounding_felt(method, problem, scale)
    if ratio is not None:
        warn_of({method.name: rounding_decides(problem, ratio, scale, units)}, 4)
    if not meant or type(method) is not RPGD or not hasattr(problem, "with_targets"):
        return
    known = OUTLOOKS.get(problem, {})
    say = known[method] if method in known else outlook(method, problem)
    if say is not None:
        warn_of({method.name: say(scale, units)}, 4)


def rounding_felt(method: Method, problem: Problem, scales: Array) -> float | None:
    """c of a method whose training may make what rounding leaves off the row space large; None of
    any other, and wherever no start is as far out.

    It multiplies w⊥ by e^{(g0² − g²)/2c}.
    """
    if type(method) not in (RPGD, WeightNorm) or not hasattr(problem, "split"):
        return None
    eta, gamma = (schedule.settled_value for schedule in method.schedules)
    if not eta or not gamma:
        return None
    ratio = gamma / eta * getattr(method, "initial_norm", 1.0) ** 2
    largest = float(np.abs(scales).max(initial=0.0))
    with np.errstate(over="ignore", divide="ignore"):
        return ratio if largest * np.divide(largest, ratio) > FELT else None


def _what_to_record(record: Any, keep: Any) -> tuple[int | None, tuple[str, ...]]:
    """The spacing of the records, and what they hold besides their few numbers."""
    kept = (keep,) if isinstance(keep, str) else tuple(validate.items("keep", keep))
    for name in kept:
        validate.choice("keep", name, KEPT)
    if record is None:
        if kept:
            raise ValueError("keep needs record: record=1 keeps every step, record=100 each 100th")
        return None, ()
    return validate.integer("record", record, minimum=1, maximum=validate.MAX_COUNT), kept


def _check_start(
    problem: Problem, scale: Any, direction: Any, start_values: Any, start: Any
) -> None:
    given = direction is not None or start_values is not None
    if start is None:
        if scale is None or (problem.needs_direction and not given):
            both = "scale and direction are both" if problem.needs_direction else "scale is"
            raise ValueError(f"{both} needed, unless the run goes on from a result with start=")
        return
    if not isinstance(start, Result):
        raise TypeError(f"start must be a Result, got {type(start).__name__}")
    if scale is not None or given:
        raise ValueError("give either start= or scale and direction, not both")


def _begin(
    method: Method,
    problem: Problem,
    scale: Array,
    unit: Array,
    reduced: bool,
    tolerance: float,
    every: int | None,
    clock: int = 0,
    norm: Array | None = None,
    start_norm: float | None = None,
    origin: tuple[float, Array] | None = None,
    expand: Any = None,
) -> _Run:
    """A run from a scale (1, …) and a unit direction; `norm` is the ‖w‖ it goes on from, and
    `start_norm` and `origin` tell where it began.
    """
    check_scale(method, problem, scale)
    space = coordinates_of(method, problem, reduced)
    entered, frame = space.start(unit)
    require_isometry(space, entered[None], columns(method))
    perp_units = space.perp_units(unit[None], every is not None)
    own = own_scale(method, space.problem, scale, entered[None])
    first = Start(own, entered[None], clock, None, None, norm, perp_units)
    batch = start_batch(private_copy(method), space.problem, first, tolerance, compiled=reduced)
    size = getattr(method, "initial_norm", 1.0) if start_norm is None else start_norm
    judge, g0 = judge_for(method), float(scale.flat[0])
    if origin is None and scale.ndim == 1:
        origin = g0, unit
    expand = problem.expander(unit) if expand is None else expand
    first_state = float(size), g0, origin, expand
    return _Run(method, problem, batch, frame, judge, clock, reduced, *first_state)


def _go_on(
    method: Method,
    problem: Problem,
    start: Result,
    reduced: bool,
    tolerance: float,
    every: int | None,
) -> _Run:
    """A run from a result: the same run going on, or another one from the same weights."""
    if not problem.is_finite(start):
        raise ValueError(
            "start has weights that are not finite (it diverged); start from an earlier result"
        )
    end, expand = start._resume, None
    if start.expander is not None:
        expand = problem.expander(start.expander.start)
        if expand is None:
            raise ValueError(
                "start is a result on a kernel, whose weights are no weights of features; give "
                "scale and direction"
            )
    same = end.continues(method, problem)
    if same:
        space = coordinates_of(method, problem, end.reduced)
        kind = backend_of(method, space.problem, end.reduced).__name__
        if end.kind != kind and getattr(method, "momentum", 0.0):
            raise ValueError(
                f"start was made by {end.kind} and would go on by {kind} (NUMBA_DISABLE_JIT?), "
                "which cannot take its momentum "
                "over; go on as it was made, or give scale and direction"
            )
        if end.kind == kind and end.state.dimension == space.problem.dimension:
            frame = Frame(space, end.axes)
            unit, perp_units = (
                start.direction[None],
                space.perp_units(start.direction[None], every is not None),
            )
            first = Start(
                np.atleast_1d(start.scale), unit, end.clock, end.state, end.limit, None, perp_units
            )
            working = private_copy(method if end.working is None else end.working)
            batch = start_batch(working, space.problem, first, tolerance, compiled=end.reduced)
            judge, clock = end.judge.copy(), end.clock
            g0 = float(np.ravel(start.scale)[0])
            first_state = end.start_norm, g0, end.origin, expand
            run = _Run(method, problem, batch, frame, judge, clock, end.reduced, *first_state)
            if end.problem is not None or run.stands_at(start.weights):
                return run
        if getattr(method, "momentum", 0.0) or getattr(end.state, "arrays", None):
            raise ValueError(
                "start was made where the factorisation of A came out in other coordinates, so its "
                "momentum means nothing here; go on where it was made, or give scale and direction"
            )
    scale, unit = problem.start_at(start, columns(method), method.has_scale)
    norm = (
        np.atleast_1d(start.direction_norm)[None]
        if columns(method)
        else np.atleast_1d(start.direction_norm)
    )
    # the unit directions of other methods have a norm of 1 to rounding, which is none to keep
    trained = getattr(end.method, "free_norm", False) or bool((np.abs(norm - 1.0) > UNIT).any())
    keeps = getattr(method, "free_norm", False) and norm.shape == scale.shape and trained
    clock, kept = end.clock if same else 0, norm if keeps else None
    began = end.start_norm if same else float(norm.flat[0]) if keeps else None
    origin = end.origin if same else None
    limits = reduced, tolerance, every, clock, kept, began, origin, expand
    return _begin(method, problem, scale, unit, *limits)


@dataclass(frozen=True, eq=False)
class _Run:
    """A run under way: a batch of one, what leads back from its coordinates, and its judge."""

    method: Method
    problem: Problem
    batch: Batch
    frame: Frame
    judge: Judge
    clock: int
    reduced: bool
    start_norm: float  # ‖w0‖, where the run began
    start_scale: float  # g0, where this part of the run began; the first of several
    origin: tuple[float, Array] | None  # g0 and the unit direction where its schedules began
    expand: Any  # what makes dual coefficients of weights, where the problem has them

    def stands_at(self, weights: Array) -> bool:
        """Whether the run stands at these weights; after a round trip to another machine its
        coordinates may not.
        """
        position = self.batch.position()
        here = self.problem.weights(self.frame.lift(position.unit[0])[None], position.scale)[0]
        return bool(np.abs(here - weights).max() <= SAME_PLACE * np.abs(weights).max())

    def result(
        self, status: Status, message: str, recorder: Recorder | None, keep: Sequence[str]
    ) -> Result:
        """Where the run ended, in the problem's own coordinates."""
        batch, problem = self.batch, self.problem
        position, small = batch.position(), batch.problem
        ended, scale = int(batch.ended_at[0]), position.scale
        found = small.summary(position.unit, scale, position.perp, measured=False)
        unit = self.frame.lift(position.unit[0])
        weights = problem.weights(unit[None], scale)[0]
        # no more can be found out later
        final = not (np.isfinite(position.unit).all() and np.isfinite(scale).all())
        final |= not problem.can_measure
        perp, distance = (_number(found.get(name), final) for name in ("perp_norm", "distance"))
        many = scale.ndim == 2
        if self.reduced and not runs_reduced(self.method):
            message += (
                f"; ran in full coordinates, because {type(self.method).__name__} does not say "
                "rotation_equivariant = True "
                "(true of a rule that sees lengths and angles only)"
            )
        return Result(
            weights=weights,
            scale=scale[0] if many else float(scale[0]),
            direction=unit,
            norm=float(found["norm"][0]),
            loss=float(batch.loss[0]),
            num_steps=ended - self.clock,
            status=status,
            message=message,
            history=None if recorder is None else make_history(self, recorder, keep),
            direction_norm=position.direction_norm[0]
            if many
            else float(position.direction_norm[0]),
            total_steps=ended,
            _perp_norm=None if perp is not None and np.isnan(perp) and not final else perp,
            _distance=distance,
            _measure=Deferred(
                type(problem).perp_and_distance, problem, (weights, columns(self.method))
            ),
            _resume=Resume(
                method=self.method,
                problem=problem,
                kind=type(batch).__name__,
                state=batch.state(),
                clock=ended,
                limit=batch.limit[:1],
                judge=self.judge.copy(),
                reduced=self.reduced,
                axes=self.frame.axes,
                working=None if batch.method is self.method else batch.method,
                start_norm=self.start_norm,
                origin=self.origin,
            ),
            _expand=self.expand,
        )


def _number(values: Any, final: bool) -> float | None:
    """The number of a run, None where it can be measured later."""
    return (np.nan if final else None) if values is None else float(values[0])
