"""Evidence for and against a claim: what was compared, how tightly, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Check = Callable[["Evidence", np.random.Generator, int], None]
CHECKS: dict[str, Check] = {}
ENOUGH = 10  # comparisons that a claim needs at the default number of instances


class RefutedError(Exception):
    """The first failure of evidence that stops at one."""


def check(identity: str) -> Callable[[Check], Check]:
    """Register a function as the check of a claim."""

    def register(function: Check) -> Check:
        if identity in CHECKS:
            raise ValueError(f"{identity} has a check already")
        CHECKS[identity] = function
        return function

    return register


@dataclass
class Evidence:
    """Collects comparisons of predictions with simulations.

    With `stop_at_failure` the first failure raises: the mutation runner needs no more.
    """

    stop_at_failure: bool = False
    comparisons: int = 0
    tolerances: list[float] = field(default_factory=list)
    rooms: list[float] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    printed: int = 0
    refutations: list[dict[str, Any]] = field(default_factory=list)
    exceptions: list[dict[str, Any]] = field(default_factory=list)

    def over(self, cases: Iterable[T]) -> Iterator[T]:
        """Go through cases; one that compares nothing, and does not say why, is a failure."""
        for case in cases:
            before = self.comparisons + sum(self.skipped.values())
            yield case
            if self.comparisons + sum(self.skipped.values()) == before:
                self._fail({"what": "an instance was skipped without a reason"})

    def skip(self, reason: str) -> None:
        """Say why an instance has nothing to compare."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def equal(
        self,
        what: str,
        predicted: Any,
        observed: Any,
        rtol: float,
        atol: float = 0.0,
        **instance: Any,
    ) -> None:
        """The exact form predicts this value:
        |predicted − observed| ≤ rtol·max|observed| + atol.
        """
        self.comparisons += 1
        predicted, observed = (
            np.asarray(predicted, dtype=np.float64),
            np.asarray(observed, dtype=np.float64),
        )
        error = float(np.max(np.abs(predicted - observed), initial=0.0))
        size = float(np.max(np.abs(observed), initial=0.0))
        if rtol * size + atol < size:  # else the prediction is zero, and no share of it is meant
            self.tolerances.append(rtol + atol / size)
        if not error <= rtol * size + atol:
            self._fail(
                {"what": what, "predicted": _plain(predicted), "observed": _plain(observed)}
                | _all(instance)
            )

    def at_most(
        self, what: str, value: float, bound: float, slack: float = 1e-9, **instance: Any
    ) -> None:
        """The exact form bounds this value from above: value ≤ bound, with a relative slack for
        rounding.
        """
        self.comparisons += 1
        size = max(abs(bound), 1e-300)
        room = (bound - value) / size + slack
        if room >= 0:
            self.rooms.append(float(room))
        else:
            self._fail(
                {"what": what, "value": _plain(value), "bound": _plain(bound)} | _all(instance)
            )
        if not np.isfinite(room):
            self._fail({"what": f"{what}: not a number"} | _all(instance))

    def true(self, what: str, holds: Any, **instance: Any) -> None:
        """The exact form says that this is so."""
        self.comparisons += 1
        if not bool(holds):
            self._fail({"what": what} | _all(instance))

    def as_printed(self, holds: Any, *, within: bool = True, **instance: Any) -> None:
        """Whether the paper's own form holds here; `within` the condition under which the exact
        form promises anything.
        """
        self.printed += 1
        if not bool(holds):
            (self.refutations if within else self.exceptions).append(_all(instance))

    @property
    def tightness(self) -> float:
        """The relative change of a predicted number that half of the comparisons would notice; of
        a bound where nothing is predicted exactly, the smallest room that it left.
        """
        if self.tolerances:
            return float(np.median(self.tolerances))
        return min(self.rooms, default=np.inf)

    def _fail(self, found: dict[str, Any]) -> None:
        self.failures.append(found)
        if self.stop_at_failure:
            raise RefutedError(found["what"])

    def disagreement(self, kind: str) -> str | None:
        """Why the evidence does not give a verdict of this class, in words; None if it does."""
        if kind in ("holds", "loose") and (self.refutations or self.exceptions):
            return "the printed form failed"
        if kind.startswith("condition"):
            if self.refutations:
                return "the printed form failed within its condition"
            if not self.exceptions:
                return "the printed form did not fail without its condition"
        if kind in ("misprint", "false") and not self.refutations:
            return "the printed form did not fail"
        if kind == "beyond" and self.printed:
            return "there is no printed form to test"
        if kind != "beyond" and not self.printed:
            return "the printed form was not tested"
        return None


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    if array.ndim == 0:
        item = array.item()
        return (
            round(item, 9)
            if isinstance(item, float) and np.isfinite(item) and abs(item) > 1e-6
            else item
        )
    return [_plain(entry) for entry in array[:6]]


def _all(instance: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _plain(value) if not isinstance(value, str | dict) else value
        for name, value in instance.items()
    }
