"""What commands do with their output: try the path first, lose nothing if writing fails."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer
from rich.console import Console

from .._support.files import UnwritableError, reason, require_writable, write_text
from .terminal import say


def try_path(option: str, path: Path | None, notes: Console) -> None:
    """Stop with a message, before any work, if the file could not be written.

    Parameters
    ----------
    option : str
        The option that named the file, for the message.
    path : Path, optional
        None if the option was not given.
    notes : Console
        Where the message goes.
    """
    if path is None:
        return
    try:
        require_writable(path)
    except UnwritableError as error:
        say(notes, f"{option}: {error}", "red")
        raise typer.Exit(2) from None


def refuse_same(
    outputs: dict[str, Path | None], inputs: dict[str, Path | None], notes: Console
) -> None:
    """Stop with a message if a file to write is one that is read, or that is written already.

    Parameters
    ----------
    outputs, inputs : dicts of name -> path
        None for what was not given.
    notes : Console
        Where the message goes.
    """
    taken = {os.path.realpath(path): name for name, path in inputs.items() if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        other = taken.setdefault(os.path.realpath(path), option)
        if other != option:
            say(notes, f"{option}: {path} is {other}, too; give another name", "red")
            raise typer.Exit(2)


def save(
    option: str, path: Path | None, text: str, notes: Console, *, readable: bool = True
) -> bool:
    """Write a file after the work, or put its text where it can be found.

    If the file cannot be written after all, on a disk that has filled up for instance, the text
    goes to a file in the temporary directory, or else, if it is `readable`, to the terminal, and a
    line says so.

    Parameters
    ----------
    option : str
        The option that named the file, for the message.
    path : Path, optional
        None if the option was not given: nothing is written.
    text : str
    notes : Console
        Where messages go, and the text itself as the last resort.
    readable : bool
        Whether a person could use the text in a terminal.

    Returns
    -------
    bool
        Whether the file is where it should be; if not, the command should exit with 1.
    """
    if path is None:
        return True
    try:
        write_text(path, text)
    except OSError as error:
        failed = f"{option}: {path} could not be written: {reason(error)}"
    else:
        return True
    try:
        spare = Path(tempfile.mkdtemp(prefix="weightnorm-")) / path.name
        write_text(spare, text)
    except OSError:
        say(notes, f"{failed}; here is what it would hold:" if readable else failed, "red")
        if readable:
            say(notes, text)
    else:
        say(notes, f"{failed}; it is in {spare} instead", "red")
    return False
