"""Least squares, ½‖Ax − y‖²."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support import validate
from ..._support.numeric import EPS, Array, Vector
from ..contract import Problem
from ..coordinates.factorisation import REFLECTORS, scaled_norm
from ..coordinates.iterative import Iterated, solve
from ..coordinates.reduction import RowSpace
from ..losses import Squared
from ..samples import Sample
from .model import LinearModel

REFINEMENTS = 3  # of x*; each leaves κ²·eps of the error, so that the second is mostly rounding


class LeastSquares(LinearModel):
    """Least squares with loss ½‖Ax − y‖², for any shape and rank of A.

    Parameters
    ----------
    A : (m, d) array, scipy.sparse matrix, scipy.sparse.linalg.LinearOperator or Dask array
        One row per sample. Kept by reference where it is float64 already; do not change it
        afterwards. A Dask array is never brought into memory: wide in column blocks, or tall in
        row blocks, it is read once for all runs, sweeps and limits from the starts of the first,
        and once more where the weights of a wide A, themselves a Dask array, are computed.
    y : (m,) array
        The targets, one per row of A.
    solution : (d,) array, optional
        A known solution, kept as `.solution`; the data generators set it.
    refine : bool
        For a wide Dask array: read it once more, so that lifted weights are exact to rounding
        instead of to rounding times the condition number.
    progress : callable or bool, optional
        For a Dask array: called as progress(bytes_read, bytes_in_all); True shows a bar and what
        the pass will cost, None (the default) does so for more than a gigabyte, False never.

    Attributes
    ----------
    A, y
        The data, as given; arrays as float64.
    shape : (int, int)
        (m, d), the numbers of samples and of unknowns.
    floor : float
        The smallest loss there is: 0 where some x fits y.
    curvature : float
        λmax, the largest eigenvalue of AAᵀ, for curvature steps; also `largest_eigenvalue`.
    solution : (d,) array or None
        The known solution, where one was given.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [3.0, 4.0])
    >>> problem.shape
    (2, 3)
    >>> problem.min_norm_solution()
    array([3., 2., 0.])
    >>> float(problem.value(np.zeros(3)))
    12.5
    """

    has_label_noise = True
    is_least_squares = True

    rest_set = "S = {g = 0, yᵀAw = 0}"
    zero_gradient = "the floor of an unreachable y"

    def __new__(
        cls,
        A: Any = None,
        y: Any = None,
        *,
        solution: Any = None,
        refine: bool = False,
        progress: Any = None,
    ) -> LeastSquares:
        """A problem on a Dask array is of a class of its own, which reads it block by block."""
        if cls is LeastSquares and validate.is_dask(A):
            from ..dask.least_squares import ChunkedLeastSquares

            return super().__new__(ChunkedLeastSquares)
        return super().__new__(cls)

    def __init__(
        self, A: Any, y: Any, *, solution: Any = None, refine: bool = False, progress: Any = None
    ) -> None:
        if refine or progress is not None:
            name = "refine" if refine else "progress"
            raise ValueError(f"{name} is for a Dask array, and A is a {type(A).__name__}")
        self._set(A, y)
        self.solution: Vector | None = (
            None if solution is None else validate.array("solution", solution, ndim=1)
        )
        self._iterative_solution: Iterated | None = None

    def __repr__(self) -> str:
        return f"LeastSquares(shape={self.shape})"

    def with_targets(self, y: Any) -> LeastSquares:
        """The same A with another y; its factorisation is kept.

        Parameters
        ----------
        y : (m,) array
            The targets.

        Returns
        -------
        LeastSquares
            The problem.
        """
        other = copy(self)
        for name in ("_reductions", "target", "floor", "zero_loss"):
            other.__dict__.pop(name, None)
        other.y, other._iterative_solution = self._targets(y), None
        other.solution = None
        return other

    def centred(self) -> LeastSquares:
        """The problem of A and y with the mean of every column, and that of y, taken off.

        It is least squares with a shift b that is at its best for every x: predictions Ax + b with
        b = mean(y) − mean(A)ᵀx, where mean(A) has the means of the columns. With `BatchNorm` on it
        the predictions are g·CAw/‖CAw‖ + mean(y), C taking the mean off: batch normalization with
        its centring and its shift, that one solved for.

        Returns
        -------
        LeastSquares
            The problem; A is an array where it was one, and otherwise an operator over the same
            entries, whose `.A.means` are the means.

        Raises
        ------
        TypeError
            If A is a LinearOperator: give one that has its means taken off.

        Examples
        --------
        >>> import numpy as np, weightnorm as wn
        >>> problem = wn.LeastSquares([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]], [1.0, 2.0, 6.0])
        >>> centred = problem.centred()
        >>> centred.A.tolist(), centred.y.tolist()
        ([[-2.0, -2.0], [0.0, -2.0], [2.0, 4.0]], [-2.0, -1.0, 3.0])
        >>> x = centred.min_norm_solution()
        >>> shift = problem.y.mean() - problem.A.mean(axis=0) @ x
        >>> np.allclose(problem.A @ x + shift, problem.y)
        True
        """
        from .centred import Centred

        A, y = self.A, self.y - self.y.mean()
        if not hasattr(A, "tocsr") and not isinstance(A, np.ndarray):
            raise TypeError(
                f"A is a {type(A).__name__}, whose means are not known to centred(); give "
                "LeastSquares an array, a sparse matrix, or an operator with its means taken off"
            )
        means = np.asarray(A.mean(axis=0), dtype=np.float64).ravel()
        # twice: what rounding left of the mean of y would be out of reach
        return LeastSquares(Centred(A, means).dense(), y - y.mean())

    def value_and_gradient(self, x: Any) -> tuple[Any, NDArray[np.float64]]:
        """The loss ½‖Ax − y‖² and its gradient Aᵀ(Ax − y), with the residual computed once.

        Parameters
        ----------
        x : (d,) or (n, d) array
            Weights, one row per point.

        Returns
        -------
        loss : float or (n,) array
            One loss per point.
        gradient : array
            Shaped like x.
        """
        x = self._points(x)
        residual = (self.A @ x.T).T - self.y
        gradient = np.asarray((self.A.T @ residual.T).T)
        return 0.5 * np.einsum("...i,...i->...", residual, residual), gradient

    @cached_property
    def target(self) -> Vector:
        """The minimum-norm solution x* in row-space coordinates: Uᵀy / S, with A = U S Vᵀ."""
        return self._target()

    def _target(self) -> Vector:
        factors = self.factorisation
        inside = factors.left.transposed(self.y)
        if scaled_norm(inside) <= 16 * EPS * scaled_norm(self.y):  # y is wholly out of reach
            inside = np.zeros_like(inside)
        target = inside / factors.singular_values
        return target if factors.orthogonality <= REFLECTORS else self._refined(target)

    def _refined(self, target: Vector) -> Vector:
        """The target corrected by its own residual for as long as the corrections fall.

        Columns recovered as Aᵀ U S⁻¹ are orthonormal to κ·eps only: used once, they leave an error
        of κ²·eps in the residual, or in x* of a tall A.
        """
        factors, last = self.factorisation, scaled_norm(target)
        for _ in range(REFINEMENTS):
            residual = self.y - self.A @ factors.lift(target)
            change = factors.left.transposed(residual) / factors.singular_values
            size = scaled_norm(change)
            if not size < 0.5 * last:
                break
            target, last = target + change, size
        return target

    @cached_property
    def floor(self) -> float:
        """The smallest loss: half the squared norm of the part of y that A cannot reach."""
        return self._floor()

    def _floor(self) -> float:
        factors = self.factorisation
        if factors.rank == self.shape[0]:
            return 0.0
        rest = self.y - factors.left.apply(factors.left.transposed(self.y))
        rest -= factors.left.apply(factors.left.transposed(rest))
        size = scaled_norm(rest)
        return 0.0 if size <= 16 * EPS * scaled_norm(self.y) else 0.5 * size**2

    @property
    def known_floor(self) -> float | None:
        """The floor once A has been factorised; None before."""
        return self.floor if self.is_factorised else None

    @cached_property
    def zero_loss(self) -> float:
        """½‖y‖², the loss at zero weights."""
        return 0.5 * float(self.y @ self.y)

    @property
    def curvature(self) -> float:
        """λmax(AᵀA), the largest curvature of the loss."""
        return self.largest_eigenvalue

    @property
    def has_curvature(self) -> bool:
        """True: least squares has a largest curvature."""
        return True

    @property
    def reference(self) -> Vector:
        """The minimum-norm solution x*, by the factorisation or, without one, by LSQR."""
        return self.min_norm_solution(iterative=not self.is_factorised)

    def reduction(self, samples: bool) -> RowSpace:
        """Row-space coordinates: diagonal, or with the samples kept apart.

        Parameters
        ----------
        samples : bool
            Whether `sample` must work in them.

        Returns
        -------
        RowSpace
            The coordinates.
        """
        if samples:
            return RowSpace.model(self, Squared(self.y), np.append(self.target, 0.0))
        return RowSpace.diagonal(self.factorisation, self.target, self.floor, self.zero_loss)

    def sample(self, rows: NDArray[np.intp] | None, noise: Array | None) -> Problem:
        """The problem a random step sees: some rows times m/b, with noise on y.

        Parameters
        ----------
        rows : (b,) array of int, or None
            Which rows; None for all.
        noise : (m,) array, or None
            What to add to y.

        Returns
        -------
        Problem
            The problem of these rows.
        """
        return Sample.of(self.A, Squared(self.y), rows, noise, padded=False)

    def summary(
        self, unit: Array, scale: Array, perp: Array, measured: bool = True
    ) -> dict[str, Array]:
        """What a sweep keeps of where runs ended: norms, scale and the distance to x*.

        The distance is left out where x* would have to be computed for it and `measured` is False.

        Parameters
        ----------
        unit : (n, d) array
            Unit directions.
        scale : (n,) array
            Scales.
        perp : (n,) array
            Signed lengths of the directions' parts orthogonal to the row space of A.
        measured : bool
            Whether to compute what costs something.

        Returns
        -------
        dict of (n,) arrays
            By the names of `variables`.
        """
        if measured or self.is_factorised:
            return super().summary(unit, scale, perp)
        return {"norm": np.abs(scale), "final_scale": scale, "perp_norm": np.abs(scale * perp)}

    def perp_and_distance(self, weights: Array, columns: bool) -> tuple[float, float]:
        """‖x⊥‖, with x⊥ the part of x off the row space of A, and the distance ‖x − x*‖.

        Parameters
        ----------
        weights : (d,) array
            x.
        columns : bool
            Not used here.

        Returns
        -------
        tuple of float
            ‖x⊥‖ and ‖x − x*‖.
        """
        return float(np.linalg.norm(self.split(weights)[1])), float(
            np.linalg.norm(weights - self.reference)
        )

    def min_norm_solution(self, *, iterative: bool = False) -> Vector:
        """The least-squares solution of smallest norm, x*.

        Parameters
        ----------
        iterative : bool
            Find it by LSQR instead of the factorisation, for an A too large to factorise.

        Returns
        -------
        (d,) array
            x*; NaN where LSQR runs out of iterations.

        Examples
        --------
        >>> import weightnorm as wn
        >>> wn.LeastSquares([[3.0, 4.0]], [5.0]).min_norm_solution().round(12).tolist()
        [0.6, 0.8]
        """
        if not iterative:
            return self.factorisation.lift(self.target)
        found = self.iterate()
        return found.weights.copy() if found.converged else np.full(self.dimension, np.nan)

    @property
    def is_iterated(self) -> bool:
        """Whether `iterate` has been called: it reads nothing then."""
        return self._iterative_solution is not None

    def iterate(self) -> Iterated:
        """The least-squares solution of smallest norm by LSQR, with what is known of its error.

        For an A too large to factorise; computed at first use and kept.

        Returns
        -------
        Iterated
            Its `weights`, an estimate of their `error`, `num_passes` over A, and whether LSQR
            `converged`.

        Examples
        --------
        >>> import weightnorm as wn
        >>> found = wn.LeastSquares([[3.0, 4.0]], [5.0]).iterate()
        >>> found.weights.round(12).tolist(), found.error < 1e-14, found.num_passes
        ([0.6, 0.8], True, 6)
        """
        if self._iterative_solution is None:
            self._iterative_solution = solve(self.operator, np.asarray(self.y))
        return self._iterative_solution
