"""Fixtures that more than one file of tests uses."""

import pytest
from commands import make_up_measurements, write_table


@pytest.fixture
def table(tmp_path):
    """A small table on disk."""
    return write_table(tmp_path)


@pytest.fixture
def measured(monkeypatch):
    """A benchmark that takes no time."""
    make_up_measurements(monkeypatch)
