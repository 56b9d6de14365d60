"""How many threads the linear algebra uses.

A product or a factorisation rounds by the number of threads that BLAS cuts it for. What must have
the same bits whatever the machine is busy with, or runs on several threads of its own, asks for
one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_holders = 0
_limit: Any = None


@cache
def controller() -> Any:
    """The BLAS libraries of this process: NumPy's, and SciPy's, which may be another."""
    import scipy.linalg  # noqa: F401 (a library that is loaded later would not be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread inside, for the whole process.

    The limit belongs to the process, and several threads may be inside at once: the first to come
    sets it, the last to leave takes it back. Whoever works on several threads stays inside for the
    whole of it: OpenBLAS threads that are let go of spin for a while, each time.

    Yields
    ------
    None
    """
    global _holders, _limit
    with _lock:
        if _holders == 0:
            _let_anyone_set()
            _limit = controller().limit(limits=1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _let_anyone_set()  # another thread may have set it
                _limit.restore_original_limits()
                _limit = None
                _let_anyone_set()


def _let_anyone_set() -> None:
    """threadpoolctl lets one thread set the limit and ignores all others, without a word; here the
    lock and the count see to it that threads do not fight over it.
    """
    for library in controller().lib_controllers:
        forget = getattr(library, "clear_controlling_thread", None)
        if forget is not None:
            forget(force=True)


def kernels() -> list[str]:
    """What BLAS runs on this CPU, one entry a library, such as "openblas 0.3.30 Haswell"."""
    words = ("internal_api", "version", "architecture")
    return sorted({" ".join(str(each[w]) for w in words if w in each) for each in _info()})


def _info() -> list[dict[str, Any]]:
    return list(controller().info())
