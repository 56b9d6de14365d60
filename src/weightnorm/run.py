"""run(): one method, one problem, one start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from . import _validate
from ._validate import Vector
from .loops.compiled import CompiledRuns, RawState, fresh_state
from .loops.drive import divergence_limit, drive
from .loops.explain import explain
from .loops.plain import PlainRuns
from .loops.recording import Recorder
from .loops.watch import Watch
from .methods.base import Method, State, bind_steps
from .methods.weight_norm import WeightNorm
from .problems import LeastSquares
from .result import Interrupted, Result, Status
from .rowspace import Frame, RowSpace

MAX_STEPS = 1_000_000
quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")  # a diverging run may overflow


@dataclass(eq=False)
class _Begun:
    """A run under way: its runs (one), the axes that lead back from reduced coordinates, and what watches it."""

    runs: CompiledRuns | PlainRuns
    problem: LeastSquares
    frame: Frame | None
    limit: float
    watch: Watch

    @property
    def state(self) -> RawState | State:
        """The exact state, so that going on equals never having stopped."""
        return self.runs.raw() if isinstance(self.runs, CompiledRuns) else self.runs.state


@dataclass(frozen=True, eq=False)
class _Start:
    """Where to start: scale, unit direction, step number; the result to go on from and, if it is the same run, its end."""

    scale: float
    unit: Vector
    clock: int = 0
    result: Result | None = None
    same: _Begun | None = None


@quietly
def run(
    method: Method,
    problem: LeastSquares,
    scale: float | None = None,
    direction: Any = None,
    *,
    start: Result | None = None,
    tolerance: float = 1e-5,
    max_steps: int = MAX_STEPS,
    record: int | None = None,
    coordinates: str = "reduced",
) -> Result:
    """Run a method from x0 = scale·direction/‖direction‖ until loss <= tolerance.

    Parameters
    ----------
    method : GradientDescent, WeightNorm or RPGD
    problem : LeastSquares
    scale : float
        g0; negative and zero scales are legal unless a step divides by them.
    direction : (d,) array
        w0, nonzero; it is normalised for every method (`WeightNorm(initial_norm=…)` sets ‖w0‖).
    start : Result, optional
        Go on from a result instead of scale and direction. The same method goes on exactly where it stopped, its
        schedules too; another method starts its schedules at t = 0, from the same weights.
    tolerance : float
        The run stops at the first iterate with loss <= tolerance. Zero is legal: make all the steps, whatever the loss.
    max_steps : int
        Updates this call may make.
    record : int, optional
        Keep every k-th iterate's numbers in `result.history`.
    coordinates : {"reduced", "full"}
        "reduced" factorises A once (kept with the problem) and then needs O(rank) a step, whatever the dimension;
        "full" works on A itself, for an A too large to factorise. Both give the same result.

    Returns
    -------
    Result

    Raises
    ------
    Interrupted
        On Ctrl-C; a KeyboardInterrupt whose `.result` holds the run so far.

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
    check_method(method, problem)
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = _validate.integer("max_steps", max_steps)
    every = None if record is None else _validate.integer("record", record, minimum=1)
    reduced = _validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
    if start is not None:
        begin = _continuation(method, problem, start, scale, direction, reduced)
    elif scale is None or direction is None:
        raise ValueError("scale and direction are both needed, unless the run goes on from a result with start=")
    else:
        unit = _validate.direction("direction", direction, problem.shape[1])
        begin = _Start(_validate.real("scale", scale), unit)
    _check_scale(method, problem, begin.scale)
    recorder = None if every is None else Recorder(every)
    if reduced:
        begun = _begin_reduced(method, problem, begin, tolerance)
    else:
        begun = _begin_full(method, problem, begin, tolerance, recording=recorder is not None)
    try:
        code = drive(begun.runs, tolerance, max_steps, begun.watch, recorder)
    except KeyboardInterrupt:
        message = f"interrupted after {begun.runs.clock - begin.clock} steps; go on with start="
        raise Interrupted(_result(begun, begin.clock, Status.MAX_STEPS, message, recorder)) from None
    status = list(Status)[int(code[0])]
    floor = problem.floor if reduced or problem.is_factorised else None
    message = explain(status, begun.runs, floor, zero_loss(problem), tolerance, max_steps, begun.watch.cycling)
    return _result(begun, begin.clock, status, message, recorder)


def check_method(method: Any, problem: Any) -> None:
    """Refuse what is not a method, and a method that asks for more than the problem has."""
    if isinstance(method, type):
        raise TypeError(f"method must be a method with its steps, got the class {method.__name__}; call it with step sizes")
    if not all(hasattr(method, name) for name in ("init", "evaluate", "update", "schedules")):
        raise TypeError(f"method must be a GradientDescent, WeightNorm or RPGD, got {type(method).__name__}: {method!r}")
    if not isinstance(problem, LeastSquares):
        raise TypeError(f"problem must be a LeastSquares, got {type(problem).__name__}; use wn.LeastSquares(A, y)")
    if getattr(method, "blocks", "all") != "all":
        raise ValueError(
            f"{method.name}(blocks={method.blocks!r}) needs a problem whose weights have columns, and "
            f"{type(problem).__name__} has one block; use blocks='all'"
        )


def zero_loss(problem: LeastSquares) -> float:
    """½‖y‖², the loss at zero weights."""
    return 0.5 * float(problem.y @ problem.y)


def _check_scale(method: Method, problem: LeastSquares, scale: float) -> None:
    if scale != 0.0:
        return
    for name, step in zip(("direction_step", "scale_step"), bind_steps(method, problem), strict=True):
        if step.undefined_at(np.zeros(1))[0]:
            raise ValueError(
                f"scale is 0 and the {name} of {method.name} has a factor |g|^{step.scale_power:g}, which is undefined "
                "there; start from another scale or use a constant step"
            )


def _continuation(method: Method, problem: LeastSquares, start: Result, scale: Any, direction: Any, reduced: bool) -> _Start:
    if not isinstance(start, Result):
        raise TypeError(f"start must be a Result, got {type(start).__name__}")
    if scale is not None or direction is not None:
        raise ValueError("give either start= or scale and direction, not both")
    if start.weights.size != problem.shape[1]:
        raise ValueError(f"start has {start.weights.size} weights, the problem has {problem.shape[1]} features")
    if not (np.isfinite(start.weights).all() and np.isfinite(start.scale)):
        raise ValueError("start has weights that are not finite (it diverged); start from an earlier result")
    unit = start.direction
    if not unit.any():
        if method.has_scale:
            raise ValueError("start has zero weights, so no direction to go on with; give scale and direction")
        unit = np.eye(1, problem.shape[1])[0]  # gradient descent at scale 0: any direction will do
    end: _Begun | None = start._resume
    if end is None or end.runs.method != method or end.problem is not problem:
        return _Start(start.scale, unit, 0, start)
    return _Start(start.scale, unit, start.total_steps, start, end if (end.frame is not None) == reduced else None)


def _begin_reduced(method: Method, problem: LeastSquares, begin: _Start, tolerance: float) -> _Begun:
    if begin.same is not None:
        same, frame = begin.same, begin.same.frame
        assert frame is not None
        reduced, state, limit = frame.row_space.reduced, same.state, np.array([same.limit])
    else:
        space = RowSpace(problem)
        entered, frame = space.start(begin.unit)
        reduced = space.reduced
        limit = divergence_limit(reduced.value_and_gradient(begin.scale * entered[None])[0], zero_loss(problem))
        rule, scale = _with_norm(method, begin.result), np.array([begin.scale])
        compiled = CompiledRuns.can_run(method)
        state = fresh_state(rule, reduced, entered[None], scale, limit) if compiled else rule.init(scale, entered[None])
    watch = Watch() if begin.same is None else replace(begin.same.watch)
    if isinstance(state, RawState):
        runs: CompiledRuns | PlainRuns = CompiledRuns(method, reduced, state, begin.clock, tolerance)
    else:  # a method of the user's own: its rule, in the same coordinates
        last = np.eye(1, state.vector.shape[1], state.vector.shape[1] - 1)
        runs = PlainRuns(method, reduced, state, begin.clock, tolerance, limit, last)
    return _Begun(runs, problem, frame, float(limit[0]), watch)


def _begin_full(method: Method, problem: LeastSquares, begin: _Start, tolerance: float, recording: bool) -> _Begun:
    if begin.same is not None:
        state, limit, watch = begin.same.state, np.array([begin.same.limit]), replace(begin.same.watch)
        assert isinstance(state, State)
    else:
        state = _with_norm(method, begin.result).init(np.array([begin.scale]), begin.unit[None])
        limit = divergence_limit(np.atleast_1d(problem.value(begin.scale * begin.unit)), zero_loss(problem))
        watch = Watch()
    follow = perp_direction(problem, begin.unit)[None] if recording or problem.is_factorised else None
    return _Begun(
        PlainRuns(method, problem, state, begin.clock, tolerance, limit, follow), problem, None, float(limit[0]), watch
    )


def perp_direction(problem: LeastSquares, unit: Vector) -> Vector:
    """The unit vector along a direction's part off the row space; zero if it has none."""
    rest = problem.split(unit)[1]
    size = float(np.linalg.norm(rest))
    return rest if not np.isfinite(size) else rest / size if size > 1e-12 else np.zeros_like(rest)


def _with_norm(method: Method, start: Result | None) -> Method:
    """WN going on from WN keeps ‖w‖, even if its steps have changed."""
    if isinstance(method, WeightNorm) and start is not None and start.direction_norm != 1.0:
        return replace(method, initial_norm=start.direction_norm)
    return method


def _result(begun: _Begun, clock: int, status: Status, message: str, recorder: Recorder | None) -> Result:
    runs, problem = begun.runs, begun.problem
    position = runs.position()
    scale, unit, ended = float(position.scale[0]), position.unit[0], int(runs.ended_at[0])
    perp: float | None = abs(scale * float(position.perp[0]))
    distance: float | None = None
    if begun.frame is not None:
        target = np.append(runs.problem.target, 0.0)
        distance = float(np.linalg.norm(scale * unit - target))
        unit = begun.frame.lift(unit)
    weights = scale * unit
    if not np.isfinite(position.perp[0]) and np.isfinite(weights).all():
        perp = None
    return Result(
        weights=weights,
        scale=scale,
        direction=unit,
        norm=abs(scale),
        loss=float(runs.loss[0]),
        num_steps=ended - clock,
        status=status,
        message=message,
        history=None if recorder is None else recorder.history(),
        direction_norm=float(position.direction_norm[0]),
        total_steps=ended,
        _perp_norm=perp,
        _distance=distance,
        _measure=partial(_measure, problem, weights),
        _resume=begun,
    )


def _measure(problem: LeastSquares, weights: Vector) -> tuple[float, float]:
    """‖x⊥‖ and ‖x − x*‖ of weights, for a run that did not factorise A."""
    best = problem.min_norm_solution(iterative=not problem.is_factorised)
    return float(np.linalg.norm(problem.split(weights)[1])), float(np.linalg.norm(weights - best))
