"""Sweeps on disk: a TOML file planned into shards, executed on all cores or on a Dask cluster,
stored so that nothing finished is ever lost.
"""

from .config import SweepConfig
from .execute import Outcome, StoreError, run
from .load import ConfigError, load_config
from .rerun import rerun

run_sweep = run  # its name before there were clusters

__all__ = [
    "ConfigError",
    "Outcome",
    "StoreError",
    "SweepConfig",
    "load_config",
    "rerun",
    "run",
    "run_sweep",
]
