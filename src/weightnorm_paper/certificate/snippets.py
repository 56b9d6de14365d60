"""The counterexamples that one can type in: run a claim's snippet and compare its two numbers."""

from __future__ import annotations

import functools
import operator
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..claims import PREAMBLE, Claim

AGREE = 1e-6  # relative: two numbers that agree
DISAGREE = 1e-3  # relative: two numbers that clearly do not
EXACT = 1e-5  # relative: the corrected number against the simulated one


def _differ(found: Any, printed: Any) -> bool:
    return not np.allclose(found, printed, rtol=DISAGREE, atol=0.0)


HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda found, printed: np.allclose(found, printed, rtol=AGREE, atol=1e-9),
    "≠": _differ,
    "≤": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "≥": operator.ge,
}


@dataclass(frozen=True)
class Shown:
    """What a snippet shows: the simulated number, the printed one, and the exact one if any."""

    found: Any
    printed: Any
    exact: Any
    relation: str

    @property
    def fault(self) -> str | None:
        """Why the snippet does not show what it should; None if it does."""
        if not bool(HOLDS[self.relation](self.found, self.printed)):
            return f"its snippet: not {self.text}"
        if self.exact is not None and not np.allclose(
            self.found, self.exact, rtol=EXACT, atol=1e-8
        ):
            return f"its snippet: {self.text}, but exactly {_short(self.exact)}"
        return None

    @property
    def text(self) -> str:
        """In a line, for instance "found 0.898 ≠ printed 1"."""
        return f"found {_short(self.found)} {self.relation} printed {_short(self.printed)}"


def _short(value: Any) -> str:
    """To five digits, of which rounding leaves the last alone; and no negative zero."""
    array = np.asarray(value)
    if array.ndim:
        return "(" + ", ".join(_short(entry) for entry in array) + ")"
    if array.dtype == np.bool_:
        return "yes" if array else "no"
    number = float(array)
    return f"{0.0 if abs(number) < 1e-12 else number:.5g}".replace("-", "−")


def code(claim: Claim) -> str:
    """The lines of a claim's snippet."""
    return textwrap.dedent(claim.snippet).strip("\n")


@functools.cache
def _compiled() -> types.CodeType:
    return compile(PREAMBLE, "<preamble>", "exec")


def show(claim: Claim) -> Shown:
    """Run a claim's snippet after the preamble, in a namespace of its own."""
    names: dict[str, Any] = {}
    exec(_compiled(), names)
    exec(compile(code(claim), f"<{claim.id}>", "exec"), names)
    return Shown(names["found"], names["printed"], names.get("exact"), claim.relation)
