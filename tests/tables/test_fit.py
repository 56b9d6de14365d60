"""`weightnorm fit`: from a table on disk to a fit, and clear words for tables that cannot be
fitted.
"""

import json

import numpy as np
import pandas as pd
import pytest

from tests.support.commands import plain, run


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 50))
    data = pd.DataFrame(X, columns=[f"x{i}" for i in range(50)])
    data["price"] = X[:, 0] - 2 * X[:, 1] + 5.0
    data["kind"] = np.where(X[:, 0] > 0, "high", "low")
    return data


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_every_format_gives_the_same_fit(table, tmp_path, suffix):
    path = tmp_path / f"data.{suffix}"
    if suffix == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    out = tmp_path / "coefficients.csv"
    command = [
        "fit",
        str(path),
        "--target",
        "price",
        "--drop",
        "kind",
        "--json",
        "--coefficients",
        str(out),
    ]
    result = run(*command)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["samples"], facts["features"], facts["folds"]) == (30, 50, 5)
    assert facts["train_score"] == pytest.approx(1.0)
    assert "distance_to_predicted_limit" not in facts  # it is the limit
    # The minimum-norm fit of the standardized features, by other means.
    X = table.drop(columns=["price", "kind"]).to_numpy()
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    best = np.linalg.pinv(standard) @ (table.price - table.price.mean()).to_numpy()
    written = pd.read_csv(out)
    assert list(written.feature) == [*(f"x{i}" for i in range(50)), "(intercept)"]
    np.testing.assert_allclose(written.coefficient[:-1], best, atol=1e-10)
    assert facts["min_norm_distance"] == 0.0
    # and the file is enough to predict with
    rows = written[:-1]
    guess = (X - rows["mean"].to_numpy()) / rows.deviation.to_numpy() @ rows.coefficient
    np.testing.assert_allclose(guess + written.coefficient.iloc[-1], table.price, rtol=1e-9)
    model = facts["model"]
    assert model["features"] == list(rows.feature)
    np.testing.assert_allclose(model["coefficients"][0], rows.coefficient, rtol=1e-12)


def test_runs_and_classes(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    result = run(
        "fit", str(path), "--target", "price", "--drop", "kind", "--method", "rpgd", "--scale", "1"
    )
    assert result.exit_code == 0, result.output
    assert "rpgd (converged after" in result.output
    assert "predicted limit" in result.output
    result = run("fit", str(path), "--target", "kind", "--drop", "price", "--classify", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["score_name"] == "accuracy"
    assert facts["train_score"] == 1.0
    assert 0.3 < facts["cv_score"] <= 1.0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: t, ["--target", "cost"], "there is no column 'cost'; the columns are x0, x1"),
        (lambda t: t, ["--target", "price"], "columns that are not numbers: kind; encode them"),
        (lambda t: t, ["--target", "kind", "--drop", "price"], "the target 'kind' is not numeric"),
        (
            lambda t: t.assign(x3=np.nan),
            ["--target", "price", "--drop", "kind"],
            "missing values in x3 (30)",
        ),
        (
            lambda t: t.assign(x3=np.inf),
            ["--target", "price", "--drop", "kind"],
            "infinite values in x3",
        ),
        (
            lambda t: t.assign(x3=1e308),
            ["--target", "price", "--drop", "kind", "--no-standardize"],
            "squares overflow in x3",
        ),
        (lambda t: t[:2], ["--target", "price", "--drop", "kind"], "the table has 2 rows"),
        (lambda t: t[["price"]], ["--target", "price"], "no column left to fit with"),
        (
            lambda t: t,
            ["--target", "price", "--drop", "kind", "--method", "lasso"],
            "method must be one of",
        ),
        (
            lambda t: t,
            ["--target", "price", "--drop", "kind", "--ratio", "-1"],
            "ratio must be greater than 0",
        ),
        (
            lambda t: t.assign(x3=1e308),
            ["--target", "price", "--drop", "kind"],
            "squares overflow in x3",
        ),
        (
            lambda t: t.assign(kind=["a"] + ["b"] * 29),
            ["--target", "kind", "--drop", "price", "--classify"],
            "one member only",
        ),
        (
            lambda t: t,
            ["--target", "price", "--drop", "kind", "--seed", "-1"],
            "Seed must be between",
        ),
        (
            lambda t: t.assign(kind="low"),
            ["--target", "kind", "--drop", "price", "--classify"],
            "one class only",
        ),
        (
            lambda t: t.assign(price=np.inf),
            ["--target", "price", "--drop", "kind"],
            "infinite values in the target 'price'",
        ),
    ],
)
def test_a_table_that_cannot_be_fitted_is_told_so(table, tmp_path, change, options, message):
    path = tmp_path / "data.csv"
    change(table).to_csv(path, index=False)
    result = run("fit", str(path), *options)
    assert result.exit_code == 2
    assert message in plain(result.stderr)


@pytest.mark.parametrize("size", [1e200, 1e308, 1e-200, 5e-324])
@pytest.mark.parametrize("method", ["limit", "rpgd"])
def test_a_target_whose_squares_overflow_is_named(table, tmp_path, size, method):
    path = tmp_path / "data.csv"
    table.assign(price=np.where(table.price > 5, size, 0.0)).to_csv(path, index=False)
    result = run("fit", path, "--target", "price", "--drop", "kind", "--method", method, "--json")
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "the target 'price' has values up to" in plain(result.stderr)
    assert "rescale it to between 1e-100 and 1e+100" in plain(result.stderr)


@pytest.mark.parametrize("size", [1e99, 1e-99, 0.0])
@pytest.mark.parametrize(
    "options", [["--method", "limit"], ["--method", "rpgd", "--scale", "1"], ["--method", "gd"]]
)
def test_an_extreme_target_gives_valid_json(table, tmp_path, size, options):
    path = tmp_path / "data.csv"
    table.assign(price=table.price / 10 * size).to_csv(path, index=False)
    result = run("fit", path, "--target", "price", "--drop", "kind", "--json", *options)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout, parse_constant=pytest.fail)
    assert facts["samples"] == 30


def test_an_overflow_inside_the_fit_is_told(table, tmp_path, monkeypatch):
    from weightnorm.tables import fit as tables

    def fail(*_):
        raise OverflowError(34, "Numerical result out of range")

    monkeypatch.setattr(tables, "fit_table", fail)
    table.to_csv(tmp_path / "data.csv", index=False)
    result = run("fit", tmp_path / "data.csv", "--target", "price", "--drop", "kind")
    assert result.exit_code == 2
    assert "the fit of the target 'price' failed: Numerical result out of range; rescale" in plain(
        result.stderr
    )


def test_the_index_of_pandas_is_no_feature_and_gd_has_its_own_limit(table, tmp_path):
    path = tmp_path / "data.csv"
    table.drop(columns="kind").to_csv(path)
    options = ["--method", "gd", "--scale", "5", "--seed", "0", "--json"]
    result = run("fit", str(path), "--target", "price", *options)
    facts = json.loads(result.stdout)
    assert facts["features"] == 50
    assert facts["distance_to_predicted_limit"] < 0.05 * facts["norm"]
    assert facts["min_norm_distance"] > 1.0


def test_files_that_are_no_tables(tmp_path):
    for name, content, message in (
        ("none.csv", None, "does not exist"),
        ("data.xlsx", b"", "must be a .csv, .tsv or .parquet file"),
        ("empty.csv", b"", "cannot be read as a table"),
        ("broken.parquet", b"PAR1 truncated", "cannot be read as a table"),
        ("binary.csv", bytes(range(256)), "cannot be read as a table"),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        result = run("fit", str(path), "--target", "y")
        assert result.exit_code == 2, name
        assert message in plain(result.stderr), (name, result.stderr)
    result = run(
        "fit",
        str(tmp_path / "a.csv"),
        "--target",
        "y",
        "--coefficients",
        str(tmp_path / "no" / "c.csv"),
    )
    assert result.exit_code == 2
