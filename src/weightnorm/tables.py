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

from .problems.factorisation import LARGEST

LARGEST_TARGET = 1e100  # held-out predictions may be off by many orders of magnitude more


class TableError(ValueError):
    """A table that cannot be fitted; the message says what is wrong and what to do."""


def read_table(path: Path) -> pd.DataFrame:
    """A CSV, TSV or Parquet file; text may be compressed (.gz), and separated by semicolons."""
    if not path.is_file():
        raise TableError(f"{path} does not exist, or is no file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = (
        suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    )
    try:
        if kind in (".parquet", ".pq"):
            return pd.read_parquet(path)
        if kind in (".csv", ".txt", ".tsv"):
            return _read_text(path, "\t" if kind == ".tsv" else ",")
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


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    header = next((row for _, row in _rows(path, separator)), [])
    if separator == "," and len(header) == 1 and ";" in header[0]:
        separator = ";"
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
    names = [str(name).strip() for name in table.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(f"columns with the same name: {', '.join(twice[:8])}; rename them")
    table.columns = pd.Index(names)
    index = [name for name in names[:1] if name.startswith("Unnamed:")]
    return table.drop(columns=index)  # the index that pandas writes is no feature


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not blank, cut into fields, each with its number."""
    zipped = path.suffix.lower() == ".gz"
    with (gzip.open if zipped else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield reader.line_num, row


def _require_even(path: Path, separator: str, lines: int | None = None) -> None:
    """Refuse a line, among the first `lines` or all, with more or fewer fields than the header:
    its numbers would stand in other columns.
    """
    rows = _rows(path, separator)
    names = len(next(rows, (0, []))[1])
    for line, row in islice(rows, lines):
        if len(row) != names:
            raise TableError(
                f"{path.name}, line {line}: the header has {names} field{'s' * (names != 1)} and "
                f"this line {len(row)}; name every column, and write every field (an empty one, "
                "too) on every line"
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
    """The first value that is no number, and its row."""
    wrong = pd.to_numeric(column, errors="coerce").isna() & column.notna()
    where = np.flatnonzero(wrong.to_numpy())
    if not where.size:
        return f"{column.name}: of the type {column.dtype}"
    return f"{column.name}: {str(column.iloc[where[0]])!r:.40} in row {where[0] + 1}"


def _refuse_missing(table: pd.DataFrame) -> None:
    missing = {str(name): int(count) for name, count in table.isna().sum().items() if count}
    if missing:
        listed = ", ".join(f"{name} ({count})" for name, count in list(missing.items())[:8])
        raise TableError(f"missing values in {listed}; fill them, or remove the rows or columns")


def _target(values: Any, name: str, classify: bool) -> Any:
    """A target without gaps, and of numbers unless it is a class."""
    if not classify and not pd.api.types.is_numeric_dtype(values):
        raise TableError(f"the target {name!r} is not numeric; encode it, or use --classify")
    _refuse_missing(values.to_frame())
    if not classify:
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
            "in the scores; "
            f"rescale it to between {1.0 / LARGEST_TARGET:g} and {LARGEST_TARGET:g}"
        )
