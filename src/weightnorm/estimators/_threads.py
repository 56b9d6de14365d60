"""How many threads the linear algebra of a fit uses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._support.blas import one_thread

# Products with a matrix of this many bytes or fewer end before a second thread has woken up: with
# two threads they take up to eight times the processor's time, and longer by the clock too.
SMALL = 2**26


def few_threads(X: Any) -> AbstractContextManager[Any]:
    """One thread for products with a small matrix, dense or sparse; as many as there are for a
    large one.
    """
    values = X.data if hasattr(X, "tocsr") else X
    return nullcontext() if values.nbytes > SMALL else one_thread()
