"""The assets of the folder `page` and a problem as one HTML file that loads nothing else."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from .modules import Module, in_order
from .script_text import line_of

MARKERS = ("STYLE", "SCRIPT", "PROBLEM")
MARKER = re.compile(rf"/\*({'|'.join(MARKERS)})\*/")
# what would make a browser ask for another file; links that a reader follows are none
LOADS = {
    ".html": re.compile(
        r"<(?:script|link|img|iframe|source|embed|object|audio|video|image|use)\b[^>]*?"
        r"\s(?:src|srcset|href|xlink:href|data|poster)\s*=(?!\s*[\"']?(?:data:|#))",
        re.I,
    ),
    ".css": re.compile(r"@import\b|</style|url\((?!\s*[\"']?(?:data:|#))", re.I),
    ".js": re.compile(r"\b(?:fetch|importScripts)\s*\(|\b(?:XMLHttpRequest|WebSocket)\b"),
}


def page(description: dict[str, Any] | None = None, *, folder: Traversable | None = None) -> str:
    r"""The page as one text: template, style, script and problem.

    Parameters
    ----------
    description : dict, optional
        From `describe`; without one the page shows the problems that it has built in.
    folder : Traversable, optional
        Where index.html, style.css, main.js and the modules it imports are; those of the package
        by default.

    Returns
    -------
    str
        HTML. The same call gives the same text.

    Raises
    ------
    ValueError
        If an asset is missing or breaks a rule; the message names the file and, where there is
        one, the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from weightnorm.explorer.build import page
    >>> template = "<style>/*STYLE*/</style><script>/*SCRIPT*/show(/*PROBLEM*/);</script>"
    >>> assets = {"index.html": template, "style.css": "", "main.js": "function show(it) {}"}
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for file, text in assets.items():
    ...         _ = (pathlib.Path(name) / file).write_text(text)
    ...     print(page({"name": "</script>"}, folder=pathlib.Path(name)))
    <style></style><script>// ---- main.js
    function show(it) {}
    show({"name":"\u003c/script>"});</script>
    """
    folder = assets() if folder is None else folder
    template = _read(folder, "index.html")
    found = MARKER.findall(template)
    for marker in MARKERS:
        if found.count(marker) != 1:
            raise ValueError(
                f"index.html must have /*{marker}*/ once, and has it {found.count(marker)} times"
            )
    parts = {
        "STYLE": _read(folder, "style.css"),
        "SCRIPT": "\n".join(f"// ---- {each.name}\n{each.code}" for each in _in_order(folder)),
        "PROBLEM": as_json(description),
    }
    return MARKER.sub(lambda marker: parts[marker[1]], template)  # parts are not searched


def modules(folder: Traversable | None = None) -> list[str]:
    """The names of the modules in the order they stand in on the page.

    Parameters
    ----------
    folder : Traversable, optional
        As in `page`.

    Returns
    -------
    list of str
        Each after those that it imports.
    """
    return [module.name for module in _in_order(assets() if folder is None else folder)]


def assets() -> Traversable:
    """The folder with the page's assets."""
    return files("weightnorm.explorer").joinpath("page")


def as_json(data: Any) -> str:
    r"""Data as JSON that is also JavaScript and cannot end the script element that it stands in.

    Parameters
    ----------
    data : dict, list, text, number, bool or None
        Numbers must be finite.

    Returns
    -------
    str
        ASCII alone, in one line.

    Examples
    --------
    >>> from weightnorm.explorer.build import as_json
    >>> print(as_json(["</script>", None]))
    ["\u003c/script>",null]
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _in_order(folder: Traversable) -> list[Module]:
    def read(name: str) -> str | None:
        return _read(folder, name) if folder.joinpath(name).is_file() else None

    return in_order(read)


def _read(folder: Traversable, name: str) -> str:
    """An asset's text, which must load nothing from elsewhere."""
    try:
        text = folder.joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ValueError(f"the page has no {name}: install weightnorm again") from None
    rule = LOADS[name[name.rindex(".") :]]
    found = rule.search(text)
    if found is not None:
        raise ValueError(
            f"{name}, line {line_of(text, found.start())}: {found.group()!r} is not allowed; the "
            "page must be one file"
        )
    return text
