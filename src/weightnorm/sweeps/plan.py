"""A sweep cut into shards: one problem, one seed, one method each, with a name that is a hash of what it computes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..datasets import make_regression, random_direction
from ..grid import compute_grid
from .config import SweepConfig

FORMAT = 1  # of shards; another format never reads these
VARIABLES = ("norm", "loss", "num_steps", "status", "final_scale", "perp_norm", "distance")


@dataclass(frozen=True)
class Shard:
    """A piece of a sweep.

    Attributes
    ----------
    key : str
        A hash of everything its numbers depend on: it names the file, and a file with another key is another shard.
    problem : dict
        The problem's parameters, without the seed.
    seed : int
    method : str
        The method's name in the file.
    """

    key: str
    problem: dict[str, Any]
    seed: int
    method: str


def plan_shards(config: SweepConfig) -> list[Shard]:
    """All shards, in a fixed order."""
    shards = []
    for problem in config.problems.combinations():
        for seed in config.problems.seed_list():
            for name, spec in config.methods.items():
                content = {
                    "format": FORMAT,
                    "problem": problem,
                    "seed": seed,
                    "method": spec.model_dump(mode="json"),
                    "scales": config.starts.scale_list(),
                    "num_directions": config.starts.num_directions,
                    "tolerance": config.tolerance,
                    "max_steps": config.max_steps,
                }
                text = json.dumps(content, sort_keys=True)
                shards.append(Shard(hashlib.sha256(text.encode()).hexdigest(), problem, seed, name))
    return shards


def compute_shard(config: SweepConfig, shard: Shard) -> dict[str, Any]:
    """Its numbers: arrays (start, scale) by variable."""
    problem = make_regression(
        shard.problem["num_samples"],
        shard.problem["num_features"],
        shard.problem["condition_number"],
        shard.problem["solution_norm"],
        shard.seed,
    )
    count, features = config.starts.num_directions, shard.problem["num_features"]
    directions = np.array([random_direction(features, shard.seed * 1_000_003 + index) for index in range(count)])
    method = {shard.method: config.methods[shard.method].build()}
    scales, limits = config.starts.scale_list(), (config.tolerance, config.max_steps)
    arrays, _ = compute_grid(problem, method, scales, directions, *limits, threads=1)
    return {name: arrays[name][0] for name in VARIABLES}
