"""The network experiment as a whole: resumed after kills, stored, and run by its command."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.torch.network_cases import MLP, NOWHERE, TINY
from weightnorm_paper.figures.network import KINDS
from weightnorm_paper.network import execute, protocol, shard
from weightnorm_paper.network.dataset import from_dataset, to_bytes, to_dataset
from weightnorm_paper.network.hypotheses import HYPOTHESES
from weightnorm_paper.network.protocol import BY_NAME
from weightnorm_paper.report.network.reproduce import load as load_dataset


def numbers(found):
    return {key: {n: np.asarray(v) for n, v in each.items()} for key, each in found.arrays.items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key, arrays in one.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, other[key][name], err_msg=f"{key} {name}")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A whole experiment, uninterrupted, and its folder."""
    folder = tmp_path_factory.mktemp("tiny")
    return execute.run(TINY, folder, NOWHERE), folder


def test_a_shard_has_the_arrays_it_says(tiny):
    found, _ = tiny
    for each in protocol.shards(TINY):
        arrays = found.arrays[each.setting.name, each.arm.name]
        shapes = {name: array.shape for name, array in arrays.items()}
        assert shapes == shard.shapes(each)
    assert len({each.key for each in protocol.shards(protocol.FULL)}) == 98
    assert "unseen_start" not in shard.shapes(protocol.shards(protocol.FULL)[4 * 7])


def test_damaged_and_foreign_shards_are_computed_again(tiny):
    found, folder = tiny
    paths = sorted(folder.glob("*.npz"))
    assert len(paths) == 14
    kept = [path.read_bytes() for path in paths]
    paths[0].write_bytes(kept[0][:-100])
    paths[1].write_bytes(kept[2])
    paths[3].unlink()
    counts = []
    again = execute.run(TINY, folder, NOWHERE, lambda done, total, _: counts.append((done, total)))
    assert counts == [(11, 14), (12, 14), (13, 14), (14, 14)]
    assert_same(numbers(found), numbers(again))
    assert [path.read_bytes() for path in paths] == kept


def test_killed_and_interrupted_runs_go_on(tiny, tmp_path):
    """A kill, then Ctrl-C, then to the end: the numbers of a run that was left alone."""
    known, _ = tiny
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from tests.torch.network_cases import NOWHERE, TINY\n"
        "from weightnorm_paper.network import execute\n"
        "if __name__ == '__main__':\n"
        "    execute.run(TINY, Path(sys.argv[1]), NOWHERE)\n"
    )
    script = tmp_path / "going.py"
    script.write_text(code, encoding="utf-8")
    folder, left = tmp_path / "shards", []
    for kind in (signal.SIGKILL, signal.SIGINT):
        command = [sys.executable, str(script), str(folder), str(Path(__file__).parents[2])]
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        before = len(list(folder.glob("*.npz")))
        deadline = time.monotonic() + 300
        while len(list(folder.glob("*.npz"))) < before + 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        if kind == signal.SIGKILL:
            os.killpg(process.pid, kind)
        else:
            process.send_signal(kind)
        process.wait(60)
        left.append(len(list(folder.glob("*.npz"))))
        assert process.returncode != 0
    assert 2 <= left[0] < left[1] < 14
    assert_same(numbers(known), numbers(execute.run(TINY, folder, NOWHERE)))


def test_a_killed_worker_is_told_and_what_is_done_stays(tiny, tmp_path):
    known, _ = tiny

    def kill_one(done, total, name):
        if name:
            for process in multiprocessing.active_children()[:1]:
                os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(execute.WorkerKilledError, match="start again to go on"):
        execute.run(TINY, tmp_path, NOWHERE, kill_one)
    assert 1 <= len(list(tmp_path.glob("*.npz"))) < 14
    assert_same(numbers(known), numbers(execute.run(TINY, tmp_path, NOWHERE)))


def test_the_file_keeps_the_results(tiny):
    found, _ = tiny
    content = to_bytes(to_dataset(found))
    again = from_dataset(load_dataset(content))
    assert again.size == TINY
    for key, arrays in numbers(found).items():
        for name, values in arrays.items():
            if not name.startswith("trace_"):
                np.testing.assert_allclose(again.array(*key, name), values, rtol=1e-6)
    assert (again.array(MLP.name, "wn", "chosen") == found.array(MLP.name, "wn", "chosen")).all()
    other = load_dataset(content).assign_attrs(protocol=0)
    with pytest.raises(ValueError, match="protocol 0"):
        from_dataset(other)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """`weightnorm reproduce network --quick`, as a user runs it."""
    out = tmp_path_factory.mktemp("quick")
    return out, command("--quick", "--json", "--out", out)


def command(*arguments):
    return subprocess.run(
        [str(Path(sys.executable).with_name("weightnorm")), "reproduce", "network",
         *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_quick_version_answers_every_hypothesis(quick):
    out, done = quick
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [each["id"] for each in told["answers"]] == [each.id for each in HYPOTHESES]
    for each in told["answers"]:
        assert each["decisive_interval"][0] <= each["interval"][0] <= each["mean"]
        assert each["verdict"] in ("holds", "reversed", "differs", "not shown")
    for kind in KINDS:
        assert (out / "figures" / f"{kind}.png").read_bytes()[:4] == b"\x89PNG"
    found = from_dataset(load_dataset((out / "data" / "network.nc").read_bytes()))
    for setting in found.names() + found.names("squares"):
        for arm in BY_NAME:
            errors = found.error(setting, arm, 1.0)
            assert errors.shape == (3,)
            assert np.median(errors) < 30.0, (setting, arm)  # they have learnt something
    text = Path(told["page"]).read_text(encoding="utf-8")
    assert "0 trained" not in text
    assert "nan" not in text
    for each in HYPOTHESES:
        assert f"`{each.id}`" in text


def test_a_finished_run_is_only_read_again(quick):
    out, done = quick
    pages = (out / "network.md").read_bytes()
    stamps = {path: path.stat().st_mtime_ns for path in (out / "data" / "network").glob("*.npz")}
    again = command("--quick", "--out", out)
    assert again.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert (out / "network.md").read_bytes() == pages
    for each in json.loads(done.stdout)["answers"]:
        assert re.search(rf"^{each['id']}: {each['verdict']} — ", again.stdout, re.M)
    assert f"page: {out / 'network.md'}" in again.stdout


def test_what_cannot_be_done_is_refused_before_anything_is_trained(tmp_path):
    missing = command("--out", tmp_path / "out", "--mnist", tmp_path)
    assert missing.returncode == 2
    assert "make mnist" in missing.stderr
    few = command("--quick", "--seeds", "1", "--out", tmp_path / "out")
    assert few.returncode == 2
    assert "--seeds must be at least 2" in few.stderr
    (tmp_path / "file").write_text("")
    blocked = command("--quick", "--out", tmp_path / "file")
    assert blocked.returncode == 2
    assert "--out" in blocked.stderr
    assert not list(tmp_path.rglob("*.npz"))
