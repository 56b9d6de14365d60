"""sweep(): every method × start × scale on one problem, as one labelled grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from ..advice.before_run import expected_warning, rounding_decides, rounding_felt, warn_of
from ..engine.many_runs import require_table, run_many
from ..methods.contract import Method
from ..problems import Problem
from .dataset import COUNTS, Axis, dataset_attributes, label_runs, method_coordinates
from .run import MAX_STEPS

if TYPE_CHECKING:
    import xarray

RECIPE = (
    "one run again: wn.run(methods[algorithm], problem, scale, directions[start], "
    "tolerance=…, max_steps=…)"
)


def sweep(  # noqa: PLR0913
    problem: Problem,
    methods: Mapping[str, Method] | Callable[[float], Mapping[str, Method]],
    scales: Any,
    directions: Any = None,
    *,
    start_values: Any = None,
    steps: Any = None,
    tolerance: float = 1e-5,
    max_steps: int = MAX_STEPS,
    gradient_tolerance: float | None = None,
    coordinates: str = "reduced",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Run every method from every start at every scale, as one labelled grid.

    Parameters
    ----------
    problem : LeastSquares, KernelLeastSquares, GeneralizedLinear, MatrixSensing, or your own
    methods : mapping of name -> method
        With `steps` a callable: methods(step) gives the mapping of that step.
    scales : sequence of numbers
        g0, the scales of the starts.
    directions : (num_starts, d) array, or one (d,) vector
        Each is normalised. For matrix sensing (num_starts, d, r) or (d, r).
    start_values : (num_starts, n) array, or one (n,) vector, optional
        For `KernelLeastSquares`, in place of directions: the values f0 = A w0 of each unit
        direction w0 at the samples. Without them one start, orthogonal to the data.
    steps : sequence of numbers, optional
        Step sizes to sweep over: the grid then has a dimension `step` as well.
    tolerance, max_steps, gradient_tolerance, coordinates
        As in `run`.
    threads : int, optional
        All cores by default. The numbers are the same to the last bit whatever it is.
    progress : callable, optional
        Called as progress(runs_done, runs_in_all) from the calling thread.

    Returns
    -------
    xarray.Dataset
        With dimensions (algorithm, start, scale), after `step` if there are several, and variables
        norm, loss, num_steps, status, final_scale, perp_norm and distance. `status` is int8 with CF
        flag_values and flag_meanings. A run whose step is undefined at its start (1/g² at g = 0)
        has status "undefined" and NaN elsewhere. The coordinates direction_step, scale_step, ratio
        and settings say what each algorithm is; for least squares minimum_norm and
        start_perp_norm are what the theory needs (`wn.plot.end_norms` draws it). For matrix
        sensing `norm` is the nuclear norm, `final_scale` the trace of X, `perp_norm` the part of X
        that no sensor sees, and instead of `distance` there is `recovery_error` where the ground
        truth is known; a negative scale is undefined for gradient descent there.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> starts = [wn.datasets.random_direction(50, seed) for seed in range(3)]
    >>> methods = {"gd": wn.GradientDescent(0.1), "rpgd": wn.RPGD(0.1, 0.1)}
    >>> data = wn.sweep(problem, methods, [0.5, 1.0, 2.0], starts)
    >>> dict(data.sizes)
    {'algorithm': 2, 'start': 3, 'scale': 3}
    >>> bool((data.distance.sel(algorithm="rpgd") < data.distance.sel(algorithm="gd")).all())
    True
    >>> by_step = wn.sweep(
    ...     problem, lambda step: {"rpgd": wn.RPGD(step, step)}, 2.0, starts, steps=[0.01, 0.1]
    ... )
    >>> by_step.norm.sel(step=0.01).shape
    (1, 3, 1)
    """
    if isinstance(problem, Sequence):
        given = type(problem).__name__
        raise TypeError(f"problem must be one problem, got {given}; sweep each by itself")
    sizes = None if steps is None else validate.number_or_vector("steps", steps)
    tables = _methods_by_step(methods, sizes)
    flat = {
        name if sizes is None else f"{name}, steps[{i}] = {sizes[i]:g}": method
        for i, table in enumerate(tables)
        for name, method in table.items()
    }
    directions = problem.start_directions(directions, start_values)
    problem.announce_starts(directions)
    limits = (tolerance, max_steps, coordinates, threads, progress, gradient_tolerance)
    _foresee(flat, problem, scales, directions, tolerance, coordinates)
    grid = run_many(problem, flat, scales, directions, *limits)
    names, num_starts = list(tables[0]), grid.arrays["status"].shape[1]
    axes = [Axis("algorithm", names), Axis("start", range(num_starts)), Axis("scale", grid.scales)]
    if sizes is not None:
        axes.insert(0, Axis("step", sizes))
    shape, dims = tuple(len(axis.labels) for axis in axes), tuple(axis.name for axis in axes)
    stopping = (float(tolerance), int(max_steps), gradient_tolerance)
    return label_runs(
        {name: grid.arrays[name].reshape(shape) for name in (*problem.variables, *COUNTS)},
        problem.variables,
        axes,
        method_coordinates([list(table.values()) for table in tables], dims[:-2])
        | {name: (("start",)[: np.ndim(v)], v) for name, v in grid.starts.items()},
        dataset_attributes(grid.arrays["status"], RECIPE, *stopping),
    )


def _foresee(
    methods: Mapping[str, Method],
    problem: Any,
    scales: Any,
    directions: Any,
    tolerance: Any,
    coordinates: Any,
) -> None:
    """Warn, once, of runs whose end rounding decides and of those that cannot converge."""
    g = validate.number_or_vector("scales", scales)
    felt = {n: c for n, m in methods.items() if (c := rounding_felt(m, problem, g)) is not None}
    meant = coordinates == "reduced" and validate.real("tolerance", tolerance, minimum=0.0) > 0
    known = {
        name: say
        for name, m in methods.items()
        if meant and (say := expected_warning(m, problem)) is not None
    }
    if not felt and not known:
        return
    units = problem.unit_directions(directions, columns=False)
    texts = {}
    for name in methods:
        texts[name] = known[name](g, units) if name in known else ""
        if name in felt and not texts[name]:
            texts[name] = rounding_decides(problem, felt[name], g, units)
    warn_of(texts, 3)


def _methods_by_step(methods: Any, steps: Vector | None) -> list[Mapping[str, Method]]:
    """The methods of each step, all with the same names; one table where there are no steps."""
    if steps is None:
        if callable(methods) and not isinstance(methods, Mapping):
            raise TypeError("methods is a callable, so steps are needed: give steps=[…], or a dict")
        return [require_table(methods)]
    if not callable(methods):
        raise TypeError(
            'with steps=… methods must be a callable, such as lambda step: {"rpgd": '
            f"wn.RPGD(step, step)}}, got {type(methods).__name__}"
        )
    if np.unique(steps).size < steps.size:
        raise ValueError(f"steps must have each value once, got {steps.tolist()}")
    tables = []
    for step in steps:
        table = validate.answer(f"methods({step:g})", methods, float(step))
        tables.append(require_table(table))
    if any(list(table) != list(tables[0]) for table in tables):
        raise ValueError("methods(step) must give the same names for every step")
    return tables
