"""Fetch the optimiser tests of others: the sdist of pytorch_optimizer, unpacked in build/others.

    python tools/others.py

Its tests and the package they import are unpacked, and nothing is installed: it needs torch and
numpy only, and the tests are run with the folder on the path. The version and its hash are in
requirements-others.lock. What is there already is not fetched again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements-others.lock"
PLACE = ROOT / "build" / "others"
WANTED = ("tests", "pytorch_optimizer", "LICENSE")


def unpacked() -> Path:
    """Where the locked version is, or will be."""
    pinned = next(line for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    return PLACE / pinned.split()[0].replace("==", "-").replace("pytorch-opt", "pytorch_opt")


def download() -> Path:
    """The sdist, by pip, which checks its hash."""
    # the build backend is asked for the name and version only, and the environment has it
    options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *options, "-r", str(LOCK), "-d", str(PLACE)], check=True)
    return PLACE / f"{unpacked().name}.tar.gz"


def unpack(archive: Path) -> None:
    """Only what is wanted of it, and nothing outside its folder."""
    part = PLACE / "part"
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as tar:
        members = [m for m in tar if "".join(PurePosixPath(m.name).parts[1:2]) in WANTED]
        tar.extractall(part, members=members, filter="data")
    shutil.rmtree(unpacked(), ignore_errors=True)
    (part / unpacked().name).rename(unpacked())  # last: a folder of that name is whole
    part.rmdir()


def main() -> None:
    """Fetch and unpack, unless it is there."""
    if not unpacked().is_dir():
        PLACE.mkdir(parents=True, exist_ok=True)
        unpack(download())
    print(f"the tests of {unpacked().name} are in {unpacked().relative_to(ROOT)}")


if __name__ == "__main__":
    main()
