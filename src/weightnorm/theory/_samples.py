"""The samples of a problem under mini-batches: the flow they follow, the noise they add to it, and
what both do to the flow's invariant.

In units in which g* = λmax = 1 and ‖w0‖ = 1, with θ = (g, z), z the row-space part of ŵ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._support.numeric import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a problem in coordinates of the row space, in units of g* = λmax = 1.

    Attributes
    ----------
    rows, targets : (m, rank) and (m,) arrays
        A and y.
    share : float
        (m − b)/((m − 1)b): of the variance of a sample, what a batch of b has.
    ratio : float
        c of unit directions.
    start : (rank,) array
        The row-space part of ŵ0.
    """

    rows: Array
    targets: Array
    share: float
    ratio: float
    start: Array

    @cached_property
    def squares(self) -> Array:
        """‖a_i‖²."""
        return np.asarray(np.sum(self.rows**2, axis=1))

    @cached_property
    def gram(self) -> Array:
        """AAᵀ."""
        return np.asarray(self.rows @ self.rows.T)

    @cached_property
    def steepest(self) -> Array:
        """Aᵀy: minus the gradient at x = 0."""
        return np.asarray(self.rows.T @ self.targets)

    def parts(self, g: float, z: Array) -> tuple[Array, Array, Array, float]:
        """Aŵ, the residuals r, Aᵀr and s = ⟨ŵ, Aᵀr⟩."""
        seen = self.rows @ z
        r = g * seen - self.targets
        pull = self.rows.T @ r
        return seen, r, pull, float(z @ pull)

    def steepness(self, theta: Array) -> float:
        """‖Aᵀr‖²."""
        pull = self.parts(float(theta[0]), theta[1:])[2]
        return float(pull @ pull)

    def field(self, theta: Array) -> Array:
        """F: the flow of g and of the row-space part of the unit direction."""
        g, z = float(theta[0]), theta[1:]
        _, _, pull, s = self.parts(g, z)
        return np.concatenate([[-self.ratio * s], -g * (pull - s * z)])

    def back(self, theta: Array, ell: Array) -> Array:
        """F′ᵀℓ."""
        g, z = float(theta[0]), theta[1:]
        seen, _, pull, s = self.parts(g, z)
        of_g, of_z = float(ell[0]), ell[1:]
        curved, along = self.rows.T @ seen, float(of_z @ z)
        slope_of_s = pull + g * curved  # by z; by g it is ‖Aŵ‖²
        square = float(seen @ seen)
        by_g = -self.ratio * of_g * square - float(of_z @ (pull - s * z + g * curved))
        by_g += g * along * square
        turned = g * (self.rows.T @ (self.rows @ of_z)) - along * slope_of_s - s * of_z
        return np.concatenate([[by_g], -self.ratio * of_g * slope_of_s - g * turned])

    def variance(self, theta: Array, ell: Array) -> float:
        """ℓᵀCℓ: the variance over batches of the step of ℓᵀθ, per unit of time and of h."""
        g, z = float(theta[0]), theta[1:]
        seen, r, _, _ = self.parts(g, z)
        of_g, of_z = float(ell[0]), ell[1:]
        each = r * (self.ratio * of_g * seen + g * (self.rows @ of_z - float(of_z @ z) * seen))
        return self.share * max(len(r) * float(each @ each) - float(each.sum()) ** 2, 0.0)

    def drift_gradient(self, theta: Array, coefficients: Array) -> Array:
        """The gradient of D = ½(κ₀s² + κ₁p + κ₂V_s + κ₃V_p) by θ: hD is the drift of the invariant
        per unit of time, and the four κ are polynomials in g².
        """
        g, z = float(theta[0]), theta[1:]
        seen, r, pull, s = self.parts(g, z)
        m, curved = len(r), self.rows.T @ seen
        kappa = coefficients @ np.array([1.0, g**2, g**4])
        slopes = coefficients @ np.array([0.0, 2.0 * g, 4.0 * g**3])
        whole, square = float(pull @ pull), r * r
        off = self.squares - seen**2  # ‖Pa_i‖²
        s_by = np.concatenate([[float(seen @ seen)], pull + g * curved])
        p = whole - s * s
        p_by = 2.0 * np.concatenate(
            [[float(pull @ curved)], g * (self.rows.T @ (self.rows @ pull))]
        )
        p_by -= 2.0 * s * s_by
        vs = self.share * (m * float(square @ seen**2) - s * s)
        vs_by = self.share * (self._moved(g, seen, r * seen**2, square * seen) - 2.0 * s * s_by)
        vp = self.share * (m * float(square @ off) - p)
        vp_by = self.share * (self._moved(g, seen, r * off, -square * seen) - p_by)
        total = kappa[0] * 2.0 * s * s_by + kappa[1] * p_by + kappa[2] * vs_by + kappa[3] * vp_by
        total[0] += float(slopes @ np.array([s * s, p, vs, vp]))
        return np.asarray(0.5 * total)

    def _moved(self, g: float, seen: Array, by_r: Array, by_seen: Array) -> Array:
        """The gradient of m·Σφ_i by θ, from half of φ's derivatives by r_i and by ⟨a_i, ŵ⟩."""
        m = len(seen)
        return 2.0 * m * np.concatenate([[float(by_r @ seen)], self.rows.T @ (g * by_r + by_seen)])
