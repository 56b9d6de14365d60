"""Shards on disk: plain npz files with their key and a hash of their numbers, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .plan import VARIABLES, Shard

Arrays = dict[str, NDArray[Any]]


def shard_path(folder: Path, shard: Shard) -> Path:
    """Where a shard lives."""
    return folder / f"{shard.key[:32]}.npz"


def write_shard(folder: Path, shard: Shard, arrays: Arrays) -> None:
    """Write a shard atomically: a crash leaves the old file, or none, and at worst a stray .part."""
    write_arrays(shard_path(folder, shard), shard.key, arrays)


def write_arrays(path: Path, key: str, arrays: Arrays) -> None:
    """Write arrays with the key of what they are and a hash of their numbers, atomically."""
    buffer = io.BytesIO()
    content: dict[str, Any] = {"key": np.array(key), "digest": np.array(_digest(arrays)), **arrays}
    np.savez(buffer, **content)
    write_bytes(path, buffer.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, on the disk and not only on its way there."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_shard(folder: Path, shard: Shard, shape: tuple[int, int]) -> Arrays | None:
    """A shard's arrays; None if it must be computed (again)."""
    arrays = read_arrays(shard_path(folder, shard), shard.key, VARIABLES)
    return None if arrays is None or any(array.shape != shape for array in arrays.values()) else arrays


def read_arrays(path: Path, key: str, names: Iterable[str]) -> Arrays | None:
    """The arrays of these names; None if the file is not there, truncated, foreign or damaged."""
    expected = tuple(names)
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            if str(file["key"]) != key or set(file.files) != {"key", "digest", *expected}:
                return None
            arrays = {name: file[name] for name in expected}
            digest = str(file["digest"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return arrays if digest == _digest(arrays) else None


def remove_strays(folder: Path) -> None:
    """Delete what killed writers left behind, if it is old enough not to be someone's work in progress."""
    import time

    for stray in folder.glob(".*.part"):
        try:
            if time.time() - stray.stat().st_mtime > 3600:
                stray.unlink()
        except OSError:
            continue


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
