"""sweep(): every method × start × scale on one problem, as one labelled grid."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _validate
from ._pool import available_cores, run_all
from ._validate import Matrix, Vector
from .begin.linear import perp_direction
from .begin.own_method import private_copy, runs_reduced
from .loops.compiled import CompiledRuns, fresh_state
from .loops.drive import divergence_limit, drive, quietly
from .loops.plain import PlainRuns
from .loops.watch import Watch
from .methods.base import Array, Method, bind_steps
from .problems import GeneralizedLinear, LeastSquares, MatrixSensing
from .result import Status, empty_grid
from .rowspace import ReducedProblem, RowSpace
from .run import MAX_STEPS
from .sensing_grid import SENSING_FLOATS, check_methods, compute_sensing_grid, tell

if TYPE_CHECKING:
    import xarray

_FLOATS = {
    "norm": "‖x‖ at the end",
    "loss": "the loss at the end, ½‖Ax − y‖² for least squares",
    "final_scale": "g at the end, which may be negative; ‖x‖ for gradient descent",
    "perp_norm": "‖x⊥‖, the norm of the part of x orthogonal to the row space",
    "distance": "‖x − x*‖, the distance to the minimum-norm solution of least squares",
}
_BLOCK = 8  # runs that one kernel block advances together
_PIECE = 2**21  # numbers in the vectors of one piece of work, at most
_PROGRESS = 256  # blocks in one piece of work, at most


def sweep(
    problem: LeastSquares | GeneralizedLinear | MatrixSensing,
    methods: Mapping[str, Method],
    scales: Any,
    directions: Any,
    *,
    tolerance: float = 1e-5,
    max_steps: int = MAX_STEPS,
    coordinates: str = "reduced",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Run every method from every start at every scale.

    Parameters
    ----------
    problem : LeastSquares, GeneralizedLinear or MatrixSensing
    methods : mapping of name -> method
    scales : sequence of numbers
    directions : (num_starts, d) array, or one (d,) vector; for matrix sensing (num_starts, d, r) or (d, r)
        Each is normalised.
    tolerance, max_steps, coordinates
        As in `run`.
    threads : int, optional
        All cores by default. The numbers are the same to the last bit whatever it is.
    progress : callable, optional
        Called as progress(runs_done, runs_in_all) from the calling thread.

    Returns
    -------
    xarray.Dataset
        With dimensions (method, start, scale) and variables norm, loss, num_steps, status, final_scale, perp_norm and
        distance. `status` is int8 with CF flag_values and flag_meanings. A run whose step is undefined at its start
        (1/g² at g = 0) has status "undefined" and NaN elsewhere. Select a method with `data.sel({"method": name})`:
        xarray reads the keyword `method=` as a way of matching and would select nothing. For matrix sensing `norm` is
        the nuclear norm, `final_scale` the trace of X, `perp_norm` the part of X that no sensor sees, and instead of
        `distance` there is `recovery_error` where the ground truth is known; a negative scale is undefined for gradient
        descent there.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> starts = [wn.datasets.random_direction(50, seed) for seed in range(3)]
    >>> data = wn.sweep(problem, {"gd": wn.GradientDescent(0.1), "rpgd": wn.RPGD(0.1, 0.1)}, [0.5, 1.0, 2.0], starts)
    >>> dict(data.sizes)
    {'method': 2, 'start': 3, 'scale': 3}
    >>> gd, rpgd = (data.distance.sel({"method": name}) for name in ("gd", "rpgd"))
    >>> bool((rpgd < gd).all())
    True
    """
    if isinstance(problem, MatrixSensing):
        found, g = compute_sensing_grid(
            problem, methods, scales, directions, tolerance, max_steps, coordinates, threads, progress
        )
        return _dataset(found, SENSING_FLOATS, list(methods), g, tolerance, max_steps)
    out, grid = compute_grid(problem, methods, scales, directions, tolerance, max_steps, coordinates, threads, progress)
    return _dataset(out, _FLOATS, list(methods), grid.scales, tolerance, max_steps)


def compute_grid(
    problem: LeastSquares | GeneralizedLinear,
    methods: Mapping[str, Method],
    scales: Any,
    directions: Any,
    tolerance: float,
    max_steps: int,
    coordinates: str = "reduced",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, NDArray[Any]], Grid]:
    """The arrays (method, start, scale) of a sweep, for those who label them themselves."""
    grid = _check(problem, methods, scales, directions)
    tolerance = _validate.real("tolerance", tolerance, minimum=0.0)
    max_steps = _validate.integer("max_steps", max_steps, maximum=_validate.MAX_COUNT)
    _validate.choice("coordinates", coordinates, ("reduced", "full"))
    workers = available_cores() if threads is None else _validate.integer("threads", threads, minimum=1)
    shape = (len(methods), len(grid.directions), len(grid.scales))
    out = empty_grid(_FLOATS, shape)
    cancel = threading.Event()
    in_full = [coordinates == "full" or not runs_reduced(method) for method in grid.methods]
    begins = {full: _PREPARE[full](problem, grid.directions, tolerance) for full in set(in_full)}
    dimension = problem.shape[1] if any(in_full) else problem.factorisation.rank

    @quietly
    def work(index: int, method: Method, starts: NDArray[np.intp], places: NDArray[np.intp]) -> int:
        runs, target = begins[in_full[index]](private_copy(method), grid.scales[places], starts)
        status = drive(runs, tolerance, max_steps, Watch(), cancelled=cancel.is_set)
        _write(out, (index, starts, places), runs, target, status)
        return starts.size

    _execute(work, _pieces(grid, problem, dimension, workers), workers, cancel, out["status"].size, progress)
    return out, grid


@dataclass(frozen=True, eq=False)
class Grid:
    """What a sweep runs: methods, scales, and unit directions."""

    methods: tuple[Method, ...]
    scales: Vector
    directions: Matrix


def _check(problem: Any, methods: Any, scales: Any, directions: Any) -> Grid:
    check_methods(methods, problem)
    g = _validate.number_or_vector("scales", scales)
    return Grid(tuple(methods.values()), g, _validate.directions(directions, problem.shape[1]))


Begin = Callable[[Method, Array, NDArray[np.intp]], tuple[CompiledRuns | PlainRuns, Any]]
Work = tuple[int, Method, NDArray[np.intp], NDArray[np.intp]]


def _prepare_reduced(problem: LeastSquares | GeneralizedLinear, directions: Matrix, tolerance: float) -> Begin:
    space = RowSpace(problem)
    entered, reduced = space.enter(directions), space.reduced
    target = np.append(reduced.target, 0.0) if isinstance(reduced, ReducedProblem) else np.nan
    last = np.eye(1, entered.shape[1], entered.shape[1] - 1)
    reference = problem.zero_loss

    def begin(method: Method, scale: Array, starts: NDArray[np.intp]) -> tuple[CompiledRuns | PlainRuns, Any]:
        limit = divergence_limit(reduced.value_and_gradient(scale[:, None] * entered[starts])[0], reference)
        if isinstance(reduced, ReducedProblem) and CompiledRuns.can_run(method):
            state = fresh_state(method, reduced, entered[starts], scale, limit)
            return CompiledRuns(method, reduced, state, 0, tolerance), target
        return PlainRuns(method, reduced, method.init(scale, entered[starts]), 0, tolerance, limit, last), target

    return begin


def _prepare_full(problem: LeastSquares | GeneralizedLinear, directions: Matrix, tolerance: float) -> Begin:
    target: Any = np.nan
    if isinstance(problem, LeastSquares):
        target = problem.min_norm_solution(iterative=not problem.is_factorised)
    perp_units = np.array([perp_direction(problem, unit) for unit in directions])
    reference = problem.zero_loss

    def begin(method: Method, scale: Array, starts: NDArray[np.intp]) -> tuple[PlainRuns, Any]:
        state = method.init(scale, directions[starts])
        limit = divergence_limit(problem.value(scale[:, None] * directions[starts]), reference)
        return PlainRuns(method, problem, state, 0, tolerance, limit, perp_units[starts]), target

    return begin


_PREPARE = {False: _prepare_reduced, True: _prepare_full}


def _pieces(grid: Grid, problem: LeastSquares | GeneralizedLinear, dimension: int, workers: int) -> list[Work]:
    """The grid cut into pieces of work, about two a worker and method, and none too large to report progress.

    A block holds runs of one scale, which take about as many steps; a piece takes every k-th block, so that the
    pieces take about as long.
    """
    pieces: list[Work] = []
    for index, method in enumerate(grid.methods):
        undefined = np.logical_or(*(step.undefined_at(grid.scales) for step in bind_steps(method, problem)))
        places, starts = np.meshgrid(np.flatnonzero(~undefined), np.arange(len(grid.directions)), indexing="ij")
        block = np.arange(places.size) // _BLOCK
        num_blocks = -(-places.size // _BLOCK)
        fitting = max(1, _PIECE // (_BLOCK * (dimension + 1)))
        count = max(min(2 * workers, num_blocks), -(-num_blocks // fitting), -(-num_blocks // _PROGRESS))
        for piece in range(count):
            mine = block % count == piece
            pieces.append((index, method, starts.ravel()[mine], places.ravel()[mine]))
    return [piece for piece in pieces if piece[2].size]


def _execute(
    work: Callable[..., int],
    pieces: Sequence[Work],
    workers: int,
    cancel: threading.Event,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """All pieces on a pool of threads; an interruption or an error stops them at their next slice."""
    done = total - sum(piece[2].size for piece in pieces)
    if workers == 1:  # here and now: cheaper than a pool of one
        for piece in pieces:
            done += work(*piece)
            tell(progress, done, total)
        return
    counted = [done]

    def finished(sizes: list[int]) -> None:
        counted[0] += sum(sizes)
        tell(progress, counted[0], total)

    run_all(lambda piece: work(*piece), pieces, workers, cancel, finished)


def _write(
    out: dict[str, NDArray[Any]],
    where: tuple[int, NDArray[np.intp], NDArray[np.intp]],
    runs: CompiledRuns | PlainRuns,
    target: Any,
    status: NDArray[np.int8],
) -> None:
    position = runs.position()
    with np.errstate(invalid="ignore", over="ignore"):
        out["norm"][where] = np.abs(position.scale)
        out["loss"][where] = runs.loss
        out["final_scale"][where] = position.scale
        out["perp_norm"][where] = np.abs(position.scale * position.perp)
        out["distance"][where] = np.linalg.norm(position.weights - target, axis=1)
    out["num_steps"][where] = runs.ended_at
    out["status"][where] = status


def _dataset(
    out: dict[str, NDArray[Any]], floats: dict[str, str], names: list[str], scales: Vector, tolerance: float, max_steps: int
) -> xarray.Dataset:
    import xarray

    dims = ("method", "start", "scale")
    variables: dict[str, Any] = {name: (dims, out[name], {"long_name": text}) for name, text in floats.items() if name in out}
    variables["num_steps"] = (dims, out["num_steps"], {"long_name": "updates made"})
    flags = {
        "long_name": "why the run stopped",
        "flag_values": np.array([status.code for status in Status], dtype=np.int8),
        "flag_meanings": " ".join(status.value for status in Status),
    }
    variables["status"] = (dims, out["status"], flags)
    coordinates = {"method": names, "start": np.arange(out["status"].shape[1]), "scale": scales}
    return xarray.Dataset(variables, coordinates, {"tolerance": tolerance, "max_steps": max_steps})
