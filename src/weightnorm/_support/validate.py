"""Checks of user input, one function per kind; every message names the parameter, what came and
the fix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from .numeric import EPS, LARGEST, Matrix, Vector

MAX_COUNT = 2**62  # steps that can be counted in 64 bits, with room for a sum of two such numbers

P = ParamSpec("P")
T = TypeVar("T")


def real(name: str, value: object, *, minimum: float = -math.inf, strict: bool = False) -> float:
    """A finite number, at least (or, if strict, above) `minimum`."""
    refuse_masked(name, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}: {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    if number < minimum or (strict and number == minimum):
        bound = "greater than" if strict else "at least"
        raise ValueError(f"{name} must be {bound} {minimum:g}, got {number:g}")
    return number


def instance(name: str, value: object, *kinds: type, use: str) -> None:
    """An object of one of these classes; `use` says how to get one."""
    if not isinstance(value, kinds):
        wanted = " or ".join(f"a {kind.__name__}" for kind in kinds)
        raise TypeError(f"{name} must be {wanted}, got {type(value).__name__}; use {use}")


def given(name: str, value: T | None) -> T:
    """Something that must be given, though an argument before it may be left out."""
    if value is None:
        raise ValueError(f"{name} is needed")
    return value


def squarable(name: str, value: object) -> float:
    """A number whose square neither overflows nor is about to."""
    number = real(name, value)
    if abs(number) > LARGEST:
        raise ValueError(
            f"{name} must be at most 1e140 in size, got {number:g}: its square would overflow"
        )
    return number


def integer(name: str, value: object, *, minimum: int = 0, maximum: int | None = None) -> int:
    """A whole number, at least `minimum` and, where given, at most `maximum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}: {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {_short(value)}")
    if maximum is not None and int(value) > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {_short(value)}")
    return int(value)


def _short(value: Integral) -> str:
    """A whole number in a message: all of it, unless it has more digits than anyone reads."""
    size = abs(int(value))
    if size < 10**20:
        return str(value)
    return f"a number of about {int(size.bit_length() * math.log10(2)) + 1} digits"


def function(name: str, value: object) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {type(value).__name__}: {value!r}")
    return value


def answer(name: str, user_function: Callable[..., Any], *arguments: object) -> Any:
    """What a user's function gives; where it fails as functions do, the error names it."""
    try:
        return user_function(*arguments)
    except StopIteration as error:
        raise ValueError(
            f"{name} raised StopIteration: it has come to its end; give a value for every step"
        ) from error
    except TypeError as error:  # most often a function of other arguments
        raise TypeError(f"{name} failed: {error}") from error
    except (ArithmeticError, LookupError, ValueError) as error:
        raise ValueError(f"{name} failed: {type(error).__name__}: {error}") from error


def items(name: str, value: object) -> list[Any]:
    """The entries of a list, tuple or array; text and mappings are none."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return list(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    given = f"{type(value).__name__}: {value!r}"
    raise TypeError(f"{name} must be a sequence such as [1, 2], got {given}")


def step_numbers(name: str, value: object) -> NDArray[np.int64]:
    """Whole numbers, zero or more, that fit 64 bits; of any shape."""
    steps = _as_array(name, value)
    if steps.size and (steps.dtype.kind not in "iu" or steps.min() < 0 or steps.max() > MAX_COUNT):
        raise ValueError(f"{name} must be whole numbers between 0 and 2^62, got {value!r}")
    return steps.astype(np.int64, copy=False)


def choice(name: str, value: object, options: Sequence[str]) -> str:
    """One of `options`."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return str(value)


def array(name: str, value: object, *, ndim: int) -> NDArray[np.float64]:
    """A finite float64 array of `ndim` axes; narrower types are promoted, lossy conversions
    refused.
    """
    result = _as_array(name, value)
    if result.ndim != ndim:
        shapes = {1: "a vector (n,)", 2: "a matrix (m, d)", 3: "an array (m, d, d)"}
        raise ValueError(f"{name} must be {shapes[ndim]}, got shape {result.shape}")
    if result.size == 0:
        raise ValueError(f"{name} is empty: shape {result.shape}")
    result = result.astype(np.float64, copy=False)
    require_finite(name, result)
    return result


def vector_or_rows(name: str, value: object) -> NDArray[np.float64]:
    """A finite float64 vector, or a matrix of them, row by row."""
    result = _as_array(name, value)
    return array(name, result, ndim=1 if result.ndim == 1 else 2)


def vector(name: str, value: object, size: int) -> Vector:
    """A finite vector of `size` entries."""
    result = array(name, value, ndim=1)
    if result.size != size:
        raise ValueError(f"{name} must have {size} entries, got {result.size}")
    return result


def numbers(
    name: str, value: object, *, minus_infinity: bool = False, finite: bool = True
) -> NDArray[np.float64]:
    """A finite number, or an array of them of any shape; −inf, the logarithm of zero, only where
    asked for.
    """
    result = _as_array(name, value).astype(np.float64, copy=False)
    if finite:
        require_finite(
            name, np.where(np.isneginf(result), 0.0, result) if minus_infinity else result
        )
    return result


def broadcast(**values: object) -> list[NDArray[np.float64]]:
    """Finite numbers or arrays, brought to one shape."""
    arrays = {name: numbers(name, value) for name, value in values.items()}
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays.values())
        raise ValueError(
            f"{', '.join(arrays)} must have shapes that broadcast, got {shapes}"
        ) from None


def number_or_vector(name: str, value: object) -> Vector:
    """A vector; one number makes a vector of one entry."""
    return array(name, np.atleast_1d(_as_array(name, value)), ndim=1)


def refuse_masked(name: str, value: object) -> None:
    """Refuse a masked array: its mask would be lost."""
    if isinstance(value, np.ma.MaskedArray):
        advice = "fill or drop its masked entries first"
        raise TypeError(f"{name} is a masked array, whose mask would be lost; {advice}")


def is_dask(value: object) -> bool:
    """Whether something is a Dask array, without loading Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "chunks")


def require_plain_blocks(name: str, value: Any) -> None:
    """Refuse a Dask array whose blocks are not plain arrays: masked ones would lose their mask."""
    if type(value._meta) is not np.ndarray:
        kind = type(value._meta)
        raise TypeError(
            f"{name} has blocks of {kind.__module__}.{kind.__name__}; fill or convert them first, "
            "as in A.map_blocks(np.asarray)"
        )


def refuse_dask(name: str, value: object) -> None:
    """Refuse a Dask array where one in memory is needed: turning it into one may not fit."""
    if is_dask(value):
        raise TypeError(
            f"{name} is a Dask array, and is needed in memory here; call {name}.compute() if it "
            "fits (only wn.LeastSquares works on blocks)"
        )


def _as_array(name: str, value: object) -> NDArray[Any]:
    if type(value) is np.ndarray:  # neither masked, nor sparse, nor Dask's
        require_real_dtype(name, value.dtype)
        return value
    refuse_masked(name, value)
    refuse_dask(name, value)
    try:
        result = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not a rectangular array of numbers: {error}") from None
    except (RuntimeError, TypeError) as error:  # a tensor on another device, or with gradients
        raise TypeError(f"{name} cannot be read as an array: {error}") from None
    if hasattr(value, "tocsr"):
        raise TypeError(f"{name} is sparse, and is needed dense here; give {name}.toarray()")
    require_real_dtype(name, result.dtype)
    return result


def is_text(name: str, value: object) -> bool:
    """Whether an array, or what makes one, holds text; refused where its rows differ in length."""
    try:
        return np.asarray(value).dtype.kind in "US"
    except ValueError as error:
        raise ValueError(f"{name} is not a rectangular array of numbers: {error}") from None


def precision(name: str, value: object) -> float:
    """The spacing eps of the numbers that a user gave: that of single precision for float32."""
    dtype = _as_array(name, value).dtype
    return max(float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0, EPS)


def require_real_dtype(name: str, dtype: np.dtype[Any]) -> None:
    """Refuse what float64 cannot hold: complex, long double, text, objects."""
    if dtype.kind not in "biuf" or not np.can_cast(dtype, np.float64, "safe"):
        raise TypeError(
            f"{name} has dtype {dtype}, which float64 cannot hold without loss; convert it "
            "yourself first"
        )


def require_finite(name: str, values: NDArray[np.float64]) -> None:
    """Refuse NaN and infinities, saying how many there are and where the first one is."""
    # A finite sum proves every entry finite without a temporary the size of the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    if values.ndim == 0:
        raise ValueError(f"{name} must be finite, got {values}")
    bad = ~np.isfinite(values)
    if count := int(np.count_nonzero(bad)):
        where = tuple(int(axis[0]) for axis in np.nonzero(bad))
        raise ValueError(
            f"{name} has {count} entries that are NaN or infinite, the first at {where}; remove "
            "them"
        )


def direction(name: str, value: object, num_features: int) -> Vector:
    """A nonzero vector of `num_features` entries, scaled to norm 1."""
    rows = array(name, value, ndim=1)[None]
    return np.asarray(_unit_rows([name], rows, num_features)[0])


def directions(value: object, num_features: int) -> Matrix:
    """The rows of a matrix, or one vector: each a direction."""
    rows = _as_array("directions", value)
    rows = array("directions", rows[None] if rows.ndim == 1 else rows, ndim=2)
    return _unit_rows([f"directions[{i}]" for i in range(len(rows))], rows, num_features)


def _unit_rows(names: list[str], rows: Matrix, num_features: int) -> Matrix:
    if rows.shape[1] != num_features:
        raise ValueError(
            f"{names[0]} must have {num_features} entries, one per feature, got {rows.shape[1]}"
        )
    largest = np.abs(rows).max(axis=1)
    if not largest.all():
        name = names[int(np.argmin(largest))]
        raise ValueError(
            f"{name} is zero: a direction needs a nonzero vector, for instance "
            "wn.datasets.random_direction"
        )
    # first, so that neither tiny nor huge entries lose their squares
    rows = rows / largest[:, None]
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse the old names of keyword arguments in one sentence that gives the new ones."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            for old, new in names.items():
                if old in kwargs:
                    raise TypeError(
                        f"{function.__name__}() has no {old} since 0.2: it is called {new}; "
                        f"write {new}={kwargs[old]!r}"
                    )
            return function(*args, **kwargs)

        return checked

    return decorate
