"""One pass over the blocks of a Dask array: what it will cost, where it runs, how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..._support.blas import one_thread

LARGE = 10**9  # bytes from which a pass says what it will cost, and how far it is
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Cost:
    """What it takes to read a Dask array.

    Attributes
    ----------
    num_bytes : int
        Of A, read once in every pass.
    flops : float
        Of the first pass, which factorises; the second, which makes weights, has two for every
        entry of A.
    memory : int
        Bytes that a thread of a worker needs at once, about.
    passes : int
        One for limits, runs and sweeps however many; one more where weights are asked for.

    Examples
    --------
    >>> from weightnorm.problems.dask.passes import Cost
    >>> print(Cost(num_bytes=4_320_000_000, flops=2.2e11, memory=70_000_000, passes=2))
    up to 2 passes over 4.32 GB, 2.2e+11 flops to factorise, about 70 MB a thread
    """

    num_bytes: int
    flops: float
    memory: int
    passes: int

    def __str__(self) -> str:
        many = "1 pass" if self.passes == 1 else f"up to {self.passes} passes"
        return (
            f"{many} over {_amount(self.num_bytes)}, {self.flops:.2g} flops to factorise, about "
            f"{_amount(self.memory)} a thread"
        )


def run_pass(
    what: str, root: Any, parts: Sequence[Any], sizes: Sequence[int], told: Any, cost: Cost
) -> Any:
    """Compute a task over tasks that read blocks, on the active Dask client or else on threads.

    Parameters
    ----------
    what : str
        What the pass is for, in its progress bar.
    root : Delayed
        What is wanted.
    parts : sequence of Delayed
        The tasks that read, which `root` is made of.
    sizes : sequence of int
        The bytes that each of them reads.
    told : callable, bool or None
        Called as told(bytes_read, bytes_in_all); True shows a bar, None shows it for more than a
        gigabyte, and False nothing.
    cost : Cost
        Shown before the bar.

    Returns
    -------
    object
        What `root` gives.
    """
    from dask.base import get_scheduler

    total = sum(sizes)
    with _teller(what, total, told, cost) as tell:
        get = get_scheduler()
        client = getattr(get, "__self__", None)
        if client is not None and hasattr(client, "nthreads"):
            return _on_client(client, root, parts, sizes, tell)
        return _here(root, parts, sizes, tell)


@contextmanager
def _teller(what: str, total: int, told: Any, cost: Cost) -> Iterator[Progress]:
    """What gets the number of bytes read."""
    if callable(told):
        told(0, total)
        yield told
        return
    if told is False or (told is None and total <= LARGE):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    console.print(f"{what}: {cost}", style="dim", highlight=False)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, total: bar.update(task, completed=done)


def _here(root: Any, parts: Sequence[Any], sizes: Sequence[int], tell: Progress) -> Any:
    import dask
    from dask.callbacks import Callback

    left = {part.key: size for part, size in zip(parts, sizes, strict=True)}
    total, done, lock = sum(sizes), 0, threading.Lock()

    def after(key: Any, *_: Any) -> None:
        nonlocal done
        with lock:
            size = left.pop(key, 0)
            done += size
        if size:
            tell(done, total)

    with one_thread(), Callback(posttask=after):
        return dask.compute(root)[0]


def _on_client(
    client: Any, root: Any, parts: Sequence[Any], sizes: Sequence[int], tell: Progress
) -> Any:
    from distributed import as_completed

    # together, so that a part may be let go of as soon as the tree has it
    futures = client.compute([root, *parts])
    end, reading = futures[0], dict(zip(futures[1:], sizes, strict=True))
    del futures
    total, done = sum(sizes), 0
    waiting = as_completed(list(reading))
    for future in waiting:
        if future.status == "error":
            break  # the root has the same error, and says it
        done += reading.pop(future)
        tell(done, total)
        del future
    return end.result()


def _amount(num_bytes: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if num_bytes < 1000:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.3g} TB"
