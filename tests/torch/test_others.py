"""The optimiser tests of pytorch_optimizer pass on ours; `make torch-others` fetches and runs them.

others_plugin.py puts ours in the place of its optimisers, and others_left_out.py has what is not
run, with reasons.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torch.others_left_out import FILES, TESTS, key

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AT_LEAST = 300  # tests in which one of ours was made: 317 with version 4.1.0


@pytest.fixture(scope="module")
def suite():
    """The folder of the sdist."""
    folder = runpy.run_path(str(ROOT / "tools" / "others.py"))["unpacked"]()
    if not folder.is_dir():
        pytest.skip(f"{folder.name} is not there: make torch-others fetches it")
    return folder


@pytest.fixture(scope="module")
def outcome(suite, tmp_path_factory):
    """One run of it: the exit code, what was printed and what became of the tests."""
    report = tmp_path_factory.mktemp("others") / "report.json"
    path = [ROOT / "src", HERE, suite, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "OTHERS_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    environment.pop("PYTEST_CURRENT_TEST", None)
    # no settings of ours or theirs: ours turn warnings into errors, theirs measure coverage
    settings = ["-c", os.devnull, "--rootdir", str(suite), "--confcutdir", str(suite)]
    plugins = ["-p", "others_plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", *settings, *plugins, "tests"]
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True)
    assert report.is_file(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads(report.read_text())


@pytest.mark.slow
def test_the_tests_of_pytorch_optimizer_pass_on_ours(outcome):
    code, printed, found = outcome
    assert code == 0, printed
    assert found["failed"] == []
    assert len(found["passed"]) >= AT_LEAST
    for name in ("rpgd", "weightnormsgd"):
        assert sum(name in test for test in found["passed"]) >= AT_LEAST // 2
    assert found["without ours"] == []  # a test that ours are not in says nothing about them


@pytest.mark.slow
def test_what_is_left_out_is_what_the_list_says(outcome):
    """Nothing else is skipped, and every excuse excuses something."""
    _, printed, found = outcome
    unlisted = [test for test in found["skipped"] if key(test) is None]
    assert unlisted == [], printed
    assert {key(test) for test in found["skipped"]} == set(TESTS)
    assert all(reason.strip() for reason in (*TESTS.values(), *FILES.values()))


@pytest.mark.slow
def test_every_file_is_run_or_left_out(suite, outcome):
    _, _, found = outcome
    there = {
        path.relative_to(suite / "tests").parts[0] for path in suite.glob("tests/**/test_*.py")
    }
    run = {test.partition("::")[0] for test in found["passed"] + found["failed"]}
    assert run | set(FILES) == there
    assert not run & set(FILES)
