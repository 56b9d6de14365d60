"""Plain steps of one row of a linear layer and its bias, with momentum and a frozen scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support.numeric import Array


def layer_steps(
    X: Array, y: Array, row: Array, bias: float | None, how: dict[str, Any], num_steps: int
) -> tuple[Array, float, float]:
    """The row and its bias after so many steps of "wn" or "rpgd", and the largest residual.

    `how` has the method, step, ratio, bias_ratio, momentum, nesterov and frozen_steps; `bias` is
    the start's, None for none.
    """
    wn, beta, eta = how["method"] == "wn", how["momentum"], how["step"]
    kappa = 0.0 if bias is None else how["bias_ratio"]
    g, b = float(np.linalg.norm(row)), bias or 0.0
    w = row.copy() if wn else row / g
    buffers = [np.zeros_like(w), 0.0, 0.0]
    for t in range(num_steps):
        n = float(np.linalg.norm(w)) if wn else 1.0
        r = X @ (g * w / n) + b - y
        pull = X.T @ r
        s = float(w @ pull) / n
        slopes = [g / n * (pull - s * w / n) if wn else g * pull, s, float(r.sum())]
        buffers = [beta * old + new for old, new in zip(buffers, slopes, strict=True)]
        moves: Any = buffers
        if how["nesterov"]:
            moves = [new + beta * old for old, new in zip(buffers, slopes, strict=True)]
        w = w - eta * moves[0]
        if not wn:
            w = w / np.linalg.norm(w)
        if t >= how["frozen_steps"]:
            g -= how["ratio"] * eta * moves[1]
        b -= kappa * eta * moves[2]
    x = g * w / np.linalg.norm(w)
    return x, b, float(np.abs(X @ x + b - y).max())
