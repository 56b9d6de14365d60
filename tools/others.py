"""Fetch what the tests of others need into build/others; nothing is installed.

    python tools/others.py

The sdist of pytorch_optimizer is unpacked: its tests and the package they import, which needs torch
and numpy only. expecttest, which torch.testing imports, stays a wheel: Python imports from it as it
is. Versions and hashes are in requirements-others.lock; what is there is not fetched again.
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


def _pinned(name: str) -> str:
    """The name and the version of a file that is fetched."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith(f"{name}=="))
    return line.split()[0].replace("-", "_").replace("==", "-")


def unpacked() -> Path:
    """Where the tests of pytorch_optimizer are, or will be."""
    return PLACE / _pinned("pytorch-optimizer")


def wheel() -> Path:
    """Where expecttest is, or will be."""
    return PLACE / f"{_pinned('expecttest')}-py3-none-any.whl"


def download() -> None:
    """Both, by pip, which checks their hashes."""
    # the build backend is asked for the name and version only, and the environment has it
    sdist = ["--no-binary", "pytorch-optimizer", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--require-hashes", *sdist, "-r", str(LOCK), "-d", str(PLACE)]
    subprocess.run([*command, *options], check=True)


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
    if not (unpacked().is_dir() and wheel().is_file()):
        PLACE.mkdir(parents=True, exist_ok=True)
        download()
        unpack(PLACE / f"{unpacked().name}.tar.gz")
    print(f"the tests of others are in {PLACE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
