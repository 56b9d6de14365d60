"""What is minimised."""

from .generalized_linear import GeneralizedLinear
from .least_squares import LeastSquares
from .matrix_sensing import MatrixSensing
from .nuclear_norm import MinimumNuclearNorm, NotCertified

__all__ = ["GeneralizedLinear", "LeastSquares", "MatrixSensing", "MinimumNuclearNorm", "NotCertified"]
