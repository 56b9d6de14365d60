"""Run the shards of the network experiment on all cores, and go on where it was left."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from weightnorm._support.files import require_writable_folder
from weightnorm._support.pool import available_cores
from weightnorm._support.sources import AT, ENDING, count_outdated, outdated
from weightnorm.sweeps.environment import environment
from weightnorm.sweeps.store import read_arrays, remove_strays, write_arrays

from .data import read_mnist
from .protocol import CODE, NetworkShard, Size, shards
from .results import Results
from .shard import compute, shapes

Progress = Callable[[int, int, str], None]
Tell = Callable[[str], None]
# Tensors of some megabytes come and go at every step. glibc would give each back to the system,
# and the system would fill each with zeros again: a third of the time.
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": str(10**9),
    "MALLOC_TRIM_THRESHOLD_": str(2 * 10**9),
    "MALLOC_TOP_PAD_": str(2 * 10**8),
}


class WorkerKilledError(RuntimeError):
    """A process that trained was killed. What is done is kept; the message says how to go on."""


def run(
    size: Size,
    folder: Path,
    mnist: Path,
    progress: Progress | None = None,
    workers: int | None = None,
    tell: Tell | None = None,
) -> Results:
    """Compute the shards that are missing, and read all.

    Ctrl-C, a kill or an error loses at most the shards under way: start again to go on. Shards of
    other code are not used.

    Parameters
    ----------
    size : Size
    folder : Path
        Where shards are kept; made if it is not there.
    mnist : Path
        The folder of MNIST's files; looked at only where a setting needs them.
    progress : callable, optional
        Called as progress(done, total, name).
    workers : int, optional
        Processes; as many as there are cores by default.
    tell : callable, optional
        Called as tell(sentence), before any work, where shards are of other code.

    Returns
    -------
    Results
    """
    require_writable_folder(folder)
    remove_strays(folder)
    if any(setting.data == "mnist" for setting in size.settings):
        read_mnist(mnist)  # now, not in an hour
    planned = shards(size)
    missing = [shard for shard in planned if read(folder, shard) is None]
    done = len(planned) - len(missing)
    count = count_outdated(os.listdir(folder), map(_stem, planned), CODE)
    if count and tell is not None:
        tell(outdated(count, len(planned), f"shards in {folder}"))

    def finished(name: str) -> None:
        if progress is not None:
            progress(done, len(planned), name)

    finished("")
    if missing:
        pool = _pool(min(len(missing), workers or available_cores()))
        # the long ones first, so that no worker is left with one of them at the end
        missing.sort(key=lambda shard: -shard.setting.samples * size.steps_of(shard.setting))
        try:
            pending: set[Future[str]] = {
                pool.submit(_work, shard, folder, mnist) for shard in missing
            }
            while pending:
                ended, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in ended:
                    done += 1
                    finished(future.result())
        except BrokenProcessPool:
            raise WorkerKilledError(
                "a worker was killed (out of memory?); what is done is kept: start again to go on"
            ) from None
        except BaseException:
            _end(pool)
            raise
        pool.shutdown()
    arrays = {(shard.setting.name, shard.arm.name): _read(folder, shard) for shard in planned}
    return Results(size, arrays, f"weightnorm {CODE}")


def read(folder: Path, shard: NetworkShard) -> dict[str, Any] | None:
    """The arrays of a shard; None if it must be computed (again).

    Parameters
    ----------
    folder : Path
    shard : NetworkShard

    Returns
    -------
    dict of str -> array, or None
    """
    wanted = shapes(shard)
    found = read_arrays(_path(folder, shard), shard.key, wanted)
    if found is None or any(found[name].shape != shape for name, shape in wanted.items()):
        return None
    return found


def _read(folder: Path, shard: NetworkShard) -> dict[str, Any]:
    found = read(folder, shard)
    if found is None:
        raise RuntimeError(f"{_path(folder, shard)} was removed meanwhile: start again")
    return found


def _path(folder: Path, shard: NetworkShard) -> Path:
    return folder / f"{_stem(shard)}{AT}{shard.key.partition(AT)[2]}{ENDING}"


def _stem(shard: NetworkShard) -> str:
    """The name of its file, up to the code that computes it."""
    return f"{shard.name.replace(' ', '-')}-{shard.key[:16]}"


def _pool(workers: int) -> ProcessPoolExecutor:
    """Fresh processes with one thread each."""
    before = dict(os.environ)
    os.environ.update(MALLOC | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    try:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare)
        for future in [pool.submit(os.getpid) for _ in range(workers)]:  # they start now
            future.result()
        return pool
    finally:
        for name in (*MALLOC, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.pop(name, None)
        os.environ.update(before)


def _prepare() -> None:
    import signal

    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and ends this
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # dead features decay for ever


def _work(shard: NetworkShard, folder: Path, mnist: Path) -> str:
    import torch

    about = json.dumps(json.loads(environment()) | {"torch": torch.__version__}, sort_keys=True)
    write_arrays(_path(folder, shard), shard.key, compute(shard, mnist), about)
    return shard.name


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what is under way is computed again next time."""
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
