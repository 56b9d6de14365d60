"""What is minimised."""

from .least_squares import LeastSquares

__all__ = ["LeastSquares"]
