"""WeightNormClassifier: logistic and softmax regression with a scale for each class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .. import _validate
from ..problems import GeneralizedLinear
from ..problems.logits import Logits
from ..schedules import as_schedule
from .base import WeightNormEstimator
from .data import Centred, centre, predictions, require_squares, start_direction
from .training import Trained, train

METHODS = ("rpgd", "wn", "gd")


class WeightNormClassifier(ClassifierMixin, WeightNormEstimator):  # type: ignore[misc]
    """Logistic regression by weight normalization, for two classes or more.

    Two classes have one scale, more than two have one scale per class. Where the classes can be
    separated, training leads the weights towards the maximum margin, and the part of the direction
    that the data cannot see vanishes like g^(−1/ratio) as the scale g grows; gradient descent keeps
    it.

    Parameters
    ----------
    method : {"rpgd", "wn", "gd"}
        Projected gradient descent with a scale, weight normalization, gradient descent.
    scale : float
        g0, the scale of every class at the start.
    direction : (n_features,) or (n_classes, n_features) array, optional
        w0, the direction of the start, the second form for more than two classes; random if not
        given.
    coef_init : array of the same shape, or of coef_'s, optional
        A warm start, instead of scale and direction.
    intercept_init : array shaped like intercept_, optional
        The intercepts of a warm start; without it the mean logit starts at zero.
    ratio : float
        The scale's rate over the direction's, in units of the weights' own square: c =
        ratio·max(g², n_samples/‖X‖_F²) (X centred), so that it means the same in any units of X.
        The smaller it is, the more of the start is forgotten.
    direction_step, scale_step : float, Schedule or callable, optional
        The steps η of w and γ of g. By default chosen anew every 50 steps, and smaller after steps
        that did not lower the loss, with γ = c·η; one number gives the other. `direction_step` is
        the step of gradient descent too.
    fit_intercept : bool
        The intercept is trained as the weight of one more, constant feature, as large as the others
        are on average.
    tol : float
        Training stops when the loss is at most this share of its value at zero weights, or falls by
        less than that in 50 steps.
    max_iter : int
        The most steps that training makes.
    random_state : int, RandomState or None
        For the direction.

    Attributes
    ----------
    classes_ : (n_classes,) array
        The labels, sorted.
    coef_ : (1, n_features) or (n_classes, n_features) array
        The coefficients, one row for two classes.
    intercept_ : (1,) or (n_classes,) array
        The intercepts; 0 without one.
    n_iter_ : int
        Steps made, at least 1.
    status_ : str
        "converged", or why training stopped.
    scale_ : (1,) or (n_classes,) array
        g of every class at the end: the norm of its weights, the intercept's included.
    perp_norm_ : float
        The norm of the part of all weights that the data cannot see.
    min_norm_distance_ : float
        The distance to the smallest weights with the same training predictions: without their
        unseen part. The same number.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm import WeightNormClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 200))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> model = WeightNormClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y), model.perp_norm_ < 0.01
    (1.0, True)
    """

    def __init__(
        self,
        method: str = "rpgd",
        *,
        scale: float = 0.0,
        direction: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        ratio: float = 0.3,
        direction_step: Any = None,
        scale_step: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.scale = scale
        self.direction = direction
        self.coef_init = coef_init
        self.intercept_init = intercept_init
        self.ratio = ratio
        self.direction_step = direction_step
        self.scale_step = scale_step
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> WeightNormClassifier:
        """Fit the coefficients to samples and labels.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
            The samples.
        y : (n_samples,) array
            The labels, of at least two classes.

        Returns
        -------
        WeightNormClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If y has fewer than two classes, or a step is a curvature step: a classifier has no
            fixed largest curvature.
        """
        method, ratio, tol, max_iter = self._options(METHODS)
        for name in ("direction_step", "scale_step"):
            step = getattr(self, name)
            if step is not None and as_schedule(name, step).per_curvature:
                reason = "and a classifier has no fixed largest curvature; use another"
                raise ValueError(f"{name} is a curvature step, {reason}")
        X, y = self._data(X, y)
        require_squares(X)
        try:
            with np.errstate(all="ignore"):  # labels may be numbers of any size
                check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"y has no class labels: {error}") from error
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class only, {self.classes_[0]!r}; a classifier needs at least two"
            )
        one_hot = (labels[:, None] == np.arange(self.classes_.size)).astype(np.float64)
        targets = one_hot[:, 1:] if self.classes_.size == 2 else one_hot
        intercept = bool(self.fit_intercept)
        centred = centre(X, intercept, add_constant=intercept)
        # for its factorisation
        problem = GeneralizedLinear(centred.A, np.zeros(len(labels)), "squared")
        problem.factorise(centred.noise)
        matrix = problem.reduce().problem.matrix
        scale, directions = self._start(X.shape[1], targets.shape[1], centred)
        z, rest = problem.factorisation.split(directions.T)
        size = np.linalg.norm(rest, axis=1)
        coordinates = np.column_stack([z, size]).T
        square = float((matrix**2).sum()) / len(labels) or 1.0
        trained = train(
            Logits(matrix, targets), method, scale, coordinates, ratio, 1.0 / square, tol, max_iter,
            self.direction_step, self.scale_step,
        )  # fmt: skip
        if trained.status != "converged":
            warnings.warn(
                f"{method} did not converge: {trained.message}", ConvergenceWarning, stacklevel=2
            )
        units = rest / np.where(size > 0, size, 1.0)[:, None]
        weights = problem.factorisation.lift(np.ascontiguousarray(trained.weights[:-1].T))
        self._keep(weights + trained.weights[-1][:, None] * units, trained, centred)
        return self

    def _keep(self, weights: Any, trained: Trained, centred: Centred) -> None:
        self.coef_ = np.ascontiguousarray(weights[:, : centred.means.size])
        self.intercept_ = np.zeros(len(weights))
        if centred.constant > 0:
            self.intercept_ = centred.constant * weights[:, -1] - self.coef_ @ centred.means
        self.n_iter_, self.status_, self.scale_ = (
            max(1, trained.num_steps),
            trained.status,
            trained.scale,
        )
        self.perp_norm_ = self.min_norm_distance_ = float(np.linalg.norm(trained.weights[-1]))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
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

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
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
        logits = self.decision_function(X)
        if self.classes_.size == 2:
            return np.column_stack([expit(-logits), expit(logits)])
        return np.asarray(softmax(logits, axis=1))

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

    def _start(
        self, num_features: int, num_columns: int, centred: Centred
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scales (K,) and unit directions (n_features and the constant, K) of the start."""
        generator = self._generator()
        shape = (num_features,) if num_columns == 1 else (num_columns, num_features)
        if self.coef_init is not None and self.direction is not None:
            raise ValueError("give either coef_init or direction, not both")
        if self.intercept_init is not None and (self.coef_init is None or centred.constant == 0):
            raise ValueError("intercept_init goes with coef_init, and with fit_intercept=True")
        name, given = (
            ("direction", self.direction)
            if self.coef_init is None
            else ("coef_init", self.coef_init)
        )
        rows = np.atleast_2d(start_direction(name, given, shape, generator))
        if centred.constant > 0:
            intercept = np.zeros(len(rows))
            if self.intercept_init is not None:
                wanted = np.ravel(
                    start_direction(
                        "intercept_init", np.ravel(self.intercept_init), (num_columns,), generator
                    )
                )
                intercept = (wanted + rows @ centred.means) / centred.constant
            rows = np.column_stack([rows, intercept])
        size = np.linalg.norm(rows, axis=1)
        if name == "direction" and (size == 0).any():
            raise ValueError("direction has a zero row: every class needs a nonzero direction")
        scale = (
            size
            if name == "coef_init"
            else np.full(num_columns, _validate.squarable("scale", self.scale))
        )
        rows = np.where((size > 0)[:, None], rows, generator.standard_normal(rows.shape))
        return scale, (rows / np.linalg.norm(rows, axis=1)[:, None]).T
