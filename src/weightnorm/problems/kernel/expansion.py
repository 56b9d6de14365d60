"""Weights known through inner products alone: a combination of the samples, and some of the start.

Where only K = AAᵀ is known, weights x = Aᵀα + s·w0 are the dual coefficients α and the multiple s
of the unit start direction w0; predictions at new samples are K_test α + s·f0_test, with f0_test
the values of w0 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.numeric import Array, Vector
from ..coordinates.factorisation import Factorisation


@dataclass(frozen=True, eq=False)
class Expansion:
    """Weights as a combination of the samples and of the start: x = Aᵀα + s·w0.

    `KernelLeastSquares.expand` makes one, and the results of runs, flows and limits on such a
    problem have these attributes themselves.

    Attributes
    ----------
    dual_coef : (n,) array, or (k, n) for several weights
        α, one coefficient per sample.
    start_share : float, or (k,) array
        s, how much of the unit start direction w0 is left.
    start : (n + 1,) array
        w0, in the coordinates of the problem.
    mark : (n,) array
        A product with K: what tells it from other kernels.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.KernelLeastSquares(np.eye(2), [3.0, 4.0])
    >>> found = problem.expand(wn.theory.gd_limit(problem, 2.0).weights, None)
    >>> found.dual_coef.tolist(), found.start_share
    ([3.0, 4.0], 2.0)
    >>> found.predict([[1.0, 0.5]], start_values=[0.1]).round(12).tolist()
    [5.2]
    """

    dual_coef: Array
    start_share: Any
    start: Vector
    mark: Vector

    def predict(self, K_test: Any, start_values: Any = None) -> Array:
        """Predict at new samples: K_test α + s·f0_test.

        Parameters
        ----------
        K_test : (n_test, n) array
            The kernel of the new samples with those of the problem.
        start_values : (n_test,) array, optional
            f0_test, the values of the *unit* start direction at the new samples. It may be left out
            where nothing of the start is left, and where the start was orthogonal to the data: then
            it is taken for orthogonal to these samples too.

        Returns
        -------
        (n_test,) or (k, n_test) array
            The predictions.

        Raises
        ------
        ValueError
            If some of a start with values is left, and its values at the new samples are not given.
        """
        size = self.dual_coef.shape[-1]
        matrix = validate.array("K_test", K_test, ndim=2)
        if matrix.shape[1] != size:
            raise ValueError(
                f"K_test must have {size} columns, one per sample of the problem, got shape "
                f"{matrix.shape}; its rows are the samples to predict at"
            )
        values = np.asarray((matrix @ self.dual_coef.T).T)
        if start_values is not None:
            given = validate.vector("start_values", start_values, len(matrix))
            return np.asarray(values + np.multiply.outer(self.start_share, given))
        left = float(np.abs(self.start_share).max())
        if left > 0.0 and self.start[:-1].any():
            raise ValueError(
                f"start_values are needed: {left:.3g} of the unit start direction is left in the "
                "weights, so give its values at the samples to predict at (f0_test = A_test w0)"
            )
        return values


@dataclass(frozen=True, eq=False)
class DualExpansion:
    """Builds the expansion of weights from the eigenvectors of K and the start of a run.

    Attributes
    ----------
    factors : Factorisation
        Of the features [K^{1/2}, 0].
    start : (n + 1,) array
        w0; zeros for weights without a start.
    mark : (n,) array
        A product with K: what tells it from other kernels.
    """

    factors: Factorisation
    start: Vector
    mark: Vector

    def __call__(self, weights: Array) -> Expansion:
        """The expansion of weights (n + 1,), or of rows of them."""
        factors = self.factors
        z, rest = factors.split(weights)
        z0, rest0 = factors.split(self.start)
        length = float(np.linalg.norm(rest0))
        rounding = 8 * factors.orthogonality
        negligible = rounding * np.linalg.norm(weights, axis=-1)
        along = rest @ rest0 / length if length > rounding else np.zeros(rest.shape[:-1])
        # a part this small is rounding: then nothing of the start is left
        share = np.where(np.abs(along) > negligible, along, 0.0) / (length or 1.0)
        beyond = np.linalg.norm(rest - np.multiply.outer(share, rest0), axis=-1)
        if (beyond > 2.0 * negligible).any():
            raise ValueError(
                f"weights have a part of norm {float(np.max(beyond)):.3g} that is neither a "
                "combination of the samples nor of this start; give the start_values that they "
                "came from"
            )
        dual = (z - np.multiply.outer(share, z0)) / factors.singular_values
        start_share = float(share) if share.ndim == 0 else share
        return Expansion(factors.left.apply(dual), start_share, self.start, self.mark)


class Expanded:
    """What a result has besides, where its problem knows a kernel alone."""

    _expand: Any  # a DualExpansion, or None where the problem has features

    @property
    def dual_expansion(self) -> Any:
        """What builds the expansion; None where the problem has features."""
        return self._expand

    @cached_property
    def expansion(self) -> Expansion:
        """The weights as a combination of the samples and of the start."""
        if self._expand is None:
            raise AttributeError(
                f"{type(self).__name__} has dual coefficients on KernelLeastSquares alone; "
                "problems with features have weights"
            )
        weights: Array = self.weights  # type: ignore[attr-defined]
        found: Expansion = self._expand(weights)
        return found

    @property
    def dual_coef(self) -> Array:
        """On a kernel problem: α of x = Aᵀα + s·w0, one coefficient per sample."""
        return self.expansion.dual_coef

    @property
    def start_share(self) -> Any:
        """On a kernel problem: s of x = Aᵀα + s·w0, what is left of the unit start direction."""
        return self.expansion.start_share

    def predict(self, K_test: Any, start_values: Any = None) -> Array:
        """On a kernel problem: the predictions K_test α + s·f0_test at new samples.

        Parameters
        ----------
        K_test : (n_test, n) array
            The kernel of the new samples with those of the problem.
        start_values : (n_test,) array, optional
            f0_test, the values of the unit start direction at the new samples; needed where some of
            a start with values is left.

        Returns
        -------
        (n_test,) array
            The predictions; for a flow (n_times, n_test).
        """
        if self._expand is None:
            raise TypeError(
                "predict(K_test) is for results on KernelLeastSquares; with features, multiply "
                "those of the new samples by the weights"
            )
        return self.expansion.predict(K_test, start_values)

    def __getstate__(self) -> dict[str, Any]:
        """What to pickle: the expansion itself instead of the eigenvectors that it comes from."""
        state = dict(self.__dict__)
        if self._expand is not None:
            state["expansion"] = self.expansion
            weights: Array = self.weights  # type: ignore[attr-defined]
            state["_expand"] = _Known(self.expansion, weights)
        return state


@dataclass(frozen=True, eq=False)
class _Known:
    """An expansion that was made before, in the place of what makes one."""

    found: Expansion
    weights: Array

    @property
    def start(self) -> Vector:
        return self.found.start

    def __call__(self, weights: Array) -> Expansion:
        if not np.array_equal(weights, self.weights):
            raise ValueError(
                "the weights are others than those of the result that was copied or pickled; "
                "expand them on the problem: problem.expand(weights, start_values)"
            )
        return self.found
