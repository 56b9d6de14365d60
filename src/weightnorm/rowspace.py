"""The reduction that makes runs exact at any dimension: problem + start -> a small diagonal problem, and back.

Every gradient lies in the row space of A = U S Vᵀ, so w splits into z = Vᵀw and a multiple p of the fixed unit vector
along w0⊥. The map w -> (z, p) is an isometry, so every method runs unchanged in these rank + 1 coordinates, where the
loss is diagonal: ½ Σ λ_k (x_k − ξ_k)² + floor, λ = S², ξ = Uᵀy/S, and nothing at all in p.

Where singular values are equal, the same argument applies once more inside their group: the gradient moves only along
ξ and along the start's own rest there, so a group of any size becomes two coordinates. An A with orthonormal rows is
three-dimensional.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._validate import Matrix, Vector
from .problems import GeneralizedLinear, LeastSquares
from .problems.factorisation import EPS, Explicit
from .problems.linear import VectorWeights
from .problems.losses import Loss, total

Array = NDArray[np.float64]

EQUAL = 16 * EPS  # singular values this close, relatively, are one value: well within the error of computing them
NEGLIGIBLE = 64 * EPS  # a part of a unit vector smaller than this is rounding, not a part


@dataclass(frozen=True, eq=False)
class ReducedProblem(VectorWeights):
    """Diagonal least squares in rank + 1 coordinates; the last one is off the row space and free.

    Attributes
    ----------
    curvatures, target : (rank,) arrays
        λ and ξ.
    floor : float
        The loss that no x can go below.
    """

    curvatures: Vector
    target: Vector
    floor: float

    @property
    def curvature(self) -> float:
        """λmax."""
        return float(self.curvatures.max(initial=0.0))

    def slope(self, x: Vector) -> Vector:
        """The gradient (rank,) at row-space coordinates x."""
        return np.asarray(self.curvatures * (x - self.target))

    def at_solution(self, x: Vector, tolerance: float) -> bool:
        """Whether x is the solution, up to `tolerance` of its own terms."""
        return bool((np.abs(x - self.target) <= tolerance * (np.abs(x) + np.abs(self.target))).all())

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient (n, rank + 1) at the rows of x."""
        error = x[:, :-1] - self.target
        gradient = np.zeros_like(x)
        gradient[:, :-1] = self.curvatures * error
        return self.floor + 0.5 * np.einsum("ij,ij->i", error, gradient[:, :-1]), gradient


@dataclass(frozen=True, eq=False)
class ReducedModel(VectorWeights):
    """A generalized linear model in rank + 1 coordinates: predictions z = (U S) x, and nothing in the last coordinate.

    Attributes
    ----------
    matrix : (m, rank) array
        U S.
    loss : Loss
    curvature : float or None
    """

    matrix: Matrix
    loss: Loss
    curvature: float | None

    def slope(self, x: Vector) -> Vector:
        """The gradient (rank,) at row-space coordinates x."""
        return np.asarray(self.loss.derivative((self.matrix @ x)[None])[0] @ self.matrix)

    def at_solution(self, x: Vector, tolerance: float) -> bool:
        """Whether the gradient vanishes against its own terms."""
        terms = np.abs(self.loss.derivative((self.matrix @ x)[None])[0]) @ np.abs(self.matrix)
        return bool((np.abs(self.slope(x)) <= tolerance * terms).all())

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient (n, rank + 1) at the rows of x."""
        z = x[:, :-1] @ self.matrix.T
        gradient = np.zeros_like(x)
        gradient[:, :-1] = np.asarray(self.loss.derivative(z)) @ self.matrix
        return total(self.loss, z), gradient


@dataclass(frozen=True)
class _Group:
    """Equal singular values start … stop − 1, and the unit vector along ξ among them."""

    start: int
    stop: int
    along: Vector


@dataclass(frozen=True, eq=False)
class Frame:
    """The coordinate axes of one start: what turns reduced coordinates back into weights."""

    row_space: RowSpace
    perp_unit: Vector
    rests: tuple[Vector, ...]

    def lift(self, coordinates: Vector) -> Vector:
        """The d-dimensional vector with these rank + 1 coordinates."""
        z = self.row_space.expand(coordinates[:-1], self.rests)
        return np.asarray(self.row_space.problem.factorisation.lift(z) + coordinates[-1] * self.perp_unit)


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The reduced coordinates of a problem that depends on A x alone.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> from weightnorm.rowspace import RowSpace
    >>> problem = wn.datasets.make_regression(num_features=10_000, seed=0)  # orthonormal rows: all S are 1
    >>> space = RowSpace(problem)
    >>> w = wn.datasets.random_direction(10_000, seed=0)
    >>> coordinates, frame = space.start(w)
    >>> coordinates.shape
    (3,)
    >>> bool(np.allclose(frame.lift(coordinates), w))
    True
    """

    problem: LeastSquares | GeneralizedLinear

    @cached_property
    def _groups(self) -> tuple[_Group, ...]:
        if isinstance(self.problem, GeneralizedLinear):
            return ()  # equal singular values are of no use where the loss is not diagonal
        singular, target = self.problem.factorisation.singular_values, self.problem.target
        groups, start = [], 0
        while start < singular.size:
            # Descending order: the group is everything down to (1 - EQUAL) of its first member.
            stop = singular.size - int(np.searchsorted(singular[::-1], singular[start] * (1 - EQUAL)))
            if stop - start > 2:
                size = float(np.linalg.norm(target[start:stop]))
                along = target[start:stop] / size if size > 0 else np.eye(1, stop - start)[0]
                groups.append(_Group(start, stop, along))
            start = stop
        return tuple(groups)

    @cached_property
    def reduced(self) -> ReducedProblem | ReducedModel:
        """The small problem that all runs on this problem share: diagonal for least squares."""
        return self.model if isinstance(self.problem, GeneralizedLinear) else self.diagonal

    @cached_property
    def model(self) -> ReducedModel:
        """The reduced generalized linear model."""
        assert isinstance(self.problem, GeneralizedLinear)
        factors = self.problem.factorisation
        m, rank = self.problem.shape[0], factors.rank
        if isinstance(factors.left, Explicit):
            matrix = factors.left.columns * factors.singular_values
        elif isinstance(self.problem.A, np.ndarray) and isinstance(factors.right, Explicit):
            matrix = self.problem.A @ factors.right.columns  # a tall A: U S = A V, and V is small
        else:
            matrix = np.array([self.problem.A @ factors.lift(axis) for axis in np.eye(rank)]).reshape(rank, m).T
        return ReducedModel(np.ascontiguousarray(matrix), self.problem.loss, self.problem.curvature)

    @cached_property
    def diagonal(self) -> ReducedProblem:
        """The diagonal problem of least squares."""
        assert isinstance(self.problem, LeastSquares)
        singular, target = self.problem.factorisation.singular_values, self.problem.target
        curvatures = self._collapse(singular[None] ** 2, keep=True)[0]
        return ReducedProblem(curvatures, self._collapse(target[None])[0], self.problem.floor)

    def enter(self, directions: Matrix) -> Array:
        """Unit vectors (n, d) -> coordinates (n, rank + 1), also of unit length."""
        z, rest = self._split(directions)
        return np.column_stack([self._collapse(z), np.linalg.norm(rest, axis=1)])

    def start(self, direction: Vector) -> tuple[Vector, Frame]:
        """The coordinates (rank + 1,) of one unit vector, and the axes that lead back."""
        z, rest = self._split(direction[None])
        size = float(np.linalg.norm(rest))
        frame = Frame(
            row_space=self,
            perp_unit=rest[0] / size if size > 0 else rest[0],
            rests=tuple(_unit_rest(z[0, group.start : group.stop], group.along) for group in self._groups),
        )
        return np.append(self._collapse(z)[0], size), frame

    def _split(self, directions: Matrix) -> tuple[Array, Array]:
        """z and w⊥; what is rounding in either becomes an exact zero, so that a start in the row space stays in it."""
        factors = self.problem.factorisation
        z, rest = factors.split(directions)
        threshold = max(NEGLIGIBLE, 8 * factors.orthogonality)
        rest[np.linalg.norm(rest, axis=1) <= threshold] = 0.0
        z[np.linalg.norm(z, axis=1) <= threshold] = 0.0
        return z, rest

    def _collapse(self, z: Array, *, keep: bool = False) -> Array:
        """Coordinates (n, rank) -> two per group: along ξ and the rest's length (or, if keep, its first two)."""
        pieces, done = [], 0
        for group in self._groups:
            part = z[:, group.start : group.stop]
            pieces.append(z[:, done : group.start])
            if keep:
                pieces.append(part[:, :2])
            else:
                along = part @ group.along
                rest = np.linalg.norm(_rest(part, group.along), axis=1)
                pieces.append(np.column_stack([along, np.where(rest <= NEGLIGIBLE * np.abs(along), 0.0, rest)]))
            done = group.stop
        return np.concatenate([*pieces, z[:, done:]], axis=1)

    def expand(self, coordinates: Vector, rests: tuple[Vector, ...]) -> Vector:
        """The inverse of collapsing, for the start whose rests have these unit vectors."""
        pieces, done, position = [], 0, 0
        for group, rest in zip(self._groups, rests, strict=True):
            single = group.start - done
            pieces.append(coordinates[position : position + single])
            along, across = coordinates[position + single : position + single + 2]
            pieces.append(along * group.along + across * rest)
            done, position = group.stop, position + single + 2
        return np.concatenate([*pieces, coordinates[position:]])


def _rest(part: Array, along: Vector) -> Array:
    rest = part - (part @ along)[..., None] * along
    return np.asarray(rest - (rest @ along)[..., None] * along)


def _unit_rest(part: Vector, along: Vector) -> Vector:
    rest = _rest(part, along)
    size = float(np.linalg.norm(rest))
    return rest / size if size > 0 else rest
