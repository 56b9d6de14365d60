"""Training in scale × direction coordinates: run it exactly, predict it, explain it.

>>> import weightnorm as wn
>>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
>>> w0 = wn.datasets.random_direction(50, seed=1)
>>> result = wn.run(wn.RPGD(0.005, 0.005), problem, scale=1.0, direction=w0)
>>> result.status == "converged"
True
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import datasets
from ._support import extensions as _extensions
from ._support import moved as _moved
from ._support.late import OFFERED as _OFFERED
from .methods import RPGD, BatchNorm, GradientDescent, Method, WeightNorm, schedules
from .problems import (
    GeneralizedLinear,
    KernelLeastSquares,
    LeastSquares,
    MatrixSensing,
    NotCertified,
    Problem,
)
from .runs.contest import StepSearch
from .runs.history import History
from .runs.result import Interrupted, Result, Status
from .runs.run import run
from .runs.step_search import search_step
from .runs.sweep import sweep

if TYPE_CHECKING:
    from . import plot as plot
    from . import theory as theory
    from .advice.certificate import certificate as certificate
    from .estimators import WeightNormClassifier as WeightNormClassifier
    from .estimators import WeightNormKernelRegressor as WeightNormKernelRegressor
    from .estimators import WeightNormRegressor as WeightNormRegressor
    from .estimators import WeightNormRegressorCV as WeightNormRegressorCV
    from .explorer.explore import explore as explore
    from .flows.trajectory import Trajectory as Trajectory
    from .flows.trajectory import flow as flow
    from .flows.trajectory import gradient_flow as gradient_flow

__version__ = _version("weightnorm")

_LAZY = {
    "plot": "plot",
    "theory": "theory",
    "flow": "flows:flow",
    "gradient_flow": "flows:gradient_flow",
    "Trajectory": "flows:Trajectory",
    "explore": "explorer:explore",
    "certificate": "advice.certificate:certificate",
    "WeightNormRegressor": "estimators:WeightNormRegressor",
    "WeightNormRegressorCV": "estimators:WeightNormRegressorCV",
    "WeightNormClassifier": "estimators:WeightNormClassifier",
    "WeightNormKernelRegressor": "estimators:WeightNormKernelRegressor",
}

_moved.register()
_OFFERED["theory.plan"] = lambda: _import_module("weightnorm.advice.planning").plan

__all__ = [
    "RPGD",
    "BatchNorm",
    "GeneralizedLinear",
    "GradientDescent",
    "History",
    "Interrupted",
    "KernelLeastSquares",
    "LeastSquares",
    "MatrixSensing",
    "Method",
    "NotCertified",
    "Problem",
    "Result",
    "Status",
    "StepSearch",
    "Trajectory",
    "WeightNorm",
    "WeightNormClassifier",
    "WeightNormKernelRegressor",
    "WeightNormRegressor",
    "WeightNormRegressorCV",
    "__version__",
    "certificate",
    "datasets",
    "explore",
    "flow",
    "gradient_flow",
    "plot",
    "run",
    "schedules",
    "search_step",
    "sweep",
    "theory",
    "verify",
]


def __getattr__(name: str) -> _Any:
    """Load what is heavier than a run only when it is asked for."""
    if name == "verify":
        value = _extensions.load(name)
    elif name in _LAZY:
        module, _, attribute = _LAZY[name].partition(":")
        loaded = _import_module(f"weightnorm.{module}")
        value = getattr(loaded, attribute) if attribute else loaded
    else:
        raise AttributeError(f"module 'weightnorm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
