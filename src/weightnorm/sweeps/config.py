"""The TOML file of a sweep, validated: problems × seeds × steps × methods × starts × scales."""

from __future__ import annotations

import json
import math
from functools import lru_cache
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
STEP_KEYS = ("step", "direction_step", "scale_step")  # of a method: where "step" may stand


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
    """A whole sweep: what a sweep file says, or the same from Python.

    Parameters
    ----------
    name : str
        The results are written to NAME.nc.
    starts : dict
        Where runs start: `scales` and `num_directions`.
    methods : dict of str to dict
        One table per method, each with its `kind` and its steps.
    problems : dict, optional
        What is solved; a list becomes a dimension. Regression problems by default.
    steps : list of float, optional
        Step sizes, a dimension: in a method "step" stands for each of them.
    tolerance : float
        Runs stop at loss ≤ tolerance.
    max_steps : int
        Updates a run may make.
    gradient_tolerance : float, optional
        Runs have converged at a gradient of this share of its terms.

    Examples
    --------
    >>> from weightnorm.sweeps import SweepConfig
    >>> config = SweepConfig(
    ...     name="two-scales",
    ...     starts={"scales": [0.5, 2.0]},
    ...     methods={"rpgd": {"kind": "rpgd", "direction_step": 0.1, "scale_step": 0.1}},
    ... )
    >>> config.tolerance
    1e-05
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)] = Field(
        description="the results are written to NAME.nc"
    )
    tolerance: AtLeastZero = Field(default=1e-5, description="runs stop at loss ≤ tolerance")
    max_steps: Count = Field(default=1_000_000, description="updates a run may make")
    gradient_tolerance: AtLeastZero | None = Field(
        default=None, description="runs have converged at a gradient of this share of its terms"
    )
    steps: Axis[AtLeastZero] | None = Field(
        default=None,
        description='step sizes, a dimension: in a method "step" stands for each of them',
    )
    problems: Problems = Field(default=Regression(), description="what is solved: see below")
    starts: Starts = Field(description="where runs start: see below")
    methods: Annotated[dict[MethodName, MethodSpec], Field(min_length=1)] = Field(
        description="one table [methods.NAME] each; the names label the dimension `algorithm`"
    )
    _written: dict[str, Any] = PrivateAttr()

    @model_validator(mode="wrap")
    @classmethod
    def _for_each_step(cls, data: Any, validate: Any) -> SweepConfig:
        """Put each step where a method says "step"; what is wrong is said of the first."""
        if not isinstance(data, dict) or not isinstance(data.get("methods"), dict):
            return cls._as(validate(data))
        methods, steps = data["methods"], data.get("steps")
        _refuse_old_names(methods)
        each = steps if isinstance(steps, list | tuple) else []
        if each and not any(map(_mentions_step, methods.values())):
            raise ValueError('steps is given and no method uses it: write a step as "step"')
        first = dict(methods)
        if each:
            first = {name: _with_step(table, each[0]) for name, table in methods.items()}
        config = cls._as(validate({**data, "methods": first}))
        object.__setattr__(config, "_written", methods)
        config.tables()  # so that a step that does not work is found out now
        return config

    @classmethod
    def _as(cls, config: Any) -> SweepConfig:
        """A configuration that has been checked, as it is."""
        assert isinstance(config, cls)
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
        if not self.steps:
            return [dict(self.methods)]
        return _tables(json.dumps(self._written, sort_keys=False, default=str), tuple(self.steps))

    def written(self) -> dict[str, Any]:
        """All that the file says, defaults included, as JSON can hold it."""
        content: dict[str, Any] = self.model_dump(mode="json", exclude={"methods"})
        methods = {name: spec.model_dump(mode="json") for name, spec in self.methods.items()}
        for name, table in methods.items():
            for key in STEP_KEYS if self.steps else ():
                if key in table and _leaves_open(self._written[name].get(key)):
                    table[key] = self._written[name][key]
        return content | {"methods": methods} | {"data": self.problems.identity().get("data")}


@lru_cache(maxsize=8)
def _tables(written: str, steps: tuple[float, ...]) -> list[dict[str, Any]]:
    """The methods of a file for each step."""
    kind, methods = TypeAdapter(dict[str, MethodSpec]), json.loads(written)
    return [
        kind.validate_python({name: _with_step(table, step) for name, table in methods.items()})
        for step in steps
    ]


def _leaves_open(value: Any) -> bool:
    """Whether a step is left to the sweep, itself or inside a schedule."""
    if isinstance(value, dict):
        return any(_leaves_open(inner) for key, inner in value.items() if key != "schedule")
    return any(map(_leaves_open, value)) if isinstance(value, list) else bool(value == SWEPT)


def _mentions_step(table: Any) -> bool:
    """Whether a method leaves one of its steps to the sweep."""
    return isinstance(table, dict) and any(_leaves_open(table.get(key)) for key in STEP_KEYS)


def _with_step(table: Any, step: Any) -> Any:
    """A method's table with a step instead of the word, where a step may stand."""
    if not isinstance(table, dict):
        return table
    return {k: _filled(v, step) if k in STEP_KEYS else v for k, v in table.items()}


def _filled(value: Any, step: Any) -> Any:
    if isinstance(value, dict):
        return {k: v if k == "schedule" else _filled(v, step) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(inner, step) for inner in value]
    return step if isinstance(value, str) and value == SWEPT else value


def _refuse_old_names(methods: dict[str, Any]) -> None:
    for name, table in methods.items():
        kind = table.get("kind") if isinstance(table, dict) else None
        if isinstance(kind, str) and kind in RENAMED:
            raise ValueError(
                f'methods.{name}.kind: "{kind}" is called "{RENAMED[kind]}" since 0.2; write '
                f'kind = "{RENAMED[kind]}"'
            )
