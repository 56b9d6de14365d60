"""Minima of convex losses, and what there is where a loss has none."""

from .minimum import Minimum

__all__ = ["Minimum"]
