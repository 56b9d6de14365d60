"""Shards on disk: plain npz files with their key and a hash of their numbers, written whole or
not at all.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .._support.files import PART, is_regular, write_bytes
from .._support.sources import AT, ENDING
from .plan import Shard

ENVIRONMENT = "environment"  # the name of the member that holds it
STEM = 32  # digits of a shard's hash in the name of its file

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Stored:
    """What a file of the store holds: arrays, and the environment they were computed in."""

    arrays: Arrays
    environment: str


def shard_path(folder: Path, shard: Shard) -> Path:
    """Where a shard lives: its name says what it is and which code computed it."""
    asked, _, code = shard.key.partition(AT)
    return folder / f"{asked[:STEM]}{AT}{code}{ENDING}"


def write_shard(folder: Path, shard: Shard, arrays: Arrays, environment: str = "") -> None:
    """Write a shard atomically: a crash leaves the old file, or none, and at worst a stray
    .part.
    """
    write_arrays(shard_path(folder, shard), shard.key, arrays, environment)


def write_arrays(path: Path, key: str, arrays: Arrays, environment: str = "") -> None:
    """Write arrays with the key of what they are, the environment they were computed in and a
    hash of both, atomically.
    """
    buffer = io.BytesIO()
    content: dict[str, Any] = {ENVIRONMENT: np.array(environment), **arrays}
    np.savez(buffer, key=np.array(key), digest=np.array(_digest(content)), **content)
    write_bytes(path, buffer.getvalue())


def read_shard(folder: Path, shard: Shard, shapes: Mapping[str, tuple[int, ...]]) -> Stored | None:
    """A shard's content; None if it must be computed (again)."""
    found = _read(shard_path(folder, shard), shard.key, tuple(shapes))
    if found is None:
        return None
    wrong = any(found.arrays[name].shape != shape for name, shape in shapes.items())
    return None if wrong else found


def read_arrays(path: Path, key: str, names: Iterable[str]) -> Arrays | None:
    """The arrays of these names; None if the file is not there, truncated, foreign or damaged."""
    found = _read(path, key, tuple(names))
    return None if found is None else found.arrays


def environment_at(path: Path) -> str | None:
    """The environment of whatever shard is at `path`; "" in the format before 3, which did not
    say, and None for what is not a shard.
    """
    try:
        content = _content(path)
        return str(content.get(ENVIRONMENT, "")) if "key" in content else None
    except Exception:  # whatever is wrong with the bytes
        return None


def _read(path: Path, key: str, names: tuple[str, ...]) -> Stored | None:
    try:
        content = _content(path)
        if str(content.pop("key")) != key or set(content) != {"digest", ENVIRONMENT, *names}:
            return None
        if str(content.pop("digest")) != _digest(content):
            return None
        return Stored({name: content[name] for name in names}, str(content[ENVIRONMENT]))
    except Exception:  # whatever is wrong with the bytes, the shard is computed again
        return None


def _content(path: Path) -> Arrays:
    if not is_regular(path):  # a pipe would be waited for, and a device never ends
        raise FileNotFoundError(path)
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        return _members(archive, os.fstat(file.fileno()).st_size)


def _members(archive: zipfile.ZipFile, size: int) -> Arrays:
    """All arrays of an archive of `size` bytes.

    Shards are stored uncompressed, so no array can be larger than its file. A forged header that
    claims more is refused before anything of the claimed size is allocated.
    """
    members = archive.infolist()
    if sum(member.file_size for member in members) > size:
        raise ValueError("the members claim to be larger than the file")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("compressed, which shards never are")
    return {
        member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in members
    }


def _array(content: bytes) -> NDArray[Any]:
    """An array from the bytes of an npy file of version 1: a look at them, so nothing is unpickled.

    A header that claims more, or less, than there is makes `reshape` raise.
    """
    file = io.BytesIO(content)
    if npy.read_magic(file) != (1, 0):
        raise ValueError("not written by this program")
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    return (
        np.frombuffer(content, dtype, offset=file.tell())
        .reshape(shape, order="F" if fortran else "C")
        .copy()
    )


def remove_strays(folder: Path) -> None:
    """Delete what killed writers left behind, if it is old enough not to be someone's work in
    progress.
    """
    for stray in folder.glob(f".*{PART}"):
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
