"""Matrix sensing: a symmetric matrix from m of its linear measurements."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support import validate
from ..._support.numeric import Array, Matrix, Vector
from ..contract import Problem
from ..coordinates.factorisation import require_squarable
from .factors import (
    as_blocks,
    beside,
    factor_scale,
    nuclear_norm,
    relative_gap,
    unit_factor,
    unit_factors,
)
from .nuclear_norm import MinimumNuclearNorm, solve
from .rest import is_at_rest, why_at_rest

VARIABLES = {
    "norm": "the nuclear norm of X at the end",
    "loss": "(1/2m) Σ (⟨A_i, X⟩ − y_i)² at the end",
    "final_scale": "the trace of X: g, the sum of D, or ‖U‖_F² for gradient descent",
    "perp_norm": "the Frobenius norm of the part of X orthogonal to all sensors",
}
RECOVERY = {"recovery_error": "‖X − ground truth‖_F / ‖ground truth‖_F"}


class MatrixSensing(Problem):
    """Matrix sensing: find a symmetric X from m of its linear measurements y_i = ⟨A_i, X⟩.

    The loss is (1/2m) Σ_i (⟨A_i, X⟩ − y_i)². Methods train a factor of X: gradient descent
    X = U Uᵀ; one scale X = g W Wᵀ with ‖W‖_F = 1 (`blocks="all"`); or one scale per column,
    X = Σ_j D_j w_j w_jᵀ with unit columns w_j (`blocks="columns"`, the paper's -Diag). Such X are
    symmetric, so only the symmetric part of a sensor counts in training. It is kept packed,
    d(d + 1)/2 numbers per sensor.

    Parameters
    ----------
    sensors : (m, d, d) array
        A_i; they need not be symmetric. Kept by reference where they are float64 already; do not
        change them afterwards.
    y : (m,) array
        The measurements, one per sensor.
    ground_truth : (d, d) array, optional
        A known answer, kept as `.ground_truth`; the data generator sets it.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_sensing(size=8, rank=1, num_measurements=24, seed=0)
    >>> method = wn.RPGD(0.001, 0.001)
    >>> start = wn.datasets.sensing_start(8, alpha=0.1, seed=0)
    >>> result = wn.run(method, problem, **start, tolerance=1e-12)
    >>> result.weights.shape, result.status == "converged"
    ((8, 8), True)
    >>> bool(problem.recovery_error(result.weights) < 1e-3)  # the right one of many
    True
    """

    has_columns = True
    can_measure = True
    has_label_noise = True
    backend = "sensing"

    def __init__(self, sensors: Any, y: Any, *, ground_truth: Any = None) -> None:
        self.sensors: Array = validate.array("sensors", sensors, ndim=3)
        self.y: Vector = validate.array("y", y, ndim=1)
        require_squarable("sensors", self.sensors, smallest=1e-290)
        require_squarable("y", self.y)
        m, d, columns = self.sensors.shape
        if d != columns:
            raise ValueError(
                f"sensors must be square matrices, (m, d, d), got shape {self.sensors.shape}; for "
                f"a rectangular X ({d} × {columns}) train its dilation, the symmetric matrix "
                "[[P, X], [Xᵀ, Q]], with the sensors [[0, A_i], [A_iᵀ, 0]]/2"
            )
        if self.y.size != m:
            raise ValueError(f"y must have {m} entries, one per sensor, got {self.y.size}")
        self.shape: tuple[int, int] = (m, d)
        self.num_samples, self.dimension = self.shape
        self.ground_truth: Matrix | None = None
        if ground_truth is not None:
            self.ground_truth = self._matrix(
                "ground_truth", validate.array("ground_truth", ground_truth, ndim=2)
            )

    def __repr__(self) -> str:
        return f"MatrixSensing(num_measurements={self.shape[0]}, size={self.shape[1]})"

    def fingerprint(self) -> tuple[Any, ...]:
        """What distinguishes this problem: its kind, y, and one measurement."""
        probe = np.cos(np.arange(1.0, self.shape[1] ** 2 + 1.0)).reshape(self.shape[1], -1)
        return f"{type(self).__name__} {self.shape}", self.y, self.measure(probe)

    def measure(self, X: Any) -> Array:
        """The measurements ⟨A_i, X⟩ of a matrix by every sensor.

        Parameters
        ----------
        X : (d, d) or (n, d, d) array
            One matrix, or several.

        Returns
        -------
        (m,) or (n, m) array
            The measurements.
        """
        X = self._matrix("X", validate.numbers("X", X))
        return np.asarray(X.reshape(*X.shape[:-2], -1) @ self.sensors.reshape(self.shape[0], -1).T)

    def value(self, X: Any) -> Any:
        """The loss (1/2m) Σ_i (⟨A_i, X⟩ − y_i)² at a matrix.

        Parameters
        ----------
        X : (d, d) or (n, d, d) array
            One matrix, or several.

        Returns
        -------
        float or (n,) array
            The loss; infinite where it overflows.
        """
        with np.errstate(over="ignore"):  # beyond what a float64 can say the loss is inf
            error = self.measure(X) - self.y
            return 0.5 * np.einsum("...i,...i->...", error, error) / self.shape[0]

    def gradient(self, X: Any) -> Array:
        """The gradient of the loss by X, (1/m) Σ_i (⟨A_i, X⟩ − y_i) A_i.

        Its symmetric part M is what training sees.

        Parameters
        ----------
        X : (d, d) or (n, d, d) array
            One matrix, or several.

        Returns
        -------
        array
            Shaped like X.
        """
        with np.errstate(over="ignore"):
            return np.tensordot((self.measure(X) - self.y) / self.shape[0], self.sensors, axes=1)

    def recovery_error(self, X: Any) -> Any:
        """The relative error of a matrix, ‖X − ground truth‖_F / ‖ground truth‖_F.

        Parameters
        ----------
        X : (d, d) or (n, d, d) array
            One matrix, or several.

        Returns
        -------
        float or (n,) array
            The errors.

        Raises
        ------
        ValueError
            If the problem has no ground truth, or a zero one; if X is not finite.
        """
        if self.ground_truth is None or not self.ground_truth.any():
            raise ValueError(
                "this problem has no ground_truth, or a zero one; give MatrixSensing(sensors, y, "
                "ground_truth=…)"
            )
        return relative_gap(self._matrix("X", validate.numbers("X", X)), self.ground_truth)

    def min_nuclear_norm(self, over: str = "psd") -> MinimumNuclearNorm:
        """The smallest nuclear norm of a matrix with these measurements, certified.

        cvxpy finds it, and the certificate stands on our own arithmetic; see `MinimumNuclearNorm`.

        Parameters
        ----------
        over : {"psd", "symmetric", "all"}
            - Positive semidefinite matrices, where it is the trace: the reference for gradient
              descent and for one scale (a positive scale never turns negative while X fits a y of
              positive semidefinite matrices).
            - Symmetric matrices: the reference for one scale per column, whose D_j may become
              negative.
            - All matrices: what a method that does not symmetrise would be compared with.

        Returns
        -------
        MinimumNuclearNorm
            With `.value`, `.matrix`, `.status`, `.gap`, `.lower_bound`, `.dual`.

        Raises
        ------
        weightnorm.NotCertified
            If no matrix fits y, or the solver's answer does not pass the check.

        Examples
        --------
        >>> import numpy as np, weightnorm as wn
        >>> corner = wn.MatrixSensing(np.array([[[1.0, 0.0], [0.0, 0.0]]]), [2.0])  # X₁₁ = 2
        >>> round(corner.min_nuclear_norm().value, 6)
        2.0
        """
        over = validate.choice("over", over, ("psd", "symmetric", "all"))
        if over not in self._solved:
            self._solved[over] = solve(self.sensors, self.y, over)
        return self._solved[over]

    @cached_property
    def _solved(self) -> dict[str, MinimumNuclearNorm]:
        return {}

    @cached_property
    def packed(self) -> Matrix:
        """The symmetric parts of the sensors as rows of d(d + 1)/2 numbers.

        Entries off the diagonal are doubled: with the lower triangle of X row by row, ⟨A_i, X⟩ is
        an inner product.
        """
        i, k = np.tril_indices(self.shape[1])
        return np.asarray(
            np.where(i == k, 0.5, 1.0) * (self.sensors[:, i, k] + self.sensors[:, k, i])
        )

    @cached_property
    def zero_loss(self) -> float:
        """(1/2m) ‖y‖², the loss at zero weights."""
        return 0.5 * float(self.y @ self.y) / self.shape[0]

    # What the engine asks of a problem: batches (n, d, r) of factors, see `contract.py`.

    @property
    def variables(self) -> dict[str, str]:  # type: ignore[override]
        """What a sweep keeps, by name; the recovery error where the ground truth is known."""
        return VARIABLES | (RECOVERY if self.ground_truth is not None else {})

    def unit_direction(self, name: str, direction: Any, columns: bool) -> Array:
        """A start's factor, checked and brought to Frobenius norm 1, or to unit columns."""
        return unit_factor(name, direction, self.dimension, columns)

    def unit_directions(self, directions: Any, columns: bool) -> Array:
        """Several starts' factors, checked and normalised as in `unit_direction`."""
        return unit_factors(directions, self.dimension, columns)

    def start_scale(self, scale: Any, unit: Array, columns: bool) -> Array:
        """A start's scale as the engine has it: one, or one per column."""
        return factor_scale(scale, unit.shape[1], columns)

    def start_at(self, result: Any, columns: bool, has_scale: bool) -> tuple[Array, Array]:
        """The scale and factor of a result's X, for a method that goes on from it."""
        d = self.dimension
        if result.weights.shape != (d, d) or result.direction.ndim != 2:
            raise ValueError(
                f"start has weights of shape {result.weights.shape}, the problem has ({d}, {d})"
            )
        W, g = as_blocks(result.direction, np.asarray(result.scale), columns)
        if not W.any():
            raise ValueError(
                "start has zero weights, so no direction to go on with; give scale and direction"
            )
        unit = self.unit_direction("direction", W, columns)
        return self.start_scale(g if columns else float(g), unit, columns), unit

    def sample(self, rows: NDArray[np.intp] | None, noise: Array | None) -> Problem:
        """The problem a random step sees: some sensors, with noise on y.

        The loss divides by their number, so it is m/b times their share.
        """
        part = object.__new__(MatrixSensing)
        which = slice(None) if rows is None else rows
        part.y = (self.y if noise is None else self.y + noise)[which]
        part.packed, part.shape, part.dimension = (
            self.packed[which],
            (part.y.size, self.dimension),
            self.dimension,
        )
        return part

    def value_and_gradient(self, factor: Array) -> tuple[Array, Array]:
        """The loss at X = U Uᵀ and its gradient 2 M U by the factor U."""
        loss, M, _ = self._at(factor @ factor.swapaxes(1, 2))
        return loss, 2.0 * (M @ factor)

    def scale_direction_gradients(self, unit: Array, scale: Array) -> tuple[Array, Array, Array]:
        """The loss at X = W D Wᵀ and its gradients 2 M W D by W and w_jᵀ M w_j by D_j.

        M is the symmetric part of the gradient by X. With one scale, D = g I, the latter is summed
        over j.
        """
        loss, M, _ = self._at(self.weights(unit, scale))
        turned = M @ unit
        slope = (unit * turned).sum(axis=1)
        return loss, 2.0 * beside(scale) * turned, slope.sum(axis=1) if scale.ndim == 1 else slope

    def weights(self, unit: Array, scale: Array) -> Array:
        """The matrices X = W D Wᵀ of runs."""
        X = (beside(scale) * unit) @ unit.swapaxes(1, 2)
        return np.asarray(0.5 * (X + X.swapaxes(1, 2)))

    def scale_of(self, norm: Array) -> Array:
        """The scale of X = U Uᵀ with ‖U‖_F = norm, which is norm²."""
        return norm**2

    def descent_norm(self, scale: Array) -> Array:
        """The norm ‖U‖_F at which X = U Uᵀ has this scale: √scale; NaN below zero."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(scale)

    def summary(
        self, unit: Array, scale: Array, perp: Array, measured: bool = True
    ) -> dict[str, Array]:
        """What a sweep keeps of where runs ended, by the names of `variables`.

        These are the nuclear norm, the trace, the part no sensor sees and, where the ground truth
        is known, the recovery error.
        """
        X = self.weights(unit, scale)
        found = {
            "norm": nuclear_norm(X),
            "final_scale": np.trace(X, axis1=1, axis2=2),
            "perp_norm": self.unseen_norm(X),
        }
        if self.ground_truth is not None:
            found["recovery_error"] = relative_gap(X, self.ground_truth)
        return found

    def perp_and_distance(self, weights: Array, columns: bool) -> tuple[float, float]:
        """‖X⊥‖_F, with X⊥ the part no sensor sees, and the distance to the reference.

        The reference is the solution of smallest nuclear norm.
        """
        over = "symmetric" if columns else "psd"
        # a negative scale: the mirror image of the problem
        if not columns and np.trace(weights) < 0:
            best = -MatrixSensing(self.sensors, -self.y).min_nuclear_norm(over).matrix
        else:
            best = self.min_nuclear_norm(over).matrix
        return float(self.unseen_norm(weights[None])[0]), float(np.linalg.norm(weights - best))

    def norms(self, unit: Array, scale: Array, perp: Array) -> tuple[Array, Array, Array]:
        """‖X⊥‖_F off the span of the sensors, the nuclear norm, and the share no sensor sees."""
        X = self.weights(unit, scale)
        unseen, nuclear = self.unseen_norm(X), nuclear_norm(X)
        size = np.sqrt((X * X).sum(axis=(1, 2)))
        return unseen, nuclear, unseen / np.where(size > 0, size, 1.0)

    def unseen_norm(self, X: Array) -> Array:
        """The Frobenius norm of the part of X orthogonal to all symmetrised sensors."""
        i, k = np.tril_indices(self.shape[1])
        isometric = X[:, i, k] * np.where(i == k, 1.0, np.sqrt(2.0))
        basis = self._sensor_basis
        for _ in range(2):  # twice is enough
            isometric = isometric - (isometric @ basis) @ basis.T
        return np.asarray(np.linalg.norm(isometric, axis=1))

    @cached_property
    def _sensor_basis(self) -> Matrix:
        i, k = np.tril_indices(self.shape[1])
        rows = self.packed * np.where(i == k, 1.0, np.sqrt(0.5))
        vectors, singular, _ = np.linalg.svd(rows.T, full_matrices=False)
        return np.asarray(vectors[:, singular > 1e-12 * singular.max(initial=0.0)])

    def gradient_vanishes(self, unit: Array, scale: Array, has_scale: bool) -> NDArray[np.bool_]:
        """Where the gradient in a method's own coordinates is zero to rounding."""
        _, M, terms = self._at(self.weights(unit, scale))
        return is_at_rest(unit, scale, M, terms, has_scale)

    def explain_rest(self, unit: Array, scale: Array) -> str:
        """Why the first run stands still: zero weights, a saddle, or y out of reach."""
        if not np.any(scale[0]) or not unit[0].any():
            return "X = 0, and no step leaves it"
        _, M, terms = self._at(self.weights(unit[:1], scale[:1]))
        return why_at_rest(unit[0], M[0], float(terms[0]))

    def _at(self, X: Array) -> tuple[Array, Array, Array]:
        """Loss, the symmetric gradient M, and the size of the terms whose sum M is."""
        i, k = np.tril_indices(self.shape[1])
        m = self.shape[0]
        error = X[:, i, k] @ self.packed.T - self.y
        rows = (error @ self.packed) / m * np.where(i == k, 1.0, 0.5)
        M = np.empty_like(X)
        M[:, i, k] = M[:, k, i] = rows
        terms = (np.abs(error + self.y) + np.abs(self.y)) @ np.linalg.norm(self.packed, axis=1) / m
        return 0.5 * np.einsum("ij,ij->i", error, error) / m, M, terms

    def _matrix(self, name: str, X: Array) -> Array:
        d = self.shape[1]
        if X.ndim not in (2, 3) or X.shape[-2:] != (d, d) or not X.size:
            raise ValueError(f"{name} must have shape ({d}, {d}) or (n, {d}, {d}), got {X.shape}")
        return X
