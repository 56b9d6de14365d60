"""From methods, a problem and starts to a batch of runs: the one place where a batch is built.

    start(methods, problem, starts) -> batch;   loop(batch, policy) -> statuses

`check_method` says whether a method and a problem go together, `coordinates.py` in which
coordinates it runs, and `start` which backend advances it: a compiled kernel that knows both the
problem and the method, or else the method's own rule in NumPy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._support.interrupts import held
from .._support.numeric import TINY, Array
from ..methods import Method
from ..methods.registry import COMPILED
from ..methods.schedules import Schedule
from ..methods.state import expand
from ..methods.steps import bind_steps
from ..problems.contract import require_problem
from .backends.diagonal import DiagonalBatch
from .backends.model import ModelBatch
from .backends.rules import RulesBatch
from .backends.sensing import SensingBatch
from .backends.single import SingleBatch
from .batch import Batch, Start, plain_state

GROWTH = 1e30  # a loss this many times its start (or the loss of zero weights) will not come back
# the backends that know a problem, the best first; the rules in NumPy know every one
BACKENDS: dict[str, tuple[Any, ...]] = {
    "rules": (),
    "diagonal": (DiagonalBatch, SingleBatch),
    "model": (ModelBatch,),
    "single": (SingleBatch,),
    "sensing": (SensingBatch,),
}


def check_method(method: Any, problem: Any) -> None:
    """Refuse what is not a method, what is not a problem, and a method that asks for more than
    the problem has.
    """
    if isinstance(method, type):
        raise TypeError(
            f"method must be a method with its steps, got the class {method.__name__}; call it "
            "with step sizes"
        )
    if not isinstance(method, Method):
        raise TypeError(
            "method must be a GradientDescent, WeightNorm, RPGD or BatchNorm, got "
            f"{type(method).__name__}: {method!r}; one of your own subclasses wn.Method"
        )
    require_problem(problem)
    _require_schedules(method)
    for need in method.needs:
        need.require(problem)
    if method.sampling is not None:
        method.sampling.draws(problem.num_samples)


def _require_schedules(method: Method) -> None:
    """Refuse a method of one's own whose `schedules` are not two schedules."""
    found = method.schedules
    if (
        not isinstance(found, tuple)
        or len(found) != 2
        or not all(isinstance(schedule, Schedule) for schedule in found)
    ):
        raise TypeError(
            f"{type(method).__name__}.schedules must be two schedules, of the vector and of the "
            f"scale, got {found!r}; make them of numbers by wn.schedules.constant(0.1)"
        )


def private_copy(method: Method) -> Method:
    """The method a run works with: a copy where it may keep state on itself, so that nothing
    leaks into the next run.
    """
    if type(method) in COMPILED:
        return method
    try:
        return copy.deepcopy(method)
    except Exception as error:
        raise TypeError(
            f"method {type(method).__name__} cannot be copied ({error}); every run works on a copy "
            "of its own, so that what a method keeps on itself does not leak into other runs"
        ) from error


def undefined(method: Method, problem: Any, scale: Array) -> Any:
    """Which starts a method cannot make: a step divides by a zero scale, or the weights do not
    exist.
    """
    vector, other = bind_steps(method, problem)
    return vector.undefined_at(scale) | other.undefined_at(scale) | _nowhere(method, problem, scale)


def _nowhere(method: Method, problem: Any, scale: Array) -> Any:
    """Where there are no weights of this scale to start from."""
    return np.isnan(scale if method.has_scale else problem.descent_norm(scale))


def check_scale(method: Method, problem: Any, scale: Array) -> None:
    """Refuse a start that a method cannot make."""
    if _nowhere(method, problem, scale).any():
        kind = type(problem).__name__
        raise ValueError(
            f"scale must be at least 0 for {method.name} on {kind}, since X = U Uᵀ, got "
            f"{np.ravel(scale)[0]:g}"
        )
    if scale.all():
        return
    for name, step in zip(
        ("direction_step", "scale_step"), bind_steps(method, problem), strict=True
    ):
        if step.undefined_at(scale).any():
            raise ValueError(
                f"scale is 0 and the {name} of {method.name} has a factor "
                f"|g|^{step.scale_power:g}, which is undefined there; start from another scale or "
                "use a constant step"
            )


def backend_of(method: Any, problem: Any, compiled: bool = True) -> Any:
    """The backend that advances a method on a problem, in the problem's coordinates."""
    known = compiled and type(method) in COMPILED  # the class itself: a subclass has its own rule
    able = (backend for backend in BACKENDS[problem.backend] if known and backend.can_run(method))
    return next(able, RulesBatch)


def start(
    methods: Method | Sequence[Method],
    problem: Any,
    starts: Start | Sequence[Start],
    tolerance: float,
    *,
    compiled: bool = True,
    threads: int = 1,
) -> Batch:
    """A batch of runs about to start, or to go on.

    Parameters
    ----------
    methods : a method, or one per run
        Several only where the backend shares them (matrix sensing).
    problem : Problem
        In the coordinates of the runs: the `.problem` of a reduction.
    starts : Start, or one per run
        One may hold many runs of one method.
    tolerance : float
        Runs stop at the first iterate with loss <= tolerance. Zero asks for all the steps: not even
        a loss of zero stops then.
    compiled : bool
        False runs the NumPy rules even where there is a kernel.
    threads : int
        For a backend that uses several.
    """
    stop_loss = tolerance if tolerance > 0 else -np.inf
    one = methods[0] if isinstance(methods, Sequence) else methods
    backend = backend_of(one, problem, compiled)
    pairs = zip(_many(methods), _many(starts), strict=True)
    several = [_begun(method, start, backend.keeps_lanes) for method, start in pairs]
    with held():  # numba compiles here, and cannot go on where Ctrl-C broke it off
        if backend.shares_methods:
            batch: Batch = backend(_many(methods), problem, several, stop_loss, threads)
        else:
            batch = backend(one, problem, several[0], stop_loss, threads)
    if _many(starts)[0].divergence_loss is None:
        batch.set_divergence_loss(default_divergence_loss(batch.loss, problem.zero_loss))
    return batch


def _many(things: Any) -> Any:
    return things if isinstance(things, Sequence) else [things]


def _begun(method: Method, start: Start, keeps_lanes: bool) -> Start:
    """A start with the method's own state, the norm it goes on from, and no divergence yet."""
    if start.divergence_loss is None:
        start = replace(start, divergence_loss=np.full(len(start.scale), np.inf))
    if start.state is not None:
        return start if keeps_lanes else replace(start, state=plain_state(start.state, method))
    state = method.init(start.scale, start.unit)
    if start.norm is not None:
        state = replace(state, vector=expand(start.norm, start.unit) * start.unit)
    return replace(start, state=state)


def default_divergence_loss(start_loss: Array, reference: Any) -> Array:
    """The loss beyond which a run counts as diverged; never so large that it could not be
    exceeded.
    """
    with np.errstate(over="ignore"):
        return np.asarray(
            np.minimum(GROWTH * np.maximum(start_loss, np.maximum(reference, TINY)), 1e300)
        )
