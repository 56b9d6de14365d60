"""The records of a run, within bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..methods.steps import ratios_along
from ..runs.history import History, records_invariant
from .batch import Records, join, take

MAX_RECORDS = 2**21
MAX_NUMBERS = 2**26  # of directions or weights that are kept: half a gigabyte each


def record_limit(numbers: int) -> int:
    """How many records may be kept, each with so many numbers besides the usual few."""
    return max(2, min(MAX_RECORDS, MAX_NUMBERS // numbers)) if numbers else MAX_RECORDS


class Recorder:
    """Collects the records of a run within bounded memory: beyond MAX_RECORDS it keeps every
    second one.
    """

    def __init__(self, every: int, limit: int = MAX_RECORDS) -> None:
        self.every = every
        self._limit = limit
        self._size = 0
        self._pieces: list[Records] = []

    def add(self, records: Records | None) -> None:
        """Take a slice's records; those that are here already are left out."""
        if records is not None and self._pieces:
            records = take(records, records.step > self._pieces[-1].step[-1])
        if records is None or not records.step.size:
            return
        self._pieces.append(records)
        self._size += records.step.size
        while self._size > self._limit:
            self.every *= 2
            whole = self.records
            self._pieces = [take(whole, whole.step % self.every == 0)]
            self._size = self._pieces[0].step.size

    @property
    def records(self) -> Records:
        """What was recorded."""
        return join(self._pieces) or Records(np.empty(0, np.int64), *np.empty((6, 0)))


def make_history(run: Any, recorder: Recorder, keep: Sequence[str]) -> History:
    """What was recorded of a run, in the problem's own coordinates.

    Parameters
    ----------
    run : object
        With problem, batch, lifter and beginning, as `runs/setup.py` has it.
    recorder : Recorder
    keep : sequence of str
        What the history holds besides its few numbers.

    Returns
    -------
    History
    """
    records, kept = recorder.records, {}
    ratio = _ratios(run, records, "invariant" in keep)
    if run.batch.keeps_units:
        units = _lifted(run, records)
        if "direction" in keep:
            kept["direction"] = units
        if "weights" in keep:
            kept["weights"] = run.problem.weights(units, records.scale)
    if "invariant" in keep:
        kept["invariant"] = records_invariant(records.direction_perp_norm, records.scale, ratio)
    return History(
        step=records.step,
        loss=records.loss,
        scale=records.scale,
        direction_norm=records.direction_norm,
        perp_norm=records.perp_norm,
        weights_norm=records.weights_norm,
        direction_perp_norm=records.direction_perp_norm,
        every=recorder.every,
        ratio=ratio,
        **kept,
    )


def _lifted(run: Any, records: Records) -> Any:
    """The unit directions in the problem's own coordinates; there may be none."""
    if records.unit is not None:
        return run.lifter.lift_rows(records.unit)
    return np.empty((0, *run.lifter.lift(run.batch.position().unit[0]).shape))


def _ratios(run: Any, records: Records, wanted: bool) -> Any:
    """c = γ/η at each record, NaN where a method has none.

    A callable is asked once more only where the ratio is wanted, and never beyond the last step.
    """
    method, nothing = run.batch.method, np.full(records.step.size, np.nan)
    callables = any(schedule.function is not None for schedule in method.schedules)
    if not method.has_scale or records.scale.ndim != 1 or (callables and not wanted):
        return nothing
    # the steps of a scale of its own are not those of the scale that is recorded
    if not method.trains_weights_scale or run.problem.has_columns or not records.step.size:
        return nothing
    start_norm = run.beginning.norm
    return ratios_along(method, run.batch.problem, records.step, records.scale, start_norm)
