"""The explorer's modules against weightnorm, under Node: every number to 1e-10."""

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from corners import all_cases
from golden import worst

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "src" / "weightnorm" / "explorer" / "page"
NODE = shutil.which("node")
AGREE = 1e-10

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")


def answers(given, folder, modules=PAGE):
    """What the modules in a folder answer, under Node."""
    (folder / "cases.json").write_text(json.dumps(given), encoding="utf-8")
    paths = [modules, folder / "cases.json", folder / "answers.json"]
    subprocess.run([NODE, HERE / "answers.mjs", *paths], check=True, capture_output=True, text=True)
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
