"""A fitted model as plain JSON: everything that a prediction needs, and nothing to unpickle."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._support.files import is_regular
from .._support.numeric import Array
from ..estimators.probabilities import log_probabilities
from .read import TableError

FORMAT = "weightnorm model 1"
LABELS = (str, int, float, bool)
KINDS = ("regressor", "counts", "classifier")


@dataclass(frozen=True)
class Model:
    """A linear model of standardised features: ((x − mean)/deviation) · coefficients + intercept.

    Attributes
    ----------
    kind : str
        "regressor"; "counts", whose predictions are exponentials; "classifier".
    target : str
        The column it predicts.
    features : list of str
        The columns it needs, in this order.
    means, deviations : lists of float
        Of the features; 0 and 1 where they were not standardised.
    coefficients : list of lists of float
        One row per target, or per class; one row for two classes.
    intercepts : list of float
        One per row.
    classes : list, or None
        The labels of a classifier.
    multi_class : str
        "ovr" or "softmax", for more than two classes.
    method, status, message : str
        How it was fitted, and how that ended.
    version : str
        Of weightnorm.
    """

    kind: str
    target: str
    features: list[str]
    means: list[float]
    deviations: list[float]
    coefficients: list[list[float]]
    intercepts: list[float]
    classes: list[Any] | None
    multi_class: str
    method: str
    status: str
    message: str
    version: str

    def to_json(self) -> str:
        """The text of a model file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    def raw_coefficients(self) -> tuple[Array, Array]:
        """Coefficients and intercepts for features as they are, not standardised."""
        rows = np.array(self.coefficients) / np.array(self.deviations)
        return rows, np.array(self.intercepts) - rows @ np.array(self.means)

    def predict(self, features: Array) -> pd.DataFrame:
        """A column `prediction`, and for a classifier one with the probability of every class."""
        with np.errstate(over="ignore", invalid="ignore"):
            standard = (features - np.array(self.means)) / np.array(self.deviations)
            z = standard @ np.array(self.coefficients).T + np.array(self.intercepts)
        if not np.isfinite(z).all():
            raise TableError("the features have values so large that the predictions overflow")
        if self.kind == "regressor":
            return pd.DataFrame({"prediction": z[:, 0]})
        if self.kind == "counts":
            return pd.DataFrame({"prediction": np.exp(np.minimum(z[:, 0], 700.0))})
        assert self.classes is not None
        shares = np.exp(log_probabilities(z, self.multi_class))
        which = (z[:, 0] > 0).astype(int) if len(self.classes) == 2 else z.argmax(axis=1)
        labels = pd.Series([self.classes[k] for k in which], name="prediction")
        names = [f"probability of {label}" for label in self.classes]
        return pd.concat([labels, pd.DataFrame(shares, columns=names)], axis=1)


def read_model(path: Path) -> Model:
    """Read a model file, and refuse what is none.

    Parameters
    ----------
    path : Path
        Written by `weightnorm fit --out`.

    Returns
    -------
    Model
        What it holds.

    Raises
    ------
    TableError
        If the file is missing, truncated, or not of this format.
    """
    if not is_regular(path):
        raise TableError(f"{path} does not exist, or is not a file")
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(
            f"{path.name} is not a model file (the model comes before the table): {error}"
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TableError(
            f"{path.name} is not a model file of this version; make one with weightnorm fit --out"
        )
    names = {field.name for field in fields(Model)}
    given = set(data) - {"format"}
    if given != names:
        missing, unknown = sorted(names - given), sorted(given - names)
        raise TableError(
            f"{path.name} is damaged: it lacks {missing or 'nothing'}, and has unknown "
            f"{unknown or 'nothing'}"
        )
    model = Model(**{name: data[name] for name in names})
    _check(path.name, model)
    return model


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the file; a key that is there twice would have two meanings."""
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the key {twice!r:.60} more than once")
    return data


def _check(name: str, model: Model) -> None:
    """The shapes fit together, and everything is of its kind."""
    if not _texts(model) or not _numbers(model):
        raise TableError(f"{name} is damaged: its numbers do not fit together")


def _texts(model: Model) -> bool:
    """Whether names and labels are what they should be, none twice."""
    words = (model.target, model.method, model.status, model.message, model.version)
    if not all(isinstance(word, str) for word in words) or model.kind not in KINDS:
        return False
    features, labels = model.features, model.classes if model.classes is not None else []
    if not isinstance(features, list) or not isinstance(labels, list):
        return False
    if not all(isinstance(name, str) for name in features):
        return False
    if not all(_is_label(label) for label in labels):
        return False
    whole = len(set(features)) == len(features) and len(set(labels)) == len(labels)
    return whole and model.multi_class in ("ovr", "softmax")


def _numbers(model: Model) -> bool:
    """Whether every number is one, and the shapes fit."""
    lists = (model.means, model.deviations, model.intercepts, *_rows(model.coefficients))
    for values in lists:
        if not isinstance(values, list):
            return False
        if not all(map(_is_finite, values)):
            return False
    size, rows = len(model.features), len(model.intercepts)
    labels = len(model.classes or ())
    wanted = 1 if model.kind != "classifier" or labels == 2 else labels
    return (
        [len(values) for values in lists] == [size, size, rows, *[size] * rows]
        and all(v > 0 for v in model.deviations)
        and rows == wanted
        and (labels >= 2) == (model.kind == "classifier")
    )


def _is_finite(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False


def _is_label(value: Any) -> bool:
    """Whether it can name a class: NaN, for one, is not a class, not even the same as itself."""
    return isinstance(value, LABELS) and (not isinstance(value, float) or math.isfinite(value))


def _rows(coefficients: Any) -> list[Any]:
    return coefficients if isinstance(coefficients, list) else [None]
