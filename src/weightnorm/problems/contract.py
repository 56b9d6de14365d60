"""All that the engine asks of a problem.

A problem of your own subclasses `Problem` and gives two things: `dimension`, the number of weights,
and `value_and_gradient`. Everything else has an answer that follows from them; a problem that knows
better overrides it. Then every method runs on it, in `run` and in `sweep`. Do not change a problem
once it has run: its reduction is kept.

Arrays have the run axis first. x = g·w: a scale g of shape (n,), and unit directions w of shape (n,
d). A problem whose weights are a factor of a matrix has directions (n, d, r) and, with
`blocks="columns"`, scales (n, r).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.moved import by_old_names
from .._support.numeric import EPS, Array
from .lifting import Reduction

# a gradient this small against its own terms is rounding
FLAT = 16 * EPS
__getattr__ = by_old_names(__name__)


class Problem(ABC):
    """A function to minimise over weights x, or over a scale and a direction.

    A problem of your own gives `dimension` and `value_and_gradient`; then every method runs on it.
    What it knows better it overrides.

    Attributes
    ----------
    dimension : int
        The number of weights.
    num_samples : int
        Samples that a method may draw from; 0 where there are none.
    floor : float or None
        The smallest loss there is, where it is known.
    curvature : float or None
        λmax, the largest curvature, for curvature steps.
    reference : array or None
        The solution that distances are measured from.
    has_label_noise : bool
        Whether y are numbers that noise may be added to.
    converges_at_optimum : bool
        Whether a zero gradient means that a run has converged, whatever its loss.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> class Quartic(wn.Problem):
    ...     dimension = 3
    ...     def value_and_gradient(self, x):  # x: (n, 3), one row per run
    ...         error = x - np.array([1.0, 2.0, 2.0])
    ...         return (error**4).sum(axis=1) / 4, error**3
    >>> result = wn.run(wn.RPGD(0.01, 0.1), Quartic(), scale=2.0, direction=[1.0, 1.0, 1.0])
    >>> result.status == "converged", round(result.norm, 1)
    (True, 2.9)
    """

    dimension: Any = None  # the number of weights, which every problem gives
    num_samples: int = 0  # that a method may draw from; 0 where there are none
    floor: Any = None  # the smallest loss there is; None where it is not known
    # λmax, the largest curvature, for curvature steps; None where there is none
    curvature: Any = None
    # the solution distances are measured from, in these coordinates: a reduced problem has its own
    reference: Any = None
    # what messages say of a run with g = 0 that cannot leave, and of one whose gradient vanishes
    rest_set: ClassVar[str] = "S = {g = 0, ⟨w, ∇f(0)⟩ = 0}"
    zero_gradient: ClassVar[str] = "a minimum, or another point that no step leaves"
    # whether weights are a factor whose columns may have a scale each
    has_columns: ClassVar[bool] = False
    needs_direction: ClassVar[bool] = True  # whether a start must be given, besides its scale
    can_measure: ClassVar[bool] = False  # whether `perp_and_distance` knows more than a run does
    # whether a zero gradient means that a run has converged, whatever its loss: for a convex loss
    # whose smallest value is not known
    converges_at_optimum: bool = False
    has_label_noise: bool = False  # whether y are numbers that noise may be added to
    backend: str = "rules"  # which kernels know this problem, see engine/start.py
    # whether it is ½‖Ax − y‖², whose end, stability and cycles the theory knows …
    is_least_squares: ClassVar[bool] = False
    # … and whether training sees a row space alone, so that `split` takes weights apart
    has_row_space: ClassVar[bool] = False
    # whether it finds its smallest loss by `minimum()`, as those with any loss of Ax do; least
    # squares has its own, by factorisation
    finds_minimum: ClassVar[bool] = False
    variables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "norm": "‖x‖ at the end",
            "loss": "the loss at the end, ½‖Ax − y‖² for least squares",
            "final_scale": "g at the end, which may be negative; ‖x‖ for gradient descent",
            "perp_norm": "‖x⊥‖, the norm of the part of x orthogonal to the row space",
            "distance": "‖x − x*‖, the distance to the minimum-norm solution of least squares",
        }
    )

    # The two things that every problem gives: `dimension` above, and this.

    @abstractmethod
    def value_and_gradient(self, x: Any) -> tuple[Any, Array]:
        """The loss (n,) and its gradient, shaped like x, row by row."""

    # The loss in scale × direction coordinates.

    def scale_direction_gradients(self, unit: Array, scale: Array) -> tuple[Array, Array, Array]:
        """The loss at x = g·w, ∇_w = g G and ∇_g = ⟨w, G⟩, with G the gradient at x."""
        loss, gradient = self.value_and_gradient(scale[:, None] * unit)
        return loss, scale[:, None] * gradient, np.einsum("ij,ij->i", unit, gradient)

    def scale_of(self, norm: Array) -> Array:
        """The scale at which gradient descent stands whose vector has this norm."""
        return norm

    def descent_norm(self, scale: Array) -> Array:
        """The inverse of `scale_of`, with its sign: the length of gradient descent's start; NaN
        where there is none.
        """
        return scale

    def normal(self, w: Array) -> tuple[Array, Array]:
        """‖Aw‖ (n,) and AᵀAw, shaped like w, for a loss that depends on predictions Ax alone.

        It is for methods that divide by the length of all predictions; a problem without them
        leaves it as it is.
        """
        raise NotImplementedError(f"{type(self).__name__} has no predictions Aw, so no normal(w)")

    # Starts, as a user gives them.

    def unit_direction(self, name: str, direction: Any, columns: bool) -> Array:
        """A direction, checked and normalised; `columns` asks for unit columns."""
        return validate.direction(name, direction, self.dimension)

    def unit_directions(self, directions: Any, columns: bool) -> Array:
        """Several directions (n, …), or one."""
        return validate.directions(directions, self.dimension)

    def start_direction(self, direction: Any, start_values: Any) -> Any:
        """What a user gave as the direction of a start: itself or, on a problem that knows
        directions by their values at the samples, these.
        """
        return self._start_given("direction", direction, start_values)

    def start_directions(self, directions: Any, start_values: Any) -> Any:
        """The same for several starts."""
        return self._start_given("directions", directions, start_values)

    def _start_given(self, name: str, given: Any, start_values: Any) -> Any:
        if start_values is not None:
            raise TypeError(
                "start_values are for problems that know directions by their values alone, such as "
                f"KernelLeastSquares; {type(self).__name__} needs {name}="
            )
        if given is None:
            raise ValueError(
                f"{name} is needed: where the run starts, for instance wn.datasets.random_direction"
            )
        return given

    def announce_starts(self, directions: Any) -> None:  # noqa: B027 (most problems need not know)
        """What runs will start from, said before anything is computed: a problem that reads its
        data once looks at these starts on the way.
        """

    def start_scale(self, scale: Any, unit: Array, columns: bool) -> Array:
        """A scale as the engine has it: (1,), or (1, r) with one per column."""
        return np.array([validate.real("scale", scale)])

    def start_at(self, result: Any, columns: bool, has_scale: bool) -> tuple[Array, Array]:
        """The scale (1,) and unit direction of a result that another method goes on from."""
        if result.weights.shape != (self.dimension,):
            raise ValueError(
                f"start has {result.weights.size} weights, the problem has {self.dimension} "
                "features"
            )
        unit = result.direction
        if not unit.any():
            if has_scale:
                raise ValueError(
                    "start has zero weights, so no direction to go on with; give scale and "
                    "direction"
                )
            # gradient descent at scale 0: any direction will do
            unit = np.eye(1, self.dimension)[0]
        return np.array([result.scale]), unit

    def unseen_error(self, unit: Array) -> float:
        """The error of ‖w0⊥‖² of a unit direction, where it is more than rounding."""
        return 0.0

    def dual_expansion(self, unit: Array) -> Any:
        """What makes dual coefficients and predictions of weights that started in this unit
        direction; None for a problem with features.
        """
        return None

    # What is known of the loss.

    @classmethod
    def has_own(cls, name: str) -> bool:
        """Whether this class has a function of this name of its own, and not the contract's."""
        return getattr(cls, name) is not getattr(Problem, name)

    @cached_property
    def zero_loss(self) -> Any:
        """The loss at zero weights: how large a loss is large."""
        return float(self.value_and_gradient(np.zeros((1, self.dimension)))[0][0])

    @property
    def has_curvature(self) -> bool:
        """Whether there is a largest curvature, without computing it."""
        return self.curvature is not None

    @property
    def known_floor(self) -> Any:
        """The floor, where it need not be computed first."""
        return self.floor

    def gradient_vanishes(self, unit: Array, scale: Array, has_scale: bool) -> NDArray[np.bool_]:
        """Where the gradient in a method's own coordinates is zero to rounding.

        Either the gradient is zero against its own terms (a solution, or the floor of an
        unreachable y), or the run is in S = {g = 0, ⟨w, G⟩ = 0}, where neither g nor w moves.
        """
        return _vanishes(*self._gradient_and_terms(unit, scale), unit, scale, has_scale)

    def balances(
        self, unit: Array, scale: Array, has_scale: bool, pull: Array
    ) -> NDArray[np.bool_]:
        """Where the gradient and what a decay adds to it, `pull`, cancel to rounding; or S."""
        gradient, terms = self._gradient_and_terms(unit, scale)
        terms = terms + np.linalg.norm(pull, axis=1)
        return _vanishes(gradient + pull, terms, unit, scale, has_scale)

    def relative_gradient(self, unit: Array, scale: Array) -> Array:
        """‖∇f(x)‖ over the size of the terms it is the sum of: 1 far from a minimum, 0 at one."""
        gradient, terms = self._gradient_and_terms(unit, scale)
        with np.errstate(invalid="ignore"):
            size = np.linalg.norm(gradient, axis=1)
            return np.asarray(size / np.where(terms > 0, terms, 1.0))

    def _gradient_and_terms(self, unit: Array, scale: Array) -> tuple[Array, Array]:
        """The gradient, and the norms of the two parts that it is the sum of."""
        _, gradient = self.value_and_gradient(scale[:, None] * unit)
        _, at_zero = self.value_and_gradient(np.zeros_like(unit))
        rest = np.linalg.norm(gradient - at_zero, axis=1)
        return gradient, np.linalg.norm(at_zero, axis=1) + rest

    def explain_rest(self, unit: Array, scale: Array) -> str:
        """Why the first run stands still, where the problem knows better than the loop."""
        return ""

    # Where runs are made, and on what part of the data.

    def reduce(self, samples: bool = False) -> Reduction:
        """Coordinates in which a rotation-equivariant method runs faster, made at first use and
        kept.

        With `samples` they are such that `sample` still works. Override `reduction`, which makes
        them.
        """
        kept: dict[bool, Reduction] = self.__dict__.setdefault("_reductions", {})
        if samples not in kept:
            kept[samples] = self.reduction(samples)
        return kept[samples]

    def reduction(self, samples: bool) -> Reduction:
        """What `reduce` returns; the problem's own coordinates unless a problem has better ones."""
        return self.in_full()

    def in_full(self) -> Reduction:
        """The problem's own coordinates."""
        return Reduction(self)

    def stack(self, problems: Sequence[Any]) -> Problem:
        """Reduced problems of the kind of this one as one, with one per run, so that runs on
        them advance together.
        """
        raise TypeError(
            "runs on several problems advance together on least squares only, got "
            f"{type(self).__name__}"
        )

    def of_runs(self, runs: NDArray[np.intp]) -> Problem:
        """The problem of these runs; another one only where each run has its own."""
        return self

    def sample(self, rows: NDArray[np.intp] | None, noise: Array | None) -> Problem:
        """The problem a random step sees: these rows (None for all) times m/b, with this noise
        (m,) added to y.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has num_samples, but no sample(rows, noise)"
        )

    # What to tell of where runs ended.

    def weights(self, unit: Array, scale: Array) -> Array:
        """The weights of runs."""
        return scale[:, None] * unit

    def norms(self, unit: Array, scale: Array, perp: Array) -> tuple[Array, Array, Array]:
        """‖x⊥‖, ‖x‖ and ‖w⊥‖, from the signed length `perp` of the unit direction's part off the
        row space.
        """
        return np.abs(scale * perp), np.abs(scale), np.abs(perp)

    def summary(
        self, unit: Array, scale: Array, perp: Array, measured: bool = True
    ) -> dict[str, Array]:
        """What to keep of where runs ended, by the names of `variables`, but for the loss.

        With measured=False a number that would have to be computed at a price is left out:
        `perp_and_distance` finds it later.
        """
        distance = np.full(len(scale), np.nan)
        if self.reference is not None:
            distance = np.linalg.norm(scale[:, None] * unit - self.reference, axis=1)
        return {
            "norm": np.abs(scale),
            "final_scale": scale,
            "perp_norm": np.abs(scale * perp),
            "distance": distance,
        }

    def is_finite(self, result: Any) -> bool:
        """Whether a result has finite weights and scales."""
        return bool(np.isfinite(result.weights).all() and np.all(np.isfinite(result.scale)))

    def perp_and_distance(self, weights: Array, columns: bool) -> tuple[float, float]:
        """‖x⊥‖ and the distance to the reference of one run's weights, where the run itself did
        not know them.
        """
        return np.nan, np.nan

    def fingerprint(self) -> tuple[Any, ...]:
        """What tells this problem from others after a round trip through pickle: its kind, and
        arrays.
        """
        probe = np.cos(np.arange(1.0, self.dimension + 1.0))[None]
        loss, gradient = self.value_and_gradient(probe)
        return f"{type(self).__name__} {self.dimension}", np.asarray(loss), np.asarray(gradient)


def require_problem(problem: Any) -> Problem:
    """Refuse what is not a problem, or says of none how many weights it has.

    Parameters
    ----------
    problem : object
        What a user gave.

    Returns
    -------
    Problem
        The same object.
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            "problem must be a LeastSquares, a GeneralizedLinear or a MatrixSensing, got "
            f"{type(problem).__name__}; use wn.LeastSquares(A, y), or subclass wn.Problem for one "
            "of your own"
        )
    validate.integer(f"dimension of {type(problem).__name__}", problem.dimension, minimum=1)
    return problem


def _vanishes(
    gradient: Array, terms: Array, unit: Array, scale: Array, has_scale: bool
) -> NDArray[np.bool_]:
    """Where a gradient is zero against its terms or, at scale zero, along the direction."""
    size = np.linalg.norm(gradient, axis=1)
    flat = (size <= FLAT * terms) & np.isfinite(terms)
    if not has_scale:
        return np.asarray(flat)
    along = np.abs(np.einsum("ij,ij->i", unit, gradient))
    return np.asarray(flat | ((scale == 0.0) & (along <= FLAT * size)))
