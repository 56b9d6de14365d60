"""What every method is: frozen configuration, a start, an evaluation and an update, over a batch of
runs.

A method of your own is one class with the attributes of `Method`; subclassing one of ours and
overriding `update` is the shortest way, and keeps momentum and random steps. It then runs in `run`
and `sweep` on every problem. To appear in sweep files and figures by name it needs a row in
`registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .schedules import Schedule

Array = NDArray[np.float64]


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
                    f"{len(self.scale)}, along its first axis, "
                    f"got shape {np.shape(array)}"
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


class Sampling(Protocol):
    """How a method draws its samples: which rows each step sees, and with what noise.

    Examples
    --------
    >>> import weightnorm as wn
    >>> sampling = wn.RPGD(0.1, 0.1, batch_size=2, seed=0).sampling
    >>> rows, noise = sampling.draws(num_samples=5).at(0)
    >>> len(rows), noise
    (2, None)
    """

    def draws(self, num_samples: int) -> Any:
        """The draws for a problem of so many samples.

        Parameters
        ----------
        num_samples : int
            m, the number of samples.

        Returns
        -------
        object
            Its at(t) gives the rows (b,) and the noise of y (m,) of step t, each None where there
            is none.
        """


class Method(Protocol):
    """A training rule. It has two schedules: the vector's first, the scale's second.

    More are asked for where they exist: `blocks`, "all" or "columns" (one scale per column);
    `sampling`, a `Sampling`, for a method that trains on random parts of the data; `free_norm`,
    True for a method whose ‖w‖ is its own, so that a run that goes on from another such method
    keeps it; `needs_predictions`, True for one that asks the problem for `normal(w)`. Where the
    scale of the state is not that of the weights, `own_scale(problem, scale, unit)` makes it from
    that of the weights scale·unit, and `weights_scale(problem, scale, unit)` leads back.

    Attributes
    ----------
    name : str
        For messages.
    has_scale : bool
        Whether the weights are scale × direction; otherwise the vector is the weights.
    curvature_powers : (float, float)
        The powers of |g| and ‖w‖ that a curvature step has for this method.
    rotation_equivariant : bool
        Whether the rule sees lengths and angles only, so that it may run in reduced coordinates. It
        counts only in the body of the class that has the rule: a subclass of ours with a rule of
        its own says it again.

    Examples
    --------
    >>> import weightnorm as wn
    >>> method = wn.RPGD(0.1, 0.2)
    >>> method.name, method.has_scale, len(method.schedules)
    ('RPGD', True, 2)
    """

    name: ClassVar[str]
    has_scale: ClassVar[bool]
    curvature_powers: ClassVar[tuple[float, float]]

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The schedules of the vector and of the scale."""

    def init(self, scale: Array, direction: Array) -> State:
        """The state of runs that start at this scale and these unit directions."""

    def evaluate(self, problem: Any, state: State) -> Evaluation:
        """Loss and gradients at a state."""

    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """The state after one step; the one given must not be changed.

        Parameters
        ----------
        state : State
            Before the step.
        evaluation : Evaluation
            Loss and gradients there.
        vector_step, scale_step : arrays
            The steps, shaped like the scale.

        Returns
        -------
        State
            After the step.
        """


def block_dot(a: Array, b: Array, scale: Array) -> Array:
    """The inner product ⟨a, b⟩ over all that shares a scale: a whole run, or each column of it."""
    axes = tuple(range(1, a.ndim)) if scale.ndim == 1 else (1,)
    return np.asarray((a * b).sum(axis=axes))


def block_norm(vector: Array, scale: Array) -> Array:
    """The norm of all that shares a scale."""
    axes = tuple(range(1, vector.ndim)) if scale.ndim == 1 else (1,)
    if vector.ndim == 2:
        return np.asarray(np.linalg.norm(vector, axis=1))
    return np.asarray(np.sqrt((vector * vector).sum(axis=axes)))


def expand(values: NDArray[Any], vector: Array) -> NDArray[Any]:
    """One value per scale, shaped so as to multiply the vector."""
    return values.reshape(-1, *[1] * (vector.ndim - 1)) if values.ndim == 1 else values[:, None, :]
