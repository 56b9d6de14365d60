"""JavaScript as text: what of it is code, and which names it declares at its top level."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?P<word>[\w$#]+)|(?P<mark>\+\+|--|.)",
    re.S,
)
REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(?P<end>`|\$\{)", re.S)
# after these words a slash begins a regular expression; after others it divides
BEFORE_REGEX = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new"}
BEFORE_REGEX |= {"else", "do", "await", "yield"}
OPERAND = '"'  # stands for a string, a template or a regular expression that has ended
OPERAND_ENDS = {")", "]", "}", "++", "--", OPERAND}
DECLARATION = re.compile(
    r"(?:^|(?<=[;}]))[ \t]*(?P<exported>export\s+)?"
    r"(?P<kind>(?:async\s+)?function\b\s*\*?|class\b|(?P<list>const|let|var)\b)\s*",
    re.M,
)
NAME = re.compile(r"[A-Za-z_$][\w$]*")
PATTERN = re.compile(r"[{\[](?P<inside>[^{}\[\]=]*)[}\]]")


def line_of(text: str, place: int) -> int:
    """The number of the line that a place in a text is in, from 1."""
    return text.count("\n", 0, place) + 1


def masked(name: str, text: str) -> str:
    """The text with spaces for comments, strings and regular expressions; lines stay as they are.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    text : str

    Returns
    -------
    str
        As long as the text.

    Examples
    --------
    >>> from weightnorm.explorer.script_text import masked
    >>> masked("a.js", 'x = "{" + y; // {')
    'x =     + y;     '
    """
    pieces: list[str] = []
    templates: list[int] = []  # how many braces are open in each ${…} that we are in
    last, place = "", 0

    def template(start: int) -> int:
        part = TEMPLATE.match(text, start)
        if part is None:
            raise ValueError(f"{name}, line {line_of(text, start)}: a ` without its end")
        if part["end"] == "${":
            templates.append(0)
        return part.end()

    while place < len(text):
        token = TOKEN.match(text, place)
        assert token is not None  # the last alternative takes any character
        kind, found, end = str(token.lastgroup), token.group(), token.end()
        hidden = kind in ("gap", "text")
        if kind == "mark" and (found == "`" or (found == "}" and templates and not templates[-1])):
            if found == "}":
                templates.pop()
            end, hidden = template(end), True
            last = OPERAND if text[end - 1] == "`" else ""
        elif kind == "mark" and found == "/" and _regex_may_follow(last):
            regex = REGEX.match(text, place)
            end, hidden = (end, False) if regex is None else (regex.end(), True)
            last = found if regex is None else OPERAND
        elif kind != "gap":
            if templates and found in ("{", "}"):
                templates[-1] += 1 if found == "{" else -1
            last = OPERAND if kind == "text" else found
        part = text[place:end]
        pieces.append(re.sub(r"[^\n]", " ", part) if hidden else part)
        place = end
    return "".join(pieces)


def _regex_may_follow(last: str) -> bool:
    if re.fullmatch(r"[\w$#]+", last):
        return last in BEFORE_REGEX
    return last not in OPERAND_ENDS


def declared_names(name: str, code: str) -> dict[str, bool]:
    r"""The names that masked code declares at its top level, and whether it exports them.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    code : str
        From `masked`.

    Returns
    -------
    dict of name -> bool

    Examples
    --------
    >>> from weightnorm.explorer.script_text import declared_names
    >>> code = "const { a, b: c } = f(), d = 1;\nexport function e() {\nlet g;\n}\n"
    >>> declared_names("a.js", code)
    {'a': False, 'c': False, 'd': False, 'e': True}
    """
    depths = _depths(code)
    found: dict[str, bool] = {}
    for declaration in DECLARATION.finditer(code):
        if depths[declaration.start("kind")] > 0:
            continue
        number, place = line_of(code, declaration.start("kind")), declaration.end()
        names = _listed(code, depths, place) if declaration["list"] else [_name_at(code, place)]
        for each in names:
            if each is None:
                raise ValueError(
                    f"{name}, line {number}: a declaration at the top level must name plainly "
                    "what it declares"
                )
            found[each] = declaration["exported"] is not None
    return found


def _depths(code: str) -> list[int]:
    """How many brackets are open before each character, and after the last."""
    depths, depth = [], 0
    for character in code:
        depths.append(depth)
        depth += (character in "([{") - (character in ")]}")
    return [*depths, depth]


def _listed(code: str, depths: list[int], place: int) -> list[str | None]:
    """The names of const a = 1, { b, c: d } = e; a None stands for what is too involved."""
    names: list[str | None] = []
    while True:
        pattern = PATTERN.match(code, place)
        if pattern is None:
            names.append(_name_at(code, place))
        else:
            parts = [part.strip() for part in pattern["inside"].split(",") if part.strip()]
            names += [_name_at(part.split(":")[-1].strip().lstrip("."), 0) for part in parts]
        while place < len(code) and (code[place] not in ",;" or depths[place] > 0):
            place += 1
        if code[place : place + 1] != ",":
            return names
        place += 1
        place += len(code[place:]) - len(code[place:].lstrip())


def _name_at(code: str, place: int) -> str | None:
    found = NAME.match(code, place)
    return None if found is None else found.group()
