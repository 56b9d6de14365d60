"""LAPACK without Python's lock: SciPy's own wrapper of dtpqrt keeps it, so that blocks on two
threads would take turns.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ..._support.numeric import Matrix

_INT, _DOUBLE = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)


def fold_rows(R: Matrix, rows: Matrix, triangular: bool, panel: int) -> None:
    """Turn a triangle R into that of R above `rows`, in place; `rows` are lost.

    Parameters
    ----------
    R : (p, p) array
        Upper triangular, column by column in memory.
    rows : (n, p) array
        Column by column in memory; its first p rows upper triangular if `triangular`.
    triangular : bool
        Whether to leave out the zeros of a second triangle.
    panel : int
        Columns that are folded at once.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.dask.lapack import fold_rows
    >>> R = np.asfortranarray([[3.0]])
    >>> fold_rows(R, np.asfortranarray([[4.0]]), triangular=False, panel=1)
    >>> abs(float(R[0, 0]))
    5.0
    """
    n, p = rows.shape
    for name, array in (("R", R), ("rows", rows)):
        if array.dtype != np.float64 or not array.flags.writeable:
            raise ValueError(
                f"{name} must be a float64 array that can be written, got {array.dtype}"
                f"{'' if array.flags.writeable else ', read-only'}"
            )
    if not (R.flags.f_contiguous and rows.flags.f_contiguous and R.shape == (p, p)):
        raise ValueError("R and rows must lie column by column in memory, and have one width")
    size = min(panel, p)
    T, work = np.empty((size, p), order="F"), np.empty(size * p)
    info = ctypes.c_int(0)
    width = p if triangular else 0
    sizes = [ctypes.c_int(number) for number in (n, p, width, size, p, max(n, 1), size)]
    m_, n_, l_, nb, lda, ldb, ldt = map(ctypes.byref, sizes)
    _dtpqrt()(
        m_, n_, l_, nb, _at(R), lda, _at(rows), ldb, _at(T), ldt, _at(work), ctypes.byref(info)
    )
    if info.value != 0:
        raise RuntimeError(f"LAPACK dtpqrt failed with info={info.value}")


def _at(array: Any) -> Any:
    return array.ctypes.data_as(_DOUBLE)


@cache
def _dtpqrt() -> Any:
    """SciPy's LAPACK, as it offers it to compiled code."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["dtpqrt"]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    kinds = (_INT,) * 4 + (_DOUBLE, _INT) * 3 + (_DOUBLE, _INT)
    address = pointer_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *kinds)(address)
