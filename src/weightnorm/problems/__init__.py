"""What is minimised."""

from .least_squares import LeastSquares
from .matrix_sensing import MatrixSensing
from .nuclear_norm import MinimumNuclearNorm, NotCertified

__all__ = ["LeastSquares", "MatrixSensing", "MinimumNuclearNorm", "NotCertified"]
