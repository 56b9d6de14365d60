"""The arrows of the house: who may import whom, and how many files a run passes."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine_cases import ROOT, SOURCE

PAPER = SOURCE.with_name("weightnorm_paper")


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


def test_the_library_does_without_the_paper():
    """Not one of its modules has the name of the other package, in an import or a string."""
    for path in sorted(SOURCE.rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        assert "weightnorm_paper" not in code, path


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
    paper = next(c for c in contracts if c["name"].startswith("Inside the paper"))["layers"]
    assert {room for layer in paper for room in layer.replace(" ", "").split("|")} == {
        f"weightnorm_paper.{p.stem}"
        for p in PAPER.iterdir()
        if p.stem[:2] != "__" and (p.suffix == ".py" or p.is_dir())
    }
    numba = set(next(c for c in contracts if "numba" in c["name"])["source_modules"])
    inside = {
        f"weightnorm.engine.{p.stem}" for p in (SOURCE / "engine").iterdir() if p.stem[:2] != "__"
    } - {"weightnorm.engine.kernels"}
    assert numba == (rooms - {"weightnorm.engine"}) | inside


def test_a_run_on_least_squares_passes_few_files():
    """All whose functions run, from the check of the arguments to the result, the reduction of a
    new problem, Ctrl-C and warnings before the run included.
    """
    code = (
        "import sys, weightnorm as wn\n"
        "p, w = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)\n"
        "m = wn.RPGD(0.1, 0.1)\n"
        "wn.run(m, p, 1.0, w)\n"
        "new, seen = wn.LeastSquares(p.A.copy(), p.y), set()\n"
        "sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_filename))\n"
        "wn.run(m, new, 1.0, w)\n"
        "sys.setprofile(None)\n"
        "print('\\n'.join(seen))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    paths = {Path(line) for line in done.stdout.splitlines()}
    files = {path.relative_to(SOURCE).as_posix() for path in paths if path.is_relative_to(SOURCE)}
    assert "runs/run.py" in files
    assert len(files) <= 24, sorted(files)


@pytest.mark.long
def test_every_file_of_tests_is_whole_on_one_worker():
    """As `make test` runs them: what a file sets up once is then set up once."""
    files = ["tests/methods/test_schedules.py", "tests/runs/test_dataset.py"]
    command = [sys.executable, "-m", "pytest", "-vv", "-n", "2", "--dist", "loadfile", *files]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=500
    )
    found = set(re.findall(r"\[(gw\d)\].* (tests/\w+/\w+\.py)::", done.stdout))
    assert len(found) == len(files), found  # a worker each
    assert {name for _, name in found} == set(files)


def lines_of_code(function):
    """How many lines a function has besides its docstring."""
    whole = function.end_lineno - function.lineno + 1
    first = function.body[0]
    has_text = ast.get_docstring(function, clean=False) is not None
    return whole - (first.end_lineno - first.lineno + 1 if has_text else 0)


def test_files_and_functions_are_short():
    """But kernels, which are one loop each, and commands, which have an argument per option."""
    long_by_nature = ("engine/kernels/", "cli/", "commands/")
    for room in (SOURCE, PAPER):
        for path in sorted(room.rglob("*.py")):
            name, text = path.relative_to(room).as_posix(), path.read_text(encoding="utf-8")
            if name.startswith(long_by_nature):
                continue
            if room is SOURCE:
                assert text.count("\n") <= 400, name
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    assert lines_of_code(node) <= 80, (name, node.name)


def test_few_modules_lie_at_the_root():
    assert sorted(p.name for p in SOURCE.glob("*.py")) == ["__init__.py", "datasets.py"]


def test_files_of_tests_are_short_and_known():
    """And their recorded durations name files that are there."""
    tests, recorded = ROOT / "tests", json.loads((ROOT / "tests/durations.json").read_text("utf-8"))
    for path in sorted(tests.rglob("*.py")):
        assert path.read_text(encoding="utf-8").count("\n") <= 400, path
    assert len(list(tests.glob("*.py"))) <= 12
    gone = [n for n in recorded if not (tests / n).is_file() and not (ROOT / n).is_file()]
    assert gone == []


def test_checks_take_theory_alone_from_the_library():
    """A check that ran what it checks would pass whatever is wrong; import-linter does not see
    names that are taken from the root.
    """
    for room in ("claims", "checks", "evidence"):
        for path in sorted((PAPER / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    assert all(each.name.split(".")[0] != "weightnorm" for each in node.names), path
                if isinstance(node, ast.ImportFrom) and node.module == "weightnorm":
                    assert {each.name for each in node.names} <= {"theory"}, path
