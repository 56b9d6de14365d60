"""Methods in a sweep file: a table per method, whose keys are the parameters of its row in the
registry.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_type_hints

from pydantic import Field, Tag, create_model, model_serializer, model_validator

from ..methods import GradientMethod, schedules
from ..methods.contract import Method
from ..methods.registry import REGISTRY, Entry
from ..methods.schedules import Step
from .fields import NUMBER, TABLE, AtLeastZero, Count, Positive, Real, Seed, Strict, one_of


class ScheduledStep(Strict):
    """A step that is more than a number, as in {schedule = "two_phase", before = 0, after = 0.1,
    switch = 5001}.
    """

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
        needed, optional = STEP_KINDS[self.schedule]
        missing = [name for name in needed if name not in given]
        foreign = [name for name in given if name not in (*needed, *optional)]
        if missing or foreign:
            problems = [f"{name} is missing" for name in missing] + [
                f"{name} does not belong to it" for name in foreign
            ]
            raise ValueError(f"schedule {self.schedule!r}: {', '.join(problems)}")
        built: schedules.Schedule = getattr(schedules, self.schedule)(**given)
        return built


STEP_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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
_TRAINING = {field.name: field.default for field in fields(GradientMethod)}
_TYPES: dict[Any, Any] = {
    Step: StepSpec,
    float: Real,
    float | None: Real | None,
    bool: Annotated[bool, Field(strict=True)],
    int: Count,
    str: str,
}
# narrower than their type
_BY_NAME: dict[str, Any] = {"batch_size": Positive | None, "seed": Seed | None}


class Spec(Strict):
    """The parameters of one method; the class of each is made from its row."""

    row: ClassVar[Entry]
    kind: str

    def build(self) -> Method:
        """The method."""
        built: Method = self.row.method(
            **{name: _step(getattr(self, name)) for name in self.row.parameters}
        )
        return built

    @model_validator(mode="after")
    def _check(self) -> Self:
        built = self.build()
        if built.sampling is not None and getattr(self, "seed", None) is None:
            raise ValueError(
                "seed is missing: batch_size and label_noise need one, so that the sweep can be "
                "repeated"
            )
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: Any) -> dict[str, Any]:
        """Without the training options that have their defaults, so that the hash of what has
        none stays what it was.
        """
        return {
            name: value
            for name, value in write(self).items()
            if name not in _TRAINING or value != _TRAINING[name]
        }


def _step(value: Any) -> Step:
    return value.build() if isinstance(value, ScheduledStep) else value


def _spec(row: Entry) -> type[Spec]:
    """The table of a method, from its row and the fields of its class."""
    known, types = {field.name: field for field in fields(row.method)}, get_type_hints(row.method)
    keys: dict[str, Any] = {"kind": (Literal[row.name], ...)}
    for name in row.parameters:
        kind = _BY_NAME.get(name) or _TYPES.get(types[name])
        if kind is None:
            raise TypeError(
                f"{row.method.__name__}.{name} must be a Step, float, float | None, int, bool or "
                "str to be set in a sweep file"
            )
        keys[name] = (kind, ... if known[name].default is MISSING else known[name].default)
    spec: type[Spec] = create_model(f"{row.method.__name__}Spec", __base__=Spec, **keys)
    spec.row = row
    spec.__module__ = __name__
    globals()[spec.__name__] = spec  # where pickle looks for it
    return spec


SPECS = {row.name: _spec(row) for row in REGISTRY}

if TYPE_CHECKING:
    MethodSpec = Spec
else:
    MethodSpec = Annotated[reduce(or_, SPECS.values()), Field(discriminator="kind")]
