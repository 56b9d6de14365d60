"""certificate(): what the theory says of a result, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from .._support.moved import by_old_names
from .._support.numeric import Vector
from ..methods.steps import constant_step, kept_ratio
from ..problems.contract import require_problem
from ..runs.dataset import method_kind
from ..runs.history import invariant
from ..runs.result import Result
from ..theory import (
    Limit,
    batchnorm_limit,
    finite_step_limit,
    flow_limit,
    gd_limit,
    weight_decay_limit,
)
from ..theory._root import perp_at_the_end
from ..theory.potential import divergence

NOT_KNOWN = "not known"
AT_REST = 1e-6  # the relative gradient under which ‖w‖ of batch norm has all but stopped growing
LEFT = 400.0  # its gain over η and what is left of the loss; 100 was measured with unstable steps
ROUNDING = 1e-9  # of ‖x‖: how well the end of batch norm is known then
__getattr__ = by_old_names(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What the theory says of a result; it prints as a table.

    Numbers are NaN where the theory says nothing, and `notes` says why.

    Attributes
    ----------
    bregman_excess : float
        How much further the weights are from the start than the nearest ones with the same
        predictions, in the Bregman divergence that the WN flow minimises, as a share of that
        smallest divergence: 0 for the flow itself, of second order in the step for small ones.
    invariant_drift : float
        The change of I = log(‖w⊥‖/‖w‖) + g²/2c from the start to the end: 0 for the flow, and of
        first order in the step.
    predicted : Limit or None
        Where the theory says that such a run ends.
    predicted_error : float
        How far from there it says that a run may end, once its gradient is zero; NaN where it gives
        no number, 0 where the end is exact. That of batch norm moves for as long as ‖w‖ grows: it
        is given without momentum, once the relative gradient is under 1e-6 (measured, not proved).
    distance : float
        ‖x − predicted.weights‖.
    relative_gradient : float
        ‖∇f(x)‖ over the terms it is the sum of: how near the run is to any end at all.
    rows : tuple of (name, value, meaning)
        The table.
    notes : tuple of str
        What could not be said, and why.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    >>> result = wn.run(wn.RPGD(0.01, 0.01), problem, 2.8, w0, tolerance=1e-20)
    >>> found = wn.certificate(problem, result)
    >>> found.distance < found.predicted_error, abs(found.invariant_drift) < 0.1
    (True, True)
    """

    bregman_excess: float
    invariant_drift: float
    predicted: Any
    predicted_error: float
    distance: float
    relative_gradient: float
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """The table: name, value, and what it means."""
        end = NOT_KNOWN if self.predicted is None else f"{self.predicted.norm:.6g}"
        return (
            ("relative gradient", _text(self.relative_gradient), "0 at an end of training"),
            ("Bregman excess", _text(self.bregman_excess), "0: no solution is nearer to the start"),
            ("invariant drift", _text(self.invariant_drift), "0 for infinitely small steps"),
            ("predicted ‖x‖", end, "where the theory ends"),
            ("distance to it", _text(self.distance), "‖x − prediction‖"),
            ("error promised", _text(self.predicted_error), "the distance it allows"),
        )

    def __repr__(self) -> str:
        lines = [f"{name:<18} {value:>12}  {meaning}" for name, value, meaning in self.rows]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def certificate(problem: Any, result: Result) -> Certificate:
    """What the theory says of a result: Bregman optimality, drift, and the predicted end.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The problem that the result is of.
    result : Result
        Of `run`: one scale, one direction.

    Returns
    -------
    Certificate
        It prints as a table; every number has a name.

    Raises
    ------
    ValueError
        For a result without a start (one scale per column), of another problem, or one that
        diverged.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    >>> result = wn.run(wn.WeightNorm(0.01, 0.01), problem, 2.8, w0, tolerance=1e-20)
    >>> print(wn.certificate(problem, result))  # doctest: +ELLIPSIS
    relative gradient ...  0 at an end of training
    Bregman excess ...  0: no solution is nearer to the start
    invariant drift ...  0 for infinitely small steps
    predicted ‖x‖ ...  where the theory ends
    distance to it ...  ‖x − prediction‖
    error promised ...  the distance it allows
    """
    validate.instance("result", result, Result, use="what wn.run returns")
    resume = result._resume
    if resume.origin is None or not require_problem(problem).has_row_space:
        raise ValueError(
            "result must be of one scale and one direction on a linear model; got one of "
            f"{type(problem).__name__}"
        )
    if not problem.is_finite(result):
        raise ValueError("result has weights that are not finite: the run diverged")
    if not resume.continues(resume.method, problem):
        raise ValueError("problem is not the one that result is of; give the same data")
    method, (g0, unit) = resume.method, resume.origin
    notes: list[str] = []
    known = method_kind(method) in ("wn", "rpgd")
    ratio = kept_ratio(method, resume.start_norm) if known else np.nan
    slope = float(problem.relative_gradient(result.direction[None], np.atleast_1d(result.scale))[0])
    predicted, promised = _predicted(problem, method, result, ratio, slope, notes)
    excess, drift = _geometry(problem, result, g0, unit, ratio, notes)
    gap = np.nan if predicted is None else float(np.linalg.norm(result.weights - predicted.weights))
    return Certificate(excess, drift, predicted, promised, gap, slope, tuple(notes))


def _predicted(
    problem: Any, method: Any, result: Result, ratio: float, slope: float, notes: list[str]
) -> tuple[Any, float]:
    """Where such a run ends by the theory, and the error it promises."""
    assert result._resume.origin is not None
    kind, start_norm, (g0, unit) = (
        method_kind(method),
        result._resume.start_norm,
        result._resume.origin,
    )
    squares = problem.is_least_squares
    eta, gamma = (constant_step(schedule) for schedule in method.schedules)
    try:
        moved = method.schedules[: 1 + method.has_scale]
        frozen = any(schedule.ends_frozen for schedule in moved)
        if method.label_noise:
            notes.append("no end is known with noise on the labels")
        elif method.decays:
            return _decayed(problem, method, kind, squares and not frozen, notes)
        elif method.batch_size and float(problem.floor or 0.0) > 0.0:
            notes.append("mini-batches do not come to rest where y is out of reach")
        elif kind == "gd":
            return gd_limit(problem, g0, unit), 0.0
        elif kind == "bn" and squares and eta > 0 and gamma > 0:
            return _batchnorm(problem, method, result, (eta, gamma), slope, notes)
        elif kind not in ("wn", "rpgd"):
            notes.append(f"the theory does not know {type(method).__name__}")
        elif not ratio > 0:
            notes.append("the ratio of the steps changes or is zero, so no end is predicted")
        elif squares and eta > 0:
            options = {
                "momentum": method.momentum,
                "nesterov": method.nesterov,
                "batch_size": method.batch_size,
                "clip": method.clip,
                "direction_norm": start_norm,
            }
            found = finite_step_limit(problem, g0, unit, kind, eta, gamma / eta, **options)
            notes += [f"not promised: {text}" for text in found.failing]
            return found, found.error if found.applies else np.nan
        else:
            notes.append("the predicted end is that of infinitely small steps")
            return flow_limit(problem, g0, unit, ratio), np.nan
    except ValueError as error:
        notes.append(str(error))
    return None, np.nan


def _batchnorm(
    problem: Any,
    method: Any,
    result: Result,
    steps: tuple[float, float],
    slope: float,
    notes: list[str],
) -> tuple[Limit, float]:
    """The end by the ‖w‖ there is now, and how far what ‖w‖ still gains may move it.

    A step adds η²‖∇_w‖² to ‖w‖² and takes about η‖∇_w‖² off the loss: ‖w‖² gains no more than a
    multiple of η times what is left of the loss. Momentum goes on moving w where gradients vanish,
    so nothing is promised with it.
    """
    assert result._resume.origin is not None
    (eta, gamma), start_norm, (g0, unit) = steps, result._resume.start_norm, result._resume.origin
    # under the loss at x = 0 a scale keeps its sign, whatever the steps do near S
    settled = result.loss < float(problem.zero_loss)
    sign = float(np.sign(result.scale)) if settled else None
    grown = max(0.0, (float(result.direction_norm) / start_norm) ** 2 - 1.0)
    batches = problem.shape[0] / (method.batch_size or problem.shape[0])
    left = LEFT * batches * eta * max(result.loss - float(problem.floor), 0.0) / start_norm**2
    found, later = (
        batchnorm_limit(problem, g0, unit, gamma / eta * start_norm**2, grown=each, sign=sign)
        for each in (grown, grown + left)
    )
    unknown = list(found.failing)
    if sign is None:
        unknown.append(
            "the loss is not under that of zero weights yet, so the scale may still end with "
            "either sign"
        )
    if method.momentum:
        unknown.append("momentum moves w on after the gradient has vanished, and the end with it")
    elif not slope <= AT_REST:
        unknown.append(
            f"‖w‖ still grows, and the end moves with it, until the relative gradient, now "
            f"{slope:.2g}, is under {AT_REST:g}; go on with start="
        )
    notes += [f"not promised: {text}" for text in unknown]
    error = ROUNDING * found.norm + found.perp_norm - later.perp_norm
    return found, np.nan if unknown else error


def _decayed(
    problem: Any, method: Any, kind: str, known: bool, notes: list[str]
) -> tuple[Any, float]:
    """Ridge, for decay of the scale or of gradient descent's weights."""
    decay = method.direction_decay if kind == "gd" else method.scale_decay
    other = kind != "gd" and method.direction_decay
    if known and kind in ("gd", "wn", "rpgd") and decay and not other:
        return weight_decay_limit(problem, decay), np.nan
    notes.append(
        "with decay an end is known on least squares only: of the weights of gradient descent, or "
        "of the scale of WN and rPGD, where nothing is frozen"
    )
    return None, np.nan


def _geometry(
    problem: Any, result: Result, g0: float, unit: Vector, ratio: float, notes: list[str]
) -> tuple[float, float]:
    """The Bregman excess over the nearest weights with these predictions, and the drift of the
    invariant.
    """
    if not ratio > 0:
        return np.nan, np.nan
    inside, rest = problem.split(result.weights)
    start_perp = problem.split(unit)[1]
    q0, size = float(np.linalg.norm(start_perp)), float(np.linalg.norm(inside))
    if size == 0.0:
        notes.append("the weights are zero: there is nothing to compare")
        return np.nan, np.nan
    if q0 <= 1e-14:
        notes.append("the start lies in the row space: nothing of it can be kept")
        return np.nan, np.nan
    share = float(np.linalg.norm(rest)) / result.norm
    drift = float(invariant(share, result.scale, ratio) - invariant(q0, g0, ratio))
    best = float(perp_at_the_end(g0, size, 2.0 * np.log(q0), ratio))
    way = np.sign(result.scale) or 1.0
    nearest = inside + way * best * start_perp / q0
    length = float(np.linalg.norm(nearest))
    least = float(divergence(nearest, abs(g0), way * unit, ratio))
    more = float(divergence(result.weights, length, nearest / length, ratio))
    return (more / least if 0 < least < np.inf else np.nan), drift


def _text(value: float) -> str:
    return NOT_KNOWN if np.isnan(value) else f"{value:.3g}"
