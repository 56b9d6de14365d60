"""The checks, one per claim: each file registers its own."""

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
    stable,
    steps,
    training,
)

__all__ = [
    "adaptive",
    "beyond",
    "ends",
    "flow",
    "general",
    "limits",
    "orders",
    "phases",
    "proofs",
    "setups",
    "stable",
    "steps",
    "training",
]
