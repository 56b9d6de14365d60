"""Least squares where A is known through K = AAᵀ alone: ridgeless regression, Gaussian processes,
neural tangent kernels.

With K = U S² Uᵀ the problem is that of A = [K^{1/2}, 0]: an isometry apart, which no method sees,
it is every A with this K. The last of its n + 1 coordinates stands for whatever the data cannot
see. A start direction w0 enters by its values f0 = A w0: its row-space coordinates are S⁻¹Uᵀf0,
and the rest of its unit length is off the row space.
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from ..._support import validate
from ..._support.agreement import agree
from ..._support.numeric import EPS, Array, Matrix, Vector
from ..coordinates.factorisation import scaled_norm
from ..coordinates.reduction import RowSpace
from ..linear.least_squares import LeastSquares
from ..linear.model import as_targets
from .expansion import DualExpansion, Expansion
from .gram import Spectrum, centre, symmetric

INEXACT = 0.1  # a relative error of the solution that is worth a warning


class KernelLeastSquares(LeastSquares):
    """Least squares ½‖Ax − y‖² where only K = AAᵀ is known.

    Every run, sweep, flow, limit and plan is that of any A with this K, to κ(K)·eps. Weights have
    n + 1 coordinates: those of the features K^{1/2}, and one for what the data cannot see. Where
    other problems have `direction`, this one has `start_values`, f0 = A w0 of the *unit* direction
    w0; functions without it take `direction=problem.direction(f0)`.

    Parameters
    ----------
    K : (n, n) array
        Symmetric, without negative eigenvalues but for rounding; it may be rank-deficient. Numbers
        in single precision are taken to be rounded to it. Do not change it afterwards.
    y : (n,) array
        The targets, one per sample.
    noise : float
        The norm of the errors that K is known to have, in units of K: eigenvalues under it are not
        kept. The rounding of an eigendecomposition is counted without it; sums over very many
        features, added one by one, have more.
    eps : float, optional
        The relative precision of K's entries, where it is not that of the numbers they come in.

    Attributes
    ----------
    K, y
        The data, in double precision.
    rank : int
        The rank of K beyond rounding.
    condition_number : float
        κ(K), over the eigenvalues that are kept.
    accuracy : float
        κ(K)·eps, the relative error that K leaves in solutions: it squares the condition number of
        A. With noise, noise/λmin if that is larger; times 1 + ‖r‖/(σmin‖x*‖) where a part r of y is
        out of reach. It is that of the part along the eigenvectors that are kept.
    shape : (int, int)
        (n, n + 1), that of the features.

    Raises
    ------
    ValueError
        If K is not square and symmetric, or has a negative eigenvalue beyond rounding; the message
        names the most negative one.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> A = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> problem = wn.KernelLeastSquares(A @ A.T, [1.0, 3.0])
    >>> problem
    KernelLeastSquares(n=2, rank=2, accuracy=1.5e-15)
    >>> w0 = np.array([0.0, 0.6, 0.8])
    >>> limit = wn.theory.flow_limit(problem, scale=1.0, start_values=A @ w0)
    >>> known = wn.theory.flow_limit(wn.LeastSquares(A, [1.0, 3.0]), scale=1.0, direction=w0)
    >>> round(limit.norm, 12) == round(known.norm, 12)
    True
    >>> new = np.array([[0.0, 1.0, 2.0]])
    >>> np.allclose(limit.predict(new @ A.T, start_values=new @ w0), new @ known.weights)
    True
    """

    needs_direction = False
    K: Matrix
    solution = None

    def __new__(
        cls, K: Any = None, y: Any = None, *, noise: float = 0.0, eps: float | None = None
    ) -> KernelLeastSquares:
        """A problem as it is: no other class stands behind this one."""
        return object.__new__(cls)

    def __init__(self, K: Any, y: Any, *, noise: float = 0.0, eps: float | None = None) -> None:
        given = validate.precision("K", K)
        eps = given if eps is None else max(given, validate.real("eps", eps, minimum=0.0))
        self._noise = validate.real("noise", noise, minimum=0.0)
        self.K, lacking = symmetric(K, eps)
        n = len(self.K)
        self.shape = (n, n + 1)
        self.num_samples, self.dimension = self.shape
        self.y = self._targets(y)
        self._iterative_solution = None
        self._spectrum = Spectrum.of(self.K, eps, max(self._noise, lacking))
        self.factorisation = self._spectrum.factors

    def __repr__(self) -> str:
        return (
            f"KernelLeastSquares(n={self.shape[0]}, rank={self.rank}, accuracy={self.accuracy:.2g})"
        )

    def _targets(self, y: Any) -> Vector:
        return as_targets(y, self.shape[0], self.shape, f"K {self.K.shape}")

    def with_targets(self, y: Any) -> KernelLeastSquares:
        """The same K with another y; its eigenvectors are kept."""
        other = super().with_targets(y)
        assert isinstance(other, KernelLeastSquares)
        return other

    def factorise(self, noise: Any = 0.0, in_place: bool = False) -> None:
        """Nothing: K was factorised when it was given, with its own noise."""
        if np.any(np.asarray(noise) != 0.0):
            raise ValueError("noise is given with K: wn.KernelLeastSquares(K, y, noise=…)")

    # What is known of K.

    @property
    def rank(self) -> int:
        """The rank of K beyond rounding."""
        return self.factorisation.rank

    @property
    def condition_number(self) -> float:
        """κ(K), over the eigenvalues that are kept; 1 for K = 0."""
        singular = self.factorisation.singular_values
        return float((singular[0] / singular[-1]) ** 2) if singular.size else 1.0

    @property
    def accuracy(self) -> float:
        """The relative error that those of K leave in the minimum-norm solution."""
        solution = scaled_norm(self.target)
        return self._spectrum.accuracy(solution, math.sqrt(2.0 * self.floor))

    @cached_property
    def target(self) -> Vector:
        """The minimum-norm solution x* in row-space coordinates, S⁻¹Uᵀy."""
        spectrum, singular = self._spectrum, self.factorisation.singular_values
        inside, beyond = spectrum.split(self.y)[0], spectrum.beyond(self.y)
        if (np.abs(inside) <= spectrum.leaked(beyond, scaled_norm(self.y))).all():
            inside = np.zeros_like(inside)  # y is wholly out of reach, as far as K can tell
        found = inside / singular
        return np.asarray(found)

    def reduction(self, samples: bool) -> RowSpace:
        """Row-space coordinates, with a warning where K leaves the solution in doubt."""
        if self.accuracy > INEXACT:
            lost = math.sqrt(2.0 * self.floor) / (scaled_norm(self.y) or 1.0)
            warnings.warn(
                f"K leaves an error of {self.accuracy:.2g}, relatively, in the minimum-norm "
                f"solution: its rank is {self.rank} of {self.shape[0]}"
                + (f", and {lost:.2g} of y is out of reach" if lost else "")
                + "; drop small eigenvalues by noise=…, or use a penalty",
                RuntimeWarning,
                stacklevel=4,
            )
        return super().reduction(samples)

    @cached_property
    def A(self) -> Matrix:  # noqa: N802 (the field's own letter)
        """[K^{1/2}, 0], the features that the coordinates are those of."""
        U = self.factorisation.left.columns  # type: ignore[attr-defined]
        root = (U * self.factorisation.singular_values) @ U.T
        return np.column_stack([root, np.zeros(len(root))])

    @cached_property
    def floor(self) -> float:
        """The smallest loss: half the squared norm of the part of y out of K's range."""
        return 0.5 * self._spectrum.beyond(self.y) ** 2

    @cached_property
    def mark(self) -> Vector:
        """A product with K, which tells it from other kernels."""
        return np.asarray(self.K @ np.cos(np.arange(1.0, self.shape[0] + 1.0)))

    def fingerprint(self) -> tuple[Any, ...]:
        """What tells this problem from others: its size, y, and one product with K."""
        return f"{type(self).__name__} {self.shape} of rank {self.rank}", self.y, self.mark

    # Starts, by their values.

    def direction(self, start_values: Any = None) -> Vector:
        """The unit direction w0 with these values, in the coordinates of the problem.

        Parameters
        ----------
        start_values : (n,) array, optional
            f0 = A w0, the values of the *unit* direction w0 at the samples (for a start at
            x0 = scale·w0: its predictions over ‖x0‖). None, or zeros, for a w0 orthogonal to the
            data.

        Returns
        -------
        (n + 1,) array
            w0, for every argument that is called `direction`. Its last entry is ‖w0⊥‖, the part
            that the data cannot see.

        Raises
        ------
        ValueError
            If no unit direction has these values: f0 is not in K's range, or f0ᵀK⁺f0 > 1.

        Examples
        --------
        >>> import numpy as np, weightnorm as wn
        >>> problem = wn.KernelLeastSquares(np.diag([4.0, 1.0]), [1.0, 1.0])
        >>> problem.direction([1.2, 0.0]).round(12).tolist()
        [0.6, 0.0, 0.8]
        >>> problem.direction().tolist()
        [0.0, 0.0, 1.0]
        """
        if start_values is None:
            return np.asarray(np.eye(1, self.dimension, self.dimension - 1)[0])
        values = validate.vector("start_values", start_values, self.shape[0])
        eps = max(self._spectrum.eps, validate.precision("start_values", start_values))
        return self._spectrum.place(values, eps)

    def start_direction(self, direction: Any, start_values: Any) -> Any:
        """The direction of a start that a user gave by its values, or as it is."""
        if direction is None:
            return self.direction(start_values)
        if start_values is not None:
            raise ValueError("give either start_values or direction, not both")
        return direction

    def start_directions(self, directions: Any, start_values: Any) -> Any:
        """The directions of several starts, by their values (k, n), or as they are."""
        if directions is not None and start_values is not None:
            raise ValueError("give either start_values or directions, not both")
        if directions is not None or start_values is None:
            return self.start_direction(directions, start_values)
        rows = validate.vector_or_rows("start_values", start_values)
        return np.array([self.direction(row) for row in np.atleast_2d(rows)])

    def unit_direction(self, name: str, direction: Any, columns: bool) -> Array:
        """A direction in the coordinates of the problem, normalised."""
        self._refuse_values(name, validate.array(name, direction, ndim=1))
        return super().unit_direction(name, direction, columns)

    def unit_directions(self, directions: Any, columns: bool) -> Array:
        """Several directions (k, n + 1), or one."""
        self._refuse_values("directions", validate.vector_or_rows("directions", directions))
        return super().unit_directions(directions, columns)

    def _refuse_values(self, name: str, direction: Array) -> None:
        if direction.shape[-1] == self.shape[0]:
            raise ValueError(
                f"{name} has {self.shape[0]} entries, one per sample, and a kernel problem has "
                f"directions of {self.dimension}; give values at the samples as start_values=…, "
                f"where there is that argument, or {name}=problem.direction(values)"
            )

    def start_at(self, result: Any, columns: bool, has_scale: bool) -> tuple[Array, Array]:
        """The scale and direction of a result on the same K that another method goes on from."""
        if result.dual_expansion is None or not agree(result.expansion.mark, self.mark):
            raise ValueError(
                "start is a result on another kernel, whose weights are combinations of its own "
                "samples; give scale and start_values"
            )
        return super().start_at(result, columns, has_scale)

    def unseen_error(self, unit: Array) -> float:
        """The error that those of K leave in ‖w0⊥‖² of a unit direction."""
        return self._spectrum.unseen_error(self.factorisation.coordinates(unit))

    # Weights, as what is known of them.

    def dual_expansion(self, unit: Array) -> DualExpansion:
        """What builds the expansion of weights that started in this direction."""
        return DualExpansion(self.factorisation, unit, self.mark)

    def expand(self, weights: Any, start_values: Any) -> Expansion:
        """Weights as dual coefficients and a share of their start, with predictions.

        Parameters
        ----------
        weights : (n + 1,) or (k, n + 1) array
            As histories, results, limits and flows have them.
        start_values : (n,) array, or None
            f0 of the start that they came from, as it was given there.

        Returns
        -------
        Expansion
            With `dual_coef`, `start_share` and `predict(K_test, start_values=…)`.

        Raises
        ------
        ValueError
            If the weights have a part that is not a combination of the samples and of this start.

        Examples
        --------
        >>> import numpy as np, weightnorm as wn
        >>> problem, f0 = wn.KernelLeastSquares(np.eye(2), [3.0, 4.0]), [0.6, 0.0]
        >>> method = wn.GradientDescent(0.5)
        >>> result = wn.run(method, problem, 2.0, start_values=f0, record=1, keep="weights")
        >>> found = problem.expand(result.history.weights[1:3], f0)
        >>> found.dual_coef.round(12).tolist(), found.start_share.round(12).tolist()
        ([[0.9, 2.0], [1.35, 3.0]], [2.0, 2.0])
        """
        points = validate.vector_or_rows("weights", weights)
        if points.shape[-1] != self.dimension:
            raise ValueError(
                f"weights must have {self.dimension} entries, the coordinates of the problem, got "
                f"shape {points.shape}"
            )
        return self.dual_expansion(self.direction(start_values))(points)

    def centred(self) -> KernelLeastSquares:
        """The problem with the mean of every feature, and that of y, taken off.

        It is least squares with a shift that is at its best for every x; see
        `LeastSquares.centred`. The values of a start have their mean taken off too.

        Returns
        -------
        KernelLeastSquares
            The problem of CKC and Cy, with C = I − 11ᵀ/n. Predictions of y itself are
            K_test β + s·f0_test + b, with β = α − mean(α) and b = mean(y) − mean(K β + s·f0).

        Examples
        --------
        >>> import numpy as np, weightnorm as wn
        >>> X = np.array([[0.0], [1.0], [3.0]])
        >>> problem = wn.KernelLeastSquares(np.exp(-((X - X.T) ** 2)), [1.0, 2.0, 6.0])
        >>> end = wn.theory.gd_limit(problem.centred(), 0.0)
        >>> beta = end.dual_coef - end.dual_coef.mean()
        >>> shift = problem.y.mean() - (problem.K @ beta).mean()
        >>> (problem.K @ beta + shift).round(9).tolist()
        [1.0, 2.0, 6.0]
        """
        K, noise = centre(self.K, np.full(self.shape[0], 1.0 / self.shape[0]))
        noise = max(self._noise, noise * self._spectrum.eps / EPS)
        y = self.y - self.y.mean()
        return KernelLeastSquares(K, y - y.mean(), noise=noise, eps=self._spectrum.eps)
