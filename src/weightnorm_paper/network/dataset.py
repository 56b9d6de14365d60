"""The results of the network experiment as one labelled file, and back."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from .protocol import ARMS, PROTOCOL, Setting, Size
from .results import Results

if TYPE_CHECKING:
    import xarray

LONGEST = 40  # moments of a trace: what is not there is NaN
RUNS, KEPT = ("scale", "seed"), ("kept_scale", "seed")
ABOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "chosen": (("scale", "number"), "rate η and the arm's second number, as tuned"),
    "validation_error": (
        ("scale", "candidate", "tuning_seed"),
        "error of all pairs that were tried: the rates with the default of the second number, then "
        "the others of the second number with the best rate",
    ),
    "test_error": (RUNS, "share of wrong answers on the test set"),
    "train_error": (RUNS, "the same on the training set, with its wrong labels"),
    "norm": (RUNS, "norm of the last layer's rows at the end, root mean square over classes"),
    "turned": (RUNS, "angle in radians between a row's end and its start, mean over classes"),
    "diverged": (RUNS, "whether a parameter is not finite at the end"),
    "trace_scale": (("scale", "moment"), "scale of the last layer, mean over classes and seeds"),
    "trace_angle": (
        ("scale", "moment"),
        "angle in radians that a row turns in one step, mean over classes and seeds",
    ),
    "unseen_start": (
        ("scale", "unseen_seed"),
        "norm of what the final features cannot see of the last layer's start",
    ),
    "unseen_reached": (("scale", "unseen_seed"), "the same of its end"),
    "unseen_predicted": (("scale", "unseen_seed"), "the same as the theory of fixed features has"),
}
for _name in ("test_error", "train_error", "norm", "turned", "diverged"):
    ABOUT[f"kept_{_name}"] = (KEPT, f"{ABOUT[_name][1]}; with the rates tuned at 1 ×")


def to_dataset(found: Results) -> xarray.Dataset:
    """All numbers over settings and arms; traces as means over seeds.

    Parameters
    ----------
    found : Results

    Returns
    -------
    xarray.Dataset
    """
    import xarray

    size = found.size
    settings, arms = [s.name for s in size.settings], [arm.name for arm in ARMS]
    variables = {}
    for name, (dims, text) in ABOUT.items():
        rows = [[_prepared(found, s, arm, name) for arm in arms] for s in settings]
        shape = next(r.shape for row in rows for r in row if r is not None)
        values = [[np.full(shape, np.nan) if r is None else r for r in row] for row in rows]
        kind = np.float64 if name == "chosen" else np.float32  # nothing else has more digits
        array = np.array(values).astype(kind)
        variables[name] = (("setting", "arm", *dims), array, {"long_name": text})
    return xarray.Dataset(
        variables,
        {
            "setting": settings,
            "arm": arms,
            "scale": list(size.scales),
            "kept_scale": list(size.kept_scales),
            "seed": np.arange(size.seeds),
            "number": ["rate", "second"],
        },
        {"protocol": PROTOCOL, "size": json.dumps(asdict(size)), "code": found.code},
    )


def _prepared(found: Results, setting: str, arm: str, name: str) -> Any:
    """An array of a shard as the file has it; None where it was not measured."""
    if name not in found.arrays[setting, arm]:
        return None
    values = found.array(setting, arm, name)
    if not name.startswith("trace_"):
        return values
    moments = np.full((len(values), LONGEST), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a moment that no seed reached stays NaN
        moments[:, : values.shape[1]] = np.nanmean(values, axis=2)
    return moments


def from_dataset(data: xarray.Dataset) -> Results:
    """The results of a file; traces are means.

    A file is data, not a cache: that of other code stays valid, and says whose it is.

    Parameters
    ----------
    data : xarray.Dataset

    Returns
    -------
    Results
    """
    if int(data.attrs.get("protocol", -1)) != PROTOCOL:
        raise ValueError(
            f"data is of protocol {data.attrs.get('protocol')}, this program has {PROTOCOL}: run "
            "the experiment again, `weightnorm reproduce network`"
        )
    size = json.loads(data.attrs["size"])
    settings = tuple(Setting(**each) for each in size.pop("settings"))
    size = {key: _tuples(value) for key, value in size.items()}
    arrays = {}
    for setting in map(str, data.setting.values):
        for arm in map(str, data.arm.values):
            row = data.sel(setting=setting, arm=arm)
            kept = {str(name): row[name].values.astype(float) for name in row.data_vars}
            if np.isnan(kept["unseen_start"]).all():
                kept = {n: v for n, v in kept.items() if not n.startswith("unseen_")}
            arrays[setting, arm] = kept
    return Results(Size(settings, **size), arrays, str(data.attrs.get("code", "")))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def to_bytes(data: xarray.Dataset) -> bytes:
    """A compressed NetCDF file.

    Parameters
    ----------
    data : xarray.Dataset

    Returns
    -------
    bytes
    """
    encoding = {str(name): {"zlib": True, "complevel": 9} for name in data.data_vars}
    return bytes(data.to_netcdf(engine="h5netcdf", encoding=encoding))
