"""run(): one method, one problem, one start: a batch of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _validate
from ._resume import Deferred, Resume
from .engine.batch import Batch, Start
from .engine.loop import Judge, Policy, gradient_vanishes, judge_for, loop, quietly
from .engine.recording import Recorder
from .engine.start import (
    backend_of,
    check_method,
    check_scale,
    columns,
    descent_scale,
    private_copy,
    require_isometry,
    runs_reduced,
)
from .engine.start import coordinates as coordinates_of
from .engine.start import start as start_batch
from .methods.contract import Array, Method
from .problems import Frame, Problem
from .result import Interrupted, Result, Status

MAX_STEPS = 1_000_000
TINY = 1e-20  # a loss under this share of that of zero weights is rounding, one above it is not
STATUSES = tuple(Status)
SAME_PLACE = 1e-6  # relative: other coordinates are off by as much as the weights themselves


@quietly
def run(
    method: Method,
    problem: Problem,
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
    method : GradientDescent, WeightNorm or RPGD, or one of your own
    problem : LeastSquares, GeneralizedLinear or MatrixSensing, or one of your own
    scale : float
        g0; negative and zero scales are legal unless a step divides by them. For matrix sensing X0
        = scale·W0 W0ᵀ/‖W0‖_F² for every method; with `blocks="columns"` a number or a vector, D0,
        and each column of W0 is normalised.
    direction : (d,) array, for matrix sensing (d, r)
        w0, nonzero; it is normalised for every method (`WeightNorm(initial_norm=…)` sets ‖w0‖).
    start : Result, optional
        Go on from a result instead of scale and direction. The same method goes on exactly where it
        stopped, in the same coordinates, with its schedules and momentum; another method starts its
        own at t = 0, from the same weights.
    tolerance : float
        The run stops at the first iterate with loss <= tolerance. Zero is legal: make all the
        steps, whatever the loss.
    max_steps : int
        Updates this call may make.
    record : int, optional
        Keep every k-th iterate's numbers in `result.history`.
    coordinates : {"reduced", "full"}
        "reduced" factorises A once (kept with the problem) and then needs O(rank) a step, whatever
        the dimension; "full" works on A itself, for an A too large to factorise. Both give the same
        result. Matrix sensing has no reduction: there "reduced" runs compiled, "full" by the rules
        in NumPy.

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
    every = (
        None
        if record is None
        else _validate.integer("record", record, minimum=1, maximum=_validate.MAX_COUNT)
    )
    reduced = _validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
    _check_start(scale, direction, start)
    if start is None:
        unit = problem.unit_direction("direction", direction, columns(method))
        begun = _begin(
            method,
            problem,
            problem.start_scale(scale, unit, columns(method)),
            unit,
            reduced,
            tolerance,
            every,
        )
    else:
        begun = _go_on(method, problem, start, reduced, tolerance, every)
    policy = Policy(tolerance, max_steps, begun.judge, None if every is None else Recorder(every))
    try:
        code = loop(begun.batch, policy)
    except KeyboardInterrupt:
        begun.batch.advance(0)  # so that the loss and the step number are those of the state
        message = f"interrupted after {begun.batch.clock - begun.clock} steps; go on with start="
        raise Interrupted(begun.result(Status.MAX_STEPS, message, policy.recorder)) from None
    status = STATUSES[int(code[0])]
    return begun.result(status, begun.explain(status, policy), policy.recorder)


def _check_start(scale: Any, direction: Any, start: Any) -> None:
    if start is None:
        if scale is None or direction is None:
            raise ValueError(
                "scale and direction are both needed, unless the run goes on from a result with "
                "start="
            )
        return
    if not isinstance(start, Result):
        raise TypeError(f"start must be a Result, got {type(start).__name__}")
    if scale is not None or direction is not None:
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
) -> _Run:
    """A run from a scale (1, …) and a unit direction; `norm` is the ‖w0‖ it goes on from."""
    check_scale(method, problem, scale)
    space = coordinates_of(method, problem, reduced)
    entered, frame = space.start(unit)
    require_isometry(space, unit[None], entered[None])
    perp_units = space.perp_units(unit[None], every is not None)
    first = Start(
        descent_scale(method, problem, scale), entered[None], clock, None, None, norm, perp_units
    )
    batch = start_batch(private_copy(method), space.problem, first, tolerance, compiled=reduced)
    return _Run(method, problem, batch, frame, judge_for(method), clock, reduced)


def _go_on(
    method: Method,
    problem: Problem,
    start: Result,
    reduced: bool,
    tolerance: float,
    every: int | None,
) -> _Run:
    """A run from a result: the same run going on, or another one from the same weights."""
    if not (np.isfinite(start.weights).all() and np.all(np.isfinite(start.scale))):
        raise ValueError(
            "start has weights that are not finite (it diverged); start from an earlier result"
        )
    end = start._resume
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
        if end.kind == kind:
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
            run = _Run(method, problem, batch, frame, end.judge.copy(), end.clock, end.reduced)
            if end.problem is not None or run.stands_at(start.weights):
                return run
            if getattr(method, "momentum", 0.0) or getattr(end.state, "arrays", None):
                raise ValueError(
                    "start was pickled where the factorisation of A came out in other coordinates, "
                    "so that its momentum means "
                    "nothing here; go on where it was made, or give scale and direction"
                )
    scale, unit = problem.start_at(start, columns(method), method.has_scale)
    norm = (
        np.atleast_1d(start.direction_norm)[None]
        if columns(method)
        else np.atleast_1d(start.direction_norm)
    )
    keeps = (
        getattr(method, "free_norm", False) and norm.shape == scale.shape and (norm != 1.0).any()
    )
    clock = end.clock if same else 0
    return _begin(
        method, problem, scale, unit, reduced, tolerance, every, clock, norm if keeps else None
    )


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

    def stands_at(self, weights: Array) -> bool:
        """Whether the run stands at these weights; after a round trip to another machine its
        coordinates may not.
        """
        position = self.batch.position()
        here = self.problem.weights(self.frame.lift(position.unit[0])[None], position.scale)[0]
        return bool(np.abs(here - weights).max() <= SAME_PLACE * np.abs(weights).max())

    def result(self, status: Status, message: str, recorder: Recorder | None) -> Result:
        """Where the run ended, in the problem's own coordinates."""
        batch, problem = self.batch, self.problem
        position, small = batch.position(), batch.problem
        ended, scale = int(batch.ended_at[0]), position.scale
        found = small.summary(position.unit, scale, position.perp, measured=False)
        unit = self.frame.lift(position.unit[0])
        weights = problem.weights(unit[None], scale)[0]
        final = not (
            np.isfinite(weights).all() and problem.can_measure
        )  # no more can be found out later
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
            history=None if recorder is None else recorder.history(),
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
            ),
        )

    def explain(self, status: Status, policy: Policy) -> str:
        """The status in a sentence: what happened, why, and what to do about it."""
        batch, tolerance, loss = self.batch, policy.tolerance, float(self.batch.loss[0])
        if status is Status.CONVERGED:
            return f"loss {loss:.6g} <= tolerance {tolerance:g}"
        if status is Status.DIVERGED:
            if batch.ended_at[0] == 0:
                return (
                    f"the loss is {loss:.6g} at the start already: rescale the problem or start "
                    "nearer"
                )
            return f"the loss grew to {loss:.6g}, or ‖w‖ overflowed; try smaller steps"
        floor = batch.problem.known_floor
        unreachable = floor is not None and floor > tolerance
        if status is Status.STATIONARY:
            return self._explain_standstill(
                floor if unreachable else None, floor is None, loss, tolerance
            )
        text = f"made max_steps = {policy.max_steps} steps; the loss is {loss:.6g}"
        if tolerance > 0:
            text += f", above tolerance {tolerance:g}"
        if tolerance > 0 and unreachable:
            text += f"; y is partly out of reach, so the loss cannot go below {floor:.6g}"
        for name, note in (
            ("cycling", "it keeps coming back to the same points, a cycle"),
            ("rough", "the loss goes up and down"),
        ):
            if (seen := getattr(self.judge, name, None)) is not None and seen[0]:
                return f"{text}; {note}: try smaller steps"
        return text

    def _explain_standstill(
        self, floor: float | None, unknown: bool, loss: float, tolerance: float
    ) -> str:
        batch, method = self.batch, self.method
        position = batch.position()
        if own := batch.problem.standstill(position.unit, position.scale):
            return f"{own}; the loss stays {loss:.6g}"
        if method.has_scale and not np.any(position.scale[0]):
            return (
                f"a point of S = {{g = 0, yᵀAw = 0}}: no step leaves it, and the loss stays "
                f"{loss:.6g}"
            )
        if floor is not None:
            return (
                f"the floor of an unreachable y: the loss cannot go below {floor:.6g}, above "
                f"tolerance {tolerance:g}"
            )
        frozen = [
            name
            for name, s in zip(("direction", "scale"), method.schedules, strict=True)
            if s.ends_frozen
        ]
        if len(frozen) == 2:
            return f"every step is zero from here on; the loss stays {loss:.6g}"
        if method.has_scale and frozen:
            return (
                f"the {frozen[0]} will not move any more, and the rest has settled at loss "
                f"{loss:.6g}"
            )
        if unknown and loss > TINY * self.problem.zero_loss and bool(gradient_vanishes(batch)[0]):
            return (
                f"the floor of an unreachable y: the gradient vanishes at loss {loss:.6g}, above "
                f"tolerance {tolerance:g}"
            )
        return (
            f"the update no longer moves the iterate, at loss {loss:.6g}: rounding allows no less; "
            "raise the tolerance"
        )


def _number(values: Any, final: bool) -> float | None:
    """The number of a run, None where it can be measured later."""
    return (np.nan if final else None) if values is None else float(values[0])
