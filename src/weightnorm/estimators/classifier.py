"""WeightNormClassifier: logistic regression in scale × direction coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._support import validate
from .._support.numeric import Array
from ..methods.schedules import as_schedule
from ..problems import GeneralizedLinear
from ..problems.coordinates.factorisation import scaled_norm
from ..problems.linear.logits import Logits
from ..problems.losses import Logistic
from ._threads import few_threads
from .base import TRAINING, FitEnd, FitOptions, FitStart, WeightNormEstimator, warn_unless_converged
from .convex import convex_limit, convex_problem, with_options
from .data import predictions, require_squares
from .probabilities import log_probabilities
from .training import train

METHODS = ("limit", *TRAINING)


class WeightNormClassifier(ClassifierMixin, WeightNormEstimator):  # type: ignore[misc]
    """Logistic regression by weight normalization, for two classes or more.

    `method="limit"` goes to where training with small steps would end. Where the classes overlap,
    that is the minimum of the log-loss, found by Newton's method in coordinates that have no units
    (plus a share of the part of a `direction` of your own that the data cannot see). Where they are
    separable the loss has no minimum: the coefficients are the direction of maximum margin, scaled
    until the mean loss is at most `tol`, and `status_` says so. More than two classes: one class
    against the rest, each exactly so; or softmax, by training.

    Parameters
    ----------
    method : {"limit", "rpgd", "wn", "gd"}
        The exact limit of the WN flow, projected gradient descent with a scale, weight
        normalization, gradient descent.
    multi_class : {"ovr", "softmax"}
        For more than two classes: one class against the rest, or classes that compete, which only
        training knows: its limit depends on the start in ways that have no formula.
    scale : float
        g0, the scale of every class at the start.
    direction : (n_features,) or (n_classes, n_features) array, "random", or None
        w0, the direction of the start, the second form for more than two classes. By default the
        direction in which the loss falls fastest, which lies in the row space.
    coef_init : array of the same shape, or of coef_'s, optional
        A warm start, instead of scale and direction.
    ratio : float, optional
        The scale's rate over the direction's, 0.3 by default; the smaller it is, the more of the
        start is forgotten. For the limit in units of the squared norm of the minimiser, for
        training of max(g², n_samples/‖X‖_F²) (X centred), so that it means the same in any units.
    direction_step, scale_step : float, Schedule or callable, optional
        The steps η of w and γ of g. By default chosen anew every 50 steps, and smaller after steps
        that did not lower the loss, with γ = c·η; one number gives the other. `direction_step` is
        the step of gradient descent too.
    fit_intercept : bool
        Whether to fit intercepts; they are at their best throughout, and not part of the norm.
    class_weight : dict, "balanced" or None
        What the samples of each class count; "balanced": n_samples/(n_classes·count).
    tol : float, optional
        1e-4 by default. Training has converged when the gradient is this share of its terms (in
        coordinates that have no units), or the mean loss at most this. The limit needs it for
        separable classes only: where there is a minimum, it is found to rounding.
    max_iter : int, optional
        The most steps that training makes, 10,000 by default; the limit has none.
    random_state : int, RandomState or None
        For direction="random".

    Attributes
    ----------
    classes_ : (n_classes,) array
        The labels, sorted.
    coef_ : (1, n_features) or (n_classes, n_features) array
        The coefficients, one row for two classes.
    intercept_ : (1,) or (n_classes,) array
        The intercepts; 0 without one.
    n_iter_ : int
        Steps made, of training or of Newton's method, at least 1.
    status_ : str
        "limit": the minimum, exactly. "separable": see above. "quasi_separable": the loss falls for
        ever without going to zero, and the coefficients are where it has all but arrived.
        "converged", "max_steps", "stationary" after training. Of several classes, the first of
        "unfinished", "max_steps", "stationary", "quasi_separable", "separable" that occurs.
    message_ : str
        The same in words, with numbers.
    scale_ : (1,) or (n_classes,) array
        g of every class at the end: the norm of its coefficients.
    perp_norm_ : float
        The norm of the part of all coefficients that the data cannot see.
    min_norm_distance_ : float
        The distance to the smallest coefficients with the same training predictions: without their
        unseen part. The same number.
    rank_ : int
        The rank of the centred X.
    singular_values_ : array or None
        Its singular values; None where the fit did not need them.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 200))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> model = WeightNormClassifier().fit(X, y)
    >>> model.score(X, y), model.status_, model.perp_norm_
    (1.0, 'separable', 0.0)
    """

    defaults: ClassVar[dict[str, Any]] = {"ratio": 0.3, "tol": 1e-4, "max_iter": 10_000}

    def __init__(  # noqa: PLR0913
        self,
        method: str = "limit",
        *,
        multi_class: str = "ovr",
        scale: float = 0.0,
        direction: Any = None,
        coef_init: Any = None,
        ratio: Any = None,
        direction_step: Any = None,
        scale_step: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: Any = None,
        max_iter: Any = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.multi_class = multi_class
        self.scale = scale
        self.direction = direction
        self.coef_init = coef_init
        self.ratio = ratio
        self.direction_step = direction_step
        self.scale_step = scale_step
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightNormClassifier:
        """Fit the coefficients to samples and labels.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.
        y : (n_samples,) array
            The labels, of at least two classes.
        sample_weight : (n_samples,) array, optional
            What every sample counts; not negative.

        Returns
        -------
        WeightNormClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If y has fewer than two classes, training diverges, or a step is a curvature step: a
            classifier has no fixed largest curvature.
        """
        self._refuse_curvature_steps()
        options = self._options(METHODS)
        softmax = validate.choice("multi_class", self.multi_class, ("ovr", "softmax")) == "softmax"
        X, y = self._data(X, y)
        require_squares(X)
        weights = self._weights(sample_weight, X)
        if weights is not None and not weights.all():  # samples that do not count are not there
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        labels = self._labels(y)
        weights = self._class_weights(y, labels, weights)
        several = self.classes_.size > 2
        if several and softmax and options.method == "limit":
            raise ValueError(
                "multi_class='softmax' has no exact limit; use method='rpgd', or multi_class='ovr'"
            )
        columns = np.arange(self.classes_.size) if several else np.array([1])
        member = labels[:, None] == columns
        starts = self._starts(len(columns), X.shape[1])
        with few_threads(X):
            problem, means = convex_problem(X, weights, bool(self.fit_intercept))
            if options.method == "limit":
                ends = self._limits(problem, member, weights, starts, options)
            else:
                ends = self._trained(problem, member, weights, starts, options, softmax and several)
            self.rank_ = int(problem.whitened[0].size)
        self.singular_values_ = (
            problem.factorisation.singular_values if problem.is_factorised else None
        )
        self._keep(ends, means)
        warn_unless_converged(options.method, ends)
        return self

    def decision_function(self, X: Any) -> Array:
        """The logits of samples.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples,) or (n_samples, n_classes) array
            The logit of the second class for two classes, of every class for more.
        """
        check_is_fitted(self)
        X = self._data(X, reset=False)
        logits = predictions(X, self.coef_.T, self.intercept_)
        return logits[:, 0] if self.classes_.size == 2 else logits

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probability of every class.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples, n_classes) array
            The logarithms; the columns are in the order of `classes_`. For one class against the
            rest the probabilities of the classes are divided by their sum.
        """
        logits = self.decision_function(X)
        return log_probabilities(logits.reshape(len(logits), -1), self.multi_class)

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples, n_classes) array
            The probabilities; the columns are in the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every sample.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.

        Returns
        -------
        (n_samples,) array
            Labels, as in `classes_`.
        """
        logits = self.decision_function(X)
        which = (logits > 0).astype(np.intp) if self.classes_.size == 2 else logits.argmax(axis=1)
        return np.asarray(self.classes_[which])

    def _refuse_curvature_steps(self) -> None:
        for name in ("direction_step", "scale_step"):
            step = getattr(self, name)
            if step is not None and as_schedule(name, step).per_curvature:
                reason = "and a classifier has no fixed largest curvature; use another"
                raise ValueError(f"{name} is a curvature step, {reason}")

    def _labels(self, y: Any) -> NDArray[np.intp]:
        try:
            with np.errstate(all="ignore"):  # labels may be numbers of any size
                check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
        except TypeError as error:
            reason = "labels of several kinds, or missing ones, that cannot be sorted"
            raise ValueError(f"y has {reason}: {error}") from error
        except ValueError as error:
            raise ValueError(f"y has no class labels: {error}") from error
        if self.classes_.size < 2:
            only = self.classes_[:1].tolist()[0]
            raise ValueError(f"y has one class only, {only!r}; a classifier needs at least two")
        return np.asarray(labels)

    def _class_weights(self, y: Any, labels: NDArray[np.intp], weights: Any) -> Any:
        if self.class_weight is None:
            return weights
        try:
            each = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=weights
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"class_weight is not as expected: {error}") from error
        each = validate.numbers("class_weight", each)
        if not (each > 0).all():
            raise ValueError("class_weight must be greater than 0 for every class")
        return each[labels] if weights is None else weights * each[labels]

    def _limits(
        self,
        problem: GeneralizedLinear,
        member: NDArray[np.bool_],
        weights: Any,
        starts: list[FitStart],
        options: FitOptions,
    ) -> list[FitEnd]:
        ends = []
        problem.whitened  # noqa: B018  (once for all classes)
        for inside, start in zip(member.T, starts, strict=True):
            signs = np.where(inside, 1.0, -1.0)
            loss = with_options(Logistic(signs), weights, bool(self.fit_intercept))
            ends.append(
                convex_limit(problem.with_loss(signs, loss), start, options.ratio, options.tol)
            )
        return ends

    def _trained(
        self,
        problem: GeneralizedLinear,
        member: NDArray[np.bool_],
        weights: Any,
        starts: list[FitStart],
        options: FitOptions,
        softmax: bool,
    ) -> list[FitEnd]:
        noise = problem.A.noise
        problem.A = problem.A.dense()
        problem.factorise(noise)
        factors = problem.factorisation
        matrix = problem.reduce().problem.matrix
        m = len(member)
        model = Logits(
            matrix / factors.singular_values, factors.singular_values, member.astype(np.float64),
            np.ones(m) if weights is None else weights, softmax, bool(self.fit_intercept),
        )  # fmt: skip
        shape = (1, factors.rank + 1, member.shape[1])
        downhill = -model.value_and_gradient(np.zeros(shape))[1][0]
        coordinates = np.zeros(shape[1:])
        units = np.zeros((member.shape[1], problem.shape[1]))
        for k, start in enumerate(starts):
            if start.direction is None:
                coordinates[:, k] = downhill[:, k]
                continue
            z, rest = factors.split(start.direction / scaled_norm(start.direction))
            size = float(np.linalg.norm(rest))
            coordinates[:, k] = np.append(z, size)
            units[k] = rest / size if size > 0 else rest
        coordinates[0, ~coordinates.any(axis=0)] = 1.0  # nothing to learn: any direction will do
        natural = model.total_weight / (float((matrix**2).sum()) * len(starts) or 1.0)
        scales = np.array([start.scale for start in starts])
        trained = train(
            model, scales, coordinates, natural, options, self.direction_step, self.scale_step
        )
        coef = factors.lift(np.ascontiguousarray(trained.weights[:-1].T))
        coef = coef + trained.weights[-1][:, None] * units
        intercepts = model.intercept(model.matrix @ trained.weights[:-1])
        perps = np.abs(trained.weights[-1])
        return [
            FitEnd(coef[k], float(intercepts[k]), float(trained.scale[k]), float(perps[k]),
                float(perps[k]), max(1, trained.num_steps), trained.status, trained.message)
            for k in range(len(coef))
        ]  # fmt: skip

    def _keep(self, ends: list[FitEnd], means: Array) -> None:
        self.coef_ = np.array([end.coef for end in ends])
        self.intercept_ = np.array([end.intercept for end in ends]) - self.coef_ @ means
        if not self.fit_intercept:
            self.intercept_ = np.zeros(len(ends))
        self.scale_ = np.array([end.scale for end in ends])
        self.perp_norm_ = float(np.linalg.norm([end.perp_norm for end in ends]))
        self.min_norm_distance_ = self.perp_norm_
        self.n_iter_ = max(end.num_steps for end in ends)
        order = ("unfinished", "max_steps", "stationary", "quasi_separable", "separable")
        ranks = [order.index(end.status) if end.status in order else 9 for end in ends]
        worst = int(np.argmin(ranks))
        self.status_, self.message_ = ends[worst].status, ends[worst].message
        if len(ends) > 1 and self.method == "limit":
            label = self.classes_[worst : worst + 1].tolist()[0]
            statuses = [end.status for end in ends]
            tally = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(statuses))
            text = f"{len(ends)} classes, each against the rest: {tally}"
            self.message_ = f"{text}. Class {label}: {self.message_}"
