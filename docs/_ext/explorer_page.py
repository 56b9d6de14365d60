"""The explorer as a file of the site: _static/explorer.html, which pages show in a frame."""

from pathlib import Path

from sphinx.application import Sphinx

from weightnorm.explorer.build import page


def write_explorer(app: Sphinx, error: Exception | None) -> None:
    """Write it as `weightnorm explore` does."""
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / "explorer.html"
        target.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Once the pages are there."""
    app.connect("build-finished", write_explorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
