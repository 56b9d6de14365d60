"""Rules that the theory cannot predict, and scales in groups that it only follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from .statement import Value, assume

STEP, MOST = 1e-3, 200_000  # of the counterexample
DECAYS, TINY = (0.9, 0.999), 1e-8  # Adam's
ROUNDING = 1e-14  # of a direction: less of it off the rows is nothing
HIDDEN, SCALE = (0.6, 0.8), 0.5  # the start: ŵ0 in the turned axes, and g0


def coordinate_wise_end(rule: str, angle: float) -> Value:
    """One problem, turned by an angle: coordinate-wise rules end elsewhere, WN does not.

    A = [1, 0]R, y = 1, ŵ0 = Rᵀ(0.6, 0.8), g0 = 0.5, R the rotation by the angle: the same problem
    and start in other axes. Lengths and angles are the same for every R, and so is where WN and
    rPGD end. Adam and sign descent on (g, w) look at single coordinates, and what they keep of the
    start depends on R. So no function of ‖x*‖, g0, ‖w0⊥‖ and c can predict them, and the predictors
    refuse them.

    Parameters
    ----------
    rule : {"wn", "adam", "sign"}
        Weight normalization by gradient descent, by Adam, or by the sign of the gradient; with
        step 0.001.
    angle : float
        In degrees.

    Returns
    -------
    Value
        `.value` is the part of the weights at the end that the data does not see.

    Examples
    --------
    >>> from weightnorm.theory import coordinate_wise_end
    >>> [round(coordinate_wise_end("wn", angle).value, 3) for angle in (0, 22.5, 45)]
    [0.54, 0.54, 0.54]
    >>> [round(coordinate_wise_end("adam", angle).value, 2) for angle in (0, 22.5, 45)]
    [0.3, 0.4, 0.17]
    """
    validate.choice("rule", rule, ("wn", "adam", "sign"))
    turn = np.deg2rad(validate.real("angle", angle))
    seen = np.array([np.cos(turn), -np.sin(turn)])
    unseen = np.array([np.sin(turn), np.cos(turn)])
    state = np.array([SCALE, *(HIDDEN[0] * seen + HIDDEN[1] * unseen)])
    mean, square = np.zeros(3), np.zeros(3)
    done = False
    for t in range(1, MOST + 1):
        slope, r = _slope(state, seen)
        if abs(r) <= (1e-10 if rule != "sign" else STEP):
            done = True
            break
        if rule == "wn":
            move = slope
        elif rule == "sign":
            move = np.sign(slope)
        else:
            mean = DECAYS[0] * mean + (1.0 - DECAYS[0]) * slope
            square = DECAYS[1] * square + (1.0 - DECAYS[1]) * slope**2
            corrected = np.sqrt(square / (1.0 - DECAYS[1] ** t))
            move = mean / (1.0 - DECAYS[0] ** t) / (corrected + TINY)
        state = state - STEP * move
    w = state[1:]
    end = float(state[0] * (w @ unseen) / np.linalg.norm(w))
    settled = assume("the run has settled", done)
    return Value(end, assumptions=(settled,), paper="beyond the paper")


def _slope(state: Array, seen: Array) -> tuple[Array, float]:
    """The gradient of ½(⟨seen, x⟩ − 1)² by (g, w), x = g·w/‖w‖, and the residual."""
    g, w = state[0], state[1:]
    length = float(np.linalg.norm(w))
    unit = w / length
    r = float(g * (seen @ unit)) - 1.0
    along = float(seen @ unit)
    return np.array([r * along, *(r * g / length * (seen - along * unit))]), r


def grouped_invariant(
    features: Any, scales: Any, direction: Any, blocks: Sequence[int], ratio: Any = 1.0
) -> Array:
    """The invariants of weights in blocks with a scale each, x = (g_k·w_k/‖w_k‖)_k.

    log(‖w_k⊥‖/‖w_k‖) + g_k²/2c_k is constant along the flow for every block, ⊥ being off the rows
    of the block's own columns A_k; w_k⊥ keeps its direction. That is not enough for a closed end,
    and no limit is promised: simulate. For c → 0 the scales follow ġ_k = ‖A_kᵀr‖, which grow
    additively: measured, no block ends at zero, so there is no group sparsity.

    Parameters
    ----------
    features : (m, d) array
        A.
    scales : (k,) array
        g_k, one per block.
    direction : (d,) array
        The blocks' directions one after the other; each is normalised.
    blocks : sequence of int
        How many columns each block has.
    ratio : float or (k,) array
        c_k, the scale's step over the direction's, per block; greater than 0.

    Returns
    -------
    (k,) array
        The invariants; −inf for a block whose direction lies in the rows of A_k.

    Examples
    --------
    >>> from weightnorm.theory import grouped_invariant
    >>> A = [[1.0, 0.0, 2.0, 0.0]]
    >>> grouped_invariant(A, [1.0, 2.0], [0.6, 0.8, 0.0, 1.0], blocks=[2, 2]).round(4).tolist()
    [0.2769, 2.0]
    """
    A = validate.array("features", features, ndim=2)
    given = validate.items("blocks", blocks)
    sizes = [validate.integer(f"blocks[{i}]", b, minimum=1) for i, b in enumerate(given)]
    if sum(sizes) != A.shape[1]:
        raise ValueError(f"blocks must add up to the {A.shape[1]} features, got {sum(sizes)}")
    g = validate.vector("scales", scales, len(sizes))
    w = validate.vector("direction", direction, A.shape[1])
    c = validate.numbers("ratio", ratio)
    if c.shape not in ((), (len(sizes),)):
        raise ValueError(f"ratio must be a number or one per block, {len(sizes)}, got {c.shape}")
    c = np.broadcast_to(c, (len(sizes),))
    if not (c > 0).all():
        raise ValueError(f"ratio must be greater than 0, got {c.min():g}")
    found, ends = [], np.cumsum(sizes)
    for k, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        part, own = A[:, end - size : end], w[end - size : end]
        if not own.any():
            raise ValueError(f"direction is zero in block {k}; give it a direction")
        rows = np.linalg.svd(part, full_matrices=False)[2][: np.linalg.matrix_rank(part)]
        rest = own - rows.T @ (rows @ own)
        if np.linalg.norm(rest) <= ROUNDING * np.linalg.norm(own):
            rest = 0.0 * rest
        with np.errstate(divide="ignore"):
            share = np.log(np.linalg.norm(rest)) - np.log(np.linalg.norm(own))
        found.append(share + g[k] ** 2 / (2.0 * c[k]))
    return np.array(found)
