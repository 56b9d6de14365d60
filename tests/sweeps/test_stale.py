"""What other code computed: never used, never mixed with one's own, and told in a sentence."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.cases import slow
from tests.support.commands import copied, plain
from tests.support.commands import run as command
from tests.support.engine_cases import SOURCE
from tests.support.sweep_cases import TEXT, data_of, finished, write
from weightnorm.sweeps import execute, load_config, plan, run_sweep
from weightnorm.sweeps.plan import compute_shard

OTHER = "0.3.0-0123456789ab"
SENTENCE = "shards in test.shards were computed by other code of weightnorm and are computed anew."


@pytest.fixture
def config(tmp_path):
    return load_config(write(tmp_path))


@pytest.fixture
def other_code(monkeypatch):
    """Sources that have changed: their hash is another, and their norms are larger by one."""

    def change():
        def compute(config, shard):
            arrays = compute_shard(config, shard)
            return arrays | {"norm": arrays["norm"] + 1.0}

        monkeypatch.setattr(plan, "CODE", OTHER)
        monkeypatch.setattr(execute, "compute_shard", compute)

    return change


def test_unchanged_code_uses_what_is_there(config, tmp_path):
    run_sweep(config, tmp_path)
    told = []
    again = run_sweep(config, tmp_path, tell=told.append)
    assert (again.computed, again.reused, again.note, told) == (0, 20, "", [])


def test_other_code_computes_all_anew_says_so_and_leaves_the_old_alone(
    config, tmp_path, other_code, monkeypatch
):
    first = data_of(run_sweep(config, tmp_path).path)
    assert first.attrs["code"] == plan.CODE
    other_code()
    renewed = run_sweep(config, tmp_path)
    assert (renewed.computed, renewed.reused, renewed.damaged) == (20, 0, 0)
    assert renewed.note == f"20 of 20 {SENTENCE}"
    second = data_of(renewed.path)
    assert second.attrs["code"] == OTHER
    np.testing.assert_array_equal(second.norm, first.norm + 1.0)
    assert "20 of 0.3.0-" in run_sweep(config, tmp_path).note  # now they are only strangers
    monkeypatch.undo()
    back = run_sweep(config, tmp_path)
    assert (back.computed, back.reused) == (0, 20)
    assert data_of(back.path).norm.identical(first.norm)
    assert f"({OTHER}) and is written anew" in back.note


def test_one_shard_removed_and_code_changed_gives_numbers_of_one_code(config, tmp_path, other_code):
    first = data_of(run_sweep(config, tmp_path).path)
    sorted((tmp_path / "test.shards").glob("*.npz"))[7].unlink()
    other_code()
    told = []
    outcome = run_sweep(config, tmp_path, tell=told.append)
    assert told == [f"19 of 20 {SENTENCE}"]
    assert (outcome.computed, outcome.note) == (20, "")  # what was told is not said again
    np.testing.assert_array_equal(data_of(outcome.path).norm, first.norm + 1.0)


def test_stopped_half_way_through_the_new_code_it_goes_on_with_the_rest(
    config, tmp_path, other_code, monkeypatch
):
    first = data_of(run_sweep(config, tmp_path).path)
    other_code()
    compute, calls = execute.compute_shard, []

    def interrupt(config, shard):
        calls.append(1)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return compute(config, shard)

    monkeypatch.setattr(execute, "compute_shard", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(config, tmp_path, threads=1)
    monkeypatch.setattr(execute, "compute_shard", compute)
    outcome = run_sweep(config, tmp_path)
    assert (outcome.computed, outcome.reused) == (8, 12)
    assert outcome.note == f"8 of 20 {SENTENCE}"
    np.testing.assert_array_equal(data_of(outcome.path).norm, first.norm + 1.0)


def test_a_finished_file_of_other_code_is_written_anew_and_that_is_said(
    config, tmp_path, other_code
):
    """Its shards were deleted, as they may be once it is finished."""
    first = run_sweep(config, tmp_path)
    norms = data_of(first.path).norm
    shutil.rmtree(tmp_path / "test.shards")
    assert run_sweep(config, tmp_path).note == ""  # its own code
    shutil.rmtree(tmp_path / "test.shards")
    ours = plan.CODE
    other_code()
    outcome = run_sweep(config, tmp_path)
    assert outcome.note == (
        f"test.nc was computed by other code of weightnorm ({ours}) and is written anew."
    )
    np.testing.assert_array_equal(data_of(outcome.path).norm, norms + 1.0)


def test_a_finished_file_that_names_no_code(config, tmp_path):
    """As they were written before code had a name."""
    data = data_of(run_sweep(config, tmp_path).path)
    del data.attrs["code"]
    data.to_netcdf(tmp_path / "test.nc", engine="h5netcdf")
    assert "(it names none) and is written anew" in run_sweep(config, tmp_path).note


def test_the_command_says_it_before_it_computes(tmp_path, other_code):
    path = write(tmp_path)
    assert command("sweep", path, "--out", tmp_path).exit_code == 0
    other_code()
    told = command("sweep", path, "--out", tmp_path)
    assert f"20 of 20 {SENTENCE}" in plain(told.stderr)
    assert "computed by other code" not in told.stdout
    assert "computed by other code" not in command("sweep", path, "--out", tmp_path).stderr


def test_the_command_says_it_in_json_too(tmp_path, other_code):
    path = write(tmp_path)
    command("sweep", path, "--out", tmp_path)
    other_code()
    told = json.loads(command("sweep", path, "--out", tmp_path, "--json").stdout)
    assert told["note"] == f"20 of 20 {SENTENCE}"


ONE_METHOD = TEXT[: TEXT.index("[methods.two-phase]")]
EDITS = {  # half the step, where there is no compiler, and where there is one
    "rule": (
        "methods/gradient_descent.py",
        "state.vector - expand(vector_step, state.vector) * move",
        "state.vector - 0.5 * expand(vector_step, state.vector) * move",
    ),
    "kernel": (
        "engine/kernels/diagonal.py",
        "    back = spread(0.0) - eta\n",
        "    back = spread(0.0) - eta * spread(0.5)\n",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["rule", *slow(["kernel"])])
def test_a_source_that_is_edited_on_disk(tmp_path, kind):
    """A copy of the package, really run, edited and run again after one shard is gone."""
    package = copied(SOURCE, tmp_path / "copy" / "weightnorm")
    path = write(tmp_path, ONE_METHOD)
    surroundings = {
        "PYTHONPATH": str(package.parent),
        "NUMBA_DISABLE_JIT": str(int(kind == "rule")),
    }

    def sweep(out):
        done = subprocess.run(
            [sys.executable, "-m", "weightnorm.cli.main", "sweep", path, "--out", out, "--json"],
            env=os.environ | surroundings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), data_of(Path(out) / "test.nc")

    out = tmp_path / "out"
    told, first = sweep(out)
    assert (told["computed"], told["note"]) == (10, "")
    for beside in ("cli/sweep.py", "plot/style.py", "sweeps/labels.py"):  # they compute nothing
        with open(package / beside, "a", encoding="utf-8") as file:
            file.write("\n# a remark\n")
    told, _ = sweep(out)
    assert (told["computed"], told["note"]) == (0, "")
    name, before, after = EDITS[kind]
    text = (package / name).read_text(encoding="utf-8")
    assert before in text
    (package / name).write_text(text.replace(before, after, 1), encoding="utf-8")
    next((out / "test.shards").glob("*.npz")).unlink()
    told, mended = sweep(out)
    assert (told["computed"], told["reused"]) == (10, 0)
    assert told["note"] == f"9 of 10 {SENTENCE}"
    _, clean = sweep(tmp_path / "clean")
    assert mended.norm.identical(clean.norm)
    assert (mended.num_steps > first.num_steps).all()  # half the step: no number is of before
    assert finished(out / "test.shards") == 19
