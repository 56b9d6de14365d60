"""Commands do not lose work: paths are tried first, and failures after the work survived."""

import errno
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import WRITING, commands, run
from weightnorm._support import files as _files
from weightnorm_paper.experiments import search
from weightnorm_paper.experiments.runs import Settings


@pytest.fixture
def no_work(monkeypatch):
    """Every command's work, made to fail the test."""
    from weightnorm.explorer import build, describe
    from weightnorm.sweeps import execute
    from weightnorm.tables import fit as table
    from weightnorm_paper import certificate
    from weightnorm_paper.experiments import EXPERIMENTS

    def work(*_, **__):
        pytest.fail("work began before the path was tried")

    monkeypatch.setattr(certificate, "verify", work)
    monkeypatch.setattr(table, "fit_table", work)
    monkeypatch.setattr(execute, "compute_shard", work)
    monkeypatch.setattr(describe, "describe", work)
    monkeypatch.setattr(build, "page", work)
    for experiment in EXPERIMENTS:
        monkeypatch.setitem(experiment.__dict__, "compute", work)


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("obstacle", ["file", "folder", "device", "full"])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(
    table, tmp_path, no_work, monkeypatch, command, obstacle
):
    *arguments, option, path = commands(tmp_path)[command]
    whole_folder = command in ("reproduce", "sweep")
    if obstacle == "file":  # where a folder should be
        (tmp_path / "in-the-way").touch()
        path = tmp_path / "in-the-way" / path.name
    elif obstacle == "folder":  # where a file should be
        target = (
            path / {"reproduce": "report.html", "sweep": "test.nc"}[command]
            if whole_folder
            else path
        )
        target.mkdir(parents=True)
    elif obstacle == "device":
        path = Path("/dev/null")
    else:

        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    result = run(*arguments, option, path)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    assert option in result.stderr
    assert isinstance(result.exception, SystemExit)
    assert not list(tmp_path.rglob("*.part"))
    assert not Path("/dev/null").is_file()


def test_a_folder_without_permission(table, tmp_path, no_work):
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip(
                "this user may write everywhere; make test-portable runs it without that privilege"
            )
        result = run("fit", table, "--target", "y", "--coefficients", tmp_path / "c.csv")
    finally:
        tmp_path.chmod(0o700)
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr


def fill_disk(monkeypatch, folder, spare):
    """From now on nothing can be written in `folder`, and elsewhere only if `spare`."""
    replace = os.replace

    def full(source, target):
        if not spare or Path(folder) in Path(target).parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)


@pytest.mark.parametrize("command", ["verify", "fit", "explore"])
@pytest.mark.parametrize("spare", [True, False])
def test_a_disk_that_fills_up_loses_nothing(table, tmp_path, monkeypatch, command, spare):
    *arguments, option, path = commands(tmp_path)[command]
    assert run(*arguments, option, path).exit_code == 0
    text = path.read_text(encoding="utf-8")
    path.unlink()
    elsewhere = tmp_path.parent / f"{tmp_path.name}-spare"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    fill_disk(monkeypatch, tmp_path, spare)
    result = run(*arguments, option, path)
    assert result.exit_code == 1
    assert result.stdout  # what is printed is printed all the same
    message = f"{option}: {path} could not be written: No space left on device"
    assert message in result.stderr
    assert isinstance(result.exception, SystemExit)
    if spare:
        (found,) = elsewhere.glob(f"*/{path.name}")
        assert str(found) in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
        saved = found.read_text(encoding="utf-8")
    elif command == "explore":  # a page is nothing to read in a terminal
        assert result.stderr.strip() == message
        return
    else:
        saved = result.stderr.split("would hold:\n")[1]
    assert saved.strip() == text.strip()
    assert not path.exists()


@pytest.mark.parametrize("spare", [True, False])
def test_a_reproduction_on_a_disk_that_fills_up(tmp_path, monkeypatch, spare):
    elsewhere = tmp_path / "spare"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    fill_disk(monkeypatch, tmp_path / "out", spare)
    result = run(
        "reproduce", "figure-1", "--quick", "--seeds", "1", "--out", tmp_path / "out", "--json"
    )
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["findings"]) == 3
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(
        f"--out: {tmp_path / 'out' / 'data' / 'figure-1.nc'} could not be written: No space left"
    )
    files = [
        path for path in elsewhere.rglob("*.*") if "matplotlib-" not in str(path)
    ]  # its cache, where home is unwritable
    found = sorted(path.name for path in files)
    names = [
        "figure-1-runs.csv",
        "figure-1.csv",
        "figure-1.nc",
        "figure-1.pdf",
        "figure-1.png",
        "figure-1.svg",
        "report.html",
    ]
    assert found == (names if spare else [])
    assert ("lost" in line) is not spare


def test_a_sweep_on_a_disk_that_fills_up(tmp_path, monkeypatch):
    fill_disk(monkeypatch, tmp_path / "out", False)
    result = run(*commands(tmp_path)["sweep"])
    assert result.exit_code == 1
    (line,) = result.stderr.strip().splitlines()
    assert (
        line == f"--out: {tmp_path / 'out'}: the disk is full; finished shards are safe, "
        "run the same command again to go on"
    )


def test_a_part_that_cannot_be_kept_is_used_all_the_same(tmp_path, monkeypatch):
    """Parts of Figure 5 are kept for a second start only; a full disk does not end the first."""
    part = {name: np.ones((len(search.KEYS), len(search.QUICK.alphas))) for name in search.PER_RUN}
    part |= {name: np.array(1.0) for name in search.PER_SEED}
    monkeypatch.setattr(search, "_search_part", lambda *_: part)
    fill_disk(monkeypatch, tmp_path, False)
    found = search._searched.__wrapped__(Settings(seeds=1, quick=True, folder=tmp_path))
    assert found.truth.tolist() == [1.0]


class TestFiles:
    """The one way to write a file."""

    def test_a_link_is_replaced_and_its_target_left_alone(self, tmp_path):
        (tmp_path / "elsewhere.txt").write_text("mine", encoding="utf-8")
        link = tmp_path / "link.txt"
        link.symlink_to(tmp_path / "elsewhere.txt")
        _files.write_text(link, "new")
        assert not link.is_symlink()
        assert link.read_text(encoding="utf-8") == "new"
        assert (tmp_path / "elsewhere.txt").read_text(encoding="utf-8") == "mine"

    def test_an_interruption_leaves_the_old_file_and_no_other(self, tmp_path):
        path = tmp_path / "file"
        path.write_bytes(b"old")

        def half():
            with _files.replacing(path) as part:
                part.write_bytes(b"ne")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            half()
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_the_content_is_on_the_disk_before_the_name(self, tmp_path, monkeypatch):
        order = []
        fsync, replace = os.fsync, os.replace
        monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle)))
        monkeypatch.setattr(
            os, "replace", lambda *paths: (order.append("replace"), replace(*paths))
        )
        _files.write_bytes(tmp_path / "file", b"new")
        assert order == ["fsync", "replace"]

    def test_devices_are_left_alone(self):
        for name in ("null", "not-there"):
            with pytest.raises(_files.UnwritableError, match="is not a regular file"):
                _files.require_writable(Path("/dev") / name)

    def test_a_long_name_and_text_that_utf_8_cannot_hold(self, tmp_path):
        path = tmp_path / ("x" * 240)
        _files.write_text(path, "a\udce9b\n")
        assert path.read_text(encoding="utf-8") == "a?b\n"


def test_a_reproduction_follows_no_link(tmp_path):
    """Neither in the place of a file nor of a folder; everything it writes takes the same way."""
    outside, out = tmp_path / "outside", tmp_path / "out"
    (out / "data").mkdir(parents=True)
    (out / "figures").mkdir()
    names = [
        "report.html",
        "data/figure-2.csv",
        "data/figure-2.nc",
        *(f"figures/figure-2.{s}" for s in ("png", "svg", "pdf")),
    ]
    outside.write_text("mine", encoding="utf-8")
    for name in names:
        (out / name).symlink_to(outside)
    assert run("reproduce", "figure-2", "--quick", "--out", out).exit_code == 0
    assert outside.read_text(encoding="utf-8") == "mine"
    assert not any((out / name).is_symlink() for name in names)
    other = tmp_path / "other"
    (other / "figures").parent.mkdir()
    (other / "figures").symlink_to(out / "figures")
    result = run("reproduce", "figure-2", "--quick", "--out", other)
    assert result.exit_code == 2
    assert "is a symbolic link; remove it" in result.stderr
