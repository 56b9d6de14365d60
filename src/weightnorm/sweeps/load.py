"""Read the TOML file of a sweep; what is wrong with it is said key by key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .config import SweepConfig
from .fields import LIST, NUMBER, TABLE
from .problems import KINDS


class ConfigError(ValueError):
    """A sweep file that cannot be used, with every problem named by its key."""


def load_config(path: Path) -> SweepConfig:
    """Read and check a sweep file.

    Parameters
    ----------
    path : Path
        A TOML file such as examples/sweep.toml.

    Returns
    -------
    SweepConfig

    Raises
    ------
    ConfigError
        Naming every key that is wrong, what it holds, and what it should.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    try:
        return SweepConfig.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        lines = [f"  {_key(item['loc'])}: {_message(item)}" for item in error.errors()]
        head = f"{path}: {len(lines)} problem{'s' * (len(lines) > 1)}"
        raise ConfigError("\n".join([head, *lines])) from None


def _key(location: tuple[int | str, ...]) -> str:
    """The key as written in the file, without the names of pydantic's own union members."""
    parts = [str(part) for part in location if part not in (NUMBER, LIST, TABLE)]
    if parts[:1] == ["methods"]:
        del parts[2:3]  # after the method's name comes its kind
    if parts[:1] == ["problems"] and parts[1:2] and parts[1] in KINDS:
        del parts[1]
    shown = [part if part.isprintable() and 0 < len(part) < 60 else _shown(part) for part in parts]
    return ".".join(shown) or "the file"


def _message(item: Any) -> str:
    """What should be there, and what is, unless the message says so itself."""
    message = str(item["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    said = ", got " in message or item["type"] == "missing"
    return message if said else f"{message}, got {_shown(item['input'])}"


def _shown(value: object) -> str:
    """A value on one line, as TOML writes it where that matters, and not too long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value) if isinstance(value, int | float) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
