"""Which sources compute what is kept on disk, and the hash that names them."""

import ast
import importlib.resources
import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

import weightnorm as wn
from tests.support.engine_cases import SOURCE
from weightnorm._support.sources import SWEEPS, code, count_outdated, outdated, source_hash
from weightnorm_paper.sources import FIGURE_5, NETWORK

# What a room's own file gathers for others is not what computes.
ROOMS = SOURCE.parent  # of both packages
GATHERING = {
    ROOMS / name / "__init__.py"
    for name in (
        *("weightnorm", "weightnorm/_support", "weightnorm/runs", "weightnorm/tables"),
        *("weightnorm/sweeps", "weightnorm_paper", "weightnorm_paper/experiments"),
        "weightnorm_paper/network",
    )
}
# Imported by what computes, but for something else: this list itself, limits beside finished grids,
# files, what a figure is told, pictures.
BESIDE = {
    SWEEPS: {"_support/sources.py", "theory/scalar_limits.py"},
    FIGURE_5: {
        *("_support/sources.py", "theory/scalar_limits.py", "sweeps/store.py"),
        *("weightnorm_paper:experiments/runs.py", "weightnorm_paper:sources.py"),
    },
    NETWORK: {"_support/sources.py", "plot/style.py", "weightnorm_paper:sources.py"},
}


def place(source):
    """The file of a source, which names its package where that is not the library."""
    package, _, path = source.rpartition(":")
    return ROOMS / (package or "weightnorm") / path


def source_of(path):
    """The source that a file is: the inverse."""
    package, *parts = path.relative_to(ROOMS).parts
    inside = "/".join(parts)
    return inside if package == "weightnorm" else f"{package}:{inside}"


def imported(path):
    """The files of both packages that a file imports, also inside its functions."""
    room = path.parent.relative_to(ROOMS).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = room[: len(room) - node.level + 1] if node.level else ()
            base = above + tuple((node.module or "").split("."))
            for names in (base, *((*base, each.name) for each in node.names)):
                module = ROOMS.joinpath(*names)
                for found in (module.with_suffix(".py"), module / "__init__.py"):
                    if found.is_file():
                        yield found


def closure(start, beside):
    """All that a file imports, and what that imports."""
    seen, todo = set(), [place(start)]
    stops = GATHERING | {place(name) for name in beside}
    while todo:
        path = todo.pop()
        if path not in seen | stops:
            seen.add(path)
            todo += [path.parent / "__init__.py", *imported(path)]
    return {source_of(path) for path in seen}


def within(name, sources):
    return any(name == each or name.startswith(f"{each}/") for each in sources)


@pytest.mark.parametrize(
    ("start", "sources"),
    [
        ("sweeps/plan.py", SWEEPS),
        ("weightnorm_paper:experiments/search.py", FIGURE_5),
        ("weightnorm_paper:network/shard.py", NETWORK),
    ],
)
def test_all_that_computes_is_among_the_sources(start, sources):
    found = closure(start, BESIDE[sources])
    assert sorted(name for name in found if not within(name, sources)) == []
    assert [each for each in sources if not any(within(name, [each]) for name in found)] == []


FILES = {"room/__init__.py": b"", "room/steps.py": b"a = 1\nb = 2\n", "start.py": b"c = 3\n"}


@pytest.fixture
def hash_at(monkeypatch):
    """The hash of the sources "room" and "start.py" of a package that lies somewhere else."""

    def found(place):
        monkeypatch.setattr(importlib.resources, "files", lambda package: place)
        return source_hash.__wrapped__(("room", "start.py"))

    return found


def lay_out(folder, names=FILES, change=lambda name, content: content):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change(name, FILES[name]))
    return folder


def test_the_hash_is_that_of_names_and_lines(tmp_path, hash_at, monkeypatch):
    """Not of the place, the order of files, the time, the line ends or what else lies there."""
    expected = hash_at(lay_out(tmp_path / "a"))
    assert len(expected) == 12
    listed = Path.iterdir
    with monkeypatch.context() as orders:
        for backwards in (False, True):
            order = partial(sorted, reverse=backwards)
            orders.setattr(Path, "iterdir", lambda self, order=order: iter(order(listed(self))))
            assert hash_at(tmp_path / "a") == expected
    crlf = lay_out(tmp_path / "c", change=lambda _, content: content.replace(b"\n", b"\r\n"))
    assert hash_at(crlf) == expected
    old = lay_out(tmp_path / "d")
    os.utime(old / "room" / "steps.py", (0, 0))
    (old / "room" / "__pycache__").mkdir()
    (old / "room" / "__pycache__" / "steps.cpython-311.pyc").write_bytes(b"x")
    (old / "room" / ".#steps.py").symlink_to("nowhere")  # as an editor leaves it
    (old / "room" / "notes.txt").write_text("no source")
    (old / "elsewhere.py").write_text("not asked for")
    assert hash_at(old) == expected


@pytest.mark.parametrize("name", FILES)
def test_every_file_counts(tmp_path, hash_at, name):
    expected = hash_at(lay_out(tmp_path / "a"))
    other = lay_out(tmp_path / "b", change=lambda n, content: content + b"\n" * (n == name))
    assert hash_at(other) != expected
    other = lay_out(tmp_path / "c")
    (other / "room" / "more.py").write_bytes(b"")
    before = hash_at(other)
    (other / "room" / "more.py").rename(other / "room" / "renamed.py")
    assert len({expected, before, hash_at(other)}) == 3


def test_moved_lines_count(tmp_path, hash_at):
    """The same bytes in all, in other files."""
    moved = {"room/steps.py": b"a = 1\n", "start.py": b"b = 2\nc = 3\n"}
    other = lay_out(tmp_path / "b", change=lambda name, content: moved.get(name, content))
    assert hash_at(other) != hash_at(lay_out(tmp_path / "a"))


def test_a_package_in_a_zip_archive_has_the_same_hash(tmp_path, hash_at):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in FILES.items():
            archive.writestr(f"weightnorm/{name}", content)
    inside = zipfile.Path(tmp_path / "all.zip", "weightnorm/")
    assert hash_at(inside) == hash_at(lay_out(tmp_path / "a"))


@pytest.mark.parametrize("missing", ["start.py", "room"])
def test_without_sources_the_version_stands_for_them(tmp_path, hash_at, monkeypatch, missing):
    for compiled in ("folder", "zip"):
        kept = [name for name in FILES if not within(name, [missing])]
        place = lay_out(tmp_path / compiled, kept)
        (place / "room").mkdir(exist_ok=True)
        (place / "room" / "steps.pyc").write_bytes(b"x")
        if compiled == "zip":
            with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
                for name in (*kept, "room/steps.pyc"):
                    archive.write(place / name, f"weightnorm/{name}")
            place = zipfile.Path(tmp_path / "all.zip", "weightnorm/")
        assert hash_at(place) == ""
    monkeypatch.setattr("weightnorm._support.sources.source_hash", lambda sources: "")
    assert code(SWEEPS) == wn.__version__


def test_code_is_named_by_version_and_hash():
    assert code(SWEEPS) == f"{wn.__version__}-{source_hash(SWEEPS)}"
    assert len({code(sources) for sources in (SWEEPS, FIGURE_5, NETWORK)}) == 3


def test_nothing_is_hashed_before_it_is_needed():
    """`import weightnorm` reads no sources, and a process reads them once."""
    script = (
        "import weightnorm as wn\n"
        "from weightnorm._support.sources import source_hash, SWEEPS\n"
        "assert source_hash.cache_info().misses == 0\n"
        "import weightnorm.sweeps\n"
        "from weightnorm.sweeps.cluster import versions\n"
        "versions()\n"
        "assert source_hash.cache_info().misses == 1\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_other_code_computed_is_counted():
    names = ["a@1.npz", "a@2.npz", "b@1.npz", "c@1-x.npz", "d.npz", "e@1.npz.part", "f@1.npz"]
    assert count_outdated(names, "abcde", "2") == 2  # b and c; a is there, f is not wanted
    assert count_outdated(names, "abcde", "1") == 1  # c
    assert count_outdated(["a@1.2.npz"], "a", "1") == 1
    assert count_outdated(["a@1.npz"], iter("a"), "1") == 0
    assert outdated(0, 3, "shards") == ""
    assert outdated(1, 3, "shards in A") == (
        "1 of 3 shards in A was computed by other code of weightnorm and is computed anew."
    )
    assert "2 of 3 shards in A were" in outdated(2, 3, "shards in A")
