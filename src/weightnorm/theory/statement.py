"""What a theory function returns: a value, the assumptions it checked, and where the paper
states it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 1e-9  # the square of a unit direction's norm may be so far from 1


@dataclass(frozen=True)
class Assumption:
    """A condition that a claim needs, and whether it holds for this input.

    It prints as a tick or a cross and the condition.

    Attributes
    ----------
    text : str
        The condition in words or symbols, for instance "c > 0".
    holds : bool
        Whether the input satisfies it.

    Examples
    --------
    >>> from weightnorm.theory import Assumption
    >>> Assumption("c > 0", True), Assumption("λmin > 0", False)
    (✓ c > 0, ✗ λmin > 0)
    """

    text: str
    holds: bool

    def __repr__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.text}"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A prediction or a bound in its exact form, with the assumptions it needs.

    Theory functions return a subclass with the content: `Value`, `Limit`, `Comparison`, `TwoPhase`
    and others; lemmas of the paper also `Bounds`.

    Attributes
    ----------
    assumptions : tuple of Assumption
        What the claim needs; where one does not hold, the value is not promised.
    paper : str
        Where the paper states it; "beyond the paper" where it does not.
    applies : bool
        Whether every assumption holds.
    failing : tuple of str
        The assumptions that do not hold.

    Examples
    --------
    A claim for matrices of full row rank, asked about one whose smallest eigenvalue is zero:

    >>> from weightnorm.theory import safe_scale
    >>> statement = safe_scale(gstar=3.0, smallest=0.0, largest=1.0)
    >>> statement.applies, statement.failing
    (False, ('0 < λmin ≤ λmax',))
    """

    assumptions: tuple[Assumption, ...] = ()
    paper: str = ""

    @property
    def applies(self) -> bool:
        """Whether every assumption holds."""
        return all_hold(self.assumptions)

    @property
    def failing(self) -> tuple[str, ...]:
        """The assumptions that do not hold for this input."""
        return tuple(assumption.text for assumption in self.assumptions if not assumption.holds)


@dataclass(frozen=True)
class Value(Statement):
    """A statement whose content is one value: a number, an array, or a dictionary of named values.

    Attributes
    ----------
    value : float, bool, array or dict
        The content; the function that returns it says which, and lists the keys of a dictionary.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> from weightnorm.theory import safe_scale
    >>> largest = safe_scale(gstar=3.0, smallest=0.5, largest=1.0)
    >>> largest.value, largest.paper
    (0.5, 'Proposition 3.3')
    """

    value: Any


@dataclass(frozen=True)
class Bounds(Statement):
    """A statement that bounds a quantity on both sides: lower ≤ quantity ≤ upper.

    Attributes
    ----------
    lower, upper : float
        The bounds.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> bounds = wn.theory.Bounds(-4.0, -1.0, paper="Lemma 2.4")
    >>> bounds.lower, bounds.upper, bounds.applies
    (-4.0, -1.0, True)
    """

    lower: float
    upper: float


def all_hold(conditions: tuple[Assumption, ...]) -> bool:
    """Whether every assumption holds: where not, a formula may have no value to compute."""
    return all(condition.holds for condition in conditions)


def part_of_unit(name: str, value: float) -> Assumption:
    """The assumption that a number is the norm of a part of a unit vector, to rounding."""
    return assume(f"0 ≤ {name} ≤ 1", 0 <= value <= 1 + UNIT)


def unit_norm(w: NDArray[np.float64]) -> Assumption:
    """The assumption that a direction has norm 1, to a billionth."""
    return assume("‖w‖ = 1", abs(float(w @ w) - 1.0) < UNIT)


def assume(text: str, holds: Any) -> Assumption:
    """Make an assumption: its text, and whether it holds (anything with a truth value)."""
    return Assumption(text, bool(holds))
