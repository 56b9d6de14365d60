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
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    figures = list(tmp_path.glob("*.png"))
    assert len(figures) == ("savefig" in example.read_text(encoding="utf-8"))
    assert all(figure.read_bytes().startswith(b"\x89PNG") for figure in figures)


def test_the_estimators_page_runs():
    text = (Path(__file__).parents[1] / "docs" / "estimators.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(block, names)
    X, y = names["X"], names["y"]
    assert names["model"].predict(X) == pytest.approx(y, abs=1e-8)  # an interpolating fit
    assert (names["classifier"].predict(X) == names["labels"]).all()
    assert names["classifier"].status_ == "separable"
    assert names["chosen"].share_ > 0.5
    # its first figures are those of the page that was measured
    tables = (Path(__file__).parents[1] / "docs" / "priors.md").read_text(encoding="utf-8")
    least = re.findall(
        r"^\| (?:diabetes|genomics|digits).*?\| .*? \| (\S+) ± (\S+) \|", tables, re.M
    )
    assert len(least) == 3
    told = re.search(r"by (\S+), (\S+) and (\S+) in R² \(± (\S+), (\S+)\s+and (\S+)\)", text)
    for (mean, error), there, spread in zip(
        least, told.groups()[:3], told.groups()[3:], strict=True
    ):
        assert float(there) == pytest.approx(-float(mean), abs=0.006)
        assert float(spread) == pytest.approx(float(error), abs=0.006)


def test_the_measured_page_of_priors_is_what_the_example_gives():
    import importlib.util

    path = Path(__file__).parents[1] / "examples" / "priors.py"
    spec = importlib.util.spec_from_file_location("priors_example", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    page = (path.parents[1] / "docs" / "priors.md").read_text(encoding="utf-8")
    assert example.ABOVE.strip() in page
    assert example.BETWEEN.strip() in page
    row = example.prior_row(*example.PAIRS[0])
    shown = next(line for line in page.splitlines() if line.startswith(row.split(" | ")[0]))
    mine, theirs = (
        [float(n) for n in re.findall(r"[-+]?\d+\.?\d*", line.split("writers")[1])]
        for line in (row, shown)
    )
    assert mine == pytest.approx(theirs, abs=2.0)  # thousandths: a share may tie on another CPU
    assert mine[1] == pytest.approx(theirs[1], abs=0.003)


def _numbers(text):
    return {
        name: float(value)
        for name, value in re.findall(r"(?<!_)(after|loss|norm|distance)[= ]([\d.e+-]+)", text)
    }


def test_the_readme_tells_the_truth():
    """Its Python blocks run, and every result shown under a call is what the call gives, to what
    a CPU may change.
    """
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    shown = 0
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(block, names)
        for call, result in re.findall(r"^(wn\.run\(.*\))\n# (Result\(.*\))$", block, flags=re.M):
            actual = eval(call, names)
            told, real = _numbers(result), _numbers(repr(actual))
            assert told.keys() == {"after", "loss", "norm", "distance"}
            assert result.startswith(f"Result({actual.status}")
            assert real["after"] == pytest.approx(told.pop("after"), abs=1)
            assert {name: real[name] for name in told} == pytest.approx(told, rel=1e-3)
            shown += 1
    assert shown == 3


def test_the_guide_runs():
    """Every Python block of docs/guide.md, one after the other; plots are not shown."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    text = (Path(__file__).parents[1] / "docs" / "guide.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    plt.close("all")
    assert len(blocks) >= 6


PAGES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
PAGES += [f"docs/{n}.md" for n in ("guide", "figures", "benchmarks", "estimators", "sweep-files")]


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_screen_and_their_links_lead_somewhere(name):
    path = Path(__file__).parents[1] / name
    text = path.read_text(encoding="utf-8")
    long = [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")]
    assert long == []
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / link).exists(), link
    if name == "README.md":
        assert len(text.splitlines()) <= 120
