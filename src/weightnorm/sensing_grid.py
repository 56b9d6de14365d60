"""Sweeps on matrix sensing: every method × start × scale in one batch that shares its matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate
from ._pool import available_cores
from ._validate import Vector
from .begin.check import check_method
from .begin.own_method import private_copy
from .begin.sensing import start_state
from .loops.drive import divergence_limit, drive, quietly
from .loops.plain import PlainRuns
from .loops.sensing import SensingRuns
from .loops.watch import Watch
from .methods.base import Method, State, bind_steps
from .problems import MatrixSensing
from .result import empty_grid

SENSING_FLOATS = {
    "norm": "the nuclear norm of X at the end",
    "loss": "(1/2m) Σ (⟨A_i, X⟩ − y_i)² at the end",
    "final_scale": "the trace of X: g, the sum of D, or ‖U‖_F² for gradient descent",
    "perp_norm": "the Frobenius norm of the part of X orthogonal to all sensors",
    "recovery_error": "‖X − ground truth‖_F / ‖ground truth‖_F",
}
_PIECE = 2**24  # numbers in the factors of one batch, at most

Place = tuple[int, int, int]
Progress = Callable[[int, int], None]


def check_methods(methods: Any, problem: Any) -> None:
    """Refuse what is no mapping of names, which label an axis, to methods for this problem."""
    if not isinstance(methods, Mapping) or not methods:
        raise TypeError(f'methods must be a mapping such as {{"rpgd": wn.RPGD(0.1, 0.1)}}, got {methods!r}')
    for name in methods:
        if not isinstance(name, str):
            given = f"{type(name).__name__}: {name!r}"
            raise TypeError(f"methods must have names (str) as keys, got {given}")
    for name, method in methods.items():
        try:
            check_method(method, problem)
        except (TypeError, ValueError) as error:
            raise type(error)(f"methods[{name!r}]: {error}") from None


def tell(progress: Progress | None, done: int, total: int) -> None:
    """Report progress to whoever asked for it."""
    if progress is not None:
        _validate.answer(f"progress({done}, {total})", progress, done, total)


@quietly
def compute_sensing_grid(
    problem: MatrixSensing,
    methods: Mapping[str, Method],
    scales: Any,
    directions: Any,
    tolerance: float,
    max_steps: int,
    coordinates: str,
    threads: int | None,
    progress: Progress | None,
) -> tuple[dict[str, NDArray[Any]], Vector]:
    """The arrays (method, start, scale) of a sweep, and the scales."""
    check_methods(methods, problem)
    g = _validate.number_or_vector("scales", scales)
    factors = _validate.numbers("directions", directions)
    W = _validate.array("directions", factors[None] if factors.ndim == 2 else factors, ndim=3)
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = _validate.integer("max_steps", max_steps, maximum=_validate.MAX_COUNT)
    compiled = _validate.choice("coordinates", coordinates, ("reduced", "full")) == "reduced"
    workers = available_cores() if threads is None else _validate.integer("threads", threads, minimum=1)
    names = [name for name in SENSING_FLOATS if name != "recovery_error" or problem.ground_truth is not None]
    out = empty_grid(names, (len(methods), len(W), len(g)))
    total, done = out["status"].size, 0
    for batch in _batches(list(methods.values()), g, W, problem, compiled):
        chosen = [list(methods.values())[place[0]] for place in batch]
        states = [start_state(m, problem, g[p[2]], W[p[1]], f"directions[{p[1]}]") for m, p in zip(chosen, batch, strict=True)]
        runs = _runs(problem, chosen, states, tolerance, workers, compiled)

        def report(runs: SensingRuns | PlainRuns = runs, before: int = done) -> bool:
            tell(progress, before + int((~runs.alive).sum()), total)
            return False

        status = drive(runs, tolerance, max_steps, Watch(), cancelled=report)
        _write(out, batch, runs, problem, status)
        done += len(batch)
    tell(progress, total, total)
    return out, g


def _batches(methods: list[Method], g: Vector, W: NDArray[Any], problem: MatrixSensing, compiled: bool) -> list[list[Place]]:
    """What runs together: everything the kernel can do, and each other method by itself; bounded in memory."""
    groups: dict[int, list[Place]] = {}
    for index, method in enumerate(methods):
        undefined = np.logical_or(*(step.undefined_at(g) for step in bind_steps(method, problem)))
        undefined |= (g < 0) & (not method.has_scale)
        together = compiled and SensingRuns.can_run(method)
        places = [(index, start, place) for start in range(len(W)) for place in np.flatnonzero(~undefined).tolist()]
        groups.setdefault(-1 if together else index, []).extend(places)
    largest = max(1, _PIECE // (W.shape[1] * max(W.shape[1:])))
    return [group[i : i + largest] for group in groups.values() for i in range(0, len(group), largest)]


def _runs(
    problem: MatrixSensing, methods: list[Method], states: list[State], tolerance: float, workers: int, compiled: bool
) -> SensingRuns | PlainRuns:
    if compiled and SensingRuns.can_run(methods[0]):
        return SensingRuns(problem, methods, states, 0, tolerance, threads=workers)
    state = State(np.concatenate([s.vector for s in states]), np.concatenate([s.scale for s in states]))
    limit = divergence_limit(methods[0].evaluate(problem, state).loss, problem.zero_loss)
    return PlainRuns(private_copy(methods[0]), problem, state, 0, tolerance, limit)


def _write(
    out: dict[str, NDArray[Any]],
    batch: list[Place],
    runs: SensingRuns | PlainRuns,
    problem: MatrixSensing,
    status: NDArray[np.int8],
) -> None:
    where = tuple(np.array(batch).T)
    position = runs.position()
    X = problem.weights(position.unit, position.scale)
    perp, norm, _ = problem.sizes(position.unit, position.scale, position.perp)
    out["norm"][where], out["perp_norm"][where] = norm, perp
    out["loss"][where], out["num_steps"][where], out["status"][where] = runs.loss, runs.ended_at, status
    out["final_scale"][where] = np.trace(X, axis1=1, axis2=2)
    if "recovery_error" in out:
        out["recovery_error"][where] = problem.recovery_error(X)
