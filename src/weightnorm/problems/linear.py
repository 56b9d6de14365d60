"""What problems whose weights are a vector x = g·w share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FLAT = 16 * float(np.finfo(np.float64).eps)  # a gradient this small against its own terms is rounding


class VectorWeights:
    """Mixin: what methods and loops ask of a problem with weights x = g·w, from its value_and_gradient alone."""

    def value_and_gradient(self, x: Any) -> tuple[Any, Array]:
        """Loss and gradient, row by row."""
        raise NotImplementedError

    def polar(self, unit: Array, scale: Array) -> tuple[Array, Array, Array]:
        """The loss at x = g·w of unit rows w, ∇_w = g G and ∇_g = ⟨w, G⟩."""
        loss, gradient = self.value_and_gradient(scale[:, None] * unit)
        return loss, scale[:, None] * gradient, np.einsum("ij,ij->i", unit, gradient)

    def scale_of(self, norm: Array) -> Array:
        """The scale of gradient descent's vector of this norm."""
        return norm

    def sizes(self, unit: Array, scale: Array, perp: Array) -> tuple[Array, Array, Array]:
        """‖x⊥‖, ‖x‖ and ‖w⊥‖, from the signed length `perp` of the unit direction's part off the row space."""
        return np.abs(scale * perp), np.abs(scale), np.abs(perp)

    def gradient_vanishes(self, unit: Array, scale: Array, has_scale: bool) -> NDArray[np.bool_]:
        """Where the gradient in a method's own coordinates is zero to rounding.

        Either Aᵀr is zero against its own terms (a solution, or the floor of an unreachable y), or the run is in
        S = {g = 0, yᵀAw = 0}, where neither g nor w moves.
        """
        _, gradient = self.value_and_gradient(scale[:, None] * unit)
        _, at_zero = self.value_and_gradient(np.zeros_like(unit[:1]))
        size = np.linalg.norm(gradient, axis=1)
        terms = np.linalg.norm(at_zero) + np.linalg.norm(gradient - at_zero, axis=1)
        flat = (size <= FLAT * terms) & np.isfinite(terms)
        if not has_scale:
            return np.asarray(flat)
        along = np.abs(np.einsum("ij,ij->i", unit, gradient))
        return np.asarray(flat | ((scale == 0.0) & (along <= FLAT * size)))
