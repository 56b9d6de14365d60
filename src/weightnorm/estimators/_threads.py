"""How many threads the linear algebra of a fit uses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# Products with a matrix of this many bytes or fewer end before a second thread has woken up: with
# two threads they take up to eight times the processor's time, and longer by the clock too.
SMALL = 2**26


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def few_threads(X: Any) -> AbstractContextManager[Any]:
    """One thread for products with a small matrix, dense or sparse; as many as there are for a
    large one.
    """
    values = X.data if hasattr(X, "tocsr") else X
    if values.nbytes > SMALL:
        return nullcontext()
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits
