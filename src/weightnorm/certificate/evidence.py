"""Evidence for and against a claim: what was compared, what failed, and on which instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Check = Callable[["Evidence", np.random.Generator, int], None]
CHECKS: dict[str, Check] = {}


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

    `perturb` multiplies every predicted equality by 1 + perturb and tightens every bound by that
    share: with it a claim that is checked at all turns red, which is how the checks themselves are
    tested.
    """

    perturb: float = 0.0
    comparisons: int = 0
    equalities: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    printed: int = 0
    refutations: list[dict[str, Any]] = field(default_factory=list)
    exceptions: list[dict[str, Any]] = field(default_factory=list)
    _telling: float = 0.0

    def equal(
        self,
        what: str,
        predicted: Any,
        observed: Any,
        rtol: float,
        atol: float = 0.0,
        **instance: Any,
    ) -> None:
        """The exact form predicts this value: |predicted − observed| ≤ rtol·max|observed| +
        atol.
        """
        self.comparisons += 1
        self.equalities += 1
        predicted, observed = (
            np.asarray(predicted, dtype=np.float64),
            np.asarray(observed, dtype=np.float64),
        )
        error = float(np.max(np.abs(predicted * (1.0 + self.perturb) - observed), initial=0.0))
        size = float(np.max(np.abs(observed), initial=0.0))
        if not error <= rtol * size + atol:
            self.failures.append(
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
        tightened = bound - self.perturb * abs(bound)
        if not value <= tightened + slack * max(abs(bound), 1e-300):
            self.failures.append(
                {"what": what, "value": _plain(value), "bound": _plain(bound)} | _all(instance)
            )

    def true(self, what: str, holds: Any, **instance: Any) -> None:
        """The exact form says that this is so."""
        self.comparisons += 1
        if not bool(holds):
            self.failures.append({"what": what} | _all(instance))

    def as_printed(
        self, holds: Any, *, within: bool = True, telling: float = 0.0, **instance: Any
    ) -> None:
        """Whether the paper's own form holds here; `within` the condition under which the exact
        form promises anything.

        The most `telling` refutation becomes the counterexample.
        """
        self.printed += 1
        if bool(holds):
            return
        found = self.refutations if within else self.exceptions
        found.append(_all(instance))
        if telling > self._telling:
            self._telling = telling
            found.insert(0, found.pop())

    @property
    def verdict(self) -> str:
        """In a word: see `VERDICTS`."""
        if self.failures or not self.comparisons:
            return "broken"
        if self.refutations:
            return "fails as printed"
        return "holds with condition" if self.exceptions else "holds"

    @property
    def counterexample(self) -> dict[str, Any] | None:
        """An instance on which the printed form fails, or the exact one if it does."""
        for found in (self.failures, self.refutations, self.exceptions):
            if found:
                return found[0]
        return None


VERDICTS = {
    "holds": "holds as printed",
    "holds with condition": "holds under the stated condition, and fails without it",
    "fails as printed": "as printed it fails; the exact form holds",
    "broken": "the exact form itself failed",
}


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
