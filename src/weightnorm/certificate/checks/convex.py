"""Checks of the theory of other convex losses: where their flows end, and where separable classes
lead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import theory
from ...problems import GeneralizedLinear
from ..evidence import Evidence, check
from ..simulate import nearest_in_hull, wn_gradient_flow

Rng = np.random.Generator
Array = NDArray[np.float64]
LOSSES = ("logistic", "poisson", "huber")


@check("glm-limit")
def glm_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Logistic (classes that overlap), Poisson and Huber: flows integrated in d dimensions."""
    for index in range(max(3, instances // 4)):
        loss = LOSSES[index % len(LOSSES)]
        A = np.linalg.qr(rng.standard_normal((12, 3)))[0] @ rng.standard_normal((3, 6))
        targets = {
            "logistic": np.concatenate([[0.0, 1.0], np.zeros(5), np.ones(5)]),
            "poisson": rng.poisson(2.0, 12) + (np.arange(12) == 0),
            "huber": 1.5 * rng.standard_normal(12),
        }[loss]
        if loss == "logistic":  # the first row in both classes: nothing separates them
            A[1] = A[0]
        problem = GeneralizedLinear(A, targets, loss)
        g0, c = float(rng.choice([-1.0, 0.3, 1.0, 2.0])), float(rng.choice([0.3, 1.0, 3.0]))
        w0 = rng.standard_normal(6)
        w0 /= np.linalg.norm(w0)
        if problem.minimum().status != "attained":
            continue  # one class, or no count at all, in a direction: nothing is predicted
        limit = theory.flow_limit(problem, g0, w0, c)
        g, end = _end(problem, g0, w0, c)
        summary: dict[str, Any] = {"loss": loss, "g0": g0, "c": c, "norm": limit.norm}
        evidence.equal("x∞", limit.weights, end, rtol=2e-6, **summary)
        evidence.equal("g∞", limit.scale, g, rtol=2e-6, **summary)


def _end(problem: GeneralizedLinear, g: float, w: Array, c: float) -> tuple[float, Array]:
    """Where the flow stands once the gradient is all but zero."""
    first = float(np.linalg.norm(problem.gradient(np.zeros_like(w))))
    for _ in range(60):
        g, w = wn_gradient_flow(problem.gradient, g, w, c, 25.0)
        w = w / np.linalg.norm(w)
        if np.linalg.norm(problem.gradient(g * w)) <= 1e-10 * first:
            break
    return g, g * w


@check("max-margin")
def max_margin(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The direction against the nearest point of the hull of s_i a_i, by Frank and Wolfe's steps,
    and against no random direction that does better.
    """
    for _ in range(max(4, instances // 4)):
        m, d = int(rng.integers(3, 9)), int(rng.integers(9, 14))
        A = rng.standard_normal((m, d))
        labels = rng.choice([0.0, 1.0], m)
        found = theory.max_margin(GeneralizedLinear(A, labels, "logistic"))
        rows = np.where(labels > 0, 1.0, -1.0)[:, None] * A
        point = nearest_in_hull(rows)
        summary: dict[str, Any] = {"m": m, "d": d, "margin": found.margin}
        evidence.equal("margin", found.margin, np.linalg.norm(point), rtol=1e-6, **summary)
        evidence.equal(
            "direction", found.direction, point / np.linalg.norm(point), rtol=1e-3, **summary
        )
        others = found.direction + 0.1 * rng.standard_normal((200, d))
        best = (others @ rows.T).min(axis=1) / np.linalg.norm(others, axis=1)
        evidence.at_most("margin of others", float(best.max()), found.margin, **summary)
