"""The records of a run, within bounded memory."""

from __future__ import annotations

import numpy as np

from ..result import History
from .batch import Records, join, take

MAX_RECORDS = 2**21


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
        """Take a slice's records; the first may repeat the last one of the slice before."""
        if records is None:
            return
        if self._pieces and records.step.size and records.step[0] == self._pieces[-1].step[-1]:
            records = take(records, slice(1, None))
        if not records.step.size:
            return
        self._pieces.append(records)
        self._size += records.step.size
        while self._size > self._limit:
            self.every *= 2
            whole = self._joined()
            self._pieces = [take(whole, whole.step % self.every == 0)]
            self._size = self._pieces[0].step.size

    def history(self) -> History:
        """What was recorded."""
        records = self._joined()
        return History(
            step=records.step,
            loss=records.loss,
            scale=records.scale,
            direction_norm=records.direction_norm,
            perp_norm=records.perp_norm,
            weights_norm=records.weights_norm,
            direction_perp_norm=records.direction_perp_norm,
            every=self.every,
        )

    def _joined(self) -> Records:
        return join(self._pieces) or Records(np.empty(0, np.int64), *np.empty((6, 0)))
