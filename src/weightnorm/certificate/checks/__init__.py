"""One check per claim; importing a file registers its checks."""

from . import convex, flow, limits, phases, steps

__all__ = ["convex", "flow", "limits", "phases", "steps"]
