"""Many seeds of one experiment, and the exact theory beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import make_regression, random_direction
from ..methods.contract import Method
from ..sweep import compute_grid
from ..theory import limit_scale, perp_of_limit

if TYPE_CHECKING:
    import xarray

SAMPLES, FEATURES, NORM, TOLERANCE = (
    20,
    50,
    3.0,
    1e-5,
)  # m, d, g* and the stopping loss of the paper's experiments
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Finding:
    """A statement of the paper about its experiments, and what the data says.

    Attributes
    ----------
    id, paper, found : str
    holds : bool
    """

    id: str
    paper: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Result:
    """The data of a figure: named arrays, the steps all runs made, and findings about the paper's
    statements.

    `seeds` is the number of seeds where it is not the one asked for.
    """

    data: dict[str, Any]
    num_steps: dict[str, int]
    findings: tuple[Finding, ...]
    seeds: int | None = None


@dataclass(frozen=True)
class Settings:
    """How much to run, whom to tell what is being done, and where unfinished work is kept."""

    seeds: int = 20
    quick: bool = False
    tell: Callable[[str], None] = field(default=lambda text: None, compare=False)
    folder: Path | None = field(default=None, compare=False)


def run_seeds(
    methods: Mapping[str, Method],
    scales: Sequence[float],
    seeds: int,
    condition_numbers: Sequence[float] = (1.0,),
    max_steps: int = 5_000_000,
) -> xarray.Dataset:
    """Every method × condition number × seed × scale; a seed has its own A, x* and start
    direction.
    """
    import xarray

    jobs = [(kappa, seed) for kappa in condition_numbers for seed in range(seeds)]
    problems = [make_regression(SAMPLES, FEATURES, kappa, NORM, seed) for kappa, seed in jobs]
    starts = np.array([random_direction(FEATURES, seed) for _, seed in jobs])
    arrays, _ = compute_grid(problems, methods, scales, starts, TOLERANCE, max_steps)
    shape, dims = (len(condition_numbers), seeds), ("condition_number", "seed", "method", "scale")
    variables: dict[str, Any] = {}
    for name in ("norm", "loss", "num_steps", "status"):
        by_problem = arrays[name].swapaxes(0, 1)
        variables[name] = (dims, by_problem.reshape(shape + by_problem.shape[1:]))
    off = [
        np.linalg.norm(problem.factorisation.split(start)[1])
        for problem, start in zip(problems, starts, strict=True)
    ]
    variables["off_row_space"] = (dims[:2], np.reshape(off, shape))
    coordinates = {
        "condition_number": list(condition_numbers),
        "seed": range(seeds),
        "method": list(methods),
        "scale": scales,
    }
    return xarray.Dataset(variables, coordinates)


def theory_lines(data: xarray.Dataset, ratio: float) -> dict[str, Any]:
    """The norms at the ends of the WN flow and of gradient descent, exact, for every seed and
    scale.
    """
    q0 = data.off_row_space.values[0][:, None]
    g0 = data.scale.values[None, :]
    perp = perp_of_limit(g0, limit_scale(g0, NORM, q0, ratio), q0, ratio)
    return {"flow": np.hypot(NORM, perp), "gd": np.hypot(NORM, g0 * q0)}


def largest_scale_within(data: xarray.Dataset, method: str, share: float) -> float:
    """The largest scale up to which the mean norm stays within `share` of the minimum norm."""
    mean = data.norm.sel({"method": method}).isel(condition_number=0).mean("seed").values
    far = np.abs(mean - NORM) > share * NORM
    return (
        float(data.scale.values[int(np.argmax(far)) - 1])
        if far.any()
        else float(data.scale.values[-1])
    )
