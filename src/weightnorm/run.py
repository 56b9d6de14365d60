"""run(): one method, one problem, one start."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from .methods.base import Method, State
from .methods.weight_norm import WeightNorm
from .problems import LeastSquares
from .result import Interrupted, Result, Status
from .rowspace import Frame, RowSpace

MAX_STEPS = 1_000_000


@dataclass(frozen=True, eq=False)
class _Resume:
    """The exact end of a run, so that going on equals never having stopped."""

    method: Method
    problem: LeastSquares
    state: RawState | State
    frame: Frame | None
    perp_unit: Vector | None
    limit: float
    watch: Watch


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
    >>> gd.distance > 100 * rpgd.perp_norm
    False
    >>> rpgd.status == "converged"
    True
    """
    check_method(method, problem)
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = _validate.integer("max_steps", max_steps)
    every = None if record is None else _validate.integer("record", record, minimum=1)
    _validate.choice("coordinates", coordinates, ("reduced", "full"))
    reduced = coordinates == "reduced"
    if start is None:
        if scale is None or direction is None:
            raise ValueError("scale and direction are both needed, unless the run goes on from a result with start=")
        g = _validate.real("scale", scale)
        unit = _validate.direction("direction", direction, problem.shape[1])
        clock, resume = 0, None
    else:
        g, unit, clock, resume = _continuation(method, problem, start, scale, direction, reduced)
    _check_scale(method, problem, g)
    begin = _begin_reduced if reduced else _begin_full
    runs, frame, perp_unit, limit = begin(method, problem, g, unit, clock, tolerance, resume, start)
    recorder = None if every is None else Recorder(every)
    watch = Watch() if resume is None else replace(resume.watch)

    def finish(status: Status, message: str) -> Result:
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged run may hold infinities
            return _result(runs, problem, frame, perp_unit, limit, watch, clock, status, message, recorder)

    try:
        code = drive(runs, tolerance, max_steps, watch, recorder)
    except KeyboardInterrupt:
        made = runs.clock - clock
        raise Interrupted(finish(Status.MAX_STEPS, f"interrupted after {made} steps; go on with start=")) from None
    status = list(Status)[int(code[0])]
    floor = problem.floor if reduced or problem.is_factorised else 0.0
    return finish(status, explain(status, runs, floor, tolerance, max_steps))


def check_method(method: Any, problem: Any) -> None:
    """Refuse what is not a method, and a method that asks for more than the problem has."""
    if not all(hasattr(method, name) for name in ("init", "evaluate", "update", "schedules")):
        raise TypeError(
            f"method must be a GradientDescent, WeightNorm or RPGD, got {type(method).__name__}: {method!r}"
        )
    if not isinstance(problem, LeastSquares):
        raise TypeError(f"problem must be a LeastSquares, got {type(problem).__name__}; use wn.LeastSquares(A, y)")
    if getattr(method, "blocks", "all") != "all":
        raise ValueError(
            f"{method.name}(blocks={method.blocks!r}) needs a problem whose weights have columns, and "
            f"{type(problem).__name__} has one block; use blocks='all'"
        )


def _check_scale(method: Method, problem: LeastSquares, scale: float) -> None:
    for name, schedule in zip(("direction_step", "scale_step"), method.schedules, strict=True):
        power = method.curvature_powers[0] if schedule.per_curvature else schedule.scale_power
        if scale == 0.0 and power < 0:
            raise ValueError(
                f"scale is 0 and the {name} of {method.name} has a factor |g|^{power:g}, which is undefined there; "
                "start from another scale or use a constant step"
            )


def _continuation(
    method: Method, problem: LeastSquares, start: Result, scale: Any, direction: Any, reduced: bool
) -> tuple[float, Vector, int, _Resume | None]:
    """Where to go on: scale, unit direction, step number and, if it is the very same run, its exact state."""
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
    resume: _Resume | None = start._resume
    same = resume is not None and resume.method == method and resume.problem is problem
    exact = same and resume is not None and isinstance(resume.state, RawState) == reduced
    return start.scale, unit, start.total_steps if same else 0, resume if exact else None


Begun = tuple[CompiledRuns | PlainRuns, Frame | None, Vector | None, float]


def _begin_reduced(
    method: Method,
    problem: LeastSquares,
    g: float,
    unit: Vector,
    clock: int,
    tolerance: float,
    resume: _Resume | None,
    start: Result | None,
) -> Begun:
    if resume is not None:
        assert isinstance(resume.state, RawState)
        assert resume.frame is not None
        reduced = resume.frame.row_space.reduced
        return CompiledRuns(method, reduced, resume.state, clock, tolerance), resume.frame, None, resume.limit
    space = RowSpace(problem)
    entered, frame = space.start(unit)
    limit = divergence_limit(space.reduced.value_and_gradient(g * entered[None])[0], _reference(problem))
    state = fresh_state(_with_norm(method, start), space.reduced, entered[None], np.array([g]), limit)
    return CompiledRuns(method, space.reduced, state, clock, tolerance), frame, None, float(limit[0])


def _begin_full(
    method: Method,
    problem: LeastSquares,
    g: float,
    unit: Vector,
    clock: int,
    tolerance: float,
    resume: _Resume | None,
    start: Result | None,
) -> Begun:
    if resume is not None:
        assert isinstance(resume.state, State)
        state, perp_unit, limit = resume.state, resume.perp_unit, np.array([resume.limit])
    else:
        state = _with_norm(method, start).init(np.array([g]), unit[None])
        limit = divergence_limit(np.atleast_1d(problem.value(g * unit)), _reference(problem))
        perp_unit = perp_direction(problem, unit)
    units = None if perp_unit is None else perp_unit[None]
    return PlainRuns(method, problem, state, clock, tolerance, limit, units), None, perp_unit, float(limit[0])


def perp_direction(problem: LeastSquares, unit: Vector) -> Vector:
    """The unit vector along a direction's part off the row space; zero if it has none."""
    rest = problem.split(unit)[1]
    size = float(np.linalg.norm(rest))
    return rest / size if size > 1e-12 else np.zeros_like(rest)


def _with_norm(method: Method, start: Result | None) -> Method:
    """WN going on from WN keeps ‖w‖, even if its steps have changed."""
    if isinstance(method, WeightNorm) and start is not None and start.direction_norm != 1.0:
        return WeightNorm(method.direction_step, method.scale_step, method.blocks, start.direction_norm)
    return method


def _reference(problem: LeastSquares) -> float:
    return 0.5 * float(problem.y @ problem.y)


def _result(
    runs: CompiledRuns | PlainRuns,
    problem: LeastSquares,
    frame: Frame | None,
    perp_unit: Vector | None,
    limit: float,
    watch: Watch,
    clock: int,
    status: Status,
    message: str,
    recorder: Recorder | None,
) -> Result:
    position = runs.position()
    scale, unit, ended = float(position.scale[0]), position.unit[0], int(runs.ended_at[0])
    if isinstance(runs, CompiledRuns):
        assert frame is not None
        state: RawState | State = runs.raw()
        distance = np.linalg.norm(np.append(scale * unit[:-1] - runs.problem.target, scale * unit[-1]))
        unit = frame.lift(unit)
    else:
        state = runs.state
        distance = np.linalg.norm(scale * unit - problem.min_norm_solution(iterative=not problem.is_factorised))
    return Result(
        weights=scale * unit,
        scale=scale,
        direction=unit,
        norm=abs(scale),
        loss=float(runs.loss[0]),
        num_steps=ended - clock,
        status=status,
        message=message,
        history=None if recorder is None else recorder.history(),
        perp_norm=abs(scale * float(position.perp[0])),
        distance=float(distance),
        direction_norm=float(position.direction_norm[0]),
        total_steps=ended,
        _resume=_Resume(runs.method, problem, state, frame, perp_unit, limit, watch),
    )
