"""The compiled kernels: nothing else imports numba."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


@cache
def diagonal_kernel(wide: bool = False) -> ModuleType:
    """The kernel of diagonal problems, with 4 lanes or, `wide`, with 32."""
    return _again("diagonal", "wide") if wide else import_module(f"{__name__}.diagonal")


@cache
def model_kernel(lone: bool = False) -> ModuleType:
    """The kernel of linear models whose lanes are runs or, `lone`, the coordinates of one run."""
    return _again("model", "lone") if lone else import_module(f"{__name__}.model")


def _again(name: str, suffix: str) -> ModuleType:
    """A kernel's source, loaded again under another name: numba compiles a function for its types
    and what it finds in its module.
    """
    first = import_module(f"{__name__}.{name}")
    spec = spec_from_file_location(f"{__name__}.{name}_{suffix}", first.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
