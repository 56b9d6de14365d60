"""What problems share whose loss depends on A x alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.numeric import Array, Vector
from ..contract import Problem
from ..coordinates.factorisation import Factorisation, factorise, require_squarable, require_squares
from ..coordinates.iterative import solve
from ..minimum.whitening import Columns, by_gram, by_scaling
from ..samples import length_and_normal


class LinearModel(Problem):
    """A problem whose loss depends on x through A x alone: the row space of A is all that
    training sees.
    """

    can_measure = True
    has_row_space = True
    A: Any
    y: Vector
    shape: tuple[int, int]

    def _set(self, A: Any, y: Any) -> None:
        """Check and keep the data."""
        self.A = as_matrix(A)
        self.shape = (int(self.A.shape[0]), int(self.A.shape[1]))
        self.num_samples, self.dimension = self.shape
        self.y = self._targets(y)

    def _targets(self, y: Any) -> Any:
        """y, checked."""
        return as_targets(y, self.shape[0], self.shape)

    def _points(self, x: Any) -> Array:
        """Weights (d,), or (n, d) row by row, of the right shape."""
        points = np.asarray(x, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != self.shape[1]:
            raise ValueError(
                f"x must have shape ({self.shape[1]},) or (n, {self.shape[1]}), got {points.shape}"
            )
        return points

    def value(self, x: Any) -> Any:
        """The loss, for x of shape (d,) or, row by row, (n, d)."""
        with np.errstate(over="ignore"):  # beyond what a float64 can say the loss is inf
            return self.value_and_gradient(validate.vector_or_rows("x", x))[0]

    def gradient(self, x: Any) -> Array:
        """The gradient of the loss, for x of shape (d,) or, row by row, (n, d)."""
        with np.errstate(over="ignore"):
            return self.value_and_gradient(validate.vector_or_rows("x", x))[1]

    def normal(self, w: Array) -> tuple[Array, Array]:
        """‖Aw‖ (n,) and AᵀAw (n, d), row by row.

        Parameters
        ----------
        w : (n, d) array
            Directions, one row per run.

        Returns
        -------
        tuple of arrays
            The lengths and the products.
        """
        return length_and_normal(self.A, w)

    def fingerprint(self) -> tuple[Any, ...]:
        """What tells this problem from others: its kind, y, and one product with A."""
        probe = np.cos(np.arange(1.0, self.shape[1] + 1.0))
        return f"{type(self).__name__} {self.shape}", self.y, np.asarray(self.A @ probe)

    @cached_property
    def factorisation(self) -> Factorisation:
        """A = U S Vᵀ, computed at first use and kept."""
        return factorise(self.A, noise=getattr(self.A, "noise", 0.0))

    def factorise(self, noise: Any = 0.0, in_place: bool = False) -> None:
        """Factorise now, without the singular values under `noise`.

        With `in_place` a dense A gives its memory to the factors and is lost: it becomes the
        operator U S Vᵀ.
        """
        from scipy.sparse.linalg import LinearOperator

        self.__dict__.pop("_reductions", None)
        for kind in type(self).__mro__:  # and whatever was found by an earlier factorisation
            for name, kept in vars(kind).items():
                if isinstance(kept, cached_property):
                    self.__dict__.pop(name, None)
        factors = self.__dict__["factorisation"] = factorise(
            self.A, overwrite=in_place, noise=noise
        )
        if in_place and isinstance(self.A, np.ndarray):
            self.A = LinearOperator(
                self.shape,
                matvec=lambda x: factors.left.apply(
                    factors.singular_values * factors.coordinates(np.ravel(x))
                ),
                rmatvec=lambda r: factors.lift(
                    factors.singular_values * factors.left.transposed(np.ravel(r))
                ),
                dtype=np.float64,
            )

    @cached_property
    def whitened(self) -> tuple[Any, Callable[[Vector], Vector]]:
        """Predictions W t with orthonormal columns, and the smallest weights x with A x = W t.

        A is factorised for them only where it is wide, or sparse with dependent columns.
        """
        A, noise = self.A, getattr(self.A, "noise", 0.0)
        if not self.is_factorised and self.shape[0] >= self.shape[1]:
            found = by_gram(A, noise)
            if found is None and hasattr(A, "dense"):  # centred: the means may have taken digits
                A = self.A = A.dense()
                found = by_gram(A, noise)
            if found is not None:
                return found, found.lift
            if isinstance(A, np.ndarray):
                scaled = by_scaling(A, noise)
                return scaled.columns, scaled.lift
        matrix = self.reduce(samples=True).problem.matrix
        factors = self.factorisation
        return Columns(matrix / factors.singular_values), partial(_unwhiten, factors)

    @property
    def is_factorised(self) -> bool:
        """Whether the factorisation has been computed."""
        return "factorisation" in self.__dict__

    @cached_property
    def largest_eigenvalue(self) -> float:
        """λmax(AᵀA); by Lanczos where A has not been factorised."""
        if self.is_factorised:
            singular = self.factorisation.singular_values
            return float(singular[0] ** 2) if singular.size else 0.0
        from scipy.sparse.linalg import ArpackError, svds

        require_squares(self.A)
        try:
            singular = svds(
                self.A, k=1, tol=0.0, return_singular_vectors=False, rng=np.random.default_rng(0)
            )
        except (ArpackError, ValueError):  # a zero A, or one too small for Lanczos
            singular = factorise(self.A).singular_values
        return float(singular[0] ** 2) if singular.size else 0.0

    def split(self, x: Vector) -> tuple[Vector, Vector]:
        """x as its parts in the row space of A and orthogonal to it; by LSQR where A has not
        been factorised.
        """
        if self.is_factorised:
            z, rest = self.factorisation.split(x)
            return self.factorisation.lift(z), rest
        inside = self._lsqr(self.A @ x)
        inside += self._lsqr(self.A @ (x - inside))
        return inside, x - inside

    def norms(self, unit: Array, scale: Array, perp: Array) -> tuple[Array, Array, Array]:
        """‖x⊥‖, ‖x‖ and ‖w⊥‖; measured where the coordinates do not tell."""
        return super().norms(unit, scale, self._unseen(unit, perp))

    def summary(
        self, unit: Array, scale: Array, perp: Array, measured: bool = True
    ) -> dict[str, Array]:
        """What to keep of where runs ended; ‖x⊥‖ is measured where the coordinates do not tell,
        unless that has a price and `measured` is False.
        """
        if measured or self.is_factorised:
            perp = self._unseen(unit, perp)
        return super().summary(unit, scale, perp, measured)

    def _unseen(self, unit: Array, perp: Array) -> Array:
        """‖w⊥‖ of unit directions, where `perp` is NaN by taking off what is in the row space:
        rounding, or a rule of the user's, may lead anywhere off it.
        """
        asked = np.isnan(perp)
        if not asked.any():
            return perp
        found = perp.copy()
        found[asked] = [np.linalg.norm(self.split(row)[1]) for row in unit[asked]]
        return found

    @property
    def operator(self) -> Any:
        """A as products with it and with its transpose."""
        return self.A

    def _lsqr(self, right_side: Vector) -> Vector:
        found = solve(self.operator, right_side)
        return found.weights if found.converged else np.full(self.shape[1], np.nan)


def _unwhiten(factors: Factorisation, t: Vector) -> Vector:
    """The smallest weights x with A x = U t; a function of its own, so that it can be pickled."""
    return factors.lift(t / factors.singular_values)


def as_matrix(A: Any) -> Any:
    """A as a float64 ndarray, sparse array or LinearOperator, checked."""
    if hasattr(A, "tocsr"):
        validate.require_real_dtype("A", A.dtype)
        _require_indices(A)
        A = A.tocsr().astype(np.float64)
        validate.require_finite("A", A.data)
    elif hasattr(A, "rmatvec"):
        validate.require_real_dtype("A", np.dtype(A.dtype or np.float64))
        if not getattr(A, "checked", False):
            _require_adjoint(A)
    else:
        A = validate.array("A", A, ndim=2)
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(
            f"A must be a matrix (m, d) with at least one row and one column, got shape {A.shape}"
        )
    return A


def _require_indices(A: Any) -> None:
    """Refuse a compressed sparse matrix whose indices lead outside it: SciPy follows them."""
    if not hasattr(A, "check_format"):
        return
    try:
        A.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"A is not a valid sparse matrix: {error}; build it anew") from None


def as_targets(y: Any, num_samples: int, shape: tuple[int, ...], of: str = "") -> Vector:
    """y as a float64 vector, one entry per row of A, none so large that its square overflows."""
    values = validate.array("y", y, ndim=1)
    if values.size != num_samples:
        raise ValueError(
            f"y must have {num_samples} entries, one per row of {of or f'A {shape}'}, got "
            f"{values.size}"
        )
    require_squarable("y", values)
    return values


def _require_adjoint(A: Any) -> None:
    """One adjoint test, ⟨A v, u⟩ = ⟨v, Aᵀ u⟩: an operator whose rmatvec is wrong would train to
    a wrong answer.
    """
    m, d = A.shape
    if 0 in (m, d):
        return
    generator = np.random.default_rng(0)
    v, u = generator.standard_normal(d), generator.standard_normal(m)
    forward = _product(A.matvec, "matvec", v, m)
    try:
        back = _product(A.rmatvec, "rmatvec", u, d)
    except NotImplementedError:
        raise ValueError(
            "A is a LinearOperator without rmatvec, and gradients need Aᵀ; give it one"
        ) from None
    largest = max(float(np.abs(forward).max()), float(np.abs(back).max()))
    if largest == 0.0:
        return
    # so that no size of A over- or underflows here
    forward, back = forward / largest, back / largest
    ahead, behind = float(forward @ u), float(v @ back)
    size = np.linalg.norm(forward) * np.linalg.norm(u) + np.linalg.norm(v) * np.linalg.norm(back)
    single = np.dtype(A.dtype or np.float64).itemsize < 8
    if not abs(ahead - behind) <= (1e-3 if single else 1e-6) * size:
        raise ValueError(
            "A.rmatvec is not the adjoint of A.matvec: for random u and v, ⟨v, Aᵀ u⟩ should be "
            f"⟨A v, u⟩ and is {behind / ahead if ahead else np.inf:.6g} times that; gradients "
            "would be wrong"
        )


def _product(function: Any, name: str, vector: Vector, size: int) -> Vector:
    try:
        product = np.asarray(function(vector))
    except NotImplementedError:
        raise
    except Exception as error:
        raise ValueError(
            f"A.{name} failed on a vector of {vector.size} entries: {type(error).__name__}: {error}"
        ) from error
    validate.require_real_dtype(f"A.{name}(…)", product.dtype)
    if product.shape != (size,):
        raise ValueError(f"A.{name} must return shape ({size},), got {product.shape}")
    validate.require_finite(f"A.{name}(…)", product.astype(np.float64))
    return np.asarray(product, dtype=np.float64)
