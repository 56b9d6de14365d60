"""WeightNormRegressor: linear regression in scale × direction coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._support import validate
from .._support.numeric import EPS, LARGEST, Array
from ..problems.losses import Huber, Poisson
from ._threads import few_threads
from .base import TRAINING, FitEnd, FitStart, WeightNormEstimator, warn_unless_converged
from .convex import convex_limit, convex_problem, convex_training, with_options
from .data import power_of_two, predictions, prepare, require_squares
from .squares import fit_squares

METHODS = ("limit", *TRAINING)
LOSSES = ("squared", "huber", "poisson")


class WeightNormRegressor(MultiOutputMixin, RegressorMixin, WeightNormEstimator):  # type: ignore[misc]
    """Linear regression by weight normalization: an interpolating fit near minimum norm.

    With more features than samples many coefficients fit alike. Trained as x = g·w/‖w‖, with a
    scale g and a direction w, they end near those of smallest norm, even from a start far from
    zero. `method="limit"` goes to where training with small steps would end, by one factorisation
    and a scalar root instead of iterations (where a start no better than zero leaves the sign of
    the scale open, a short integration settles it); the others make the steps. From the default
    start, Xᵀy, that is the fit of minimum norm, exactly. A `direction` of your own is a prior: the
    fit keeps a share of the part of it that the data cannot see (see `WeightNormRegressorCV`).
    Where there is nothing to fit, because y is constant or out of reach, the coefficients are zero.

    Parameters
    ----------
    method : {"limit", "rpgd", "wn", "gd"}
        The exact limit of the WN flow, projected gradient descent with a scale, weight
        normalization, gradient descent.
    loss : {"squared", "huber", "poisson"}
        huber: squared near the target, linear from a distance of `huber_width` on. poisson: for
        counts y ≥ 0; predictions are exp(X coef_ + intercept_).
    huber_width : float
        In units of the spread of y: 1.4826 times the median distance of y from its median. Lower it
        where X explains most of y, so that it is about the spread of what is left.
    scale : float
        g0, the norm of the coefficients at the start.
    direction : (n_features,) or (n_targets, n_features) array, "random", or None
        w0, the direction of the start. By default Xᵀy (X and y centred): in the row space, which
        gives minimum norm.
    coef_init : array of the same shape, optional
        A warm start: the coefficients to start at, instead of scale and direction.
    ratio : float, optional
        The scale's rate over the direction's, in units of ‖x*‖², with x* the coefficients of
        smallest norm: c = ratio·‖x*‖², so that it means the same in any units of X and y. The
        smaller it is, the closer the end is to minimum norm: from a zero scale at e^(−1/(2·ratio)).
        0.1 by default; gradient descent has none.
    direction_step, scale_step : float, Schedule or callable, optional
        The steps η of w and γ of g, for those who want to choose them. By default half of what is
        stable, with γ = c·η, which also gives the other if one of them is a number; schedules come
        in pairs. `direction_step` is the step of gradient descent too.
    fit_intercept : bool
        Whether to fit an intercept; it is not part of the norm.
    tol : float, optional
        When training has converged: for the squared loss, when the coefficients that the data sees
        are within this share of the best ones; for the others, when the gradient is this share of
        its terms. 1e-4 by default; the limit has none.
    max_iter : int, optional
        The most steps that training makes, 100,000 by default; the limit has none.
    random_state : int, RandomState or None
        For direction="random".

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) array
        The coefficients.
    intercept_ : float or (n_targets,) array
        The intercept; 0 without one.
    n_iter_ : int
        Steps made, of training or of Newton's method, at least 1; 1 for the limit of least squares.
    status_ : str
        "limit" or "converged"; or why not: "max_steps", "stationary" where the flow cannot leave
        its start, "quasi_separable" for counts that leave the loss without a minimum, "not_unique"
        for a Huber loss with several; the first that is not well, of several targets.
    message_ : str
        The same in words, with numbers.
    scale_ : float or (n_targets,) array
        g at the end.
    perp_norm_ : float or (n_targets,) array
        The norm of the part of the coefficients that the data cannot see.
    min_norm_distance_ : float or (n_targets,) array
        The distance to the coefficients of smallest norm that fit as well.
    rank_ : int or None
        The rank of the centred X; None for a sparse X that is large on both sides, where the fit
        needs no factorisation.
    singular_values_ : array or None
        Its singular values; None where it was not factorised: for a sparse X or a loss that did
        not need them.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20, 100))
    >>> y = X[:, 0] + 1.0
    >>> model = WeightNormRegressor().fit(X, y)
    >>> bool(np.allclose(model.predict(X), y)), model.min_norm_distance_
    (True, 0.0)
    """

    def __init__(  # noqa: PLR0913
        self,
        method: str = "limit",
        *,
        loss: str = "squared",
        huber_width: float = 1.35,
        scale: float = 0.0,
        direction: Any = None,
        coef_init: Any = None,
        ratio: Any = None,
        direction_step: Any = None,
        scale_step: Any = None,
        fit_intercept: bool = True,
        tol: Any = None,
        max_iter: Any = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.loss = loss
        self.huber_width = huber_width
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

    def __sklearn_tags__(self) -> Any:
        """Counts are not negative, and several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        tags.target_tags.multi_output = self.loss != "poisson"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightNormRegressor:
        """Fit the coefficients to samples and targets.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.
        y : (n_samples,) or (n_samples, n_targets) array
            The targets; for loss="poisson" one only.
        sample_weight : (n_samples,) array, optional
            What every sample counts; not negative.

        Returns
        -------
        WeightNormRegressor
            Itself, fitted.

        Raises
        ------
        ValueError
            If training diverges, or the coefficients overflow.
        """
        options = self._options(METHODS)
        loss = validate.choice("loss", self.loss, LOSSES)
        if validate.is_text("y", y):
            raise ValueError("y is text; give numbers, or use WeightNormClassifier")
        X, y = self._data(X, y, y_numeric=True, multi_output=loss != "poisson")
        require_squares(X)
        weights = self._weights(sample_weight, X)
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if weights is not None and not weights.all():  # samples that do not count are not there
            X, targets, weights = X[weights > 0], targets[weights > 0], weights[weights > 0]
        starts = self._starts(targets.shape[1], X.shape[1])
        with few_threads(X):
            if loss == "squared":
                ends = self._squares(X, targets, weights, starts, options)
            else:
                ends = self._convex(X, targets, weights, starts, options, loss)
        self._keep(ends, several=np.ndim(y) == 2)
        warn_unless_converged(options.method, ends)
        return self

    def predict(self, X: Any) -> Array:
        """The fitted values at samples X.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples,) or (n_samples, n_targets) array
            X coef_ + intercept_; its exponential for loss="poisson".
        """
        check_is_fitted(self)
        X = self._data(X, reset=False)
        values = predictions(X, self.coef_.T, self.intercept_)
        return np.exp(np.minimum(values, 700.0)) if self.loss == "poisson" else values

    def _squares(
        self, X: Any, targets: Array, weights: Any, starts: Any, options: Any
    ) -> list[FitEnd]:
        shares = None if weights is None else weights / weights.sum()
        offsets = np.zeros(targets.shape[1])
        if self.fit_intercept:
            with np.errstate(over="ignore"):
                offsets = targets[0] + np.average(targets - targets[0], axis=0, weights=shares)
            targets = targets - offsets
            targets = targets - np.average(targets, axis=0, weights=shares)
            targets[:, np.ptp(targets, axis=0) <= 4e-16 * np.abs(offsets)] = 0.0
        units = np.array([power_of_two(column) for column in targets.T])
        for start, unit in zip(starts, units, strict=True):
            if abs(start.scale) > LARGEST * float(unit):
                name = "scale" if self.coef_init is None else "coef_init"
                reason = f"too large for y, which varies by about {unit:.3g}; rescale y"
                raise ValueError(f"{name} has size {abs(start.scale):.3g}, {reason}")
        prepared = prepare(X, weights, bool(self.fit_intercept))
        rows = np.ones(len(targets)) if weights is None else np.sqrt(weights)
        ends = []
        # one factorisation for all targets, whose units differ
        fits = fit_squares(
            prepared,
            rows[:, None] * (targets / units),
            [
                FitStart(start.scale / unit, start.direction)
                for start, unit in zip(starts, units, strict=True)
            ],
            options,
            (self.direction_step, self.scale_step),
            units,
        )
        self.rank_, self.singular_values_ = fits.rank, fits.singular_values
        for end, unit, offset in zip(fits.ends, units, offsets, strict=True):
            ends.append(_in_units(end, float(unit), float(offset), prepared.means))
        return ends

    def _convex(
        self, X: Any, targets: Array, weights: Any, starts: Any, options: Any, loss: str
    ) -> list[FitEnd]:
        width = validate.real("huber_width", self.huber_width, minimum=0.0, strict=True)
        problem, means = convex_problem(X, weights, bool(self.fit_intercept))
        ends = []
        for y, start in zip(targets.T, starts, strict=True):
            unit, offset = 1.0, 0.0
            if loss == "poisson":
                if not y.any():
                    raise ValueError("y is zero for every sample: no finite fit of counts exists")
                made: Any = Poisson.of(y)
            else:
                if self.fit_intercept:
                    offset = _median(y, weights)
                unit = power_of_two(y - offset)
                values = (y - offset) / unit
                made = Huber(values, width * _spread(values, weights))
            made = with_options(made, weights, bool(self.fit_intercept))
            this = problem.with_loss(y, made)
            begin = FitStart(start.scale / unit, start.direction)
            if options.method == "limit":
                end = convex_limit(this, begin, options.ratio, options.tol)
            else:
                steps = (self.direction_step, self.scale_step)
                end = convex_training(this, begin, options, steps)
            ends.append(_in_units(end, unit, offset, means))
        self.rank_ = int(problem.whitened[0].size)
        self.singular_values_ = (
            problem.factorisation.singular_values if problem.is_factorised else None
        )
        return ends

    def _keep(self, ends: list[FitEnd], several: bool) -> None:
        def all_of(name: str) -> Any:
            values = np.array([getattr(end, name) for end in ends])
            if several or values.ndim > 1:
                return values if several else values[0]
            return float(values[0])

        self.coef_, self.intercept_ = all_of("coef"), all_of("intercept")
        self.scale_, self.perp_norm_ = all_of("scale"), all_of("perp_norm")
        self.min_norm_distance_ = all_of("distance")
        self.n_iter_ = max(end.num_steps for end in ends)
        worst = next((end for end in ends if end.status not in ("limit", "converged")), ends[0])
        self.status_, self.message_ = worst.status, worst.message


def _median(values: Array, weights: Array | None) -> float:
    """The median, in which a sample of weight 2 is there twice."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    half, last = 0.5 * float(sums[-1]), len(values) - 1
    rounding = len(values) * EPS * half  # a tie at one half stays one in any units of the weights
    low = min(int(np.searchsorted(sums, half - rounding, "left")), last)
    high = min(int(np.searchsorted(sums, half + rounding, "right")), last)
    return 0.5 * (float(values[order[low]]) + float(values[order[high]]))


def _spread(values: Array, weights: Array | None) -> float:
    """The median distance from the median, as a standard deviation; another if that is zero."""
    distance = np.abs(values - _median(values, weights))
    mean = float(np.average(distance, weights=weights))
    return 1.4826 * _median(distance, weights) or mean or 1.0


def _in_units(end: FitEnd, unit: float, offset: float, means: Array) -> FitEnd:
    """An end of a fit of (y − offset)/unit on centred X, for y on X."""
    with np.errstate(over="ignore", invalid="ignore"):
        coef = unit * end.coef
        intercept = offset + unit * end.intercept - float(means @ coef)
        scale, perp, distance = (unit * v for v in (end.scale, end.perp_norm, end.distance))
    if not np.isfinite([*coef, intercept, scale, perp, distance]).all():
        reason = "and the coefficients overflow; rescale y or X"
        raise ValueError(f"y has a largest entry of about {unit:.3g}, {reason}")
    return FitEnd(coef, intercept, scale, perp, distance, end.num_steps, end.status, end.message)
