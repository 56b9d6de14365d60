"""Training in scale × direction coordinates: run it exactly, predict it, explain it.

>>> import weightnorm as wn
>>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
>>> w0 = wn.datasets.random_direction(50, seed=1)
>>> result = wn.run(wn.RPGD(0.005, 0.005), problem, scale=1.0, direction=w0)
>>> result.status == "converged"
True
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from ._support import moved as _moved
from ._support.interrupts import held as _held
from ._support.late import OFFERED as _OFFERED

if TYPE_CHECKING:
    from . import datasets as datasets
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
    from .methods import RPGD as RPGD
    from .methods import BatchNorm as BatchNorm
    from .methods import GradientDescent as GradientDescent
    from .methods import Method as Method
    from .methods import WeightNorm as WeightNorm
    from .methods import schedules as schedules
    from .problems import GeneralizedLinear as GeneralizedLinear
    from .problems import KernelLeastSquares as KernelLeastSquares
    from .problems import LeastSquares as LeastSquares
    from .problems import MatrixSensing as MatrixSensing
    from .problems import NotCertified as NotCertified
    from .problems import Problem as Problem
    from .runs.contest import StepSearch as StepSearch
    from .runs.history import History as History
    from .runs.result import Interrupted as Interrupted
    from .runs.result import Result as Result
    from .runs.result import Status as Status
    from .runs.run import run as run
    from .runs.step_search import search_step as search_step
    from .runs.sweep import sweep as sweep

    __version__: str

# where each public name is; loaded when it is first asked for, so that a command that only prints
# its help, or a program that draws a figure, waits for nothing else
_PLACES = {
    "datasets": "datasets",
    "plot": "plot",
    "schedules": "methods.schedules",
    "theory": "theory",
    **dict.fromkeys(["RPGD", "BatchNorm", "GradientDescent", "Method", "WeightNorm"], "methods:"),
    **dict.fromkeys(
        [
            "GeneralizedLinear",
            "KernelLeastSquares",
            "LeastSquares",
            "MatrixSensing",
            "NotCertified",
            "Problem",
        ],
        "problems:",
    ),
    **dict.fromkeys(["Interrupted", "Result", "Status"], "runs.result:"),
    "History": "runs.history:",
    "StepSearch": "runs.contest:",
    "run": "runs.run:",
    "search_step": "runs.step_search:",
    "sweep": "runs.sweep:",
    **dict.fromkeys(["Trajectory", "flow", "gradient_flow"], "flows:"),
    "certificate": "advice.certificate:",
    "explore": "explorer:",
    **dict.fromkeys(
        [
            "WeightNormClassifier",
            "WeightNormKernelRegressor",
            "WeightNormRegressor",
            "WeightNormRegressorCV",
        ],
        "estimators:",
    ),
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
    """Load a public name when it is asked for."""
    value: _Any
    if name in _PLACES:
        module, colon, _ = _PLACES[name].partition(":")
        with _held():  # NumPy cannot be imported again where Ctrl-C broke it off
            loaded = _import_module(f"weightnorm.{module}")
        value = getattr(loaded, name) if colon else loaded
    elif name == "verify":
        value = _import_module("weightnorm._support.extensions").load(name)
    elif name == "__version__":
        value = _import_module("importlib.metadata").version("weightnorm")
    else:
        raise AttributeError(f"module 'weightnorm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
