"""A sweep on a Dask cluster of two local workers against the same sweep on two threads."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .timing import installed, seconds

Log = Callable[[str], None]
STEPS = {"direction_step": 0.05, "scale_step": 0.05}
SWEEP: dict[str, Any] = {
    "name": "bench",
    "tolerance": 0.0,
    "max_steps": 10_000,
    "problems": {"seeds": 300, "condition_number": 10.0},
    "starts": {"scales": {"start": 0.5, "stop": 3.0, "num": 16}, "num_directions": 8},
    "methods": {"wn": {"kind": "wn", **STEPS}, "rpgd": {"kind": "rpgd", **STEPS}},
}


def cluster_sweep(log: Log, repeats: int) -> dict[str, Any] | None:
    """Both in turns, with a cluster that is up; None without Dask."""
    if not installed("distributed"):
        return None
    from weightnorm.sweeps import SweepConfig, run
    from weightnorm.sweeps.cluster import connected

    log("sweep on a cluster")
    config = SweepConfig(**SWEEP)
    times: dict[str, list[float]] = {"threads": [], "cluster": []}
    found: dict[str, dict[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as name, connected(workers=2) as client:
        for turn in range(repeats + 1):  # the first warms up both
            for kind in times:
                out = Path(name) / f"{kind}{turn}"
                options: dict[str, Any] = (
                    {"threads": 2} if kind == "threads" else {"client": client}
                )
                taken = seconds(partial(run, config, out, **options))
                if turn:
                    times[kind].append(taken)
                shards = (out / "bench.shards").glob("*.npz")
                found[kind] = {path.name: path.read_bytes() for path in shards}
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    return {
        "shards": len(found["threads"]),
        "seconds": medians,
        "cluster_over_threads": medians["cluster"] / medians["threads"],
        "same_bytes": found["threads"] == found["cluster"],
    }
