"""What the last bits of a number depend on besides what was asked for: versions, BLAS, the CPU."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import Any

from .._support.blas import kernels
from ..engine.kernels.compiling import code_target

PACKAGES = ("weightnorm", "numpy", "scipy", "numba")
AGREE = 1e-12  # shards of different environments must agree to this, relatively
UNKNOWN = "an unknown environment"


@cache
def environment() -> str:
    """The environment of this process, as sorted JSON.

    Returns
    -------
    str
        The versions of weightnorm, numpy, scipy and numba, the kernels BLAS chose for this CPU, and
        the CPU that runs were compiled for.

    Examples
    --------
    >>> import json
    >>> from weightnorm.sweeps.environment import environment
    >>> sorted(json.loads(environment()))
    ['blas', 'cpu', 'numba', 'numpy', 'scipy', 'weightnorm']
    """
    found: dict[str, Any] = {name: version(name) for name in PACKAGES}
    return json.dumps(found | {"blas": kernels(), "cpu": code_target()}, sort_keys=True)


def differences(environments: Iterable[str]) -> str:
    """In which ways environments differ, such as "numpy 2.3.1 or 2.4.6"; "" where they do not.

    Parameters
    ----------
    environments : iterable of str
        As `environment` writes them.

    Returns
    -------
    str
        The differences in words.

    Examples
    --------
    >>> from weightnorm.sweeps.environment import differences
    >>> differences(['{"cpu": "znver3", "numpy": "2.4.6"}', '{"cpu": "znver3", "numpy": "2.3.1"}'])
    'numpy 2.3.1 or 2.4.6'
    """
    known = [_content(each) for each in environments]
    names = sorted({name for each in known for name in each})
    values = {name: sorted({_shown(each.get(name)) for each in known}) for name in names}
    return "; ".join(f"{name} {' or '.join(v)}" for name, v in values.items() if len(v) > 1)


def _content(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"environment": UNKNOWN}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " + ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)
