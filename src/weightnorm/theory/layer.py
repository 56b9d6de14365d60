"""Where a linear layer with normalised rows ends, on fixed features: every row, and the bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..problems import LeastSquares
from ._followed import followed_side
from ._layer_flow import row_end
from ._row import RowSteps, row_of
from .finite_step import SECOND_ORDER, VALID, finite_step_limit
from .limits import flow_limit
from .refuse import momentum_of, one_of
from .statement import Assumption, Statement, assume

CENTRED = 1e-12  # column means under this share of the columns' sizes are zero
INTEGRATED = 1e-8  # relative accuracy of an end that was integrated


@dataclass(frozen=True, eq=False)
class LayerLimit(Statement):
    """The weights and the bias a linear layer ends with, row by row.

    Attributes
    ----------
    weight : (k, d) array
        The weights at the end, one row per output.
    bias : (k,) array
        The bias at the end; zeros without one.
    norm : (k,) array
        The norms of the rows.
    min_norm : (k,) array
        Those of the smallest rows with the same predictions.
    distance : (k,) array
        How far each row ends from that smallest one.
    error : (k,) array
        With a step: how far training ends from the prediction at most, in ‖row‖ and in the
        distance; second order in the step, an estimate with a measured constant and not a proof.
        Zeros without.
    equivalent_step : (k,) array
        With a step: what its effect is an expansion in; beyond 0.4 nothing is promised. Zeros
        without.
    closed_form : bool
        Whether the end is a closed form. It is not for features that are not centred with a bias,
        nor with frozen steps: then the flow was integrated.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> features = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
    >>> end = wn.theory.linear_layer_limit(features, [[3.0], [1.0]], [[0.6, 0.8, 0.0]], 1.0)
    >>> end.bias.tolist(), end.closed_form
    ([2.0], True)
    """

    weight: Array
    bias: Array
    norm: Array
    min_norm: Array
    distance: Array
    error: Array
    equivalent_step: Array
    closed_form: bool


def linear_layer_limit(  # noqa: PLR0913
    features: Any,
    targets: Any,
    weight: Any,
    scale_ratio: float = 1.0,
    bias: bool = True,
    method: str = "rpgd",
    bias_ratio: float = 1.0,
    start_bias: Any = 0.0,
    *,
    step: float | None = None,
    momentum: float = 0.0,
    nesterov: bool = False,
    frozen_steps: int = 0,
    direction_norm: Any = None,
) -> LayerLimit:
    """Predict where a linear layer with one scale per row ends, with squared error and a bias.

    It is torch's weight_norm(nn.Linear, dim=0) on fixed features: the rows do not see each other.
    Row i starts at its weights, with g0 = ‖row‖. With centred features the bias does not see the
    rows either: it ends at the mean of the targets, and the row where `flow_limit` says, for the
    targets less their mean. Otherwise w⊥ keeps its invariant, but the bias has no closed form: the
    flow of g, the row-space part of w and the bias is integrated, m + 2 numbers whatever d is. A
    sum or a mean in the loss only changes the time.

    With a step η the end moves, to first order in η, and `.error` bounds what is left: by
    `finite_step_limit` where the end is a closed form, and elsewhere by integrating F − (hρ/2)F′F
    in place of the flow F, with h = η/(1 − β) and ρ = (1 + β)/(1 − β) for a momentum β.

    With one learning rate (scale_ratio = 1, method "wn") and centred features a row that has a part
    off the row space ends strictly closer to the minimum-norm row than plain gradient descent from
    the same weights, whatever they are, unless ‖row∥‖ equals that minimum norm: a tie.

    Parameters
    ----------
    features : (n, d) array
        The inputs of the layer, one row per sample.
    targets : (n,) or (n, k) array
        What the layer should give, one column per output.
    weight : (k, d) array, or (d,)
        The weights of the start, one row per output; no row zero.
    scale_ratio : float
        The rate of the scales over that of the directions; greater than 0.
    bias : bool
        Whether the layer has a bias.
    method : {"rpgd", "wn"}
        How directions are trained: unit vectors with c = scale_ratio, or torch's v with v0 = the
        row and so c = scale_ratio·‖row‖². Coordinate-wise rules (Adam) are refused.
    bias_ratio : float
        The rate of the bias over that of the directions; greater than 0. It matters for features
        that are not centred.
    start_bias : float or (k,) array
        The bias of the start; it matters for features that are not centred.
    step : float, optional
        η, the step of the directions, for the loss ½Σ(…)² over samples; infinitely small without.
        For a mean of squares over n samples and k outputs (torch's MSELoss) it is 2η/(nk).
    momentum, nesterov
        As in torch, for directions, scales and bias; they need a step.
    frozen_steps : int
        For so many steps the scales rest at first; it needs a step, which says how long that is.
    direction_norm : float or (k,) array, optional
        ‖v0‖ of each row for method "wn"; the norms of the rows by default, as torch begins.

    Returns
    -------
    LayerLimit
        With `.weight`, `.bias` and `.norm`.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> rng = np.random.default_rng(0)
    >>> X, Y, W0 = rng.normal(size=(8, 20)), rng.normal(size=(8, 3)), rng.normal(size=(3, 20))
    >>> end = wn.theory.linear_layer_limit(X, Y, W0, method="wn")
    >>> bool(np.allclose(X @ end.weight.T + end.bias, Y)), end.closed_form
    (True, False)
    >>> wn.theory.linear_layer_limit(X - X.mean(axis=0), Y, W0, method="wn").closed_form
    True
    """
    one_of("method", method, ("rpgd", "wn"))
    ratio = validate.real("scale_ratio", scale_ratio, minimum=0.0, strict=True)
    kappa = validate.real("bias_ratio", bias_ratio, minimum=0.0, strict=True)
    X = validate.array("features", features, ndim=2)
    Y, W = _outputs(X, targets, weight)
    b0 = validate.numbers("start_bias", start_bias)
    if b0.shape not in ((), (len(W),)):
        raise ValueError(f"start_bias must be a number or one per row, {len(W)}, got {b0.shape}")
    b0 = np.broadcast_to(b0, (len(W),))
    beta, ahead = momentum_of(momentum, nesterov)
    frozen = validate.integer("frozen_steps", frozen_steps)
    eta = None if step is None else validate.real("step", step, minimum=0.0, strict=True)
    if eta is None and (beta or frozen):
        raise ValueError("momentum and frozen_steps need a step, which says how long a step is")
    means = X.mean(axis=0)
    centred = bool(np.abs(means).max(initial=0.0) <= CENTRED * np.abs(X).max(initial=0.0))
    closed = (not bias or centred) and not frozen
    how = RowSteps(method, ratio, kappa if bias else 0.0, eta or 0.0, beta, ahead, frozen)
    norms = _norms(W, direction_norm, method)
    problem = LeastSquares(X, Y[:, 0])
    ends = []
    for index, row in enumerate(W):
        how = replace(how, norm=float(norms[index]))
        if closed:
            b = float(Y[:, index].mean()) if bias else 0.0
            ends.append(_closed(_less(problem, Y, index, b), row, b, how))
        else:
            b = float(b0[index]) if bias else 0.0
            ends.append(_integrated(problem, Y, index, row, b, how))
    rows = np.array([end.weight for end in ends])
    return LayerLimit(
        weight=rows,
        bias=np.array([end.bias for end in ends]),
        norm=np.linalg.norm(rows, axis=1),
        min_norm=np.array([end.min_norm for end in ends]),
        distance=np.array([end.distance for end in ends]),
        error=np.array([end.error for end in ends]),
        equivalent_step=np.array([end.equivalent_step for end in ends]),
        closed_form=closed,
        assumptions=tuple(dict.fromkeys(a for end in ends for a in end.assumptions)),
        paper="beyond the paper",
    )


@dataclass(frozen=True)
class _Row:
    """The end of one row."""

    weight: Array
    bias: float
    min_norm: float
    distance: float
    error: float
    equivalent_step: float
    assumptions: tuple[Assumption, ...]


def _less(problem: LeastSquares, Y: Array, index: int, b: float) -> LeastSquares:
    """The problem that is left once the bias is known."""
    rest = problem.with_targets(Y[:, index] - b)
    if not rest.target.any():
        raise ValueError(
            f"targets[:, {index}] is constant, or wholly out of the features' reach: then the "
            "smallest row is zero, and the theory does not apply"
        )
    return rest


def _norms(W: Array, given: Any, method: str) -> Array:
    """‖v0‖ of every row; 1 for rPGD."""
    if given is None:
        return np.linalg.norm(W, axis=1) if method == "wn" else np.ones(len(W))
    norms = validate.numbers("direction_norm", given)
    if method == "rpgd":
        raise ValueError("direction_norm is for method 'wn': rPGD's directions have norm 1")
    if norms.shape not in ((), (len(W),)) or not (norms > 0).all() or np.isinf(norms).any():
        raise ValueError(f"direction_norm must be positive, one number or {len(W)}, got {given!r}")
    return np.broadcast_to(norms, (len(W),))


def _closed(rest: LeastSquares, row: Array, b: float, how: RowSteps) -> _Row:
    """The end of a row whose bias does not see it."""
    size = float(np.linalg.norm(row))
    smallest = float(np.linalg.norm(rest.target))
    if not how.step:
        # the direction of v moves ‖v‖² times more slowly than a unit vector
        end = flow_limit(rest, size, row, how.ratio * how.norm**2)
        failing = tuple(a for a in end.assumptions if not a.holds)
        return _Row(end.weights, b, smallest, end.distance, 0.0, 0.0, failing)
    made = finite_step_limit(
        rest, size, row, how.method, how.step, how.ratio,
        momentum=how.momentum, nesterov=how.nesterov, direction_norm=how.norm,
    )  # fmt: skip
    failing = tuple(a for a in made.assumptions if not a.holds)
    equivalent = made.equivalent_step
    return _Row(made.weights, b, smallest, made.distance, made.error, equivalent, failing)


def _integrated(
    problem: LeastSquares, Y: Array, index: int, row: Array, b0: float, how: RowSteps
) -> _Row:
    """The end of a row that moves with its bias, or rests first."""
    size, y = float(np.linalg.norm(row)), Y[:, index]
    end = row_end(problem, y, row, how, b0)
    rest = _less(problem, Y, index, end.bias)
    smallest = rest.min_norm_solution()
    found = [assume("the integration of the flow with the bias settled", end.settled)]
    least = float(np.linalg.norm(rest.target))
    if not how.step:
        # the invariant says how far off it ends; only the sign is that of the flow with the bias
        flow = flow_limit(rest, size, row, how.ratio * how.norm**2)
        sign = (np.sign(end.scale) or 1.0) * np.sign(flow.scale)
        x = smallest + sign * (flow.weights - smallest)
        return _Row(x, end.bias, least, flow.distance, 0.0, 0.0, tuple(found))
    _, off = problem.factorisation.split(row[None])
    perp = float(np.linalg.norm(off))
    flow_side = float(np.sign(end.scale)) or 1.0
    start = row_of(problem, y, row, b0)
    steps = followed_side(start, how, VALID / max(end.equivalent, 1e-300), flow_side)
    away = (steps.sign if steps.settled else flow_side) * abs(end.scale) * end.off
    x = smallest + away * off[0] / (perp or 1.0)
    flow_end = row_end(problem, y, row, replace(how, corrected=False), b0)
    moved = np.linalg.norm(problem.with_targets(y - flow_end.bias).min_norm_solution() - smallest)
    with np.errstate(over="ignore"):  # far beyond what is promised
        grown = float(np.expm1(end.variation))
    change = (abs(away) * grown if away else 0.0) + float(moved)
    left = SECOND_ORDER * end.equivalent * change
    error = max(left, INTEGRATED * (change + abs(end.scale))) if end.settled else np.inf
    same = steps.settled and steps.sign == flow_side
    found.append(assume("finite steps end on the side of the flow", same))
    found.append(
        assume(
            f"ρh·(max(g²/N, c)·λmax + κn) ≤ {VALID:g}: "
            "the steps are small enough for a first order",
            end.equivalent <= VALID,
        )
    )
    failing = tuple(a for a in found if not a.holds) or (found[0],)
    return _Row(x, end.bias, least, abs(away), error, end.equivalent, failing)


def _outputs(X: Array, targets: Any, weight: Any) -> tuple[Array, Array]:
    """Targets (n, k) and rows (k, d) that fit the features and each other."""
    Y, W = validate.vector_or_rows("targets", targets), validate.vector_or_rows("weight", weight)
    Y = Y[:, None] if Y.ndim == 1 else Y
    W = np.atleast_2d(W)
    if len(Y) != len(X):
        raise ValueError(f"targets must have {len(X)} rows like features, got {len(Y)}")
    if W.shape != (Y.shape[1], X.shape[1]):
        raise ValueError(
            f"weight must have shape ({Y.shape[1]}, {X.shape[1]}), one row per column of targets, "
            f"got {W.shape}"
        )
    if not W.any(axis=1).all():
        raise ValueError("weight has a zero row, which has no direction; start it elsewhere")
    return Y, W
