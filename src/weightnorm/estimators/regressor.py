"""WeightNormRegressor: linear regression in scale × direction coordinates."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _validate
from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.contract import Method
from ..problems import LeastSquares
from ..problems.factorisation import LARGEST
from ..run import run
from ..theory import flow_limit
from .base import WeightNormEstimator
from .data import both_steps, centre, in_units, predictions, require_squares, start_direction

METHODS = ("limit", "rpgd", "wn", "gd")


class WeightNormRegressor(RegressorMixin, WeightNormEstimator):  # type: ignore[misc]
    """Linear regression by weight normalization: an interpolating fit near minimum norm.

    With more features than samples many coefficients fit alike. Trained as x = g·w/‖w‖, with a
    scale g and a direction w, they end near those of smallest norm, even from a start far from
    zero. `method="limit"` goes to where training with small steps would end, by one factorisation
    and a scalar root instead of iterations (where a start no better than zero leaves the sign of
    the scale open, a short integration settles it); the others make the steps. Where there is
    nothing to fit, because y is constant or out of reach, the coefficients are zero.

    Parameters
    ----------
    method : {"limit", "rpgd", "wn", "gd"}
        The exact limit of the WN flow, projected gradient descent with a scale, weight
        normalization, gradient descent.
    scale : float
        g0, the norm of the coefficients at the start.
    direction : (n_features,) array, optional
        w0, the direction of the start; random if not given.
    coef_init : (n_features,) array, optional
        A warm start: the coefficients to start at, instead of scale and direction.
    ratio : float
        The scale's rate over the direction's, in units of ‖x*‖², with x* the coefficients of
        smallest norm: c = ratio·‖x*‖², so that it means the same in any units of X and y. The
        smaller it is, the closer the end is to minimum norm: from a zero scale at e^(−1/(2·ratio)).
    direction_step, scale_step : float, Schedule or callable, optional
        The steps η of w and γ of g, for those who want to choose them. By default half of what is
        stable, with γ = c·η, which also gives the other if one of them is a number; schedules come
        in pairs. `direction_step` is the step of gradient descent too.
    fit_intercept : bool
        Whether to fit an intercept; it is not part of the norm.
    tol : float
        Training stops when the loss is within this share of what it can fall, from zero weights to
        its least value.
    max_iter : int
        The most steps that training makes.
    random_state : int, RandomState or None
        For the direction.

    Attributes
    ----------
    coef_ : (n_features,) array
        The coefficients.
    intercept_ : float
        The intercept; 0 without one.
    n_iter_ : int
        Steps made, at least 1; 1 for the limit, which makes none.
    status_ : str
        "converged", or why training stopped; "limit" for the limit, "stationary" where the flow
        cannot leave its start.
    scale_ : float
        g at the end.
    perp_norm_ : float
        The norm of the part of the coefficients that the data cannot see.
    min_norm_distance_ : float
        The distance to the coefficients of smallest norm that fit as well.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20, 100))
    >>> y = X[:, 0] + 1.0
    >>> model = WeightNormRegressor(random_state=0).fit(X, y)
    >>> bool(np.allclose(model.predict(X), y)), bool(model.min_norm_distance_ < 0.01)
    (True, True)
    """

    def __init__(
        self,
        method: str = "limit",
        *,
        scale: float = 0.0,
        direction: Any = None,
        coef_init: Any = None,
        ratio: float = 0.1,
        direction_step: Any = None,
        scale_step: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.scale = scale
        self.direction = direction
        self.coef_init = coef_init
        self.ratio = ratio
        self.direction_step = direction_step
        self.scale_step = scale_step
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> WeightNormRegressor:
        """Fit the coefficients to samples and targets.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.
        y : (n_samples,) array
            The targets.

        Returns
        -------
        WeightNormRegressor
            Itself, fitted.

        Raises
        ------
        ValueError
            If training diverges, or the coefficients overflow.
        """
        method, ratio, tol, max_iter = self._options(METHODS)
        X, y = self._data(X, y, y_numeric=True)
        require_squares(X)
        unit, offset, rest = _standard(np.asarray(y, dtype=np.float64), bool(self.fit_intercept))
        scale, direction = self._start(X.shape[1])
        if abs(scale) > LARGEST * unit:
            name = "scale" if self.coef_init is None else "coef_init"
            reason = f"too large for y, whose largest entry is {unit:.3g}; rescale y"
            raise ValueError(f"{name} has size {abs(scale):.3g}, {reason}")
        centred = centre(X, bool(self.fit_intercept))
        problem = LeastSquares(centred.A, rest)
        problem.factorise(centred.noise, in_place=True)
        gstar = float(np.linalg.norm(problem.target))
        if gstar == 0.0:
            end = _End(np.zeros(X.shape[1]), status="limit" if method == "limit" else "converged")
        elif method == "limit":
            end = _limit(problem, scale / unit, direction, ratio * gstar**2)
        else:
            rule = self._rule(
                method, problem, ratio * gstar**2, max(gstar, abs(scale) / unit), unit
            )
            end = _run(rule, problem, scale / unit, direction, tol, max_iter)
        if not np.isfinite(end.coef).all():
            advice = "use smaller direction_step and scale_step"
            raise ValueError(f"training diverged after {end.num_steps} steps; {advice}")
        with np.errstate(over="ignore", invalid="ignore"):
            coef = unit * end.coef
            intercept = unit * offset - float(centred.means @ coef)
        if not np.isfinite([*coef, intercept, unit * end.scale, unit * end.distance]).all():
            reason = "and the coefficients overflow; rescale y or X"
            raise ValueError(f"y has a largest entry of {unit:.3g}, {reason}")
        self.coef_, self.intercept_, self.scale_ = coef, intercept, unit * end.scale
        self.perp_norm_, self.min_norm_distance_ = unit * end.perp_norm, unit * end.distance
        self.n_iter_, self.status_ = end.num_steps, end.status
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The fitted values at samples X.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples,) array
            X coef_ + intercept_.
        """
        check_is_fitted(self)
        X = self._data(X, reset=False)
        return predictions(X, self.coef_, self.intercept_)

    def _start(self, num_features: int) -> tuple[float, NDArray[np.float64]]:
        generator = self._generator()
        if self.coef_init is None:
            direction = start_direction("direction", self.direction, (num_features,), generator)
            return _validate.squarable("scale", self.scale), direction
        if self.direction is not None:
            raise ValueError("give either coef_init or direction, not both")
        start = start_direction("coef_init", self.coef_init, (num_features,), generator)
        size = float(np.linalg.norm(start))
        return size, start if size > 0 else generator.standard_normal(num_features)

    def _steps_in_units(self, unit: float) -> tuple[Any, Any]:
        return (
            in_units("direction_step", self.direction_step, unit, 2),
            in_units("scale_step", self.scale_step, unit, 0),
        )

    def _rule(
        self, method: str, problem: LeastSquares, c: float, largest_scale: float, unit: float
    ) -> Method:
        curvature = problem.curvature or 1.0  # a zero X leaves nothing to be stable about
        if method == "gd":
            return GradientDescent(
                1.0 / curvature if self.direction_step is None else self.direction_step
            )
        eta = 0.5 / (curvature * max(largest_scale**2, c))
        steps = both_steps(eta, c, *self._steps_in_units(unit))
        return RPGD(*steps) if method == "rpgd" else WeightNorm(*steps)


@dataclass(frozen=True)
class _End:
    """Where a fit ended, in units of the targets' largest."""

    coef: NDArray[np.float64]
    scale: float = 0.0
    perp_norm: float = 0.0
    distance: float = 0.0
    num_steps: int = 1
    status: str = "limit"


def _standard(
    y: NDArray[np.float64], fit_intercept: bool
) -> tuple[float, float, NDArray[np.float64]]:
    """The largest |y|, and the mean and the rest of y over it; a rest that is rounding is zero."""
    unit = float(np.abs(y).max(initial=0.0)) or 1.0
    shares = y / unit
    offset = float(shares.mean()) if fit_intercept else 0.0
    rest = shares - offset
    if fit_intercept and np.ptp(y) == 0.0:
        return unit, float(shares[0]), np.zeros_like(rest)
    return unit, offset, rest


def _limit(problem: LeastSquares, scale: float, direction: Any, c: float) -> _End:
    limit = flow_limit(problem, scale, direction, c)
    if limit.applies:
        return _End(limit.weights, limit.scale, limit.perp_norm, limit.distance)
    warnings.warn(
        f"the flow does not reach its limit: {limit.failing}", ConvergenceWarning, stacklevel=3
    )
    if scale != 0.0:
        return _End(limit.weights, limit.scale, limit.perp_norm, limit.distance)
    gstar = float(np.linalg.norm(problem.target))
    return _End(np.zeros(problem.shape[1]), distance=gstar, status="stationary")


def _run(
    rule: Method, problem: LeastSquares, scale: float, direction: Any, tol: float, max_iter: int
) -> _End:
    reach = max(problem.zero_loss - problem.floor, 0.0)
    tolerance = max(problem.floor + tol * reach, float(np.finfo(np.float64).tiny))
    result = run(rule, problem, scale, direction, tolerance=tolerance, max_steps=max_iter)
    status = result.status.value
    if status == "stationary" and result.loss - problem.floor <= 1e-12 * reach:
        status = "converged"  # as near as rounding allows
    if status != "converged":
        warnings.warn(
            f"{rule.name} did not converge: {result.message}", ConvergenceWarning, stacklevel=3
        )
    return _End(
        result.weights,
        result.scale,
        result.perp_norm,
        result.distance,
        max(1, result.num_steps),
        status,
    )
