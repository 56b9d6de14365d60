"""Problems on Dask arrays, and arrays that count how often they are read."""

import threading

import numpy as np
import pytest

import weightnorm as wn

da = pytest.importorskip("dask.array")
EPS = float(np.finfo(np.float64).eps)
COUNTING = threading.Lock()


class Counted:
    """An array that counts how often it is read: 1.0 is once, whole."""

    ndim = 2

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.entries = 0

    def __getitem__(self, key):
        part = self.array[key]
        with COUNTING:  # blocks are read by several threads
            self.entries += part.size
        return part

    @property
    def reads(self):
        return self.entries / self.array.size


def problem(m, d, condition=10.0, noise=0.0, seed=0):
    return wn.datasets.make_regression(m, d, condition, noise=noise, seed=seed)


def in_blocks(A, sizes):
    """A wide array in column blocks, a tall one in row blocks."""
    return da.from_array(A, chunks=(-1, sizes) if A.shape[0] <= A.shape[1] else (sizes, -1))


def close(ours, theirs, condition):
    """Within 10·κ·eps, relatively."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    off = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    return off <= 10 * condition * EPS


def counted(m=10, d=400, **options):
    memory = problem(m, d)
    A = Counted(memory.A)
    array = da.from_array(A, chunks=(-1, 90) if m <= d else (90, -1))
    A.entries = 0
    return memory, A, wn.LeastSquares(array, memory.y, **options)
