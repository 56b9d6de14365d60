"""A sweep cut into shards: one problem, one seed, one method each, with a name that is a hash of
what it computes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..datasets import make_regression, random_direction
from ..sweep import compute_grid
from .config import SweepConfig
from .methods import MethodSpec

FORMAT = 1  # of shards; another format never reads these
VARIABLES = ("norm", "loss", "num_steps", "status", "final_scale", "perp_norm", "distance")


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of a sweep.

    Attributes
    ----------
    key : str
        A hash of everything its numbers depend on: it names the file, and a file with another key
        is another shard.
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


class Plan:
    """All shards of a sweep, in a fixed order, each made when it is asked for.

    Parameters
    ----------
    config : SweepConfig

    Examples
    --------
    >>> from weightnorm.sweeps.config import Problems, Starts, SweepConfig
    >>> methods = {"gd": {"kind": "gradient_descent", "step": 0.1}}
    >>> problems = Problems(seeds=1_000_000)
    >>> starts = Starts(scales=[1.0])
    >>> plan = Plan(SweepConfig(name="a", problems=problems, starts=starts, methods=methods))
    >>> len(plan), next(iter(plan)).seed
    (1000000, 0)
    """

    def __init__(self, config: SweepConfig) -> None:
        self._config = config

    def __len__(self) -> int:
        problems = self._config.problems
        return len(problems.combinations()) * len(problems.seed_list()) * len(self._config.methods)

    def __iter__(self) -> Iterator[Shard]:
        config = self._config
        for problem in config.problems.combinations():
            keys = {name: self._keys(problem, spec) for name, spec in config.methods.items()}
            for seed in config.problems.seed_list():
                for name, key in keys.items():
                    yield Shard(key(seed), problem, seed, name)

    def _keys(self, problem: dict[str, Any], spec: MethodSpec) -> Callable[[int], str]:
        """The key of a shard by its seed: a hash of the sorted JSON of all it depends on.

        All but the seed is written once. The seed stands between what sorts before and after it.
        """
        config = self._config
        before = {
            "format": FORMAT,
            "max_steps": config.max_steps,
            "method": spec.model_dump(mode="json"),
            "num_directions": config.starts.num_directions,
            "problem": problem,
            "scales": config.starts.scale_list(),
        }
        head = json.dumps(before, sort_keys=True)[:-1] + ', "seed": '
        tail = f', "tolerance": {json.dumps(config.tolerance)}}}'.encode()
        begun = hashlib.sha256(head.encode())

        def key(seed: int) -> str:
            digest = begun.copy()
            digest.update(b"%d" % seed + tail)
            return digest.hexdigest()

        return key


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
    directions = np.array(
        [random_direction(features, shard.seed * 1_000_003 + index) for index in range(count)]
    )
    method = {shard.method: config.methods[shard.method].build()}
    scales, limits = config.starts.scale_list(), (config.tolerance, config.max_steps)
    arrays, _ = compute_grid(problem, method, scales, directions, *limits, threads=1)
    return {name: arrays[name][0] for name in VARIABLES}
