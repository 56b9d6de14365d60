"""Output that no path, encoding, terminal or number can break."""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from rich.console import Console

from .._support.files import reason

PRINTERS = ("click", "rich", "typer")  # those who write to the terminal


def prepare_streams() -> None:
    """Let characters that the terminal's encoding lacks become question marks, not errors."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def output_checked() -> Iterator[None]:
    """Let output that cannot be written, on a full disk for instance, be one sentence and an exit
    with 1.
    """
    try:
        yield
    except OSError as error:
        *_, (last, _) = traceback.walk_tb(error.__traceback__)
        if str(last.f_globals.get("__name__")).split(".")[0] not in PRINTERS:
            raise
        with suppress(OSError):
            typer.echo(f"the output could not be written: {reason(error)}", err=True)
        with open(os.devnull, "wb") as nowhere:  # where Python tries once more at its end
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(1)


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a text as it is: brackets in it are not markup, and it is not broken into lines.

    Parameters
    ----------
    console : Console
    text : str
        It may hold anything a user has typed, such as a path.
    style : str, optional
        Of the whole text.
    """
    console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print data as JSON that every parser accepts.

    A number that is not finite becomes null, which JSON has instead. On a terminal that is not
    UTF-8, or for text that UTF-8 cannot hold, characters beyond ASCII are escaped.

    Parameters
    ----------
    data : dict, list, text, number, bool or None
        Anything else is printed as text.
    """
    data, utf_8 = finite(data), codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    text = json.dumps(data, ensure_ascii=not utf_8, indent=2, allow_nan=False, default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(data, indent=2, allow_nan=False, default=str)
    typer.echo(text)


def finite(data: Any) -> Any:
    """The same data with None in place of every number that is not finite."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
