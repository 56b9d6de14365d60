"""A page for every public name, and the tables that lead to them, written before Sphinx reads.

`reference_table` says which names stand together; a public name that it leaves out, or one that it
names and that does not exist, ends the build.
"""

import dataclasses
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference_table import CALLED, INTERNAL, PAGES, Page
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.ext.autodoc.mock import mock

from weightnorm.methods.contract import Method
from weightnorm.problems import Problem

CONTRACTS = (Problem, Method)  # what the engine asks for, explained on pages of their own
GENERATED = "generated"  # inside docs/reference


def write_pages(app: Sphinx) -> None:
    """Write docs/reference/generated anew."""
    folder = Path(app.srcdir) / "reference" / GENERATED
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    with mock(app.config.autodoc_mock_imports):
        for page in PAGES:
            if faults := page.faults():
                raise ExtensionError(" and ".join(faults))
            wanted[f"{page.file}.rst"] = listing(page)
            for name in page.names:
                wanted[f"{page.module}.{name}.rst"] = symbol(page.module, name)
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def listing(page: Page) -> str:
    """The page of a module: what it is for, and a table for every group of names."""
    parts = [heading(page.title, "="), f".. currentmodule:: {page.module}\n", page.text.strip()]
    for title, names in page.groups.items():
        parts += [heading(title, "-"), ".. autosummary::\n"]
        parts[-1] += "".join(f"\n   {name}" for name in names.split())
    entries = "".join(f"\n   {name} <{page.module}.{name}>" for name in page.names)
    parts.append(f".. toctree::\n   :hidden:\n{entries}")
    return "\n\n".join(parts) + "\n"


def symbol(module: str, name: str) -> str:
    """The page of one name; of a class, with the members that a user calls."""
    thing = getattr(importlib.import_module(module), name)
    head = heading(f"{module}.{name}", "=") + f"\n\n.. currentmodule:: {module}\n\n"
    if not inspect.isclass(thing):
        return head + f".. autofunction:: {name}\n"
    lines = [f".. autoclass:: {name}\n"]
    for member, kind in members(thing):
        lines.append(f".. {kind}:: {name}.{member}\n")
    return head + lines[0] + textwrap.indent("\n" + "\n".join(lines[1:]), "   ")


def members(kind: type) -> Iterator[tuple[str, str]]:
    """The public methods and properties of a class of ours that a user calls."""
    owners = [owner for owner in kind.__mro__ if owner.__module__.startswith("weightnorm.")]
    for name in sorted({name for owner in owners for name in vars(owner)} - INTERNAL):
        thing = inspect.getattr_static(kind, name)
        function = getattr(thing, "__func__", getattr(thing, "fget", None) or thing)
        function = getattr(function, "func", function)  # a cached property
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if not is_hook(kind, name):
            is_method = inspect.isfunction(getattr(thing, "__func__", thing))
            yield name, "automethod" if is_method else "autoproperty"


def is_hook(kind: type, name: str) -> bool:
    """Whether a member only fills in what a contract asks for."""
    asked = any(hasattr(contract, name) for contract in CONTRACTS)
    return asked and kind not in CONTRACTS and name not in CALLED


def signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """What is made by calls, and not by users, shows no signature; what torch hides shows its own.

    A class with a base that is only a stand-in, as torch's are here, would show that base's.
    """
    if what != "class":
        return None
    if getattr(thing, "_is_protocol", False) or is_made_by_calls(thing):
        return "", ""
    if thing.__module__.startswith("weightnorm.torch"):
        given = inspect.signature(thing.__init__).parameters.values()
        plain = [p.replace(annotation=p.empty) for p in given if p.name != "self"]
        return str(inspect.Signature(plain)), ""
    return None


def is_made_by_calls(thing: type) -> bool:
    """Whether a dataclass has fields of its own, which no user gives."""
    return dataclasses.is_dataclass(thing) and any(
        field.name.startswith("_") for field in dataclasses.fields(thing)
    )


def heading(title: str, mark: str) -> str:
    """A title, underlined as reStructuredText wants it."""
    return f"{title}\n{mark * len(title)}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before any is read; autosummary comes later."""
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
