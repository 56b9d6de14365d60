"""The certificate, computed once for the tests that look at it."""

import pytest

import weightnorm as wn


@pytest.fixture(scope="session")
def certificate():
    return wn.verify()
