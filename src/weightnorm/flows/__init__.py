"""The continuous limit of small steps."""

from .trajectory import Trajectory, flow, gradient_flow

__all__ = ["Trajectory", "flow", "gradient_flow"]
