"""The judge of a gradient tolerance: has a run come to where the gradient is small?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .batch import Batch
from .loop import SLICE, Judge, relative_gradient

GRADIENT_LOOK = 16  # steps between looks at the gradient, at first …
PER_DOUBLING = 32  # … and looks while the step number doubles, later


@dataclass
class Optimum(Judge):
    """Looks whether the gradient is small, beside another judge.

    Attributes
    ----------
    inner : Judge
        The other one.
    tolerance : float
        How small: ‖∇f(x)‖ over the terms it is the sum of.
    """

    inner: Judge
    tolerance: float

    active = True
    always = True

    @staticmethod
    def beside(inner: Judge, problem: Any, tolerance: Any) -> Optimum:
        """Such a judge, for a problem that has a gradient in its weights."""
        size = _validate.real("gradient_tolerance", tolerance, minimum=0.0)
        if problem.has_columns:
            raise ValueError(
                f"gradient_tolerance is for problems with a vector of weights, and "
                f"{type(problem).__name__} has a matrix; use tolerance"
            )
        return Optimum(inner, size)

    def copy(self) -> Optimum:
        """A judge of its own for a run that goes on."""
        return replace(self, inner=self.inner.copy())

    def at_start(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or stuck."""
        return self._either(batch, self.inner.at_start(batch) if self.inner.active else None)

    def until(self, batch: Batch) -> int:
        """The next look at the gradient, or what the other judge wants."""
        inner = self.inner.until(batch) if self.inner.active else batch.clock + SLICE
        return min(inner, batch.clock + max(GRADIENT_LOOK, batch.clock // PER_DOUBLING))

    def after(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or found by the other judge."""
        return self._either(batch, self.inner.after(batch) if self.inner.active else None)

    def at_end(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Those at their optimum, or found by the other judge."""
        return self._either(batch, self.inner.at_end(batch) if self.inner.active else None)

    def optimal(self, batch: Batch) -> NDArray[np.bool_]:
        """Those whose gradient is small enough, or zero to rounding."""
        return self._small(batch) | self.inner.optimal(batch)

    def _small(self, batch: Batch) -> NDArray[np.bool_]:
        return relative_gradient(batch) <= self.tolerance

    def _either(self, batch: Batch, found: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        small = self._small(batch)
        return small if found is None else small | found
