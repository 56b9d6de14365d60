"""Fitting to the limit against LAPACK's minimum-norm least squares."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

SHAPES = ((500, 20_000), (20_000, 200))

_FIT = """
import json, sys
import numpy as np, scipy.linalg
import weightnorm as wn
from benchmarks.timing import interleaved
n, p, repeats = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
wn.WeightNormRegressor(random_state=0).fit(X[:20, :30], y[:20])  # load before the clock starts
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
before = peak()
wn.WeightNormRegressor(random_state=0).fit(X, y)
memory = 1 + (peak() - before) / X.nbytes
times = interleaved({
    "limit": lambda: wn.WeightNormRegressor(random_state=0).fit(X, y),
    "gelsd": lambda: scipy.linalg.lstsq(X, y),
}, repeats)
print(json.dumps({"samples": n, "features": p, "limit_seconds": times["limit"],
    "lstsq_seconds": times["gelsd"],
                  "ratio": times["limit"] / times["gelsd"], "peak_memory_over_X": memory}))
"""


def fit_cases(log: Callable[[str], None], repeats: int = 5) -> list[dict[str, Any]]:
    """`method="limit"` with an intercept and scipy.linalg.lstsq (gelsd), in turns, in a process
    of its own.
    """
    answers = []
    for n, p in SHAPES:
        log(f"fit of {n:,} × {p:,}")
        command = [sys.executable, "-c", _FIT, str(n), str(p), str(repeats)]
        answers.append(
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        )
    return answers
