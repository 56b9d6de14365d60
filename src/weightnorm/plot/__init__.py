"""Plots of runs with the exact theory drawn over them.

Each function takes matplotlib axes, or makes its own, and returns them, so that what it drew can be
labelled, saved or drawn over. All share one style; its colours can be told apart by the
colour-blind, and lines that may overlap differ in dashes as well.
"""

from .early_stopping import early_stopping
from .limit_norms import limit_norms
from .norms import end_norms
from .paths import path
from .phase import phase_diagram
from .trajectories import trajectory

__all__ = ["early_stopping", "end_norms", "limit_norms", "path", "phase_diagram", "trajectory"]
