"""What a theory function returns: a value, the assumptions it checked, and where the paper
states it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Assumption:
    """A condition of a claim, and whether it holds for this input."""

    text: str
    holds: bool

    def __repr__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.text}"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A prediction or a bound in its exact form.

    Attributes
    ----------
    assumptions : tuple of Assumption
        What the claim needs; where one does not hold, the value is not promised.
    paper : str
        Where the paper states it.
    """

    assumptions: tuple[Assumption, ...] = ()
    paper: str = ""

    @property
    def applies(self) -> bool:
        """Whether every assumption holds."""
        return all(assumption.holds for assumption in self.assumptions)

    @property
    def failing(self) -> tuple[str, ...]:
        """The assumptions that do not hold for this input."""
        return tuple(assumption.text for assumption in self.assumptions if not assumption.holds)


@dataclass(frozen=True)
class Value(Statement):
    """A statement whose content is one value: a number, an array, or a few by name."""

    value: Any


@dataclass(frozen=True)
class Bounds(Statement):
    """lower ≤ quantity ≤ upper."""

    lower: float
    upper: float


def assume(text: str, holds: Any) -> Assumption:
    """An assumption and whether it holds."""
    return Assumption(text, bool(holds))
