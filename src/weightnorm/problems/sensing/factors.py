"""Starts of matrix sensing as a user gives them: a factor W0 and its scale, or one per column."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support import validate
from ..contract import Array


def unit_factor(name: str, direction: Any, dimension: int, columns: bool) -> Array:
    """A start's factor, checked and brought to Frobenius norm 1, or to unit columns."""
    W = np.asarray(validate.numbers(name, direction))
    if W.ndim != 2 or W.shape[0] != dimension or not W.size:
        raise ValueError(
            f"{name} must be a factor of shape ({dimension}, r), with one row per row of "
            f"X, got shape {W.shape}; wn.datasets.sensing_start makes one"
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
