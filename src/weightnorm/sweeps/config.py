"""The TOML file of a sweep, validated: problems × seeds × methods × starts × scales."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .. import schedules
from ..methods import RPGD, GradientDescent, WeightNorm
from ..methods.base import Method
from ..schedules import Step


class ConfigError(ValueError):
    """A sweep file that cannot be used, with every problem named by its key."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(_Strict):
    """Evenly spaced numbers: {start = 0.1, stop = 4.0, num = 40}, or with spacing = "geometric"."""

    start: float
    stop: float
    num: Annotated[int, Field(ge=1)]
    spacing: Literal["linear", "geometric"] = "linear"

    def values(self) -> list[float]:
        """The numbers."""
        space = np.linspace if self.spacing == "linear" else np.geomspace
        return [float(value) for value in space(self.start, self.stop, self.num)]


Numbers = Annotated[list[float], Field(min_length=1)] | Range
Positive = Annotated[int, Field(ge=1)]


class Problems(_Strict):
    """Regression problems: every combination of these lists, each for every seed."""

    num_samples: Annotated[list[Positive], Field(min_length=1)] = [20]
    num_features: Annotated[list[Positive], Field(min_length=1)] = [50]
    condition_number: Annotated[list[Annotated[float, Field(ge=1)]], Field(min_length=1)] = [1.0]
    solution_norm: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)] = [3.0]
    seeds: Positive | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = 1

    def seed_list(self) -> Sequence[int]:
        """The seeds themselves; a number n means 0 … n − 1."""
        return range(self.seeds) if isinstance(self.seeds, int) else list(self.seeds)

    def combinations(self) -> list[dict[str, Any]]:
        """The parameters of every problem, without its seed."""
        names = ("num_samples", "num_features", "condition_number", "solution_norm")
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*(getattr(self, n) for n in names))]


class Starts(_Strict):
    """Where runs start: random directions per seed, and scales."""

    scales: Numbers
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
    value: float | None = None
    before: float | None = None
    after: float | None = None
    switch: int | None = None
    values: list[float] | None = None
    switches: list[int] | None = None
    factor: float | None = None
    scale_power: float | None = None
    norm_power: float | None = None

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

StepSpec = Annotated[float, Field(ge=0)] | ScheduledStep


def _step(spec: float | ScheduledStep) -> Step:
    return spec.build() if isinstance(spec, ScheduledStep) else spec


class GradientDescentSpec(_Strict):
    """kind = "gradient_descent"."""

    kind: Literal["gradient_descent"]
    step: StepSpec

    def build(self) -> Method:
        """The method."""
        return GradientDescent(_step(self.step))


class RPGDSpec(_Strict):
    """kind = "rpgd"."""

    kind: Literal["rpgd"]
    direction_step: StepSpec
    scale_step: StepSpec

    def build(self) -> Method:
        """The method."""
        return RPGD(_step(self.direction_step), _step(self.scale_step))


class WeightNormSpec(_Strict):
    """kind = "weight_norm"."""

    kind: Literal["weight_norm"]
    direction_step: StepSpec
    scale_step: StepSpec
    initial_norm: Annotated[float, Field(gt=0)] = 1.0

    def build(self) -> Method:
        """The method."""
        return WeightNorm(_step(self.direction_step), _step(self.scale_step), initial_norm=self.initial_norm)


MethodSpec = Annotated[GradientDescentSpec | RPGDSpec | WeightNormSpec, Field(discriminator="kind")]


class SweepConfig(_Strict):
    """A whole sweep."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    tolerance: Annotated[float, Field(ge=0)] = 1e-5
    max_steps: Annotated[int, Field(ge=0)] = 1_000_000
    problems: Problems = Problems()
    starts: Starts
    methods: Annotated[dict[str, MethodSpec], Field(min_length=1)]


def load_config(path: Path) -> SweepConfig:
    """Read and check a sweep file; `ConfigError` names every key that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    try:
        return SweepConfig.model_validate(data)
    except ValidationError as error:
        lines = [f"  {_key(item['loc'])}: {item['msg']}" for item in error.errors()]
        raise ConfigError("\n".join([f"{path}: {len(lines)} problem{'s' * (len(lines) > 1)}", *lines])) from None


def _key(location: tuple[int | str, ...]) -> str:
    """The key as written in the file, without the names of pydantic's own union members."""
    kinds = {"gradient_descent", "rpgd", "weight_norm"}
    parts = [str(part) for part in location if part not in kinds and not str(part)[:1].isupper() and "[" not in str(part)]
    return (
        ".".join(part for part in parts if part not in ("float", "int") and not part.startswith("constrained-")) or "the file"
    )
