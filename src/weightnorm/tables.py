"""Tables on disk -> features and a target, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .problems.factorisation import LARGEST

LARGEST_TARGET = 1e100  # held-out predictions may be off by many orders of magnitude more


class TableError(ValueError):
    """A table that cannot be fitted; the message says what is wrong and what to do."""


def read_table(path: Path) -> pd.DataFrame:
    """A CSV or Parquet file."""
    if not path.is_file():
        raise TableError(f"{path} does not exist, or is no file")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pd.read_parquet(path)
        if path.suffix.lower() in (".csv", ".txt", ".tsv"):
            table = pd.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",")
            index = [name for name in table.columns[:1] if str(name).startswith("Unnamed:")]
            return table.drop(columns=index)  # the index that pandas writes is no feature
    except ImportError as error:
        raise TableError(
            f"reading {path.name} needs pyarrow; install weightnorm[all] ({error})"
        ) from None
    except (ValueError, OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path.name} cannot be read as a table: {error}") from None
    raise TableError(f"{path.name} must be a .csv, .tsv or .parquet file")


def split_table(
    table: pd.DataFrame, target: str, drop: list[str], classify: bool
) -> tuple[pd.DataFrame, Any]:
    """Features and target, all numbers and none missing (the target may be text for a
    classifier).
    """
    for name in (target, *drop):
        if name not in table.columns:
            known = ", ".join(map(str, table.columns[:12])) + (
                " …" if len(table.columns) > 12 else ""
            )
            raise TableError(f"there is no column {name!r}; the columns are {known}")
    features = table.drop(columns=[target, *drop])
    if features.shape[1] == 0:
        raise TableError("there is no column left to fit with")
    text = [
        str(name) for name in features.columns if not pd.api.types.is_numeric_dtype(features[name])
    ]
    if text:
        raise TableError(
            f"columns that are not numbers: {', '.join(text[:8])}; encode them, or leave them out "
            "with --drop NAME"
        )
    values = table[target]
    if not classify and not pd.api.types.is_numeric_dtype(values):
        raise TableError(f"the target {target!r} is not numeric; encode it, or use --classify")
    missing = {
        str(name): int(count)
        for name, count in table[[*features.columns, target]].isna().sum().items()
        if count
    }
    if missing:
        listed = ", ".join(f"{name} ({count})" for name, count in list(missing.items())[:8])
        raise TableError(f"missing values in {listed}; fill them, or remove the rows or columns")
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
    if not classify:
        _check_target(target, values.to_numpy(dtype=np.float64))
    return features, values


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
