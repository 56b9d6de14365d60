"""One cell of a sweep again, as a run of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs.result import Result
from ..runs.run import run
from .load import ConfigError, checked

if TYPE_CHECKING:
    import xarray


def rerun(cell: xarray.Dataset, folder: str | Path = ".", **options: Any) -> Result:
    """Run one cell of a sweep file again, from what the file says of it.

    Parameters
    ----------
    cell : xarray.Dataset
        The file's dataset selected down to one run, such as
        `data.sel(condition_number=5.0, seed=3, algorithm="rpgd", start=0).isel(scale=7)`.
    folder : path
        Where the user's own data is, if the sweep has any: the folder of the sweep file.
    **options
        For `run`: record=1 and keep=("direction",), another tolerance or max_steps.

    Returns
    -------
    Result
        With the numbers of the cell up to rounding: products round by the number of runs.

    Raises
    ------
    ValueError
        If there is more than one run in `cell`, or the data has changed since.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import xarray
    >>> from weightnorm.sweeps import SweepConfig, rerun, run
    >>> config = SweepConfig(
    ...     name="small",
    ...     starts={"scales": [1.0, 2.0]},
    ...     methods={"rpgd": {"kind": "rpgd", "direction_step": 0.1, "scale_step": 0.1}},
    ... )
    >>> with TemporaryDirectory() as out:
    ...     path = run(config, out).path
    ...     data = xarray.load_dataset(path, engine="h5netcdf")
    >>> result = rerun(data.sel(algorithm="rpgd", seed=0, start=0, scale=2.0))
    >>> bool(abs(result.norm - data.norm.sel(scale=2.0).item()) < 1e-12)
    True
    """
    if not hasattr(cell, "data_vars"):
        raise TypeError(
            f"cell must be a Dataset, got a {type(cell).__name__}: select from the file's dataset, "
            "not from one of its variables"
        )
    if "configuration" not in cell.attrs:
        raise ValueError("cell must come from a sweep file; wn.sweep's own can be run by hand")
    left = {str(name): size for name, size in cell.sizes.items() if size > 1}
    if left:
        raise ValueError(f"cell must be one run, and has {left}; select one of each with .sel")
    cell = cell.squeeze()
    written = json.loads(cell.attrs["configuration"])
    digest = written.pop("data", None)
    try:
        config = checked(written, Path(folder), "the configuration of the cell")
    except ConfigError as error:
        advice = f"looked in {folder}; give folder=, the folder of the sweep file"
        raise ValueError(f"{error} ({advice})" if digest else str(error)) from None
    if config.problems.identity().get("data") != digest:
        raise ValueError(f"the data in {folder} is not what the sweep was made with")
    values = {name: cell[name].item() for name in config.problems.swept}
    seed, start = int(cell["seed"]), int(cell["start"])
    place = 0 if config.steps is None else config.steps.index(float(cell["step"]))
    spec = config.tables()[place][str(cell["algorithm"].item())]
    names = ("tolerance", "max_steps", "gradient_tolerance")
    limits = {name: getattr(config, name) for name in names}
    return run(
        spec.build(),
        config.problems.build(values, seed),
        float(cell["scale"]),
        config.problems.directions(values, seed, start + 1)[start],
        **(limits | options),
    )
