"""The package from outside: what an import costs, the command line."""

import subprocess
import sys

import pytest

import weightnorm as wn
from tests.support.commands import run

HEAVY = (
    "numba",
    "llvmlite",
    "sklearn",
    "matplotlib",
    "cvxpy",
    "xarray",
    "pandas",
    "dask",
    "distributed",
    "zarr",
    "torch",
    "jax",
    "typer",
    "rich",
)


def test_importing_loads_nothing_heavy():
    code = f"import sys, weightnorm; print([name for name in {HEAVY} if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_importing_loads_no_more_of_scipy_than_it_must():
    code = (
        "import sys, weightnorm; print([n for n in ('scipy.optimize', 'scipy.integrate') if n in "
        "sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_every_public_name_exists_and_has_a_docstring():
    for name in wn.__all__:
        assert getattr(wn, name).__doc__


def test_the_verbs_stay_functions_after_their_modules_are_imported():
    import weightnorm.runs.run  # noqa: F401

    assert callable(wn.run)
    assert callable(wn.sweep)


def test_help_and_version():
    assert "verify" in run("--help").output
    assert "Example" in run("verify", "--help").output
    assert run("--version").output == f"weightnorm {wn.__version__}\n"


def test_a_wrong_option_is_refused_without_a_traceback(tmp_path):
    missing = str(tmp_path / "no" / "such.md")
    assert run("verify", "--only", "gd-limit", "--markdown", missing).exit_code == 2
    assert run("verify", "--slow").exit_code == 2


def test_what_the_package_of_the_paper_adds():
    from weightnorm._support import extensions

    assert wn.verify.__module__ == "weightnorm_paper.certificate.certify"
    names = [point.name for point in extensions.offered(extensions.COMMANDS)]
    assert names == ["reproduce", "verify"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        extensions.load("nothing")


def test_lemmas_are_found_where_they_were_for_one_release():
    from weightnorm_paper import lemmas

    with pytest.warns(
        DeprecationWarning, match=r"scale_gap is weightnorm_paper.lemmas.scale_gap now"
    ):
        assert wn.theory.scale_gap is lemmas.scale_gap
    assert not set(lemmas.__all__) & set(wn.theory.__all__)
    with pytest.raises(AttributeError, match=r"'weightnorm.theory' has no attribute 'nothing'"):
        _ = wn.theory.nothing
