"""Plain d-dimensional twins of the methods: one run, one loop, dense arrays; nothing of
weightnorm in them.
"""

from __future__ import annotations

import numpy as np
from benchmarks.twin import plain_run as reference_run

__all__ = ["assert_same_stop", "reference_run", "reference_sensing"]
__all__ += ["sensing_gradients", "sensing_loss", "sensing_weights"]


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
