"""What the loop needs to know of a batch of runs, whichever backend advances it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..methods import Method
from ..methods.schedules import Schedule
from ..methods.state import State, block_norm, expand

KEPT_BY_LANES = ("inverse_norm", "perp_mantissa", "perp_exponent")
RECORDS_AT_ONCE = 256  # whole positions kept before they become a few numbers each


@dataclass(frozen=True, eq=False)
class Start:
    """Where n runs start, in the coordinates of their problem.

    Attributes
    ----------
    scale : (n,) array, or (n, r) with one scale per column
    unit : (n, k) array, or (n, d, r)
        Unit directions.
    clock : int
        The step number at which schedules begin.
    state : State, optional
        The state of the method; by default `method.init` of the above. It is the exact one at which
        an earlier run of the same method stopped.
    divergence_loss : (n,) array, optional
        The loss beyond which a run has diverged; by default far above that of its start.
    norm : array, optional
        ‖w0‖ where it goes on from a run whose method leaves it free.
    perp_units : (n, k) or (1, k) array, optional
        The unit vector along each start's part off the row space, to follow that part.
    """

    scale: Array
    unit: Array
    clock: int = 0
    state: Any = None
    divergence_loss: Any = None
    norm: Array | None = None
    perp_units: Array | None = None

    @classmethod
    def from_result(cls, result: Any, state: State, perp_units: Array | None) -> Start:
        """Where a run goes on exactly, in the coordinates of its state."""
        end = result._resume
        scale, unit = np.atleast_1d(result.scale), result.direction[None]
        return cls(scale, unit, end.clock, state, end.divergence_loss, perp_units=perp_units)


@dataclass(frozen=True)
class Position:
    """Where n runs stand: x = scale·unit in the problem's coordinates. Gradient descent has scale
    ‖x‖ ≥ 0.

    For matrix problems unit is (n, d, r), and scale (n,) or (n, r). `perp` (n,) is the signed
    length of the unit direction's part off the row space; NaN where it is not known.
    """

    unit: Array
    scale: Array
    direction_norm: Array
    perp: Array


@dataclass(frozen=True)
class Records:
    """Recorded iterates of the first run, one entry per record."""

    step: NDArray[np.int64]
    loss: Array
    scale: Array
    direction_norm: Array
    perp_norm: Array
    weights_norm: Array
    direction_perp_norm: Array
    unit: Array | None = None  # the unit directions themselves, where they are wanted


class Batch(ABC):
    """n runs on one problem, at one step number `clock`.

    Attributes
    ----------
    method, problem
        The method of the (first) run, and the problem in the coordinates of the runs.
    schedules : sequence of Schedule
        All that drive the runs.
    alive : (n,) bool array
        Which runs have neither reached the tolerance nor diverged nor been retired.
    loss, divergence_loss : (n,) arrays
        The loss at the current iterate, or at the last one of a run that ended; and that beyond
        which a run has diverged.
    ended_at : (n,) int array
        The step number each run is at, or ended at.
    keeps_units : bool
        Whether records hold the unit directions as well.
    passed : Records or None
        What the last call recorded, also where it was interrupted.
    """

    method: Any
    problem: Any
    schedules: Sequence[Schedule]
    alive: Any
    loss: Any
    divergence_loss: Any
    ended_at: Any
    keeps_lanes: ClassVar[bool] = False  # whether it takes a state with what only it keeps
    shares_methods: ClassVar[bool] = False  # whether runs of different methods may be in a batch
    uses_threads: ClassVar[bool] = False
    keeps_units: bool = False
    passed: Records | None = None

    @property
    @abstractmethod
    def clock(self) -> int:
        """The step number of the runs that are alive."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers one step of all runs updates."""

    @property
    @abstractmethod
    def has_zero_scale(self) -> bool:
        """Whether any run has a scale of exactly zero now: only there can a start be stuck."""

    @abstractmethod
    def advance(self, count: int, every: int = 0) -> Records | None:
        """Make up to `count` steps with each run that is alive, recording multiples of `every`."""

    @abstractmethod
    def position(self) -> Position:
        """Where each run stands, or ended."""

    @abstractmethod
    def state(self) -> Any:
        """The exact state of the first run, to go on from later."""

    def settled_since(self, step: int) -> NDArray[np.bool_]:
        """Which runs have had constant steps since that step, for good."""
        return np.full(self.alive.size, settled(self.schedules, step))

    def gradient_vanishes(self) -> NDArray[np.bool_]:
        """Where the gradient in the method's own coordinates, decay included, is zero to
        rounding.
        """
        position, method, problem = self.position(), self.method, self.problem
        where = position.unit, position.scale, method.has_scale
        if not method.decays:
            return np.asarray(problem.gradient_vanishes(*where))
        if problem.has_columns:  # a factor: only its motion tells
            return np.zeros(self.alive.size, dtype=bool)
        pull = method.decay_gradient(problem, position.scale[:, None] * position.unit)
        found = problem.balances(*where, pull)
        if method.has_scale and method.direction_decay:  # w moves on, unless it is in S
            found &= position.scale == 0.0
        return np.asarray(found)

    def set_divergence_loss(self, divergence_loss: Array) -> None:
        """Set the loss beyond which a run has diverged, and end those that are beyond it."""
        self.divergence_loss = divergence_loss
        self.alive &= self.loss <= divergence_loss

    def retire(self, which: NDArray[np.bool_]) -> None:
        """End these runs where they stand."""
        self.alive &= ~which


def other_coordinates(found: int, dimension: int) -> ValueError:
    """The error for a state of other coordinates, which compiled code would read without asking."""
    return ValueError(
        f"a start has {found} coordinates where the problem has {dimension}; its reduction, or the "
        "problem it was made on, is another"
    )


def safe_norm(vector: Array, scale: Array) -> Array:
    """`block_norm` without over- or underflow of the squares: slower, for what is shown and not
    for every step.
    """
    largest = np.abs(vector).max(axis=tuple(range(1, vector.ndim)) if scale.ndim == 1 else (1,))
    if not ((largest > 0) & (largest < np.inf)).all():
        largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return np.asarray(largest * block_norm(vector / expand(largest, vector), scale))


def settled(schedules: Sequence[Schedule], since: int) -> bool:
    """Whether schedules have kept their values since that step and will keep them: a frozen
    phase may thaw.
    """
    ends = [schedule.settled_from for schedule in schedules]
    return all(end is not None and end <= since for end in ends)


def multiples(every: int, first: int, last: int) -> NDArray[np.int64]:
    """The multiples of `every` in first … last."""
    return np.arange(-(-first // every) * every, last + 1, every, dtype=np.int64)


def gather(batch: Batch, step: NDArray[np.int64], rows: list[tuple[Array, Position]]) -> Records:
    """The records of the first run from its losses and positions."""
    names = ("scale", "direction_norm", "unit", "perp")
    found = {n: np.array([getattr(position, n)[0] for _, position in rows]) for n in names}
    loss = np.array([loss[0] for loss, _ in rows])
    perp, norm, share = batch.problem.norms(found["unit"], found["scale"], found["perp"])
    kept = found["unit"] if batch.keeps_units else None
    sizes = found["direction_norm"], perp, norm, share
    return Records(step, loss, found["scale"], *sizes, unit=kept)


def join(pieces: Sequence[Records]) -> Records | None:
    """Records one after the other; None if there are none."""
    if not pieces:
        return None

    def column(name: str) -> Any:
        parts = [getattr(piece, name) for piece in pieces]
        return None if parts[0] is None else np.concatenate(parts)

    return Records(*(column(field.name) for field in fields(Records)))


def take(records: Records, which: slice | NDArray[np.bool_]) -> Records:
    """Some of the records."""

    def column(name: str) -> Any:
        values = getattr(records, name)
        return None if values is None else values[which]

    return Records(*(column(field.name) for field in fields(Records)))


def weights_scale(method: Method, problem: Any, scale: Array, unit: Array, norm: Array) -> Array:
    """The scale of the weights, x = scale·unit, of a method whose own vector has this norm and
    whose own scale is this.
    """
    if not method.has_scale:
        return np.asarray(problem.scale_of(norm))
    return np.asarray(method.weights_scale(problem, scale, unit))


def plain_state(state: State, method: Method) -> State:
    """A state as every backend knows it: without what the kernel of diagonal problems keeps
    besides, which leaves the vector of a method with a norm of 1 to be divided by its norm.
    """
    if "inverse_norm" not in state.arrays:
        return state
    kept = {name: a for name, a in state.arrays.items() if name not in KEPT_BY_LANES}
    fixed = method.has_scale and not method.free_norm
    vector = state.vector * state["inverse_norm"][:, None] if fixed else state.vector
    return State(vector, state.scale, kept)


def position_of(state: State, method: Method, problem: Any, perp_units: Array | None) -> Position:
    """Where the runs of a state stand."""
    norm = safe_norm(state.vector, state.scale)
    wide = expand(norm, state.vector)
    with np.errstate(invalid="ignore"):
        unit = state.vector / np.where(wide == 0, 1.0, wide)  # NaN where a run has diverged
    perp = (
        np.full(len(norm), np.nan)
        if perp_units is None
        else np.einsum("ij,ij->i", unit, perp_units)
    )
    scale = weights_scale(method, problem, state.scale, unit, norm)
    return Position(unit, scale, norm if method.has_scale else np.ones_like(norm), perp)


def record_by_pieces(
    batch: Any, advance: Callable[[int], object], count: int, every: int
) -> Records | None:
    """Advance from one record to the next, for a kernel that does not record; the whole
    positions become a few numbers.
    """
    rows: list[tuple[Array, Position]] = []
    steps: list[int] = []
    pieces: list[Records] = []
    end = batch.clock + count

    def note() -> None:
        """Keep where the run is, if that is wanted and not kept yet."""
        here = batch.clock if batch.alive[0] else int(batch.ended_at[0])  # a clock may run on
        known = steps[-1:] or [int(piece.step[-1]) for piece in pieces[-1:]]
        if here % every == 0 and here not in known:
            rows.append((batch.loss[:1].copy(), batch.position(first_only=True)))
            steps.append(here)

    def finish() -> None:
        """Turn what was kept into records."""
        if steps:
            pieces.append(gather(batch, np.array(steps, dtype=np.int64), rows[: len(steps)]))
            rows.clear()
            steps.clear()

    try:
        advance(0)
        note()
        while batch.clock < end and batch.alive[0]:
            advance(min(every - batch.clock % every, end - batch.clock))
            note()
            if len(rows) == RECORDS_AT_ONCE:
                finish()
    finally:
        note()
        finish()
        passed = batch.passed = join(pieces)
    return passed
