"""What is minimised."""

from .contract import Frame, Problem, Reduction
from .expansion import Expansion
from .generalized_linear import GeneralizedLinear
from .kernel import KernelLeastSquares
from .least_squares import LeastSquares, require_least_squares
from .matrix_sensing import MatrixSensing
from .nuclear_norm import MinimumNuclearNorm, NotCertified

__all__ = [
    "Expansion",
    "Frame",
    "GeneralizedLinear",
    "KernelLeastSquares",
    "LeastSquares",
    "MatrixSensing",
    "MinimumNuclearNorm",
    "NotCertified",
    "Problem",
    "Reduction",
    "require_least_squares",
]
