"""Other people's machines: no place for a cache, no compiler, an optimising interpreter."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import weightnorm as wn
from tests.support.cases import slow

LINEAR = """
    import weightnorm as wn
    problem = wn.datasets.make_regression(4, 9, condition_number=2.0, seed=0)
    w0 = wn.datasets.random_direction(9, 0)
    print(repr(wn.run(wn.RPGD(0.05, 0.05), problem, 1.5, w0, tolerance=0, max_steps=300).norm))
"""
RUN = f"""{LINEAR}
    sensing = wn.datasets.make_sensing(6, 1, 10, seed=0)
    start = wn.datasets.sensing_start(6, seed=0)
    print(repr(wn.run(wn.RPGD(1e-3, 1e-3), sensing, **start, tolerance=0, max_steps=300).norm))
"""
NO_LOCATOR = """
    from numba.core import caching
    caching.CompileResultCacheImpl._locator_classes = []
"""
FULL_DISK = """
    import errno
    from numba.core import caching
    def full(self, name, data):
        raise OSError(errno.ENOSPC, "No space left on device")
    caching.IndexDataCacheFile._save_data = full
    caching.IndexDataCacheFile._load_index = lambda self: {}
"""
DAMAGED = """
    from numba.core import caching
    def damaged(self, *arguments):
        raise EOFError("Ran out of input")
    caching.IndexDataCacheFile.load = damaged
"""


def run_in(script, **environment):
    command = [sys.executable, "-c", textwrap.dedent(script)]
    result = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return [float(line) for line in result.stdout.split()]


@pytest.fixture(scope="module")
def expected():
    return run_in(RUN)


@pytest.mark.long
@pytest.mark.parametrize(
    "trouble", [NO_LOCATOR, *slow([FULL_DISK, DAMAGED])], ids=["no place", "full disk", "damaged"]
)
def test_without_a_cache_runs_still_run(trouble, expected, tmp_path):
    assert (
        run_in(textwrap.dedent(trouble) + textwrap.dedent(LINEAR), TMPDIR=str(tmp_path))
        == expected[:1]
    )


def test_without_a_compiler_the_rules_in_numpy_run(expected):
    assert run_in(RUN, NUMBA_DISABLE_JIT="1") == pytest.approx(expected, rel=1e-10)
    search = """
        import weightnorm as wn
        try:
            problem, start = wn.datasets.make_sensing(6, 1, 10), wn.datasets.sensing_start(6)
            wn.search_step(problem, lambda c: wn.RPGD(c, c), **start)
        except TypeError as error:
            print(int("NUMBA_DISABLE_JIT" in str(error)))
    """
    assert run_in(search, NUMBA_DISABLE_JIT="1") == [1.0]


def test_a_result_of_compiled_runs_goes_on_without_a_compiler(monkeypatch):
    from weightnorm.engine.kernels import compiling

    problem, w0 = wn.datasets.make_regression(4, 9, seed=0), wn.datasets.random_direction(9, 0)
    part = wn.run(wn.WeightNorm(0.05, 0.05), problem, 1.5, w0, tolerance=0, max_steps=100)
    whole = wn.run(wn.WeightNorm(0.05, 0.05), problem, 1.5, w0, tolerance=0, max_steps=300)
    monkeypatch.setattr(compiling, "enabled", lambda: False)
    rest = wn.run(wn.WeightNorm(0.05, 0.05), problem, start=part, tolerance=0, max_steps=200)
    assert rest.total_steps == 300
    np.testing.assert_allclose(rest.weights, whole.weights, atol=1e-12)


def test_a_temporary_folder_of_somebody_else_is_no_cache(tmp_path, monkeypatch):
    """What is loaded from a cache is run, so a folder that others can write is not used."""
    from weightnorm.engine.kernels import compiling

    monkeypatch.setattr(compiling.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = compiling._own_temporary_folder()
    assert folder is not None
    os.chmod(folder, 0o777)
    assert compiling._own_temporary_folder() is None
    os.chmod(folder, 0o700)
    assert compiling._own_temporary_folder() == folder
    os.rename(folder, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder)
    assert compiling._own_temporary_folder() is None


@pytest.mark.long
def test_the_optimising_interpreter_gives_the_same_numbers(expected):
    assert run_in(RUN, PYTHONOPTIMIZE="1") == expected
