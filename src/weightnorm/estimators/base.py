"""What both estimators are: scikit-learn estimators with the same options, checked in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .. import _validate
from ..schedules import as_schedule


class Options(NamedTuple):
    """The checked options of a fit."""

    method: str
    ratio: float
    tol: float
    max_iter: int


class WeightNormEstimator(BaseEstimator):  # type: ignore[misc]
    """Sparse input is welcome, and the common options are checked when fitting."""

    method: str
    ratio: float
    tol: float
    max_iter: int
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _data(self, *arrays: Any, **options: Any) -> Any:
        """X, or X and y, checked by scikit-learn; its messages do not always name them."""
        for name, value in zip(("X", "y"), arrays, strict=False):
            _validate.refuse_masked(name, value)
        try:
            with np.errstate(all="ignore"):
                options |= {"accept_sparse": ("csr", "csc"), "dtype": np.float64}
                return validate_data(self, *arrays, **options)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            names = "X or y" if len(arrays) == 2 else "X"
            raise kind(f"{names} is not as expected: {error}") from error

    def _generator(self) -> Any:
        try:
            return check_random_state(self.random_state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"random_state must be a seed or a RandomState: {error}") from error

    def _options(self, methods: Sequence[str]) -> Options:
        for name in ("direction_step", "scale_step"):
            if getattr(self, name) is not None:
                as_schedule(name, getattr(self, name))
        return Options(
            _validate.choice("method", self.method, methods),
            _validate.squarable(
                "ratio", _validate.real("ratio", self.ratio, minimum=0.0, strict=True)
            ),
            _validate.real("tol", self.tol, minimum=0.0),
            _validate.integer("max_iter", self.max_iter, minimum=1),
        )
