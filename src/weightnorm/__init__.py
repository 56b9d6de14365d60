"""Training in scale × direction coordinates: run it exactly, predict it, explain it.

>>> import weightnorm as wn
>>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
>>> w0 = wn.datasets.random_direction(50, seed=1)
>>> result = wn.run(wn.RPGD(0.005, 0.005), problem, scale=1.0, direction=w0)
>>> result.status == "converged"
True
"""

from importlib.metadata import version as _version

from . import datasets, schedules
from .grid import sweep
from .methods import RPGD, GradientDescent, WeightNorm
from .problems import LeastSquares
from .result import History, Interrupted, Result, Status
from .run import run

__version__ = _version("weightnorm")

__all__ = [
    "RPGD",
    "GradientDescent",
    "History",
    "Interrupted",
    "LeastSquares",
    "Result",
    "Status",
    "WeightNorm",
    "__version__",
    "datasets",
    "run",
    "schedules",
    "sweep",
]
