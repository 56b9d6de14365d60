"""Fixtures that more than one file of tests uses, and the order of files on two workers.

The files that take longest go first, so that of two workers none is left with one of them when the
other has nothing more to do: `durations.json` has how long each took (`make durations`).
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.commands import write_table

HERE = Path(__file__).parent
DURATIONS = HERE / "durations.json"
# of files that share what takes long to compute (here the search of Figure 5), the first
SHARED = {"paper/test_figure_5.py": "paper/test_reproduce.py"}
WORTH_NAMING = 0.5  # seconds: shorter files go in any order


def pytest_addoption(parser):
    """How `make durations` asks for them."""
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name}")


def name_of(path):
    """A file of tests, or a module with examples, as `durations.json` names it."""
    path = Path(path)
    return path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else path.as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Long files first; within them and after them the order stays."""
    known = json.loads(DURATIONS.read_text(encoding="utf-8"))
    items.sort(key=lambda item: -known.get(name_of(item.path), 0.0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """For `--dist loadfile`: every file whole on one worker, and files that share something."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = super()._split_scope(nodeid).removeprefix("tests/")
            return SHARED.get(path, path)

    return Together(config, log)


class Recorder:
    """Adds up how long the tests of each file took, and keeps that at the end."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid.partition("::")[0].removeprefix("tests/")] += report.duration

    def pytest_sessionfinish(self):
        long = {n: round(s, 1) for n, s in self.seconds.most_common() if s >= WORTH_NAMING}
        DURATIONS.write_text(json.dumps(long, indent=1) + "\n", encoding="utf-8")


def pytest_configure(config):
    """Record, where the tests are run and not on their workers."""
    if config.option.record_durations and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


@pytest.fixture
def table(tmp_path):
    """A small table on disk."""
    return write_table(tmp_path)
