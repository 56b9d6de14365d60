"""Plain d-dimensional twins of the methods: one run, one loop, dense arrays; nothing of
weightnorm in them.
"""

from __future__ import annotations

import math

import numpy as np


def length(v):
    """‖v‖ as np.linalg.norm computes it, in a fraction of its time."""
    return math.sqrt(v @ v)


def reference_run(
    method, A, y, g0, w0, steps, *, tolerance=-1.0, max_steps=10_000, initial_norm=1.0
):
    """Run `method` ("gd", "wn", "rpgd") from g0·w0/‖w0‖.

    `steps(t, g, n)` gives (direction step, scale step) at step number t, scale g and norm n of w.
    Returns a dict with the weights, scale, unit direction, ‖w‖, loss and number of updates.
    """
    unit = w0 / length(w0)
    w = initial_norm * unit if method == "wn" else unit.copy()
    x, g, t = g0 * unit, float(g0), 0
    while True:
        if method == "wn":
            x = g * w / length(w)
        elif method == "rpgd":
            x = g * w
        r = A @ x - y
        loss = 0.5 * float(r @ r)
        if loss <= tolerance or t >= max_steps or not np.isfinite(loss):
            break
        gradient = A.T @ r
        n = length(w)
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
                w = v / length(v)
            g = g - gamma * along
        t += 1
    return {
        "weights": x,
        "scale": g,
        "direction_norm": length(w),
        "loss": loss,
        "num_steps": t,
    }


def assert_same_stop(steps, loss, twin_steps, twin_loss, tolerance):
    """Both stopped at the first iterate within the tolerance: the same one, unless rounding decided
    between two.

    Where the loss at the earlier stop is the tolerance to rounding, the other run may need one more
    step.
    """
    if steps != twin_steps:
        assert abs(steps - twin_steps) == 1, (steps, twin_steps)
        earlier = loss if steps < twin_steps else twin_loss
        assert abs(earlier - tolerance) <= 1e-9 * tolerance, (earlier, tolerance)


def sensing_weights(kind, vector, scale):
    """X of a sensing method's own coordinates: U, (g, W) or (D, W), W not assumed to be
    normalised.
    """
    if kind == "gd":
        return vector @ vector.T
    if kind.endswith("columns"):
        unit = vector / np.linalg.norm(vector, axis=0)
        return unit @ np.diag(scale) @ unit.T
    return scale * (vector @ vector.T) / np.linalg.norm(vector) ** 2


def sensing_loss(A, y, X):
    """(1/2m) Σ (⟨A_i, X⟩ − y_i)²."""
    return sum((float(np.sum(a * X)) - b) ** 2 for a, b in zip(A, y, strict=True)) / (2 * len(y))


def sensing_gradients(kind, A, y, vector, scale):
    """The gradients in the method's own coordinates; rPGD's is that of X = g W Wᵀ, without the
    division by ‖W‖.
    """
    X = sensing_weights(kind, vector, scale)
    M = np.tensordot(np.tensordot(A, X, axes=2) - y, A, axes=1) / len(y)
    M = (M + M.T) / 2
    if kind == "gd":
        return 2 * M @ vector, 0.0
    if kind.endswith("columns"):
        n = np.linalg.norm(vector, axis=0)
        unit = vector / n
        G, slope = 2 * M @ unit * scale, np.array([u @ M @ u for u in unit.T])
        return ((G - unit * np.sum(unit * G, axis=0)) / n if kind.startswith("wn") else G), slope
    n = np.linalg.norm(vector)
    unit = vector / n
    G, slope = 2 * scale * M @ unit, float(np.sum(M * (unit @ unit.T)))
    return ((G - unit * np.sum(unit * G)) / n if kind.startswith("wn") else G), slope


def reference_sensing(kind, A, y, scale, W0, steps, max_steps):
    """Run "gd", "wn", "rpgd", "wn-columns" or "rpgd-columns"; steps(t, g, n) as above. The final
    X and scale.
    """
    columns = kind.endswith("columns")
    axis = 0 if columns else None
    vector = W0 / np.linalg.norm(W0, axis=axis)
    scale = np.full(W0.shape[1], float(scale)) if columns else float(scale)
    if kind == "gd":
        vector = np.sqrt(scale) * vector
    for t in range(max_steps):
        gradient, slope = sensing_gradients(kind, A, y, vector, scale)
        eta, gamma = steps(t, scale, np.linalg.norm(vector, axis=axis))
        vector = vector - eta * gradient
        if kind.startswith("rpgd"):
            vector = vector / np.linalg.norm(vector, axis=axis)
        scale = scale - gamma * slope
    return sensing_weights(kind, vector, scale), scale
