"""`wn.explore` and `weightnorm explore`: where the page goes, who opens it, and what is refused."""

import importlib
import sys
import webbrowser

import numpy as np
import pandas as pd
import pytest

import weightnorm as wn
from tests.support.commands import plain, run
from tests.support.explorer_cases import PROBLEM, W, check, inlined, write_assets
from weightnorm._support import files as _files
from weightnorm.explorer import build
from weightnorm.explorer.describe import describe
from weightnorm.explorer.table import standardized, table_problem


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The page from fake assets."""
    folder = write_assets(tmp_path / "page")
    monkeypatch.setattr(build, "assets", lambda: folder)


@pytest.fixture
def opened(monkeypatch):
    """A screen with a browser that opens nothing and tells what it was asked for."""
    asked = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda url: asked.append(url) or True)
    return asked


@pytest.fixture
def no_screen(opened, monkeypatch):
    """Linux without a screen, where the browser must not be asked for."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return opened


def test_a_page_with_a_problem(fake, opened, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    path = wn.explore(PROBLEM, "mine.html", scale=0.5, direction=W, ratio=0.1)
    assert path == tmp_path / "mine.html"
    assert inlined(path) == describe(PROBLEM, 0.5, W, 0.1)
    assert opened == []  # a path was given
    name = "ü.html" if sys.getfilesystemencoding() == "utf-8" else "z.html"
    assert wn.explore(None, tmp_path / name, show=True) == tmp_path / name
    assert opened == [(tmp_path / name).as_uri()]
    assert inlined(tmp_path / name) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.html", "page", name]
    assert capfd.readouterr() == ("", "")


def test_a_page_without_a_path_is_shown(fake, opened, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = wn.explore(), wn.explore(PROBLEM)
    assert opened == [first.as_uri(), second.as_uri()]
    assert first.name == second.name == "explorer.html"
    assert first.parent != second.parent
    assert first.is_absolute()
    assert wn.explore(PROBLEM, show=False).is_file()
    assert len(opened) == 2


def test_without_a_screen_nothing_is_opened(fake, no_screen, tmp_path, capfd):
    assert wn.explore(PROBLEM, tmp_path / "a.html", show=True).is_file()
    assert no_screen == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("error", [webbrowser.Error("none"), OSError("none")])
def test_a_browser_that_fails_is_no_error(fake, opened, tmp_path, monkeypatch, error):
    def fail(url):
        raise error

    monkeypatch.setattr(webbrowser, "open", fail)
    assert wn.explore(PROBLEM, tmp_path / "a.html", show=True).is_file()


def test_a_path_that_cannot_be_written_is_refused_first(fake, tmp_path, monkeypatch):
    exploring = importlib.import_module("weightnorm.explorer.explore")
    monkeypatch.setattr(exploring, "describe", lambda *_, **__: pytest.fail("work began"))
    for path, why in (
        (tmp_path / "no" / "such.html", "does not exist"),
        (tmp_path, "is a folder"),
        ("/dev/null", "is not a regular file"),
    ):
        with pytest.raises(_files.UnwritableError, match=why):
            wn.explore(PROBLEM, path)


def test_a_failure_leaves_the_old_page(fake, tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("old", encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        wn.explore(PROBLEM, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert not list(tmp_path.glob(".*"))


def test_the_function_is_not_its_room():
    import weightnorm.explorer.explore  # noqa: F401

    assert callable(wn.explore)
    assert "explore" in dir(wn)
    assert wn.explorer.explore is wn.explore


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wn.explore(scale=1.0, ratio=2.0), ValueError, "scale and ratio must come with a"),
        (lambda: wn.explore(direction=W), ValueError, "direction must come with a problem"),
        (lambda: wn.explore("page.html"), TypeError, "problem must be a LeastSquares, got str"),
        (lambda: wn.explore(PROBLEM, 3), TypeError, "path must be the name of a file, got int"),
        (lambda: wn.explore(PROBLEM, "a\0b"), ValueError, "path must be the name .* a zero byte"),
        (lambda: wn.explore(PROBLEM, show="no"), TypeError, "show must be True, False or None"),
        (lambda: wn.explore(PROBLEM, ratio=-1), ValueError, "ratio must be greater than 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The command.


@pytest.fixture
def houses(tmp_path):
    """A table with a constant column, one of text, and one in millions."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((12, 30)), columns=[f"x{i}" for i in range(30)])
    table["x3"] *= 1e6
    table["x4"] += 1e6
    table["same"] = 0.1
    table["price"] = table.x0 - table.x1 + 100.0
    table.to_csv(tmp_path / "houses.csv", index=False)
    table.assign(kind="old").to_csv(tmp_path / "text.csv", index=False)
    return tmp_path / "houses.csv"


def test_a_table_becomes_a_page(fake, opened, houses, tmp_path):
    out = tmp_path / "out.html"
    result = run("explore", houses, "--target", "price", "--out", out, "--seed", 3, "--scale", 2)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert str(out) in result.stdout
    assert "12 samples, 31 features, rank 11" in result.stdout
    assert opened == [out.as_uri()]
    table = pd.read_csv(houses)
    X, y = table.drop(columns="price").to_numpy(), table.price.to_numpy()
    X, y = X - X.mean(axis=0), y - y.mean()
    X -= X.mean(axis=0)
    deviations = X.std(axis=0)
    X = np.where(deviations > 1e-9, X / np.where(deviations > 1e-9, deviations, 1.0), 0.0)
    found = inlined(out)
    check(found, X, y, wn.datasets.random_direction(31, seed=3))
    assert found["name"] == "price in houses.csv"
    assert found["start"]["scale"] == 2.0


def test_columns_as_they_are(fake, houses, tmp_path):
    out = tmp_path / "out.html"
    command = ("explore", houses, "--target", "price", "--out", out, "--no-open")
    assert run(*command, "--no-standardize", "--drop", "x3,x4", "--ratio", 0.5).exit_code == 0
    table = pd.read_csv(houses).drop(columns=["x3", "x4", "price"])
    X, y = table.to_numpy(), pd.read_csv(houses).price.to_numpy()
    found = inlined(out)
    w = wn.datasets.random_direction(29, seed=0)
    check(found, X - X.mean(axis=0), y - y.mean(), w)
    assert found["ratio"] == 0.5


def test_the_page_with_its_own_problems(fake, opened, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("explore")
    assert result.exit_code == 0, result.output
    (path,) = tmp_path.glob("weightnorm-*/explorer.html")
    assert inlined(path) is None
    assert str(path) in result.stdout
    assert opened == [path.as_uri()]
    assert run("explore", "--no-open").exit_code == 0
    assert len(opened) == 1


def test_how_to_open_it_without_a_browser(fake, no_screen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("explore", "--out", "a b.html")
    assert result.exit_code == 0
    assert "page: a b.html" in result.stdout
    assert f"open {(tmp_path / 'a b.html').as_uri()} in one" in result.stdout
    assert no_screen == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "price"), "--target: only with a table"),
        (("--scale", "1", "--seed", "2"), "--scale, --seed: only with a table"),
        (("--no-standardize", "--drop", "a"), "--drop, --no-standardize: only with a table"),
        (("houses.csv",), "--target must name the column to predict"),
        (("houses.csv", "--target", "cost"), "there is no column 'cost'"),
        (("houses.csv", "--target", "price", "--drop", "no"), "there is no column 'no'"),
        (("houses.csv", "--target", "same"), "the target is the same in every row"),
        (("houses.csv", "--target", "price", "--out", "houses.csv"), "is the table, too"),
        (("houses.csv", "--target", "price", "--scale", "-1"), "scale must be at least 0, got -1"),
        (("houses.csv", "--target", "price", "--ratio", "0"), "ratio must be greater than 0"),
        (("houses.csv", "--target", "price", "--ratio", "nan"), "ratio must be finite"),
        (("text.csv", "--target", "price"), "columns that are not numbers: kind"),
        (("text.csv", "--target", "kind"), "the target 'kind' is not numeric"),
        (("gone.csv", "--target", "price"), "gone.csv does not exist"),
        (("--out", "no/such.html"), "--out: the folder no does not exist"),
    ],
)
def test_a_call_that_cannot_be_meant(fake, opened, houses, monkeypatch, arguments, message):
    monkeypatch.chdir(houses.parent)
    before = houses.read_bytes()
    result = run("explore", *arguments)
    assert result.exit_code == 2, result.output
    assert message in plain(result.stderr)
    assert len(result.stderr.strip().splitlines()) == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert opened == []
    assert houses.read_bytes() == before


def test_a_temporary_folder_that_is_full(fake, opened, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    result = run("explore")
    assert result.exit_code == 1
    assert "No space left on device; name another place with --out" in result.stderr
    assert opened == []


def test_a_table_needs_no_more_than_pandas(fake, houses, monkeypatch):
    for name in ("sklearn", "matplotlib", "cvxpy"):
        monkeypatch.setitem(sys.modules, name, None)
    out = houses.parent / "out.html"
    command = ("explore", houses, "--target", "price", "--no-open", "--out", out)
    assert run(*command).exit_code == 0
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "weightnorm.tables.read", raising=False)
    result = run(*command)
    assert result.exit_code == 1
    assert "explore needs pandas for a table: install weightnorm[all]" in result.stderr
    assert run("explore", "--no-open", "--out", out).exit_code == 0


def test_standardizing_as_scikit_learn_does():
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6)) * [1.0, 1e-6, 1e6, 1e-150, 1.0, 0.0]
    X += [0.0, 1.0, -1e9, 0.0, 1e9, 0.1]
    X[:, 4] = 1e9 / 3  # the same number everywhere: nothing but rounding is left of it
    before = X.copy()
    mine = standardized(X)
    theirs = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(mine[:, :3], theirs[:, :3], atol=1e-7)
    np.testing.assert_allclose(mine.std(axis=0), [1.0] * 4 + [0.0] * 2, rtol=1e-12)
    np.testing.assert_array_equal(X, before)
    assert not mine[:, 4:].any()
    with pytest.raises(ValueError, match="every feature is the same"):
        table_problem(X[:, 4:], X[:, 0])


def test_a_name_that_browsers_show_as_text_is_remarked_on(fake, tmp_path):
    result = run("explore", "--no-open", "--out", tmp_path / "page.txt")
    assert result.exit_code == 0
    assert "name it .html" in result.stderr
    assert not run("explore", "--no-open", "--out", tmp_path / "page.html").stderr
