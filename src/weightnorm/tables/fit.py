"""A table on disk -> a fit, cross-validated: what `weightnorm fit` does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators.classifier import WeightNormClassifier
from ..estimators.regressor import WeightNormRegressor
from ..estimators.regressor_cv import WeightNormRegressorCV
from ..problems import LeastSquares
from ..theory import gd_limit
from .model_file import LABELS, Model
from .read import TableError

MIN_ROWS = 4


@dataclass(frozen=True)
class Fitted:
    """A fit, what it says of itself, and what a prediction needs."""

    facts: dict[str, Any]
    model: Model
    estimator: Any
    standardized: Any
    target: Any

    @property
    def coefficients(self) -> pd.DataFrame:
        """One row per feature and one for the intercept, with means and deviations."""
        model = self.model
        names = (
            ["coefficient"]
            if len(model.coefficients) == 1
            else [f"coefficient of {label}" for label in model.classes or ()]
        )
        table = pd.DataFrame(
            {
                "feature": [*model.features, "(intercept)"],
                "mean": [*model.means, 0.0],
                "deviation": [*model.deviations, 1.0],
            }
        )
        for name, row, intercept in zip(names, model.coefficients, model.intercepts, strict=True):
            table[name] = [*row, intercept]
        return table


def fit_table(
    features: pd.DataFrame,
    target: Any,
    classify: bool,
    folds: int,
    standardize: bool,
    options: dict[str, Any],
    prior: Model | None = None,
) -> Fitted:
    """Fit, cross-validate beside ridge, and compare training with its predicted limit."""
    if len(features) < MIN_ROWS:
        count = len(features)
        raise TableError(
            f"the table has {count} rows; a cross-validated fit needs at least {MIN_ROWS}"
        )
    if folds > len(features):
        raise TableError(f"{folds} folds are more than the {len(features)} rows there are")
    values = np.asarray(target) if classify else np.asarray(target, dtype=np.float64)
    dated = values.dtype.kind in "mM"  # before pandas 3 these are whole numbers in a list
    if classify and (
        dated or not all(isinstance(label, LABELS) for label in pd.unique(values).tolist())
    ):
        kind = getattr(target, "dtype", values.dtype)
        raise TableError(f"the target has labels of the type {kind}; make them text first")
    splits = _splits(values, classify, folds)
    scaler = StandardScaler() if standardize else None
    numbers = features.to_numpy(dtype=np.float64)
    names = list(map(str, features.columns))
    estimator = _estimator(classify, options, prior, names, folds, standardize)
    pipeline = make_pipeline(*([scaler] if scaler and prior is None else []), estimator)
    baseline: Any = LogisticRegression(max_iter=2000) if classify else RidgeCV(_ALPHAS)
    ridge = make_pipeline(StandardScaler(), baseline)
    beside_it = "logistic regression with an L2 penalty (C = 1)" if classify else "ridge"
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        pipeline.fit(numbers, values)  # first: what is wrong with the data is said once
        scores = cross_val_score(pipeline, numbers, values, cv=splits, error_score="raise")
        last = pipeline[-1]
        facts: dict[str, Any] = {
            "samples": len(features),
            "features": features.shape[1],
            "method": getattr(last, "method", "prior"),
            "status": last.status_,
            "message": last.message_,
            "steps": last.n_iter_,
            "rank": last.rank_,
            "train_score": float(pipeline.score(numbers, values)),
            "score_name": "accuracy" if classify else "R²",
            "folds": splits.get_n_splits(),
            "cv_score": float(scores.mean()),
            "cv_spread": float(scores.std()),
            "norm": float(np.linalg.norm(last.coef_)),
            "perp_norm": last.perp_norm_,
            "min_norm_distance": last.min_norm_distance_,
        }
        if prior is not None:
            scaler = last.scaler_ if standardize else None
        standard = scaler.transform(numbers) if scaler else numbers
        if prior is not None:
            facts |= {"share": last.share_, "time": last.time_}
        elif not classify and last.method != "limit" and last.loss == "squared":
            facts |= _predicted(last, standard, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the baseline's own troubles are not the fit's
        beside = cross_val_score(ridge, numbers, values, cv=splits)
    facts |= {
        "baseline": beside_it,
        "ridge_cv_score": float(beside.mean()),
        "ridge_cv_spread": float(beside.std()),
    }
    facts["warnings"] = sorted({str(note.message) for note in notes}) + _advice(facts)
    facts["warnings"] += _left_out(prior, names)
    model = _model(last, scaler, features.columns, str(getattr(target, "name", "target")), facts)
    return Fitted(facts, model, last, standard, values)


_ALPHAS = np.logspace(-3, 5, 33)


def _advice(facts: dict[str, Any]) -> list[str]:
    """What someone should know before using the fit."""
    advice = []
    if facts["ridge_cv_score"] > facts["cv_score"] + facts["ridge_cv_spread"]:
        advice.append(f"{facts['baseline']} predicts better here: use it to predict")
    if facts["status"] in ("separable", "quasi_separable") and facts["score_name"] == "accuracy":
        advice.append("separable classes: probabilities depend on tol, trust the labels only")
    return advice


def _left_out(prior: Model | None, names: list[str]) -> list[str]:
    """That a prior knows columns which the table has not."""
    known = [] if prior is None else prior.features
    gone = [name for name in known if name not in names]
    if not gone:
        return []
    shown = ", ".join(gone[:8]) + (", …" if len(gone) > 8 else "")
    return [
        f"{len(gone)} of the {len(known)} columns of the prior are not in this table and count for "
        f"nothing: {shown}"
    ]


class _PriorFit(WeightNormRegressorCV):
    """A fit with a prior for features as they are, which standardises what it is fitted to."""

    def __init__(self, raw: Any = None, standardize: bool = True, cv: Any = 5) -> None:
        self.raw = raw
        self.standardize = standardize
        super().__init__(cv=cv)

    def fit(self, X: Any, y: Any) -> _PriorFit:
        """Standardise, bring the prior to the same units, and fit."""
        self.scaler_ = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X)
        units = self.scaler_.scale_ if self.standardize else 1.0
        self.direction = self.raw * units
        super().fit(self.scaler_.transform(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """The fitted values at features as they are."""
        return super().predict(self.scaler_.transform(X))


def _estimator(
    classify: bool,
    options: dict[str, Any],
    prior: Model | None,
    features: list[str],
    folds: int,
    standardize: bool,
) -> Any:
    if prior is None:
        return WeightNormClassifier(**options) if classify else WeightNormRegressor(**options)
    if classify or prior.kind != "regressor":
        what = "--classify" if classify else f"a prior that predicts {prior.kind}"
        raise TableError(f"{what} does not go with --prior: both models must predict a number")
    if len(set(features) - set(prior.features)) == len(features):
        raise TableError("the prior has none of the columns of this table")
    rows = dict(zip(prior.features, prior.raw_coefficients()[0][0], strict=True))
    # for features as they are; a feature the prior does not know has none
    raw = np.array([rows.get(name, 0.0) for name in features])
    return _PriorFit(raw, standardize, folds)


def _splits(values: Any, classify: bool, folds: int) -> Any:
    if not classify:
        # a score needs two rows to be left out
        return KFold(min(folds, len(values) // 2), shuffle=True, random_state=0)
    counts = pd.Series(values).value_counts()
    if len(counts) > 1 and counts.min() < 2:
        least = counts.index[int(np.argmin(counts.to_numpy()))]
        raise TableError(f"class {least} has one member only; cross-validation needs two of each")
    folds = max(2, min(folds, int(counts.min())))
    return StratifiedKFold(folds, shuffle=True, random_state=0)


def _predicted(model: WeightNormRegressor, X: Any, y: Any) -> dict[str, float]:
    """Where training tends to as its steps shrink, and how far the fit is from there."""
    if model.method == "gd":
        problem = LeastSquares(X - X.mean(axis=0), y - y.mean())
        start = model._starts(1, X.shape[1])[0]
        direction = start.direction
        if direction is None:  # Xᵀy; any other if that is zero
            direction = problem.A.T @ problem.y
            direction = direction if direction.any() else np.ones(X.shape[1])
        coef = gd_limit(problem, start.scale, direction).weights
    else:
        coef = clone(model).set_params(method="limit", tol=None, max_iter=None).fit(X, y).coef_
    return {
        "predicted_limit_norm": float(np.linalg.norm(coef)),
        "distance_to_predicted_limit": float(np.linalg.norm(coef - model.coef_)),
    }


def _model(last: Any, scaler: Any, columns: Any, target: str, facts: dict[str, Any]) -> Model:
    coefficients = np.atleast_2d(last.coef_)
    size = coefficients.shape[1]
    loss = getattr(last, "loss", "squared")
    labels = getattr(last, "classes_", None)
    return Model(
        kind="classifier" if labels is not None else "counts" if loss == "poisson" else "regressor",
        target=target,
        features=list(map(str, columns)),
        means=(np.zeros(size) if scaler is None else scaler.mean_).tolist(),
        deviations=(np.ones(size) if scaler is None else scaler.scale_).tolist(),
        coefficients=coefficients.tolist(),
        intercepts=np.atleast_1d(last.intercept_).tolist(),
        classes=None if labels is None else np.asarray(labels).tolist(),
        multi_class=getattr(last, "multi_class", "ovr"),
        method=facts["method"],
        status=facts["status"],
        message=facts["message"],
        version=version("weightnorm"),
    )
