"""The TOML file of a sweep, validated: problems × seeds × methods × starts × scales."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence, Sized
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Tag, model_validator

from .. import schedules
from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.contract import Method
from ..schedules import Step
from .fields import (
    LARGEST_PROBLEM,
    LARGEST_RANGE,
    LARGEST_SWEEP,
    LIST,
    NUMBER,
    TABLE,
    AtLeastOne,
    AtLeastZero,
    Count,
    IsNumber,
    Norm,
    Positive,
    Real,
    Scale,
    Seed,
    one_of,
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(_Strict):
    """Evenly spaced numbers: {start = 0.1, stop = 4.0, num = 40}, or with spacing = "geometric"."""

    start: Scale
    stop: Scale
    num: Annotated[int, IsNumber, Field(ge=1, le=LARGEST_RANGE)]
    spacing: Literal["linear", "geometric"] = "linear"

    @model_validator(mode="after")
    def _check(self) -> Range:
        ends = f"got start = {self.start:g} and stop = {self.stop:g}"
        if self.spacing == "geometric" and not (self.start < 0) == (self.stop < 0):
            raise ValueError(f'start and stop of a geometric range must have one sign, {ends}; use spacing = "linear"')
        if self.spacing == "geometric" and 0.0 in (self.start, self.stop):
            raise ValueError(f"a geometric range cannot reach 0, {ends}; start from a small number")
        return self

    def values(self) -> list[float]:
        """The numbers."""
        space = np.linspace if self.spacing == "linear" else np.geomspace
        return [float(value) for value in space(self.start, self.stop, self.num)]


Scales = Annotated[
    Annotated[list[Scale], Field(min_length=1), Tag(LIST)] | Annotated[Range, Tag(TABLE)],
    one_of("a list of numbers or a range { start = …, stop = …, num = … }"),
]
Seeds = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[list[Seed], Field(min_length=1), Tag(LIST)],
    one_of("a number of seeds or a list of them"),
]


class Problems(_Strict):
    """Regression problems: every combination of these lists, each for every seed."""

    num_samples: Annotated[list[Positive], Field(min_length=1)] = [20]
    num_features: Annotated[list[Positive], Field(min_length=1)] = [50]
    condition_number: Annotated[list[AtLeastOne], Field(min_length=1)] = [1.0]
    solution_norm: Annotated[list[Norm], Field(min_length=1)] = [3.0]
    seeds: Seeds = 1

    @model_validator(mode="after")
    def _check(self) -> Problems:
        samples, features = max(self.num_samples), max(self.num_features)
        if samples * features > LARGEST_PROBLEM:
            raise ValueError(
                f"num_samples × num_features must be at most {LARGEST_PROBLEM:,} (8 GB), "
                f"got {samples:,} × {features:,}; choose smaller problems"
            )
        return self

    def seed_list(self) -> Sequence[int]:
        """The seeds themselves; a number n means 0 … n − 1."""
        return range(self.seeds) if isinstance(self.seeds, int) else list(self.seeds)

    def combinations(self) -> list[dict[str, Any]]:
        """The parameters of every problem, without its seed."""
        names = ("num_samples", "num_features", "condition_number", "solution_norm")
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*(getattr(self, n) for n in names))]


class Starts(_Strict):
    """Where runs start: random directions per seed, and scales."""

    scales: Scales
    num_directions: Positive = 1

    def scale_list(self) -> list[float]:
        """The scales themselves."""
        return self.scales.values() if isinstance(self.scales, Range) else list(self.scales)

    def shape(self) -> tuple[int, int]:
        """The numbers of directions and of scales."""
        return self.num_directions, self.scales.num if isinstance(self.scales, Range) else len(self.scales)


class ScheduledStep(_Strict):
    """A step that is more than a number, as in {schedule = "two_phase", before = 0, after = 0.1, switch = 5001}."""

    schedule: Literal["constant", "two_phase", "piecewise", "curvature", "scaled"]
    value: Real | None = None
    before: Real | None = None
    after: Real | None = None
    switch: Count | None = None
    values: list[Real] | None = None
    switches: list[Count] | None = None
    factor: Real | None = None
    scale_power: Real | None = None
    norm_power: Real | None = None

    @model_validator(mode="after")
    def _build(self) -> ScheduledStep:
        self.build()
        return self

    def build(self) -> schedules.Schedule:
        """The schedule; a parameter that is missing or not its own is an error naming both."""
        given = {name: value for name, value in self if value is not None and name != "schedule"}
        needed, optional = _PARAMETERS[self.schedule]
        missing = [name for name in needed if name not in given]
        foreign = [name for name in given if name not in (*needed, *optional)]
        if missing or foreign:
            problems = [f"{name} is missing" for name in missing] + [f"{name} does not belong to it" for name in foreign]
            raise ValueError(f"schedule {self.schedule!r}: {', '.join(problems)}")
        built: schedules.Schedule = getattr(schedules, self.schedule)(**given)
        return built


_PARAMETERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "two_phase": (("before", "after", "switch"), ()),
    "piecewise": (("values", "switches"), ()),
    "curvature": ((), ("factor",)),
    "scaled": (("value",), ("scale_power", "norm_power")),
}

StepSpec = Annotated[
    Annotated[AtLeastZero, Tag(NUMBER)] | Annotated[ScheduledStep, Tag(TABLE)],
    one_of("a number or a schedule { schedule = … }"),
]


def _step(spec: float | ScheduledStep) -> Step:
    return spec.build() if isinstance(spec, ScheduledStep) else spec


class _MethodSpec(_Strict):
    @abstractmethod
    def build(self) -> Method:
        """The method."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.build()
        return self


class GradientDescentSpec(_MethodSpec):
    """kind = "gradient_descent"."""

    kind: Literal["gradient_descent"]
    step: StepSpec

    def build(self) -> Method:
        """The method."""
        return GradientDescent(_step(self.step))


class RPGDSpec(_MethodSpec):
    """kind = "rpgd"."""

    kind: Literal["rpgd"]
    direction_step: StepSpec
    scale_step: StepSpec

    def build(self) -> Method:
        """The method."""
        return RPGD(_step(self.direction_step), _step(self.scale_step))


class WeightNormSpec(_MethodSpec):
    """kind = "weight_norm"."""

    kind: Literal["weight_norm"]
    direction_step: StepSpec
    scale_step: StepSpec
    initial_norm: Annotated[float, IsNumber, Field(gt=0, allow_inf_nan=False)] = 1.0

    def build(self) -> Method:
        """The method."""
        return WeightNorm(_step(self.direction_step), _step(self.scale_step), initial_norm=self.initial_norm)


MethodSpec = Annotated[GradientDescentSpec | RPGDSpec | WeightNormSpec, Field(discriminator="kind")]


def _method_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError(f"a method's name must be printable text, got {name!r}; rename it")
    return name


MethodName = Annotated[str, AfterValidator(_method_name), Field(max_length=200)]


class SweepConfig(_Strict):
    """A whole sweep."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
    tolerance: AtLeastZero = 1e-5
    max_steps: Count = 1_000_000
    problems: Problems = Problems()
    starts: Starts
    methods: Annotated[dict[MethodName, MethodSpec], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> SweepConfig:
        directions, features = self.starts.num_directions, max(self.problems.num_features)
        if directions * features > LARGEST_PROBLEM:
            raise ValueError(
                f"starts.num_directions × problems.num_features must be at most {LARGEST_PROBLEM:,} "
                f"(8 GB), got {directions:,} × {features:,}; choose fewer directions"
            )
        lists = (self.problems.seed_list(), self.methods, *self._problem_lists())
        runs = math.prod(map(len, lists)) * math.prod(self.starts.shape())
        if runs > LARGEST_SWEEP:
            raise ValueError(
                f"problems × seeds × methods × directions × scales must be at most {LARGEST_SWEEP:,} "
                f"runs, got {runs:,}; split the sweep"
            )
        return self

    def _problem_lists(self) -> tuple[Sized, ...]:
        problems = self.problems
        return problems.num_samples, problems.num_features, problems.condition_number, problems.solution_norm
