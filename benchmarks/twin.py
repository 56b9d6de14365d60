"""The plain d-dimensional twin of the methods: one run, one loop, dense arrays, as a good user of
NumPy writes it.

Nothing of weightnorm is in it: tests compare with its numbers, and benchmarks with its seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def length(v: Array) -> float:
    """‖v‖ as np.linalg.norm computes it, in a fraction of its time."""
    return math.sqrt(v @ v)


def plain_run(
    method: str,
    A: Array,
    y: Array,
    g0: float,
    w0: Array,
    steps: Callable[[int, float, float], tuple[float, float]],
    *,
    tolerance: float = -1.0,
    max_steps: int = 10_000,
    initial_norm: float = 1.0,
) -> dict[str, Any]:
    """Run "gd", "wn" or "rpgd" from g0·w0/‖w0‖.

    `steps(t, g, n)` gives (direction step, scale step) at step number t, scale g and norm n of w.
    Returns the weights, scale, ‖w‖, loss and number of updates.
    """
    descends, normalises = method == "gd", method == "wn"
    u = w0 / length(w0)
    w = initial_norm * u if normalises else u
    x, g, t, n = g0 * u, float(g0), 0, 1.0
    while True:
        if not descends:
            if normalises:
                n = length(w)
                u = w / n
            else:
                u = w
            x = g * u
        r = A @ x - y
        loss = 0.5 * float(r @ r)
        if loss <= tolerance or t >= max_steps or not math.isfinite(loss):
            break
        gradient = A.T @ r
        eta, gamma = steps(t, g, n)
        if descends:
            x = x - eta * gradient
        else:
            along = float(u @ gradient)
            if normalises:
                w = w - eta * (g / n) * (gradient - along * u)
            else:
                v = w - eta * g * gradient
                w = v / length(v)
            g = g - gamma * along
        t += 1
    return {"weights": x, "scale": g, "direction_norm": length(w), "loss": loss, "num_steps": t}
