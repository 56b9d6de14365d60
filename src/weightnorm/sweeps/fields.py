"""Numbers as they may stand in a sweep file, with their limits and the reasons for them."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

T = TypeVar("T")
NUMBER, LIST, TABLE = "<number>", "<list>", "<table>"  # members of unions; no key looks like this
SWEPT = "step"  # in a method: each of the steps of the sweep
LARGEST_NORM = 1e140  # of starts and solutions: their squares must not overflow
LARGEST_COUNT = 10**18  # of steps: fits a 64-bit integer with room for sums
LARGEST_SEED = 2**63 - 1  # seeds label an axis of 64-bit integers
LARGEST_RANGE = 10**6  # numbers in a range
LARGEST_PROBLEM = 10**9  # entries of A, or of all directions of a seed: 8 GB
LARGEST_SWEEP = 10**9  # runs in a sweep: about 50 GB of results


def _number(value: object) -> object:
    """Refuse true and "1", which would silently count as 1."""
    if isinstance(value, bool | str):
        if value == SWEPT:
            raise ValueError('"step" stands for each of steps = […] at the top of the file')
        kind = "true or false" if isinstance(value, bool) else "text"
        raise ValueError(f"should be a number, not {kind}")
    if isinstance(value, int) and abs(value) > 10**300:
        raise ValueError("should be a number below 1e300")
    return value


def _squarable(value: float) -> float:
    if abs(value) > LARGEST_NORM:
        raise ValueError(f"should be at most {LARGEST_NORM:g} in size, or its square overflows")
    return value


def _kind(value: object) -> str:
    """Which member of a union a value is meant to be."""
    if isinstance(value, list):
        return LIST
    return TABLE if isinstance(value, dict | BaseModel) else NUMBER


def one_of(text: str) -> Discriminator:
    """The choice between members of a union, tagged NUMBER, LIST or TABLE; `text` names them."""
    return Discriminator(_kind, custom_error_type="kind", custom_error_message=f"should be {text}")


def _distinct(values: list[T]) -> list[T]:
    """Refuse a value given twice: labels of an axis must tell its entries apart."""
    twice = [value for place, value in enumerate(values) if value in values[:place]]
    if twice:
        raise ValueError(f"should have each value once, got {twice[0]} twice")
    return values


IsNumber = BeforeValidator(_number)
Real = Annotated[float, IsNumber, Field(allow_inf_nan=False)]
AtLeastZero = Annotated[float, IsNumber, Field(ge=0, allow_inf_nan=False)]
Scale = Annotated[Real, AfterValidator(_squarable)]
Norm = Annotated[AtLeastZero, AfterValidator(_squarable)]
Condition = Annotated[float, IsNumber, Field(ge=1, allow_inf_nan=False)]
Positive = Annotated[int, IsNumber, Field(ge=1, le=LARGEST_COUNT)]
Count = Annotated[int, IsNumber, Field(ge=0, le=LARGEST_COUNT)]
Seed = Annotated[int, IsNumber, Field(ge=0, le=LARGEST_SEED)]

Axis = Annotated[list[T], Field(min_length=1), AfterValidator(_distinct)]
OneOrMore = Annotated[
    Annotated[T, Tag(NUMBER)] | Annotated[Axis[T], Tag(LIST)],
    one_of("a number or a list of numbers"),
]
Seeds = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[Axis[Seed], Tag(LIST)],
    one_of("a number of seeds or a list of them"),
]


class Strict(BaseModel):
    """A table in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
