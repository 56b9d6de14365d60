"""run(): one method, one problem, one start: a batch of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._support import validate
from .._support.interrupts import held
from ..advice.before_run import warn_before
from ..engine.gradient_test import with_gradient
from ..engine.loop import Policy, loop, quietly
from ..engine.recording import Recorder, record_limit
from ..engine.start import check_method
from ..methods import Method
from ..problems import Problem
from .history import KEPT
from .result import Interrupted, Result, Status
from .setup import Run, RunOptions, StartPoint, begin, go_on

MAX_STEPS = 1_000_000
STATUSES = tuple(Status)


@quietly
def run(  # noqa: PLR0913
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
        g0; negative and zero scales are legal unless a step divides by them. For matrix sensing
        X0 = scale·W0 W0ᵀ/‖W0‖_F² for every method; with `blocks="columns"` a number or a vector,
        D0, and each column of W0 is normalised.
    direction : (d,) array, for matrix sensing (d, r)
        w0, nonzero; it is normalised for every method (`WeightNorm(initial_norm=…)` sets ‖w0‖).
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
        options = _options(tolerance, max_steps, record, keep, coordinates)
        _check_start(problem, scale, direction, start_values, start)
        if start is None:
            direction = problem.start_direction(direction, start_values)
            unit = problem.unit_direction("direction", direction, method.per_column)
            g0 = problem.start_scale(scale, unit, method.per_column)
            under_way = begin(method, problem, StartPoint(g0, unit), options)
            if options.max_steps and under_way.batch.alive[0]:
                meant = options.tolerance > 0 and options.reduced
                warn_before(method, problem, g0.ravel(), unit[None], meant)
        else:
            under_way = go_on(method, problem, start, options)
        policy = _policy(under_way, options, gradient_tolerance)
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    return _finish(under_way, policy, options.kept)


def _finish(run: Run, policy: Policy, kept: tuple[str, ...]) -> Result:
    """Make the steps, and say where they led and why they ended; so too where Ctrl-C ends them."""
    batch, recorder, result = run.batch, policy.recorder, None
    try:
        code = loop(batch, policy)
        status, loss = STATUSES[int(code[0])], float(batch.loss[0])
        if status is Status.CONVERGED and loss <= policy.tolerance:
            message = f"loss {loss:.6g} <= tolerance {policy.tolerance:g}"
        else:
            from .messages import explain

            message = explain(run, status, policy)
        with held():
            result = run.result(status, message, recorder, kept)
    except KeyboardInterrupt:
        with held():
            if result is None:
                # the loss and the step number become those of the state, which is recorded
                batch.advance(0, 0 if recorder is None else recorder.every)
                if recorder is not None:
                    recorder.add(batch.passed)
                count = batch.clock - run.clock
                message = f"interrupted after {count} steps; go on with start="
                result = run.result(Status.MAX_STEPS, message, recorder, kept)
            raise Interrupted(result) from None
    return result


def _policy(run: Run, options: RunOptions, gradient_tolerance: float | None) -> Policy:
    """How the loop is to make this run."""
    batch, problem, recorder = run.batch, run.problem, None
    batch.keeps_units = options.keeps_directions
    if options.every is not None:
        size = problem.dimension ** (1 + problem.has_columns) if batch.keeps_units else 0
        recorder = Recorder(options.every, record_limit(size))
    rule = run.stopping
    if gradient_tolerance is not None:
        rule = with_gradient(rule, problem, options.tolerance, gradient_tolerance)
    return Policy(options.tolerance, options.max_steps, rule, recorder)


def _options(tolerance: Any, max_steps: Any, record: Any, keep: Any, where: Any) -> RunOptions:
    """What a user asks for, checked."""
    tolerance = validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = validate.integer("max_steps", max_steps, maximum=validate.MAX_COUNT)
    every, kept = _what_to_record(record, keep)
    reduced = validate.choice("coordinates", where, ("reduced", "full")) == "reduced"
    return RunOptions(tolerance, max_steps, every, kept, reduced)


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
