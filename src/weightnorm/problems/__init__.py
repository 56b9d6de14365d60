"""What is minimised."""

from .contract import Frame, Problem, Reduction
from .generalized_linear import GeneralizedLinear
from .least_squares import LeastSquares, require_least_squares
from .matrix_sensing import MatrixSensing
from .nuclear_norm import MinimumNuclearNorm, NotCertified

__all__ = [
    "Frame",
    "GeneralizedLinear",
    "LeastSquares",
    "MatrixSensing",
    "MinimumNuclearNorm",
    "NotCertified",
    "Problem",
    "Reduction",
    "require_least_squares",
]
