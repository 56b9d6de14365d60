"""Plain d-dimensional twins of the methods: one run, one loop, dense arrays; nothing of weightnorm in them."""

from __future__ import annotations

import numpy as np


def reference_run(method, A, y, g0, w0, steps, *, tolerance=-1.0, max_steps=10_000, initial_norm=1.0):
    """Run `method` ("gd", "wn", "rpgd") from g0·w0/‖w0‖.

    `steps(t, g, n)` gives (direction step, scale step) at step number t, scale g and norm n of w.
    Returns a dict with the weights, scale, unit direction, ‖w‖, loss and number of updates.
    """
    unit = w0 / np.linalg.norm(w0)
    w = initial_norm * unit if method == "wn" else unit.copy()
    x, g, t = g0 * unit, float(g0), 0
    while True:
        if method == "wn":
            x = g * w / np.linalg.norm(w)
        elif method == "rpgd":
            x = g * w
        r = A @ x - y
        loss = 0.5 * float(r @ r)
        if loss <= tolerance or t >= max_steps or not np.isfinite(loss):
            break
        gradient = A.T @ r
        n = float(np.linalg.norm(w))
        eta, gamma = steps(t, g, n)
        if method == "gd":
            x = x - eta * gradient
        else:
            unit = w / n
            along = float(unit @ gradient)
            if method == "wn":
                w = w - eta * g / n * (gradient - along * unit)
            else:
                v = w - eta * g * gradient
                w = v / np.linalg.norm(v)
            g = g - gamma * along
        t += 1
    return {"weights": x, "scale": g, "direction_norm": float(np.linalg.norm(w)), "loss": loss, "num_steps": t}
