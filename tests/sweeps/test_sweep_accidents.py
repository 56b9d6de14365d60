"""Sweeps on disk: kills, Ctrl-C, full disks, two writers, shares."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.cases import slow
from tests.support.commands import run
from tests.support.sweep_cases import TEXT, data_of, finished, same_numbers, write
from weightnorm.sweeps import execute, load_config, run_sweep
from weightnorm.sweeps import plan as plans
from weightnorm.sweeps.execute import StoreError
from weightnorm.sweeps.load import ConfigError
from weightnorm.sweeps.plan import Shard, SweepPlan, compute_shard

# A sweep whose shards take at least 20 ms each, so that a kill hits it at work however fast the
# machine.
SLOWLY = """
import sys, time
from weightnorm.cli.main import app
from weightnorm.sweeps import execute
compute = execute.compute_shard
execute.compute_shard = lambda *arguments: (time.sleep(0.02), compute(*arguments))[1]
app(sys.argv[1:])
"""


# The same, and once so many shards are on disk it waits to be killed: a kill may come late on a
# busy machine, but never after the end.
WAITING = """
import os, sys, time
from weightnorm.sweeps import execute
folder, limit = sys.argv.pop(1), int(sys.argv.pop(1))
slowly = execute.compute_shard
def waiting(*arguments):
    while sum(name.endswith(".npz") for name in os.listdir(folder)) >= limit:
        time.sleep(0.01)
    return slowly(*arguments)
execute.compute_shard = waiting
"""
LATE = 4  # shards that a kill may come late, so that some kills hit a process that writes


@pytest.mark.long
@pytest.mark.parametrize("num_kills", [5, *slow([40])])
def test_kills_all_along_a_sweep_leave_its_data_the_same(tmp_path, num_kills):
    """SIGKILL at moments spread evenly over the shards; every start goes on, and the end equals an
    uninterrupted run.
    """
    path = write(tmp_path, TEXT.replace("seeds = 5", "seeds = 60"))
    config, folder = load_config(path), tmp_path / "out" / "test.shards"
    clean, total = data_of(run_sweep(config, tmp_path / "clean").path), len(SweepPlan(config))
    script = SLOWLY.replace("app(sys.argv[1:])", f"{WAITING}\napp(sys.argv[1:])")
    rest = ["sweep", str(path), "--out", str(tmp_path / "out"), "--threads", "1"]
    chance, counts = random.Random(0), []
    targets = [total * (i + 1) // (num_kills + 1) for i in range(num_kills)]
    for target in targets:
        command = [sys.executable, "-c", script, str(folder), str(target + LATE), *rest]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 300
            while finished(folder) < target and time.monotonic() < deadline:
                assert process.poll() is None  # it must not end by itself
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.02 * LATE))
        finally:
            process.kill()
            process.wait()
        counts.append(finished(folder))
    assert all(0 < count < total for count in counts)  # no kill before the first, none after all
    late = [count - target for count, target in zip(counts, targets, strict=True)]
    assert 0 <= min(late) <= max(late) <= LATE, counts  # where they were meant: all along
    outcome = run_sweep(config, tmp_path / "out")
    assert (outcome.reused, outcome.damaged) == (counts[-1], 0)
    assert same_numbers(data_of(outcome.path), clean)


def test_ctrl_c_ends_the_command_with_a_message(tmp_path):
    path = write(tmp_path, TEXT.replace("seeds = 5", "seeds = 500"))
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + SLOWLY
    command = [sys.executable, "-c", script, "sweep", str(path), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 300
            while not finished(tmp_path / "out" / "test.shards") and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGINT)
            errors = process.communicate(timeout=300)[1]
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted; the same command goes on where this stopped" in errors


def test_ctrl_c_says_how_to_go_on(config, tmp_path, monkeypatch):
    from weightnorm.sweeps import execute

    calls = []

    def interrupt(config, shard):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute_shard(config, shard)

    monkeypatch.setattr(execute, "compute_shard", interrupt)
    result = run("sweep", str(write(tmp_path)), "--out", str(tmp_path / "out"), "--threads", "1")
    assert result.exit_code == 130
    assert "goes on where this stopped" in result.stderr
    monkeypatch.undo()
    assert 2 <= run_sweep(config, tmp_path / "out").reused < 20


def test_a_full_disk_loses_nothing(config, tmp_path, monkeypatch):
    written = []
    replace = os.replace

    def full(source, target):
        if str(target).endswith(".npz"):
            written.append(target)
            if len(written) > 7:
                raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match="the disk is full; finished shards are safe"):
        run_sweep(config, tmp_path / "out", threads=1)
    monkeypatch.undo()
    assert not list((tmp_path / "out" / "test.shards").glob(".*.part"))
    outcome = run_sweep(config, tmp_path / "out")
    assert outcome.reused == 7
    assert same_numbers(data_of(outcome.path), data_of(run_sweep(config, tmp_path / "clean").path))


def test_a_file_that_really_cannot_be_written(tmp_path):
    """The system itself refuses the last, largest file; HDF5 has no part in writing it."""
    script = """
import resource, sys
from pathlib import Path
from weightnorm.sweeps import load_config, run_sweep
from weightnorm.sweeps.execute import StoreError
config, out = load_config(Path(sys.argv[1])), Path(sys.argv[2])
run_sweep(config, out).path.unlink()
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
try:
    run_sweep(config, out)
except StoreError as error:
    print(error)
"""
    command = [sys.executable, "-c", script, str(write(tmp_path)), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "File too large; finished shards are safe" in done.stdout
    assert done.stderr == ""
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["test.shards"]


@pytest.mark.long
def test_two_writers_on_one_store(tmp_path):
    path = write(tmp_path, TEXT.replace("seeds = 5", "seeds = 20"))
    command = [
        sys.executable,
        "-m",
        "weightnorm.cli.main",
        "sweep",
        str(path),
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for process in both:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors
    finally:
        for process in both:
            process.kill()
            process.wait()
    clean = data_of(run_sweep(load_config(path), tmp_path / "clean").path)
    assert same_numbers(data_of(tmp_path / "out" / "test.nc"), clean)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("name = ", "nmae = "), r"nmae: unknown key .did you mean name"),
        (("step = 0.1", "step = -0.1"), r"methods.gd.step: should be greater than or equal to 0"),
        (
            ("switch = 50", "swich = 50"),
            r"methods.two-phase.scale_step.swich: unknown key .did you mean switch",
        ),
        (("before = 0.0, ", ""), r"methods.two-phase.scale_step.*before is missing"),
        (('kind = "rpgd"', 'kind = "sgd"'), r"methods.two-phase.*'sgd'"),
        (("num = 4", "num = 0"), r"starts.scales.num: should be greater than or equal to 1"),
        (
            ("condition_number = [1.0, 3.0]", "condition_number = [0.5]"),
            r"problems.condition_number.0: should be greater",
        ),
        (("seeds = 5", "seeds = 0"), r"problems.seeds"),
        (("max_steps = 3000", "max_steps = -1"), r"max_steps: should be greater"),
        (("[starts]", "[starts"), r"not a TOML file"),
    ],
)
def test_a_wrong_file_names_its_key(tmp_path, change, message):
    assert change[0] in TEXT
    path = write(tmp_path, TEXT.replace(*change))
    with pytest.raises(ConfigError, match=message):
        load_config(path)
    result = run("sweep", str(path), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_missing_file(tmp_path):
    assert run("sweep", str(tmp_path / "none.toml")).exit_code == 2


def test_the_example_is_valid():
    config = load_config(Path(__file__).parents[2] / "examples" / "sweep.toml")
    assert len(SweepPlan(config)) == 400


def test_results_too_large_for_this_machine_are_refused_before_any_work(
    config, tmp_path, monkeypatch
):
    from weightnorm.sweeps import execute

    monkeypatch.setattr(execute, "physical_memory", lambda: 1000.0)
    monkeypatch.setattr(execute, "compute_shard", lambda *_: pytest.fail("work was begun"))
    with pytest.raises(ConfigError, match="split the sweep into several files"):
        run_sweep(config, tmp_path / "out")


def test_shares_of_a_store_do_different_work_first(config, tmp_path):
    """Three processes in turn, each stopped after its own third: together they have done it all."""
    clean = run_sweep(config, tmp_path / "clean")
    orders = []
    for first in range(3):
        ledger = execute.Ledger(config, tmp_path, SweepPlan(config), None, (first, 3))
        orders.append([shard.key for shard in ledger.in_order()])
    third = [set(order[:6]) for order in orders]
    assert not (third[0] & third[1]) | (third[1] & third[2])
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    shared = run_sweep(config, tmp_path / "shared", share=(2, 3))
    assert same_numbers(data_of(shared.path), data_of(clean.path))
    for share in ((3, 3), (0.5, 2), "0/2", (0,)):
        with pytest.raises(ValueError, match="share must be"):
            run_sweep(config, tmp_path / "wrong", share=share)
    for share in ("3/3", "1", "/", "-1/3", "0.5/2", "1/2/3", "0/0", "0/" + "9" * 5000):
        wrong = run("sweep", write(tmp_path), "--share", share)
        assert wrong.exit_code == 2
        assert "--share must be I/N" in wrong.output
        assert isinstance(wrong.exception, SystemExit)


@pytest.mark.parametrize(
    "share", [(0, 1), (7, 50), (49, 50), (3, 1000), (999, 1000), (0, 10**9), (5, 10**23)]
)
def test_a_share_makes_every_shard_once(config, tmp_path, monkeypatch, share):
    """However many shares there are, the work is that of one walk through the plan."""
    seeds = config.problems.model_copy(update={"seeds": 40})
    plan = SweepPlan(config.model_copy(update={"problems": seeds}))
    usual = [shard.key for shard in plan]
    first, count = share
    own = [k for k in range(len(usual)) if k % count == first]
    made = []
    monkeypatch.setattr(plans, "Shard", lambda *values: made.append(values) or Shard(*values))
    order = [shard.key for shard in execute.Ledger(config, tmp_path, plan, None, share).in_order()]
    assert order[: len(own)] == [usual[k] for k in own]
    assert sorted(order) == sorted(usual)
    assert len(made) == len(usual)


def test_a_process_that_has_done_its_share_helps_the_next(config, tmp_path):
    usual = [shard.key for shard in SweepPlan(config)]
    ledger = execute.Ledger(config, tmp_path, SweepPlan(config), None, (1, 3))
    order = [usual.index(shard.key) for shard in ledger.in_order()]
    assert order == [*range(1, len(usual), 3), *range(2, len(usual), 3), *range(0, len(usual), 3)]


def test_shards_are_not_written_through_a_link(config, tmp_path):
    """The folder of the store may be a link, which its owner set; what is made in it may not."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    link = tmp_path / "out" / "test.shards"
    link.symlink_to(tmp_path / "elsewhere")
    refused = run("sweep", write(tmp_path), "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert f"--out: {link} is a symbolic link; remove it" in refused.output
    assert not list((tmp_path / "elsewhere").iterdir())
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    assert run_sweep(config, tmp_path / "linked").path.is_file()
