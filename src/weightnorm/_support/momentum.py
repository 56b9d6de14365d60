"""How large steps with momentum may be."""

from __future__ import annotations


def stable_below(momentum: float, nesterov: bool) -> float:
    """What the eigenvalues of a step's matrix must stay below: 2, or what momentum makes of it.

    Heavy ball: the roots of z² − (1 + β − k)z + β are inside the unit circle if and only if
    0 < k < 2(1 + β). Nesterov: those of z² − (1 + β)(1 − k)z + β(1 − k), if and only if
    0 < k < 2(1 + β)/(1 + 2β).
    """
    top = 2.0 * (1.0 + momentum)
    return top / (1.0 + 2.0 * momentum) if nesterov else top
