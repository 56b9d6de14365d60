"""What both estimators do to their data: checks, centring without a dense copy of sparse data,
and starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from .. import _validate
from ..problems.factorisation import LARGEST
from ..schedules import as_schedule, constant

Array = NDArray[np.float64]


EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Centred:
    """X less its column means, as an array that is ours to overwrite, a sparse matrix or an
    operator.

    Attributes
    ----------
    A, means
    constant : float
        The entries of one more, last column, which stands for the intercept; 0 if there is none.
    noise : float
        The norm of the rounding errors that taking the means off leaves: singular values under it
        mean nothing.
    """

    A: Any
    means: Array
    constant: float
    noise: float


def require_squares(X: Any) -> None:
    """Refuse entries whose squares overflow."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"X has a largest entry of {largest:.3g}, whose square overflows; rescale it"
        )


def centre(X: Any, fit_intercept: bool, add_constant: bool = False) -> Centred:
    """X with the means taken off, if there is an intercept to put them back.

    With `add_constant` there is one more column of a constant, as large as the entries are on
    average. The long axis is contiguous, so that the factorisation can take the memory over.
    """
    m, d = X.shape
    means = np.asarray(X.mean(axis=0)).ravel() if fit_intercept else np.zeros(d)
    noise = 4.0 * EPS * float(np.linalg.norm(means)) * np.sqrt(m)
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel() - means**2
        constant = _size(float(squares.clip(0.0).mean())) if add_constant else 0.0
        return Centred(_centred_sparse(X, fit_intercept, constant), means, constant, noise)
    extra = int(add_constant)
    A = np.empty((m, d + extra), order="C" if m <= d + extra else "F")
    inside = A[:, :d]
    inside[:] = X
    if fit_intercept:
        inside -= means
        # again: what rounding left of the mean would become a direction of its own
        inside -= inside.mean(axis=0)
    constant = (
        _size(float(np.einsum("ij,ij->", inside, inside)) / inside.size) if add_constant else 0.0
    )
    A[:, d:] = constant
    return Centred(A, means, constant, noise)


def _size(mean_square: float) -> float:
    return float(np.sqrt(mean_square)) if mean_square > 0 else 1.0


def _centred_sparse(X: Any, fit_intercept: bool, constant: float) -> Any:
    """X itself, or P X with P the projection that takes the mean off every column; and the
    constant column, if any.
    """
    if not fit_intercept:
        return X
    m, d = X.shape
    extra = int(constant > 0)

    def product(V: Array) -> Array:
        centred = np.asarray(X @ V[:d])
        centred = centred - centred.mean(axis=0)
        return np.asarray(centred + constant * V[d] if extra else centred)

    def adjoint(R: Array) -> Array:
        top = np.asarray(X.T @ (R - R.mean(axis=0)))
        return np.concatenate([top, constant * R.sum(axis=0, keepdims=True)]) if extra else top

    return LinearOperator(
        (m, d + extra),
        matvec=lambda v: product(np.ravel(v)),
        rmatvec=lambda r: adjoint(np.ravel(r)),
        matmat=product,
        rmatmat=adjoint,
        dtype=np.float64,
    )


def predictions(X: Any, coef: Array, intercept: Any) -> Array:
    """X coef + intercept, refused where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(X @ coef + intercept)
    if not np.isfinite(values).all():
        raise ValueError("X has entries so large that the predictions overflow; rescale it")
    return values


def start_direction(name: str, direction: Any, shape: tuple[int, ...], generator: Any) -> Array:
    """The direction given, checked, or one at random; as an array of this shape."""
    if direction is None:
        return np.asarray(generator.standard_normal(shape))
    value = _validate.numbers(name, direction)
    if len(shape) == 1 and value.shape == (1, *shape):  # a classifier's own coef_
        value = value[0]
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got shape {value.shape}")
    if np.abs(value).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"{name} has a largest entry of {np.abs(value).max():.3g}, whose square overflows; "
            "rescale it"
        )
    return value


def both_steps(eta: float, c: float, direction_step: Any, scale_step: Any) -> tuple[Any, Any]:
    """The steps of w and g: given, or by default η and γ = c·η; one number gives the other."""
    if direction_step is None and scale_step is None:
        return eta, c * eta
    if direction_step is not None and scale_step is not None:
        return direction_step, scale_step
    name, step = (
        ("direction_step", direction_step) if scale_step is None else ("scale_step", scale_step)
    )
    given = as_schedule(name, step)
    if given.function is not None or given != constant(given.phases[0]):
        raise ValueError(
            f"{name} changes with time or scale, so the other step must be given too; only a "
            "number implies it"
        )
    value = given.phases[0]
    return (value, c * value) if scale_step is None else (value / c, value)


def in_units(name: str, step: Any, unit: float, power: int) -> Any:
    """A step given for weights, in place of weights/unit: the step of w, which goes with g², has
    power 2, that of g 0.
    """
    if step is None:
        return None
    schedule = as_schedule(name, step)
    own = -2.0 if schedule.per_curvature else schedule.scale_power
    with np.errstate(over="ignore", under="ignore"):
        factor = float(np.float64(unit) ** (power + own))
        largest = factor * max(schedule.phases, default=0.0)
    if factor == 0.0 or not np.isfinite(factor) or not np.isfinite(largest):
        reason = f"whose largest entry is {unit:.3g}; rescale y"
        raise ValueError(f"{name} cannot be given in units of y, {reason}")
    function = schedule.function
    if function is None:
        return replace(schedule, phases=tuple(factor * value for value in schedule.phases))
    return replace(schedule, function=lambda t: factor * function(t))
