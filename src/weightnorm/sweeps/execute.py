"""Run a sweep: what is missing, on all cores, then one netCDF file."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import reason, require_writable, require_writable_folder, write_bytes
from .._pool import available_cores, run_all
from ..grids import count_statuses, describe_statuses
from ..problems.factorisation import physical_memory
from .config import SweepConfig
from .labels import assemble, require_same
from .load import ConfigError
from .plan import Plan, Shard, compute_shard, shapes_of
from .store import read_shard, remove_strays, shard_path, write_shard

Progress = Callable[[int, int], None]
BYTES_PER_RUN = 5 * 8 + 8 + 1  # five numbers, a count and a status


class StoreError(OSError):
    """The store could not be written; what was finished is safe."""


@dataclass(frozen=True)
class Outcome:
    """A finished sweep.

    Attributes
    ----------
    path : Path
        Its file.
    computed, reused : int
        How many shards were computed, and how many were there already.
    statuses : dict
        How many runs ended with each status.
    damaged : int
        How many of the computed shards were there, but damaged.
    """

    path: Path
    computed: int
    reused: int
    statuses: dict[str, int]
    damaged: int = 0

    @property
    def summary(self) -> str:
        """The statuses in a sentence."""
        return describe_statuses(self.statuses)


def run_sweep(
    config: SweepConfig,
    out: Path,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Outcome:
    """Compute the shards that are missing, then write one netCDF file of all.

    Killed at any moment it can be started again: finished shards are kept, and the data ends up the
    same to the last bit. Several processes may work on one store; the worst that happens is that a
    shard is computed twice.

    Parameters
    ----------
    config : SweepConfig
    out : Path
        The folder of the store; made if it is not there.
    threads : int, optional
        All available cores by default.
    progress : callable, optional
        Called as progress(shards_done, shards_in_all).
    overwrite : bool
        Replace a finished file of this name that came from another configuration.

    Returns
    -------
    Outcome

    Raises
    ------
    UnwritableError
        Before any work, if the store or the file cannot be written, or a finished file of another
        configuration would be overwritten.
    StoreError
        If writing fails later, as on a full disk; finished shards are safe.
    ConfigError
        If the numbers of the file are such that no problem, or no run, can be made of them.
    """
    folder, path = out / f"{config.name}.shards", out / f"{config.name}.nc"
    require_writable_folder(folder)
    require_writable(path)
    if not overwrite:
        require_same(path, config)
    plan = Plan(config)
    _require_memory(config, plan)
    try:
        remove_strays(folder)
        workers = threads or available_cores()
        computed, damaged = _compute(config, folder, plan, workers, progress)
        # In memory first: on a full disk HDF5 itself ends in errors that cannot be caught.
        data = assemble(config, folder, plan)
        write_bytes(path, data.to_netcdf(engine="h5netcdf"))
    except MemoryError as error:
        text = "the results do not fit into memory at once, so their file cannot be written"
        raise StoreError(f"{out}: {text}; finished shards are safe in {folder}") from error
    except OSError as error:
        text = "the disk is full" if error.errno == errno.ENOSPC else reason(error)
        raise StoreError(
            f"{out}: {text}; finished shards are safe, run the same command again to go on"
        ) from error
    statuses = count_statuses(data.status.values)
    return Outcome(path, computed, len(plan) - computed, statuses, damaged)


def _require_memory(config: SweepConfig, plan: Plan) -> None:
    """Refuse, before any work, results that do not fit into memory: the arrays, their file, and
    room for both.
    """
    runs = len(plan) * int(np.prod(config.starts.shape()))
    needed, there = 2.5 * runs * BYTES_PER_RUN, physical_memory()
    if needed > there:
        raise ConfigError(
            f"the results of {runs:,} runs need about {needed / 2**30:.0f} GiB of memory at the "
            "end, "
            f"and this machine has {there / 2**30:.0f}; split the sweep into several files"
        )


def _compute(
    config: SweepConfig, folder: Path, plan: Plan, workers: int, progress: Progress | None
) -> tuple[int, int]:
    """Compute the missing shards on a pool of threads; the first error, or Ctrl-C, stops the rest.

    Returns how many were computed, and how many of these were there but damaged.
    """
    shapes, total, done, computed, stop = shapes_of(config), len(plan), 0, 0, threading.Event()
    if progress is not None:
        progress(0, total)

    damaged: list[str] = []

    def work(shard: Shard) -> bool:
        if stop.is_set() or read_shard(folder, shard, shapes) is not None:
            return False
        if shard_path(folder, shard).exists():
            damaged.append(shard.key)
        write_shard(folder, shard, _checked(config, shard))
        return True

    def finished(were_missing: list[bool]) -> None:
        nonlocal done, computed
        done, computed = done + len(were_missing), computed + sum(were_missing)
        if progress is not None:
            progress(done, total)

    run_all(work, plan, workers, stop, finished)
    return computed, len(damaged)


def _checked(config: SweepConfig, shard: Shard) -> dict[str, Any]:
    """A shard's numbers; what cannot be computed is named by the values it came from."""
    try:
        return compute_shard(config, shard)
    except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
        values = ", ".join(f"{name} = {value}" for name, value in shard.problem.items())
        what = "out of memory" if isinstance(error, MemoryError) else str(error)
        raise ConfigError(
            f"{config.name}: method {shard.method!r} on the problem with {values}, seed = "
            f"{shard.seed} "
            f"cannot be run: {what}; change these values in the sweep file"
        ) from error
