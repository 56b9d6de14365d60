"""Training rules: frozen configuration and the step rule, in NumPy, batched over runs, for any
problem.
"""

from .._support.moved import by_old_names
from .batchnorm import BatchNorm
from .contract import Method
from .gradient_descent import GradientDescent
from .rpgd import RPGD
from .state import block_dot, block_norm, expand
from .training import GradientMethod
from .weight_norm import WeightNorm

__all__ = [
    "RPGD",
    "BatchNorm",
    "GradientDescent",
    "GradientMethod",
    "Method",
    "WeightNorm",
    "block_dot",
    "block_norm",
    "expand",
]
__getattr__ = by_old_names(__name__)
