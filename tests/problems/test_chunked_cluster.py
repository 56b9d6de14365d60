"""A pass over a Dask array on a cluster: the same bits for any number of workers, and when one
dies.
"""

import os
import signal
import threading
import time

import dask
import numpy as np
import pytest

import weightnorm as wn
from weightnorm.sweeps.cluster import connected

da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

MEMORY = wn.datasets.make_regression(30, 6000, condition_number=1e4, seed=2)
SIZES = (500, 700, 60, 1240) * 2 + (1000,)
START = wn.datasets.random_direction(6000, seed=1, chunks=SIZES)


def numbers(A, **options):
    """All that a pass gives: singular values, the split of a start, and lifted weights."""
    blocks = wn.LeastSquares(A, MEMORY.y, **options)
    limit = wn.theory.flow_limit(blocks, 1.0, START)
    late = wn.theory.flow_limit(blocks, 1.0, wn.datasets.random_direction(6000, seed=2))
    parts = blocks.factorisation.singular_values, limit.weights.compute(), late.weights.compute()
    return [np.asarray(part).tobytes() for part in parts]


@pytest.fixture(scope="module")
def on_one_thread():
    with dask.config.set(scheduler="synchronous"):
        return numbers(da.from_array(MEMORY.A, chunks=(-1, SIZES)))


def test_threads_do_not_change_the_bits(on_one_thread):
    for count in (1, 2, 4):
        with dask.config.set(scheduler="threads", num_workers=count):
            assert numbers(da.from_array(MEMORY.A, chunks=(-1, SIZES))) == on_one_thread


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_do_not_change_the_bits(on_one_thread, count):
    told = []
    with connected(workers=count):
        A = da.from_array(MEMORY.A, chunks=(-1, SIZES))
        assert numbers(A, progress=lambda *done: told.append(done)) == on_one_thread
    assert (6000 * 30 * 8, 6000 * 30 * 8) in told


def test_workers_killed_during_the_pass_do_not_change_the_bits(on_one_thread):
    def slowly(block):
        time.sleep(0.3)
        return block

    killed = []
    with connected(workers=2) as client:
        A = da.from_array(MEMORY.A, chunks=(-1, SIZES)).map_blocks(slowly)

        def progress(done, total):
            if done and len(killed) < 3:
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if pids:
                    os.kill(pids[0], signal.SIGKILL)
                    killed.append(done)

        found = numbers(A, progress=progress)
    assert len(killed) == 3
    assert found == on_one_thread


@pytest.fixture
def interruptible():
    """Ctrl-C as Python has it by itself: a shell lets its background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_pass():
    def slowly(block):
        time.sleep(0.2)
        return block

    A = da.from_array(MEMORY.A, chunks=(-1, 100)).map_blocks(slowly)
    blocks = wn.LeastSquares(A, MEMORY.y)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    begun = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        blocks.min_norm_solution()
    assert time.monotonic() - begun < 5.0
    assert not blocks.is_factorised


def test_an_error_on_a_worker_is_the_users_own():
    bad = MEMORY.A.copy()
    bad[3, 5000] = np.nan
    with connected(workers=1):
        blocks = wn.LeastSquares(da.from_array(bad, chunks=(-1, SIZES)), MEMORY.y)
        with pytest.raises(ValueError, match="A has 1 entries that are NaN"):
            blocks.min_norm_solution()
