"""Plot data -> matplotlib, one style for all."""

from .render import render

__all__ = ["render"]
