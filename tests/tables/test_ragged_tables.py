"""Tables whose lines do not have as many fields as their header: refused, never shifted."""

import gzip
import re

import pytest

from tests.support.commands import plain, run
from weightnorm.tables.read import TableError, read_table

RAGGED = {
    "a,y\n1,5,2\n": (2, 2, 3),  # pandas: a = 5, y = 2
    "a,y\n0,5,2\n1,6,3\n": (2, 2, 3),
    "a,y\n\n1,2\n\n3,4\n5,6,7\n": (6, 2, 3),
    "a,y\n1,5,\n2,6,\n": (2, 2, 3),
    "a,y\n1,2,3,4\n": (2, 2, 4),
    "a,b,y\n1,2,3\n4,5\n": (3, 3, 2),  # pandas: y is missing
    'a,"b\nc",y\n1,2,3\n4,5\n': (4, 3, 2),
    "a;b;y\n1,5;2;3\n4;5;6;7\n": (3, 3, 4),
}


@pytest.mark.parametrize("text", RAGGED)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_a_line_with_more_or_fewer_fields_than_the_header_is_refused(tmp_path, text, suffix):
    path, (line, header, fields) = tmp_path / f"data{suffix}", RAGGED[text]
    if suffix == ".tsv":
        text = text.replace(";" if ";" in text else ",", "\t")
    path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
    message = f"{path.name}, line {line}: the header has {header} fields and this line {fields};"
    with pytest.raises(TableError, match=re.escape(message)):
        read_table(path)


def test_a_short_line_is_refused_where_its_column_is_left_out(tmp_path):
    """b, say, was forgotten on one line: y would be the next column's number."""
    lines = [f"{i},{i * i % 7},{3 * i},{i}" for i in range(12)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,y,z", *lines[:5], "1,3,4", *lines[5:]]))
    result = run("fit", path, "--target", "y", "--drop", "z")
    assert result.exit_code == 2
    assert "data.csv, line 7: the header has 4 fields and this line 3;" in plain(result.stderr)


@pytest.mark.parametrize("command", ["fit", "predict", "explore", "sweep"])
def test_no_command_shifts_the_columns_of_a_ragged_table(table, tmp_path, command):
    path, model = table, tmp_path / "model.json"
    assert run("fit", path, "--target", "y", "--out", model).exit_code == 0
    rows = "".join(f"{i},{i},{i},{i % 3},{i * i}\n" for i in range(12))
    path.write_text(f"a,b,c,d\n{rows}")
    (tmp_path / "sweep.toml").write_text(
        'name = "s"\n[problems]\nkind = "data"\nfile = "data.csv"\ntarget = "d"\n'
        "[starts]\nscales = [1.0]\n"
        '[methods.gd]\nkind = "gd"\nstep = 0.01\n'
    )
    arguments = {
        "fit": ("fit", path, "--target", "d"),
        "predict": ("predict", model, path),
        "explore": ("explore", path, "--target", "d", "--no-open", "--out", tmp_path / "e.html"),
        "sweep": ("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out"),
    }[command]
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "data.csv, line 2: the header has 4 fields and this line 5;" in plain(result.stderr)


def test_an_even_table_may_have_blank_lines_gaps_and_commas_for_points(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("\ufeffa;b;y\n\n1;2;3\n   \n1,5;;2,5\n4;5;\n", encoding="utf-8")
    read = read_table(path)
    assert list(read.columns) == ["a", "b", "y"]
    assert len(read) == 3
    assert read.iloc[-1].isna().tolist() == [False, False, True]
    path.write_text('\ufeff"a,b",y\n1,2\n', encoding="utf-8")
    assert list(read_table(path).columns) == ["a,b", "y"]
