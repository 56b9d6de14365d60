"""‖x∞⊥‖ of the WN flow, over the whole range of double precision.

With D = ‖x∞⊥‖², Δ = g0² − g*² and G = g*² + D, the end of the flow is where

    log(D/G) − 2 log q0 = (Δ − D)/c.

Solved for D there is no cancellation: not G − g*², which loses D where it is small, and not
exp((g0² − G)/2c), which loses it where c is. In units of c, v = D/c, and with t = log v everything
is a sum of logarithms that neither over- nor underflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.numeric import Array

MAX_ITERATIONS = 200
DOMINATES = 1e18  # Δ/c beyond this swallows every logarithm: D = Δ to rounding


def perp_at_the_end(g0: Any, gstar: Any, log_q2: Any, ratio: Any) -> Array:
    """‖x∞⊥‖ from the start's scale, g* > 0, 2 log q0 (−inf for a start in the row space) and c > 0;
    arrays broadcast.
    """
    g0, gstar, log_q2, c = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (g0, gstar, log_q2, ratio))
    )
    g0 = np.abs(g0)
    root_c = np.sqrt(c)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        less, more = g0 - gstar, 0.5 * g0 + 0.5 * gstar
        # Δ/c; may be ± inf
        excess = np.where(less == 0.0, 0.0, (less / root_c) * (more / root_c) * 2.0)
        log_a = 2.0 * np.log(gstar) - np.log(c)  # log(g*²/c)
        right = log_q2 + excess
        ordinary = np.isfinite(right) & (excess < DOMINATES)
        t = _solve(np.where(ordinary, right, 0.0), np.where(ordinary, log_a, 0.0))
        # Far below 1 the equation is e^t − a e^{−t} = right, whose terms underflow before their
        # ratio does.
        faint = np.sign(right) * np.exp(np.minimum(np.log(np.abs(right)) - 0.5 * log_a, 690.0))
        t = np.where(
            (t < -600.0) & (np.abs(right) < 1e-200), 0.5 * log_a + np.arcsinh(0.5 * faint), t
        )
        small = np.exp(0.5 * (t + np.log(c)))
        # For large v the equation itself, v = Δ/c + 2 log q0 + log(G/D), is the better formula: its
        # logarithm hardly moves.
        v = right + np.logaddexp(0.0, log_a - t)
        found = np.where(t > 1.0, np.sqrt(np.maximum(v, 0.0)) * root_c, small)
        far = np.sqrt(2.0) * np.sqrt(np.maximum(less, 0.0)) * np.sqrt(more)  # √Δ
        answer = np.where(ordinary, found, np.where(excess > 0, far, 0.0))
    return np.where(np.isneginf(log_q2), 0.0, answer)


def _solve(right: Array, log_a: Array) -> Array:
    """The root t of e^t − log(1 + a e^{−t}) = right, an increasing function of t.

    Newton's steps in a shrinking bracket; where one leaves it, or is more than half as long as the
    last, it is halved.
    """
    low = np.minimum(log_a, 0.0) + np.minimum(right, 0.0) - 2.0
    high = np.log(np.maximum(right, 0.0) + np.maximum(log_a, 0.0) + 2.0)
    t, last = 0.5 * (low + high), high - low
    for _ in range(MAX_ITERATIONS):
        v, u = np.exp(t), np.exp(-np.abs(log_a - t))
        value = v - np.logaddexp(0.0, log_a - t) - right
        slope = v + np.where(log_a > t, 1.0, u) / (1.0 + u)
        low, high = np.where(value <= 0, t, low), np.where(value >= 0, t, high)
        step = -value / slope
        fine = (t + step >= low) & (t + step <= high) & (np.abs(step) <= 0.5 * np.abs(last))
        step = np.where(fine, step, 0.5 * (low + high) - t)
        t, last = t + step, step
        if (np.abs(step) <= 2e-16 * np.maximum(np.abs(t), 1.0)).all():
            break
    return t
