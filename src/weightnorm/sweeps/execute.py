"""Run a sweep: what is missing, on all cores or on a cluster, then one netCDF file."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._support.blas import one_thread
from .._support.files import (
    UnwritableError,
    reason,
    require_writable,
    require_writable_folder,
    write_bytes,
)
from .._support.pool import available_cores, run_all
from ..problems.coordinates.factorisation import physical_memory
from ..runs.dataset import count_statuses, describe_statuses
from .config import SweepConfig
from .environment import environment
from .labels import as_netcdf, assemble, require_same
from .load import ConfigError, load_config
from .origins import mixed, replaced, strangers
from .plan import Shard, SweepPlan, compute_shard, shapes_of
from .store import read_shard, remove_strays, shard_path, write_shard

Progress = Callable[[int, int], None]
Tell = Callable[[str], None]
BYTES_PER_RUN = 5 * 8 + 8 + 1  # five numbers, a count and a status


class StoreError(OSError):
    """The store could not be written; what was finished is safe.

    Parameters
    ----------
    *args
        The message: which file, and why.

    Examples
    --------
    >>> from weightnorm import sweeps
    >>> issubclass(sweeps.StoreError, OSError)  # so that a full disk is caught as one
    True
    """


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
    note : str
        What else there is to say: that shards or the file were of other code and were computed
        anew (unless `tell` was told so), that shards come from different environments and how well
        they agree, that the store has shards of other code, which were not used. Mostly "".

    Examples
    --------
    >>> import tempfile
    >>> from weightnorm import sweeps
    >>> config = sweeps.SweepConfig(
    ...     name="two-scales",
    ...     starts={"scales": [0.5, 2.0]},
    ...     methods={"gd": {"kind": "gd", "step": 0.1}},
    ... )
    >>> outcome = sweeps.run(config, tempfile.mkdtemp())
    >>> outcome.path.name, outcome.computed, outcome.summary
    ('two-scales.nc', 1, 'all 2 runs converged')
    """

    path: Path
    computed: int
    reused: int
    statuses: dict[str, int]
    damaged: int = 0
    note: str = ""

    @property
    def summary(self) -> str:
        """The statuses in a sentence."""
        return describe_statuses(self.statuses)


def run(
    config: SweepConfig | str | Path,
    out: str | Path = "sweeps",
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
    client: Any = None,
    share: tuple[int, int] = (0, 1),
    tell: Tell | None = None,
) -> Outcome:
    """Compute the shards that are missing, then write one netCDF file of all.

    Killed at any moment it can be started again: finished shards are kept, and the data ends up the
    same to the last bit on the same kind of machine. Shards that other code of weightnorm computed
    are not used: code is a version and a hash of the sources that compute. Several processes may
    work on one store; the worst that happens is that a shard is computed twice.

    Parameters
    ----------
    config : SweepConfig, or the path of a TOML file
        See `load_config`.
    out : path
        The folder of the store; made if it is not there. It may be a symbolic link; NAME.shards,
        which is made in it, may not.
    threads : int, optional
        All available cores by default.
    progress : callable, optional
        Called as progress(shards_done, shards_in_all).
    overwrite : bool
        Replace a finished file of this name that came from another configuration.
    client : distributed.Client, optional
        Compute on the workers of this Dask cluster instead. They need no access to `out`.
    share : (int, int)
        (i, n): begin with every n-th shard from the i-th on, and do what is still missing
        afterwards. So n processes on one store, with i = 0 … n − 1, do not do the same work.
    tell : callable, optional
        Called as tell(sentence), before any work, where shards on disk, or the finished file, are
        of other code and are computed anew. Without it the sentence is in `Outcome.note`.

    Returns
    -------
    Outcome

    Raises
    ------
    UnwritableError
        Before any work, if the store or the file cannot be written, or a finished file of another
        configuration would be overwritten.
    StoreError
        If writing fails later, as on a full disk, or the cluster is lost; finished shards are safe.
    ClusterError
        Before any work, if a worker has other versions than this process.
    ConfigError
        If the numbers of the file are such that no problem, or no run, can be made of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from weightnorm import sweeps
    >>> gd = {"kind": "gd", "step": 0.1}
    >>> config = sweeps.SweepConfig(name="a", starts={"scales": [1.0]}, methods={"gd": gd})
    >>> with TemporaryDirectory() as out:
    ...     first, again = sweeps.run(config, out), sweeps.run(config, out)
    >>> first.computed, again.computed, again.reused
    (1, 0, 1)
    """
    if not isinstance(config, SweepConfig):
        config = load_config(Path(config))
    if client is not None and threads is not None:
        raise ValueError("give either threads or client, not both: a client has its own workers")
    out = Path(out)
    folder, path = out / f"{config.name}.shards", out / f"{config.name}.nc"
    require_writable_folder(folder, own=True)
    require_writable(path)
    written_by = None if overwrite else require_same(path, config)
    plan = SweepPlan(config)
    _require_memory(config, plan)
    ledger = Ledger(config, folder, plan, progress, share)
    renewed = replaced(folder, plan, path, written_by)
    if renewed and tell is not None:
        tell(renewed)
    try:
        remove_strays(folder)
        if client is None:
            _compute(ledger, threads or available_cores())
        else:
            _compute_on(client, ledger)
        # In memory first: on a full disk HDF5 itself ends in errors that cannot be caught.
        data, environments = assemble(config, folder, plan)
        write_bytes(path, as_netcdf(data))
    except MemoryError as error:
        text = "the results do not fit into memory at once, so their file cannot be written"
        raise StoreError(f"{out}: {text}; finished shards are safe in {folder}") from error
    except OSError as error:
        text = "the disk is full" if error.errno == errno.ENOSPC else reason(error)
        raise StoreError(
            f"{out}: {text}; finished shards are safe, run the same command again to go on"
        ) from error
    statuses = count_statuses(data.status.values)
    notes = (
        renewed if tell is None else "",
        mixed(config, folder, environments),
        "" if renewed else strangers(folder, plan),
    )
    computed = ledger.computed
    reused, damaged = len(plan) - computed, len(ledger.damaged)
    return Outcome(path, computed, reused, statuses, damaged, " ".join(filter(None, notes)))


def _require_memory(config: SweepConfig, plan: SweepPlan) -> None:
    """Refuse, before any work, results that do not fit into memory: the arrays, their file, and
    room for both.
    """
    runs = len(plan) * int(np.prod(config.starts.shape()))
    needed, there = 2.5 * runs * BYTES_PER_RUN, physical_memory()
    if needed > there:
        raise ConfigError(
            f"the results of {runs:,} runs need about {needed / 2**30:.0f} GiB of memory at the "
            f"end, and this machine has {there / 2**30:.0f}; split the sweep into several files"
        )


class Ledger:
    """What of a plan is done, and who is told.

    Parameters
    ----------
    config : SweepConfig
    folder : Path
        Of the store.
    plan : SweepPlan
    progress : callable or None
        Called as progress(shards_done, shards_in_all).
    share : (int, int)
        Where to begin, see `run`.
    """

    def __init__(
        self,
        config: SweepConfig,
        folder: Path,
        plan: SweepPlan,
        progress: Progress | None,
        share: tuple[int, int],
    ) -> None:
        self.config, self.folder, self.plan, self._progress = config, folder, plan, progress
        self._share = _checked_share(share)
        self.done, self.computed = 0, 0
        self.damaged: list[str] = []
        self._shapes = shapes_of(config)
        self.count([])

    def is_there(self, shard: Shard) -> bool:
        """Whether the store has a shard; one that is damaged is remembered."""
        path = shard_path(self.folder, shard)
        was_there = path.exists()  # asked first: another process may finish it at any moment
        if read_shard(self.folder, shard, self._shapes) is not None:
            return True
        if path.is_dir():
            raise UnwritableError(f"{path} is a folder where a shard belongs; remove it")
        if was_there:
            self.damaged.append(shard.key)
        return False

    def in_order(self) -> Iterator[Shard]:
        """All shards, those of its own share first, then those of the shares after it."""
        (first, count), size = self._share, len(self.plan)
        shares = chain(range(first, min(count, size)), range(min(first, size)))
        return self.plan.at(place for each in shares for place in range(each, size, count))

    def missing(self) -> Iterator[Shard]:
        """The shards to compute, one by one; those that are there are counted on the way."""
        for shard in self.in_order():
            if self.is_there(shard):
                self.count([False])
            else:
                yield shard

    def count(self, were_missing: list[bool]) -> None:
        """Count shards that are done, computed now or not."""
        self.done, self.computed = self.done + len(were_missing), self.computed + sum(were_missing)
        if self._progress is not None:
            self._progress(self.done, len(self.plan))


def _compute(ledger: Ledger, workers: int) -> None:
    """Compute the missing shards on a pool of threads; the first error, or Ctrl-C, stops the
    rest.
    """
    stop = threading.Event()

    def work(shard: Shard) -> bool:
        if stop.is_set() or ledger.is_there(shard):
            return False
        try:
            arrays = compute_shard(ledger.config, shard)
        except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
            what = "out of memory" if isinstance(error, MemoryError) else str(error)
            raise _impossible(ledger.config, shard, what) from error
        write_shard(ledger.folder, shard, arrays, environment())
        return True

    with one_thread():
        run_all(work, ledger.in_order(), workers, stop, ledger.count)


def _compute_on(client: Any, ledger: Ledger) -> None:
    """Compute the missing shards on a cluster; they are written here, as they come."""
    from .cluster import ClusterError, ShardError, compute_on, require_same_versions

    def finished(shard: Shard, arrays: Any, where: str) -> None:
        write_shard(ledger.folder, shard, arrays, where)
        ledger.count([True])

    require_same_versions(client)
    try:
        compute_on(client, ledger.config, ledger.missing(), finished)
    except ShardError as error:
        raise _impossible(ledger.config, error.shard, str(error)) from error
    except ClusterError as error:
        raise StoreError(errno.EIO, str(error)) from error


def _checked_share(share: Any) -> tuple[int, int]:
    pair = tuple(share) if isinstance(share, tuple | list) else ()
    if len(pair) != 2 or not all(isinstance(n, int) for n in pair) or not 0 <= pair[0] < pair[1]:
        raise ValueError(f"share must be (i, n), whole numbers with 0 ≤ i < n, got {share!r}")
    return pair[0], pair[1]


def _impossible(config: SweepConfig, shard: Shard, what: str) -> ConfigError:
    """What cannot be computed, named by the values it came from."""
    values = ", ".join(f"{name} = {value}" for name, value in shard.problem.items())
    return ConfigError(
        f"{config.name}: method {shard.method!r} on the problem with {values}, seed = {shard.seed} "
        f"cannot be run: {what}; change these values in the sweep file"
    )
