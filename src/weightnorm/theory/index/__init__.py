"""Every claim of the paper and every result beyond it: what is printed, what is true, and why."""

from __future__ import annotations

from . import (
    adaptive,
    beyond,
    ends,
    flow,
    general,
    limits,
    orders,
    phases,
    proofs,
    setups,
    steps,
    training,
)
from .claim import GROUPS, KINDS, RELATIONS, SURVIVES, Claim
from .preamble import PREAMBLE

CLAIMS: tuple[Claim, ...] = (
    *flow.CLAIMS,
    *limits.CLAIMS,
    *adaptive.CLAIMS,
    *steps.CLAIMS,
    *phases.CLAIMS,
    *orders.CLAIMS,
    *general.CLAIMS,
    *proofs.CLAIMS,
    *setups.CLAIMS,
    *beyond.CLAIMS,
    *training.CLAIMS,
    *ends.CLAIMS,
)

__all__ = ["CLAIMS", "GROUPS", "KINDS", "PREAMBLE", "RELATIONS", "SURVIVES", "Claim"]
