"""run(): one method, one problem, one start."""

from __future__ import annotations

from typing import Any

from . import _validate
from .begin import linear, sensing
from .begin.check import check_method
from .loops.drive import drive, quietly
from .loops.explain import explain
from .loops.recording import Recorder
from .methods.base import Method
from .problems import GeneralizedLinear, LeastSquares, MatrixSensing
from .result import Interrupted, Result, Status

MAX_STEPS = 1_000_000


@quietly
def run(
    method: Method,
    problem: LeastSquares | GeneralizedLinear | MatrixSensing,
    scale: Any = None,
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
    problem : LeastSquares, GeneralizedLinear or MatrixSensing
    scale : float
        g0; negative and zero scales are legal unless a step divides by them. For matrix sensing X0 = scale·W0 W0ᵀ/‖W0‖_F²
        for every method; with `blocks="columns"` a number or a vector, D0, and each column of W0 is normalised.
    direction : (d,) array, for matrix sensing (d, r)
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
        "full" works on A itself, for an A too large to factorise. Both give the same result. Matrix sensing has no
        reduction: there "reduced" runs compiled, "full" by the rules in NumPy.

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
    max_steps = _validate.integer("max_steps", max_steps, maximum=_validate.MAX_COUNT)
    every = None if record is None else _validate.integer("record", record, minimum=1, maximum=_validate.MAX_COUNT)
    reduced = _validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
    _check_start(scale, direction, start)
    recorder = None if every is None else Recorder(every)
    begun: linear.LinearRun | sensing.SensingRun
    if isinstance(problem, MatrixSensing):
        begun = sensing.begin(method, problem, scale, direction, start, tolerance, reduced)
    else:
        begun = linear.begin(method, problem, scale, direction, start, tolerance, reduced, recorder is not None)
    try:
        code = drive(begun.runs, tolerance, max_steps, begun.watch, recorder)
    except KeyboardInterrupt:
        message = f"interrupted after {begun.runs.clock - begun.clock} steps; go on with start="
        raise Interrupted(begun.result(Status.MAX_STEPS, message, recorder)) from None
    status = list(Status)[int(code[0])]
    message = explain(status, begun.runs, begun.floor, begun.reference, tolerance, max_steps, begun.watch)
    return begun.result(status, message, recorder)


def _check_start(scale: Any, direction: Any, start: Any) -> None:
    if start is None:
        if scale is None or direction is None:
            raise ValueError("scale and direction are both needed, unless the run goes on from a result with start=")
        return
    if not isinstance(start, Result):
        raise TypeError(f"start must be a Result, got {type(start).__name__}")
    if scale is not None or direction is not None:
        raise ValueError("give either start= or scale and direction, not both")
