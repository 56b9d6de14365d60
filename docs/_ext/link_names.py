"""Names in the text lead to their pages: `wn.theory.flow_limit` written anywhere is a link.

A whole name counts (`wn.run`, `weightnorm.plot.path(…)`), and a short one (`flow_limit`) where only
one function or class is called so. Attributes and words of code stay as they are.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"^(?:(?:wn|weightnorm)\.)?([A-Za-z_][\w.]*)(?:\(.*\))?$", re.S)


def targets(app: Sphinx) -> dict[str, tuple[str, str]]:
    """Every documented function and class by its whole and, where that is enough, short name."""
    objects = app.env.get_domain("py").objects  # type: ignore[attr-defined]
    found: dict[str, list[tuple[str, str]]] = {}
    for name, entry in objects.items():
        if entry.objtype in ("function", "class", "exception"):
            short = name.removeprefix("weightnorm.")
            for each in {short, short.rpartition(".")[2]}:
                found.setdefault(each, []).append((entry.docname, entry.node_id))
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap every literal that names one of them, outside of titles, links and its own page."""
    known = targets(app)
    for literal in list(doctree.findall(nodes.literal)):
        inside = (literal.parent, *ancestors(literal.parent))
        if any(isinstance(node, nodes.reference | nodes.title | nodes.term) for node in inside):
            continue
        match = NAME.match(literal.astext())
        place = known.get(match[1]) if match else None
        if place is None or place[0] == docname:
            continue
        there = make_refnode(app.builder, docname, place[0], place[1], literal.deepcopy())
        literal.replace_self(there)


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    """All nodes above."""
    above = []
    while node.parent is not None:
        node = node.parent
        above.append(node)
    return above


def setup(app: Sphinx) -> dict[str, Any]:
    """Once the names are known."""
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True}
