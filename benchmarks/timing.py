"""Measuring: interleaved repeats."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec

PAUSE = 0.05  # until the idle threads of whoever ran before have stopped spinning


def seconds(function: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    summary: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """The median time of each, measured in turns so that a busy moment of the machine hits all
    alike.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            time.sleep(PAUSE)
            times[name].append(seconds(function))
    return {name: summary(values) for name, values in times.items()}


def installed(module: str) -> bool:
    """Whether a peer can be imported."""
    found = find_spec(module)
    return found is not None and found.origin is not None  # a folder of that name is none
