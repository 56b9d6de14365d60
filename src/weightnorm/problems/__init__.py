"""What is minimised."""

from .contract import Frame, Problem, Reduction
from .kernel.expansion import Expansion
from .kernel.least_squares import KernelLeastSquares
from .linear.generalized_linear import GeneralizedLinear
from .linear.least_squares import LeastSquares, require_least_squares
from .sensing.matrix_sensing import MatrixSensing
from .sensing.nuclear_norm import MinimumNuclearNorm, NotCertified

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
