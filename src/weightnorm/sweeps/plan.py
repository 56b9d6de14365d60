"""A sweep cut into shards: one problem, one seed, one step, one method each, with a name that is a
hash of what it computes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.blas import one_thread
from .._support.sources import AT, SWEEPS, code
from ..engine.many_runs import run_many
from ..runs.dataset import COUNTS
from .config import SweepConfig
from .methods import MethodSpec

FORMAT = 4  # of shards; another format never reads these
CODE = code(SWEEPS)  # now, while the sources on disk are those that are loaded
STARTS = ("minimum_norm", "start_perp_norm")


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of a sweep.

    Attributes
    ----------
    key : str
        A hash of all that is asked for, and the code that computes it: both name the file, and a
        file with another key is another shard.
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


class SweepPlan:
    """All shards of a sweep, in a fixed order, each made when it is asked for.

    Parameters
    ----------
    config : SweepConfig

    Attributes
    ----------
    code : str
        The code that computes them, see `weightnorm._support.sources`.

    Examples
    --------
    >>> from weightnorm.sweeps.config import SweepConfig
    >>> methods = {"gd": {"kind": "gd", "step": 0.1}}
    >>> seeds, starts = {"seeds": 1_000_000}, {"scales": [1.0]}
    >>> plan = SweepPlan(SweepConfig(name="a", problems=seeds, starts=starts, methods=methods))
    >>> len(plan), next(iter(plan)).seed
    (1000000, 0)
    """

    def __init__(self, config: SweepConfig) -> None:
        self._config = config
        self.code = CODE

    def __len__(self) -> int:
        problems, tables = self._config.problems, self._config.tables()
        each = len(problems.combinations()) * len(problems.seed_list())
        return each * sum(map(len, tables))

    def __iter__(self) -> Iterator[Shard]:
        return self.at(range(len(self)))

    def at(self, places: Iterable[int]) -> Iterator[Shard]:
        """The shards at these places of the order, each made when it is asked for."""
        config = self._config
        problems, seeds = config.problems.combinations(), config.problems.seed_list()
        methods = [
            (place, name, spec)
            for place, table in enumerate(config.tables())
            for name, spec in table.items()
        ]
        current, keys = -1, dict[int, Callable[[int], str]]()
        for index in places:
            each, which = divmod(index, len(methods))
            number, turn = divmod(each, len(seeds))
            problem, seed, (place, name, spec) = problems[number], seeds[turn], methods[which]
            if number != current:
                current, keys = number, {}
            if which not in keys:
                keys[which] = self._keys(problem, spec)
            yield Shard(keys[which](seed), problem, seed, name, place)

    def _keys(self, problem: dict[str, Any], spec: MethodSpec) -> Callable[[int], str]:
        """The key of a shard by its seed: a hash of the sorted JSON of what is asked for, and the
        code.

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
        after = {"tolerance": config.tolerance}
        head = json.dumps(before, sort_keys=True)[:-1] + ', "seed": '
        tail = f", {json.dumps(after, sort_keys=True)[1:]}".encode()
        begun, ours = hashlib.sha256(head.encode()), AT + self.code

        def key(seed: int) -> str:
            digest = begun.copy()
            digest.update(b"%d" % seed + tail)
            return digest.hexdigest() + ours

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
    grid = run_many(
        problem,
        method,
        scales,
        directions,
        *limits,
        threads=1,
        gradient_tolerance=config.gradient_tolerance,
    )
    arrays = {name: values[0] for name, values in grid.arrays.items()}
    starts = grid.starts or _known_of_starts(problem, directions)
    known = {name: np.broadcast_to(values, count) for name, values in starts.items()}
    return {name: {**arrays, **known}[name] for name in shapes_of(config)}


def _known_of_starts(problem: Any, directions: Any) -> dict[str, Any]:
    """‖x*‖ and ‖w0⊥‖ beside runs of a method in full coordinates, which has no use for them."""
    if not problem.is_least_squares:
        return {}
    space = problem.reduce()
    entered = space.enter(problem.unit_directions(directions, False))
    size = np.linalg.norm(space.problem.reference)
    return {"minimum_norm": size, "start_perp_norm": np.abs(entered[:, -1])}
