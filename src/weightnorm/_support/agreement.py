"""Whether two machines found the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

SAME = 1e-9  # fingerprints taken on different machines may differ by this, relatively


def agree(a: Any, b: Any) -> bool:
    """Whether two arrays are the same numbers, up to how another machine rounds a product."""
    if a.shape != b.shape:
        return False
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    with np.errstate(over="ignore"):
        size = np.abs(a[finite]).max(initial=0.0)
        return bool((np.abs(a[finite] - b[finite]) <= SAME * size).all())
