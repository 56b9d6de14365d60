"""Work on a pool of threads that stops at once when something goes wrong."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from .interrupts import held

Item = TypeVar("Item")
Answer = TypeVar("Answer")
_AHEAD = 8  # items submitted per worker: enough that none waits, few enough to wait for them all


def run_all(
    work: Callable[[Item], Answer],
    items: Iterable[Item],
    workers: int,
    stop: threading.Event,
    finished: Callable[[list[Answer]], None],
) -> None:
    """Work on every item; `finished` gets the answers as they come, in this thread.

    An error, or Ctrl-C, sets `stop` (which long work should look at), drops what has not begun,
    waits for the rest and is raised again. Waiting in short turns lets Ctrl-C through.

    Parameters
    ----------
    work : callable
        Called as work(item) in one of the threads.
    items : iterable
        Taken as they are needed, a few ahead: it may be long and made on the way.
    workers : int
        The number of threads.
    stop : threading.Event
    finished : callable
        Called as finished(answers).
    """
    remaining, window = iter(items), _AHEAD * workers
    with ThreadPoolExecutor(workers) as pool:
        try:
            pending = {pool.submit(work, item) for item in islice(remaining, window)}
            while pending:
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                if done:
                    finished([future.result() for future in done])
                    room = window - len(pending)
                    pending |= {pool.submit(work, item) for item in islice(remaining, room)}
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def share(work: Callable[[Item], object], parts: Sequence[Item], workers: int) -> None:
    """Work on every part at once; for short work that must not stop half-way.

    Whatever goes wrong, Ctrl-C included, is raised only when all parts are done.
    """
    with held(escape=False), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, part) for part in parts]
    for future in futures:  # all are done
        future.result()


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
