"""The part of a linear model that one random step sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from .contract import Problem
from .losses import Loss, total


class Sample(Problem):
    """b of the m rows of a linear model, the loss times m/b, in the model's coordinates.

    With `padded` the weights have one coordinate more than A has columns, which the loss does not
    see. `whole` is the matrix of all m rows.
    """

    def __init__(self, A: Any, loss: Any, weight: float, padded: bool, whole: Any) -> None:
        self.A, self.loss, self.weight, self.padded, self.whole = A, loss, weight, padded, whole
        self.dimension = int(A.shape[1]) + padded

    @classmethod
    def of(
        cls, A: Any, loss: Any, rows: NDArray[np.intp] | None, noise: Array | None, *, padded: bool
    ) -> Sample:
        """These rows (None: all of them), with this noise (m,) on y."""
        m = A.shape[0]
        if noise is not None:
            loss = loss.noisy(noise)
        if rows is None:
            return cls(A, loss, 1.0, padded, A)
        part = A[rows] if hasattr(A, "__getitem__") else _operator_rows(A, rows)
        return cls(part, OnRows(loss, rows, m), m / rows.size, padded, A)

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Loss (n,) and gradient, shaped like x."""
        seen = x[:, :-1] if self.padded else x
        z = np.asarray((self.A @ seen.T).T)
        gradient = np.zeros_like(x)
        slope = self.weight * np.asarray(self.loss.derivative(z))
        gradient[:, : seen.shape[1]] = (self.A.T @ slope.T).T
        return self.weight * total(self.loss, z), gradient

    def normal(self, w: Array) -> tuple[Array, Array]:
        """‖Aw‖ (n,) and AᵀAw of all rows: a step normalises by the whole data."""
        return padded_normal(self.whole, w) if self.padded else length_and_normal(self.whole, w)


def length_and_normal(A: Any, w: Array) -> tuple[Array, Array]:
    """‖Aw‖ (n,) and AᵀAw (n, d), row by row; A is an array, a sparse one or an operator."""
    seen = np.asarray((A @ w.T).T)
    return np.linalg.norm(seen, axis=1), np.asarray((A.T @ seen.T).T)


def padded_normal(A: Any, w: Array) -> tuple[Array, Array]:
    """‖Aw‖ (n,) and AᵀAw, for directions with one coordinate more than A has columns."""
    length, product = length_and_normal(A, w[:, :-1])
    return length, np.column_stack([product, np.zeros(len(w))])


@dataclass(frozen=True, eq=False)
class OnRows:
    """A loss on some of its entries: z of shape (n, b)."""

    loss: Loss
    rows: NDArray[np.intp]
    size: int

    def value(self, z: Array) -> Array:
        """The loss of every entry; NaN where the loss tells only the sum over all entries."""
        full = self._spread(z)
        values = np.asarray(self.loss.value(full))
        # summed: not to be had
        return values[:, self.rows] if values.shape == full.shape else np.full(z.shape, np.nan)

    def derivative(self, z: Array) -> Array:
        """The derivative by every entry."""
        return np.asarray(self.loss.derivative(self._spread(z)))[:, self.rows]

    def _spread(self, z: Array) -> Array:
        full = np.zeros((len(z), self.size))
        full[:, self.rows] = z
        return full


def _operator_rows(A: Any, rows: NDArray[np.intp]) -> Any:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import aslinearoperator

    ones = np.ones(rows.size)
    return (
        aslinearoperator(csr_array((ones, (np.arange(rows.size), rows)), (rows.size, A.shape[0])))
        @ A
    )
