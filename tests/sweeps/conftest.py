"""The sweep that most tests of this folder run."""

import pytest

from tests.support.sweep_cases import write
from weightnorm.sweeps import load_config


@pytest.fixture
def config(tmp_path):
    return load_config(write(tmp_path))
