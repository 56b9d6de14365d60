"""The largest steps at which a solution is stable, for every method and with momentum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.momentum import stable_below
from .._support.numeric import Array
from ._rank_one import HALVINGS, extremes, is_below
from ._solution import Solved, contraction, reachable, solved, squares_above
from .refuse import momentum_of, one_of
from .statement import Statement, assume

ROUNDING = 1e-14  # of ‖x‖²λmax
METHODS = ("rpgd", "wn", "gd", "batchnorm")


@dataclass(frozen=True, eq=False)
class _Steps:
    """The matrices K of many steps at once: diag(d) + ρbbᵀ, one row of d and one ρ each."""

    diagonal: Array
    rho: Array
    square: Array

    def extremes(self) -> tuple[Array, Array]:
        """The smallest and the largest eigenvalue of each."""
        return extremes(self.diagonal, self.rho, self.square)

    def eigenvalues(self) -> Array:
        """All eigenvalues, ascending."""
        if not self.rho.any():
            return np.sort(self.diagonal, axis=-1)
        b = np.sqrt(self.square)
        matrices = self.rho[:, None, None] * np.outer(b, b)
        places = np.arange(b.size)
        matrices[:, places, places] += self.diagonal
        return np.linalg.eigvalsh(matrices)

    def below(self, top: float) -> NDArray[np.bool_]:
        """Whether all eigenvalues are under a threshold."""
        return is_below(self.diagonal, self.rho, self.square, top)


@dataclass(frozen=True, eq=False)
class Stability(Statement):
    """Whether training stays at a solution, how fast it comes back to it, and the largest steps.

    Numbers where the steps are numbers; arrays of their shape where they are arrays. What takes
    longer than `.stable` is computed when it is asked for.

    Attributes
    ----------
    stable : bool, or array of bool
        Whether a small error of the residual does not grow: every eigenvalue of K is under
        `threshold`. It dies out where `rate` is under 1 as well; a frozen scale leaves it at 1.
    threshold : float
        2 without momentum; 2(1 + β) with momentum β, 2(1 + β)/(1 + 2β) with Nesterov's.
    eigenvalues : (…, rank) array
        Of K, the matrix with which a step takes Kr off a small residual r; ascending.
    rate : float or array
        The factor by which a step multiplies the residual in the long run: max|1 − k| over the
        eigenvalues k, and the larger root's size with momentum. The number of steps for a factor
        of ten is log(0.1)/log(rate).
    max_direction_step, max_scale_step : float or array
        The largest stable step of w, at the given step of g; and the reverse. Zero where the other
        step is too large already.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [3.0, 0.0])
    >>> found = wn.theory.stability(problem, norm=3.0, direction_step=0.05, scale_step=0.5)
    >>> found.eigenvalues.round(4).tolist(), found.stable, round(found.rate, 4)
    ([0.5, 1.8], True, 0.8)
    >>> round(found.max_direction_step, 4), round(found.max_scale_step, 4)
    (0.0556, 2.0)
    """

    stable: Any
    threshold: float
    _at: Solved
    _inputs: tuple[Array, Array, Array, Array]  # ‖x‖, η, γ and ‖w‖, each broadcast and flat
    _shape: tuple[int, ...]
    _method: str
    _momentum: tuple[float, bool]

    @cached_property
    def eigenvalues(self) -> Array:
        """Of K, ascending."""
        found = _matrices(self._method, self._at, *self._inputs).eigenvalues()
        return found.reshape(*self._shape, -1)

    @cached_property
    def rate(self) -> Any:
        """The factor of the residual per step, in the long run."""
        low, high = _matrices(self._method, self._at, *self._inputs).extremes()
        found = np.maximum(*(contraction(k, *self._momentum) for k in (low, high)))
        return _shaped(found, self._shape)

    @cached_property
    def max_scale_step(self) -> Any:
        """The largest stable step of g, at the given step of w."""
        norm, eta, gamma, length = self._inputs
        top = self.threshold
        if self._method == "gd":
            found = np.full(eta.shape, np.inf)
        elif self._method == "batchnorm":
            free = _matrices(self._method, self._at, norm, eta, 0.0 * gamma, length).below(top)
            found = np.where(free, top, 0.0)
        else:
            found = largest_scale_step(
                self._at, squares_above(norm, self._at.gstar), eta, length**2, top
            )
        return _shaped(found, self._shape)

    @cached_property
    def max_direction_step(self) -> Any:
        """The largest stable step of w, at the given step of g."""
        norm, _, gamma, length = self._inputs
        at, top = self._at, self.threshold
        square = squares_above(norm, at.gstar)
        with np.errstate(divide="ignore"):
            if self._method == "gd":
                return _shaped(np.full(gamma.shape, top / at.lam.max()), self._shape)
            if self._method == "batchnorm":
                steepest = at.across.max(initial=0.0) * square / length**2
                found = np.where(gamma < top, top / steepest, 0.0)
                return _shaped(found, self._shape)
            # no eigenvalue is under the largest diagonal entry of (‖x‖²AAᵀ − yyᵀ)/N
            entries = (at.lam * (square[:, None] - at.target**2)).max(axis=-1)
            high = (
                top
                * length**2
                / np.where(entries > ROUNDING * square * at.lam.max(), entries, np.nan)
            )
        # one sample, and x = x*: the direction does not change the prediction
        free = np.isnan(high)
        low, high = np.zeros_like(gamma), np.where(free, 1.0, high)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            good = _matrices(self._method, at, norm, middle, gamma, length).below(top)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        alone = _matrices(self._method, at, norm, 0.0 * gamma, gamma, length).below(top)
        return _shaped(np.where(alone, np.where(free, np.inf, high), 0.0), self._shape)


def stability(
    problem: Any,
    norm: Any = None,
    direction_step: Any = 0.0,
    scale_step: Any = 0.0,
    method: str = "rpgd",
    momentum: float = 0.0,
    nesterov: bool = False,
    direction_norm: Any = None,
) -> Stability:
    """Whether a method with these steps stays at a solution of this norm, and its largest steps.

    At a solution x with ‖x‖² = G, a step turns a small residual r into (I − K)r, with
    K = (η/N)(G·AAᵀ − yyᵀ) + (γ/G)·yyᵀ for weight normalization (N = ‖w‖²) and rPGD (N = 1),
    K = ηAAᵀ for gradient descent; for batch norm K has the eigenvalue γ and those of
    η(‖x‖/‖w‖)²·E AAᵀ E, E = I − yyᵀ/‖y‖². The solution is stable exactly when every eigenvalue is
    under 2, or under what momentum makes of it. It is a local statement: it says where training can
    come to rest, not where it goes from afar (see `norm_bracket`, `finite_step_limit`).

    For another convex loss AᵀA is its Hessian at the minimum.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y, with a y that is not zero in A's reach.
    norm : float, array or Result
        ‖x‖ of the solution, at least that of the minimum-norm solution, which is the default. A
        result stands for its norm and its ‖w‖.
    direction_step : float or array
        η, the step of w (of x itself for gradient descent); not negative.
    scale_step : float or array
        γ, the step of g; not negative.
    method : {"rpgd", "wn", "gd", "batchnorm"}
        Which method makes the steps.
    momentum : float
        β in [0, 1), on both w and g.
    nesterov : bool
        Whether the momentum is Nesterov's.
    direction_norm : float or array
        ‖w‖ for weight normalization and batch norm, 1 by default. The arrays broadcast.

    Returns
    -------
    Stability
        With `.stable`, `.eigenvalues`, `.rate`, `.max_direction_step` and `.max_scale_step`.

    Examples
    --------
    The largest steps near a solution of norm 3.2:

    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> found = wn.theory.stability(problem, norm=3.2, direction_step=0.1, scale_step=0.5)
    >>> found.stable, round(found.max_direction_step, 3), round(found.max_scale_step, 3)
    (True, 0.195, 5.9)

    A map of 200 × 200 steps in one call:

    >>> eta, gamma = np.geomspace(0.01, 1, 200), np.geomspace(0.01, 10, 200)
    >>> wn.theory.stability(problem, 3.2, eta[:, None], gamma).stable.shape
    (200, 200)
    """
    one_of("method", method, METHODS)
    beta, ahead = momentum_of(momentum, nesterov)
    at = solved(problem)
    if hasattr(norm, "direction_norm") and hasattr(norm, "norm"):  # where a run ended
        direction_norm = norm.direction_norm if direction_norm is None else direction_norm
        norm = norm.norm
    given = {
        "norm": at.gstar if norm is None else norm,
        "direction_step": direction_step,
        "scale_step": scale_step,
        "direction_norm": 1.0 if direction_norm is None else direction_norm,
    }
    arrays = validate.broadcast(**given)
    for name, values in zip(given, arrays, strict=True):
        positive = name in ("norm", "direction_norm")
        if not (values > 0 if positive else values >= 0).all():
            kind = "greater than 0" if positive else "at least 0"
            raise ValueError(f"{name} must be {kind}, got {values.min():g}")
    shape = arrays[0].shape
    flat = (arrays[0].ravel(), arrays[1].ravel(), arrays[2].ravel(), arrays[3].ravel())
    if method == "rpgd" and (flat[3] != 1.0).any():
        raise ValueError(
            "direction_norm must be 1 for rPGD, whose directions are unit vectors, got "
            f"{flat[3].max():g}"
        )
    top = stable_below(beta, ahead)
    return Stability(
        stable=_shaped(_matrices(method, at, *flat).below(top), shape),
        threshold=top,
        _at=at,
        _inputs=flat,
        _shape=shape,
        _method=method,
        _momentum=(beta, ahead),
        assumptions=(
            assume("solutions of this norm exist", method == "gd" or reachable(flat[0], at)),
        ),
        paper="beyond the paper",
    )


def _matrices(
    method: str, at: Solved, norm: Array, eta: Array, gamma: Array, length: Array
) -> _Steps:
    """K of every step."""
    square = squares_above(norm, at.gstar)
    if method == "gd":
        return _Steps(eta[:, None] * at.lam, 0.0 * eta, 0.0 * at.lam)
    if method == "batchnorm":
        turning = (eta * square / length**2)[:, None] * at.across
        return _Steps(np.column_stack([turning, gamma]), 0.0 * eta, 0.0 * at.lam)
    pull = eta / length**2
    return _Steps((pull * square)[:, None] * at.lam, gamma / square - pull, at.pull**2)


def largest_scale_step(at: Solved, square: Array, eta: Array, weight: Array, top: float) -> Array:
    """γ_max = ‖x‖²(1/Σ + η/N), Σ = Σ b_i²/(top − (η‖x‖²/N)λ_i), by the determinant of K − top;
    zero where the step of w is too large already.
    """
    pull, b2 = eta / weight, at.pull**2
    gaps = top - (pull * square)[:, None] * at.lam
    with np.errstate(divide="ignore", invalid="ignore"):
        poles = np.where(b2 > 0.0, b2 / gaps, 0.0).sum(axis=-1)
        largest = square * (1.0 / poles + pull)
    free = is_below((pull * square)[:, None] * at.lam, -pull, b2, top)
    return np.asarray(np.where(free, largest, 0.0))


def _shaped(values: NDArray[Any], shape: tuple[int, ...]) -> Any:
    """An array of the shape of the steps; a plain number where they are numbers."""
    return values.reshape(shape) if shape else values.reshape(()).item()
