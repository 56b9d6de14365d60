"""Docstrings are plain text that `help` shows; here their bars, underscores and dots stay so.

|g| would be a substitution in reStructuredText, coef_ a link, and `.value` a search for any member
of that name. Examples are left as they are.
"""

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(``.+?``|:[\w:]+:`[^`]*`|`[^`]*`_?|\*\*[^*]+\*\*)")


def plain(line: str) -> str:
    """One line of prose, with what is between backticks as it is, but for attributes."""
    parts = CODE.split(line)
    parts[::2] = [escape(part) for part in parts[::2]]
    return "".join(re.sub(r"^`(\..+)`$", r"``\1``", part) for part in parts)


def escape(text: str) -> str:
    """Bars and trailing underscores as characters."""
    return re.sub(r"(\w)_(?![\w_])", r"\1\\_", text.replace("|", r"\|"))


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Every line outside of examples and tables, after numpydoc has laid it out."""
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.lstrip().startswith((".. ", "+-", "| ")):
            lines[number] = plain(line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Come after numpydoc."""
    app.connect("autodoc-process-docstring", process, priority=900)
    return {"parallel_read_safe": True}
