"""Writing files from commands: atomically, and never into a folder that is not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer
from rich.console import Console


def require_folder(option: str, path: Path, notes: Console) -> None:
    """Stop with a message, before any work, if the file's folder does not exist."""
    if not path.parent.is_dir():
        notes.print(f"{option}: the folder {path.parent} does not exist", style="red", markup=False)
        raise typer.Exit(2)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
