"""Shards on disk, damaged in every way: read gives the right arrays or None, and never raises."""

import io
import os
import random
import struct
import sys
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from weightnorm.sweeps import store

KEY = "k" * 64
ARRAYS = {
    "norm": np.linspace(0.0, 1.0, 12).reshape(3, 4),
    "status": np.arange(12, dtype=np.int8).reshape(3, 4),
}


@pytest.fixture
def path(tmp_path):
    store.write_arrays(tmp_path / "shard.npz", KEY, ARRAYS)
    return tmp_path / "shard.npz"


def is_none_or_right(path):
    found = store.read_arrays(path, KEY, ARRAYS)
    if found is None:
        return True
    return all(
        np.array_equal(found[name], ARRAYS[name]) and found[name].dtype == ARRAYS[name].dtype
        for name in ARRAYS
    )


def test_what_is_written_is_read(path):
    found = store.read_arrays(path, KEY, ARRAYS)
    assert found is not None
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable
    assert store.read_arrays(path, "another key", ARRAYS) is None
    assert store.read_arrays(path, KEY, ["norm"]) is None


@pytest.mark.parametrize("kind", ["flip", "overwrite", "truncate", "insert", "headers"])
def test_random_damage(path, kind):
    """Three hundred shards of each kind; the damage is drawn from the seed that a failure names."""
    whole = path.read_bytes()
    places = [
        at
        for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY")
        for at in _all(whole, mark)
    ]
    damaged = 0
    for seed in range(300):
        chance, content = random.Random(seed), bytearray(whole)
        if kind == "truncate":
            content = content[: chance.randrange(len(content))]
        elif kind == "insert":
            at = chance.randrange(len(content))
            content[at:at] = chance.randbytes(chance.randint(1, 40))
        elif kind == "headers":  # where the structure is: sizes, compression, flags, shapes, types
            content[min(chance.choice(places) + chance.randrange(64), len(content) - 1)] = (
                chance.randrange(256)
            )
        else:
            for _ in range(chance.randint(1, 8)):
                at = chance.randrange(len(content))
                content[at] = (
                    content[at] ^ (1 << chance.randrange(8))
                    if kind == "flip"
                    else chance.randrange(256)
                )
        path.write_bytes(content)
        assert is_none_or_right(path), f"seed {seed}"
        damaged += store.read_arrays(path, KEY, ARRAYS) is None
    assert damaged > 30


def _all(content, mark):
    at = content.find(mark)
    while at >= 0:
        yield at
        at = content.find(mark, at + 1)


@pytest.mark.parametrize("method", [1, 8, 9, 12, 14, 93, 97])
def test_a_compression_that_is_not_ours(path, method):
    """Bytes that claim to be compressed: unknown methods, deflate, bzip2 and LZMA of garbage."""
    content = bytearray(path.read_bytes())
    for at in _all(bytes(content), b"PK\x01\x02"):
        content[at + 10 : at + 12] = struct.pack("<H", method)
    for at in _all(bytes(content), b"PK\x03\x04"):
        content[at + 8 : at + 10] = struct.pack("<H", method)
    path.write_bytes(content)
    assert store.read_arrays(path, KEY, ARRAYS) is None


def test_an_encrypted_shard(path):
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        for at in _all(bytes(content), mark):
            content[at + offset] |= 1
    path.write_bytes(content)
    assert store.read_arrays(path, KEY, ARRAYS) is None


def _forged(path, compression):
    """A well-formed archive whose array claims 16 GB; compressed, 100 MB of them are there."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2_000_000_000,)}
    )
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in (("key", KEY), ("digest", "0" * 64)):
            member = io.BytesIO()
            np.save(member, np.array(text))
            archive.writestr(f"{name}.npy", member.getvalue())
        filling = bytes(100_000_000 if compression else 100)
        archive.writestr("norm.npy", header.getvalue() + filling)


def peak_of_reading(path):
    """The most memory that a refused file took, in bytes."""
    tracemalloc.start()
    try:
        assert store.read_arrays(path, KEY, ["norm"]) is None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_forged_header_allocates_nothing(tmp_path, compression):
    path = tmp_path / "forged.npz"
    _forged(path, compression)
    assert peak_of_reading(path) < 1e6


def test_a_forged_size_allocates_nothing(path):
    """The archive itself claims 3 GB for each of its members."""
    content = bytearray(path.read_bytes())
    for at in _all(bytes(content), b"PK\x01\x02"):
        content[at + 20 : at + 28] = struct.pack("<II", 3_000_000_000, 3_000_000_000)
    path.write_bytes(content)
    assert peak_of_reading(path) < 1e6


def test_a_bomb_that_claims_to_be_small(tmp_path):
    """100 MB in 100 kB of deflate, of which the archive admits 200 bytes."""
    path = tmp_path / "forged.npz"
    _forged(path, zipfile.ZIP_DEFLATED)
    content = bytearray(path.read_bytes())
    *_, last = _all(bytes(content), b"PK\x01\x02")
    content[last + 24 : last + 28] = struct.pack("<I", 200)
    path.write_bytes(content)
    assert peak_of_reading(path) < 1e6


def test_a_header_that_is_no_header(path):
    """Text where the header was, some of which Python itself refuses to parse."""
    for text in (b"(" * 200, b"{'descr': '<f8'}", b"-" * 5000, b"{'shape': (-1,)}", b"\xff\xfe"):
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
        with zipfile.ZipFile(path, "w") as archive:
            for name in ("key", "digest", *ARRAYS):
                archive.writestr(f"{name}.npy", member)
        assert store.read_arrays(path, KEY, ARRAYS) is None


def test_pickled_arrays_are_refused(path):
    np.savez(
        path,
        key=np.array(KEY),
        digest=np.array("0"),
        **{name: np.array([object()]) for name in ARRAYS},
    )
    assert store.read_arrays(path, KEY, ARRAYS) is None


def test_written_files_have_the_permissions_of_those_they_replace_or_the_users_own(tmp_path):
    from weightnorm._support.files import write_bytes

    before = os.umask(0o077)
    try:
        write_bytes(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    (tmp_path / "new").chmod(0o640)
    write_bytes(tmp_path / "new", b"2")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_threads_that_write_leave_the_umask_alone(tmp_path, monkeypatch):
    """It belongs to the whole process: to read it is to set it, for every other thread as well."""
    from weightnorm._support.files import write_bytes

    before, mask = sys.getswitchinterval(), os.umask(0o027)
    try:
        sys.setswitchinterval(1e-6)  # so that threads meet wherever they can
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: write_bytes(tmp_path / f"{k}", b"1"), range(400)))
    finally:
        sys.setswitchinterval(before)
        left = os.umask(mask)
    assert left == 0o027
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was set"))
    write_bytes(tmp_path / "one more", b"1")


def test_the_part_of_a_private_file_is_private_while_it_is_written(tmp_path):
    from weightnorm._support.files import replacing

    path = tmp_path / "private"
    path.touch(0o600)
    with replacing(path) as part:
        assert part.stat().st_mode & 0o077 == 0
        part.write_bytes(b"1")
    assert path.stat().st_mode & 0o777 == 0o600
