"""The command line as tests use it: no colours, wide lines, whatever the surroundings."""

import re
import shutil

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from tests.sweeps.test_sweep_files import TEXT as SWEEP
from weightnorm.cli.main import app

SURROUNDINGS = {
    "COLUMNS": "200",
    "TERM": "xterm",
    "NO_COLOR": "1",
    "FORCE_COLOR": None,
    "PY_COLORS": None,
}
ONE_CLAIM = ("verify", "--only", "gd-limit", "--instances", "1")  # one that takes no time
WRITING = ["verify", "fit", "explore", "reproduce", "sweep"]


def run(*arguments, env=None):
    """The result of a command; `env` adds to the surroundings."""
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={**SURROUNDINGS, **(env or {})}
    )


def without_colours(monkeypatch):
    """For what is not run by `run`: the same surroundings."""
    for name, value in SURROUNDINGS.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)


def copied(package, folder):
    """A copy of a package that can be written to, wherever it comes from."""
    ignored = shutil.ignore_patterns("__pycache__", "page")
    shutil.copytree(package, folder, ignore=ignored, copy_function=shutil.copyfile)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    return folder


def plain(text):
    """A text without colours, line breaks and runs of spaces."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).split())


def commands(folder, name="out"):
    """Every command that writes, with the path it writes to; a folder for the last two."""
    sweep = folder / "sweep.toml"
    sweep.write_text(SWEEP, encoding="utf-8")
    return {
        "verify": (*ONE_CLAIM, "--markdown", folder / f"{name}.md"),
        "fit": (
            "fit",
            folder / "data.csv",
            "--target",
            "y",
            "--coefficients",
            folder / f"{name}.csv",
        ),
        "explore": (
            "explore",
            folder / "data.csv",
            "--target",
            "y",
            "--no-open",
            "--out",
            folder / f"{name}.html",
        ),
        "reproduce": ("reproduce", "figure-2", "--quick", "--out", folder / name),
        "sweep": ("sweep", sweep, "--out", folder / name),
    }


def write_table(folder):
    """A small table data.csv with the columns a, b, c, d and y."""
    X = np.random.default_rng(0).standard_normal((12, 4))
    pd.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0] + 1.0).to_csv(
        folder / "data.csv", index=False
    )
    return folder / "data.csv"
