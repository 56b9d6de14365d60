"""What a result keeps so that its run can go on, and so that it can be pickled: configuration and
plain arrays.

In memory a result knows its problem and compares it by identity. A pickle holds a fingerprint for
that, so that a result goes on, after a round trip, on whatever problem has the same numbers. The
data itself comes along only where a number was not asked for yet that needs it (see `Deferred`):
‖x⊥‖ and the distance in full coordinates, the distance in matrix sensing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._support.agreement import agree


@dataclass(frozen=True, eq=False)
class Resume:
    """The exact end of a run.

    Attributes
    ----------
    method, problem
        What ran; None after a round trip for the problem, and for a method that could not be
        pickled.
    kind : str
        The backend that ran: for people, since any backend takes a state.
    state, clock, divergence_loss, stopping
        The exact state, the step number the schedules are at, the loss that counts as diverged, and
        what the stopping rule saw.
    reduced : bool
        Whether reduced coordinates were asked for.
    axes : tuple
        The unit vectors that lead back from reduced coordinates; empty for a run in full
        coordinates.
    working : method or None
        A method of the user's own as the run left it, with what it may keep on itself.
    fingerprint : tuple of arrays or None
        What stands for the problem after a round trip.
    start_norm : float
        ‖w0‖, where the run began.
    origin : (float, array) or None
        The scale and the unit direction where the method's schedules began; None with a scale per
        column.
    """

    method: Any
    problem: Any
    kind: str
    state: Any
    clock: int
    divergence_loss: Any
    stopping: Any
    reduced: bool
    axes: tuple[Any, ...]
    working: Any = None
    fingerprint: tuple[Any, ...] | None = None
    start_norm: float = 1.0
    origin: tuple[float, Any] | None = None

    def continues(self, method: Any, problem: Any) -> bool:
        """Whether a run of this method on this problem is the same run going on."""
        if self.method is None:
            raise ValueError(
                "start was pickled without its method, which could not be pickled (a lambda as a "
                "step?), so it cannot be told whether this method goes on or begins anew; use a "
                "function with a name, or give scale and direction"
            )
        return self.method.is_same(method) and self._same_problem(problem)

    def _same_problem(self, problem: Any) -> bool:
        if self.problem is not None:
            return self.problem is problem
        ours, theirs = self.fingerprint, problem.fingerprint()
        if ours is None or ours[0] != theirs[0] or len(ours) != len(theirs):
            return False
        return all(agree(a, b) for a, b in zip(ours[1:], theirs[1:], strict=True))

    def __deepcopy__(self, memo: Any) -> Resume:
        """Itself: nothing in it is ever changed."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        method = self.method if _can_be_pickled((self.method, self.working)) else None
        fingerprint = self.fingerprint if self.problem is None else self.problem.fingerprint()
        working = None if method is None else self.working
        kept = replace(self, method=method, working=working, problem=None, fingerprint=fingerprint)
        return Resume, tuple(getattr(kept, name) for name in Resume.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class Deferred:
    """Numbers found when first asked for: ‖x⊥‖ and the distance, from the problem and the
    weights.
    """

    function: Callable[..., tuple[float, float]] | None
    problem: Any
    arguments: tuple[Any, ...]

    def __call__(self) -> tuple[float, float]:
        """The numbers; NaN after a round trip through pickle of an A that cannot be pickled."""
        return (
            (np.nan, np.nan)
            if self.function is None
            else self.function(self.problem, *self.arguments)
        )

    def __deepcopy__(self, memo: Any) -> Deferred:
        """Itself: nothing in it is ever changed."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.function is None or not _can_be_pickled(self.problem):
            return Deferred, (None, None, ())
        return Deferred, (self.function, self.problem, self.arguments)


def _can_be_pickled(thing: Any) -> bool:
    try:
        pickle.dumps(thing)
    except Exception:  # whatever a user's own class raises
        return False
    return True
