"""The built site, page by page: what the extensions of docs/_ext are there for. `make docs` runs
this after the build.
"""

import html
import re
import sys
from pathlib import Path

import pytest

from tests.support.pages import DOCS, ROOT, reference

SITE = DOCS / "_build" / "html"


def page(name):
    return (SITE / f"{name}.html").read_text(encoding="utf-8")


def text(part):
    return html.unescape(re.sub(r"<[^>]+>", "", part))


def signature(name):
    """What the page of a public name shows of its call."""
    found = page(f"reference/generated/{name}")
    return text(found[found.index("<dt class=") : found.index("</dt>")])


@pytest.mark.parametrize("name", [f"{p.module}.{n}" for p in reference() for n in p.names])
def test_every_public_name_has_a_page(name):
    assert name.rpartition(".")[2] in signature(name)


def test_names_in_the_text_are_links():
    """Whole names everywhere, short ones of the theory; words that only look alike are none."""

    def links(where):
        found = re.findall(r'href="([^"]+)"[^>]*><code[^>]*>(.*?)</code>', page(where))
        return {text(code): place for place, code in found}

    assert links("guides/plan")["wn.theory.plan"].endswith("#weightnorm.theory.plan")
    steps = links("explanation/finite-steps")
    assert steps["norm_bracket"].endswith("weightnorm.theory.norm_bracket")
    glossary = links("reference/glossary")
    assert not {"scale_step", "curvature"} & glossary.keys()
    assert glossary["wn.RPGD"].endswith("#weightnorm.RPGD")
    called = glossary["wn.certificate(problem, result)"]
    assert called.endswith("weightnorm.advice.certificate.certificate")


def test_formulas_are_rendered_and_styled_from_here():
    limit = page("explanation/limit")
    assert limit.count('class="katex-display"') >= 5
    assert "katex-error" not in limit
    assert "_static/katex/katex.min.css" in limit
    assert (SITE / "_static" / "katex" / "fonts" / "KaTeX_Main-Regular.woff2").exists()
    assert not re.search(r"<script[^>]*(mathjax|katex)", limit, re.I)


def test_docstrings_stay_plain():
    assert "|g∞|" in text(page("reference/generated/weightnorm.theory.limit_scale"))
    assert "coef_" in text(page("reference/generated/weightnorm.WeightNormRegressor"))
    wrong = [p.name for p in SITE.rglob("*.html") if 'class="problematic"' in p.read_text("utf-8")]
    assert wrong == []


def test_classes_show_what_users_call():
    torch = signature("weightnorm.torch.RPGD")
    assert "scale_ratio=1.0" in torch
    assert "kwargs" not in torch
    assert "_resume" not in signature("weightnorm.Result")
    problem = page("reference/generated/weightnorm.LeastSquares")
    shown = set(re.findall(r'id="weightnorm\.LeastSquares\.(\w+)"', problem))
    assert {"value", "gradient", "min_norm_solution", "split", "with_targets"} <= shown
    assert not {"whitened", "summary", "perp_and_distance", "fingerprint"} & shown
    contract = page("reference/generated/weightnorm.Problem")
    assert "weightnorm.Problem.reduction" in contract


def test_commands_are_the_commands():
    from weightnorm.cli.main import app

    commands = page("reference/generated/commands")
    for command in app.registered_commands:
        assert f">weightnorm {command.callback.__name__}<" in commands
    assert "--scheduler" in commands
    assert "–quick" not in commands  # two hyphens, not a dash


def test_the_gallery_has_pictures():
    scripts = sorted(path.stem for path in (ROOT / "examples" / "gallery").glob("*.py"))
    for name in scripts:
        assert "sphx-glr-single-img" in page(f"gallery/{name}"), name
    assert len(scripts) >= 8


def test_nothing_of_this_machine_is_in_it():
    """Neither the folder it was built in nor the interpreter's."""
    here = {str(ROOT), sys.prefix, str(Path.home())} - {"/"}
    for path in SITE.rglob("*.html"):
        found = path.read_text(encoding="utf-8")
        assert not [place for place in here if place in found], path
