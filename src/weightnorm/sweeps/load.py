"""Read the TOML file of a sweep; what is wrong with it is said key by key."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .config import Range, Starts, SweepConfig
from .fields import LIST, NUMBER, TABLE
from .methods import SPECS, ScheduledStep
from .problems import KINDS

# in place of pydantic's own words
MESSAGES = {
    "missing": "is missing",
    "too_short": "is empty",
    "int_from_float": "should be a whole number, got {got}",
    "string_pattern_mismatch": "should have letters, digits, '.', '_' and '-' only, got {got}",
    "string_too_long": "should have at most 200 characters",
}


DEEPEST = 20  # tables and lists in one another; a sweep file needs five


class ConfigError(ValueError):
    """A sweep file that cannot be used, with every problem named by its key.

    Parameters
    ----------
    *args
        The message: every key that is wrong, what it holds, and what it should.

    Examples
    --------
    >>> import pathlib
    >>> from weightnorm import sweeps
    >>> try:
    ...     sweeps.load_config(pathlib.Path("missing.toml"))
    ... except sweeps.ConfigError as error:
    ...     print(str(error)[:28])
    missing.toml: cannot be read
    """


def load_config(path: Path) -> SweepConfig:
    '''Read and check a sweep file.

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

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from weightnorm.sweeps import load_config
    >>> text = """
    ... name = "one"
    ... [starts]
    ... scales = [1.0]
    ... [methods.gd]
    ... kind = "gd"
    ... step = 0.1
    ... """
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.toml"
    >>> _ = path.write_text(text, encoding="utf-8")
    >>> load_config(path).name
    'one'
    '''
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is not a file")
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    return checked(data, path.parent, str(path))


def checked(data: Any, folder: Path, name: str) -> SweepConfig:
    """A configuration from the content of a file.

    Parameters
    ----------
    data : dict
        The content.
    folder : Path
        Where the files it names are.
    name : str
        What messages call it.

    Returns
    -------
    SweepConfig

    Raises
    ------
    ConfigError
        Naming every key that is wrong.
    """
    if _is_deep(data):
        raise ConfigError(f"{name}: tables and lists must be nested at most {DEEPEST} deep")
    try:
        return SweepConfig.model_validate(data, context={"folder": folder})
    except ValidationError as error:
        lines = [f"  {_line(item)}" for item in error.errors()]
        head = f"{name}: {len(lines)} problem{'s' * (len(lines) > 1)}"
        raise ConfigError("\n".join([head, *lines])) from None


def _is_deep(data: Any) -> bool:
    """Whether tables and lists are nested so deep that no walk through them is safe."""
    level = [data]
    for _ in range(DEEPEST):
        inside = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for values in inside for each in values if isinstance(each, dict | list)]
    return bool(level)


def _line(item: Any) -> str:
    """What is wrong with one key; without a key where the whole file is meant."""
    return f"{_key(item['loc'])}: {_message(item)}" if item["loc"] else _message(item)


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
    if item["type"] in MESSAGES:
        return MESSAGES[item["type"]].format(got=_shown(item["input"]))
    if item["type"] == "extra_forbidden":
        return f"unknown key{_suggestion(str(item['loc'][-1]))}; weightnorm sweep --keys has all"
    if item["type"] in ("union_tag_not_found", "union_tag_invalid"):
        kinds = ", ".join(f'"{name}"' for name in SPECS)
        found = item["input"].get("kind") if isinstance(item["input"], dict) else item["input"]
        given = "is missing" if found is None else f"is {_shown(found)}"
        return f"kind {given}, and should be one of {kinds}"
    message = str(item["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    said = ", got " in message or isinstance(item["input"], dict)
    return message if said else f"{message}, got {_shown(item['input'])}"


def _suggestion(key: str) -> str:
    """The known key that is most like an unknown one."""
    models: tuple[Any, ...] = (SweepConfig, Starts, Range, ScheduledStep)
    models += (*KINDS.values(), *SPECS.values())
    known = {name for model in models for name in model.model_fields}
    close = get_close_matches(key, sorted(known - {key}), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _shown(value: object) -> str:
    """A value on one line, as TOML writes it where that matters, and not too long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value) if isinstance(value, int | float) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
