"""Which sources compute what is kept on disk, and which code they are: this is the one place.

What is kept between runs, shards and parts of a figure, is worth no more than the code that
computed it. So its name has that code, and other code does not read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Below the package: modules, and rooms with all that is in them. A test follows the imports.
# What lies in another package has that package's name and a colon in front.
RUNS = (
    "_support/agreement.py",
    "_support/blas.py",
    "_support/interrupts.py",
    "_support/momentum.py",
    "_support/moved.py",
    "_support/numeric.py",
    "_support/pool.py",
    "_support/validate.py",
    "datasets.py",
    "engine",
    "methods",
    "problems",
    "runs/history.py",
    "runs/result.py",
    "runs/resume.py",
)
SWEEPS = (
    *RUNS,
    "_support/files.py",
    "runs/dataset.py",
    "sweeps/config.py",
    "sweeps/data.py",
    "sweeps/fields.py",
    "sweeps/methods.py",
    "sweeps/plan.py",
    "sweeps/problems.py",
    "tables/read.py",
)
DIGITS = 12  # of a hash
AT, ENDING = "@", ".npz"  # a file is named by what it holds, AT and the code that computed it


@cache
def source_hash(sources: tuple[str, ...]) -> str:
    """A hash of sources: of their names and their lines, wherever the package lies.

    Parameters
    ----------
    sources : tuple of str
        Paths below the package, or below another one as "package:path".

    Returns
    -------
    str
        Hexadecimal digits; "" where the sources cannot be read, as in a package without them.
    """
    from importlib.resources import files

    digest = hashlib.sha256()
    found: dict[str, bytes] = {}
    for source in sources:
        package, _, path = source.rpartition(":")
        place = files(package or "weightnorm").joinpath(*path.split("/"))
        try:
            modules = dict(_modules(place, source))
        except (OSError, KeyError):  # the latter in a zip archive
            modules = {}
        if not modules:
            return ""
        found |= modules
    for name, content in sorted(found.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:DIGITS]


def code(sources: tuple[str, ...]) -> str:
    """The name of the code that computes: the version, and the hash of its sources.

    Parameters
    ----------
    sources : tuple of str
        Such as `SWEEPS`.

    Returns
    -------
    str
        Such as "0.3.0-1f2e3d4c5b6a"; the version alone where the sources cannot be read.
    """
    return "-".join(filter(None, (version("weightnorm"), source_hash(sources))))


def count_outdated(names: Iterable[str], stems: Iterable[str], ours: str) -> int:
    """How many pieces of work are on disk from other code only.

    Parameters
    ----------
    names : iterable of str
        Of all files in a folder: those that count are named stem + AT + code + ENDING.
    stems : iterable of str
        Of the work that is wanted; gone through only where there are files of other code.
    ours : str
        The code that is to compute.

    Returns
    -------
    int
    """
    by_us: set[str] = set()
    by_others: set[str] = set()
    for name in names:
        stem, at, rest = name.partition(AT)
        if at and rest.endswith(ENDING):
            (by_us if rest == ours + ENDING else by_others).add(stem)
    by_others -= by_us
    return len(by_others.intersection(stems)) if by_others else 0


def outdated(count: int, total: int, what: str) -> str:
    """That work on disk is of other code, and done anew; "" where none is.

    Parameters
    ----------
    count, total : int
    what : str
        Such as "shards in NAME.shards".

    Returns
    -------
    str
        A sentence, or "".
    """
    if not count:
        return ""
    was, is_ = ("was", "is") if count == 1 else ("were", "are")
    return (
        f"{count} of {total} {what} {was} computed by other code of weightnorm and {is_} computed "
        "anew."
    )


def _modules(place: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    """The modules at and below a place, by their names, with one kind of line ends."""
    if place.is_dir():
        for each in place.iterdir():
            _, dot, ending = each.name.partition(".")  # hidden files, an editor's, are left out
            if ending == ("py" if dot else ""):
                yield from _modules(each, f"{name}/{each.name}")
    elif name.endswith(".py"):
        yield name, place.read_bytes().replace(b"\r\n", b"\n")
