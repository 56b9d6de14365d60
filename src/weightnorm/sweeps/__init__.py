"""Sweeps on disk: a TOML file planned into shards, executed on all cores, stored so that nothing
finished is ever lost.
"""

from .config import SweepConfig
from .execute import run_sweep
from .load import load_config
from .rerun import rerun

__all__ = ["SweepConfig", "load_config", "rerun", "run_sweep"]
