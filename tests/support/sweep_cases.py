"""A sweep file on disk, and what tests ask of its store and of its end."""

import numpy as np
import xarray

TEXT = """
name = "test"
tolerance = 1e-5
max_steps = 3000

[problems]
num_samples = 4
num_features = 9
condition_number = [1.0, 3.0]
seeds = 5

[starts]
scales = { start = 0.5, stop = 3.0, num = 4 }
num_directions = 2

[methods.gd]
kind = "gd"
step = 0.1

[methods.two-phase]
kind = "rpgd"
direction_step = { schedule = "curvature" }
scale_step = { schedule = "two_phase", before = 0.0, after = 0.1, switch = 50 }
"""


def write(folder, text=TEXT):
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def data_of(path):
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        return data.load()


def same_numbers(a, b):
    return all(
        np.array_equal(a[name].values, b[name].values, equal_nan=True) for name in b.data_vars
    )


def finished(folder):
    return len(list(folder.glob("*.npz")))
