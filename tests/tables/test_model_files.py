"""`weightnorm fit --out`, `weightnorm predict`, and the tables they read."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import weightnorm as wn
from tests.support.commands import plain, run
from weightnorm.tables.model_file import read_model
from weightnorm.tables.read import TableError, dropped, read_table


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * [1.0, 1e3, 1e-3] + [5.0, -2e3, 0.0]
    data = pd.DataFrame(X, columns=["a", "b", "c"])
    data["price"] = X @ [1.0, 2e-3, 3e3] + 7.0 + 0.1 * rng.standard_normal(40)
    data["count"] = rng.poisson(np.exp(0.3 * (X[:, 0] - 5.0)))
    data["kind"] = np.array(["x", "y", "z"])[rng.integers(0, 3, 40)]
    return data


def fitted(path, tmp_path, *options):
    model = tmp_path / "model.json"
    result = run("fit", str(path), *options, "--out", str(model), "--json")
    assert result.exit_code == 0, result.output
    return model


def test_predictions_are_those_of_the_estimator(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    X, y = table[["a", "b", "c"]].to_numpy(), table.price.to_numpy()
    model = fitted(path, tmp_path, "--target", "price", "--drop", "count,kind")
    out = tmp_path / "out.csv"
    result = run("predict", str(model), str(path), "--out", str(out))
    assert result.exit_code == 0, result.output
    best = wn.WeightNormRegressor().fit(X, y)
    np.testing.assert_allclose(pd.read_csv(out).prediction, best.predict(X), rtol=1e-9)
    # columns in another order, others beside them: found by name
    shuffled = tmp_path / "shuffled.csv.gz"
    table[["kind", "c", "a", "b"]].to_csv(shuffled, index=False)
    again = run("predict", str(model), str(shuffled))
    assert again.exit_code == 0
    assert again.stdout.splitlines() == out.read_text().splitlines()


def test_predictions_of_counts_and_classes(table, tmp_path):
    path = tmp_path / "data.parquet"
    table.to_parquet(path)
    X = table[["a", "b", "c"]].to_numpy()
    counts = fitted(
        path,
        tmp_path,
        "--target",
        "count",
        "--drop",
        "price",
        "--drop",
        "kind",
        "--loss",
        "poisson",
    )
    result = run("predict", str(counts), str(path), "--out", str(tmp_path / "counts.csv"))
    assert result.exit_code == 0
    best = wn.WeightNormRegressor(loss="poisson").fit(X, table["count"])
    written = pd.read_csv(tmp_path / "counts.csv").prediction
    np.testing.assert_allclose(written, best.predict(X), rtol=1e-7)
    for options in ([], ["--method", "rpgd"]):
        kinds = fitted(
            path, tmp_path, "--target", "kind", "--classify", "--drop", "price,count", *options
        )
        run("predict", str(kinds), str(path), "--out", str(tmp_path / "kinds.csv"))
        written = pd.read_csv(tmp_path / "kinds.csv")
        shares = written[[f"probability of {name}" for name in "xyz"]].to_numpy()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
        assert (np.array(["x", "y", "z"])[shares.argmax(axis=1)] == written.prediction).all()
        if not options:
            best = wn.WeightNormClassifier().fit(X, table.kind)
            np.testing.assert_allclose(shares, best.predict_proba(X), atol=1e-6)


def test_two_classes_and_numbers_as_labels(tmp_path):
    X, y = load_iris(return_X_y=True)
    data = pd.DataFrame(X[50:], columns=list("pqrs")).assign(kind=y[50:])
    path = tmp_path / "iris.tsv"
    data.to_csv(path, index=False, sep="\t")
    model = fitted(path, tmp_path, "--target", "kind", "--classify")
    assert json.loads(model.read_text())["classes"] == [1, 2]
    run("predict", str(model), str(path), "--out", str(tmp_path / "out.csv"))
    written = pd.read_csv(tmp_path / "out.csv")
    assert (written.prediction == y[50:]).mean() > 0.95


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "is not a model file"),
        (lambda text: "[]", "is not a model file of this version"),
        (lambda text: text.replace("weightnorm model 1", "weightnorm model 9"), "of this version"),
        (lambda text: text.replace('"means"', '"mean"'), "damaged: it lacks ['means']"),
        (lambda text: _change(text, means=[1.0]), "numbers do not fit together"),
        (lambda text: _change(text, kind="tree"), "numbers do not fit together"),
        (lambda text: _change(text, deviations=[0.0, 1.0, 1.0]), "numbers do not fit together"),
        (lambda text: _change(text, coefficients=["a"]), "numbers do not fit together"),
        (lambda text: _change(text, coefficients=[["1.5", 1.0, 1.0]]), "do not fit together"),
        (lambda text: _change(text, features="abc"), "do not fit together"),
        (lambda text: _change(text, features=["a", "a", "c"]), "do not fit together"),
        (lambda text: _change(text, features=[1, 2, 3]), "do not fit together"),
        (lambda text: _change(text, classes={"a": 1}), "do not fit together"),
        (lambda text: _change(text, classes=["x", "x"]), "do not fit together"),
        (lambda text: _change(text, multi_class="zzz"), "do not fit together"),
        (lambda text: _change(text, means=[True, 0.0, 0.0]), "do not fit together"),
        (lambda text: "[" * 100_000, "is not a model file"),
    ],
)
def test_a_damaged_model_is_named(table, tmp_path, damage, message):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    model = fitted(path, tmp_path, "--target", "price", "--drop", "count,kind")
    model.write_text(damage(model.read_text()))
    with pytest.raises(TableError):
        read_model(model)
    result = run("predict", str(model), str(path))
    assert result.exit_code == 2
    assert message in plain(result.stderr)


def _change(text, **values):
    return json.dumps(json.loads(text) | values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="b"), "lacks columns that the model needs: b"),
        (lambda t: t.assign(b=np.nan), "missing values in b (40)"),
        (lambda t: t.assign(b="text"), "columns that are not numbers: b"),
        (lambda t: t.assign(b=np.inf), "infinite values in b"),
    ],
)
def test_a_table_that_cannot_be_predicted_is_told_so(table, tmp_path, change, message):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    model = fitted(path, tmp_path, "--target", "price", "--drop", "count,kind")
    change(table).to_csv(path, index=False)
    result = run("predict", str(model), str(path))
    assert result.exit_code == 2
    assert message in plain(result.stderr)


def test_a_prior_from_a_model_file(tmp_path):
    """Last year's model, in other units of its features' spread, is kept where it helps."""
    rng = np.random.default_rng(1)
    truth = rng.standard_normal(60)
    names = [f"x{i}" for i in range(60)]
    units = 10.0 ** rng.uniform(-2, 2, 60)
    first = pd.DataFrame(rng.standard_normal((300, 60)) * units, columns=names)
    second = pd.DataFrame(rng.standard_normal((30, 60)) * units, columns=names)
    for frame, name in ((first, "first"), (second, "second")):
        frame["y"] = frame[names].to_numpy() / units @ truth + 0.1 * rng.standard_normal(len(frame))
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model = fitted(tmp_path / "first.csv", tmp_path, "--target", "y")
    command = ["fit", str(tmp_path / "second.csv"), "--target", "y", "--json"]
    facts = json.loads(run(*command, "--prior", str(model)).stdout)
    assert facts["share"] > 0.9
    assert facts["cv_score"] > 0.9
    assert facts["cv_score"] > facts["ridge_cv_score"] + 0.2
    assert not any("of the prior" in text for text in facts["warnings"])
    second.drop(columns=["x3", "x7"]).to_csv(tmp_path / "fewer.csv", index=False)
    fewer = json.loads(
        run("fit", str(tmp_path / "fewer.csv"), *command[2:], "--prior", str(model)).stdout
    )
    said = "2 of the 60 columns of the prior are not in this table and count for nothing: x3, x7"
    assert said in fewer["warnings"]
    second.drop(columns="y").assign(z=0.0).to_csv(tmp_path / "other.csv", index=False)
    refused = run("fit", str(tmp_path / "second.csv"), "--target", "y", "--classify",
                  "--prior", str(model))  # fmt: skip
    assert refused.exit_code == 2


def test_semicolons_padding_and_decimal_commas(table, tmp_path):
    numbers = table.drop(columns="kind")
    padded = numbers.rename(columns=lambda name: f" {name} ")
    for name, options in (
        ("plain.csv", {"sep": ","}),
        ("semicolons.csv", {"sep": ";"}),
        ("commas.csv", {"sep": ";", "decimal": ","}),
        ("packed.csv.gz", {"sep": ","}),
        ("tabs.tsv.gz", {"sep": "\t"}),
    ):
        padded.to_csv(tmp_path / name, index=False, **options)
        read = read_table(tmp_path / name)
        assert list(read.columns) == list(numbers.columns), name
        np.testing.assert_allclose(read.to_numpy(), numbers.to_numpy())
    assert dropped(["a,b", "c"], numbers) == ["a", "b", "c"]
    assert dropped(["a,b"], numbers.rename(columns={"a": "a,b"})) == ["a,b"]
    (tmp_path / "twice.csv").write_text("a, a ,y\n1,2,3\n")
    with pytest.raises(TableError, match="columns with the same name: a"):
        read_table(tmp_path / "twice.csv")
    (tmp_path / "cut.csv.gz").write_bytes((tmp_path / "packed.csv.gz").read_bytes()[:60])
    with pytest.raises(TableError, match="cannot be read as a table"):
        read_table(tmp_path / "cut.csv.gz")


def test_more_folds_than_rows_are_refused_and_ridge_stands_beside(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    command = ["fit", str(path), "--target", "price", "--drop", "count,kind"]
    result = run(*command, "--folds", "41")
    assert result.exit_code == 2
    assert "41 folds are more than the 40 rows there are" in plain(result.stderr)
    facts = json.loads(run(*command, "--json").stdout)
    assert facts["ridge_cv_score"] == pytest.approx(facts["cv_score"], abs=0.05)
    text = plain(run(*command).output)
    assert "the same by ridge" in text
    assert "predicted limit" not in text  # the limit is the limit
    for bad in (["--loss", "huber", "--classify"], ["--loss", "absolute"]):
        assert run(*command, *bad).exit_code == 2


def test_a_picture_of_ones_own_table(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    command = ["fit", str(path), "--target", "price", "--drop", "count,kind", "--plot"]
    result = run(*command, str(tmp_path / "fit.png"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fit.png").read_bytes()[:4] == b"\x89PNG"
    assert "must end in .png" in plain(run(*command, str(tmp_path / "fit.gif")).stderr)
    refused = run(*command, str(tmp_path / "fit.svg"), "--loss", "huber")
    assert refused.exit_code == 2


def test_probabilities_far_from_every_class(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    kind = np.array(["x", "y", "z"])[rng.integers(0, 3, 60)]
    path = tmp_path / "data.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(kind=kind).to_csv(path, index=False)
    model = fitted(path, tmp_path, "--target", "kind", "--classify", "--no-standardize")
    far = pd.DataFrame([[1e5, -3e5], [-2e5, 1e5]], columns=["a", "b"])
    far.to_csv(tmp_path / "far.csv", index=False)
    run("predict", str(model), str(tmp_path / "far.csv"), "--out", str(tmp_path / "out.csv"))
    shares = pd.read_csv(tmp_path / "out.csv").iloc[:, 1:].to_numpy()
    best = wn.WeightNormClassifier().fit(X, kind)
    np.testing.assert_allclose(shares, best.predict_proba(far.to_numpy()), atol=1e-9)


def test_no_file_is_written_over_one_that_is_read(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    before = path.read_text()
    base = ["fit", str(path), "--target", "price", "--drop", "count,kind"]
    same = str(tmp_path / "same.json")
    for outputs in (["--out", str(path)], ["--coefficients", str(path)],
                    ["--out", same, "--coefficients", same]):  # fmt: skip
        result = run(*base, *outputs)
        assert result.exit_code == 2
        assert "give another name" in plain(result.stderr)
    model = fitted(path, tmp_path, *base[2:])
    for out in (path, model):
        assert run("predict", str(model), str(path), "--out", str(out)).exit_code == 2
    assert path.read_text() == before
    read_model(model)


def test_what_does_not_go_with_a_prior_or_with_a_model_file(table, tmp_path):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    base = ["--target", "price", "--drop", "count,kind"]
    model = fitted(path, tmp_path, *base)
    for extra in (["--loss", "huber"], ["--method", "gd"], ["--ratio", "2"], ["--seed", "3"],
                  ["--scale", "1"]):  # fmt: skip
        result = run("fit", str(path), *base, "--prior", str(model), *extra)
        assert result.exit_code == 2
        assert f"{extra[0]}: not used with --prior" in plain(result.stderr)
    dated = table.assign(day=pd.to_datetime("2026-01-01") + pd.to_timedelta(table.index % 2, "D"))
    dated.to_parquet(tmp_path / "dated.parquet")
    command = ["fit", str(tmp_path / "dated.parquet"), "--target", "day", "--classify"]
    result = run(*command, "--drop", "price,count,kind", "--out", str(tmp_path / "d.json"))
    assert result.exit_code == 2
    assert "make them text first" in plain(result.stderr)
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b,c\n")
    assert "the table has no rows" in plain(run("predict", str(model), str(empty)).stderr)
    table.assign(b=["?", *table.b[1:]]).to_csv(path, index=False)
    result = run("predict", str(model), str(path))
    assert "the model needs them as numbers (b: '?' in row 1)" in plain(result.stderr)
    table.to_csv(path, index=False)
    assert "it cannot be both" in plain(run("fit", str(path), *base, "--drop", "price").stderr)


def test_advice_where_ridge_is_better_and_where_classes_are_separable(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 39))
    wide = pd.DataFrame(X, columns=[f"x{i}" for i in range(39)])
    wide["y"] = X[:, 0] + rng.standard_normal(40)
    wide["kind"] = np.where(X[:, 0] > 0, "a", "b")
    wide.to_csv(tmp_path / "wide.csv", index=False)
    command = ["fit", str(tmp_path / "wide.csv"), "--json"]
    facts = json.loads(run(*command, "--target", "y", "--drop", "kind").stdout)
    assert facts["ridge_cv_score"] > facts["cv_score"]
    assert any("predicts better here" in text for text in facts["warnings"])
    facts = json.loads(run(*command, "--target", "kind", "--classify", "--drop", "y").stdout)
    assert facts["baseline"].startswith("logistic regression")
    assert any("trust the labels only" in text for text in facts["warnings"])
