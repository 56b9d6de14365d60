"""The problem and the start of most tests of this folder."""

import pytest

import weightnorm as wn


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(8, 20, condition_number=2.0, seed=3)


@pytest.fixture(scope="module")
def w0():
    return wn.datasets.random_direction(20, seed=4)
