"""What every formula does with its numbers: check them, and refuse where it has no value."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._support import validate
from .statement import Statement

P = ParamSpec("P")
T = TypeVar("T")


def formula(function: Callable[P, T]) -> Callable[P, T]:
    """Check every parameter declared `float`; refuse where the formula divides by zero or is NaN.

    A statement whose assumptions do not hold may have NaN in it: its value is not promised.
    Infinity is a value: a time that never comes, or an exponential beyond the largest float.
    """
    signature = inspect.signature(function)
    names = [name for name, p in signature.parameters.items() if p.annotation == "float"]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name in names:
            bound.arguments[name] = validate.real(name, bound.arguments[name])
        try:
            with np.errstate(all="ignore"):
                result = function(*bound.args, **bound.kwargs)
        except (ZeroDivisionError, OverflowError):
            raise ValueError(_no_value(function.__name__, names, bound.arguments)) from None
        if not _sound(result):
            raise ValueError(_no_value(function.__name__, names, bound.arguments))
        return result

    return checked


def log(number: float) -> float:
    """The natural logarithm; NaN of a negative number, as NumPy has it, and a plain float."""
    return float(np.log(number))


def log1p(number: float) -> float:
    """log(1 + number), exact for small numbers; NaN below −1, and a plain float."""
    return float(np.log1p(number))


def root(number: float) -> float:
    """The square root; NaN of a negative number, and a plain float."""
    return float(np.sqrt(number))


def whole(number: float) -> int:
    """Rounded up, and not below zero; an integer within rounding is itself."""
    if not number < math.inf:
        raise OverflowError  # no such number of steps: `formula` says so
    return max(0, int(np.ceil(number - 1e-12 * max(1.0, abs(number))))) if number > 0.0 else 0


def _no_value(name: str, names: list[str], arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{each} = {arguments[each]:g}" for each in names) or ", ".join(arguments)
    reason = "it divides by zero, overflows or takes the root of a negative number"
    return f"{name} has no value at {given}: {reason}"


def _sound(result: object) -> bool:
    if isinstance(result, Statement) and is_dataclass(result):
        values = [getattr(result, field.name) for field in fields(result)]
        return not result.applies or all(map(_without_nan, values))
    return _without_nan(result)


def _without_nan(value: object) -> bool:
    """Whether no number in a value, a dictionary of values included, is NaN."""
    if isinstance(value, dict):
        return all(_without_nan(part) for part in value.values())
    if isinstance(value, float | np.floating | np.ndarray) and np.asarray(value).dtype.kind == "f":
        return not np.isnan(value).any()
    return True
