"""The rule of a gradient tolerance: has a run come to where the gradient is small?"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.moved import by_old_names
from .batch import Batch
from .stopping import SLICE, StoppingRule, relative_gradient

GRADIENT_LOOK = 16  # steps between looks at the gradient, at first …
PER_DOUBLING = 32  # … and looks while the step number doubles, later
__getattr__ = by_old_names(__name__)


@lru_cache(maxsize=4)
def _looks(beyond: int) -> list[int]:
    """The steps at which the gradient is looked at, up to the first after 2^beyond.

    They are the same for every run, whatever its neighbours in a batch do and where it goes on.
    """
    looks = [GRADIENT_LOOK]
    while looks[-1] <= 2**beyond:
        looks.append(looks[-1] + max(GRADIENT_LOOK, looks[-1] // PER_DOUBLING))
    return looks


def look_after(step: int) -> int:
    """The first look after a step number."""
    looks = _looks(max(step, 1).bit_length())
    return looks[bisect_right(looks, step)]


@dataclass
class GradientTest(StoppingRule):
    """Looks whether the gradient is small, beside another rule.

    Attributes
    ----------
    inner : StoppingRule
        The other one.
    gradient_tolerance : float
        How small: ‖∇f(x)‖ over the terms it is the sum of.
    """

    inner: StoppingRule
    gradient_tolerance: float

    active = True
    always = True

    def copy(self) -> GradientTest:
        """A rule of its own for a run that goes on."""
        return replace(self, inner=self.inner.copy())

    def at_start(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or stuck."""
        found = self.inner.at_start(batch) if self.inner.active else None
        return self._either(batch, found) if batch.clock == 0 else found

    def until(self, batch: Batch) -> int:
        """The next look at the gradient, or what the other rule wants."""
        inner = self.inner.until(batch) if self.inner.active else batch.clock + SLICE
        return min(inner, look_after(batch.clock))

    def after(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or found by the other rule."""
        found = self.inner.after(batch) if self.inner.active else None
        looks = look_after(batch.clock - 1) == batch.clock
        return self._either(batch, found) if looks else found

    def at_end(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or found by the other rule."""
        return self._either(batch, self.inner.at_end(batch) if self.inner.active else None)

    def optimal(self, batch: Batch) -> NDArray[np.bool_]:
        """Those whose gradient is small enough, or zero to rounding."""
        return self._small(batch) | self.inner.optimal(batch)

    def _small(self, batch: Batch) -> NDArray[np.bool_]:
        return relative_gradient(batch) <= self.gradient_tolerance

    def _either(self, batch: Batch, found: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        small = self._small(batch)
        return small if found is None else small | found


def with_gradient(
    rule: StoppingRule, problem: Any, tolerance: float, gradient_tolerance: Any
) -> StoppingRule:
    """The rule of a run that has a gradient tolerance, beside the one it had.

    Where the tolerance of the loss is zero all the steps are made, so standing still is not judged.
    """
    size = validate.real("gradient_tolerance", gradient_tolerance, minimum=0.0)
    if problem.has_columns:
        raise ValueError(
            "gradient_tolerance is for problems with a vector of weights, and "
            f"{type(problem).__name__} has a matrix; use tolerance"
        )
    return GradientTest(rule if tolerance > 0 else StoppingRule(), size)
