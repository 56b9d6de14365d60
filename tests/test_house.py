"""The arrows of the house: who may import whom, and how many files a run passes."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from engine_cases import ROOT, SOURCE


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_no_isinstance_on_problems_outside_problems():
    kinds = {
        "LeastSquares",
        "GeneralizedLinear",
        "MatrixSensing",
        "Logits",
        "Diagonal",
        "ReducedModel",
        "LinearModel",
        "Problem",
    }
    for name, tree in modules():
        if name.startswith("problems/"):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
            ):
                named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not named & kinds, (name, node.lineno)


def test_no_room_reaches_another_through_a_string():
    """import-linter does not see import_module("…"): only the package itself, the kernels' two
    widths and the names of before use it.
    """
    for name, tree in modules():
        if name in ("__init__.py", "engine/kernels/__init__.py", "_support/moved.py"):
            continue
        used = {
            n.attr if isinstance(n, ast.Attribute) else n.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute | ast.Name)
        }
        assert not used & {"import_module", "__import__"}, name


def test_every_room_is_in_the_arrows():
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    rooms = {
        f"weightnorm.{p.stem}"
        for p in SOURCE.iterdir()
        if p.stem[:2] != "__" and (p.suffix == ".py" or p.is_dir())
    }
    rooms.discard("weightnorm.py")
    layers = {
        room for layer in contracts[0]["layers"] for room in layer.replace(" ", "").split("|")
    }
    assert rooms == {".".join(layer.split(".")[:2]) for layer in layers}
    numba = set(next(c for c in contracts if "numba" in c["name"])["source_modules"])
    inside = {
        f"weightnorm.engine.{p.stem}" for p in (SOURCE / "engine").iterdir() if p.stem[:2] != "__"
    } - {"weightnorm.engine.kernels"}
    assert numba == (rooms - {"weightnorm.engine"}) | inside


def test_a_run_on_least_squares_passes_ten_files():
    """Those whose functions run, once the problem is reduced; beside them the checks of input, and
    Ctrl-C.
    """
    code = (
        "import sys, weightnorm as wn\n"
        "p, w = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)\n"
        "m = wn.RPGD(0.1, 0.1)\n"
        "wn.run(m, p, 1.0, w)\n"
        "seen = set()\n"
        "sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_filename))\n"
        "wn.run(m, p, 1.0, w)\n"
        "sys.setprofile(None)\n"
        "print('\\n'.join(f for f in seen if 'weightnorm' in f))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = {Path(line).relative_to(SOURCE).as_posix() for line in done.stdout.split()} - {
        "_support/validate.py",
        "_support/interrupts.py",
    }
    assert len(files) <= 10, sorted(files)


@pytest.mark.long
def test_every_file_of_tests_is_whole_on_one_worker():
    """As `make test` runs them: what a file sets up once is then set up once."""
    files = ["tests/test_schedules.py", "tests/test_grids.py"]
    command = [sys.executable, "-m", "pytest", "-vv", "-n", "2", "--dist", "loadfile", *files]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=500
    )
    found = set(re.findall(r"\[(gw\d)\].* (tests/\w+\.py)::", done.stdout))
    assert len(found) == len(files), found  # a worker each
    assert {name for _, name in found} == set(files)
