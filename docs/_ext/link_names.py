"""Names in the text lead to their pages: `wn.theory.flow_limit` written anywhere is a link.

A whole name counts (`wn.run`, `weightnorm.plot.path(…)`), and of the theory's functions and of
classes also the short one (`flow_limit`, `RPGD`), where no parameter is called so. Words of code
that only look alike stay as they are.
"""

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import weightnorm

NAME = re.compile(
    r"^(?P<home>(?:wn|weightnorm)\.)?(?P<name>[A-Za-z_][\w.]*)(?P<call>\(.*\))?$", re.S
)
CALLED = {"certificate": "weightnorm.advice.certificate.certificate"}  # a module that can be called
PARAMETERS = {
    name
    for thing in vars(weightnorm.theory).values()
    if inspect.isfunction(thing)
    for name in inspect.signature(thing).parameters
}

Places = dict[str, tuple[str, str]]


def targets(app: Sphinx) -> tuple[Places, Places]:
    """Every documented function and class, by its whole and by its short name."""
    whole, short = {}, {}
    for name, entry in app.env.get_domain("py").objects.items():  # type: ignore[attr-defined]
        if entry.objtype not in ("function", "class", "exception"):
            continue
        whole[name] = entry.docname, entry.node_id
        home, _, last = name.rpartition(".")
        ours = home == "weightnorm.theory" or (home == "weightnorm" and last[0].isupper())
        if ours and last not in PARAMETERS:
            short[last] = whole[name]
    return whole, short


def place_of(text: str, whole: Places, short: Places) -> tuple[str, str] | None:
    """The page that a piece of code names."""
    match = NAME.match(text)
    if match is None:
        return None
    if match["home"] and match["call"] and match["name"] in CALLED:
        return whole[CALLED[match["name"]]]
    if match["home"]:
        return whole.get(f"weightnorm.{match['name']}")
    return short.get(match["name"])


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap every literal that names one of them, outside of titles, links and its own page."""
    whole, short = targets(app)
    for literal in list(doctree.findall(nodes.literal)):
        above = literal.parent
        while above is not None and not isinstance(
            above, nodes.reference | nodes.title | nodes.term
        ):
            above = above.parent
        place = place_of(literal.astext(), whole, short)
        if above is None and place is not None and place[0] != docname:
            literal.replace_self(make_refnode(app.builder, docname, *place, literal.deepcopy()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Once the names are known."""
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True}
