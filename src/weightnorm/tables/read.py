"""Tables on disk -> features and a target, checked."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._support.files import is_regular
from .._support.numeric import LARGEST

LARGEST_TARGET = 1e100  # held-out predictions may be off by many orders of magnitude more


EXACT = 2**53  # whole numbers beyond it may be rounded by a float
UNNAMED = (
    "the {1} of {0} has no name, and its numbers do not number the rows; name it to use it, or "
    "remove it"
)


class TableError(ValueError):
    """A table that cannot be fitted; the message says what is wrong and what to do."""


def read_table(path: Path, labels: str | None = None) -> pd.DataFrame:
    """A CSV, TSV or Parquet file; text may be compressed (.gz), and separated by semicolons.

    Row names are left out: a first column, or an index, without a name that holds text or whole
    numbers, none twice. `labels` is a column of class labels: they stay as they are written where
    a number would not keep that, as 007.
    """
    if not is_regular(path):
        raise TableError(f"{path} does not exist, or is not a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = (
        suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    )
    try:
        if kind in (".parquet", ".pq"):
            return _read_parquet(path)
        if kind in (".csv", ".txt", ".tsv"):
            return _read_text(path, "\t" if kind == ".tsv" else ",", labels)
    except ImportError as error:
        raise TableError(
            f"reading {path.name} needs pyarrow; install weightnorm[all] ({error})"
        ) from None
    except TableError:
        raise
    except (ValueError, OSError, EOFError, csv.Error) as error:
        raise TableError(f"{path.name} cannot be read as a table: {error}") from None
    raise TableError(
        f"{path.name} must be a .csv, .tsv or .parquet file (text also as .csv.gz or .tsv.gz)"
    )


def _read_parquet(path: Path) -> pd.DataFrame:
    table = pd.read_parquet(path)
    if any(name is not None for name in table.index.names):
        table = table.reset_index()  # a column of the file, like every other
    elif table.index.nlevels == 1 and not _are_row_names(table.index.to_series()):
        raise TableError(UNNAMED.format(path.name, "index"))
    table.columns = pd.Index(_unique([str(name) for name in table.columns]))
    return table


def _read_text(path: Path, separator: str, labels: str | None) -> pd.DataFrame:
    header = next((row for _, _, row in _rows(path, separator)), [])
    if separator == "," and len(header) == 1 and ";" in header[0]:
        separator = ";"
        header = next(_rows(path, separator))[2]
    names = _unique([name.strip() for name in header])
    _require_even(path, separator, 1)  # from a longer first line pandas takes columns for an index
    try:
        table = pd.read_csv(path, sep=separator, skipinitialspace=True)
    except pd.errors.ParserError:
        _require_even(path, separator)
        raise
    if table.iloc[:, -1].isna().any():  # as pandas fills a shorter line
        _require_even(path, separator)
    if separator == ";":
        text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
        commas = [
            name for name in text if table[name].astype(str).str.fullmatch(r"\s*-?\d+,\d+\s*").all()
        ]
        if commas:
            table = pd.read_csv(path, sep=";", decimal=",", skipinitialspace=True)
    table.columns = pd.Index(names)
    if labels in names:
        written = pd.read_csv(path, sep=separator, skipinitialspace=True, dtype=str)
        table[labels] = _as_written(table[labels], written.iloc[:, names.index(labels)])
    first = table.iloc[:, 0]
    if names[0] in ("", "Unnamed: 0") and _are_row_names(first):
        return table.iloc[:, 1:]
    if not names[0]:
        raise TableError(UNNAMED.format(path.name, "first column"))
    return table


def _unique(names: list[str]) -> list[str]:
    """Names of columns, none twice, and none but the first empty."""
    twice = sorted({name for name in names if names.count(name) > 1 and name})
    if twice:
        raise TableError(f"columns with the same name: {', '.join(twice[:8])}; rename them")
    empty = [place for place, name in enumerate(names, 1) if not name and place > 1]
    if empty:
        raise TableError(f"column {empty[0]} has no name; name it, or remove it")
    return names


def _are_row_names(column: Any) -> bool:
    """Whether a column without a name holds text, or numbers rows as the index of pandas does."""
    types = pd.api.types
    if types.is_numeric_dtype(column):
        return bool(types.is_integer_dtype(column) and column.is_unique)
    return True


def _as_written(numbers: Any, texts: Any) -> Any:
    """Labels as numbers, or as the texts they were read from where those say more: 007, or whole
    numbers that a float rounds.
    """
    texts = texts.str.strip()
    padded = bool(texts.str.fullmatch(r"[+-]?0\d+").any())
    whole = bool(texts.str.fullmatch(r"[+-]?\d+").all())
    return texts if padded or (whole and not pd.api.types.is_integer_dtype(numbers)) else numbers


def _rows(path: Path, separator: str) -> Iterator[tuple[int, int, list[str]]]:
    """The lines that are not blank, cut into fields, each with its first and last number: a quoted
    field may go over several.
    """
    zipped = path.suffix.lower() == ".gz"
    with (gzip.open if zipped else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        first = 1
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield first, reader.line_num, row
            first = reader.line_num + 1


def _require_even(path: Path, separator: str, lines: int | None = None) -> None:
    """Refuse a line, among the first `lines` or all, with more or fewer fields than the header:
    its numbers would stand in other columns.
    """
    rows = _rows(path, separator)
    names = len(next(rows, (0, 0, []))[2])
    for line, last, row in islice(rows, lines):
        if len(row) != names:
            advice = "name every column, and write every field (an empty one, too) on every line"
            if last > line:
                advice = f"a quote that opens here is not closed before line {last}"
            raise TableError(
                f"{path.name}, line {line}: the header has {names} field{'s' * (names != 1)} and "
                f"this line {len(row)}; {advice}"
            )


def dropped(names: list[str], table: pd.DataFrame) -> list[str]:
    """The columns to leave out: names, or several of them with commas between."""
    found = []
    for name in names:
        parts = [name] if name in table.columns else [part.strip() for part in name.split(",")]
        found += [part for part in parts if part]
    return found


def split_table(
    table: pd.DataFrame, target: str, drop: list[str], classify: bool
) -> tuple[pd.DataFrame, Any]:
    """Features and target, all numbers and none missing (the target may be text for a
    classifier).
    """
    if target in drop:
        raise TableError(f"{target!r} is the target, and to be left out; it cannot be both")
    for name in (target, *drop):
        if name not in table.columns:
            known = ", ".join(map(str, table.columns[:12])) + (
                " …" if len(table.columns) > 12 else ""
            )
            raise TableError(f"there is no column {name!r}; the columns are {known}")
    features = number_columns(table.drop(columns=[target, *drop]))
    return features, _target(table[target], target, classify)


def number_columns(
    features: pd.DataFrame, advice: str = "encode them, or leave them out with --drop NAME"
) -> pd.DataFrame:
    """Features that are all numbers, none missing, infinite or too large to square."""
    if features.shape[1] == 0:
        raise TableError("there is no column left to fit with")
    if not len(features):
        raise TableError("the table has no rows")
    text = [name for name in features.columns if not pd.api.types.is_numeric_dtype(features[name])]
    if text:
        shown = ", ".join(map(str, text[:8]))
        raise TableError(
            f"columns that are not numbers: {shown}; {advice} ({_first_text(features[text[0]])})"
        )
    _refuse_missing(features)
    _refuse_rounded(features)
    numbers = features.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        where = features.columns[~np.isfinite(numbers).all(axis=0)]
        raise TableError(
            f"infinite values in {', '.join(map(str, where[:8]))}; remove or replace them"
        )
    huge = np.abs(numbers).max(axis=0) > LARGEST
    if huge.any():
        raise TableError(
            f"values whose squares overflow in {', '.join(map(str, features.columns[huge][:8]))}; "
            "rescale them"
        )
    return features


def _first_text(column: Any) -> str:
    """The first value that is not a number, and its row."""
    wrong = pd.to_numeric(column, errors="coerce").isna() & column.notna()
    where = np.flatnonzero(wrong.to_numpy())
    if not where.size:
        return f"{column.name}: of the type {column.dtype}, {str(column.iloc[0])!r:.40} in row 1"
    return f"{column.name}: {str(column.iloc[where[0]])!r:.40} in row {where[0] + 1}"


def _refuse_missing(table: pd.DataFrame) -> None:
    missing = {str(name): int(count) for name, count in table.isna().sum().items() if count}
    if missing:
        listed = ", ".join(f"{name} ({count})" for name, count in list(missing.items())[:8])
        raise TableError(f"missing values in {listed}; fill them, or remove the rows or columns")


def _refuse_rounded(table: pd.DataFrame) -> None:
    """Refuse whole numbers that a float cannot hold: what tells them apart may be what is lost."""
    for name in table.columns[[pd.api.types.is_integer_dtype(kind) for kind in table.dtypes]]:
        column = table[name]
        if column.max() <= EXACT and column.min() >= -EXACT:
            continue
        rounded = next((v for v in map(int, column) if int(float(v)) != v), None)
        if rounded is not None:
            raise TableError(
                f"{name} has whole numbers that floating point rounds, {rounded} to "
                f"{int(float(rounded))}; take a constant off them, or give them as decimals"
            )


def _target(values: Any, name: str, classify: bool) -> Any:
    """A target without gaps, and of numbers unless it is a class."""
    if not classify and not pd.api.types.is_numeric_dtype(values):
        raise TableError(f"the target {name!r} is not numeric; encode it, or use --classify")
    _refuse_missing(values.to_frame())
    if not classify:
        _refuse_rounded(values.to_frame())
        _check_target(name, values.to_numpy(dtype=np.float64))
    return values


def _check_target(name: str, values: Any) -> None:
    """Refuse a target whose scores, sums of squares, would over- or underflow."""
    if not np.isfinite(values).all():
        raise TableError(f"infinite values in the target {name!r}; remove or replace them")
    largest = float(np.abs(values).max())
    if largest > LARGEST_TARGET or 0.0 < largest < 1.0 / LARGEST_TARGET:
        raise TableError(
            f"the target {name!r} has values up to {largest:.3g}, whose squares over- or underflow "
            f"in the scores; rescale it to between {1.0 / LARGEST_TARGET:g} and {LARGEST_TARGET:g}"
        )
