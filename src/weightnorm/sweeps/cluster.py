"""Shards on a Dask cluster: its workers compute, and the client writes the same files as ever.

No disk is shared. A few batches of shards are under way at a time, each of at least half a second
of work. What a worker, the scheduler or the network takes along is computed again, by this call or
by the next: the store is the only thing that counts.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from .config import SweepConfig
from .environment import PACKAGES, environment
from .plan import CODE, Shard, compute_shard
from .store import Arrays

BATCH_SECONDS = 0.5  # of work that a batch has at least, so that the scheduler's part is small
LARGEST_BATCH = 4096
AHEAD = 2  # batches submitted per thread of the cluster: enough that none waits
PATIENCE = 60.0  # seconds without a worker, or without the scheduler, after which a sweep stops
MANY_TIMES = 100  # answers that may get lost with their workers on the way here
TRIES = 3  # times that a shard may take its workers along, by itself

Compute = Callable[[SweepConfig, Shard], Arrays]
Finished = Callable[[Shard, Arrays, str], None]


class ClusterError(RuntimeError):
    """A cluster that cannot be used, or no longer; what was finished is safe.

    Parameters
    ----------
    *args
        The message: what was there, and what to do.

    Examples
    --------
    >>> from weightnorm.sweeps.cluster import ClusterError, connected
    >>> try:
    ...     with connected("tcp://not-a-port"):
    ...         pass
    ... except ClusterError as error:
    ...     print(type(error).__name__)
    ClusterError
    """


@cache
def versions() -> dict[str, str]:
    """What must be the same on the client and on every worker.

    Returns
    -------
    dict
        Versions by name, and which code of weightnorm computes, see `weightnorm._support.sources`.

    Examples
    --------
    >>> from weightnorm.sweeps.cluster import versions
    >>> sorted(versions())
    ['code of weightnorm', 'numba', 'numpy', 'python', 'scipy', 'weightnorm']
    """
    found = {name: version(name) for name in PACKAGES}
    found["python"] = ".".join(map(str, sys.version_info[:2]))
    return found | {"code of weightnorm": CODE}


@dataclass(frozen=True, eq=False)
class ShardAnswer:
    """What a worker gives back: the shards it finished, and what stopped it before the others."""

    done: list[Arrays]
    error: str | None
    seconds: float
    environment: str
    versions: dict[str, str]


def work(config: SweepConfig, shards: list[Shard], compute: Compute = compute_shard) -> ShardAnswer:
    """Compute a batch of shards, on a worker."""
    done: list[Arrays] = []
    error: str | None = None
    begun = time.perf_counter()
    try:
        for shard in shards:
            done.append(compute(config, shard))  # noqa: PERF401 (what is done before an error stays)
    except MemoryError:
        error = "out of memory"
    except Exception as trouble:  # in words: not every exception survives being sent
        error = str(trouble) or type(trouble).__name__
    return ShardAnswer(done, error, time.perf_counter() - begun, environment(), versions())


def require_same_versions(client: Any) -> None:
    """Refuse a cluster with a worker that has other versions than this process.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    ClusterError
        Naming the package, both versions and the worker.
    """
    if not all(hasattr(client, name) for name in ("submit", "run", "nthreads")):
        raise TypeError(
            f"client must be a distributed.Client, got {type(client).__name__}; see "
            "weightnorm.sweeps.cluster.connected"
        )
    if client.status not in ("running", "connecting"):
        raise ClusterError(f"the client is {client.status}; connect a new one")
    try:
        answers = client.run(versions, on_error="return")
    except OSError:  # nobody there just now: every batch brings its versions with it
        return
    for address, found in answers.items():
        if isinstance(found, OSError):  # it died meanwhile
            continue
        if isinstance(found, Exception):
            raise ClusterError(
                f"worker {address} cannot import weightnorm {versions()['weightnorm']} "
                f"({type(found).__name__}: {found}); install on the workers what is installed here"
            )
        _require_same(address, found)


def _require_same(where: str, found: dict[str, str]) -> None:
    ours = versions()
    wrong = [
        f"{name} is {found.get(name)} there and {ours[name]} here"
        for name in ours
        if found.get(name) != ours[name]
    ]
    if wrong:
        raise ClusterError(
            f"worker {where}: {', '.join(wrong)}; install on the workers what is installed here"
        )


@contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A Dask client: of the scheduler at `address`, or of worker processes on this machine.

    The processes listen on loopback alone, and end with the block.

    Parameters
    ----------
    address : str, optional
        Such as `"tcp://10.0.0.1:8786"`.
    workers : int, optional
        How many processes to start instead.

    Returns
    -------
    context manager
        For a `with` block; it gives the distributed.Client.

    Raises
    ------
    ClusterError
        If there is no such scheduler, or Dask is not installed.

    Examples
    --------
    Not run here, since a busy machine may take longer to start one than Dask waits:

    >>> from weightnorm.sweeps.cluster import connected
    >>> with connected(workers=2) as client:  # doctest: +SKIP
    ...     client.status
    'running'
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ClusterError(
            f'Dask is not installed ({error}); pip install "weightnorm[dask]"'
        ) from None
    if address is None:
        with _local(LocalCluster, workers) as cluster, Client(cluster) as client:
            # a worker that dies while it starts does not come back by itself
            cluster.adapt(minimum=workers, maximum=workers, interval="2s")
            yield client
        return
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        yield client


def _local(kind: Any, workers: int | None) -> Any:
    """A cluster of processes on this machine, on loopback alone."""
    try:
        return kind(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None would open Dask's own port to everyone
            worker_dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        )
    except RuntimeError as error:
        raise ClusterError(
            f"the workers could not be started ({error}); a script that starts processes needs "
            'if __name__ == "__main__": around what it does'
        ) from error


def compute_on(
    client: Any,
    config: SweepConfig,
    shards: Iterable[Shard],
    finished: Finished,
    compute: Compute = compute_shard,
) -> None:
    """Compute shards on a cluster; `finished` gets each with its environment, in this thread.

    Parameters
    ----------
    client : distributed.Client
    config : SweepConfig
    shards : iterable of Shard
        Those that are missing; taken as they are needed.
    finished : callable
        Called as finished(shard, arrays, environment).
    compute : callable
        What a worker does for a shard.

    Raises
    ------
    ClusterError
        If no worker or no scheduler is left, a shard takes its worker along time and again, or a
        worker that joined later has other versions: see `require_same_versions`.
    """
    sweep = _Sweep(client, config, iter(shards), finished, compute)
    try:
        sweep.run()
    except BaseException:
        sweep.cancel()
        raise


@dataclass(eq=False)
class _Batch:
    """Shards under way together, and how often they took workers along."""

    shards: list[Shard]
    deaths: int = 0


@dataclass(eq=False)
class _Sweep:
    """Batches under way, and those to be submitted again."""

    client: Any
    config: SweepConfig
    shards: Iterator[Shard]
    finished: Finished
    compute: Compute
    pending: dict[Any, _Batch] = field(default_factory=dict)
    again: deque[_Batch] = field(default_factory=deque)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=8))
    news: threading.Event = field(default_factory=threading.Event)
    unfetched: int = 0  # answers that could not be fetched
    over: bool = False  # nothing is left to submit
    sent: Any = None  # the configuration on the cluster
    seen: float = field(default_factory=time.monotonic)  # when there was a worker last

    def run(self) -> None:
        """Until all are done."""
        while True:
            self._submit()
            if self.over and not self.pending:
                return
            self.news.wait(0.2)
            self.news.clear()
            for future in [future for future in self.pending if future.status != "pending"]:
                self._take(future, self.pending.pop(future))
            self._require_workers()

    def cancel(self) -> None:
        """Give up what is under way, as far as anyone listens."""
        try:
            self.client.cancel(list(self.pending), force=True)
        except Exception:  # the scheduler is gone: there is nothing left to cancel
            return

    def _submit(self) -> None:
        """Fill the window."""
        self.over = False
        if self.client.status != "running":
            return
        window = AHEAD * max(1, self._threads())
        while len(self.pending) < window:
            batch = self.again.popleft() if self.again else self._next_batch()
            if not batch.shards:
                self.over = True
                return
            if self.sent is None or self.sent.status not in ("pending", "finished"):
                self.sent = self.client.submit(_unchanged, self.config, pure=False)
            future = self.client.submit(
                work, self.sent, batch.shards, self.compute, pure=False, key=_name(batch)
            )
            future.add_done_callback(lambda _: self.news.set())
            self.pending[future] = batch

    def _next_batch(self) -> _Batch:
        mean = sum(self.recent) / len(self.recent) if self.recent else BATCH_SECONDS
        size = min(LARGEST_BATCH, max(1, -int(-BATCH_SECONDS // max(mean, 1e-9))))
        return _Batch([shard for _, shard in zip(range(size), self.shards, strict=False)])

    def _take(self, future: Any, batch: _Batch) -> None:
        """Keep what a batch gave, or see to it that it is computed again."""
        from distributed import KilledWorker

        if future.status == "finished":
            try:
                answer: ShardAnswer = future.result(timeout=PATIENCE)
            except Exception as trouble:  # its worker died before it could be fetched, mostly
                self.unfetched += 1
                if self.unfetched > MANY_TIMES:
                    raise ClusterError(f"answers cannot be fetched: {trouble!r}") from trouble
                self.again.append(batch)
                return
            _require_same("of a batch", answer.versions)
            for shard, arrays in zip(batch.shards, answer.done, strict=False):
                self.finished(shard, arrays, answer.environment)
            if answer.done:
                self.recent.append(answer.seconds / len(answer.done))
            if answer.error is not None:
                raise ShardError(batch.shards[len(answer.done)], answer.error)
        elif future.status == "error":
            failure = future.exception()
            if not isinstance(failure, KilledWorker):
                raise ClusterError(f"a worker failed: {type(failure).__name__}: {failure}")
            self._after_deaths(batch)
        else:  # cancelled or lost: by somebody else, or with the scheduler
            self.again.append(batch)

    def _after_deaths(self, batch: _Batch) -> None:
        """One by one next time: it may be one shard that takes workers along, or none of them."""
        if batch.deaths >= TRIES:
            shard = batch.shards[0]
            raise ClusterError(
                f"the shard of method {shard.method!r}, seed {shard.seed}, took its workers along "
                f"{TRIES} times over (out of memory?); give the workers more memory"
            )
        alone = batch.deaths + (len(batch.shards) == 1)
        self.again.extend(_Batch([shard], alone) for shard in batch.shards)

    def _threads(self) -> int:
        """The threads of all workers; none where nobody answers."""
        try:
            return sum(self.client.nthreads().values())
        except Exception:  # the scheduler is gone, or the client closed with it
            return 0

    def _require_workers(self) -> None:
        """Stop where there has been nobody to work for too long."""
        threads = self._threads()
        running = self.client.status == "running"
        if running and threads:
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > PATIENCE:
            who = "worker" if running else "scheduler"
            raise ClusterError(f"no {who} has been there for {PATIENCE:g} s")


class ShardError(Exception):
    """A shard that cannot be computed; `.shard` says which, and the message why."""

    def __init__(self, shard: Shard, error: str) -> None:
        super().__init__(error)
        self.shard = shard


def _unchanged(config: SweepConfig) -> SweepConfig:
    return config


def _name(batch: _Batch) -> str:
    """A key that no earlier task has: a task that failed is not looked up, but run."""
    return f"weightnorm-shards-{batch.shards[0].key[:12]}-{time.monotonic_ns()}"
