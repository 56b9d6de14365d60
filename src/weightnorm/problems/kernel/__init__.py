"""Least squares of which only K = AAᵀ is known."""

from .least_squares import KernelLeastSquares

__all__ = ["KernelLeastSquares"]
