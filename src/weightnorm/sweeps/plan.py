"""A sweep cut into shards: one problem, one seed, one step, one method each, with a name that is a
hash of what it computes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from .._blas import one_thread
from ..engine.grid import compute_grid
from ..grids import COUNTS
from .config import SweepConfig
from .methods import MethodSpec

FORMAT = 3  # of shards; another format never reads these
VERSION = version("weightnorm")
STARTS = ("minimum_norm", "start_perp_norm")


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
    place : int
        The number of the step it has, where the sweep has several.
    """

    key: str
    problem: dict[str, Any]
    seed: int
    method: str
    place: int = 0


class Plan:
    """All shards of a sweep, in a fixed order, each made when it is asked for.

    Parameters
    ----------
    config : SweepConfig

    Examples
    --------
    >>> from weightnorm.sweeps.config import SweepConfig
    >>> methods = {"gd": {"kind": "gd", "step": 0.1}}
    >>> seeds, starts = {"seeds": 1_000_000}, {"scales": [1.0]}
    >>> plan = Plan(SweepConfig(name="a", problems=seeds, starts=starts, methods=methods))
    >>> len(plan), next(iter(plan)).seed
    (1000000, 0)
    """

    def __init__(self, config: SweepConfig) -> None:
        self._config = config

    def __len__(self) -> int:
        problems, tables = self._config.problems, self._config.tables()
        each = len(problems.combinations()) * len(problems.seed_list())
        return each * sum(map(len, tables))

    def __iter__(self) -> Iterator[Shard]:
        config = self._config
        for problem in config.problems.combinations():
            keys = [
                (place, name, self._keys(problem, spec))
                for place, table in enumerate(config.tables())
                for name, spec in table.items()
            ]
            for seed in config.problems.seed_list():
                for place, name, key in keys:
                    yield Shard(key(seed), problem, seed, name, place)

    def _keys(self, problem: dict[str, Any], spec: MethodSpec) -> Callable[[int], str]:
        """The key of a shard by its seed: a hash of the sorted JSON of all it depends on.

        All but the seed is written once. The seed stands between what sorts before and after it.
        """
        config = self._config
        before = {
            "format": FORMAT,
            **(
                {} if config.gradient_tolerance is None else {"gradient": config.gradient_tolerance}
            ),
            "max_steps": config.max_steps,
            "method": spec.model_dump(mode="json"),
            "num_directions": config.starts.num_directions,
            "problem": problem | config.problems.identity(),
            "scales": config.starts.scale_list(),
        }
        after = {"tolerance": config.tolerance, "version": VERSION}
        head = json.dumps(before, sort_keys=True)[:-1] + ', "seed": '
        tail = f", {json.dumps(after, sort_keys=True)[1:]}".encode()
        begun = hashlib.sha256(head.encode())

        def key(seed: int) -> str:
            digest = begun.copy()
            digest.update(b"%d" % seed + tail)
            return digest.hexdigest()

        return key


def shapes_of(config: SweepConfig) -> dict[str, tuple[int, ...]]:
    """The arrays that a shard holds: (start, scale), and what is known of its starts."""
    shape = config.starts.shape()
    per_run = dict.fromkeys((*config.problems.variables, *COUNTS), shape)
    known = STARTS if config.problems.is_least_squares else ()
    return {**per_run, **dict.fromkeys(known, shape[:1])}


def compute_shard(config: SweepConfig, shard: Shard) -> dict[str, Any]:
    """Its numbers by variable, see `shapes_of`: with one BLAS thread, so that they do not depend on
    what else the machine does.
    """
    with one_thread():
        return _compute_shard(config, shard)


def _compute_shard(config: SweepConfig, shard: Shard) -> dict[str, Any]:
    problem = config.problems.build(shard.problem, shard.seed)
    count = config.starts.num_directions
    directions = config.problems.directions(shard.problem, shard.seed, count)
    method = {shard.method: config.tables()[shard.place][shard.method].build()}
    scales, limits = config.starts.scale_list(), (config.tolerance, config.max_steps)
    grid = compute_grid(
        problem,
        method,
        scales,
        directions,
        *limits,
        threads=1,
        gradient_tolerance=config.gradient_tolerance,
    )
    arrays = {name: values[0] for name, values in grid.arrays.items()}
    known = {name: np.broadcast_to(values, count) for name, values in grid.starts.items()}
    return {name: {**arrays, **known}[name] for name in shapes_of(config)}
