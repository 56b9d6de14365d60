"""The certificate: every claim of the theory against simulation, with a verdict."""

import sys
from types import ModuleType
from typing import Any

from .._late import OFFERED
from .certify import Certificate, Line, verify
from .markdown import counts, summary, to_erratum, to_markdown

__all__ = ["Certificate", "Line", "counts", "summary", "to_erratum", "to_markdown", "verify"]


class _Callable(ModuleType):
    """The module itself, which can be called: `wn.certificate(problem, result)`."""

    def __call__(self, problem: Any, result: Any) -> Any:
        """What the theory says of a result; see `weightnorm.assessment.certificate`."""
        return OFFERED["certificate"]()(problem, result)


sys.modules[__name__].__class__ = _Callable
