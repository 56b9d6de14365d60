"""The certificate: every claim of the theory against simulation, with a verdict.

The module can be called as well: wn.certificate(problem, result) says what the theory knows of one
result, as `weightnorm.advice.assessment.certificate` does.

Parameters
----------
problem : LeastSquares, or GeneralizedLinear with a convex loss
    The problem that the result is of.
result : Result
    Of `run`.

Returns
-------
Assessment
    Bregman optimality, the invariant's drift, the predicted end and its error; it prints as a
    table.

Examples
--------
>>> import weightnorm as wn
>>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
>>> result = wn.run(wn.RPGD(0.01, 0.01), problem, 2.8, w0, tolerance=1e-20)
>>> wn.certificate(problem, result).distance < 1e-3
True
"""

import sys
from types import ModuleType
from typing import Any

from .._support.late import OFFERED
from .certify import Certificate, Line, verify
from .markdown import counts, summary, to_erratum, to_markdown

__all__ = ["Certificate", "Line", "counts", "summary", "to_erratum", "to_markdown", "verify"]


class _Callable(ModuleType):
    """The module itself, which can be called: `wn.certificate(problem, result)`."""

    def __call__(self, problem: Any, result: Any) -> Any:
        """What the theory says of a result; see `weightnorm.advice.assessment.certificate`."""
        return OFFERED["certificate"]()(problem, result)


sys.modules[__name__].__class__ = _Callable
