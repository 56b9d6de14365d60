"""The TOML file of a sweep, validated: problems × seeds × steps × methods × starts × scales."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, PrivateAttr, Tag, TypeAdapter, model_validator

from .fields import (
    LARGEST_PROBLEM,
    LARGEST_RANGE,
    LARGEST_SWEEP,
    LIST,
    SWEPT,
    TABLE,
    AtLeastZero,
    Axis,
    Count,
    IsNumber,
    Positive,
    Scale,
    Strict,
    one_of,
)
from .methods import MethodSpec
from .problems import Problems, Regression

RENAMED = {"gradient_descent": "gd", "weight_norm": "wn"}
NOT_STEPS = ("kind", "schedule", "blocks")  # keys of a method whose text is no step


class Range(Strict):
    """Evenly spaced numbers: {start = 0.1, stop = 4.0, num = 40}, or with spacing = "geometric"."""

    start: Scale = Field(description="the first")
    stop: Scale = Field(description="the last")
    num: Annotated[int, IsNumber, Field(ge=1, le=LARGEST_RANGE)] = Field(description="how many")
    spacing: Literal["linear", "geometric"] = Field(
        default="linear", description='"linear" or "geometric"'
    )

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
        if self.start == self.stop and self.num > 1:
            raise ValueError(f"a range of several numbers needs two ends, {ends}")
        return self

    def values(self) -> list[float]:
        """The numbers."""
        space = np.linspace if self.spacing == "linear" else np.geomspace
        return [float(value) for value in space(self.start, self.stop, self.num)]


Scales = Annotated[
    Annotated[Axis[Scale], Tag(LIST)] | Annotated[Range, Tag(TABLE)],
    one_of("a list of numbers or a range { start = …, stop = …, num = … }"),
]


class Starts(Strict):
    """Where runs start: random directions per seed, and scales."""

    scales: Scales = Field(
        description="list of numbers, or a range { start, stop, num }: g0, a dimension"
    )
    num_directions: Positive = Field(
        default=1, description="random directions per seed; the dimension `start`"
    )

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

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)] = Field(
        description="the results are written to NAME.nc"
    )
    tolerance: AtLeastZero = Field(default=1e-5, description="runs stop at loss ≤ tolerance")
    max_steps: Count = Field(default=1_000_000, description="updates a run may make")
    steps: Axis[AtLeastZero] | None = Field(
        default=None,
        description='step sizes, a dimension: in a method "step" stands for each of them',
    )
    problems: Problems = Field(default=Regression(), description="what is solved: see below")
    starts: Starts = Field(description="where runs start: see below")
    methods: Annotated[dict[MethodName, MethodSpec], Field(min_length=1)] = Field(
        description="one table [methods.NAME] each; the names label the dimension `algorithm`"
    )
    _tables: list[dict[str, Any]] = PrivateAttr()
    _written: Any = PrivateAttr()

    @model_validator(mode="wrap")
    @classmethod
    def _for_each_step(cls, data: Any, validate: Any) -> SweepConfig:
        """Put each step where a method says "step"; what is wrong is said of the first."""
        if not isinstance(data, dict) or not isinstance(data.get("methods"), dict):
            checked: SweepConfig = validate(data)
            object.__setattr__(checked, "_tables", [checked.methods])
            object.__setattr__(checked, "_written", None)
            return checked
        methods, steps = data["methods"], data.get("steps")
        _refuse_old_names(methods)
        each = steps if isinstance(steps, list) else []
        if each and not _mentions(methods):
            raise ValueError('steps is given and no method uses it: write a step as "step"')
        first = _with_step(methods, each[0]) if each else methods
        config: SweepConfig = validate({**data, "methods": first})
        kind = TypeAdapter(dict[str, MethodSpec])
        more = [kind.validate_python(_with_step(methods, step)) for step in each[1:]]
        tables = [config.methods, *more]
        object.__setattr__(config, "_tables", tables)
        object.__setattr__(config, "_written", methods)
        return config

    @model_validator(mode="after")
    def _check(self) -> SweepConfig:
        combinations, directions = self.problems.combinations(), self.starts.num_directions
        entries = max(map(self.problems.entries, combinations))
        if directions * entries > LARGEST_PROBLEM:
            raise ValueError(
                "starts.num_directions × problems.num_features must be at most "
                f"{LARGEST_PROBLEM:,} (8 GB), got {directions:,} × {entries:,}; choose fewer "
                "directions"
            )
        samples = min(map(self.problems.num_samples_of, combinations))
        for name, spec in self.methods.items():
            size = getattr(spec, "batch_size", None)
            if size is not None and size > samples:
                raise ValueError(
                    f"methods.{name}.batch_size must be at most num_samples, "
                    f"got {size} with num_samples = {samples}"
                )
        lists = (combinations, self.problems.seed_list(), self.steps or [0], self.methods)
        runs = math.prod(map(len, lists)) * math.prod(self.starts.shape())
        if runs > LARGEST_SWEEP:
            raise ValueError(
                f"problems × seeds × steps × methods × directions × scales must be at most "
                f"{LARGEST_SWEEP:,} runs, got {runs:,}; split the sweep"
            )
        return self

    def tables(self) -> list[dict[str, Any]]:
        """The methods by name for each step; one table where there are no steps."""
        return self._tables

    def written(self) -> dict[str, Any]:
        """All that the file says, defaults included, as JSON can hold it."""
        content: dict[str, Any] = self.model_dump(mode="json", exclude={"methods"})
        methods = self._written
        if methods is None or not self.steps:
            methods = {name: spec.model_dump(mode="json") for name, spec in self.methods.items()}
        return content | {"methods": methods} | {"data": self.problems.identity().get("data")}


def _mentions(value: Any) -> bool:
    """Whether a step is left to the sweep somewhere in a table."""
    if isinstance(value, dict):
        return any(_mentions(inner) for key, inner in value.items() if key not in NOT_STEPS)
    return any(map(_mentions, value)) if isinstance(value, list) else bool(value == SWEPT)


def _with_step(value: Any, step: Any) -> Any:
    """The same with a step instead of the word."""
    if isinstance(value, dict):
        return {k: v if k in NOT_STEPS else _with_step(v, step) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_step(inner, step) for inner in value]
    return step if isinstance(value, str) and value == SWEPT else value


def _refuse_old_names(methods: dict[str, Any]) -> None:
    for name, table in methods.items():
        kind = table.get("kind") if isinstance(table, dict) else None
        if isinstance(kind, str) and kind in RENAMED:
            raise ValueError(
                f'methods.{name}.kind: "{kind}" is called "{RENAMED[kind]}" since 0.2; write '
                f'kind = "{RENAMED[kind]}"'
            )
