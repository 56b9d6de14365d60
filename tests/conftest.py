"""Fixtures that more than one file of tests uses, and the order of files on two workers."""

from pathlib import Path

import pytest
from commands import make_up_measurements, write_table

# The files that take longest, in this order before all others: of two workers, none is then left
# with one of them when the other has nothing more to do.
LONG = (
    "test_cluster.py",
    "test_certificate.py",
    "test_reproduce.py",
    "test_figure_5.py",
    "test_contract.py",
    "test_sweeps.py",
    "test_chunked.py",
    "test_chunked_reads.py",
    "test_chunked_cluster.py",
    "test_examples.py",
    "test_sensing.py",
    "test_training.py",
    "test_beyond.py",
    "test_terminal.py",
    "test_model_kernel.py",
    "test_environments.py",
    "test_regressor.py",
    "test_minimum.py",
    "test_classifier.py",
    "test_decay_clip.py",
)


# Of files that share what takes long to compute (here the search of Figure 5), the first.
SHARED = {"test_figure_5.py": "test_reproduce.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Long files first; within them and after them the order stays."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """For `--dist loadfile`: every file whole on one worker, and files that share something."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = Path(super()._split_scope(nodeid))
            return str(path.with_name(SHARED.get(path.name, path.name)))

    return Together(config, log)


@pytest.fixture
def table(tmp_path):
    """A small table on disk."""
    return write_table(tmp_path)


@pytest.fixture
def measured(monkeypatch):
    """A benchmark that takes no time."""
    make_up_measurements(monkeypatch)
