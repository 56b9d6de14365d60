"""Where runs stand, and what a method knows there: arrays over a batch of runs, run axis first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array


@dataclass(frozen=True)
class State:
    """Where n runs stand: a vector, a scale, and any other arrays a method keeps, by name.

    All arrays have the run axis first.

    Attributes
    ----------
    vector : (n, d) array or, for problems whose weights are a factor, (n, d, r)
        The direction w, or the weights x themselves for a method without a scale.
    scale : (n,) array, or (n, r) with one scale per column
        The scale g; ones for a method without a scale.
    arrays : mapping of name -> array (n, …)
        The method's own; momentum keeps its buffers here.

    Examples
    --------
    >>> import numpy as np
    >>> state = State(np.zeros((3, 2)), np.ones(3)).also(mean=np.zeros((3, 2)))
    >>> state["mean"].shape
    (3, 2)
    """

    vector: Array
    scale: Array
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        """The length of a vector, or of the columns of a factor."""
        return int(self.vector.shape[1])

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The array of this name."""
        if name not in self.arrays:
            there = ", ".join(map(repr, self.arrays)) or "none"
            raise KeyError(f"this state has no array {name!r} ({there}); give it in init: also(…)")
        return self.arrays[name]

    def also(self, **arrays: Any) -> State:
        """The same state with these arrays added, or put in place of those with the same name.

        Parameters
        ----------
        **arrays : arrays (n, …)
            By name, each with one entry per run along its first axis.

        Returns
        -------
        State
            A new state; this one is not changed.
        """
        for name, array in arrays.items():
            if np.ndim(array) == 0 or len(array) != len(self.scale):
                raise ValueError(
                    f"the array {name!r} of a state must have one entry per run, "
                    f"{len(self.scale)}, along its first axis, got shape {np.shape(array)}"
                )
        return State(
            self.vector,
            self.scale,
            {**self.arrays, **{name: np.asarray(a) for name, a in arrays.items()}},
        )

    def moved(self, vector: Array, scale: Array, **arrays: Any) -> State:
        """The state after a step; arrays that are not given stay as they were.

        Parameters
        ----------
        vector : array
            The new vector, shaped like the old one.
        scale : array
            The new scale, shaped like the old one.
        **arrays : arrays (n, …)
            New arrays by name.

        Returns
        -------
        State
            A new state; this one is not changed.
        """
        return State(vector, scale, self.arrays).also(**arrays)


@dataclass(frozen=True)
class Evaluation:
    """The loss at a state, and its gradients in the method's own coordinates.

    Attributes
    ----------
    loss : (n,) array
        One loss per run.
    vector_gradient : array
        The gradient by the state's vector, and shaped like it.
    scale_gradient : array
        The gradient by the state's scale, and shaped like it; zeros for a method without a scale.

    Examples
    --------
    >>> import numpy as np, weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> method = wn.RPGD(0.1, 0.1)
    >>> state = method.init(np.array([2.0]), np.array([[1.0, 0.0]]))
    >>> method.evaluate(problem, state).scale_gradient
    array([1.])
    """

    loss: Array
    vector_gradient: Array
    scale_gradient: Array


def block_dot(a: Array, b: Array, scale: Array) -> Array:
    """The inner product ⟨a, b⟩ over all that shares a scale: a whole run, or each column of it.

    Parameters
    ----------
    a, b : arrays
        Shaped like the vector of a state.
    scale : array
        The scale of that state, (n,) or (n, r).

    Returns
    -------
    array
        Shaped like the scale.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.methods import block_dot
    >>> block_dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.ones(1))
    array([11.])
    """
    axes = tuple(range(1, a.ndim)) if scale.ndim == 1 else (1,)
    return np.asarray((a * b).sum(axis=axes))


def block_norm(vector: Array, scale: Array) -> Array:
    """The norm of all that shares a scale: ‖w‖ of every run, or of each column of its factor.

    Parameters
    ----------
    vector : array
        The vector of a state, (n, d) or (n, d, r).
    scale : array
        The scale of that state, (n,) or (n, r).

    Returns
    -------
    array
        Shaped like the scale.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.methods import block_norm
    >>> block_norm(np.array([[3.0, 4.0]]), np.ones(1))
    array([5.])
    """
    axes = tuple(range(1, vector.ndim)) if scale.ndim == 1 else (1,)
    if vector.ndim == 2:
        return np.asarray(np.linalg.norm(vector, axis=1))
    return np.asarray(np.sqrt((vector * vector).sum(axis=axes)))


def expand(values: NDArray[Any], vector: Array) -> NDArray[Any]:
    """One value per scale, shaped so as to multiply the vector.

    Parameters
    ----------
    values : array
        A step, say: (n,), or (n, r) with one scale per column.
    vector : array
        The vector of a state: (n, d), or (n, d, r).

    Returns
    -------
    array
        The values with axes of length 1 where the vector has more.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.methods import expand
    >>> expand(np.array([0.1, 0.2]), np.ones((2, 3))) * np.ones((2, 3))
    array([[0.1, 0.1, 0.1],
           [0.2, 0.2, 0.2]])
    """
    return values.reshape(-1, *[1] * (vector.ndim - 1)) if values.ndim == 1 else values[:, None, :]
