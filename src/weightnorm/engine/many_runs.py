"""Every method × start × scale on one problem, or one problem per start, as plain arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array, Vector
from .._support.pool import available_cores, run_all
from ..methods.contract import Method
from ..problems import Problem
from ..runs.result import empty_columns
from .batch import Batch, Start
from .coordinates import coordinates as coordinates_of
from .coordinates import enter, perp_units_of, require_isometry
from .gradient_test import with_gradient
from .loop import Policy, loop, quietly
from .start import backend_of, check_method, private_copy, start, undefined
from .stopping import rule_for

_BLOCK = 32  # neighbouring runs that stay together, as in a block of the kernel
_PIECES = 8  # of work without threads of its own
_MANY = 2_000  # runs from which several pieces at once pay
_PIECE = 2**21  # numbers in the vectors of one piece of work, at most
_PROGRESS = 64  # blocks in one piece of work, at most

Indices = NDArray[np.intp]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ManyRuns:
    """The numbers of many runs, without labels.

    Attributes
    ----------
    arrays : dict of name -> array (method, start, scale)
    scales : array
    starts : dict
        What the theory needs of the starts, where it is known: `minimum_norm`, one number or one
        per start, and `start_perp_norm`, one per start.
    """

    arrays: dict[str, NDArray[Any]]
    scales: Vector
    starts: dict[str, Any]


@quietly
def run_many(
    problem: Problem | Sequence[Problem],
    methods: Mapping[str, Method],
    scales: Any,
    directions: Any,
    tolerance: float,
    max_steps: int,
    coordinates: str = "reduced",
    threads: int | None = None,
    progress: Progress | None = None,
    gradient_tolerance: float | None = None,
) -> ManyRuns:
    """The numbers of a sweep, for those who label them themselves.

    With several least-squares problems of one dimension each start is on its own: runs of different
    problems then advance together.
    """
    problems = list(problem) if isinstance(problem, Sequence) else [problem]
    _check_methods(methods, problems)
    g = validate.number_or_vector("scales", scales)
    units = {
        c: problems[0].unit_directions(directions, c)
        for c in sorted({method.per_column for method in methods.values()})
    }
    tolerance = validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = validate.integer("max_steps", max_steps, maximum=validate.MAX_COUNT)
    reduced = validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
    workers = (
        available_cores() if threads is None else validate.integer("threads", threads, minimum=1)
    )
    by_method = [
        _MethodRuns.of(method, problems, units[method.per_column], g, reduced)
        for method in methods.values()
    ]
    num_starts = len(next(iter(units.values())))
    out = empty_columns(problems[0].variables, (len(by_method), num_starts, len(g)))
    cancel = threading.Event()
    total = out["status"].size
    done = total - sum(one.places.size for one in by_method) * num_starts

    @quietly
    def work(piece: _Piece) -> int:
        batch = piece.start(by_method, g, tolerance, reduced, workers)

        def cancelled() -> bool:
            if piece.alone and (ended := int((~batch.alive).sum())):
                _tell(progress, done + ended, total)
            return cancel.is_set()

        rule = rule_for(by_method[piece.runs[0, 0]].method)
        if gradient_tolerance is not None:
            rule = with_gradient(rule, problems[0], tolerance, gradient_tolerance)
        policy = Policy(tolerance, max_steps, rule, cancelled=cancelled)
        _write(out, piece.where, batch, loop(batch, policy))
        return int(piece.runs.shape[1])

    def finished(sizes: list[int]) -> None:
        nonlocal done
        done += sum(sizes)
        _tell(progress, done, total)

    pieces = _pieces(by_method, num_starts, workers)
    for piece in (piece for piece in pieces if piece.alone):
        finished([work(piece)])
    if together := [piece for piece in pieces if not piece.alone]:
        run_all(work, together, workers, cancel, finished)
    return ManyRuns(out, g, _known_of_starts(by_method, problems))


@dataclass(frozen=True, eq=False)
class _MethodRuns:
    """One method of a sweep: the coordinates it runs in, its starts there, and the scales it can
    start from.
    """

    method: Method
    problem: Any
    units: Array
    perp_units: Array | None
    places: Indices
    backend: Any

    @classmethod
    def of(
        cls, method: Method, problems: list[Problem], units: Array, g: Vector, reduced: bool
    ) -> _MethodRuns:
        spaces = [coordinates_of(method, problem, reduced) for problem in problems]
        small = spaces[0].problem
        if len(problems) == 1:
            if not spaces[0].trusted:
                enter(spaces[0], problems[0], units[0], g[:1], method.per_column)
            entered, perp_units = spaces[0].enter(units), perp_units_of(spaces[0], units, True)
        else:
            small, parts = (
                small.stack([space.problem for space in spaces]),
                zip(spaces, units, strict=True),
            )
            entered = _in_one(
                small.dimension, [space.enter(unit[None])[0] for space, unit in parts]
            )
            # the last coordinate of each
            perp_units = np.eye(1, small.dimension, small.dimension - 1)
        require_isometry(spaces[0], entered, method.per_column)
        method.own_scale(small, np.ones(len(entered)), entered)  # refuses a start it cannot make
        places = np.flatnonzero(~undefined(method, small, g))
        return cls(method, small, entered, perp_units, places, backend_of(method, small, reduced))

    def starts(self, starts: Indices, scale: Array) -> Start:
        """The starts of several runs."""
        unit = self.units[starts]
        if self.method.per_column:
            scale = np.repeat(scale[:, None], unit.shape[2], axis=1)
        perp_units = (
            self.perp_units
            if self.perp_units is None or len(self.perp_units) == 1
            else self.perp_units[starts]
        )
        own = self.method.own_scale(self.problem.of_runs(starts), scale, unit)
        return Start(own, unit, perp_units=perp_units)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Runs that advance together: for each its method, start and scale. A piece `alone` uses all
    threads itself.
    """

    runs: Indices
    alone: bool

    @property
    def where(self) -> tuple[Indices, Indices, Indices]:
        """The methods, starts and places of the runs."""
        return self.runs[0], self.runs[1], self.runs[2]

    def start(
        self, by_method: list[_MethodRuns], g: Vector, tolerance: float, reduced: bool, workers: int
    ) -> Batch:
        """The batch of these runs."""
        which, starts, places = self.where
        first = by_method[which[0]]
        if first.backend.shares_methods:
            chosen = [by_method[i] for i in which]
            several = [
                one.starts(starts[i : i + 1], g[places[i : i + 1]]) for i, one in enumerate(chosen)
            ]
            return start(
                [one.method for one in chosen], first.problem, several, tolerance, threads=workers
            )
        begun, problem = first.starts(starts, g[places]), first.problem.of_runs(starts)
        threads = workers if self.alone else 1
        return start(
            private_copy(first.method), problem, begun, tolerance, compiled=reduced, threads=threads
        )


def _pieces(by_method: list[_MethodRuns], num_starts: int, workers: int) -> list[_Piece]:
    """The grid cut into pieces of work, none too large for memory or to report progress.

    Methods share a piece where their backend can. Runs of one scale, which take about as many
    steps, are neighbours, so that they share the lanes of a block; a piece has every k-th block, so
    that the pieces take about as long. A backend with threads of its own gets one piece and all of
    them, unless there are so many runs that it pays to have several pieces at once. Without them
    the number of pieces is fixed: a product rounds its rows by how many there are.
    """
    groups: dict[Any, list[Indices]] = {}
    for index, one in enumerate(by_method):
        runs = np.full((3, one.places.size * num_starts), index)
        runs[1], runs[2] = (
            np.tile(np.arange(num_starts), one.places.size),
            np.repeat(one.places, num_starts),
        )
        groups.setdefault(one.backend if one.backend.shares_methods else index, []).append(runs)
    many = sum(runs.shape[1] for group in groups.values() for runs in group) >= _MANY
    pieces = []
    for group in groups.values():
        runs, one = (
            np.concatenate(group, axis=1),
            by_method[group[0][0, 0]] if group[0].size else by_method[0],
        )
        threaded, shared = one.backend.uses_threads, one.backend.shares_methods
        size = _BLOCK if threaded else 8
        block, num_blocks = np.arange(runs.shape[1]) // size, -(-runs.shape[1] // size)
        fitting = max(1, _PIECE // (size * int(np.prod(one.units.shape[1:]))))
        alone = workers == 1 or shared or (threaded and not many)
        wanted = _PIECES if not threaded else 1 if alone else 2 * workers
        count = max(min(wanted, num_blocks), -(-num_blocks // min(fitting, _PROGRESS)))
        pieces += [_Piece(runs[:, block % count == piece], alone) for piece in range(count)]
    return [piece for piece in pieces if piece.runs.size]


def _in_one(dimension: int, rows: list[Array]) -> Array:
    """Coordinates of different lengths as rows of one array: zeros go before the last, which is
    off the row space.
    """
    units = np.zeros((len(rows), dimension))
    for unit, row in zip(units, rows, strict=True):
        unit[: row.size - 1], unit[-1] = row[:-1], row[-1]
    return units


def _known_of_starts(by_method: list[_MethodRuns], problems: list[Problem]) -> dict[str, Any]:
    """‖x*‖ and ‖w0⊥‖, from the first method that runs in reduced coordinates."""
    for one in by_method:
        reference = one.problem.reference
        if one.problem is problems[0] or reference is None or one.perp_units is None:
            continue
        perp = np.abs(
            np.einsum("ij,ij->i", one.units, np.broadcast_to(one.perp_units, one.units.shape))
        )
        return {"minimum_norm": np.linalg.norm(reference, axis=-1), "start_perp_norm": perp}
    return {}


def _check_methods(methods: Any, problems: list[Problem]) -> None:
    """Refuse methods that cannot run on these problems."""
    require_table(methods)
    for name, method in methods.items():
        try:
            for problem in problems:
                check_method(method, problem)
        except (TypeError, ValueError) as error:
            raise type(error)(f"methods[{name!r}]: {error}") from None


def _tell(progress: Progress | None, done: int, total: int) -> None:
    """Report progress to whoever asked for it."""
    if progress is not None:
        validate.answer(f"progress({done}, {total})", progress, done, total)


def _write(
    out: dict[str, NDArray[Any]], where: tuple[Indices, ...], batch: Batch, status: NDArray[np.int8]
) -> None:
    place = np.ravel_multi_index(where, out["status"].shape)
    position = batch.position()
    with np.errstate(invalid="ignore", over="ignore"):
        found = batch.problem.summary(position.unit, position.scale, position.perp)
    found |= {"loss": batch.loss, "num_steps": batch.ended_at, "status": status}
    for name, values in found.items():
        out[name].reshape(-1)[place] = values


def require_table(methods: Any) -> Mapping[str, Method]:
    """Refuse what is not a mapping of names, which label an axis, to methods."""
    if not isinstance(methods, Mapping) or not methods:
        raise TypeError(
            f'methods must be a mapping such as {{"rpgd": wn.RPGD(0.1, 0.1)}}, got {methods!r}'
        )
    for name in methods:
        if not isinstance(name, str):
            given = f"{type(name).__name__}: {name!r}"
            raise TypeError(f"methods must have names (str) as keys, got {given}")
    return methods
