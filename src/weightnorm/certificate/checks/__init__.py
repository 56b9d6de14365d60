"""The checks, one per claim: each file registers its own."""

from . import adaptive, beyond, flow, general, limits, orders, phases, proofs, setups, steps

__all__ = [
    "adaptive",
    "beyond",
    "flow",
    "general",
    "limits",
    "orders",
    "phases",
    "proofs",
    "setups",
    "steps",
]
