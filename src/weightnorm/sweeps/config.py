"""The TOML file of a sweep, validated: problems × seeds × methods × starts × scales."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence, Sized
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, Tag, model_validator

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
    Scale,
    Seed,
    one_of,
)
from .methods import MethodSpec, Strict


class Range(Strict):
    """Evenly spaced numbers: {start = 0.1, stop = 4.0, num = 40}, or with spacing = "geometric"."""

    start: Scale
    stop: Scale
    num: Annotated[int, IsNumber, Field(ge=1, le=LARGEST_RANGE)]
    spacing: Literal["linear", "geometric"] = "linear"

    @model_validator(mode="after")
    def _check(self) -> Range:
        ends = f"got start = {self.start:g} and stop = {self.stop:g}"
        if self.spacing == "geometric" and not (self.start < 0) == (self.stop < 0):
            raise ValueError(
                f"start and stop of a geometric range must have one sign, {ends}; "
                'use spacing = "linear"'
            )
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


class Problems(BaseModel):
    """Regression problems: every combination of these lists, each for every seed."""

    model_config = Strict.model_config

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
        return [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*(getattr(self, n) for n in names))
        ]


class Starts(Strict):
    """Where runs start: random directions per seed, and scales."""

    scales: Scales
    num_directions: Positive = 1

    def scale_list(self) -> list[float]:
        """The scales themselves."""
        return self.scales.values() if isinstance(self.scales, Range) else list(self.scales)

    def shape(self) -> tuple[int, int]:
        """The numbers of directions and of scales."""
        return self.num_directions, self.scales.num if isinstance(self.scales, Range) else len(
            self.scales
        )


def _method_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError(f"a method's name must be printable text, got {name!r}; rename it")
    return name


MethodName = Annotated[str, AfterValidator(_method_name), Field(max_length=200)]


class SweepConfig(Strict):
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
                "starts.num_directions × problems.num_features must be at most "
                f"{LARGEST_PROBLEM:,} "
                f"(8 GB), got {directions:,} × {features:,}; choose fewer directions"
            )
        samples = min(self.problems.num_samples)
        for name, spec in self.methods.items():
            size = getattr(spec, "batch_size", None)
            if size is not None and size > samples:
                raise ValueError(
                    f"methods.{name}.batch_size must be at most num_samples, got {size} with "
                    f"num_samples = {samples}"
                )
        lists = (self.problems.seed_list(), self.methods, *self._problem_lists())
        runs = math.prod(map(len, lists)) * math.prod(self.starts.shape())
        if runs > LARGEST_SWEEP:
            raise ValueError(
                "problems × seeds × methods × directions × scales must be at most "
                f"{LARGEST_SWEEP:,} "
                f"runs, got {runs:,}; split the sweep"
            )
        return self

    def _problem_lists(self) -> tuple[Sized, ...]:
        problems = self.problems
        return (
            problems.num_samples,
            problems.num_features,
            problems.condition_number,
            problems.solution_norm,
        )
