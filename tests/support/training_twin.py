"""A plain d-dimensional loop with decay, clipping, momentum, mini-batches and label noise; nothing
of weightnorm's rules in it.

The random draws are what the library's `sampling` says they are; that they are what they should be
is tested by themselves.
"""

from __future__ import annotations

import numpy as np


def train(
    kind,
    A,
    y,
    g0,
    w0,
    eta,
    gamma,
    num_steps,
    *,
    momentum=0.0,
    nesterov=False,
    initial_norm=1.0,
    draws=None,
    scale_decay=0.0,
    direction_decay=0.0,
    clip=None,
):
    """`num_steps` steps of "gd", "wn", "rpgd" or "bn"; `eta` and `gamma` are functions of t.
    Returns every iterate's (x, g, w), with the g that the method trains.
    """
    m = len(y)
    unit = w0 / np.linalg.norm(w0)
    w, g, x = (initial_norm if kind in ("wn", "bn") else 1.0) * unit, float(g0), g0 * unit
    if kind == "bn":
        g = g0 * np.linalg.norm(A @ unit)
    buffer, scale_buffer = np.zeros_like(w), 0.0
    path = [(x.copy(), g, w.copy())]
    for t in range(num_steps):
        rows, noise = (None, None) if draws is None else draws.at(t)
        target = y if noise is None else y + noise
        rows = np.arange(m) if rows is None else rows
        gradient = A[rows].T @ (A[rows] @ x - target[rows]) * (m / len(rows))
        n = np.linalg.norm(w)
        slope = float(w @ gradient) / n
        if kind == "gd":
            own = gradient
        elif kind == "rpgd":
            own = g * gradient
        elif kind == "wn":
            own = g / n * (gradient - slope * w / n)
        else:
            length = np.linalg.norm(A @ w)
            slope = float(w @ gradient) / length
            own = g / length * (gradient - slope * (A.T @ (A @ w)) / length)
        if kind == "gd":
            slope = 0.0
        if clip is not None:
            size = np.sqrt(own @ own + slope * slope)
            if size > clip:
                own, slope = clip / size * own, clip / size * slope
        own = own + direction_decay * (x if kind == "gd" else w)
        slope = slope + (0.0 if kind == "gd" else scale_decay * g)
        buffer = momentum * buffer + own
        scale_buffer = momentum * scale_buffer + slope
        move = own + momentum * buffer if nesterov else buffer
        scale_move = slope + momentum * scale_buffer if nesterov else scale_buffer
        if kind == "gd":
            x = x - eta(t) * move
        else:
            step = w - eta(t) * move
            if np.linalg.norm(step) > 0.0:
                w = step / np.linalg.norm(step) if kind == "rpgd" else step
            g = g - gamma(t) * scale_move
            x = g * w / np.linalg.norm(A @ w if kind == "bn" else w)
        path.append((x.copy(), g, w.copy()))
    return path
