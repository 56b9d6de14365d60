"""The compiled kernels: nothing else imports numba."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


@cache
def diagonal_kernel(wide: bool = False) -> ModuleType:
    """The kernel of diagonal problems, with 4 lanes or, `wide`, with 32.

    The wide one is the same source, loaded again under another name: numba compiles a function for
    its types and the lanes it finds in its module.
    """
    narrow = import_module(f"{__name__}.diagonal")
    if not wide:
        return narrow
    spec = spec_from_file_location(f"{__name__}.diagonal_wide", narrow.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
