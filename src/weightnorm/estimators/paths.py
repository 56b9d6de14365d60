"""Regularisation paths by one factorisation: gradient flow from a share of a prior, stopped at any
time; and ridge, from zero or towards the prior.

With A = U S Vᵀ (m samples, centred), the flow of the mean squared error from a·w is, at time t,
V(ξ + e^{−S²t/m}(a·Vᵀw − ξ)) + a·w⊥, with ξ = S⁻¹Uᵀy: linear in a. At t = ∞ it is x* + a·w⊥, where
weight normalization ends that keeps the share a of its start. Ridge towards a·w has S²/(S² + mα) in
the place of 1 − e^{−S²t/m}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._support.numeric import Array
from ..problems.coordinates.factorisation import factorise, small_svd, tall_svd
from ..problems.linear.centred import Centred
from .data import column_means

WELL = 1e-3  # a condition number at which V = AᵀUS⁻¹ is as good as any, and cheaper
NEGLIGIBLE = 1e-12  # an unseen part this small, relatively, is rounding


@dataclass(frozen=True)
class Factors:
    """A centred training set, factorised, with a prior.

    Attributes
    ----------
    singular_values : (r,) array
    solution : (r,) array
        ξ.
    prior : (r,) array
        Vᵀw.
    means, offset
        Of the columns of X, and of y.
    num_samples : int
    rest : (d,) array
        w⊥.
    train : array or operator
        The centred X, for products.
    lift_matrix : (d, r) array, or (m, r) for a sparse X
        V; or U S⁻¹, with V = AᵀUS⁻¹.
    """

    singular_values: Array
    solution: Array
    prior: Array
    rest: Array
    means: Array
    offset: float
    num_samples: int
    train: Any
    lift_matrix: Array

    @classmethod
    def of(cls, X: Any, y: Array, prior: Array, fit_intercept: bool) -> Factors:
        """Factorise a training set."""
        means = column_means(X, None, fit_intercept)
        offset = float(y[0] + (y - y[0]).mean()) if fit_intercept else 0.0
        rest_y = y - offset
        A: Any = Centred(X, means)
        noise = A.noise
        if sparse.issparse(X):
            factors = factorise(A, noise=noise)
            singular = factors.singular_values
            U = np.array([factors.left.apply(axis) for axis in np.eye(factors.rank)])
            U = U.reshape(factors.rank, len(y)).T
            lift = U / singular
            inside = U.T @ rest_y
            coordinates = lift.T @ np.asarray(A @ prior)
            rest = prior - A.T @ (lift @ coordinates)
        else:
            A = A.dense()
            U, singular, V = _thin_svd(A, noise)
            lift, inside = V, U.T @ rest_y
            coordinates = V.T @ prior
            rest = prior - V @ coordinates
            rest = rest - V @ (V.T @ rest)
        if float(np.linalg.norm(rest)) <= NEGLIGIBLE * float(np.linalg.norm(prior)):
            rest = np.zeros_like(rest)
        solution = inside / singular
        return cls(singular, solution, coordinates, rest, means, offset, len(y), A, lift)

    def coefficients(self, coordinates: Array, share: float) -> Array:
        """V z + a·w⊥."""
        inside = self.lift_matrix @ coordinates
        inside = inside if isinstance(self.train, np.ndarray) else self.train.T @ inside
        return np.asarray(inside + share * self.rest)

    def rows(self, X: Any) -> tuple[Array, Array]:
        """X V (n, r) and X w⊥ (n,) for centred samples X."""
        if not sparse.issparse(X):
            centred = X - self.means
            return centred @ self.lift_matrix, centred @ self.rest
        test = Centred(X, self.means)
        inner = np.asarray(test @ np.asarray(self.train.T @ self.lift_matrix))
        return inner, np.asarray(test @ self.rest)

    def stopped(self, times: Array) -> Array:
        """1 − e^{−S²t/m}, (times, r): how much of each direction has been learnt."""
        with np.errstate(invalid="ignore", over="ignore"):
            exponent = np.multiply.outer(times, self.singular_values**2 / self.num_samples)
        return np.asarray(-np.expm1(-exponent))

    def shrunk(self, alphas: Array) -> Array:
        """S²/(S² + mα), (alphas, r): the same for ridge."""
        squares = self.singular_values**2 / self.num_samples
        return np.asarray(squares / (squares + alphas[:, None]))

    def errors(self, rows: tuple[Array, Array], y: Array, learnt: Array, shares: Array) -> Array:
        """The mean squared error on other samples, whose `rows` these are, (shares, paths)."""
        inside, off = rows
        from_zero = inside @ (learnt * self.solution).T - (y - self.offset)[:, None]
        of_prior = inside @ ((1.0 - learnt) * self.prior).T + off[:, None]
        # quadratic in the share
        square, mixed, rest = (
            (of_prior**2).mean(axis=0),
            (of_prior * from_zero).mean(axis=0),
            (from_zero**2).mean(axis=0),
        )
        a = shares[:, None]
        return np.asarray(np.maximum(a * a * square + 2.0 * a * mixed + rest, 0.0))

    def path(self, learnt: Array, share: float) -> Array:
        """The coefficients (paths, d) with this share of the prior."""
        z = learnt * self.solution + share * (1.0 - learnt) * self.prior
        return np.array([self.coefficients(row, share) for row in z])


def _thin_svd(A: Array, noise: Array) -> tuple[Array, Array, Array]:
    """U, S, V of a dense matrix, cut off at its numerical rank, by QR of the long side first."""
    from scipy.linalg import qr

    if A.shape[0] > A.shape[1]:
        Q, R = qr(A, mode="economic")
        left, singular, right = tall_svd(R, A.shape, noise)
        return Q @ left, singular, right.T
    (R,) = qr(A.T, mode="r", check_finite=False)
    left, singular, right = small_svd(R[: A.shape[0]].T, A.shape, noise)
    if singular.size and singular[-1] > WELL * singular[0]:  # orthogonal to rounding over WELL
        return left, singular, A.T @ (left / singular)
    return left, singular, qr(A.T, mode="economic")[0] @ right.T
