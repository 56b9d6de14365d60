"""The problems of a sweep file: made from seeds, or the user's own data."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Discriminator, Field, PrivateAttr, Tag, ValidationInfo, model_validator

from .._support.numeric import Array
from ..datasets import (
    make_generalized_linear,
    make_regression,
    make_sensing,
    random_direction,
    sensing_start,
)
from ..problems import GeneralizedLinear, LeastSquares, Problem
from ..problems.sensing.matrix_sensing import RECOVERY, VARIABLES
from .data import Data, load_npy, load_npz, load_table
from .fields import (
    LARGEST_PROBLEM,
    AtLeastZero,
    Condition,
    Norm,
    OneOrMore,
    Positive,
    Seeds,
    Strict,
)

Values = dict[str, Any]
LossName = Literal["squared", "logistic", "poisson", "huber"]
START_SEEDS = 1_000_003  # start i of seed s has the seed s · START_SEEDS + i
_LOSS = '"squared" (least squares), "logistic", "poisson" or "huber"'


class ProblemSpec(Strict, ABC):
    """What every kind of problem in a sweep file offers."""

    seeds: Seeds = Field(
        default=1,
        description="a number n, for the seeds 0 … n − 1, or a list of seeds; a dimension",
    )
    swept: ClassVar[tuple[str, ...]] = ()  # keys that may be lists, in the order of the dimensions
    variables: ClassVar[dict[str, str]] = dict(Problem.variables)
    recipe: ClassVar[str]  # the problem of a cell, as Python
    start_recipe: ClassVar[str] = "wn.datasets.random_direction(num_features, start_seed)"

    @property
    def is_least_squares(self) -> bool:
        """Whether the theory knows where runs end, given ‖x*‖ and ‖w0⊥‖."""
        return getattr(self, "loss", None) == "squared"

    def seed_list(self) -> Sequence[int]:
        """The seeds themselves."""
        return range(self.seeds) if isinstance(self.seeds, int) else list(self.seeds)

    def values(self, name: str) -> list[Any]:
        """The values of a key, which may be one."""
        value = getattr(self, name)
        return list(value) if isinstance(value, list) else [value]

    def axes(self) -> dict[str, list[Any]]:
        """The keys that are lists in the file: each becomes a dimension."""
        return {name: self.values(name) for name in self.swept if self._is_list(name)}

    def scalars(self) -> Values:
        """The other keys that describe the problems: each becomes a coordinate."""
        single = {name: getattr(self, name) for name in self.swept if not self._is_list(name)}
        loss = getattr(self, "loss", None)
        return single if loss is None else single | {"loss_function": loss}

    def _is_list(self, name: str) -> bool:
        return isinstance(getattr(self, name), list)

    def combinations(self) -> list[Values]:
        """The parameters of every problem, without its seed."""
        lists = itertools.product(*(self.values(name) for name in self.swept))
        return [dict(zip(self.swept, values, strict=True)) for values in lists]

    @abstractmethod
    def identity(self) -> Values:
        """What else the numbers of a run depend on."""

    @abstractmethod
    def entries(self, values: Values) -> int:
        """How many numbers a start direction has."""

    @abstractmethod
    def num_samples_of(self, values: Values) -> int:
        """How many samples a problem has, for mini-batches."""

    @abstractmethod
    def build(self, values: Values, seed: int) -> Problem:
        """The problem of these parameters and this seed."""

    def direction(self, values: Values, seed: int) -> Array:
        """The start direction of this seed."""
        return np.asarray(random_direction(self.entries(values), seed))

    def directions(self, values: Values, seed: int, count: int) -> Array:
        """The start directions of a problem."""
        first = seed * START_SEEDS
        return np.array([self.direction(values, first + index) for index in range(count)])


class Regression(ProblemSpec):
    """Synthetic problems: every combination of the lists, each for every seed."""

    kind: Literal["regression"] = Field(
        default="regression", description='"regression", the default'
    )
    num_samples: OneOrMore[Positive] = Field(default=20, description="number or list: rows of A")
    num_features: OneOrMore[Positive] = Field(
        default=50, description="number or list: columns of A"
    )
    condition_number: OneOrMore[Condition] = Field(
        default=1.0,
        description="number or list, at least 1: of A; its singular values are geometric",
    )
    solution_norm: OneOrMore[Norm] = Field(default=3.0, description="number or list: ‖x*‖")
    noise: OneOrMore[AtLeastZero] = Field(
        default=0.0, description="number or list: standard deviation of the noise on y"
    )
    loss: LossName = Field(default="squared", description=_LOSS)

    swept: ClassVar[tuple[str, ...]] = (
        "num_samples",
        "num_features",
        "condition_number",
        "solution_norm",
        "noise",
    )
    recipe: ClassVar[str] = (
        "wn.datasets.make_regression(num_samples, num_features, condition_number, solution_norm, "
        "noise=noise, seed=seed), or make_generalized_linear with the same arguments and "
        "loss=loss_function if that is not squared"
    )

    @model_validator(mode="after")
    def _check(self) -> Regression:
        samples, features = max(self.values("num_samples")), max(self.values("num_features"))
        if samples * features > LARGEST_PROBLEM:
            raise ValueError(
                f"num_samples × num_features must be at most {LARGEST_PROBLEM:,} (8 GB), "
                f"got {samples:,} × {features:,}; choose smaller problems"
            )
        return self

    def identity(self) -> Values:
        """The loss."""
        return {"loss": self.loss}

    def entries(self, values: Values) -> int:
        """The number of features."""
        return int(values["num_features"])

    def num_samples_of(self, values: Values) -> int:
        """The number of rows."""
        return int(values["num_samples"])

    def build(self, values: Values, seed: int) -> Problem:
        """From `wn.datasets`."""
        if self.loss == "squared":
            return make_regression(**values, seed=seed)
        return make_generalized_linear(**values, loss=self.loss, seed=seed)


class Sensing(ProblemSpec):
    """Matrix sensing, as in `wn.datasets.make_sensing`; scales are g0 = α²."""

    kind: Literal["sensing"] = Field(description='"sensing"')
    size: OneOrMore[Positive] = Field(default=30, description="number or list: d, the size of X")
    rank: OneOrMore[Positive] = Field(
        default=4, description="number or list: of the matrix measured"
    )
    num_measurements: OneOrMore[Positive] = Field(default=60, description="number or list")
    noise: OneOrMore[AtLeastZero] = Field(
        default=0.0, description="number or list: standard deviation of the noise on y"
    )

    swept: ClassVar[tuple[str, ...]] = ("size", "rank", "num_measurements", "noise")
    variables: ClassVar[dict[str, str]] = VARIABLES | RECOVERY
    recipe: ClassVar[str] = (
        "wn.datasets.make_sensing(size, rank, num_measurements, seed, noise=noise)"
    )
    start_recipe: ClassVar[str] = 'wn.datasets.sensing_start(size, seed=start_seed)["direction"]'

    @model_validator(mode="after")
    def _check(self) -> Sensing:
        size, rank = self.values("size"), max(self.values("rank"))
        if rank > min(size):
            raise ValueError(f"rank must be at most size, got {rank} with size = {min(size)}")
        number = max(self.values("num_measurements"))
        if number * max(size) ** 2 > LARGEST_PROBLEM:
            raise ValueError(
                f"num_measurements × size² must be at most {LARGEST_PROBLEM:,} (8 GB), got "
                f"{number:,} × {max(size):,}²; choose smaller problems"
            )
        return self

    def identity(self) -> Values:
        """The kind."""
        return {"kind": self.kind}

    def entries(self, values: Values) -> int:
        """The entries of a square factor."""
        return int(values["size"]) ** 2

    def num_samples_of(self, values: Values) -> int:
        """The number of measurements."""
        return int(values["num_measurements"])

    def build(self, values: Values, seed: int) -> Problem:
        """From `wn.datasets`."""
        return make_sensing(**values, seed=seed)

    def direction(self, values: Values, seed: int) -> Array:
        """A square factor with unit columns."""
        return np.asarray(sensing_start(int(values["size"]), seed=seed)["direction"])


class OwnData(ProblemSpec):
    """The user's own data; seeds are those of the start directions.

    Paths are relative to the sweep file. Logistic labels are 0 and 1, or −1 and 1.
    """

    kind: Literal["data"] = Field(description='"data"')
    file: str | None = Field(
        default=None,
        description="an npz file with arrays A (m, d) and y (m,), or a CSV, TSV or Parquet table",
    )
    A: str | None = Field(default=None, description="an npy file with A, instead of `file`")
    y: str | None = Field(default=None, description="an npy file with y, with `A`")
    target: str | None = Field(default=None, description="of a table: the column that is y")
    drop: list[str] = Field(default=[], description="of a table: columns to leave out")
    loss: LossName = Field(default="squared", description=_LOSS)

    recipe: ClassVar[str] = (
        "wn.LeastSquares(A, y), or wn.GeneralizedLinear(A, y, loss_function) if that is not squared"
    )
    _data: Data = PrivateAttr()

    @model_validator(mode="after")
    def _load(self, info: ValidationInfo) -> OwnData:
        folder = Path((info.context or {}).get("folder", "."))
        table = self.file is not None and Path(self.file).suffix.lower() != ".npz"
        if not table and (self.target is not None or self.drop):
            given = "target" if self.target is not None else "drop"
            raise ValueError(f"{given} is for tables (CSV, TSV, Parquet); leave it out")
        if self.file is not None and (self.A or self.y):
            raise ValueError("give either file, or A and y, not both")
        if self.file is None:
            if self.A is None or self.y is None:
                raise ValueError('data is missing: give file = "data.npz", or A and y as npy files')
            data = load_npy(folder / self.A, folder / self.y)
        elif Path(self.file).suffix.lower() == ".npz":
            data = load_npz(folder / self.file)
        elif self.target is None:
            raise ValueError(f"target is missing: which column of {self.file} is y?")
        else:
            data = load_table(folder / self.file, self.target, self.drop)
        object.__setattr__(self, "_data", data)
        self.build({}, 0)
        return self

    def scalars(self) -> Values:
        """The shape of A as well."""
        m, d = self._data.A.shape
        return super().scalars() | {"num_samples": m, "num_features": d}

    def identity(self) -> Values:
        """The numbers themselves."""
        return {"data": self._data.digest, "loss": self.loss}

    def entries(self, values: Values) -> int:
        """The number of features."""
        return int(self._data.A.shape[1])

    def num_samples_of(self, values: Values) -> int:
        """The number of rows."""
        return int(self._data.A.shape[0])

    def build(self, values: Values, seed: int) -> Problem:
        """The one problem there is."""
        if self.loss == "squared":
            return LeastSquares(self._data.A, self._data.y)
        return GeneralizedLinear(self._data.A, self._data.y, loss=self.loss)


KINDS: dict[str, type[ProblemSpec]] = {
    "regression": Regression,
    "sensing": Sensing,
    "data": OwnData,
}


def _kind(value: Any) -> str:
    """Which kind of problems a table is meant to be."""
    kind = value.get("kind", "regression") if isinstance(value, dict) else value.kind
    return kind if isinstance(kind, str) else "?"


Problems = Annotated[
    Annotated[Regression, Tag("regression")]
    | Annotated[Sensing, Tag("sensing")]
    | Annotated[OwnData, Tag("data")],
    Discriminator(
        _kind,
        custom_error_type="kind",
        custom_error_message='kind should be "regression", "sensing" or "data"',
    ),
]
