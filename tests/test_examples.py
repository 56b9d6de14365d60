"""Every example runs, as a user would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example, tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg"}
    command = [sys.executable, str(example)]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.glob("*.png"))


def test_the_estimators_page_runs():
    text = (Path(__file__).parents[1] / "docs" / "estimators.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(block, names)
    assert names["search"].best_score_ <= 1.0


def test_the_readme_tells_the_truth():
    """Its Python blocks run, and every result shown under a call is what the call gives."""
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    shown = 0
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(block, names)
        for call, result in re.findall(r"^(wn\.run\(.*\))\n# (Result\(.*\))$", block, flags=re.M):
            actual = repr(eval(call, names))
            position = 0
            for piece in result.split("…"):
                position = actual.index(piece, position)
            shown += 1
    assert shown == 3
