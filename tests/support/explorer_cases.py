"""What the tests of the explorer share: data, a description checked by hand, and fake assets."""

import json
import math
import re

import numpy as np
import pytest

import weightnorm as wn

FAKE = {
    "index.html": "<style>/*STYLE*/</style>\n<script>/*SCRIPT*/\nshow(/*PROBLEM*/);</script>\n",
    "style.css": "p { color: red }\n",
    "main.js": 'import { draw } from "./draw.js";\nfunction show(it) {\n  draw(it);\n}\n',
    "draw.js": "export function draw(it) {\n  return it;\n}\n",
}


def data(m, d, seed=0, *, spread=3.0):
    """A and y with singular values that are well apart, and a direction."""
    rng = np.random.default_rng(seed)
    rank = min(m, d)
    U, V = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (m, d))
    A = (U * np.linspace(1.0, spread, rank)) @ V.T
    return A, rng.standard_normal(m), rng.standard_normal(d)


def start_of(found):
    """The start's unit direction in row-space coordinates, and its part off the row space."""
    angle, tilt = (math.radians(found["start"][key]) for key in ("angle", "tilt"))
    unit = np.array(found["target"]) / np.linalg.norm(found["target"])
    seen = math.cos(tilt) * unit + math.sin(tilt) * np.array(found["across"])
    return math.cos(angle) * seen, math.sin(angle)


def check(found, A, y, w):
    """A description against plain linear algebra."""
    json.loads(json.dumps(found, allow_nan=False))
    singular = np.linalg.svd(A, compute_uv=False)
    singular = singular[singular > 1e-12 * singular[0]]
    x = np.linalg.pinv(A, rcond=1e-12) @ y
    rank, unit = singular.size, w / np.linalg.norm(w)
    row_space = np.linalg.pinv(A, rcond=1e-12) @ A
    assert (found["samples"], found["features"], found["rank"]) == (*A.shape, rank)
    assert found["curvatures"] == pytest.approx(singular**2)
    assert np.linalg.norm(found["target"]) == pytest.approx(np.linalg.norm(x))
    floor = 0.5 * np.sum((A @ x - y) ** 2)
    assert found["floor"] == pytest.approx(floor, rel=1e-9, abs=1e-20 * (y @ y))
    assert found["free"] is (rank < A.shape[1])
    across = np.array(found["across"])
    assert across @ found["target"] == pytest.approx(0.0, abs=1e-14 * np.linalg.norm(x))
    assert np.linalg.norm(across) == pytest.approx(float(rank > 1))
    z, away = start_of(found)
    assert z @ found["target"] == pytest.approx(unit @ x, abs=1e-12 * np.linalg.norm(x))
    assert np.linalg.norm(z) == pytest.approx(np.linalg.norm(row_space @ unit), abs=1e-12)
    assert away == pytest.approx(np.linalg.norm(unit - row_space @ unit), abs=1e-12)
    assert 0.0 <= found["start"]["angle"] <= 90.0
    assert -180.0 < found["start"]["tilt"] <= 180.0


A, Y, W = data(3, 5)
PROBLEM = wn.LeastSquares(A, Y)


def write_assets(folder, **changed):
    """Write the fake assets, with these in place of some, and return their folder."""
    folder.mkdir(exist_ok=True)
    named = {name.replace("_", "."): text for name, text in changed.items()}
    for name, text in (FAKE | named).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def inlined(path):
    """The problem in a page made of the fake assets."""
    return json.loads(re.search(r"show\((.*)\);</script>", path.read_text(encoding="utf-8"))[1])
