"""What may come of a call: a sound value, or a refusal that names a parameter; nothing else."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cache

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

import weightnorm as wn
from tests.fuzz.values import UserError
from weightnorm.advice.planning import Plan
from weightnorm.problems.sensing.nuclear_norm import MinimumNuclearNorm
from weightnorm.runs.step_search import StepSearch
from weightnorm.theory import Limit, Statement
from weightnorm_paper import lemmas

ROOMS = {"wn": wn, "lemmas": lemmas}  # as calls write them
# scikit-learn asks for the second
ALLOWED_WARNINGS = ("ConvergenceWarning", "DataConversionWarning")


def judge_error(error: BaseException, text: str) -> str | None:
    """What is wrong with an exception; None if it is a proper refusal."""
    if isinstance(error, UserError | wn.NotCertified | NotFittedError):
        return None
    if type(error) not in (ValueError, TypeError):
        return f"{type(error).__name__}: {error}"
    message = str(error)
    if "unexpected keyword argument" in message or "required positional argument" in message:
        return None
    if message.startswith("the step size at t = "):
        return None
    if any(_names(name, message) for name in parameters(text)):
        return None
    return f"{type(error).__name__} that names no parameter: {message}"


def _names(name: str, message: str) -> bool:
    if len(name) > 1:
        return re.search(rf"\b{name}\b", message) is not None
    return (
        re.search(
            rf"(?<![\w'])({name})(\[\d+\])?( must| is| has| and| contains| should|\.|,|:| =|$)",
            message,
        )
        is not None
    )


@cache
def parameters(text: str) -> frozenset[str]:
    """The parameters of everything public that a call names."""
    found: set[str] = set()
    for named, called in re.findall(r"\b(?:wn|lemmas)((?:\.\w+)+)|\)((?:\.\w+)+)\(", text):
        path = named or called
        owners = [wn.LeastSquares, wn.MatrixSensing, Plan]
        owners = [room for name, room in ROOMS.items() if f"{name}{path}" in text] or owners
        for owner in owners:
            target = owner
            for part in path[1:].split("."):
                target = getattr(target, part, None)
            if isinstance(target, type):  # a message may name what does not go together
                found.add(target.__name__)
            if callable(target):
                found |= set(inspect.signature(target).parameters)
    if "wn.schedules" in text:
        found.add("t")
    for estimator in (wn.WeightNormRegressor, wn.WeightNormClassifier):
        if estimator.__name__ in text:
            found |= {"X", "y", "random_state"}
    return frozenset(found - {"self", "args", "kwargs"})


def judge_value(value: object, text: str) -> str | None:
    """What is wrong with a value, lazy parts included; None if all that is promised holds."""
    if "iterative=True" in text:
        return None  # NaN where LSQR runs out of iterations, as documented
    if isinstance(value, wn.Result):
        return _judge_result(value)
    if isinstance(value, StepSearch):
        repr(value)
        return (
            None
            if not value.found or np.isfinite([value.norm, value.limit, value.step]).all()
            else repr(value)
        )
    if isinstance(value, MinimumNuclearNorm):
        return None if np.isfinite(value.value) and np.isfinite(value.matrix).all() else repr(value)
    if type(value).__name__ == "Trajectory":
        return _judge_trajectory(value)
    if type(value).__name__ == "Dataset":
        return _judge_dataset(value)
    if isinstance(value, Plan):
        return None if np.isfinite([value.scale, value.num_steps]).all() else repr(value)
    if isinstance(value, Statement):
        return _judge_statement(value)
    if isinstance(value, wn.WeightNormRegressor | wn.WeightNormClassifier):
        parts = (
            value.coef_,
            value.intercept_,
            value.scale_,
            value.perp_norm_,
            value.min_norm_distance_,
        )
        return None if all(np.isfinite(part).all() for part in parts) else f"not finite: {parts}"
    return None if _without_nan(value) else f"NaN in {value!r}"


def _judge_result(result) -> str | None:
    repr(result)
    if not result.message or result.num_steps < 0:
        return f"no message, or {result.num_steps} steps"
    numbers = (
        result.weights,
        result.scale,
        result.norm,
        result.loss,
        result.direction,
        result.direction_norm,
    )
    if result.status != "diverged" and not all(np.isfinite(part).all() for part in numbers):
        return f"not finite although {result.status}: {result!r}"
    if (
        result.history is not None
        and result.status != "diverged"
        and not np.isfinite(result.history.loss).all()
    ):
        return f"a history that is not finite although {result.status}"
    return None


def _judge_trajectory(path) -> str | None:
    repr(path)
    parts = (path.time, path.scale, path.loss, path.perp_norm, path.weights, path.final_weights)
    if not all(np.isfinite(part).all() for part in parts):
        return f"not finite: {path!r}"
    return None if path.message else "no message"


def _judge_dataset(data) -> str | None:
    codes = data.status.values
    if not np.isin(codes, [status.code for status in wn.Status]).all():
        return f"unknown status codes {codes}"
    settled = ~np.isin(codes, [wn.Status.DIVERGED.code, wn.Status.UNDEFINED.code])
    for name in ("norm", "loss", "final_scale", "perp_norm"):
        if not np.isfinite(data[name].values[settled]).all():
            return f"{name} is not finite where the status says it is"
    return None


def _judge_statement(statement) -> str | None:
    repr(statement), statement.failing
    if not statement.applies:
        return None
    if isinstance(statement, Limit) and "as printed" not in statement.paper:
        parts = (
            statement.weights,
            statement.scale,
            statement.norm,
            statement.perp_norm,
            statement.distance,
        )
        return (
            None if all(np.isfinite(part).all() for part in parts) else f"not finite: {statement!r}"
        )
    fields = [getattr(statement, field.name) for field in dataclasses.fields(statement)]
    return None if all(_without_nan(field) for field in fields) else f"NaN in {statement!r}"


def _without_nan(value: object) -> bool:
    if isinstance(value, dict):
        return all(_without_nan(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(_without_nan(part) for part in value)
    if isinstance(value, float | np.ndarray | np.floating) and np.asarray(value).dtype.kind in "fc":
        return not np.isnan(value).any()
    return True


def fingerprint(value: object) -> object:
    """What an input looked like, to see afterwards that it has not changed."""
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            repr(value.tolist()) if value.dtype == object else value.tobytes(),
        )
    if scipy.sparse.issparse(value):
        return tuple(fingerprint(part) for part in (value.data, value.tocoo().coords))
    return repr(value) if isinstance(value, list | tuple | dict) else None
