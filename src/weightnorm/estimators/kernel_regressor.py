"""WeightNormKernelRegressor: kernel regression in scale × direction coordinates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._support import validate
from .._support.numeric import EPS, Array
from .base import TRAINING, WeightNormEstimator, warn_unless_converged
from .data import predictions
from .kernel_data import INACCURATE, precision_of, start_columns
from .kernel_fit import KernelFits, fit_kernel, kernel_problem, warn_of_weights
from .kernels import PRECOMPUTED, Kernel, is_named, kernel_names

METHODS = ("limit", *TRAINING)
NAMED = ("gamma", "degree", "coef0")  # what scikit-learn's kernels take
INTERPOLATING = ("rbf", "laplacian")  # whose matrices of distinct samples have full rank
MUCH = 1e-3  # of y, not fitted though the kernel should


class WeightNormKernelRegressor(MultiOutputMixin, RegressorMixin, WeightNormEstimator):  # type: ignore[misc]
    """Kernel regression by weight normalization: linear in features that only a kernel knows.

    Weights x = g·w/‖w‖ in the feature space of the kernel are trained by their scale g and
    direction w, exactly, through K = AAᵀ alone. From the default start the end is the interpolation
    of minimum norm, ridgeless regression. With `start_values`, those of a prior model of unit norm,
    the fit keeps a share of what the data cannot see of that model: all of it by gradient descent,
    little by weight normalization from a small scale. Where there is nothing to fit, because y is
    zero (constant, with an intercept) or out of reach, the fit is zero, whatever the start.

    Parameters
    ----------
    kernel : str or callable
        "rbf", another of scikit-learn's names, "precomputed" (X is then K, and the kernel of new
        samples with the old ones in `predict`), or a function of two matrices or of two samples; a
        kernel of scikit-learn's Gaussian processes is one. It must be positive semidefinite: a
        negative eigenvalue of up to 1e-5 of the largest (0.05, of whole numbers) is taken for an
        error of how it was computed, with a warning, and a larger one refused.
    method : {"limit", "rpgd", "wn", "gd"}
        The exact limit of the WN flow, projected gradient descent with a scale, weight
        normalization, gradient descent.
    gamma, degree, coef0
        Parameters of the named kernels, as in scikit-learn; gamma is 1/n_features by default.
    kernel_params : dict, optional
        Further arguments of a kernel that is a function.
    scale : float
        g0, the norm of the weights at the start.
    ratio : float, optional
        The scale's rate over the direction's, in units of ‖x*‖², with x* the weights of smallest
        norm; 0.1 by default. As in `WeightNormRegressor`.
    direction_step, scale_step : float, Schedule or callable, optional
        The steps of w and g; by default half of what is stable.
    fit_intercept : {"auto", True, False}
        Whether to fit an intercept. Without one predictions fall back to zero away from the data,
        as those of `KernelRidge` do. "auto" fits one where the kernel is positive semidefinite up
        to a constant alone, and so needs one: −‖x − x'‖ is such a kernel.
    tol : float, optional
        Training has converged when the weights that the data sees are within this share of the best
        ones; 1e-4 by default. The limit has none.
    max_iter : int, optional
        The most steps that training makes, 100,000 by default; the limit has none.

    Attributes
    ----------
    dual_coef_ : (n_samples,) or (n_samples, n_targets) array
        α: predictions are K_test α + start_share_·f0_test + intercept_.
    start_share_ : float or (n_targets,) array
        How much of the unit start direction is left; 0 without `start_values`.
    intercept_ : float or (n_targets,) array
        The intercept; 0 without one.
    X_fit_ : (n_samples, n_features) array or sparse matrix
        The training samples, as they were given; their kernel, if that was.
    status_, message_ : str
        "limit" or "converged", or why not; and the same in words, with numbers, the accuracy that
        the kernel leaves among them.
    rank_ : int
        The rank of the kernel matrix beyond rounding, of the centred one with an intercept.
    accuracy_ : float
        κ(K)·eps, the relative error that the kernel matrix leaves in the weights; larger where it
        is known to have larger errors than rounding.
    scale_, perp_norm_, min_norm_distance_, n_iter_
        As in `WeightNormRegressor`, for the weights in feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormKernelRegressor
    >>> X = np.linspace(0.0, 3.0, 8)[:, None]
    >>> y = np.sin(2.0 * X[:, 0])
    >>> model = WeightNormKernelRegressor(gamma=1.0).fit(X, y)
    >>> bool(np.allclose(model.predict(X), y)), model.status_, model.rank_
    (True, 'limit', 8)
    """

    direction = coef_init = random_state = None  # options of the linear estimators

    def __init__(  # noqa: PLR0913
        self,
        kernel: Any = "rbf",
        method: str = "limit",
        *,
        gamma: Any = None,
        degree: Any = 3,
        coef0: Any = 1,
        kernel_params: Any = None,
        scale: float = 0.0,
        ratio: Any = None,
        direction_step: Any = None,
        scale_step: Any = None,
        fit_intercept: Any = "auto",
        tol: Any = None,
        max_iter: Any = None,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scale = scale
        self.ratio = ratio
        self.direction_step = direction_step
        self.scale_step = scale_step
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        """A precomputed kernel is pairwise and dense; samples of a named kernel may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = isinstance(self.kernel, str) and not self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, start_values: Any = None
    ) -> WeightNormKernelRegressor:
        """Fit the dual coefficients to samples and targets.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples; for kernel="precomputed" K, of shape (n_samples, n_samples).
        y : (n_samples,) or (n_samples, n_targets) array
            The targets.
        sample_weight : (n_samples,) array, optional
            What every sample counts; not negative.
        start_values : (n_samples,) or (n_samples, n_targets) array, optional
            f0 = A w0, the values at the samples of the *unit* direction w0 that training starts in:
            those of a prior model over its norm. By default the start is Aᵀy, which gives minimum
            norm.

        Returns
        -------
        WeightNormKernelRegressor
            Itself, fitted.

        Raises
        ------
        ValueError
            If the kernel is indefinite, no unit direction has the start_values, or training
            diverges.
        """
        options = self._options(METHODS)
        validate.squarable("scale", self.scale)
        intercept = self._intercept()
        if validate.is_text("y", y):
            raise ValueError("y is text; give numbers")
        given = X
        X, y = self._checked(X, y, y_numeric=True, multi_output=True)
        several = np.ndim(y) == 2
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        starts = start_columns(start_values, targets.shape)
        weights = self._weights(sample_weight, X)
        kernel = self._kernel(X, self._shift_of(X, intercept is True))
        K, eps, noise = kernel.train()
        allowed = INACCURATE
        if self._is_precomputed:
            if K.shape[0] != K.shape[1]:
                raise ValueError(
                    "X must be square for kernel='precomputed', the kernel of all samples with "
                    f"each other, got shape {K.shape}"
                )
            eps, allowed = precision_of(given)
        kept = np.ones(len(K), bool) if weights is None else weights > 0
        parts = (
            (K if kept.all() else K[np.ix_(kept, kept)], eps, noise),
            targets[kept],
            None if starts is None else starts[kept],
            None if weights is None else weights[kept],
        )
        data, problem = kernel_problem(parts, intercept, allowed)
        single = starts is not None and validate.precision("start_values", start_values)
        steps = (self.direction_step, self.scale_step)
        found = fit_kernel(data, problem, float(self.scale), options, steps, bool(single > EPS))
        self._keep(found, data.units, kept, several)
        self.X_fit_, self._shift = X, kernel.shift
        warn_unless_converged(options.method, found.ends)
        warn_of_weights(parts, data, found)
        if is_named(self.kernel, *INTERPOLATING) and found.lost > MUCH:
            # The distance of a sample to itself is a rounding error, which a huge gamma multiplies.
            blurred = float(np.diag(K).min()) < 1.0 - MUCH
            advice = "a larger gamma, or a penalty as KernelRidge has, would help"
            if blurred:
                advice = "at so large a gamma the rounding of distances decides; use a smaller one"
            warnings.warn(
                f"{found.lost:.2g} of y is not fitted: the kernel has rank {found.rank} of "
                f"{len(found.dual)} beyond rounding; {advice}",
                UserWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any, start_values: Any = None) -> Array:
        """The fitted values at samples X.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples; for kernel="precomputed" their kernel with the training samples.
        start_values : (n_samples,) or (n_samples, n_targets) array, optional
            The values of the unit start direction there; needed after a fit with start_values that
            left some of it.

        Returns
        -------
        (n_samples,) or (n_samples, n_targets) array
            K_test dual_coef_ + start_share_·start_values + intercept_.
        """
        check_is_fitted(self, "dual_coef_")
        X = self._checked(X, reset=False)
        values = predictions(
            self._kernel(self.X_fit_, self._shift).of(X), self.dual_coef_, self.intercept_
        )
        share = np.atleast_1d(self.start_share_)
        given = start_columns(start_values, (len(values), share.size))
        if given is not None:
            return np.asarray(values + (given * share).reshape(values.shape))
        if share.any():
            raise ValueError(
                f"start_values are needed: {float(np.abs(share).max()):.3g} of the unit start "
                "direction is left in the fit, so give its values at these samples"
            )
        return values

    def score(self, X: Any, y: Any, sample_weight: Any = None, start_values: Any = None) -> float:
        """R², the share of the variance of y that predictions explain.

        Parameters
        ----------
        X, start_values
            As in `predict`.
        y : (n_samples,) or (n_samples, n_targets) array
            The targets.
        sample_weight : (n_samples,) array, optional
            What every sample counts.

        Returns
        -------
        float
            1 at best.
        """
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X, start_values), sample_weight=sample_weight))

    def _checked(self, *arrays: Any, **options: Any) -> Any:
        sparse = self.__sklearn_tags__().input_tags.sparse
        return self._data(*arrays, accept_sparse=("csr", "csc") if sparse else False, **options)

    def _intercept(self) -> Any:
        """True, False or "auto"."""
        given = self.fit_intercept
        if isinstance(given, str):
            return validate.choice("fit_intercept", given, ("auto",))
        if not isinstance(given, bool | np.bool_ | int) or given not in (0, 1):
            raise ValueError(f'fit_intercept must be "auto", True or False, got {given!r}')
        return bool(given)

    def _shift_of(self, X: Any, intercept: bool) -> Array | None:
        """The mean of the samples, for a kernel that does not mind it taken off."""
        free = is_named(self.kernel, "rbf") or (intercept and is_named(self.kernel, "linear"))
        return np.asarray(X.mean(axis=0)) if free and isinstance(X, np.ndarray) else None

    def _kernel(self, X: Any, shift: Array | None) -> Kernel:
        """The kernel with these training samples, its options checked."""
        named = isinstance(self.kernel, str) and not self._is_precomputed
        if self.gamma is not None:
            if not named:
                raise ValueError(f"gamma is for kernels with a name, got kernel={self.kernel!r}")
            validate.real("gamma", self.gamma, minimum=0.0, strict=True)
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError(
                f"kernel_params are for a kernel that is a function, got kernel={self.kernel!r}; "
                "named ones have gamma, degree and coef0"
            )
        if not callable(self.kernel):
            validate.choice("kernel", self.kernel, kernel_names())
        options = dict(self.kernel_params or {})
        if named:
            options |= {name: getattr(self, name) for name in NAMED}
        return Kernel(self.kernel, options, X, shift)

    def _keep(self, found: KernelFits, units: Array, kept: Any, several: bool) -> None:
        """Set everything that was found, at once: a fit that fails leaves the last one whole."""
        dual = np.zeros((kept.size, units.size))
        dual[kept] = found.dual

        def each(values: Any) -> Any:
            return np.asarray(values) if several else float(values[0])

        def of_ends(name: str) -> Any:
            return each(units * [getattr(end, name) for end in found.ends])

        self.dual_coef_ = dual if several else dual[:, 0]
        self.start_share_, self.intercept_ = each(found.share), each(found.intercept)
        self.scale_, self.perp_norm_ = of_ends("scale"), of_ends("perp_norm")
        self.min_norm_distance_ = of_ends("distance")
        self.n_iter_ = max(end.num_steps for end in found.ends)
        self.rank_, self.accuracy_ = found.rank, found.accuracy
        self.status_, self.message_ = found.worst.status, found.message
