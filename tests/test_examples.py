"""Every example runs, as a user would run it."""

import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.support.pages import load

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    """As a script, in this process: a new one would first import and load for seconds."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # a user's interpreter does not stop at a warning
        runpy.run_path(str(example), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out.strip()
    figures = list(tmp_path.glob("*.png"))
    assert len(figures) == ("savefig" in example.read_text(encoding="utf-8"))
    assert all(figure.read_bytes().startswith(b"\x89PNG") for figure in figures)


@pytest.mark.parametrize(
    "example",
    [
        path if path.stem == "own_method" else pytest.param(path, marks=pytest.mark.slow)
        for path in EXAMPLES
    ],
    ids=lambda path: path.name,
)
def test_example_runs_in_an_interpreter_of_its_own(example, tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg"}
    command = [sys.executable, str(example)]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    figures = list(tmp_path.glob("*.png"))
    assert len(figures) == ("savefig" in example.read_text(encoding="utf-8"))


@pytest.mark.long
def test_the_measured_page_of_priors_is_what_the_example_gives():
    path = Path(__file__).parents[1] / "examples" / "priors.py"
    example = load(path)
    page = (path.parents[1] / "docs" / "guides" / "priors.md").read_text(encoding="utf-8")
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


@pytest.fixture(scope="module")
def kernels():
    return load(Path(__file__).parents[1] / "examples" / "kernels.py")


def test_the_stored_tangent_kernels_are_those_of_their_networks(kernels):
    """Homogeneous of degree two, and the kernel of the gradients, here by differences."""
    for digits, prior in kernels.LINES:
        K, values, norm = kernels.by_network(digits, prior)
        with np.load(kernels.STORED) as kept:
            W, v = (kept[f"{digits}; {prior} {name}"] for name in "Wv")
        X = kernels.task(digits, first=False)[0]
        assert np.abs(kernels.network(W, v, X) - values).max() <= 1e-12 * np.abs(values).max()
        assert np.abs(kernels.tangent_kernel(W, v, X) - K).max() <= 1e-6 * np.abs(K).max()
        theta = np.concatenate([W.ravel(), v])
        assert norm == pytest.approx(0.5 * np.linalg.norm(theta))
        few = X[:3]

        def value(at, shape=W.shape, few=few):
            return kernels.network(at[: -shape[0]].reshape(shape), at[-shape[0] :], few)

        step = 1e-6
        slopes = np.array(
            [
                (value(theta + step * e) - value(theta - step * e)) / (2 * step)
                for e in np.eye(theta.size)
            ]
        ).T
        assert np.abs(slopes @ slopes.T - K[:3, :3]).max() <= 1e-4 * np.abs(K).max()
        assert np.abs(slopes @ theta - 2.0 * values[:3]).max() <= 1e-4


@pytest.mark.long
def test_the_measured_page_of_kernels_is_what_the_example_gives(kernels):
    page = (Path(__file__).parents[1] / "docs" / "guides" / "kernel-priors.md").read_text("utf-8")
    assert kernels.ABOVE.strip() in page
    assert kernels.BELOW.strip() in page
    for kind, make in (("RBF", kernels.by_rbf), ("NTK", kernels.by_network)):
        row = kernels.row(kind, make, *kernels.LINES[0])
        shown = next(line for line in page.splitlines() if line.startswith(row.split(" | ")[0]))
        mine, theirs = (
            [float(n) for n in re.findall(r"[-+]?\d+\.?\d*", line.split("same")[1])]
            for line in (row, shown)
        )
        assert mine == pytest.approx(theirs, abs=1.0)  # thousandths
        assert mine[:2] == pytest.approx(theirs[:2], abs=0.002)


def test_what_the_page_of_kernels_says_is_in_its_table():
    """The figures of its text, against its own lines."""
    page = (Path(__file__).parents[1] / "docs" / "guides" / "kernel-priors.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| (RBF|NTK):", line)]
    assert len(rows) == 12
    cells = np.array(
        [[float(cell.split(" ±")[0]) for cell in row.strip("| ").split(" | ")[1:]] for row in rows]
    )
    same = np.array(["the same" in row for row in rows])
    descent, there, zero, small = cells[:, 3], cells[:, 4], cells[:, 5], cells[:, 6]
    assert (descent[same].min(), descent[same].max()) == (-47, -9)
    assert (descent[~same].min(), descent[~same].max()) == (-14, 84)
    assert np.abs(there - descent).max() <= 4
    assert (zero.min(), zero.max()) == (-31, 2)
    assert np.abs(small).max() == 0
    assert (cells[:, 2].min(), cells[:, 2].max()) == (-6, 11)


@pytest.fixture(scope="module")
def steps():
    return load(Path(__file__).parents[1] / "examples" / "steps.py")


NUMBER = r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])"


@pytest.mark.long
def test_the_page_of_steps_is_what_the_example_gives(steps):
    """Word for word, and its numbers to what a CPU may change; its Python runs."""
    stored = (Path(__file__).parents[1] / "docs" / "guides" / "steps.md").read_text(
        encoding="utf-8"
    )
    made = steps.page()
    assert [re.sub(NUMBER, "#", t) for t in made.split()] == [
        re.sub(NUMBER, "#", t) for t in stored.split()
    ]
    mine, theirs = ([float(n) for n in re.findall(NUMBER, t)] for t in (made, stored))
    assert len(mine) > 150
    assert mine == pytest.approx(theirs, rel=2e-2, abs=1e-5)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", stored, flags=re.S):
        exec(block, names)
    assert names["found"].stable
    assert f"takes {names['fast'].num_steps} steps" in stored


def test_the_numbers_of_steps_for_programs(steps):
    import json

    path = Path(__file__).parents[1] / "docs" / "guides" / "steps.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    made = json.loads(json.dumps(steps.finite(steps.numbers())))
    assert made.keys() == stored.keys()
    chart, edge = stored["map"], made["map"].pop("edge_scale_step")
    assert edge == pytest.approx(chart.pop("edge_scale_step"), rel=1e-6)
    assert np.allclose(made["map"]["rate"], chart["rate"], rtol=1e-6)
    for row, eta in enumerate(chart["direction_step"]):  # the map and its edge say the same
        below = np.array(chart["scale_step"]) < edge[row]
        assert np.array_equal(below, chart["stable"][row]), eta
    for one, other in zip(made["thresholds"], stored["thresholds"], strict=True):
        assert one == {k: v if v is None else pytest.approx(v) for k, v in other.items()}
        plain = stored["thresholds"][0]["threshold"]
        beta, share = other["momentum"], other["threshold"] / plain
        assert share == pytest.approx((1 + beta) / (1 + 2 * beta * other["nesterov"]))
    for one in made["moved"]:
        assert abs(one["norm"] - one["predicted"]) <= one["error"]
        assert abs(one["norm"] - one["predicted"]) < 0.1 * abs(one["norm"] - one["flow"])
    told = made["decay"]
    assert told["edge_reached"] == pytest.approx(told["edge_predicted"], rel=0.1)
    assert told["ridge_off"] < 1e-9


def test_the_words_for_torch_users():
    """c = (lr of g / lr of v)·‖v0‖², against what torch's weight_norm does with SGD: x = g·v/‖v‖ in
    every row, a bias, and a rate for g and one for v.
    """
    import weightnorm as wn

    rng = np.random.default_rng(0)
    X, Y, W0 = (rng.standard_normal(s) for s in ((8, 20), (8, 2), (2, 20)))
    W0 /= np.sqrt(20)
    end = wn.theory.linear_layer_limit(X, Y, W0, scale_ratio=0.25, method="wn")
    off = []
    for rate in (2e-3, 5e-4):
        v, b = W0.copy(), np.zeros(2)
        g = np.linalg.norm(v, axis=1)[:, None]
        for _ in range(int(12 / rate)):
            size = np.linalg.norm(v, axis=1)[:, None]
            unit = v / size
            residual = X @ (g * unit).T + b - Y
            slope = residual.T @ X
            along = (unit * slope).sum(axis=1)[:, None]
            v = v - rate * g / size * (slope - along * unit)
            g, b = g - 0.25 * rate * along, b - rate * residual.sum(axis=0)
        assert np.abs(residual).max() < 1e-6
        off.append(np.abs(np.abs(g[:, 0]) - end.norm).max())
    assert off[1] < 2e-3
    assert off[1] < 0.4 * off[0]  # of first order in the rates


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
