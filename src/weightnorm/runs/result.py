"""What a run gives back: where it ended, why it stopped, and what it passed on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Vector
from ..problems.kernel.expansion import Expanded
from .history import History
from .resume import Deferred, Resume


class Status(StrEnum):
    """Why a run stopped. Each compares equal to its name: `result.status == "converged"`.

    Attributes
    ----------
    CONVERGED
        The loss, or the gradient, is as small as was asked for.
    MAX_STEPS
        All the steps that were allowed are made.
    DIVERGED
        The loss, or the weights, are no longer finite numbers.
    STATIONARY
        Steps no longer move the weights, above the tolerance; the message says where it is stuck.
    UNDEFINED
        In sweeps only: a step that divides by a scale of zero.
    MAX_TIME
        For flows only: the time is over.

    Examples
    --------
    >>> from weightnorm import Status
    >>> Status.CONVERGED == "converged"
    True
    >>> Status("stationary").code
    3
    """

    CONVERGED = "converged"
    MAX_STEPS = "max_steps"
    DIVERGED = "diverged"
    STATIONARY = "stationary"
    UNDEFINED = "undefined"
    MAX_TIME = "max_time"

    @property
    def code(self) -> int:
        """The number that stands for it in a sweep, which never has the last."""
        return list(Status).index(self)


@dataclass(frozen=True, eq=False)
class Result(Expanded):
    """Where a run ended.

    A result can be copied and pickled, and a run goes on from the copy as it would from the
    original, on the same problem or one with the same numbers. The pickle holds the problem only
    where `perp_norm` or `distance` still need it.

    Attributes
    ----------
    weights : (d,) array, for matrix sensing (d, d)
        x, the final weights; X for matrix sensing.
    scale : float
        g, that of the weights, which may be negative; ‖x‖ for gradient descent. For matrix sensing
        ‖U‖_F² there, and D with `blocks="columns"`.
    direction : (d,) array, for matrix sensing (d, r)
        The unit vector with weights = scale·direction; the factor with X = scale·W Wᵀ or
        X = W D Wᵀ.
    norm : float
        ‖x‖; for matrix sensing the nuclear norm of X.
    loss : float
    num_steps : int
        Updates made by this call.
    status : Status
    message : str
        The status in a sentence, with the reason.
    history : History or None
    perp_norm : float
        ‖x⊥‖; for matrix sensing the Frobenius norm of the part of X orthogonal to all sensors.
    distance : float
        ‖x − x*‖, to the minimum-norm solution. NaN where there is none to measure from: for a loss
        other than least squares, for a problem of your own without a `reference`, and for a run
        that diverged. For matrix sensing it is the distance to the certified solution of smallest
        nuclear norm, over symmetric matrices with `blocks="columns"` and positive semidefinite ones
        otherwise, found when first asked for.
    direction_norm : float
        ‖w‖: 1 but for WN and batch norm; one per column with `blocks="columns"`.
    total_steps : int
        Updates made by this method since its schedules began: num_steps and, where the run went on
        from a result of the same method, those before.
    dual_coef : (n,) array
        On `KernelLeastSquares` alone: α of x = Aᵀα + s·w0.
    start_share : float
        There: s, what is left of the unit start direction w0.

    Examples
    --------
    >>> import pickle, weightnorm as wn
    >>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    >>> result = wn.run(wn.RPGD(0.01, 0.01), problem, scale=2.0, direction=w0)
    >>> result.message
    'loss 9.95448e-06 <= tolerance 1e-05'
    >>> pickle.loads(pickle.dumps(result)).norm == result.norm
    True
    """

    weights: Vector
    scale: Any
    direction: Vector
    norm: float
    loss: float
    num_steps: int
    status: Status
    message: str
    history: History | None
    direction_norm: Any
    total_steps: int
    _perp_norm: float | None
    _distance: float | None
    _measure: Deferred
    _resume: Resume
    _expand: Any = None

    @cached_property
    def _measured(self) -> tuple[float, float]:
        return self._measure()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        known = self._perp_norm is not None and self._distance is not None
        if known or "_measured" in state:  # then the problem need not come along
            state["_measure"] = Deferred(None, None, ())
        return state

    @property
    def perp_norm(self) -> float:
        """‖x⊥‖; in full coordinates found by LSQR when first asked for."""
        return self._measured[0] if self._perp_norm is None else self._perp_norm

    @property
    def distance(self) -> float:
        """‖x − x*‖; in full coordinates found by LSQR when first asked for."""
        return self._measured[1] if self._distance is None else self._distance

    def __repr__(self) -> str:
        text = f"loss={self.loss:.6g}, norm={self.norm:.6g}, "
        text += (
            f"scale={self.scale:.6g}"
            if np.ndim(self.scale) == 0
            else f"{np.size(self.scale)} scales"
        )
        for name, value in (("perp_norm", self._perp_norm), ("distance", self._distance)):
            if value is not None and not np.isnan(value):
                text += f", {name}={value:.6g}"
        return f"Result({self.status.value} after {self.num_steps} steps: {text})"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `.result` is the run so far, None before the first step.

    Go on with run(method, problem, start=error.result), or begin anew where that is None.

    Parameters
    ----------
    result : Result or None
        The run so far; None where the problem was still being made ready.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    >>> method = wn.RPGD(0.01, 0.01)
    >>> try:
    ...     result = wn.run(method, problem, 2.0, w0)
    ... except wn.Interrupted as interrupted:
    ...     result = wn.run(method, problem, start=interrupted.result)
    >>> result.status == "converged"
    True
    """

    def __init__(self, result: Result | None) -> None:
        super().__init__(
            "interrupted before the first step; begin anew" if result is None else result.message
        )
        self.result = result

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Result | None]]:
        return Interrupted, (self.result,)


def empty_columns(names: Iterable[str], shape: tuple[int, int, int]) -> dict[str, NDArray[Any]]:
    """The arrays of a sweep before anything ran: all undefined."""
    out: dict[str, NDArray[Any]] = {name: np.full(shape, np.nan) for name in names}
    out["num_steps"] = np.zeros(shape, dtype=np.int64)
    out["status"] = np.full(shape, Status.UNDEFINED.code, dtype=np.int8)
    return out
