"""The minimum of a convex loss of A x in the row space of A, or the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.numeric import Vector
from .newton import Found, newton
from .recession import attained_by, receding_direction, separates
from .whitening import WithConstant


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a convex loss of A x is smallest, as far as it is.

    Attributes
    ----------
    weights : (d,) array
        The minimiser in the row space of A; where there is none, the point the search stopped at.
    intercept : float
        b, for a loss with an intercept; 0 otherwise.
    loss : float
        The loss there.
    gradient : float
        The gradient relative to its terms, in coordinates that have no units.
    num_steps : int
        Newton steps made.
    status : str
        "attained"; "separable": a direction with which every label is right, so that the loss goes
        to 0; "receding": a direction along which the loss never rises, so that no minimum is
        attained; "flat": a minimum that is not unique, as far as the curvature there can tell;
        "unfinished": none of these could be shown.
    message : str
        The same in words.
    direction, direction_intercept : (d,) array or None, and float
        The certificate: the direction of "separable" or "receding".
    rank : int
        The rank of A.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.GeneralizedLinear([[1.0, 0.0], [1.0, 0.0]], [0.0, 3.0], loss="poisson")
    >>> found = problem.minimum()
    >>> found.status, found.weights.round(6).tolist()
    ('attained', [0.405465, 0.0])
    """

    weights: Vector
    intercept: float
    loss: float
    gradient: float
    num_steps: int
    status: str
    message: str
    direction: Vector | None
    direction_intercept: float
    rank: int


def find_minimum(problem: Any) -> Minimum:
    """Search for the minimum of a linear model with a convex loss.

    Parameters
    ----------
    problem : GeneralizedLinear
        Whose loss is convex.

    Returns
    -------
    Minimum
        See there.

    Raises
    ------
    ValueError
        If the loss does not say that it is convex.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm.problems.minimum.minimum import find_minimum
    >>> problem = wn.GeneralizedLinear([[1.0], [2.0]], [0, 1], loss="logistic")
    >>> find_minimum(problem).status
    'attained'
    >>> find_minimum(wn.GeneralizedLinear([[-1.0], [2.0]], [0, 1], loss="logistic")).status
    'separable'
    """
    if not getattr(problem.loss, "convex", False):
        raise ValueError(
            f"loss {type(problem.loss).__name__} does not say that it is convex, so a point where "
            "the gradient is zero need not be a minimum; give it the attribute convex = True"
        )
    with_intercept = hasattr(problem.loss, "intercept")
    loss = problem.loss.loss if with_intercept else problem.loss
    inner, lift = problem.whitened
    model, height = inner, 0.0
    start = np.zeros(inner.size)
    if with_intercept:
        constant = np.broadcast_to(problem.loss.constant, problem.shape[:1])
        height = 1.0 / float(np.linalg.norm(constant))
        model = WithConstant(inner, height * constant)
        best = problem.loss.intercept(np.zeros((1, problem.shape[0])))[0]
        start = np.append(start, best / height)

    def separated(t: Vector, z: Vector) -> bool:
        return separates(model, loss, t, z)

    with np.errstate(under="ignore"):
        found = newton(model, loss, start, separated, attained_by(loss))
    status, step = _status(found, loss, model)
    size = inner.size
    return Minimum(
        weights=lift(found.t[:size]),
        intercept=height * found.t[-1] if with_intercept else 0.0,
        loss=found.loss,
        gradient=found.gradient,
        num_steps=found.num_steps,
        status=status,
        message=_message(status, found),
        direction=None if step is None else lift(step[:size]),
        direction_intercept=height * step[-1] if with_intercept and step is not None else 0.0,
        rank=size,
    )


def _status(found: Found, loss: Any, model: Any) -> tuple[str, Vector | None]:
    if separates(model, loss, found.t, found.z):
        return "separable", found.t
    if found.attained:
        return "attained", None
    direction = receding_direction(model, loss, [found.step, found.t])
    if direction is not None:
        all_fall = separates(model, loss, direction, model.apply(direction))
        return "separable" if all_fall else "receding", direction
    # where every sample's loss is curved, only rounding makes the Hessian singular
    many = found.singular and not hasattr(loss, "recession")
    return ("flat" if many else "unfinished"), None


def _message(status: str, found: Found) -> str:
    after = f"after {found.num_steps} Newton step{'' if found.num_steps == 1 else 's'}"
    return {
        "attained": f"minimum found {after}; relative gradient {found.gradient:.2g}",
        "separable": f"the classes are separable ({after}): the loss has no minimum, it goes to 0",
        "receding": f"no minimum is attained ({after}): the loss falls for ever along a direction "
        "along which no sample's loss rises",
        "flat": f"the gradient vanishes {after}, but the curvature is singular there: the minimum "
        "is not unique",
        "unfinished": f"neither a minimum nor a proof that there is none {after}; "
        f"relative gradient {found.gradient:.2g}",
    }[status]
