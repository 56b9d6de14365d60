"""A table on disk -> a fit, cross-validated: what `weightnorm fit` does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..problems import LeastSquares
from ..tables import TableError
from ..theory import gd_limit
from .classifier import WeightNormClassifier
from .regressor import WeightNormRegressor


def _predicted(model: WeightNormRegressor, X: Any, y: Any) -> dict[str, float]:
    """Where training tends to as its steps shrink, and how far the fit is from there."""
    if model.method == "gd":
        problem = LeastSquares(X - X.mean(axis=0), y - y.mean())
        end = gd_limit(problem, *model._start(X.shape[1]))
        coef, distance = end.weights, end.distance
    else:
        limit = clone(model).set_params(method="limit").fit(X, y)
        coef, distance = limit.coef_, limit.min_norm_distance_
    return {
        "predicted_limit_norm": float(np.linalg.norm(coef)),
        "predicted_limit_min_norm_distance": float(distance),
        "distance_to_predicted_limit": float(np.linalg.norm(coef - model.coef_)),
    }


@dataclass(frozen=True)
class Fitted:
    """A fit and what it says of itself."""

    facts: dict[str, Any]
    coefficients: pd.DataFrame


def fit_table(
    features: pd.DataFrame,
    target: Any,
    classify: bool,
    folds: int,
    standardize: bool,
    options: dict[str, Any],
) -> Fitted:
    """Fit, cross-validate, and compare with the predicted limit."""
    if len(features) < 4:
        count = len(features)
        raise TableError(f"the table has {count} rows; a cross-validated fit needs at least 4")
    folds = min(folds, len(features) // 2)
    kind: Any = WeightNormClassifier if classify else WeightNormRegressor
    values = np.asarray(target) if classify else np.asarray(target, dtype=np.float64)
    if classify:
        counts = pd.Series(values).value_counts()
        if len(counts) > 1 and counts.min() < 2:
            raise TableError(
                f"class {counts.idxmin()!r} has one member only; cross-validation needs two of each"
            )
        folds = max(2, min(folds, int(counts.min())))
    shuffled: Any = (StratifiedKFold if classify else KFold)(folds, shuffle=True, random_state=0)
    steps = [StandardScaler()] if standardize else []
    model = make_pipeline(*steps, kind(**options))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model.fit(features, values)  # first: what is wrong with the data is said once
        scores = cross_val_score(model, features, values, cv=shuffled, error_score="raise")
        last = model[-1]
        coefficients = np.atleast_2d(last.coef_)
        facts: dict[str, Any] = {
            "samples": len(features),
            "features": features.shape[1],
            "method": last.method,
            "status": last.status_,
            "steps": last.n_iter_,
            "train_score": float(model.score(features, values)),
            "score_name": "accuracy" if classify else "R²",
            "folds": folds,
            "cv_score": float(scores.mean()),
            "cv_spread": float(scores.std()),
            "norm": float(np.linalg.norm(coefficients)),
            "perp_norm": last.perp_norm_,
            "min_norm_distance": last.min_norm_distance_,
        }
        if not classify:
            facts |= _predicted(
                last,
                model[:-1].transform(features) if steps else features.to_numpy(dtype=np.float64),
                values,
            )
    facts["warnings"] = sorted({str(note.message) for note in notes})
    rows = {"feature": list(map(str, features.columns))}
    names = (
        ["coefficient"]
        if len(coefficients) == 1
        else [f"coefficient of {name}" for name in last.classes_]
    )
    return Fitted(facts, pd.DataFrame(rows | dict(zip(names, coefficients, strict=True))))
