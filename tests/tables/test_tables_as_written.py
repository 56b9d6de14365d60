"""Tables mean what is written in them: names, row names, labels and whole numbers."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.support.commands import plain, run
from weightnorm.tables.read import TableError, number_columns, read_table, split_table


def written(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,a,y", "columns with the same name: a"),
        ("a, a ,y", "columns with the same name: a"),  # spaces around a name are no part of it
        ("a,a.1,a", "columns with the same name: a"),
        ("a,,y", "column 2 has no name"),
        (",,y", "column 2 has no name"),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_without_a_name_of_their_own_are_refused(tmp_path, header, message, separator):
    text = f"{header}\n1,2,3\n4,5,6\n".replace(",", separator)
    path = written(tmp_path, text, "data.tsv" if separator == "\t" else "data.csv")
    with pytest.raises(TableError, match=message):
        read_table(path)


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
@pytest.mark.parametrize("names", [("0", "1"), ("17", "4"), ("anna", "bert")])
def test_row_names_are_left_out(tmp_path, first, names):
    one, two = names
    table = read_table(written(tmp_path, f"{first},a,y\n{one},1,2\n{two},3,4\n"))
    assert list(table.columns) == ["a", "y"]
    assert table["a"].tolist() == [1, 3]


@pytest.mark.parametrize("numbers", [("0.5", "1.5"), ("3", "3"), ("1", "")])
def test_numbers_without_a_name_that_do_not_number_the_rows_are_refused(tmp_path, numbers):
    one, two = numbers
    text = f",a,y\n{one},1,2\n{two},3,4\n"
    with pytest.raises(TableError, match=r"the first column of data\.csv has no name"):
        read_table(written(tmp_path, text))
    named = read_table(written(tmp_path, "Unnamed: 0" + text))
    assert list(named.columns) == ["Unnamed: 0", "a", "y"]


def test_a_named_index_of_parquet_is_a_column(tmp_path):
    path, table = tmp_path / "data.parquet", pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0]})
    table.to_parquet(path)
    assert list(read_table(path).columns) == ["a", "y"]
    table.set_index("a").to_parquet(path)
    assert read_table(path)["a"].tolist() == [1.0, 2.0]
    table.set_index(["a", "y"]).to_parquet(path)
    assert sorted(read_table(path).columns) == ["a", "y"]
    table.set_axis(["u", "v"]).to_parquet(path)
    assert list(read_table(path).columns) == ["a", "y"]
    table.set_axis([0.5, 1.5]).to_parquet(path)
    with pytest.raises(TableError, match=r"the index of data\.parquet has no name"):
        read_table(path)


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (["007", "12"], ["007", "12"]),
        (["-01", "1"], ["-01", "1"]),
        (["7", "12"], [7, 12]),
        (["0", "1"], [0, 1]),
        (["0.5", "1.5"], [0.5, 1.5]),
        (["1", "1.0"], [1.0, 1.0]),
        ([str(10**25), str(10**25 + 1)], [str(10**25), str(10**25 + 1)]),
        ([str(2**63), f"-{2**63 - 1}"], [str(2**63), f"-{2**63 - 1}"]),
    ],
)
def test_labels_stay_what_they_are(tmp_path, labels, kept):
    one, two = labels
    path = written(tmp_path, f"a,y\n1,{one}\n2,{two}\n")
    assert read_table(path, labels="y")["y"].tolist() == kept


def test_labels_with_zeros_before_them_are_fitted_and_predicted(tmp_path):
    lines = [f"{a},{'007' if a > 0 else '012'}" for a in np.linspace(-1.0, 1.0, 12).round(3)]
    path, model = written(tmp_path, "\n".join(["a,y", *lines])), tmp_path / "model.json"
    fitted = run("fit", path, "--target", "y", "--classify", "--folds", "2", "--out", model)
    assert fitted.exit_code == 0, fitted.output
    out = run("predict", model, path).stdout.splitlines()
    assert [line.split(",")[0] for line in out] == ["prediction", *["012"] * 6, *["007"] * 6]


@pytest.mark.parametrize("where", ["a", "y"])
@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_a_float_rounds_are_refused(where, kind):
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "y": [5.0, 6.0]})
    exact = table.assign(**{where: pd.array([2**53, 2**54], dtype=kind)})
    features, target = split_table(exact, "y", [], classify=False)
    assert features.shape == (2, 2)
    assert len(target) == 2
    rounded = table.assign(**{where: pd.array([2**53 + 1, 2**53], dtype=kind)})
    message = f"{where} has whole numbers that floating point rounds, {2**53 + 1} to {2**53};"
    with pytest.raises(TableError, match=re.escape(message)):
        split_table(rounded, "y", [], classify=False)


def test_whole_numbers_beyond_64_bits_are_refused_with_one_of_them(tmp_path):
    table = read_table(written(tmp_path, f"a,y\n{10**25},1\n{10**25 + 1},2\n"))
    with pytest.raises(TableError, match=f"a: of the type .*'{10**25}' in row 1"):
        number_columns(table)


def test_an_open_quote_is_named_by_the_line_it_opens_in(tmp_path):
    path = written(tmp_path, 'a,b,y\n1,2,3\n2,"4,5\n3,4,5\n4,5,6\n')
    done = run("fit", path, "--target", "y")
    assert done.exit_code == 2
    said = "line 3: the header has 3 fields and this line 2; a quote that opens here is not closed"
    assert said in plain(done.output)


def test_a_repeated_key_in_a_model_file_is_refused(tmp_path):
    rows = "\n".join(f"{i},{i * i % 7},{3 * i}" for i in range(12))
    table, model = written(tmp_path, f"a,b,y\n{rows}\n"), tmp_path / "model.json"
    assert run("fit", table, "--target", "y", "--out", model).exit_code == 0
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace('"means"', '"means": [0, 0],\n "means"'), encoding="utf-8")
    done = run("predict", model, table)
    assert done.exit_code == 2
    assert "it has the key 'means' more than once" in plain(done.output)
