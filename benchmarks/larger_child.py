"""One contestant on data larger than memory, in a process of its own: `python -m
benchmarks.larger_child NAME FOLDER GIGABYTES` prints what it took as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import weightnorm as wn

TIGHT = 1e-14  # what LSQR is asked for
EPOCHS = 3  # of SGD


class Counted:
    """A stored array that counts how often it is read."""

    ndim = 2

    def __init__(self, path: Path) -> None:
        import zarr

        self.array = zarr.open_array(str(path), mode="r")
        self.shape, self.dtype, self.entries = self.array.shape, self.array.dtype, 0

    def __getitem__(self, key: Any) -> Any:
        part = self.array[key]
        self.entries += part.size
        return part

    @property
    def reads(self) -> float:
        """1.0 is once, whole."""
        return self.entries / float(np.prod(self.shape))

    def blocks(self) -> Any:
        """The same as a Dask array."""
        import dask.array as da

        return da.from_array(self, chunks=self.array.chunks, name=False)


def wide_ours(folder: Path) -> dict[str, Any]:
    """A limit from a random start, then the weights: two reads."""
    source, y = Counted(folder / "A.zarr"), np.load(folder / "y.npy")
    A = source.blocks()
    source.entries = 0
    begun = time.perf_counter()
    problem = wn.LeastSquares(A, y, progress=False)
    w0 = wn.datasets.random_direction(A.shape[1], seed=1, chunks=A.chunks[1])
    limit = wn.theory.flow_limit(problem, 1.0, w0)
    first, reads = time.perf_counter() - begun, source.reads
    weights: Any = problem.min_norm_solution()
    weights.to_zarr(str(folder / "x.zarr"), overwrite=True)
    taken = time.perf_counter() - begun
    return {
        "seconds": taken,
        "first_pass": first,
        "reads": [reads, source.reads],
        "limit_norm": limit.norm,
    }


def wide_svd(folder: Path) -> dict[str, Any]:
    """dask.array.linalg.svd and a solve."""
    import dask.array as da

    A, y = da.from_zarr(str(folder / "A.zarr")), np.load(folder / "y.npy")
    begun = time.perf_counter()
    u, s, v = da.linalg.svd(A)
    (v.T @ ((u.T @ y) / s)).to_zarr(str(folder / "x.zarr"), overwrite=True)
    return {"seconds": time.perf_counter() - begun}


def wide_lsqr(folder: Path) -> dict[str, Any]:
    """scipy's LSQR on a memory-mapped file."""
    import zarr
    from scipy.sparse.linalg import lsqr

    A, y = np.load(folder / "A.npy", mmap_mode="r"), np.load(folder / "y.npy")
    begun = time.perf_counter()
    answer = lsqr(A, y, atol=TIGHT, btol=TIGHT, conlim=0.0, iter_lim=2000)
    taken = time.perf_counter() - begun
    zarr.save_array(str(folder / "x.zarr"), answer[0])
    return {"seconds": taken, "iterations": int(answer[2])}


def wide_blocks(folder: Path) -> dict[str, Any]:
    """LAPACK's QR of as many blocks, in memory already, on two threads: nothing else."""
    from concurrent.futures import ThreadPoolExecutor

    from scipy.linalg import lapack

    from weightnorm._support.blas import one_thread

    source = Counted(folder / "A.zarr")
    width = source.array.chunks[1]
    blocks = [np.asarray(source[:, i * width : (i + 1) * width]) for i in range(8)]
    workspace = int(lapack.dgeqrf_lwork(width, blocks[0].shape[0])[0])

    def factorise(index: int) -> None:
        lapack.dgeqrf(blocks[index % 8].copy().T, lwork=workspace, overwrite_a=1)

    with one_thread(), ThreadPoolExecutor(2) as pool:
        begun = time.perf_counter()
        list(pool.map(factorise, range(-(-source.shape[1] // width))))
        return {"seconds": time.perf_counter() - begun}


def tall_ours(folder: Path) -> dict[str, Any]:
    """One read."""
    source = Counted(folder / "A.zarr")
    y, A = np.load(folder / "y.npy"), source.blocks()
    source.entries = 0
    begun = time.perf_counter()
    problem = wn.LeastSquares(A, y, progress=False)
    x = problem.min_norm_solution()
    taken = time.perf_counter() - begun
    return _kept(folder, x, taken) | {"reads": [source.reads]}


def tall_lstsq(folder: Path) -> dict[str, Any]:
    """dask.array.linalg.lstsq."""
    import dask.array as da

    A, y = da.from_zarr(str(folder / "A.zarr")), np.load(folder / "y.npy")
    begun = time.perf_counter()
    x = da.linalg.lstsq(A, da.from_array(y, chunks=A.chunks[0]))[0].compute()
    return _kept(folder, x, time.perf_counter() - begun)


def tall_dask_ml(folder: Path) -> dict[str, Any]:
    """dask-ml's LinearRegression by Newton's method, with next to no penalty."""
    import dask.array as da
    from dask_ml.linear_model import LinearRegression

    A, y = da.from_zarr(str(folder / "A.zarr")), np.load(folder / "y.npy")
    begun = time.perf_counter()
    model = LinearRegression(fit_intercept=False, solver="newton", C=1e12)
    model.fit(A, da.from_array(y, chunks=A.chunks[0]))
    return _kept(folder, np.asarray(model.coef_), time.perf_counter() - begun)


def tall_sgd(folder: Path) -> dict[str, Any]:
    """scikit-learn's SGDRegressor, block by block, a few times over."""
    from sklearn.linear_model import SGDRegressor

    source, y = Counted(folder / "A.zarr"), np.load(folder / "y.npy")
    height = source.array.chunks[0]
    begun = time.perf_counter()
    model = SGDRegressor(fit_intercept=False, penalty=None, random_state=0)
    for _ in range(EPOCHS):
        for first in range(0, source.shape[0], height):
            rows = slice(first, first + height)
            model.partial_fit(source[rows, :], y[rows])
    return _kept(folder, model.coef_, time.perf_counter() - begun) | {"epochs": EPOCHS}


def _kept(folder: Path, x: Any, taken: float) -> dict[str, Any]:
    import zarr

    zarr.save_array(str(folder / "x.zarr"), np.asarray(x))
    return {"seconds": taken}


CONTESTANTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "wide_ours": wide_ours,
    "wide_svd": wide_svd,
    "wide_lsqr": wide_lsqr,
    "wide_blocks": wide_blocks,
    "tall_ours": tall_ours,
    "tall_lstsq": tall_lstsq,
    "tall_dask_ml": tall_dask_ml,
    "tall_sgd": tall_sgd,
}


def main() -> None:
    """Run one contestant, with or without a limit of memory."""
    import dask

    name, folder, gigabytes = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    if gigabytes > 0:
        limit = int(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    dask.config.set(scheduler="threads", num_workers=2)
    _warm_up()
    try:
        answer = CONTESTANTS[name](folder)
    except MemoryError:
        answer = {"error": f"out of memory ({gigabytes:g} GB)"}
    sys.stdout.write(json.dumps(answer | {"peak_bytes": _peak()}) + "\n")


def _warm_up() -> None:
    """Everybody's imports, and what is compiled or looked up once, before the clock runs."""
    import dask.array as da
    import scipy.sparse.linalg  # noqa: F401

    A = da.ones((2, 8), chunks=(2, 4)) + da.eye(8, chunks=4)[:2].rechunk((2, 4))
    wn.theory.flow_limit(wn.LeastSquares(A, np.ones(2)), 1.0, np.arange(8.0))
    wn.LeastSquares(A.T, np.ones(8)).min_norm_solution()
    da.linalg.svd(A)[1].compute()


def _peak() -> int:
    """The most memory that was resident; getrusage would count the parent's before the fork."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
