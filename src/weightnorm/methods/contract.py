"""What every method is: frozen configuration, a start, an evaluation and an update, over a batch of
runs.

A method of your own subclasses `Method`, or one of ours, which keeps momentum and random steps, and
overrides `update`. It then runs in `run` and `sweep` on every problem. To appear in sweep files and
figures by name it needs a row in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .._support.numeric import Array
from .schedules import Schedule
from .state import Evaluation, State, expand

__all__ = ["Evaluation", "Method", "Need", "Sampling", "State"]


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


@dataclass(frozen=True)
class Need:
    """Something that a method asks of a problem.

    Attributes
    ----------
    met : callable
        Whether a problem has it.
    error : str
        What to say of a problem that has not; {kind} stands for its class.
    within : str
        What to say of coordinates of the problem without it; "" where they cannot lose it.
    function : str
        The function of `Problem` that such coordinates must have of their own; "" where `met` says
        all of it.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm.methods.contract import Need
    >>> need = Need(lambda problem: problem.num_samples > 100, "SVRG needs samples; {kind} has few")
    >>> need.require(wn.LeastSquares([[1.0]], [1.0]))
    Traceback (most recent call last):
        ...
    ValueError: SVRG needs samples; LeastSquares has few
    """

    met: Callable[[Any], Any]
    error: str
    within: str = ""
    function: str = ""

    def require(self, problem: Any) -> None:
        """Refuse a problem without it."""
        if not self.met(problem):
            raise ValueError(self.error.replace("{kind}", type(problem).__name__))

    def require_within(self, coordinates: Any) -> None:
        """Refuse coordinates of a problem that lost it."""
        if not self.within:
            return
        has = coordinates.has_own(self.function) if self.function else self.met(coordinates)
        if not has:
            raise TypeError(self.within.replace("{kind}", type(coordinates).__name__))


class Method(ABC):
    """A training rule. It has two schedules, the vector's first, the scale's second, and an update.

    All that the engine may ask of a method is here, with what a method has that says nothing else.
    A method of your own gives `schedules` and `update`.

    Attributes
    ----------
    name : str
        For messages; that of the class, unless it has another.
    has_scale : bool
        Whether the weights are scale × direction; otherwise the vector is the weights.
    rotation_equivariant : bool
        Whether the rule sees lengths and angles only, so that it may run in reduced coordinates. It
        counts only in the body of the class that has the rule: a subclass of ours with a rule of
        its own says it again.
    curvature_powers : (float, float)
        The powers of |g| and ‖w‖ that a curvature step has for this method.
    free_norm : bool
        Whether ‖w‖ is the method's own, so that a run that goes on from another such method keeps
        it.
    needs_predictions : bool
        Whether it asks the problem for `normal(w)`.
    initial_norm : float
        ‖w0‖.
    blocks : {"all", "columns"}
        One scale for all weights, or one per column.
    momentum, nesterov, scale_decay, direction_decay, clip, batch_size, label_noise
        As in `GradientMethod`; a method without them leaves them as they are.
    sampling : Sampling or None
        How samples are drawn, for a method that trains on random parts of the data.

    Examples
    --------
    Signs of the gradient, coordinate by coordinate:

    >>> import numpy as np, weightnorm as wn
    >>> class SignDescent(wn.Method):
    ...     has_scale = False
    ...     schedules = wn.schedules.constant(0.01), wn.schedules.constant(0.0)
    ...     def update(self, state, evaluation, vector_step, scale_step):
    ...         move = vector_step[:, None] * np.sign(evaluation.vector_gradient)
    ...         return state.moved(state.vector - move, state.scale)
    >>> problem = wn.LeastSquares(np.eye(2), [1.0, 2.0])
    >>> wn.run(SignDescent(), problem, 1.0, [1.0, 0.0], tolerance=1e-3).weights.round(2)
    array([1.  , 1.96])
    """

    name: ClassVar[str] = ""
    has_scale: ClassVar[bool] = True
    rotation_equivariant: ClassVar[bool] = False
    curvature_powers: ClassVar[tuple[float, float]] = (-2.0, 0.0)
    free_norm: ClassVar[bool] = False
    needs_predictions: ClassVar[bool] = False
    initial_norm: float = 1.0
    blocks: str = "all"
    momentum: float = 0.0
    nesterov: bool = False
    scale_decay: float = 0.0
    direction_decay: float = 0.0
    decays: bool = False
    clip: float | None = None
    batch_size: int | None = None
    label_noise: float = 0.0
    sampling: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):  # one it inherits is that of another rule
            cls.name = cls.__name__

    @property
    @abstractmethod
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The schedules of the vector and of the scale."""

    def init(self, scale: Array, direction: Array) -> State:
        """The state of runs that start at this scale and these unit directions.

        Parameters
        ----------
        scale : (n,) array
            g0.
        direction : (n, d) array
            w0, of unit length.

        Returns
        -------
        State
            With the weights scale·direction as its vector, for a method without a scale.
        """
        if self.has_scale:
            return State(self.initial_norm * direction, scale.copy())
        return State(expand(scale, direction) * direction, np.ones_like(scale))

    def evaluate(self, problem: Any, state: State) -> Evaluation:
        """Loss and gradients at a state.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the state.
        state : State
            Of n runs.

        Returns
        -------
        Evaluation
            At x = g·w with ‖w‖ = 1 or, for a method without a scale, at the vector itself.
        """
        if self.has_scale:
            return Evaluation(*problem.scale_direction_gradients(state.vector, state.scale))
        loss, gradient = problem.value_and_gradient(state.vector)
        return Evaluation(loss, gradient, np.zeros_like(state.scale))

    @abstractmethod
    def update(
        self, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
    ) -> State:
        """The state after one step; the one given must not be changed.

        With a scale the vector is of unit length before the step and must be so after it, unless
        the method has an `evaluate` of its own: x = g·w.

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

    def own_scale(self, problem: Any, scale: Array, unit: Array) -> Array:
        """The scale that the method itself trains, for weights scale·unit.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the directions.
        scale : (n,) array
            Of the weights.
        unit : (n, d) array
            Unit directions.

        Returns
        -------
        (n,) array
            That of the weights or, without a scale, the length of the vector that is trained.
        """
        return scale if self.has_scale else np.asarray(problem.descent_norm(scale))

    def weights_scale(self, problem: Any, scale: Array, unit: Array) -> Array:
        """The scale of the weights for that of the method, the inverse of `own_scale`.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the directions.
        scale : (n,) array
            The method's own.
        unit : (n, d) array
            Unit directions.

        Returns
        -------
        (n,) array
            Asked only of a method with a scale.
        """
        return scale

    @property
    def trains_weights_scale(self) -> bool:
        """Whether the scale it trains is that of the weights."""
        return type(self).weights_scale is Method.weights_scale

    def decay_gradient(self, problem: Any, x: Array) -> Array:
        """What the decay adds to the gradient by the weights: a run rests where both cancel.

        Parameters
        ----------
        problem : Problem
            In the coordinates of the weights.
        x : (n, d) array
            The weights of n runs.

        Returns
        -------
        (n, d) array
            μx, with μ the decay of the scale: that of ½μg² = ½μ‖x‖². Shrinking w alone leaves the
            weights where they are.
        """
        return (self.scale_decay if self.has_scale else self.direction_decay) * x

    @property
    def penalised(self) -> bool:
        """Whether it minimises more than the loss: its decay acts on the weights, and not on ‖w‖
        alone.
        """
        return bool(self.scale_decay if self.has_scale else self.direction_decay)

    @property
    def features(self) -> frozenset[str]:
        """What its steps have besides gradients and step sizes, as kernels are asked for it."""
        return frozenset()

    @property
    def buffers(self) -> tuple[str, ...]:
        """The arrays that its momentum keeps in a state; a step that leaves them out has none."""
        return ()

    @property
    def per_column(self) -> bool:
        """Whether there is a scale per column."""
        return self.blocks == "columns"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What it asks of a problem, in the order in which a problem is told."""
        found = []
        if self.per_column:
            found.append(_columns(self))
        if any(schedule.per_curvature for schedule in self.schedules):
            found.append(curvature_need(self))
        if self.needs_predictions:
            found.append(_predictions(self))
        if self.sampling is not None:
            found.append(_samples(self))
        if self.label_noise:
            found.append(_noisy_targets(self))
        return tuple(found)

    def is_same(self, other: Any) -> bool:
        """Whether another method is this one: of its class, with equal attributes, arrays entry by
        entry.
        """
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        ours, theirs = vars(self), vars(other)
        return ours.keys() == theirs.keys() and all(_equal(ours[k], theirs[k]) for k in ours)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # arrays
        return bool(np.array_equal(a, b))


def _columns(method: Method) -> Need:
    return Need(
        lambda problem: problem.has_columns,
        f"{method.name}(blocks={method.blocks!r}) needs a problem whose weights have columns, and "
        "{kind} has one block; use blocks='all'",
    )


def curvature_need(method: Method) -> Need:
    """The largest curvature, for a step that is divided by it."""
    return Need(
        lambda problem: problem.has_curvature,
        f"{method.name} has a curvature step, which needs the largest curvature λmax, and "
        "{kind} has none; use a constant step or schedules.scaled",
        f"{method.name} has a curvature step, and {{kind}}, the problem in reduced coordinates, "
        "has no curvature; give it that of the problem it reduces",
    )


def _predictions(method: Method) -> Need:
    return Need(
        lambda problem: problem.has_own("normal"),
        f"{method.name} divides by ‖Aw‖, and {{kind}} has no predictions Aw; use a LeastSquares or "
        "a GeneralizedLinear, or give your problem normal(w)",
        f"{method.name} divides by ‖Aw‖, and {{kind}} has no normal(w)",
        "normal",
    )


def _samples(method: Method) -> Need:
    draws = f"{method.name} draws samples (batch_size or label_noise), and {{kind}} has "
    return Need(
        lambda problem: problem.num_samples,
        f"{draws}none to draw from",
        f"{draws}no sample(rows, noise)",
        "sample",
    )


def _noisy_targets(method: Method) -> Need:
    return Need(
        lambda problem: problem.has_label_noise,
        f"{method.name}(label_noise={method.label_noise:g}) adds noise to y, and the y of {{kind}} "
        "are not numbers to add it to; use label_noise=0",
    )
