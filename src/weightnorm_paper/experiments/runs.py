"""Many seeds of one experiment as one labelled dataset, and the exact theory beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weightnorm.datasets import make_regression, random_direction
from weightnorm.engine.many_runs import run_many
from weightnorm.methods.contract import Method
from weightnorm.problems import Problem
from weightnorm.runs.dataset import Axis, ended_norms, exact_norms, label_runs, method_coordinates

if TYPE_CHECKING:
    import xarray

# m, d, g* and the stopping loss of the paper's experiments
SAMPLES, FEATURES, NORM, TOLERANCE = 20, 50, 3.0, 1e-5
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Finding:
    """A statement about an experiment, of the paper or of the theory, and what the data says.

    Attributes
    ----------
    id, paper, found : str
        `paper` is the statement: the paper's, or the theory's for the figures beyond the paper.
    holds : bool
    """

    id: str
    paper: str
    found: str
    holds: bool


@dataclass(frozen=True)
class FigureResult:
    """The data of a figure.

    Attributes
    ----------
    data : xarray.Dataset
        Every run, with means and spreads over seeds and the exact limits beside them.
    findings : tuple of Finding
    seeds : int, optional
        The number of seeds where it is not the one asked for.
    remark : str
        What ends the figure's caption: sentences with numbers of this data.
    """

    data: Any
    findings: tuple[Finding, ...]
    seeds: int | None = None
    remark: str = ""


@dataclass(frozen=True)
class Settings:
    """How much to run, whom to tell what is being done, where unfinished work is kept, and whom to
    tell that some of it is of other code.
    """

    seeds: int = 20
    quick: bool = False
    tell: Progress = field(default=lambda name: None, compare=False)
    folder: Path | None = field(default=None, compare=False)
    note: Progress = field(default=lambda sentence: None, compare=False)


@dataclass(frozen=True)
class Experiment:
    """A figure: its name, what it shows in our words, and how its data is made.

    `beyond` is True for the figures of the part "Beyond the paper".
    """

    name: str
    title: str
    caption: str
    kind: str
    compute: Callable[[Settings], FigureResult]
    beyond: bool = False


def run_seeds(
    methods: Mapping[str, Method],
    scales: Sequence[float],
    seeds: int,
    condition_numbers: Sequence[float] = (1.0,),
    max_steps: int = 5_000_000,
) -> xarray.Dataset:
    """Run every method × condition number × scale × seed; a seed has its own A, x* and start.

    Parameters
    ----------
    methods : mapping of name -> method
    scales : sequence of float
        g0.
    seeds : int
        Seed s is `make_regression(…, seed=s)` from `random_direction(50, s)`.
    condition_numbers : sequence of float
    max_steps : int

    Returns
    -------
    xarray.Dataset
        Over (algorithm, condition_number, scale, seed); with one condition number that is a
        coordinate.
    """
    jobs = [(kappa, seed) for kappa in condition_numbers for seed in range(seeds)]
    problems = [make_regression(SAMPLES, FEATURES, kappa, NORM, seed=seed) for kappa, seed in jobs]
    starts = np.array([random_direction(FEATURES, seed) for _, seed in jobs])
    grid = run_many(problems, methods, scales, starts, TOLERANCE, max_steps)
    outer, names = (len(condition_numbers), seeds), list(methods)
    arrays = {
        name: values.reshape(len(names), *outer, len(scales)).swapaxes(2, 3)
        for name, values in grid.arrays.items()
    }
    dims = ("condition_number", "seed")
    known = {name: (dims, values.reshape(outer)) for name, values in grid.starts.items()}
    data = label_runs(
        arrays,
        Problem.variables,
        [
            Axis("algorithm", names),
            Axis("condition_number", np.array(condition_numbers, dtype=float)),
            Axis("scale", np.array(scales, dtype=float)),
            Axis("seed", range(seeds)),
        ],
        method_coordinates([list(methods.values())], ("algorithm",)) | known,
        {
            "tolerance": TOLERANCE,
            "max_steps": max_steps,
            "recipe": "wn.run(METHOD, wn.datasets.make_regression(20, 50, condition_number, 3.0, "
            "seed=seed), scale, wn.datasets.random_direction(50, seed), tolerance=tolerance, "
            "max_steps=max_steps), where METHOD is what `settings` prints",
        },
    )
    return data.isel(condition_number=0) if len(condition_numbers) == 1 else data


def with_summary(data: xarray.Dataset) -> xarray.Dataset:
    """The same with the mean and the spread of the norms over seeds, and their exact limits.

    Parameters
    ----------
    data : xarray.Dataset
        With a variable `norm` over algorithm, seed and more.

    Returns
    -------
    xarray.Dataset
        With `norm_mean`, `norm_spread` (one standard deviation) and, for every run whose limit is
        known, `norm_limit`, and the mean of that over seeds, `norm_limit_mean`.
    """
    norm = ended_norms(data)
    more = {
        "norm_mean": (norm.mean("seed"), "mean of the norm over seeds"),
        "norm_spread": (norm.std("seed"), "standard deviation of the norm over seeds"),
    }
    limit = exact_norms(data)
    if limit is not None:
        more["norm_limit"] = (
            limit,
            "‖x‖ where the run ends exactly, as steps and tolerance go to zero",
        )
        more["norm_limit_mean"] = (limit.mean("seed"), "mean of norm_limit over seeds")
    for name, (values, text) in more.items():
        data[name] = values.assign_attrs(long_name=text)
    return data


def mean_norm(data: xarray.Dataset, algorithm: str) -> Any:
    """The mean norm of one algorithm, as an array."""
    return data.norm_mean.sel(algorithm=algorithm).values


def largest_scale_within(data: xarray.Dataset, algorithm: str, share: float) -> float:
    """The largest scale up to which the mean norm stays within `share` of the minimum norm; NaN if
    it is farther from the first on.
    """
    far = ~(np.abs(mean_norm(data, algorithm) - NORM) <= share * NORM)
    if far[0]:
        return np.nan
    return float(data.scale.values[int(np.argmax(far)) - 1 if far.any() else -1])


def variable(dims: tuple[str, ...], values: Any, text: str) -> tuple[Any, ...]:
    """A variable of a dataset, with what it is."""
    return dims, np.asarray(values), {"long_name": text}
