"""What predictors refuse: methods that no function of lengths and angles can predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support import validate

COORDINATE_WISE = ("adam", "adamw", "adagrad", "rmsprop", "sign", "signsgd", "lion")


def one_of(name: str, method: Any, options: Sequence[str]) -> str:
    """One of these methods; a coordinate-wise one is refused with the reason."""
    if isinstance(method, str) and method.lower().replace("-", "") in COORDINATE_WISE:
        raise ValueError(
            f"{name} is {method!r}, a coordinate-wise rule: where it ends depends on the axes, not "
            "only on lengths and angles, so no formula in ‖x*‖, g0, ‖w0⊥‖ and the steps can "
            "predict it. wn.theory.coordinate_wise_end shows one problem, turned, with three ends"
        )
    return validate.choice(name, method, options)


def momentum_of(momentum: Any, nesterov: Any) -> tuple[float, bool]:
    """β in [0, 1), and whether it is Nesterov's."""
    beta = validate.real("momentum", momentum, minimum=0.0)
    if beta >= 1.0:
        raise ValueError(f"momentum must be below 1, got {beta:g}")
    if not isinstance(nesterov, bool | np.bool_):
        raise TypeError(f"nesterov must be True or False, got {nesterov!r}")
    if nesterov and beta == 0.0:
        raise ValueError("nesterov=True needs a momentum above 0, got 0; give momentum=0.9, say")
    return beta, bool(nesterov)
