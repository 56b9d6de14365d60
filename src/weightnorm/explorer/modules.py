"""The page's JavaScript modules as one script: checked, and in the order they need each other.

Modules keep to a small part of the language, so that no bundler is needed: imports of one line,
`import { a, b } from "./x.js";`, without renaming, and exports as `export function`, `class`,
`const`, `let` or `async function`, both at the start of a line. Anything else is refused with the
file and the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .script_text import declared_names, line_of, masked

MAIN = "main.js"
NAME = r"[A-Za-z_$][\w$]*"
IMPORT = re.compile(r'import *\{(?P<names>[^{}"]*?),? *\} *from *"\./(?P<file>[\w.-]+\.js)";[ \t]*')
EXPORT = re.compile(rf"export (?:async function|function|class|const|let)\b\*?\s+{NAME}\b")
# reserved words: what else they could be is the name of a property
KEYWORD = re.compile(r"(?<![\w$.#])(?:import|export)\b(?![\w$]|\s*:)")
RULE = 'write import { a, b } from "./x.js"; or export function|class|const|let|async function NAME'


@dataclass(frozen=True)
class Module:
    """A file of the page.

    Attributes
    ----------
    name : str
        The file's name.
    imports : list of (line, file, names)
        What it needs, in the order of its lines.
    exports, declared : sets of str
        What it gives to others, and all names at its top level.
    code : str
        Its text without imports, and without the word export.
    """

    name: str
    imports: list[tuple[int, str, list[str]]]
    exports: set[str]
    declared: set[str]
    code: str


def read_module(name: str, text: str) -> Module:
    r"""Take a module's text apart; ValueError names the file and the line of what is not allowed.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    text : str
        What the file holds.

    Returns
    -------
    Module

    Examples
    --------
    >>> from weightnorm.explorer.modules import read_module
    >>> module = read_module("a.js", 'import { b } from "./b.js";\nexport const a = b + 1;\n')
    >>> module.imports, module.exports, module.code
    ([(1, 'b.js', ['b'])], {'a'}, 'const a = b + 1;\n')
    """
    text = text.replace("\r\n", "\n")
    for ending in ("</script", "<!--"):  # what would end the script element, or hide its end
        place = text.lower().find(ending)
        if place >= 0:
            raise ValueError(f"{name}, line {line_of(text, place)}: {ending!r} is not allowed")
    code, imports, cuts = masked(name, text), [], []
    for found in KEYWORD.finditer(code):
        start, number = found.start(), line_of(text, found.start())
        end = text.find("\n", start) + 1 or len(text)
        whole = IMPORT.fullmatch(text[start:end].rstrip("\n"))
        first = start == 0 or text[start - 1] == "\n"
        if first and whole:
            names = [each.strip() for each in whole["names"].split(",")]
            wrong = [each for each in names if not re.fullmatch(NAME, each)]
            if wrong:
                raise ValueError(
                    f"{name}, line {number}: {wrong[0]!r} cannot be imported, only plain names"
                )
            imports.append((number, whole["file"], names))
            cuts.append((start, end))
        elif first and EXPORT.match(code, start):
            cuts.append((start, start + len("export ")))
        else:
            line = text[text.rfind("\n", 0, start) + 1 : end].strip()
            raise ValueError(f"{name}, line {number}: {line!r} is not allowed; {RULE}")
    declared = declared_names(name, code)
    exports = {each for each, exported in declared.items() if exported}
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    return Module(name, imports, exports, set(declared), text.strip("\n") + "\n")


def in_order(read: Callable[[str], str | None]) -> list[Module]:
    """All modules that main.js needs, each after those that it imports.

    Parameters
    ----------
    read : callable
        Gives the text of a file, or None if there is no such file.

    Returns
    -------
    list of Module
        main.js is the last.

    Raises
    ------
    ValueError
        If a module is missing or breaks a rule, if imports go round in a circle, if a name is
        imported that is not exported, or if two modules declare the same name.

    Examples
    --------
    >>> from weightnorm.explorer.modules import in_order
    >>> files = {"main.js": 'import { a } from "./a.js";', "a.js": "export const a = 1;"}
    >>> [module.name for module in in_order(files.get)]
    ['a.js', 'main.js']
    """
    found: dict[str, Module] = {}
    done: list[Module] = []

    def visit(name: str, asked: str, path: list[str]) -> Module:
        if name in path:
            circle = " → ".join([*path[path.index(name) :], name])
            raise ValueError(f"{asked}: the imports go round in a circle, {circle}")
        if name in found:
            return found[name]
        text = read(name)
        if text is None:
            raise ValueError(f"{asked}: there is no file {name}")
        module = read_module(name, text)
        for number, file, names in module.imports:
            place = f"{name}, line {number}"
            missing = [
                each for each in names if each not in visit(file, place, [*path, name]).exports
            ]
            if missing:
                raise ValueError(f"{place}: {file} does not export {', '.join(missing)}")
        found[name] = module
        done.append(module)
        return module

    visit(MAIN, "the page", [])
    owners: dict[str, str] = {}
    for module in done:
        for each in sorted(module.declared):
            other = owners.setdefault(each, module.name)
            if other != module.name:
                raise ValueError(
                    f"{other} and {module.name} both declare {each}, and become one script; "
                    "rename one of them"
                )
    return done
