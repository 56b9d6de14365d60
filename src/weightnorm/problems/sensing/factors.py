"""Factors of matrix sensing: a start's, as a user gives it, and the matrices X that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support import validate
from ..._support.numeric import Array, Matrix


def unit_factor(name: str, direction: Any, dimension: int, columns: bool) -> Array:
    """A start's factor, checked and brought to Frobenius norm 1, or to unit columns."""
    W = np.asarray(validate.numbers(name, direction))
    if W.ndim != 2 or W.shape[0] != dimension or not W.size:
        raise ValueError(
            f"{name} must be a factor of shape ({dimension}, r), with one row per row of X, got "
            f"shape {W.shape}; wn.datasets.sensing_start makes one"
        )
    W = validate.array(name, W, ndim=2)
    if columns and not W.any(axis=0).all():
        column = int(np.argmin(W.any(axis=0)))
        raise ValueError(
            f"{name} has a zero column, number {column}: blocks='columns' needs a direction in each"
        )
    if not W.any():
        raise ValueError(
            f"{name} is zero: a direction needs a nonzero matrix, for instance "
            "wn.datasets.sensing_start"
        )
    # first, so that neither tiny nor huge entries lose their squares
    W = W / np.abs(W).max(axis=0 if columns else None)
    return np.asarray(W / np.sqrt((W * W).sum(axis=0 if columns else None)))


def unit_factors(directions: Any, dimension: int, columns: bool) -> Array:
    """Several starts' factors, checked and normalised as in `unit_factor`."""
    factors = validate.numbers("directions", directions)
    W = validate.array("directions", factors[None] if factors.ndim == 2 else factors, ndim=3)
    return np.array(
        [unit_factor(f"directions[{i}]", W[i], dimension, columns) for i in range(len(W))]
    )


def factor_scale(scale: Any, num_columns: int, columns: bool) -> Array:
    """A start's scale as the engine has it: one, or one per column."""
    if columns and validate.numbers("scale", scale).ndim == 1:
        g = validate.array("scale", scale, ndim=1)[None]
        if g.shape[1] != num_columns:
            raise ValueError(
                f"scale must be a number or have {num_columns} entries, one per column, got "
                f"{g.shape[1]}"
            )
        return g
    value = validate.real("scale", scale)
    return np.full((1, num_columns), value) if columns else np.array([value])


def as_blocks(W: Array, g: Array, columns: bool) -> tuple[Array, Array]:
    """The factor and scale of X = Σ_j D_j w_j w_jᵀ with one scale in all, or one per column."""
    if not columns and g.ndim == 1:  # X = ± V Vᵀ with V = W |D|^½
        sign = -1.0 if (g < 0).any() else 1.0
        if (sign * g < 0).any():
            raise ValueError(
                "start has scales of both signs, so its weights are not a multiple of a W Wᵀ: "
                "only blocks='columns' can go on"
            )
        return W * np.sqrt(np.abs(g)) if g.any() else W, np.asarray(sign * np.abs(g).sum())
    if columns and g.ndim == 0:
        lengths = np.linalg.norm(W, axis=0)
        return np.where(lengths > 0, W, 1.0), g * lengths**2
    return W, g


def beside(scale: Array) -> Array:
    """Scales (n,) or (n, r), shaped so as to multiply the columns of factors (n, d, r)."""
    return scale[:, None, None] if scale.ndim == 1 else scale[:, None, :]


def nuclear_norm(X: Array) -> Array:
    """The nuclear norm of symmetric matrices: the sum of their absolute eigenvalues.

    Parameters
    ----------
    X : (n, d, d) array
        Symmetric matrices.

    Returns
    -------
    (n,) array
        The norms; NaN where a matrix is not finite.
    """
    finite = np.isfinite(X).all(axis=(1, 2))
    answer = np.full(len(X), np.nan)
    if finite.any():
        answer[finite] = np.abs(np.linalg.eigvalsh(X[finite])).sum(axis=1)
    return answer


def relative_gap(X: Array, truth: Matrix) -> Any:
    """‖X − truth‖_F/‖truth‖_F of matrices, which may have diverged."""
    gap = X - truth
    return np.sqrt((gap * gap).sum(axis=(-2, -1))) / np.linalg.norm(truth)
