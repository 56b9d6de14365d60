"""Where training of a factor stands still, and why: from the gradient M of the loss by X."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Array, Matrix
from ..contract import FLAT

SADDLE = 1e-6  # M W against M, where no step of W is left


def is_at_rest(
    unit: Array, scale: Array, M: Array, terms: Array, has_scale: bool
) -> NDArray[np.bool_]:
    """Where the gradient in a method's own coordinates is zero to rounding: of runs with factors
    unit (n, d, r), gradients M (n, d, d) and the sizes (n,) of the terms whose sums these are.
    """
    size = np.sqrt((M * M).sum(axis=(1, 2)))
    turned = M @ unit
    # columns that M turns
    moves = np.sqrt((turned * turned).sum(axis=1)) > FLAT * size[:, None]
    still = (
        (scale == 0.0) | ~moves.any(axis=1)
        if scale.ndim == 1
        else ((scale == 0.0) | ~moves).all(axis=1)
    )
    if has_scale:
        slope = np.abs((unit * turned).sum(axis=1))
        slope = np.abs((unit * turned).sum(axis=(1, 2)))[:, None] if scale.ndim == 1 else slope
        still &= (slope <= FLAT * size[:, None]).all(axis=1)
    return np.asarray(((size <= FLAT * terms) | still) & np.isfinite(terms))


def why_at_rest(unit: Matrix, M: Matrix, terms: float) -> str:
    """Why a run with this factor and gradient stands still: a saddle, or y out of reach."""
    size = float(np.linalg.norm(M))
    if size <= FLAT * terms:
        return (
            "the floor of an unreachable y: the gradient vanishes, so no symmetric X fits y "
            "better, and X = W D Wᵀ is always symmetric (data of a matrix that is not cannot "
            "be fitted)"
        )
    if np.linalg.norm(M @ unit) <= SADDLE * size:
        return (
            "M W = 0 for the gradient M of the loss in X, although M is not zero: a saddle, or "
            "the smallest loss that X = W D Wᵀ reaches, which is always symmetric (data of a "
            "matrix that is not cannot be fitted); try another direction"
        )
    return ""
