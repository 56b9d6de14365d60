"""Sweeps on a Dask cluster: the same bytes as on threads, whatever dies on the way."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.commands import run as command
from weightnorm.sweeps import cluster, execute, load_config, run
from weightnorm.sweeps.cluster import ClusterError, compute_on, connected
from weightnorm.sweeps.execute import StoreError
from weightnorm.sweeps.load import ConfigError
from weightnorm.sweeps.plan import SweepPlan, compute_shard

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.long,
    # of Dask's own threads and sockets, when processes are killed
    pytest.mark.filterwarnings("ignore"),
]

TEXT = """
name = "test"
max_steps = {max_steps}
tolerance = 0.0

[problems]
num_samples = 8
num_features = 20
condition_number = 10.0
seeds = {seeds}

[starts]
scales = {{ start = 0.5, stop = 3.0, num = 8 }}
num_directions = 4

[methods.wn]
kind = "wn"
direction_step = 0.05
scale_step = 0.05
"""


def write(folder, seeds=30, max_steps=2000, extra=""):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "sweep.toml"
    text = TEXT.format(seeds=seeds, max_steps=max_steps)
    path.write_text(text + extra, encoding="utf-8")
    return path


def shards(out):
    return {path.name: path.read_bytes() for path in (out / "test.shards").glob("*.npz")}


@pytest.fixture(scope="module")
def client():
    with connected(workers=2) as client:
        yield client


def test_a_cluster_writes_the_bytes_of_a_local_run(client, tmp_path):
    config, told = load_config(write(tmp_path)), []
    local = run(config, tmp_path / "local", threads=2)
    there = run(config, tmp_path / "there", client=client, progress=lambda *done: told.append(done))
    assert there.computed == local.computed == 30
    assert shards(tmp_path / "there") == shards(tmp_path / "local")
    assert told[0] == (0, 30)
    assert told[-1] == (30, 30)
    assert there.note == ""
    again = run(config, tmp_path / "there", client=client)
    assert (again.computed, again.reused) == (0, 30)


def test_small_shards_travel_in_batches_and_few_at_a_time(client, tmp_path):
    config = load_config(write(tmp_path, seeds=2000, max_steps=20))
    sweep = cluster._Sweep(client, config, iter(SweepPlan(config)), lambda *_: None, compute_shard)
    sizes, windows = [], []
    take, submit = sweep._take, sweep._submit
    sweep._take = lambda f, batch: (sizes.append(len(batch.shards)), take(f, batch))
    sweep._submit = lambda: (submit(), windows.append(len(sweep.pending)))
    sweep.run()
    assert sum(sizes) == 2000
    assert max(sizes) > 10
    assert max(windows) <= cluster.AHEAD * 2


def test_twenty_workers_are_killed(tmp_path):
    """With workers that come back; each death takes along whatever it was doing. Between two
    deaths something gets done, however slow the machine: otherwise a sweep is right to give up.
    """
    config = load_config(write(tmp_path, seeds=240, max_steps=60_000))
    local = run(config, tmp_path / "local", threads=2)
    chance, kills, over = random.Random(0), [], threading.Event()
    alive = threading.Semaphore(0)  # released whenever a shard is finished

    def progress(done, total):
        alive.release()

    with connected(workers=2) as client:

        def kill():
            while not over.is_set() and len(kills) < 20:
                if not alive.acquire(timeout=0.1):
                    continue
                time.sleep(chance.uniform(0.0, 0.2))
                while alive.acquire(blocking=False):  # those of this batch
                    pass
                try:
                    pids = list(client.run(os.getpid, on_error="ignore").values())
                    os.kill(chance.choice(pids), signal.SIGKILL)
                    kills.append(time.monotonic())
                except (IndexError, OSError, TypeError, ValueError, RuntimeError):
                    alive.release()  # nobody there just now: try again

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            there = tmp_path / "there"
            outcome = run(config, there, client=client, progress=progress)
            while len(kills) < 20:  # the machine was faster than the killer
                for path in (there / "test.shards").glob("*.npz"):
                    path.unlink()
                outcome = run(config, there, client=client, progress=progress)
        finally:
            over.set()
            killer.join()
    assert len(kills) >= 20
    assert outcome.computed + outcome.reused == local.computed
    assert shards(tmp_path / "there") == shards(tmp_path / "local")


def test_a_shard_that_takes_workers_along_for_a_while(client, tmp_path, monkeypatch):
    """A forced KilledWorker: four workers must have died of a task before Dask says so."""
    config = load_config(write(tmp_path, seeds=6))
    marks = tmp_path / "deaths"
    marks.mkdir()
    folder = str(marks)

    def deadly(config, shard):
        if shard.seed == 3 and len(os.listdir(folder)) < 5:
            Path(folder, str(time.monotonic_ns())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return compute_shard(config, shard)

    monkeypatch.setattr(cluster, "compute_on", partial(compute_on, compute=deadly))
    run(config, tmp_path / "there", client=client)
    assert len(os.listdir(folder)) == 5
    run(config, tmp_path / "local", threads=1)
    assert shards(tmp_path / "there") == shards(tmp_path / "local")


def test_a_shard_that_always_does_stops_the_sweep_and_loses_nothing(client, tmp_path, monkeypatch):
    config = load_config(write(tmp_path, seeds=6))

    def deadly(config, shard):
        if shard.seed == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return compute_shard(config, shard)

    monkeypatch.setattr(cluster, "compute_on", partial(compute_on, compute=deadly))
    monkeypatch.setattr(cluster, "TRIES", 1)
    with pytest.raises(StoreError, match=r"seed 5, took its workers along .*run the same command"):
        run(config, tmp_path / "there", client=client)
    monkeypatch.undo()
    outcome = run(config, tmp_path / "there", client=client)
    assert (outcome.computed, outcome.reused) == (1, 5)


def start(*arguments):
    """A process of the dask command."""
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_the_scheduler_is_killed_and_the_sweep_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 4.0)
    config = load_config(write(tmp_path, seeds=60, max_steps=100_000))
    run(config, tmp_path / "local", threads=2)
    out = tmp_path / "there"
    for attempt in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        flags = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        scheduler = start("scheduler", *flags)
        worker = start("worker", address, "--nthreads", "1", "--nworkers", "2", "--no-dashboard")
        try:
            with connected(address) as client:
                client.wait_for_workers(2, timeout=60)
                if attempt:
                    outcome = run(config, out, client=client)
                    continue

                def progress(done, total, scheduler=scheduler):
                    if done == 20:
                        stop(scheduler)

                with pytest.raises(StoreError, match=r"no (worker|scheduler) has been there"):
                    run(config, out, client=client, progress=progress)
                assert 20 <= len(shards(out)) < 60
        finally:
            stop(worker)
            stop(scheduler)
    assert outcome.reused >= 20
    assert outcome.computed + outcome.reused == 60
    assert shards(out) == shards(tmp_path / "local")


def test_other_versions_are_refused_by_name(client, tmp_path, monkeypatch):
    config = load_config(write(tmp_path))
    ours = cluster.versions() | {"numpy": "1.0.0"}
    monkeypatch.setattr(cluster, "versions", partial(dict, ours))

    def honest():  # a worker has the real ones
        from weightnorm.sweeps.cluster import versions

        return versions()

    real = client.run

    def answer(function, **options):
        return real(honest, **options)

    monkeypatch.setattr(client, "run", answer)
    with pytest.raises(ClusterError, match=r"numpy is .* there and 1\.0\.0 here; install"):
        run(config, tmp_path / "out", client=client)
    assert not shards(tmp_path / "out")


def test_a_worker_without_the_package_is_named(client, tmp_path, monkeypatch):
    trouble = {"tcp://10.0.0.7:1": ModuleNotFoundError("No module named 'weightnorm'")}
    monkeypatch.setattr(client, "run", lambda *_, **__: trouble)
    with pytest.raises(ClusterError, match=r"10\.0\.0\.7:1 cannot import weightnorm"):
        run(load_config(write(tmp_path)), tmp_path / "out", client=client)


def test_a_shard_that_cannot_be_computed_is_named_and_the_others_kept(
    client, tmp_path, monkeypatch
):
    config = load_config(write(tmp_path, seeds=6))

    def fails(config, shard):
        if shard.seed == 4:
            raise ValueError("no such thing")
        return compute_shard(config, shard)

    monkeypatch.setattr(cluster, "compute_on", partial(compute_on, compute=fails))
    with pytest.raises(ConfigError, match="seed = 4 cannot be run: no such thing"):
        run(config, tmp_path / "out", client=client)
    monkeypatch.undo()
    done = len(shards(tmp_path / "out"))
    assert done >= 1
    assert run(config, tmp_path / "out", client=client).reused == done


def test_the_command(tmp_path):
    path = write(tmp_path, seeds=4)
    answer = command("sweep", path, "--out", tmp_path / "out", "--workers", "2", "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["computed"] == 4
    both = command("sweep", path, "--workers", "2", "--threads", "2")
    assert both.exit_code == 2
    assert "one of --threads, --scheduler and --workers" in both.output
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    gone = command("sweep", path, "--out", tmp_path / "gone", "--scheduler", nobody)
    assert gone.exit_code == 2
    assert "no Dask scheduler answers" in " ".join(gone.output.split())


def test_nothing_listens_beyond_loopback(client):
    psutil = pytest.importorskip("psutil")
    here = psutil.Process()
    listening = [
        connection.laddr.ip
        for process in [here, *here.children(recursive=True)]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3  # the scheduler and two workers at least
    assert set(listening) == {"127.0.0.1"}


def test_threads_and_a_client_are_too_much(client, tmp_path):
    with pytest.raises(ValueError, match="either threads or client"):
        execute.run(load_config(write(tmp_path)), tmp_path / "out", threads=2, client=client)


def test_an_error_that_cannot_be_sent_is_told_in_words(client, tmp_path, monkeypatch):
    config = load_config(write(tmp_path, seeds=4))

    def fails(config, shard):
        class UnsendableError(ValueError):
            def __reduce__(self):
                raise TypeError("never")

        if shard.seed == 2:
            raise UnsendableError("a broken thing")
        return compute_shard(config, shard)

    monkeypatch.setattr(cluster, "compute_on", partial(compute_on, compute=fails))
    with pytest.raises(ConfigError, match="seed = 2 cannot be run: a broken thing"):
        run(config, tmp_path / "out", client=client)


def test_answers_that_cannot_be_fetched_end(client, tmp_path, monkeypatch):
    config = load_config(write(tmp_path, seeds=2))

    def breaks():
        raise TypeError("cannot be made again")

    def odd(config, shard):
        class Odd:
            def __reduce__(self):
                return breaks, ()

        return {"norm": Odd()}

    monkeypatch.setattr(cluster, "MANY_TIMES", 3)
    monkeypatch.setattr(cluster, "compute_on", partial(compute_on, compute=odd))
    with pytest.raises(StoreError, match="answers cannot be fetched"):
        run(config, tmp_path / "out", client=client)


def test_a_client_that_is_none_or_closed(tmp_path):
    config = load_config(write(tmp_path))
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        run(config, tmp_path / "out", client="tcp://127.0.0.1:1")
    with connected(workers=1) as closed:
        pass
    with pytest.raises(ClusterError, match="the client is clos"):
        run(config, tmp_path / "out", client=closed)


def test_a_script_without_a_main_is_told_what_it_needs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from weightnorm.sweeps.cluster import connected\n"
        "with connected(workers=1):\n    print('up')\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert 'needs if __name__ == "__main__"' in done.stderr
