"""Sweeps on disk: a TOML file planned into shards, executed on all cores, stored so that nothing finished is ever lost."""

from .config import SweepConfig, load_config
from .execute import run_sweep

__all__ = ["SweepConfig", "load_config", "run_sweep"]
