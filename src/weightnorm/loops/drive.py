"""The loop: advance runs slice by slice until each has converged, diverged, stalled or used up its steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..result import Status
from .recording import Recorder
from .runs import Array, Records, Runs, records
from .watch import WINDOW, Watch, gradient_vanishes

SLICE = 2**15  # steps of one call, at most …
WORK = 2**28  # … and numbers it may update: a fraction of a second, so that an interruption is heard
ASKED = 64  # steps for which a callable is asked ahead: it may know few more than the run will make
quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")  # a diverging run may overflow
GROWTH = 1e30  # a loss this many times its start (or half ‖y‖²) will not come back


def divergence_limit(start_loss: Array, reference: float) -> Array:
    """The loss beyond which a run counts as diverged; never so large that it could not be exceeded."""
    with np.errstate(over="ignore"):
        return np.minimum(GROWTH * np.maximum(start_loss, max(reference, np.finfo(np.float64).tiny)), 1e300)


def drive(
    runs: Runs,
    tolerance: float,
    max_steps: int,
    watch: Watch,
    recorder: Recorder | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> NDArray[np.int8]:
    """Advance `runs` to their ends, at most `max_steps` each; the status code of each.

    A run that neither converged nor diverged nor stalled has the code of `max_steps`. A tolerance of zero means: make
    all the steps; such runs are not watched for standing still.
    """
    end = runs.clock + max_steps
    status = np.full(runs.alive.size, Status.MAX_STEPS.code, dtype=np.int8)
    watching = tolerance > 0
    longest = max(1, min(SLICE, WORK // runs.size))
    if any(schedule.function is not None for schedule in runs.schedules):
        longest = min(longest, ASKED)
    if watching and runs.has_zero_scale:  # only a run at scale zero can be stuck from the start
        _retire(runs, gradient_vanishes(runs) & ~runs.position().scale.reshape(runs.alive.size, -1).any(axis=1), status)
    if recorder is not None and (max_steps == 0 or not runs.alive[0]) and runs.clock % recorder.every == 0:
        recorder.add(_start_record(runs))
    while runs.alive.any() and runs.clock < end and not cancelled():
        look = watch.next_look(runs.clock)
        until = look
        following = watching and runs.clock >= look - WINDOW and watch.follows(runs)
        if following:
            watch.glance(runs)
            until = runs.clock + 1
        elif watching and runs.clock < look - WINDOW:
            until = look - WINDOW
        passed = runs.advance(min(longest, until - runs.clock, end - runs.clock), recorder.every if recorder else 0)
        if recorder is not None:
            recorder.add(passed)
        if following and runs.clock == look and runs.alive.any():
            _retire(runs, watch.look(runs), status)
    if watching and max_steps and runs.alive.any():
        _retire(runs, gradient_vanishes(runs), status)
    ended = ~runs.alive & (status != Status.STATIONARY.code)
    status[ended] = Status.DIVERGED.code
    status[ended & (runs.loss <= tolerance)] = Status.CONVERGED.code
    return status


def _start_record(runs: Runs) -> Records:
    """The record of a run that ended where it began."""
    position = runs.position()
    columns = (runs.loss, position.scale, position.direction_norm, position.unit, position.perp)
    return records(runs.problem, np.array([runs.clock]), *(column[:1] for column in columns))


def _retire(runs: Runs, which: NDArray[np.bool_], status: NDArray[np.int8]) -> None:
    which = which & runs.alive
    if which.any():
        status[which] = Status.STATIONARY.code
        runs.retire(which)
