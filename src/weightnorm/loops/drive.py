"""The loop: advance runs slice by slice until each has converged, diverged, stalled or used up its steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..result import History, Status
from .runs import Array, Position, Records, Runs

EPS = float(np.finfo(np.float64).eps)
SLICE = 4096  # steps between two looks from outside: interruption, stationarity, memory of a record
STILL = 8 * EPS  # a run that moved less than this in a whole slice, relatively, does not move
FLAT = 16 * EPS  # a gradient this small against its own terms is rounding
MAX_RECORDS = 2**21
GROWTH = 1e30  # a loss this many times its start (or half ‖y‖²) will not come back


def divergence_limit(start_loss: Array, reference: float) -> Array:
    """The loss beyond which a run counts as diverged; never so large that it could not be exceeded."""
    with np.errstate(over="ignore"):
        return np.minimum(GROWTH * np.maximum(start_loss, max(reference, np.finfo(np.float64).tiny)), 1e300)


def drive(
    runs: Runs,
    tolerance: float,
    max_steps: int,
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
    last: Position | None = None
    last_clock = 0
    if watching and runs.starts_at_zero_scale:
        _retire(runs, gradient_vanishes(runs), status)
    if recorder is not None and not runs.alive[0] and runs.clock % recorder.every == 0:
        recorder.add(_start_record(runs))
    while runs.alive.any() and runs.clock < end and not cancelled():
        count = min(SLICE - runs.clock % SLICE, end - runs.clock)
        records = runs.advance(count, 0 if recorder is None else recorder.every)
        if recorder is not None:
            recorder.add(records)
        if watching and runs.clock % SLICE == 0 and runs.alive.any():
            now = runs.position()
            still = False if last is None else _stands_still(runs, last, now, last_clock)
            _retire(runs, gradient_vanishes(runs) | still, status)
            last, last_clock = now, runs.clock
    loss = runs.loss
    ended = ~runs.alive & (status != Status.STATIONARY.code)
    status[ended] = Status.DIVERGED.code
    status[ended & (loss <= tolerance)] = Status.CONVERGED.code
    return status


def _start_record(runs: Runs) -> Records:
    """The record of a run that ended where it began."""
    position = runs.position()
    columns = (runs.loss, position.scale, position.direction_norm, position.perp)
    return Records(np.array([runs.clock]), *(column[:1] for column in columns))


def _retire(runs: Runs, which: NDArray[np.bool_], status: NDArray[np.int8]) -> None:
    which = which & runs.alive
    if which.any():
        status[which] = Status.STATIONARY.code
        runs.retire(which)


def gradient_vanishes(runs: Runs) -> NDArray[np.bool_]:
    """Where the gradient in the method's own coordinates is zero to rounding.

    Either Aᵀr is zero against its own terms (a solution, or the floor of an unreachable y), or the run is in
    S = {g = 0, yᵀAw = 0}, where neither g nor w moves.
    """
    position = runs.position()
    with np.errstate(over="ignore", invalid="ignore"):
        _, gradient = runs.problem.value_and_gradient(position.weights)
        _, at_zero = runs.problem.value_and_gradient(np.zeros_like(position.unit[:1]))
        size = np.linalg.norm(gradient, axis=1)
        terms = np.linalg.norm(at_zero) + np.linalg.norm(gradient - at_zero, axis=1)
        flat = size <= FLAT * terms
        if not runs.method.has_scale:
            return np.asarray(flat)
        along = np.abs(np.einsum("ij,ij->i", position.unit, gradient))
        return np.asarray(flat | ((position.scale == 0.0) & (along <= FLAT * size)))


def _stands_still(runs: Runs, last: Position, now: Position, since: int) -> NDArray[np.bool_] | bool:
    """Where neither scale nor direction moved for a slice, though both schedules had settled before it."""
    settled = [schedule.settled_from for schedule in runs.method.schedules]
    if any(start is None or start > since for start in settled):
        return False
    moved = np.abs(now.unit - last.unit).max(axis=1, initial=0.0)
    return np.asarray((moved <= STILL) & (np.abs(now.scale - last.scale) <= STILL * np.abs(now.scale)))


class Recorder:
    """Collects the records of a run within bounded memory: beyond MAX_RECORDS it keeps every second one."""

    def __init__(self, every: int, limit: int = MAX_RECORDS) -> None:
        self.every = every
        self._limit = limit
        self._size = 0
        self._pieces: list[Records] = []

    def add(self, records: Records | None) -> None:
        """Take a slice's records; the first may repeat the last one of the slice before."""
        assert records is not None
        if self._pieces and records.step.size and records.step[0] == self._pieces[-1].step[-1]:
            records = _select(records, slice(1, None))
        if not records.step.size:
            return
        self._pieces.append(records)
        self._size += records.step.size
        while self._size > self._limit:
            self.every *= 2
            whole = self._joined()
            self._pieces = [_select(whole, whole.step % self.every == 0)]
            self._size = self._pieces[0].step.size

    def history(self) -> History:
        """What was recorded."""
        records = self._joined()
        return History(
            step=records.step,
            loss=records.loss,
            scale=records.scale,
            direction_norm=records.direction_norm,
            perp_norm=np.abs(records.scale * records.perp),
            weights_norm=np.abs(records.scale),
            direction_perp_norm=np.abs(records.perp),
            every=self.every,
        )

    def _joined(self) -> Records:
        pieces = self._pieces or [Records(np.empty(0, np.int64), *np.empty((4, 0)))]
        return Records(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in _RECORD_FIELDS))


_RECORD_FIELDS = ("step", "loss", "scale", "direction_norm", "perp")


def _select(records: Records, which: slice | NDArray[np.bool_]) -> Records:
    return Records(*(getattr(records, name)[which] for name in _RECORD_FIELDS))
