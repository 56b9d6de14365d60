"""The user's own data in a sweep file: npz, npy or a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._support.files import is_regular
from .._support.numeric import Array
from ..problems.coordinates.factorisation import require_squares
from ..tables.read import TableError, read_table, split_table

ZIP, NPY = b"PK", b"\x93NUMPY"  # how npz and npy files begin


@dataclass(frozen=True, eq=False)
class Data:
    """A and y, and a hash of their numbers."""

    A: Array
    y: Array

    @property
    def digest(self) -> str:
        """A hash of the numbers: data that changed makes other shards."""
        digest = hashlib.sha256()
        for array in (self.A, self.y):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def load_npz(path: Path) -> Data:
    """A file of np.savez with the arrays A and y; nothing in it is unpickled."""
    with _opened(path) as content:
        if not isinstance(content, np.lib.npyio.NpzFile):
            raise ValueError(
                f"{path.name} is not an npz file; write it with np.savez({path.name!r}, A=A, y=y)"
            )
        missing = [name for name in ("A", "y") if name not in content]
        if missing:
            names = ", ".join(content.files) or "nothing"
            raise ValueError(f"{path.name} must hold arrays A and y, and holds {names}")
        with _reading(path):
            A, y = content["A"], content["y"]
        return _checked(path.name, A, y)


def load_npy(A: Path, y: Path) -> Data:
    """Two files of np.save."""
    return _checked(f"{A.name}, {y.name}", _array(A), _array(y))


def load_table(path: Path, target: str, drop: list[str]) -> Data:
    """A CSV, TSV or Parquet file; every other column is a feature, as it stands."""
    try:
        features, values = split_table(read_table(path), target, drop, classify=False)
    except TableError as error:
        text = str(error).replace("--drop NAME", 'drop = ["NAME"]')
        raise ValueError(text.replace("or use --classify", "as 0 and 1 say")) from None
    return _checked(path.name, features.to_numpy(dtype=np.float64), values.to_numpy())


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not is_regular(path):
        raise ValueError(f"{path.name} does not exist in {path.parent}")
    with _reading(path):
        file = path.open("rb")  # by itself: np.load leaves what it cannot read open
    with file:
        with _reading(path):
            if file.read(len(ZIP)) not in (ZIP, NPY[: len(ZIP)]):
                raise ValueError("it is not a file of np.savez or np.save")
            file.seek(0)
            content = np.load(file, allow_pickle=False)
        yield content


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever is wrong with the bytes, and headers that claim too much
        raise ValueError(f"{path} cannot be read: {error}") from None


def _array(path: Path) -> Any:
    with _opened(path) as content:
        if not isinstance(content, np.ndarray):
            raise ValueError(f"{path.name} must hold one array; write it with np.save")
        return content


def _checked(name: str, A: Any, y: Any) -> Data:
    """Numbers only, of shapes that fit."""
    for array in (A, y):
        if np.asarray(array).dtype.kind not in "biuf":
            kind = np.asarray(array).dtype
            raise ValueError(f"{name}: A and y must be arrays of real numbers, got {kind}")
    rows, values = np.asarray(A, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if rows.ndim != 2 or values.ndim != 1 or len(rows) != len(values):
        raise ValueError(
            f"{name}: A must have shape (m, d) and y (m,), got {rows.shape} and {values.shape}"
        )
    if not (np.isfinite(rows).all() and np.isfinite(values).all()):
        raise ValueError(f"{name}: A and y must be finite; remove or replace NaN and infinities")
    try:
        require_squares(rows)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return Data(rows, values)
