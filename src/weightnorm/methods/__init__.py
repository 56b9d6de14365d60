"""Training rules: frozen configuration and the step rule, in NumPy, batched over runs, for any
problem.
"""

from .batch_norm import BatchNorm
from .gradient_descent import GradientDescent
from .rpgd import RPGD
from .training import Training
from .weight_norm import WeightNorm

__all__ = ["RPGD", "BatchNorm", "GradientDescent", "Training", "WeightNorm"]
