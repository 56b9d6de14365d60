"""Compiling a kernel, and keeping it on disk where there is a place to keep it.

numba gives up ("no locator available") where neither the package's own folder nor the user's is
writable, and raises where the disk is full. A cache is a convenience: here it is sought in a
temporary folder of the user's own next, and without one the kernel is compiled anew in every
process.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._support.interrupts import held

with held():  # an import of numba that Ctrl-C broke off cannot be repeated in this process
    import numba
    from numba.core import caching, sigutils


def enabled() -> bool:
    """Whether numba compiles at all: with NUMBA_DISABLE_JIT=1 runs go by the rules in NumPy."""
    return not numba.config.DISABLE_JIT


def code_target() -> str:
    """The CPU that kernels are compiled for."""
    import llvmlite.binding

    return str(numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name())


def compiled(tag: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator: numba.njit without the lock, with NumPy's division by zero, and a cache that
    cannot fail.

    The cache knows a function by its file, its name and its types. What else its code depends on,
    here the lanes, must be in the `tag`, or a kernel would be found on disk that was compiled for
    others.
    """

    def decorate(function: Any) -> Any:
        function.__qualname__ += f"_{tag}"
        dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
        if enabled():
            dispatcher._cache = _cache(function)
        return dispatcher

    return decorate


class _ForgivingCache(caching.FunctionCache):
    """A cache whose failures cost a compilation, not a run: a full disk, a truncated file, a
    folder that vanished.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept, or nothing where it cannot be read."""
        try:
            found = super().load_overload(sig, target_context)
            # Two processes that save two signatures of one function at once may leave the index of
            # one and the code of another.
            return (
                found
                if found is None
                or tuple(found.signature.args) == sigutils.normalize_signature(sig)[0]
                else None
            )
        except Exception:  # whatever a damaged file makes numba raise
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, if that is possible."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError):
            self.disable()


def _cache(function: Any) -> Any:
    try:
        return _ForgivingCache(function)
    except (RuntimeError, OSError):
        pass
    before, folder = numba.config.CACHE_DIR, _own_temporary_folder()
    if folder is None:
        return caching.NullCache()
    try:
        numba.config.CACHE_DIR = folder
        return _ForgivingCache(function)
    except (RuntimeError, OSError):
        return caching.NullCache()
    finally:
        numba.config.CACHE_DIR = before


def _own_temporary_folder() -> str | None:
    """A folder that only this user can write: what is loaded from a cache is run."""
    try:
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = Path(tempfile.gettempdir()) / f"weightnorm-kernels-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    return str(folder) if mine and stat.S_ISDIR(found.st_mode) else None


def has_wide_registers() -> bool:
    """Whether kernels are compiled for 32 registers of eight numbers (AVX-512), not 16 of four."""
    import llvmlite.binding

    named = numba.config.CPU_FEATURES
    if named is None:
        return bool(llvmlite.binding.get_host_cpu_features().get("avx512f"))
    return "+avx512f" in named
