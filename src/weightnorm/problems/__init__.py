"""What is minimised."""

from .._support.moved import by_old_names
from .contract import Problem
from .kernel.expansion import Expansion
from .kernel.least_squares import KernelLeastSquares
from .lifting import Lifter, Reduction
from .linear.generalized_linear import GeneralizedLinear
from .linear.least_squares import LeastSquares
from .require import require_least_squares
from .sensing.matrix_sensing import MatrixSensing
from .sensing.nuclear_norm import MinimumNuclearNorm, NotCertified

__all__ = [
    "Expansion",
    "GeneralizedLinear",
    "KernelLeastSquares",
    "LeastSquares",
    "Lifter",
    "MatrixSensing",
    "MinimumNuclearNorm",
    "NotCertified",
    "Problem",
    "Reduction",
    "require_least_squares",
]
__getattr__ = by_old_names(__name__)
