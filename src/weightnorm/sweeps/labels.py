"""A finished sweep as one labelled grid, with all that is needed to make any cell of it again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.files import UnwritableError
from ..runs.dataset import Axis, dataset_attributes, label_runs, method_coordinates
from .config import SweepConfig
from .plan import STARTS, Shard, SweepPlan, shapes_of
from .problems import START_SEEDS
from .store import Arrays, read_shard

if TYPE_CHECKING:
    import xarray


def assemble(
    config: SweepConfig, folder: Path, plan: SweepPlan
) -> tuple[xarray.Dataset, dict[str, Shard]]:
    """All shards of a sweep as one dataset, and the environments they come from, each with one of
    its shards.

    The dimensions are the keys of `problems` that are lists in the file, then seed, step (where
    the sweep has several), algorithm, start and scale.
    """
    problems, tables, starts = config.problems, config.tables(), config.starts
    shapes, shape = shapes_of(config), starts.shape()
    stored: Arrays = {}
    environments: dict[str, Shard] = {}
    for index, shard in enumerate(plan):
        found = read_shard(folder, shard, shapes)
        if found is None:
            raise OSError(f"shard {shard.key[:12]} vanished while the sweep was running")
        arrays = found.arrays
        environments.setdefault(found.environment, shard)
        if not stored:
            stored = {n: np.empty((len(plan), *s), arrays[n].dtype) for n, s in shapes.items()}
        for name in shapes:
            stored[name][index] = arrays[name]
    known = {name: stored.pop(name) for name in STARTS if name in stored}
    seeds = np.array(problems.seed_list(), dtype=np.int64)
    axes = [Axis(name, values) for name, values in problems.axes().items()]
    axes.append(Axis("seed", seeds))
    if config.steps is not None:
        axes.append(Axis("step", np.array(config.steps)))
    axes += [Axis("algorithm", list(config.methods)), Axis("start", range(shape[0]))]
    axes.append(Axis("scale", np.array(starts.scale_list())))
    whole = tuple(len(axis.labels) for axis in axes)
    methods = [[spec.build() for spec in table.values()] for table in tables]
    dims = ("algorithm",) if config.steps is None else ("step", "algorithm")
    coordinates: dict[str, Any] = {name: ((), v) for name, v in problems.scalars().items()}
    coordinates |= method_coordinates(methods, dims)
    coordinates["start_seed"] = (("seed", "start"), _start_seeds(seeds, shape[0]))
    outer = tuple(axis.name for axis in axes[: len(problems.axes()) + 1])
    for name, values in known.items():  # of the first method: they are those of all
        each = values.reshape(*whole[: len(outer)], -1, shape[0])[..., 0, :]
        per_start = name == "start_perp_norm"
        coordinates[name] = ((*outer, "start"), each) if per_start else (outer, each[..., 0])
    stopping = (config.tolerance, config.max_steps, config.gradient_tolerance)
    data = label_runs(
        {name: values.reshape(whole) for name, values in stored.items()},
        problems.variables,
        axes,
        coordinates,
        {"title": config.name}
        | dataset_attributes(stored["status"], recipe(config), *stopping)
        | {
            "configuration": json.dumps(config.written(), sort_keys=True),
            "command": " ".join(sys.argv),
            "code": plan.code,
            "environments": "[" + ", ".join(sorted(environments)) + "]",
        },
    )
    return data, environments


def as_netcdf(data: xarray.Dataset) -> Any:
    """The bytes of its file."""
    if "dask" not in sys.modules:
        return data.to_netcdf(engine="h5netcdf")
    import dask

    # under an active Client xarray would lock the file by its name on the cluster; it has none
    with dask.config.set(scheduler="synchronous"):
        return data.to_netcdf(engine="h5netcdf")


def recipe(config: SweepConfig) -> str:
    """How to run one cell again, in words and in Python."""
    return (
        "A cell again, from its labels: weightnorm.sweeps.rerun(data.sel(…)). By hand: "
        "method = what `settings` prints, with wn. and wn.schedules. before its names; "
        f"problem = {config.problems.recipe}; direction = {config.problems.start_recipe}, where "
        f"start_seed = seed · {START_SEEDS} + start; wn.run(method, problem, scale, direction, "
        "tolerance=tolerance, max_steps=max_steps)"
    )


def _start_seeds(seeds: Any, count: int) -> Any:
    """The seeds of the start directions, as text where they need more than 64 bits."""
    exact = [[int(seed) * START_SEEDS + start for start in range(count)] for seed in seeds]
    large = max(map(max, exact)) >= 2**63
    return np.array([list(map(str, row)) for row in exact]) if large else np.array(exact)


def require_same(path: Path, config: SweepConfig) -> str | None:
    """Refuse to overwrite the finished file of another configuration.

    Returns
    -------
    str or None
        The code that computed the file, "" if it does not say; None where there is no file.

    Raises
    ------
    UnwritableError
        Naming what differs.
    """
    if not path.exists():
        return None
    advice = "give the sweep another name or folder, or say --overwrite"
    try:
        before, code = _origin(path)
    except Exception as error:  # whatever it is, it was not written here
        text = f"{path} is there, and is damaged or no sweep ({error})"
        raise UnwritableError(f"{text}; {advice}") from None
    now = json.loads(json.dumps(config.written(), sort_keys=True))
    if before != now:
        found = _differences(before, now)
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise UnwritableError(
            f"{path} holds another sweep of this name: {found[0]}{more}; {advice}"
        )
    return code


def _origin(path: Path) -> tuple[Any, str]:
    """The configuration of a finished file, and the code that computed it."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as data:
        if "configuration" not in data.attrs:
            raise ValueError("it says nothing of its configuration")
        return json.loads(data.attrs["configuration"]), str(data.attrs.get("code", ""))


def _differences(before: Any, now: Any, key: str = "") -> list[str]:
    """All differences of two configurations, by key."""
    if isinstance(before, dict) and isinstance(now, dict):
        found = []
        for name in sorted({*before, *now}, key=lambda name: (name == "data", name)):
            if before.get(name) != now.get(name):
                inner = f"{key}.{name}".lstrip(".")
                found += _differences(before.get(name), now.get(name), inner)
        return found
    if key == "data" and before and now:
        return ["the numbers in the data files have changed"]
    return [f"{key} was {_short(before)} there and is {_short(now)} now"]


def _short(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
