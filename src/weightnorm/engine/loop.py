"""The loop: advance a batch slice by slice until each run has converged, diverged, stalled or used
up its steps.

What differs between `run`, `sweep`, `search_step` and the classifier is the policy: how many steps,
what is recorded, and the rule of `stopping.py` that looks at the runs between slices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.interrupts import held
from .._support.moved import by_old_names
from ..runs.result import Status
from .batch import Batch, Records, gather
from .recording import Recorder
from .stopping import SLICE, StoppingRule

# numbers that one call of a batch may update: a fraction of a second, so that an interruption is
# heard
WORK = 2**28
# steps for which a callable schedule is evaluated ahead, because it may fail beyond the last step
ASKED = 64
KEPT_AT_ONCE = 1024  # steps of one call that keeps whole directions
CODES = {status: status.code for status in Status}
# a diverging run may overflow
quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
__getattr__ = by_old_names(__name__)


@dataclass
class Policy:
    """How a batch is to be run.

    Attributes
    ----------
    tolerance : float
        Runs stop at the first iterate with loss <= tolerance.
    max_steps : int
    stopping : StoppingRule
    recorder : Recorder, optional
        Keeps iterates of the first run.
    cancelled : callable
        Asked between slices; True ends the loop.
    """

    tolerance: float
    max_steps: int
    stopping: StoppingRule
    recorder: Recorder | None = None
    cancelled: Callable[[], bool] = lambda: False


def loop(batch: Batch, policy: Policy) -> NDArray[np.int8]:
    """Advance a batch to the ends of its runs, at most `max_steps` each; the status code of each.

    A run that neither converged nor diverged nor stalled has the code of `max_steps`. A tolerance
    of zero means: make all the steps; such runs are not judged for standing still.
    """
    stopping, recorder = policy.stopping, policy.recorder
    end = batch.clock + policy.max_steps
    status = np.full(batch.alive.size, CODES[Status.MAX_STEPS], dtype=np.int8)
    judging = stopping.active and (policy.tolerance > 0 or stopping.always)
    retired = np.zeros(batch.alive.size, dtype=bool)
    longest = max(1, min(SLICE, WORK // batch.size))
    if batch.keeps_units:
        longest = min(longest, KEPT_AT_ONCE)
    if any(schedule.function is not None for schedule in batch.schedules):
        longest = min(longest, ASKED)
    if judging:
        _retire(batch, stopping, stopping.at_start(batch), status, retired)
    if (
        recorder is not None
        and (policy.max_steps == 0 or not batch.alive[0])
        and batch.clock % recorder.every == 0
    ):
        recorder.add(_here(batch))
    while batch.alive.any() and batch.clock < end and not policy.cancelled():
        until = min(end, stopping.until(batch)) if judging else end
        every = recorder.every if recorder else 0
        with held():  # an interruption loses nothing that was recorded
            try:
                batch.advance(min(longest, until - batch.clock), every)
            finally:
                if recorder is not None:
                    recorder.add(batch.passed)
        if judging:
            _retire(batch, stopping, stopping.after(batch), status, retired)
    if judging and policy.max_steps and batch.alive.any():
        _retire(batch, stopping, stopping.at_end(batch), status, retired)
    ended = ~batch.alive & ~retired
    status[ended] = np.where(
        batch.loss[ended] <= policy.tolerance, CODES[Status.CONVERGED], CODES[Status.DIVERGED]
    )
    return status


def _here(batch: Batch) -> Records:
    """The record of a run that ended where it began."""
    return gather(batch, np.array([batch.clock]), [(batch.loss[:1], batch.position())])


def _retire(
    batch: Batch,
    stopping: StoppingRule,
    which: NDArray[np.bool_] | None,
    status: NDArray[np.int8],
    retired: NDArray[np.bool_],
) -> None:
    """End these runs: those at their optimum have converged, the others are stationary."""
    if which is None or not (which := which & batch.alive).any():
        return
    codes = np.where(stopping.optimal(batch), CODES[Status.CONVERGED], CODES[Status.STATIONARY])
    status[which] = codes[which]
    retired |= which
    batch.retire(which)
