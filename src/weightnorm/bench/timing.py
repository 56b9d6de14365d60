"""Measuring: interleaved repeats, and what the machine is."""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

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


def machine() -> dict[str, str]:
    """Date, hardware and versions, for the record."""
    import os

    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in information.read_text().splitlines()
            if "model name" in line
        ]
        processor = names[0] if names else processor
    versions = {}
    for name in ("weightnorm", "numpy", "scipy", "numba", "jax", "torch", "geoopt"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": date.today().isoformat(),
        "processor": processor,
        "cores": str(os.cpu_count()),
        "python": sys.version.split()[0],
        **versions,
    }
