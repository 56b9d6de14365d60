"""Run a sweep: what is missing, on all cores, then one netCDF file."""

from __future__ import annotations

import errno
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import write_bytes
from .._pool import available_cores, run_all
from .config import SweepConfig
from .plan import VARIABLES, Shard, compute_shard, plan_shards
from .store import Arrays, read_shard, remove_strays, write_shard

if TYPE_CHECKING:
    import xarray

Progress = Callable[[int, int], None]


class StoreError(OSError):
    """The store could not be written; what was finished is safe."""


@dataclass(frozen=True)
class Outcome:
    """A finished sweep: its file, and how many shards were computed and how many were there already."""

    path: Path
    computed: int
    reused: int


def run_sweep(config: SweepConfig, out: Path, threads: int | None = None, progress: Progress | None = None) -> Outcome:
    """Compute the shards that are missing, then write one netCDF file of all.

    Killed at any moment it can be started again: finished shards are kept, and the data ends up the same to the last bit.
    Several processes may work on one store; the worst that happens is that a shard is computed twice.

    Parameters
    ----------
    config : SweepConfig
    out : Path
        The folder of the store; made if it is not there.
    threads : int, optional
        All available cores by default.
    progress : callable, optional
        Called as progress(shards_done, shards_in_all).
    """
    folder = out / f"{config.name}.shards"
    shards = plan_shards(config)
    shape = (config.starts.num_directions, len(config.starts.scale_list()))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_strays(folder)
        missing = [shard for shard in shards if read_shard(folder, shard, shape) is None]
        _compute(config, folder, missing, len(shards), threads or available_cores(), progress)
        path = out / f"{config.name}.nc"
        write_bytes(path, bytes(assemble(config, folder, shards, shape).to_netcdf(engine="h5netcdf")))
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        raise StoreError(f"{out}: {reason}; finished shards are safe, run the same command again to go on") from error
    return Outcome(path, len(missing), len(shards) - len(missing))


def _compute(
    config: SweepConfig, folder: Path, missing: list[Shard], total: int, workers: int, progress: Progress | None
) -> None:
    """All missing shards on a pool of threads; the first error, or Ctrl-C, stops the rest."""
    done, stop = [total - len(missing)], threading.Event()
    if progress is not None:
        progress(done[0], total)

    def work(shard: Shard) -> None:
        if not stop.is_set():
            write_shard(folder, shard, compute_shard(config, shard))

    def finished(shards: list[None]) -> None:
        done[0] += len(shards)
        if progress is not None:
            progress(done[0], total)

    run_all(work, missing, workers, stop, finished)


def assemble(config: SweepConfig, folder: Path, shards: list[Shard], shape: tuple[int, int]) -> xarray.Dataset:
    """All shards as one labelled grid, with everything needed to make it again."""
    import xarray

    from ..result import Status

    seeds, methods = config.problems.seed_list(), list(config.methods)
    combinations = config.problems.combinations()
    grid = (len(combinations), len(seeds), len(methods), *shape)
    stored: list[Arrays] = []
    for shard in shards:
        arrays = read_shard(folder, shard, shape)
        if arrays is None:
            raise OSError(f"shard {shard.key[:12]} vanished while the sweep was running")
        stored.append(arrays)
    dims = ("problem", "seed", "method", "start", "scale")
    variables: dict[str, Any] = {
        name: (dims, np.array([arrays[name] for arrays in stored]).reshape(grid)) for name in VARIABLES
    }
    for name in combinations[0]:
        variables[name] = ("problem", [combination[name] for combination in combinations])
    coordinates = {"seed": seeds, "method": methods, "scale": config.starts.scale_list()}
    versions = {name: version(name) for name in ("weightnorm", "numpy", "scipy", "numba", "xarray")}
    attributes = {
        "title": config.name,
        "configuration": json.dumps(config.model_dump(mode="json"), sort_keys=True),
        "versions": json.dumps(versions, sort_keys=True),
        "command": " ".join(sys.argv),
        "tolerance": config.tolerance,
        "max_steps": config.max_steps,
    }
    data = xarray.Dataset(variables, coordinates, attributes)
    data.status.attrs |= {
        "flag_values": np.array([status.code for status in Status], dtype=np.int8),
        "flag_meanings": " ".join(status.value for status in Status),
    }
    return data
