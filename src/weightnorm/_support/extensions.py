"""What other packages of this distribution add to weightnorm: commands, and names of the library.

The library imports no package that stands on it. Such a package says in `pyproject.toml`, under
[project.entry-points], what it offers, and it is loaded when that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS = "weightnorm.commands"
NAMES = "weightnorm.names"


def offered(group: str) -> tuple[EntryPoint, ...]:
    """What is offered in a group, not loaded yet.

    Parameters
    ----------
    group : str
        `COMMANDS` or `NAMES`.

    Returns
    -------
    tuple of importlib.metadata.EntryPoint
    """
    from importlib.metadata import distribution

    return tuple(distribution("weightnorm").entry_points.select(group=group))


def load(name: str) -> Any:
    """A name that another package offers to `weightnorm`.

    Parameters
    ----------
    name : str
        Such as "verify".

    Returns
    -------
    object

    Raises
    ------
    AttributeError
        If no package offers it.
    """
    for point in offered(NAMES):
        if point.name == name:
            return point.load()
    raise AttributeError(f"module 'weightnorm' has no attribute {name!r}: no package offers it")
