"""KaTeX from docs/node_modules: formulas rendered while the site is built, its style copied."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset
from sphinxcontrib import katex

DIST = Path(__file__).parents[1] / "node_modules" / "katex" / "dist"


def configure(app: Sphinx, config: Config) -> None:
    """Point the extension at the pinned KaTeX; a formula that does not parse ends the build."""
    if not DIST.exists():
        raise ExtensionError("KaTeX is not installed: run `make docs-setup`")
    config.html_math_renderer = "katex"
    config.katex_prerender = True
    config.katex_js_path = str(DIST / "katex.min.js")
    config.katex_css_path = "katex/katex.min.css"
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True


def copy_style(app: Sphinx, error: Exception | None) -> None:
    """The style sheet and its fonts become files of the site."""
    if error is None and app.builder.format == "html":
        there = Path(app.outdir) / "_static" / "katex"
        copy_asset(str(DIST / "katex.min.css"), str(there))
        copy_asset(str(DIST / "fonts"), str(there / "fonts"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both; formulas are rendered by one server, so pages are written one at a time."""
    app.connect("config-inited", configure, priority=100)
    app.connect("build-finished", copy_style)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
