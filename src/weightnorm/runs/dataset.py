"""Many runs as one labelled grid: the same names and attributes in memory and on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..methods.contract import Method
from ..methods.registry import REGISTRY
from ..methods.steps import constant_ratio, constant_step
from .result import Status

if TYPE_CHECKING:
    import xarray

Arrays = Mapping[str, NDArray[Any]]
Dims = tuple[str, ...]

ABOUT = {
    "num_steps": "updates made",
    "status": "why the run stopped",
    "algorithm": "name of the method",
    "start": "number of the start direction",
    "scale": "g0, the scale of the start",
    "seed": "seed of the problem, from which the start directions follow",
    "step": "step size, where a method has the sweep's step",
    "start_seed": "seed of the start direction",
    "kind": "gd, wn, rpgd or bn; the class of a method that is not ours",
    "settings": "the method with all its parameters",
    "direction_step": "step of the direction w, of x for gradient descent; NaN for a schedule",
    "scale_step": "step of the scale g; NaN for a schedule, and for gradient descent",
    "ratio": "c, the scale's step over the direction's, times ‖w0‖² for WN; NaN if it changes",
    "minimum_norm": "‖x*‖, the norm of the minimum-norm solution",
    "start_perp_norm": "‖w0⊥‖, the part of the unit start direction off the row space",
    "condition_number": "condition number of A",
    "num_samples": "rows of A",
    "num_features": "columns of A",
    "solution_norm": "norm of the solution that made the data",
    "noise": "standard deviation of the noise on y",
    "loss_function": "name of the loss",
}
COMMENTS = {
    "distance": "NaN where a run diverged or was undefined, and where the problem has no "
    "minimum-norm solution to measure from (a loss other than least squares)",
    "perp_norm": "NaN where a run diverged, was undefined, or ran without a row space",
}
DECAY = "_decay="  # in the settings of a method that ends elsewhere than without
COUNTS = ("num_steps", "status")  # of every run, besides the variables of its problem
OF_RUNS = tuple(status for status in Status if status is not Status.MAX_TIME)
FLAGS = np.array([status.code for status in OF_RUNS], dtype=np.int8)
MEANINGS = " ".join(status.value for status in OF_RUNS)


@dataclass(frozen=True)
class Axis:
    """A dimension and its labels."""

    name: str
    labels: Any


def label_runs(
    arrays: Arrays,
    about: Mapping[str, str],
    axes: Sequence[Axis],
    coordinates: Mapping[str, tuple[Dims, Any]],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """A dataset of runs.

    Parameters
    ----------
    arrays : mapping of name -> array
        One entry per run each, in the order of the axes.
    about : mapping of name -> str
        What each array is, where `ABOUT` does not say it.
    axes : sequence of Axis
    coordinates : mapping of name -> (dims, values)
        Labels that are not axes of their own.
    attributes : mapping
        Of the dataset.

    Returns
    -------
    xarray.Dataset
    """
    import xarray

    dims = tuple(axis.name for axis in axes)
    names = {**ABOUT, **about}
    variables = {
        name: xarray.Variable(dims, array, {"long_name": names[name]}, fastpath=True)
        for name, array in arrays.items()
    }
    if "status" in variables:
        variables["status"].attrs |= {"flag_values": FLAGS.copy(), "flag_meanings": MEANINGS}
    for name, text in COMMENTS.items():
        if name in variables:
            variables[name].attrs["comment"] = text
    labels, indexes = _indexes(axes)
    for name, (own, values) in coordinates.items():
        labels[name] = xarray.Variable(own, np.asarray(values), fastpath=True)
    for name, variable in labels.items():
        if name in names:
            variable.attrs["long_name"] = names[name]
    return xarray.Dataset(variables, xarray.Coordinates(labels, indexes), dict(attributes))


def _indexes(axes: Sequence[Axis]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The labels of the axes, with their indexes: left to itself xarray takes as long for these as
    for all the rest.
    """
    import pandas
    from xarray.indexes import PandasIndex

    variables: dict[str, Any] = {}
    indexes: dict[str, Any] = {}
    for axis in axes:
        values = axis.labels if isinstance(axis.labels, range) else np.asarray(axis.labels)
        kind = np.dtype(np.int64) if isinstance(values, range) else values.dtype
        index = (
            pandas.RangeIndex(len(values))
            if isinstance(values, range)
            else pandas.Index(
                list(axis.labels) if kind.kind == "U" else values,
                dtype=object if kind.kind == "U" else None,
            )
        )
        indexes[axis.name] = PandasIndex(index, axis.name, kind)
        variables |= indexes[axis.name].create_variables()
    return variables, indexes


def method_kind(method: Any) -> str:
    """The short name of a method: gd, wn, rpgd or bn, or the class of one that is not ours."""
    kinds = {row.method: row.name for row in REGISTRY}
    return kinds.get(type(method), type(method).__name__)


def method_coordinates(
    methods: Sequence[Sequence[Method]], dims: Dims
) -> dict[str, tuple[Dims, Any]]:
    """What tells the methods of a grid apart, along the axes `dims`: the step, where the grid has
    several, and the algorithm.
    """

    def column(value: Any) -> Any:
        found = np.array([[value(method) for method in row] for row in methods])
        return dims, found if len(dims) == 2 else found[0]

    def step(place: int) -> Any:
        return lambda m: constant_step(m.schedules[place]) if m.has_scale or not place else np.nan

    return {
        "kind": column(method_kind),
        "settings": column(repr),
        "direction_step": column(step(0)),
        "scale_step": column(step(1)),
        "ratio": column(constant_ratio),
    }


def ended_norms(data: Any) -> Any:
    """The norms at the end, NaN for runs that diverged: how far those got means nothing."""
    if "status" not in data:
        return data.norm
    return data.norm.where(data.status != Status.DIVERGED.code)


def exact_norms(data: xarray.Dataset) -> xarray.DataArray | None:
    """‖x‖ where each run ends as its steps shrink, exactly.

    That is ‖x* + g0 w0⊥‖ for gd and the end of the WN flow for wn and rpgd.

    Parameters
    ----------
    data : xarray.Dataset
        Of a sweep on least squares.

    Returns
    -------
    xarray.DataArray or None
        Over the axes of the runs, NaN for an algorithm whose ratio of steps changes or is zero, or
        that has a decay; None where the dataset does not know ‖x*‖ and ‖w0⊥‖.
    """
    import xarray

    from ..theory.scalar_limits import limit_perp

    if not {"minimum_norm", "start_perp_norm", "kind", "ratio", "scale"} <= set(data.coords):
        return None
    known_names = ("scale", "minimum_norm", "start_perp_norm", "ratio", "kind")
    labelled = xarray.broadcast(*(data[name] for name in known_names))
    g0, gstar, q0, c, kind = (array.values for array in labelled)
    found = np.where(kind == "gd", np.abs(g0) * q0, np.nan)
    known = np.isin(kind, ("wn", "rpgd")) & (c > 0) & (gstar > 0)
    found[known] = limit_perp(g0[known], gstar[known], q0[known], c[known])
    if "settings" in data.coords:
        settings = data["settings"].broadcast_like(labelled[0]).transpose(*labelled[0].dims)
        found[np.char.find(settings.values.astype(str), DECAY) >= 0] = np.nan
    norm = labelled[0].copy(data=np.hypot(gstar, found)).rename("norm_limit")
    norm.attrs = {}
    return norm.transpose(*(dim for dim in data.norm.dims if dim in norm.dims))


def dataset_attributes(
    status: Any, recipe: str, tolerance: float, max_steps: int, gradient_tolerance: float | None
) -> dict[str, Any]:
    """What a dataset of runs says of itself: when they stopped, how they ended, how to make one
    again, and the versions that computed them.
    """
    limits = {"tolerance": tolerance, "max_steps": max_steps}
    if gradient_tolerance is not None:
        limits["gradient_tolerance"] = gradient_tolerance
    return limits | {
        "summary": describe_statuses(count_statuses(status)),
        "recipe": recipe,
        "versions": json.dumps(versions(), sort_keys=True),
    }


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """The versions of what computed the numbers."""
    return {name: version(name) for name in ("weightnorm", "numpy", "scipy", "numba", "xarray")}


def count_statuses(status: Any) -> dict[str, int]:
    """How many runs ended with each status, for those that occur."""
    counts = np.bincount(np.asarray(status, dtype=np.int64).ravel(), minlength=len(OF_RUNS))
    return {kind.value: int(counts[kind.code]) for kind in OF_RUNS if counts[kind.code]}


def describe_statuses(counts: Mapping[str, int]) -> str:
    """The statuses of many runs in a sentence, such as "88 of 7,200 runs hit max_steps".

    >>> describe_statuses({"converged": 7100, "max_steps": 88, "diverged": 12})
    '88 of 7,200 runs hit max_steps, 12 diverged; 7,100 converged'
    >>> describe_statuses({"converged": 60})
    'all 60 runs converged'
    """
    total = sum(counts.values())
    verbs = {
        "max_steps": "hit max_steps",
        "diverged": "diverged",
        "stationary": "stood still above the tolerance",
        "undefined": "were undefined at their start",
        "converged": "converged",
    }
    if len(counts) == 1:
        text = verbs[next(iter(counts))]
        return (
            f"all {total:,} runs {text}" if total > 1 else f"the run {text}".replace("were", "was")
        )
    others = [(name, counts[name]) for name in verbs if name in counts and name != "converged"]
    first, *rest = others
    text = f"{first[1]:,} of {total:,} runs {verbs[first[0]]}"
    text += "".join(f", {count:,} {verbs[name]}" for name, count in rest)
    return text + (f"; {counts['converged']:,} converged" if "converged" in counts else "")
