"""What the estimators share: their options and data, checked in one place, and their ends."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from .._support import validate
from .._support.numeric import LARGEST, Array
from ..methods.schedules import as_schedule
from ..problems.coordinates.factorisation import require_squarable
from .data import start_rows

TRAINING = ("rpgd", "wn", "gd")
STUCK = "stationary"
AT_REST = (
    "the flow does not reach its limit: it rests where the scale is zero and the loss does not "
    "fall along the direction; start from another one"
)
SMALLER = "use smaller direction_step and scale_step"
# steps and ratios that a method has no use for: given all the same, they are named in a warning
WITHOUT = {"limit": ("direction_step", "scale_step"), "gd": ("scale_step", "ratio")}


class FitOptions(NamedTuple):
    """The checked options of a fit."""

    method: str
    ratio: float
    tol: float
    max_iter: int


@dataclass(frozen=True)
class FitStart:
    """Where the fit of one target starts: a scale and a direction; None stands for Aᵀy."""

    scale: float
    direction: Array | None


@dataclass(frozen=True)
class FitEnd:
    """Where a fit ended."""

    coef: Array
    intercept: float = 0.0
    scale: float = 0.0
    perp_norm: float = 0.0
    distance: float = 0.0
    num_steps: int = 1
    status: str = "converged"
    message: str = ""


class WeightNormEstimator(BaseEstimator):  # type: ignore[misc]
    """Sparse input is welcome, and the common options are checked when fitting."""

    method: str
    ratio: Any
    tol: Any
    max_iter: Any
    random_state: Any
    scale: float
    direction: Any
    coef_init: Any
    # what `None` stands for
    defaults: ClassVar[dict[str, Any]] = {"ratio": 0.1, "tol": 1e-4, "max_iter": 100_000}

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _data(self, *arrays: Any, **options: Any) -> Any:
        """X, or X and y, checked by scikit-learn; its messages do not always name them."""
        for name, value in zip(("X", "y"), arrays, strict=False):
            validate.refuse_masked(name, value)
        try:
            with np.errstate(all="ignore"):
                common = {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
                return validate_data(self, *arrays, **common | options)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            names = "X or y" if len(arrays) == 2 else "X"
            raise kind(f"{names} is not as expected: {error}") from error

    def _weights(self, sample_weight: Any, X: Any) -> Array | None:
        """The weights of the samples; None where all are 1."""
        if sample_weight is None:
            return None
        try:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sample_weight is not as expected: {error}") from error
        if (weights < 0).any():
            raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
        require_squarable("sample_weight", weights, 1.0 / LARGEST, "rescale the weights")
        return None if (weights == 1.0).all() else np.asarray(weights)

    def _generator(self) -> Any:
        try:
            return check_random_state(self.random_state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"random_state must be a seed or a RandomState: {error}") from error

    def _starts(self, num_rows: int, num_features: int) -> list[FitStart]:
        """Where the fit of every target, or class, starts."""
        generator = self._generator()
        scale = validate.squarable("scale", self.scale)
        if self.coef_init is not None:
            if self.direction is not None:
                raise ValueError("give either coef_init or direction, not both")
            rows = start_rows("coef_init", self.coef_init, num_rows, num_features)
            sizes = np.linalg.norm(rows, axis=1)
            pairs = zip(sizes, rows, strict=True)
            return [FitStart(float(size), row if size > 0 else None) for size, row in pairs]
        if self.direction is None:
            return [FitStart(scale, None)] * num_rows
        if isinstance(self.direction, str):
            validate.choice("direction", self.direction, ("random",))
            random = generator.standard_normal((num_rows, num_features))
            return [FitStart(scale, row) for row in random]
        rows = start_rows("direction", self.direction, num_rows, num_features)
        if not rows.any(axis=1).all():
            raise ValueError("direction is zero, or has a row of zeros; give a nonzero one")
        return [FitStart(scale, row) for row in rows]

    def _options(self, methods: Sequence[str]) -> FitOptions:
        for name in ("direction_step", "scale_step"):
            if getattr(self, name, None) is not None:
                as_schedule(name, getattr(self, name))
        method = validate.choice("method", self.method, methods)
        given = {
            name: default if getattr(self, name) is None else getattr(self, name)
            for name, default in self.defaults.items()
        }
        options = FitOptions(
            method,
            validate.squarable(
                "ratio", validate.real("ratio", given["ratio"], minimum=0.0, strict=True)
            ),
            validate.real("tol", given["tol"], minimum=0.0),
            validate.integer("max_iter", given["max_iter"], minimum=1),
        )
        self._name_unused(method)
        return options

    def _name_unused(self, method: str) -> None:
        """Warn of options that a method has no use for."""
        unused = [name for name in WITHOUT.get(method, ()) if getattr(self, name, None) is not None]
        if unused:
            warnings.warn(
                f"{', '.join(unused)}: not used by method={method!r}", UserWarning, stacklevel=4
            )


def warn_unless_converged(method: str, ends: Sequence[FitEnd]) -> None:
    """One ConvergenceWarning for the first end that is none."""
    for end in ends:
        if end.status in ("max_steps", "stationary", "unfinished"):
            warnings.warn(
                f"{method} did not converge: {end.message}", ConvergenceWarning, stacklevel=3
            )
            return
