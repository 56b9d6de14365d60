"""What a run or a flow passed on its way, as arrays, a dataset or a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Vector

if TYPE_CHECKING:
    import pandas
    import xarray

KEPT = ("direction", "weights", "invariant")  # what a history may hold besides its few numbers
ABOUT = {
    "loss": "loss",
    "scale": "g, the scale of the weights; ‖x‖ for gradient descent",
    "direction_norm": "‖w‖",
    "perp_norm": "‖x⊥‖, the part of x that the data cannot see",
    "weights_norm": "‖x‖",
    "direction_perp_norm": "‖w⊥‖/‖w‖",
    "invariant": "log(‖w⊥‖/‖w‖) + g²/2c, which the WN flow keeps",
    "direction": "the unit direction w/‖w‖",
    "weights": "x, the weights",
}
# dimensions after the first, by how many there are: weights (d,), matrix sensing's W (d, r) and X
INNER = {0: (), 1: ("feature",), 2: ("row", "column")}


def invariant(perp_norm: Any, scale: Any, ratio: Any) -> Any:
    """log ‖w⊥‖ + g²/2c for a unit w, which the WN flow keeps; −inf in the row space, NaN for c = 0.

    Parameters
    ----------
    perp_norm, scale, ratio : numbers or arrays that broadcast
        ‖w⊥‖/‖w‖, g and c ≥ 0, the scale's rate over the direction's.

    Returns
    -------
    array
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return invariant_of_log(np.log(perp_norm), scale, ratio)


def invariant_of_log(log_perp: Any, scale: Any, ratio: Any) -> Any:
    """The same from log ‖w⊥‖, which does not underflow."""
    log_q, g, c = np.broadcast_arrays(log_perp, scale, ratio)
    with np.errstate(all="ignore"):
        value = log_q + np.square(g) / (2.0 * c)
    return np.where(c > 0, np.where(np.isneginf(log_q), -np.inf, value), np.nan)


def records_invariant(perp_norm: Vector, scale: Vector, ratio: Vector) -> Vector:
    """The invariant of each record; NaN where there is one scale per column, which has none."""
    if scale.ndim > 1:
        return np.full(len(scale), np.nan)
    return np.asarray(invariant(perp_norm, scale, ratio))


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Every k-th iterate of a run, one entry per record.

    Gradient descent has scale ‖x‖ and direction_norm 1. With `blocks="columns"` scale and
    direction_norm have one column per scale.

    Attributes
    ----------
    step : int array
        The step numbers, multiples of `every`.
    loss, scale : arrays
    direction_norm : array
        ‖w‖, which grows for WN and batch norm and is 1 for rPGD.
    perp_norm : array
        ‖x⊥‖, the norm of the part of the weights orthogonal to the row space.
    weights_norm : array
        ‖x‖.
    direction_perp_norm : array
        ‖w⊥‖/‖w‖, which is defined at scale 0 too.
    every : int
        The spacing: what `record` asked for, doubled as often as it took to stay within two million
        records, or half a gigabyte of directions or weights.
    ratio : array
        c, the scale's step over the direction's (times ‖w0‖² for WN), with the values of the
        schedules that led to each record and the scale there; NaN for gradient descent and
        batch norm, for steps that are callables unless the invariant is kept, and for matrix
        sensing.
    direction, weights : (n, d) arrays, or None
        w/‖w‖ and x, if `keep` asked for them; (n, d, r) and (n, d, d) for matrix sensing.
    invariant : array or None
        log(‖w⊥‖/‖w‖) + g²/2c, if `keep` asked for it; NaN where c is 0 or NaN.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> keep = ("direction", "invariant")
    >>> result = wn.run(wn.RPGD(0.01, 0.01), problem, 2.0, w0, record=100, keep=keep)
    >>> result.history
    History(6 records of every 100th step, 0 … 500: step, loss, scale, …, direction, invariant)
    >>> result.history.to_dataset().direction.sel(step=200).shape
    (50,)
    >>> result.history.to_dataframe().columns[-1]
    'direction_49'
    """

    step: NDArray[np.int64]
    loss: Vector
    scale: Vector
    direction_norm: Vector
    perp_norm: Vector
    weights_norm: Vector
    direction_perp_norm: Vector
    every: int
    ratio: Vector
    direction: Vector | None = None
    weights: Vector | None = None
    invariant: Vector | None = None

    def __len__(self) -> int:
        return int(self.step.size)

    def __repr__(self) -> str:
        kept = "".join(f", {name}" for name in KEPT if getattr(self, name) is not None)
        every = "step" if self.every == 1 else f"{self.every}{_ordinal(self.every)} step"
        size = f"{len(self)} record{'s' * (len(self) != 1)} of every {every}"
        span = f", {self.step[0]} … {self.step[-1]}" if len(self) else ""
        return f"History({size}{span}: step, loss, scale, …{kept})"

    def measured_invariant(self) -> Vector:
        """The invariant, also where it was not asked for but is known; NaN elsewhere."""
        if self.invariant is not None:
            return self.invariant
        return records_invariant(self.direction_perp_norm, self.scale, self.ratio)

    def to_dataset(self) -> xarray.Dataset:
        """Everything recorded, over the dimension `step`; directions and weights over `feature`.

        Returns
        -------
        xarray.Dataset
        """
        return to_dataset("step", self.step, self._columns(), {"every": self.every})

    def to_dataframe(self) -> pandas.DataFrame:
        """One row per record, indexed by `step`; weights as columns weights_0, weights_1, ….

        Returns
        -------
        pandas.DataFrame
        """
        return to_dataframe("step", self.step, self._columns())

    def _columns(self) -> dict[str, Any]:
        names = [name for name in ABOUT if getattr(self, name) is not None]
        return {name: getattr(self, name) for name in names}


def _ordinal(number: int) -> str:
    """How an ordinal number ends."""
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def to_dataset(
    name: str, index: Any, columns: Mapping[str, Any], attributes: Mapping[str, Any]
) -> xarray.Dataset:
    """Arrays along one axis as a dataset; further axes are features, or rows and columns."""
    import xarray

    variables = {}
    for key, values in columns.items():
        inner = ("block",) if key in ("scale", "direction_norm") else INNER[values.ndim - 1]
        if key == "direction" and values.ndim == 3:
            inner = ("row", "factor")
        dims = (name, *inner[: values.ndim - 1])
        variables[key] = (dims, values, {"long_name": ABOUT[key]})
    return xarray.Dataset(variables, {name: np.asarray(index)}, dict(attributes))


def to_dataframe(name: str, index: Any, columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Arrays along one axis as a data frame: one row per entry, one column per number."""
    import pandas

    flat: dict[str, Any] = {}
    for key, values in columns.items():
        if values.ndim == 1:
            flat[key] = values
            continue
        for place in np.ndindex(values.shape[1:]):
            flat[f"{key}_{'_'.join(map(str, place))}"] = values[(slice(None), *place)]
    return pandas.DataFrame(flat, index=pandas.Index(np.asarray(index), name=name))
