"""Generalized linear models: any loss of A x."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array
from ..contract import Problem
from ..coordinates.reduction import RowSpace
from ..lifting import Reduction
from ..losses import Loss, total
from ..minimum.minimum import Minimum, find_minimum
from ..own_loss import as_loss
from ..samples import Sample
from .model import LinearModel, as_targets


class GeneralizedLinear(LinearModel):
    """A generalized linear model with loss Σ_i ℓ(a_iᵀx; y_i).

    Every gradient lies in the row space of A, so it has the same reduction and, for the WN flow,
    the same invariant as least squares.

    Parameters
    ----------
    A : (m, d) array, scipy.sparse matrix or scipy.sparse.linalg.LinearOperator
        One row a_i per sample.
    y : (m,) array
        The targets or labels, one per row of A.
    loss : {"logistic", "poisson", "huber", "squared"} or an object
        logistic: log(1 + e^(−s z)) with labels s = ±1 (or 0 and 1); poisson: e^z − y z, less its
        smallest value; huber: ½(z − y)², linear beyond a distance of 1; squared: ½(z − y)². An
        object of your own has value(z) and derivative(z) for predictions z of shape (n, m), the
        labels being its own affair, and, if curvature steps are wanted, `smoothness`, the largest
        second derivative.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.GeneralizedLinear([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]], [1, 0], loss="logistic")
    >>> round(float(problem.value(np.zeros(3))), 4)
    1.3863
    >>> w0 = [1.0, 1.0, 1.0]
    >>> result = wn.run(wn.RPGD(0.1, 0.1), problem, scale=1.0, direction=w0, tolerance=1e-3)
    >>> result.status == "converged"
    True
    """

    finds_minimum = True
    zero_gradient = "a minimum if the loss is convex (say so with convex = True on it)"

    def __init__(self, A: Any, y: Any, loss: Any = "logistic") -> None:
        self._set(A, y)
        self._set_loss(loss)

    def _set_loss(self, loss: Any) -> None:
        self.loss: Loss = as_loss(loss, self.y)
        self.has_label_noise = hasattr(self.loss, "noisy")
        self.converges_at_optimum = bool(getattr(self.loss, "convex", False))

    def __repr__(self) -> str:
        return f"GeneralizedLinear(shape={self.shape}, loss={type(self.loss).__name__})"

    def value_and_gradient(self, x: Any) -> tuple[Any, NDArray[np.float64]]:
        """The loss and its gradient, with the predictions Ax computed once.

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
        rows = np.atleast_2d(x)
        z = np.asarray((self.A @ rows.T).T)
        loss, gradient = (
            total(self.loss, z),
            np.asarray((self.A.T @ np.asarray(self.loss.derivative(z)).T).T),
        )
        return (loss[0], gradient[0]) if x.ndim == 1 else (loss, gradient)

    def fingerprint(self) -> tuple[Any, ...]:
        """What distinguishes this problem: its kind, y, one product with A, and its loss there."""
        kind, y, z = super().fingerprint()
        with np.errstate(all="ignore"):
            slope = np.asarray(self.loss.derivative(z[None]))[0]
            return f"{kind} {type(self.loss).__name__}", y, z, total(self.loss, z[None]), slope

    @property
    def curvature(self) -> float | None:
        """The smoothness constant λmax(AᵀA)·max ℓ″; None where ℓ″ has no known largest value.

        Poisson has none; a loss of your own gives it as `smoothness`.
        """
        smoothness = getattr(self.loss, "smoothness", None)
        return None if smoothness is None else smoothness * self.largest_eigenvalue

    @property
    def has_curvature(self) -> bool:
        """Whether the largest second derivative of the loss is known."""
        return getattr(self.loss, "smoothness", None) is not None

    @cached_property
    def zero_loss(self) -> float:
        """The loss at zero weights."""
        return float(total(self.loss, np.zeros((1, self.shape[0])))[0])

    def reduce(self, samples: bool = False) -> Reduction:
        """Row-space coordinates; the samples are kept apart in any case.

        Parameters
        ----------
        samples : bool
            Makes no difference here.

        Returns
        -------
        Reduction
            The coordinates, made at first use and kept.
        """
        return super().reduce(samples=True)

    def reduction(self, samples: bool) -> RowSpace:
        """Row-space coordinates, with the samples kept apart."""
        return RowSpace.model(self, self.loss)

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
        return Sample.of(self.A, self.loss, rows, noise, padded=False)

    def with_loss(self, y: Any, loss: Any) -> GeneralizedLinear:
        """The same A with other targets and another loss; what is known of A is kept.

        Parameters
        ----------
        y : (m,) array
            The targets or labels.
        loss : str or an object
            As in the constructor.

        Returns
        -------
        GeneralizedLinear
            The problem.
        """
        other = copy(self)
        for name in ("_reductions", "_minimum", "zero_loss"):
            other.__dict__.pop(name, None)
        other.y = as_targets(y, self.shape[0], self.shape)
        other._set_loss(loss)
        return other

    def minimum(self) -> Minimum:
        """The minimiser in the row space of A, by Newton's method; or why there is none.

        It is computed at first use and kept.

        Returns
        -------
        Minimum
            The weights, their loss and gradient, and a status.

        Raises
        ------
        ValueError
            If the loss does not say that it is convex.
        """
        return self._minimum

    @cached_property
    def _minimum(self) -> Minimum:
        return find_minimum(self)

    def perp_and_distance(self, weights: Array, columns: bool) -> tuple[float, float]:
        """‖x⊥‖, with x⊥ the part of x off the row space of A, and NaN for the distance.

        There is no minimum-norm solution to measure a distance from.

        Parameters
        ----------
        weights : (d,) array
            x.
        columns : bool
            Not used here.

        Returns
        -------
        tuple of float
            ‖x⊥‖ and NaN.
        """
        return float(np.linalg.norm(self.split(weights)[1])), np.nan
