"""Runs by the methods' own rules in NumPy, in any coordinates: the reference, and the path without a factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..methods.base import Array, Evaluation, Method, State, bind_steps, expand, safe_norm
from ..schedules import Schedule
from .runs import Position, Records, gather, multiples, settled, stopping_loss


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
        count = len(state.scale)
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
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The method's."""
        return self.method.schedules

    @property
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now."""
        stuck = self.state.scale if self.method.has_scale else self.state.vector.reshape(len(self.state.scale), -1).any(axis=1)
        return not stuck.all()

    @property
    def size(self) -> int:
        """How many numbers one step of all runs updates, an interpreted step counting for a million at least."""
        return max(self.state.vector.size, 2**20)

    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""
        rows: list[tuple[Array, Position]] = []
        first = self.clock
        vector_values = self._steps[0].values(first, count)
        scale_values = self._steps[1].values(first, count)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(count + 1):
                evaluation = self.method.evaluate(self.problem, self.state)
                self.loss[self.alive] = evaluation.loss[self.alive]
                self.ended_at[self.alive] = self.clock
                if every and self.clock % every == 0 and self.alive[0]:
                    rows.append((self.loss[:1].copy(), self.position()))
                self.alive &= (self.loss > self._low) & (self.loss <= self.limit)
                if i == count or not self.alive.any():
                    break
                self._update(evaluation, vector_values[i], scale_values[i])
        if not every:
            return None
        return gather(self.problem, multiples(every, first, first + count)[: len(rows)], rows) if rows else None

    def _update(self, evaluation: Evaluation, vector_value: float, scale_value: float) -> None:
        state = self.state
        steps = (self._steps[0].at(vector_value, state), self._steps[1].at(scale_value, state))
        new = self.method.update(state, evaluation, *steps)
        alive = self.alive
        vector = np.where(expand(alive, new.vector), new.vector, state.vector)
        scale = np.where(expand(alive, new.scale), new.scale, state.scale)
        self._moment = (State(vector, scale), self.clock + 1)

    def position(self) -> Position:
        """Where each run stands, or ended."""
        state = self.state
        norm = safe_norm(state.vector, state.scale)
        with np.errstate(invalid="ignore"):
            unit = np.where(
                expand(norm, state.vector) > 0, state.vector / expand(np.where(norm > 0, norm, 1.0), state.vector), 0.0
            )
        units = self._perp_units
        perp = np.full(self.loss.shape, np.nan) if units is None else np.einsum("ij,ij->i", unit, units)
        if not self.method.has_scale:
            return Position(unit, self.problem.scale_of(norm), np.ones_like(norm), perp)
        return Position(unit, state.scale, norm, perp)

    def settled_since(self, step: int) -> NDArray[np.bool_]:
        """Whether the runs have had constant steps since that step, for good."""
        return np.full(self.alive.size, settled(self.schedules, step))

    def gradient_vanishes(self) -> NDArray[np.bool_]:
        """Where the gradient in the method's own coordinates is zero to rounding."""
        position = self.position()
        return np.asarray(self.problem.gradient_vanishes(position.unit, position.scale, self.method.has_scale))

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        self.alive &= ~which
