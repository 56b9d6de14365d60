"""The page, the quickstart, the docstrings and the measured bridge of weightnorm.torch."""

import inspect
import json
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from benchmarks import bridge, torch_steps

import weightnorm
import weightnorm.torch as wnt
from tests.support.pages import ROOT, blocks, load, run_page
from tests.test_docstrings import doc, documented, section

OBJECTS = {name: getattr(wnt, name) for name in wnt.__all__}
every = pytest.mark.parametrize("thing", OBJECTS.values(), ids=OBJECTS)


@every
def test_every_name_has_a_summary_an_example_and_its_parameters(thing):
    summary, *rest = doc(thing).splitlines()
    assert 0 < len(summary) <= 100
    assert rest[0] == ""
    assert ">>>" in doc(thing)
    if inspect.isfunction(thing):
        named = set(inspect.signature(thing).parameters)
        assert named <= documented(thing), named - documented(thing)
        assert section(thing, "Returns").strip()


def test_the_optimisers_document_every_option():
    for kind in (wnt.RPGD, wnt.WeightNormSGD, wnt.Monitor, wnt.FreezeThaw):
        named = set(inspect.signature(kind).parameters) - {"self"}
        assert named <= documented(kind), named - documented(kind)


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = ROOT / "docs" / "guides" / "torch.md"
    assert len(blocks(path)) >= 6
    names = run_page(path, tmp_path)
    assert names["optimizer"].param_groups[0]["scale_ratio"] == 0.1
    assert names["monitor"].to_dataset().sizes["step"] == 11
    assert names["end"].applies


def test_the_snippet_for_torch_users_on_the_page_of_steps_runs():
    found = blocks(ROOT / "docs" / "guides" / "steps.md")
    (snippet,) = (block.text for block in found if (block.kind, block.rest) == ("python", "torch"))
    names: dict[str, object] = {"wn": weightnorm}
    exec(snippet, names)
    assert names["end"].norm.shape == (2,)
    assert [group["lr"] for group in names["optimiser"].param_groups] == [1e-3, 1e-2]


def test_the_quickstart_trains_a_real_model():
    script = ROOT / "examples" / "torch" / "quickstart.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 40
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = re.search(r"it has not seen: ([\d.]+)%", done.stdout)
    assert float(found.group(1)) > 90.0


def test_without_torch_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import weightnorm\n"
        "try:\n    import weightnorm.torch\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "weightnorm[torch]"' in done.stdout


def test_a_small_bridge_stands():
    """Predicted before training, and trained: all methods, features centred and not."""
    size = bridge.Size(30, 60, 1, 2, 100, 1e-5, 30_000)
    found = bridge.bridge(lambda text: None, size)
    assert len(found["cases"]) == 8
    for case in found["cases"]:
        assert max(case["residual"]) <= 1e-5
        trained, predicted = np.array(case["trained"]), np.array(case["predicted"])
        allowed = np.array(case["error"]) + 1e-4 * trained  # the residual that was left
        assert (np.abs(trained - predicted) <= allowed).all(), case["method"]
    tool = load(ROOT / "tools" / "bridge.py")
    assert tool.summary(found["cases"][1])["inside"] == 2
    assert len(tool.figure(found).axes) == 2


def test_the_page_of_the_bridge_is_what_was_measured():
    tool = load(ROOT / "tools" / "bridge.py")
    data = json.loads((ROOT / "benchmarks" / "bridge.json").read_text(encoding="utf-8"))
    assert tool.page(data) == (ROOT / "docs" / "guides" / "torch-bridge.md").read_text(
        encoding="utf-8"
    )
    assert data["size"]["samples"] == 1_000
    for case in data["cases"]:
        found = tool.summary(case)
        assert found["rows"] == 100
        if case["method"] != "gd":
            assert found["inside"] == 100


def test_step_costs_are_ratios_of_what_was_measured(monkeypatch):
    monkeypatch.setattr(torch_steps, "WIDTH", 8)
    monkeypatch.setattr(torch_steps, "LAYERS", 2)
    monkeypatch.setattr("benchmarks.timing.PAUSE", 0.0)
    monkeypatch.setattr(torch_steps, "SHAPES", {"small": lambda: [(3, 4), (4,)]})
    found = torch_steps.step_costs(lambda text: None, 1)
    for measured in found["updates"]["small"].values():
        ours, sgd = (measured["seconds"][name] for name in ("RPGD", "SGD(foreach=True)"))
        assert measured["over_sgd"]["RPGD"] == pytest.approx(ours / sgd)
    whole, update = found["whole_step_seconds"], found["update_seconds"]
    for name, ratio in found["whole_step_over_sgd"].items():
        assert ratio == pytest.approx(whole[name] / whole["SGD(foreach=True)"])
    by_hand = update["RPGD"] / update["foreach by hand, rPGD"]
    assert found["update_over_foreach_by_hand"] == pytest.approx(by_hand)


def test_the_shapes_of_a_resnet_18():
    """torchvision's has 11,689,512 numbers in 62 parameters."""
    shapes = torch_steps._resnet_18()
    assert len(shapes) == 62
    assert sum(math.prod(shape) for shape in shapes) == 11_689_512


def test_the_update_by_hand_is_the_update():
    """The yardstick makes the same step."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Linear(4, 3))
    update = torch_steps._by_hand(torch, network)
    held = dict(
        zip(update.__code__.co_freevars, (c.cell_contents for c in update.__closure__), strict=True)
    )
    weights = [p for p in network.parameters() if p.ndim > 1]
    optimizer = wnt.RPGD(network.parameters(), torch_steps.LR)
    for p, G in zip(weights, held["G"], strict=True):
        p.grad = G.clone()
    update()
    optimizer.step()
    for p, x in zip(weights, held["weights"], strict=True):
        assert torch.allclose(p, x, rtol=1e-5, atol=1e-7)
