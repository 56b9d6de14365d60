"""The explorer's modules against weightnorm, under Node: every number to 1e-10."""

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.explorer.corners import all_cases
from tests.explorer.golden import worst

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "src" / "weightnorm" / "explorer" / "page"
NODE = shutil.which("node")
AGREE = 1e-10


def node_version():
    """The major version of Node.js, 0 where there is none."""
    if NODE is None:
        return 0
    said = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=False).stdout
    return int(said.lstrip("v").partition(".")[0] or 0)


pytestmark = pytest.mark.skipif(
    node_version() < 16, reason="needs Node.js 16 or newer: apt-get install nodejs"
)


def answers(given, folder, modules=PAGE):
    """What the modules in a folder answer, under Node."""
    (folder / "cases.json").write_text(json.dumps(given), encoding="utf-8")
    paths = [modules, folder / "cases.json", folder / "answers.json"]
    command = [NODE, HERE / "answers.mjs", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "answers.json").read_text(encoding="utf-8"))


def errors(given, found):
    """The largest error of every kind of number."""
    by_kind = defaultdict(float)
    for case, answer in zip(given, found, strict=True):
        for name, error in worst(case["expected"], answer).items():
            by_kind[case["what"], name] = max(by_kind[case["what"], name], error)
    return dict(by_kind)


@pytest.fixture(scope="module")
def given():
    return list(all_cases())


def test_the_page_agrees_with_weightnorm(given, tmp_path):
    found = errors(given, answers(given, tmp_path))
    assert {what for what, _ in found} == {
        "run", "kept", "flow", "flow-end", "phased", "limit", "threshold", "finite", "first-order",
        "phase", "formula", "loss", "noise", "start", "plane", "made", "made-noise", "seed",
    }  # fmt: skip
    off = {kind: error for kind, error in found.items() if not error <= AGREE}
    assert not off
