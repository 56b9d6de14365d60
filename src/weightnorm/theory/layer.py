"""Where a linear layer with normalised rows ends, on fixed features: every row, and the bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..problems import LeastSquares
from ._integrate import integrate_until
from .limits import flow_limit
from .refuse import one_of
from .statement import Assumption, Statement, assume

Array = NDArray[np.float64]
CENTRED = 1e-12  # column means under this share of the columns' sizes are zero
TAIL = 1e-24  # the squared gradient over that of the start, or of zero weights, at the end


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
    closed_form : bool
        Whether the end is a closed form. It is not for features that are not centred with a bias:
        then the flow was integrated.
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
    closed_form: bool


def linear_layer_limit(
    features: Any,
    targets: Any,
    weight: Any,
    scale_ratio: float = 1.0,
    bias: bool = True,
    method: str = "rpgd",
    bias_ratio: float = 1.0,
    start_bias: Any = 0.0,
) -> LayerLimit:
    """Predict where a linear layer with one scale per row ends, with squared error and a bias.

    It is torch's weight_norm(nn.Linear, dim=0) on fixed features: the rows do not see each other.
    Row i starts at its weights, with g0 = ‖row‖. With centred features the bias does not see the
    rows either: it ends at the mean of the targets, and the row where `flow_limit` says, for the
    targets less their mean. Otherwise w⊥ keeps its invariant, but the bias has no closed form: the
    flow of g, the row-space part of w and the bias is integrated, m + 2 numbers whatever d is. A
    sum or a mean in the loss only changes the time.

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
    ratio = _validate.real("scale_ratio", scale_ratio, minimum=0.0, strict=True)
    kappa = _validate.real("bias_ratio", bias_ratio, minimum=0.0, strict=True)
    X = _validate.array("features", features, ndim=2)
    Y, W = _outputs(X, targets, weight)
    b0 = _validate.numbers("start_bias", start_bias)
    if b0.shape not in ((), (len(W),)):
        raise ValueError(f"start_bias must be a number or one per row, {len(W)}, got {b0.shape}")
    b0 = np.broadcast_to(b0, (len(W),))
    means = X.mean(axis=0)
    centred = bool(np.abs(means).max(initial=0.0) <= CENTRED * np.abs(X).max(initial=0.0))
    closed = not bias or centred
    problem = LeastSquares(X, Y[:, 0])
    rows, biases, smallest, assumptions = [], [], [], []
    for index, row in enumerate(W):
        size = float(np.linalg.norm(row))
        # v0 = the row: its direction moves ‖row‖² times more slowly than a unit vector's
        slower = size**2 if method == "wn" else 1.0
        c, faster = ratio * slower, kappa * slower
        if closed:
            b = float(Y[:, index].mean()) if bias else 0.0
        else:
            b, sign, settled = _integrated(problem, Y[:, index], row, c, faster, float(b0[index]))
        rest = problem.with_targets(Y[:, index] - b)
        if not rest.target.any():
            raise ValueError(
                f"targets[:, {index}] is constant, or wholly out of the features' reach: then the "
                "smallest row is zero, and the theory does not apply"
            )
        end = flow_limit(rest, size, row, c)
        x = end.weights
        if not closed:
            # the sign is that of the flow with the bias, not of one with its end from the start
            x = rest.min_norm_solution() + sign * np.sign(end.scale) * (
                x - rest.min_norm_solution()
            )
            assumptions.append(settled)
        else:
            assumptions += [a for a in end.assumptions if not a.holds]
        rows.append(x)
        biases.append(b)
        smallest.append(float(np.linalg.norm(rest.target)))
    return LayerLimit(
        weight=np.array(rows),
        bias=np.array(biases),
        norm=np.linalg.norm(rows, axis=1),
        min_norm=np.array(smallest),
        closed_form=closed,
        assumptions=tuple(dict.fromkeys(assumptions)),
        paper="beyond the paper",
    )


def _outputs(X: Array, targets: Any, weight: Any) -> tuple[Array, Array]:
    """Targets (n, k) and rows (k, d) that fit the features and each other."""
    Y, W = _validate.vector_or_rows("targets", targets), _validate.vector_or_rows("weight", weight)
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


def _integrated(
    problem: LeastSquares, y: Array, row: Array, c: float, kappa: float, b0: float
) -> tuple[float, float, Assumption]:
    """The bias and the sign of the scale at the end of the flow of (g, w∥, b), with w⊥ from the
    invariant; in units of the data.
    """
    factors = problem.factorisation
    size = float(np.linalg.norm(row))
    z0, rest = factors.split(row[None] / size)
    perp = float(np.linalg.norm(rest[0]))
    matrix = np.array([problem.A @ factors.lift(axis) for axis in np.eye(factors.rank)]).T
    steep = float(factors.singular_values.max()) ** 2

    def parts(state: Array) -> tuple[float, Array, Array, float]:
        g, z = float(state[0]), state[1:-1]
        with np.errstate(over="ignore"):
            off = perp * float(np.exp(min((size - g) * ((size + g) / (2.0 * c)), 300.0)))
        unit = z / np.sqrt(z @ z + off * off)
        r = g * (matrix @ unit) + state[-1] - y
        return g, unit, matrix.T @ r, float(r.sum())

    def field(t: float, state: Array) -> Array:
        g, unit, pull, total = parts(state)
        s = float(unit @ pull)
        return np.concatenate([[-c * s], -g * (pull - s * unit), [-kappa * total]]) / steep

    def slope(state: Array) -> float:
        _, _, pull, total = parts(state)
        return float(pull @ pull) / steep + total**2 / len(y)

    first = np.concatenate([[size], z0[0], [b0]])
    reference = max(slope(first), slope(np.concatenate([[0.0], z0[0], [0.0]])))

    def settled(state: Array) -> bool:
        return slope(state) <= TAIL * reference

    end, done = integrate_until(field, first, settled)
    sign = float(np.sign(end[0])) or 1.0
    return float(end[-1]), sign, assume("the integration of the flow with the bias settled", done)
