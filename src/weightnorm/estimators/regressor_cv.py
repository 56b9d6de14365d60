"""WeightNormRegressorCV: how much of a prior to keep, and when to stop, by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from .._support import validate
from .._support.numeric import Array
from ..theory import ratio_for_share
from ._threads import few_threads
from .base import WeightNormEstimator
from .data import power_of_two, predictions, require_squares, start_rows
from .paths import Factors

if TYPE_CHECKING:
    import pandas

SHARES = np.linspace(0.0, 1.0, 11)
NUM_TIMES = 41
# from where nothing has been learnt to where only directions of a condition of 1e4 are missing
FIRST, LAST = 1e-2, 1e8


class WeightNormRegressorCV(RegressorMixin, WeightNormEstimator):  # type: ignore[misc]
    """Linear regression that keeps a share of a prior, chosen by cross-validation.

    A prior is a guess of the coefficients: those of a related task, or of last year's model. What
    the data cannot see of it, no loss decides; gradient descent from the prior keeps all of it,
    minimum norm nothing, and weight normalization any share between, by its ratio and its scale,
    which are one number in the limit. So this estimator chooses that number, the share a, and a
    stopping time t: the coefficients are those of the gradient flow of the mean squared error that
    starts at a·prior, at time t. At t = ∞ they are x* + a·(the unseen part of the prior), the limit
    of weight normalization. All shares and times cost one factorisation per fold, and ridge beside
    them.

    Without a prior it chooses the stopping time from a zero start; then ridge or lasso are the
    better choice for prediction.

    Parameters
    ----------
    direction : (n_features,) array, optional
        The prior: coefficients, with their size.
    shares : sequence of float, optional
        The shares to choose from; 0, 0.1, … 1 by default, and 0 alone without a prior.
    times : sequence of float, optional
        The times to choose from; infinity may be among them. By default 0, 41 times from where
        nothing has been learnt to where all but everything has, and infinity.
    cv : int, "loo", cross-validation generator or iterable
        How to split; "loo" leaves one out at a time. An int is a number of folds, in the order of
        the samples: give `KFold(5, shuffle=True)` where that order means something.
    fit_intercept : bool
        Whether to fit an intercept; it is not part of the norm.
    random_state : int, RandomState or None
        Not used: everything is deterministic.

    Attributes
    ----------
    coef_ : (n_features,) array
        The coefficients.
    intercept_ : float
        The intercept; 0 without one.
    share_, time_ : float
        The choice.
    ratio_ : float or None
        The `ratio` with which `WeightNormRegressor(direction=prior)` keeps this share from a zero
        scale; None where no ratio does.
    cv_error_ : (n_shares, n_times) array
        The mean squared error on the samples left out.
    shares_, times_ : arrays
        What was chosen from.
    coef_path_ : (n_times, n_features) array
        The coefficients at every time, with the share chosen.
    degrees_of_freedom_ : (n_times,) array
        Σ(1 − e^(−λt)) at every time, λ the eigenvalues of the covariance, and 1 for an intercept.
    ridge_alpha_, ridge_error_ : float
        The best ridge penalty on the mean squared error, and its error; ridge_alphas_ and
        ridge_path_error_ have all of them, ridge_degrees_of_freedom_ theirs.
    min_norm_error_ : float
        The error of minimum norm.
    n_iter_, status_, message_, scale_, perp_norm_, min_norm_distance_, rank_, singular_values_
        As in `WeightNormRegressor`; `status_` is "limit" at t = ∞, otherwise "stopped".

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal(100)
    >>> X = rng.standard_normal((40, 100))
    >>> y = X @ truth + 0.1 * rng.standard_normal(40)
    >>> prior = truth + 0.3 * rng.standard_normal(100)  # a related task
    >>> model = WeightNormRegressorCV(prior).fit(X, y)
    >>> model.share_, bool(model.cv_error_.min() < 0.2 * model.ridge_error_)
    (1.0, True)
    """

    defaults: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        direction: Any = None,
        *,
        shares: Any = None,
        times: Any = None,
        cv: Any = 5,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.direction = direction
        self.shares = shares
        self.times = times
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> WeightNormRegressorCV:
        """Choose a share and a time, and fit with them.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.
        y : (n_samples,) array
            The targets.

        Returns
        -------
        WeightNormRegressorCV
            Itself, fitted.

        Raises
        ------
        ValueError
            If there are more folds than samples, or a share or time is not a number.
        """
        X, y = self._data(X, y, y_numeric=True, ensure_min_samples=2)
        require_squares(X)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        y = np.asarray(y, dtype=np.float64)
        prior = np.zeros(X.shape[1])
        if self.direction is not None:
            prior = np.asarray(start_rows("direction", self.direction, 1, X.shape[1])[0])
        shares = self._shares()
        offset = float(y[0] + (y - y[0]).mean()) if self.fit_intercept else 0.0
        unit = power_of_two(y - offset)
        scaled = (y - offset) / unit
        with few_threads(X):
            whole = Factors.of(X, scaled, prior / unit, bool(self.fit_intercept))
            times, alphas = self._times(whole), self._alphas(whole)
            folds = self._folds(X, y)
            errors, of_ridge = [], []
            for train, test in folds:
                part = Factors.of(X[train], scaled[train], prior / unit, bool(self.fit_intercept))
                rows = part.rows(X[test])
                errors.append(part.errors(rows, scaled[test], part.stopped(times), shares))
                of_ridge.append(part.errors(rows, scaled[test], part.shrunk(alphas), _ENDS))
            self._choose(errors, of_ridge, [len(test) for _, test in folds], shares, times, unit)
            self._keep(whole, unit, offset, alphas, prior)
        return self

    def predict(self, X: Any) -> Array:
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

    def report(self) -> pandas.DataFrame:
        """What cross-validation says of this fit and of its neighbours.

        Returns
        -------
        pandas.DataFrame
            One row per way to fit: its error, the standard error of that over the folds, and the
            mean difference to the fit chosen with the standard error of the differences, fold by
            fold.
        """
        import pandas as pd

        check_is_fitted(self)
        best = self._fold_errors["chosen"]
        rows = []
        for name, folds in self._fold_errors.items():
            difference = folds - best
            rows.append(
                {
                    "fit": name,
                    "error": float(np.average(folds, weights=self._fold_sizes)),
                    "standard_error": _standard_error(folds),
                    "difference": float(np.average(difference, weights=self._fold_sizes)),
                    "standard_error_of_difference": _standard_error(difference),
                }
            )
        return pd.DataFrame(rows).set_index("fit")

    def _shares(self) -> Array:
        if self.shares is None:
            return SHARES if self.direction is not None else np.zeros(1)
        shares = np.unique(validate.array("shares", self.shares, ndim=1))
        if shares[0] < 0:
            raise ValueError(f"shares must not be negative, got {shares[0]:g}")
        return shares

    def _times(self, whole: Factors) -> Array:
        if self.times is not None:
            text = "times must be a vector of numbers that are not negative; infinity is one"
            try:
                times = np.asarray(self.times, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{text}, got {self.times!r:.60}") from error
            if times.ndim != 1 or not times.size or np.isnan(times).any() or (times < 0).any():
                raise ValueError(text)
            return np.unique(times)
        largest = float((whole.singular_values**2).max(initial=0.0)) / whole.num_samples or 1.0
        grid = np.geomspace(FIRST, LAST, NUM_TIMES) / largest
        return np.concatenate([[0.0], grid, [np.inf]])

    def _alphas(self, whole: Factors) -> Array:
        largest = float((whole.singular_values**2).max(initial=0.0)) / whole.num_samples or 1.0
        return np.asarray(largest * np.geomspace(1.0 / LAST, 1.0 / FIRST, NUM_TIMES))

    def _folds(self, X: Any, y: Array) -> list[tuple[Any, Any]]:
        cv = self.cv
        if isinstance(cv, str):
            if cv != "loo":
                raise ValueError(f"cv must be a number of folds, a splitter, or 'loo', got {cv!r}")
            cv = len(y)
        if isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv > len(y):
            raise ValueError(f"cv = {cv} is more than the {len(y)} samples there are")
        try:
            return [(train, test) for train, test in check_cv(cv).split(X, y)]
        except (TypeError, ValueError) as error:
            raise ValueError(f"cv is not as expected: {error}") from error

    def _choose(
        self,
        errors: list[Array],
        of_ridge: list[Array],
        sizes: list[int],
        shares: Array,
        times: Array,
        unit: float,
    ) -> None:
        grid = np.average(errors, axis=0, weights=sizes)
        share, time = np.unravel_index(int(np.argmin(grid)), grid.shape)
        self.share_, self.time_ = float(shares[share]), float(times[time])
        self.shares_, self.times_, self.cv_error_ = shares, times, unit**2 * grid
        ridge = np.average(of_ridge, axis=0, weights=sizes)
        best = int(np.argmin(ridge[0]))
        self.ridge_path_error_ = unit**2 * ridge[0]
        self.ridge_error_ = float(self.ridge_path_error_[best])
        self._best_ridge = best
        folds: dict[str, Any] = {"chosen": [fold[share, time] for fold in errors]}
        folds["ridge"] = [fold[0, best] for fold in of_ridge]
        if self.direction is not None:
            towards = int(np.argmin(ridge[1]))
            folds["ridge towards the prior"] = [fold[1, towards] for fold in of_ridge]
        for a, text in ((0.0, "from zero"), (1.0, "from the prior")):
            if a in shares and (a == 0.0 or self.direction is not None):
                row = int(np.flatnonzero(shares == a)[0])
                stop = int(np.argmin(grid[row]))
                name = f"gradient descent {text}, stopped early"
                folds[name] = [fold[row, stop] for fold in errors]
        if 0.0 in shares and np.isinf(times[-1]):
            row = int(np.flatnonzero(shares == 0.0)[0])
            folds["minimum norm"] = [fold[row, -1] for fold in errors]
        self._fold_errors = {name: unit**2 * np.array(values) for name, values in folds.items()}
        self._fold_sizes = sizes
        minimum = self._fold_errors.get("minimum norm")
        self.min_norm_error_ = (
            float("nan") if minimum is None else float(np.average(minimum, weights=sizes))
        )

    def _keep(
        self, whole: Factors, unit: float, offset: float, alphas: Array, prior: Array
    ) -> None:
        learnt = whole.stopped(self.times_)
        self.coef_path_ = unit * whole.path(learnt, self.share_)
        extra = float(bool(self.fit_intercept))
        self.degrees_of_freedom_ = learnt.sum(axis=1) + extra
        self.ridge_alphas_ = alphas
        self.ridge_alpha_ = float(alphas[self._best_ridge])
        self.ridge_degrees_of_freedom_ = whole.shrunk(alphas).sum(axis=1) + extra
        self.coef_ = self.coef_path_[int(np.flatnonzero(self.times_ == self.time_)[0])]
        if not np.isfinite(self.coef_path_).all():
            raise ValueError("y has entries so large that the coefficients overflow; rescale it")
        self.intercept_ = offset + unit * whole.offset - float(whole.means @ self.coef_)
        self.rank_, self.singular_values_ = whole.singular_values.size, whole.singular_values
        self.scale_ = float(np.linalg.norm(self.coef_))
        self.perp_norm_ = unit * self.share_ * float(np.linalg.norm(whole.rest))
        best = unit * whole.coefficients(whole.solution, 0.0)
        self.min_norm_distance_ = float(np.linalg.norm(self.coef_ - best))
        size = float(np.linalg.norm(prior)) or 1.0
        # from scale zero the flow takes the sign of the pull: a prior that points away turns round
        agrees = float((whole.singular_values**2 * whole.solution) @ whole.prior) > 0
        self.ratio_ = ratio_for_share(
            float(np.linalg.norm(best)),
            unit * float(np.linalg.norm(whole.rest)) / size if agrees else 0.0,
            self.perp_norm_,
        )
        self.n_iter_ = 1
        self.status_ = "limit" if np.isinf(self.time_) else "stopped"
        freedom = self.degrees_of_freedom_[int(np.flatnonzero(self.times_ == self.time_)[0])]
        kept = "" if self.direction is None else f"share {self.share_:g} of the prior, "
        self.message_ = (
            f"{kept}time {self.time_:.3g} ({freedom:.3g} degrees of freedom), chosen by an error "
            f"of {self.cv_error_.min():.6g}; ridge {self.ridge_error_:.6g}, minimum norm "
            f"{self.min_norm_error_:.6g}"
        )


_ENDS = np.array([0.0, 1.0])  # ridge, and ridge towards the prior


def _standard_error(values: Array) -> float:
    """The standard error of a mean over folds; NaN for one."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
