"""One check per claim; importing a file registers its checks."""

from . import flow, limits, phases, steps

__all__ = ["flow", "limits", "phases", "steps"]
