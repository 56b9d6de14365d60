"""The reduction that makes runs exact at any dimension: problem + start -> a small diagonal
problem, and back.

Every gradient lies in the row space of A = U S Vᵀ, so w splits into z = Vᵀw and a multiple p of the
fixed unit vector along w0⊥. The map w -> (z, p) is an isometry, so every method runs unchanged in
these rank + 1 coordinates, where the loss is diagonal: ½ Σ λ_k (x_k − ξ_k)² + floor, λ = S²,
ξ = Uᵀy/S, and nothing at all in p.

Where singular values are equal, the same argument applies once more inside their group: the
gradient moves only along ξ and along the start's own rest there, so a group of any size becomes two
coordinates. An A with orthonormal rows is three-dimensional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import EPS, Array, Matrix, Vector
from ..contract import Problem
from ..lifting import Lifter, Reduction
from ..losses import Huber, Logistic, Loss, Poisson, Squared, total
from ..samples import Sample, padded_normal
from .factorisation import Explicit, Factorisation, scaled_norm

# singular values this close, relatively, are one value: well within the error of computing them
EQUAL = 16 * EPS
NEGLIGIBLE = 64 * EPS  # a part of a unit vector smaller than this is rounding, not a part


class Diagonal(Problem):
    """Diagonal least squares in rank + 1 coordinates; the last one is off the row space and free.

    With a run axis in front of every array each run has a problem of its own: see `stack`.

    Attributes
    ----------
    curvatures, target : (rank,) arrays, or (n, rank)
        λ and ξ.
    floor, zero_loss : floats, or (n,)
        The loss that no x can go below, and that of x = 0.
    """

    backend = "diagonal"

    def __init__(self, curvatures: Array, target: Array, floor: Any, zero_loss: Any) -> None:
        self.curvatures, self.target, self.floor, self.zero_loss = (
            curvatures,
            target,
            floor,
            zero_loss,
        )
        self.dimension = int(curvatures.shape[-1]) + 1

    def stack(self, problems: Sequence[Diagonal]) -> Diagonal:
        """One problem per run, those of smaller rank with zeros in the rest."""
        rank = max(problem.curvatures.size for problem in problems)
        arrays = np.zeros((2, len(problems), rank))
        for i, problem in enumerate(problems):
            arrays[:, i, : problem.curvatures.size] = problem.curvatures, problem.target
        floors, losses = (
            np.array([getattr(p, name) for p in problems]) for name in ("floor", "zero_loss")
        )
        return Diagonal(arrays[0], arrays[1], floors, losses)

    def of_runs(self, runs: NDArray[np.intp]) -> Diagonal:
        """The problems of these runs, in their order."""
        if self.curvatures.ndim == 1:
            return self
        return Diagonal(
            self.curvatures[runs], self.target[runs], self.floor[runs], self.zero_loss[runs]
        )

    @cached_property
    def curvature(self) -> Any:
        """λmax, or (n,) of them."""
        return self.curvatures.max(axis=-1, initial=0.0)

    @cached_property
    def reference(self) -> Array:
        """x* in these coordinates."""
        return np.concatenate([self.target, np.zeros((*self.target.shape[:-1], 1))], axis=-1)

    def slope(self, x: Vector) -> Vector:
        """The gradient (rank,) at row-space coordinates x."""
        return np.asarray(self.curvatures * (x - self.target))

    def at_solution(self, x: Vector, tolerance: float) -> bool:
        """Whether x is the solution, up to `tolerance` of its own terms."""
        return bool(
            (np.abs(x - self.target) <= tolerance * (np.abs(x) + np.abs(self.target))).all()
        )

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient (n, rank + 1) at the rows of x."""
        error = x[:, :-1] - self.target
        gradient = np.zeros_like(x)
        gradient[:, :-1] = self.curvatures * error
        return self.floor + 0.5 * np.einsum("ij,ij->i", error, gradient[:, :-1]), gradient

    def normal(self, w: Array) -> tuple[Array, Array]:
        """‖Aw‖ (n,) and AᵀAw (n, rank + 1)."""
        product = np.zeros_like(w)
        product[:, :-1] = self.curvatures * w[:, :-1]
        return np.sqrt(np.einsum("ij,ij->i", w, product)), product


class ReducedModel(Problem):
    """A linear model with any loss in rank + 1 coordinates: predictions z = (U S) x, and nothing in
    the last coordinate.

    Attributes
    ----------
    matrix : (m, rank) array
        U S.
    loss : Loss
    curvature, floor, reference
        As in `Problem`.
    zero_loss : float
    """

    curvatures: ClassVar[None] = None  # the loss is not diagonal

    def __init__(self, matrix: Matrix, loss: Loss, problem: Any, reference: Vector | None) -> None:
        self.matrix, self.loss, self.reference = matrix, loss, reference
        self.curvature, self.floor, self.zero_loss = (
            problem.curvature,
            problem.floor,
            problem.zero_loss,
        )
        self.num_samples, self.has_label_noise = problem.num_samples, problem.has_label_noise
        self.converges_at_optimum = problem.converges_at_optimum
        self.dimension = int(matrix.shape[1]) + 1
        # the class itself: a subclass may be another loss
        self.backend, self.kernel = _BACKENDS.get(type(loss), ("rules", ""))

    @property
    def loss_rows(self) -> Matrix:
        """What the kernel of the loss needs to know of each sample, its weight second: (3, m)."""
        loss: Any = self.loss
        rows = np.zeros((3, self.num_samples))
        if self.kernel == "POISSON":
            positive = loss.y > 0
            rows[:] = (
                np.log(np.where(positive, loss.y, 1.0)),
                np.where(positive, loss.y, 1.0),
                positive,
            )
        elif self.kernel == "HUBER":
            rows[:] = loss.y, np.ones_like(loss.y), np.full_like(loss.y, loss.width)
        else:
            rows[:2] = loss.signs, np.ones_like(loss.signs)
        return rows

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

    def normal(self, w: Array) -> tuple[Array, Array]:
        """‖Aw‖ (n,) and AᵀAw (n, rank + 1)."""
        return padded_normal(self.matrix, w)

    def sample(self, rows: NDArray[np.intp] | None, noise: Array | None) -> Problem:
        """These rows times m/b, with this noise on y."""
        return Sample.of(self.matrix, self.loss, rows, noise, padded=True)


_BACKENDS: dict[type, tuple[str, str]] = {
    Squared: ("single", ""),
    Logistic: ("model", "LOGISTIC"),
    Poisson: ("model", "POISSON"),
    Huber: ("model", "HUBER"),
}


@dataclass(frozen=True)
class _Group:
    """Equal singular values start … stop − 1, and the unit vector along ξ among them."""

    start: int
    stop: int
    along: Vector


@dataclass(eq=False)
class RowSpace(Reduction):
    """The reduced coordinates of a problem that depends on A x alone; `problem.reduce()` makes it.

    Attributes
    ----------
    problem : Diagonal or ReducedModel
        The small problem that all runs on a problem share.
    factors : Factorisation
    groups : tuple
        The equal singular values that were collapsed.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.datasets.make_regression(num_features=10_000, seed=0)  # all S are 1
    >>> space = problem.reduce()
    >>> w = wn.datasets.random_direction(10_000, seed=0)
    >>> coordinates, lifter = space.start(w)
    >>> coordinates.shape
    (3,)
    >>> bool(np.allclose(lifter.lift(coordinates), w))
    True
    """

    factors: Factorisation
    groups: tuple[_Group, ...] = ()
    trusted: ClassVar[bool] = True

    @classmethod
    def diagonal(
        cls, factors: Factorisation, target: Vector, floor: float, zero_loss: float
    ) -> RowSpace:
        """The coordinates in which least squares is diagonal, two for each group of equal
        singular values.
        """
        singular = factors.singular_values
        groups = _equal_groups(singular, target)
        curvatures = collapse(groups, singular[None] ** 2, keep=True)[0]
        return cls(
            Diagonal(curvatures, collapse(groups, target[None])[0], floor, zero_loss),
            factors,
            groups,
        )

    @classmethod
    def model(cls, problem: Any, loss: Loss, reference: Vector | None = None) -> RowSpace:
        """The coordinates of a linear model with this loss, its samples kept apart."""
        factors: Factorisation = problem.factorisation
        if isinstance(factors.left, Explicit):
            matrix = factors.left.columns * factors.singular_values
        elif isinstance(problem.A, np.ndarray) and isinstance(factors.right, Explicit):
            matrix = problem.A @ factors.right.columns  # a tall A: U S = A V, and V is small
        else:
            products = [problem.A @ factors.lift(axis) for axis in np.eye(factors.rank)]
            matrix = np.array(products).reshape(factors.rank, problem.shape[0]).T
        return cls(ReducedModel(np.ascontiguousarray(matrix), loss, problem, reference), factors)

    def enter(self, directions: Matrix) -> Array:
        """Unit vectors (n, d) -> coordinates (n, rank + 1), also of unit length."""
        z, rest = self._split(directions)
        return np.column_stack([collapse(self.groups, z), np.sqrt(_row_dots(rest, rest))])

    def start(self, direction: Vector) -> tuple[Vector, Lifter]:
        """The coordinates (rank + 1,) of one unit vector, and the axes that lead back."""
        z, rest = self._split(direction[None])
        coordinates = np.append(collapse(self.groups, z)[0], np.sqrt(_row_dots(rest, rest)))
        perp = rest[0] / coordinates[-1] if coordinates[-1] > 0 else rest[0]
        rests = tuple(
            unit_rest(z[0, group.start : group.stop], group.along) for group in self.groups
        )
        return coordinates, Lifter(self, (perp, rests))

    def lift(self, coordinates: Array, axes: tuple[Any, ...]) -> Array:
        """The d-dimensional vector with these rank + 1 coordinates."""
        perp, rests = axes
        return np.asarray(
            self.factors.lift(self._expand(coordinates[:-1], rests)) + coordinates[-1] * perp
        )

    def perp_units(self, units: Array, wanted: bool) -> Array:
        """The last axis."""
        return np.eye(1, self.problem.dimension, self.problem.dimension - 1)

    def _split(self, directions: Matrix) -> tuple[Array, Array]:
        """z and w⊥; what is rounding in either becomes an exact zero, so that a start in the row
        space stays in it.
        """
        factors = self.factors
        z, rest = factors.split(directions)
        threshold = max(NEGLIGIBLE, 8 * factors.orthogonality)
        rest[np.linalg.norm(rest, axis=1) <= threshold] = 0.0
        z[np.linalg.norm(z, axis=1) <= threshold] = 0.0
        return z, rest

    def _expand(self, coordinates: Vector, rests: tuple[Vector, ...]) -> Vector:
        """The inverse of collapsing, for the start whose rests have these unit vectors."""
        pieces, done, position = [], 0, 0
        for group, rest in zip(self.groups, rests, strict=True):
            single = group.start - done
            pieces.append(coordinates[position : position + single])
            along, across = coordinates[position + single : position + single + 2]
            pieces.append(along * group.along + across * rest)
            done, position = group.stop, position + single + 2
        return np.concatenate([*pieces, coordinates[position:]])


def _equal_groups(singular: Vector, target: Vector) -> tuple[_Group, ...]:
    groups, start = [], 0
    while start < singular.size:
        # Descending order: the group is everything down to (1 - EQUAL) of its first member.
        stop = singular.size - int(np.searchsorted(singular[::-1], singular[start] * (1 - EQUAL)))
        if stop - start > 2:
            size = scaled_norm(target[start:stop])
            along = target[start:stop] / size if size > 0 else np.eye(1, stop - start)[0]
            groups.append(_Group(start, stop, along))
        start = stop
    return tuple(groups)


def collapse(groups: tuple[_Group, ...], z: Array, *, keep: bool = False) -> Array:
    """Coordinates (n, rank) -> two per group: along ξ and the rest's length (or, if keep, its
    first two).
    """
    pieces, done = [], 0
    for group in groups:
        part = z[:, group.start : group.stop]
        pieces.append(z[:, done : group.start])
        if keep:
            pieces.append(part[:, :2])
        else:
            along, rest = _row_dots(part, group.along[None]), _rest(part, group.along)
            rest = _row_lengths(rest)
            pieces.append(
                np.column_stack([along, np.where(rest <= NEGLIGIBLE * np.abs(along), 0.0, rest)])
            )
        done = group.stop
    return np.concatenate([*pieces, z[:, done:]], axis=1)


def _row_dots(a: Array, b: Array) -> Array:
    """⟨a_i, b_i⟩, row by row: a product with many rows at once would round each by how many
    there are.
    """
    return np.asarray(np.matmul(a[:, None, :], b[:, :, None])[:, 0, 0])


def _row_lengths(rows: Array) -> Array:
    """‖row_i‖, of rows in units of a power of two each: no square over- or underflows, and no
    digit changes.
    """
    powers = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    small = np.ldexp(rows, -powers[:, None])
    return np.asarray(np.ldexp(np.sqrt(_row_dots(small, small)), powers))


def _rest(part: Array, along: Vector) -> Array:
    rows = np.atleast_2d(part)
    for _ in range(2):
        rows = rows - _row_dots(rows, along[None])[:, None] * along
    return rows.reshape(part.shape)


def unit_rest(part: Vector, along: Vector) -> Vector:
    """The unit vector along what is left of a part without its share along ξ; zero without one."""
    rest = _rest(part, along)
    size = float(np.linalg.norm(rest))
    return rest / size if size > 0 else rest
