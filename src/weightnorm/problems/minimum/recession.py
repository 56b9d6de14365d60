"""Directions along which no sample's loss rises: the proof that a convex loss has no minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import EPS, Vector

# Changes this small against the terms that they are sums of are zero: rounding, and that of t.
ROUNDING = 4096 * EPS
# And those this small may have been meant to be, in a direction found by steps or a program.
NEARLY = 1e-6
LARGEST_PROGRAM = 4_000_000  # entries of W up to which a linear program looks for one


def separates(model: Any, loss: Any, t: Vector, z: Vector) -> bool:
    """Whether every sample's loss falls along t: all margins beyond their rounding.

    Parameters
    ----------
    model : Predictions
        W.
    loss : Loss
        With `recession`, or it has no such direction; none of its samples has to stay.
    t, z : vectors
        A point, and W t.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Logistic
    >>> from weightnorm.problems.minimum.recession import separates
    >>> from weightnorm.problems.minimum.whitening import Columns
    >>> loss, model = Logistic.of(np.array([1.0, 0.0])), Columns(np.array([[1.0], [-1.0]]))
    >>> separates(model, loss, np.ones(1), np.array([1.0, -1.0]))
    True
    """
    recession = getattr(loss, "recession", lambda: None)()
    if recession is None or recession[1].any() or not (recession[0] * z > 0).all():
        return False
    return bool((recession[0] * z > ROUNDING * model.magnitude(t)).all())


def receding_direction(model: Any, loss: Any, candidates: list[Vector]) -> Vector | None:
    """A direction t of z = W t along which the loss of no sample rises and that of some falls.

    Parameters
    ----------
    model : Predictions
        W.
    loss : Loss
        With `recession`, or it has no such direction.
    candidates : list of vectors
        Looked at first; a linear program looks for others.

    Returns
    -------
    vector or None
        None where there is none, or W is too large to tell.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Logistic
    >>> from weightnorm.problems.minimum.recession import receding_direction
    >>> from weightnorm.problems.minimum.whitening import Columns
    >>> loss = Logistic.of(np.array([1.0, 1.0, 0.0]))
    >>> model = Columns(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    >>> direction = receding_direction(model, loss, [])
    >>> bool(direction[0] > 0), abs(float(direction[1])) < 1e-9
    (True, True)
    """
    recession = getattr(loss, "recession", lambda: None)()
    if recession is None:
        return None
    signs, fixed = recession
    for t in candidates:
        if _recedes(model, t, signs, fixed):
            return t
    if signs.size * model.size > LARGEST_PROGRAM:
        return None
    # rows of unit length: neither units nor weights of samples matter
    W = signs[:, None] * np.column_stack([model.apply(axis) for axis in np.eye(model.size)])
    lengths = np.linalg.norm(W, axis=1)
    W = W / np.where(lengths > 0, lengths, 1.0)[:, None]
    for found in (*candidates, _by_program(W, fixed)):
        if found is None or not np.any(found):
            continue
        mended = _mended(W, found, fixed)
        if _recedes(model, mended, signs, fixed):
            return mended
    return None


def attained_by(loss: Any) -> Callable[[Vector, float], bool]:
    """What proves, at a small gradient, that no direction recedes and a minimum is attained.

    Along a unit direction t that recedes, the changes p_i ≥ 0 of the predictions, in the way that
    lowers each loss, have ‖p‖ = 1, so Σp_i ≥ 1; and Σ|ℓ′_i|p_i ≤ ‖gradient‖. So there is none where
    every |ℓ′_i| is larger than the gradient (W has orthonormal columns; the factor is for rounding
    in that).

    Parameters
    ----------
    loss : Loss
        With `recession`, or nothing is proved.

    Returns
    -------
    callable of (slope, ‖gradient‖) -> bool

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.losses import Logistic
    >>> from weightnorm.problems.minimum.recession import attained_by
    >>> proof = attained_by(Logistic.of(np.array([0.0, 1.0])))
    >>> proof(np.array([0.3, -0.3]), 1e-9), proof(np.array([0.3, -1e-9]), 1e-9)
    (True, False)
    """
    recession = getattr(loss, "recession", lambda: None)()
    if recession is None:
        return lambda slope, gradient: False
    free = ~recession[1]

    def proof(slope: Vector, gradient: float) -> bool:
        return bool(np.abs(slope[free]).min(initial=np.inf) > 2.0 * gradient)

    return proof


def _recedes(model: Any, t: Vector, signs: Vector, fixed: NDArray[np.bool_]) -> bool:
    """No change beyond rounding in the wrong way, or where none may be, and some in the right."""
    change, rounding = signs * model.apply(t), ROUNDING * model.magnitude(t)
    stays = bool((np.abs(change[fixed]) <= rounding[fixed]).all())
    return stays and bool((change >= -rounding).all() and (change > rounding).any())


def _mended(W: NDArray[np.float64], t: Vector, fixed: NDArray[np.bool_]) -> Vector:
    """The nearest direction that leaves alone what this one all but leaves alone."""
    change = W @ t
    size = np.abs(W) @ np.abs(t)
    alone = fixed | (np.abs(change) <= NEARLY * np.where(size > 0, size, 1.0))
    for _ in range(2):
        t = t - np.linalg.lstsq(W[alone], W[alone] @ t, rcond=None)[0]
    return t


def _by_program(W: NDArray[np.float64], fixed: NDArray[np.bool_]) -> Vector | None:
    """max Σs over p = W t ≥ s, 0 ≤ s ≤ 1; p = 0 where it has to stay: s is 1 where it can be."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack, identity

    m, size = W.shape
    system = hstack([csr_array(W), -identity(m, format="csr")], format="csr")
    between = LinearConstraint(system, 0.0, np.where(fixed, 0.0, np.inf))
    low = np.concatenate([np.full(size, -np.inf), np.zeros(m)])
    high = np.concatenate([np.full(size, np.inf), np.where(fixed, 0.0, 1.0)])
    goal = np.concatenate([np.zeros(size), -np.ones(m)])
    found = milp(goal, constraints=between, bounds=Bounds(low, high))
    if found.x is None or not -found.fun > 0.5:
        return None
    return np.asarray(found.x[:size])
