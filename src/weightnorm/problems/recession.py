"""Directions along which no sample's loss rises: the proof that a convex loss has no minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validate import Vector

SLACK = 1e-9  # what a certificate may miss its inequalities by, relative to its largest entry
LARGEST_PROGRAM = 4_000_000  # entries of W up to which a linear program looks for one


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
    >>> from weightnorm.problems.recession import receding_direction
    >>> from weightnorm.problems.whitening import Columns
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
        if _recedes(model.apply(t), signs, fixed):
            return t
    if signs.size * model.size > LARGEST_PROGRAM:
        return None
    found = _by_program(model, signs, fixed)
    good = found is not None and _recedes(model.apply(found), signs, fixed)
    return found if good else None


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
    >>> from weightnorm.problems.recession import attained_by
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


def _recedes(change: Vector, signs: Vector, fixed: NDArray[np.bool_]) -> bool:
    change = signs * change
    largest = float(np.abs(change).max(initial=0.0))
    stays = float(np.abs(change[fixed]).max(initial=0.0)) <= SLACK * largest
    return bool(largest > 0 and stays and change.min(initial=0.0) >= -SLACK * largest)


def _by_program(model: Any, signs: Vector, fixed: NDArray[np.bool_]) -> Vector | None:
    """max Σ p over 0 ≤ p = signs·(W t) ≤ 1, p = 0 where it has to stay."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    W = signs[:, None] * np.column_stack([model.apply(axis) for axis in np.eye(model.size)])
    between = LinearConstraint(W, 0.0, np.where(fixed, 0.0, 1.0))
    found = milp(-W.sum(axis=0), constraints=between, bounds=Bounds(-np.inf, np.inf))
    if found.x is None or not -found.fun > SLACK:
        return None
    return np.asarray(found.x)
