"""Runs by the methods' own rules in NumPy, in any coordinates: the reference, and the path without a factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.base import Array, Evaluation, Method, State, bind_steps
from .runs import Position, Records, multiples, stopping_loss


class PlainRuns:
    """n runs of one method, advanced together; see `runs.Runs`.

    Parameters
    ----------
    method, problem
    state : State
    clock : int
        The step number the schedules are at.
    tolerance : float
    limit : (n,) array
        The loss beyond which a run has diverged.
    perp_units : (n, d) array or None
        The unit vector along each start's part off the row space, to follow that part; None where it is not known.
    """

    def __init__(
        self,
        method: Method,
        problem: Any,
        state: State,
        clock: int,
        tolerance: float,
        limit: Array,
        perp_units: Array | None = None,
    ) -> None:
        self.method, self.problem = method, problem
        self.limit = limit
        self._low = stopping_loss(tolerance)
        self._perp_units = perp_units
        self._steps = bind_steps(method, problem)
        count = state.scale.size
        self.alive: NDArray[np.bool_] = np.ones(count, dtype=bool)
        self.ended_at = np.full(count, clock, dtype=np.int64)
        self._moment: tuple[State, int] = (state, clock)  # replaced as one, so an interruption finds them consistent
        self.loss = np.full(count, np.nan)
        self.advance(0)

    @property
    def clock(self) -> int:
        """The step number of the runs that are alive."""
        return self._moment[1]

    @property
    def state(self) -> State:
        """Where the runs stand."""
        return self._moment[0]

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        return self.method.has_scale and not self.state.scale.all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates, an interpreted step counting for a million at least."""
        return max(self.state.vector.size, 2**20)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        rows: list[tuple[float, ...]] = []
        first = self.clock
        vector_values = self._steps[0].values(first, count)
        scale_values = self._steps[1].values(first, count)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(count + 1):
                evaluation = self.method.evaluate(self.problem, self.state)
                self.loss[self.alive] = evaluation.loss[self.alive]
                self.ended_at[self.alive] = self.clock
                if every and self.clock % every == 0 and self.alive[0]:
                    rows.append(self._row())
                self.alive &= (self.loss > self._low) & (self.loss <= self.limit)
                if i == count or not self.alive.any():
                    break
                self._update(evaluation, vector_values[i], scale_values[i])
        if not every:
            return None
        columns = np.array(rows).reshape(-1, 4).T
        return Records(multiples(every, first, first + count)[: len(rows)], *columns)

    def _update(self, evaluation: Evaluation, vector_value: float, scale_value: float) -> None:
        state = self.state
        steps = (self._steps[0].at(vector_value, state), self._steps[1].at(scale_value, state))
        new = self.method.update(state, evaluation, *steps)
        alive = self.alive
        vector = np.where(alive.reshape(-1, *[1] * (new.vector.ndim - 1)), new.vector, state.vector)
        self._moment = (State(vector, np.where(alive, new.scale, state.scale)), self.clock + 1)

    def _row(self) -> tuple[float, ...]:
        position = self.position()
        values = (self.loss, position.scale, position.direction_norm, position.perp)
        return tuple(float(value[0]) for value in values)

    def position(self) -> Position:
        """Where each run stands, or ended."""
        state = self.state
        norm = np.linalg.norm(state.vector, axis=1)
        with np.errstate(invalid="ignore"):
            unit = np.where(norm[:, None] > 0, state.vector / np.where(norm > 0, norm, 1.0)[:, None], 0.0)
        units = self._perp_units
        perp = np.full(norm.shape, np.nan) if units is None else np.einsum("ij,ij->i", unit, units)
        if not self.method.has_scale:
            return Position(unit, norm, np.ones_like(norm), perp)
        return Position(unit, state.scale, norm, perp)

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        self.alive &= ~which
