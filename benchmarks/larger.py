"""Data larger than memory: a wide and a tall array on disk, under a limit of one gigabyte, and
what it costs at other sizes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .timing import installed, seconds

LIMIT = 1.0  # GB
WIDE, TALL = (200, 2_700_000), (2_000_000, 100)
BLOCK = 2_000_000  # entries of a block: 16 MB
CONDITION = 20.0
OTHER_SIZES = ((100, 1_000_000), (400, 300_000))  # that the model of the cost is held against
Log = Callable[[str], None]


def larger_than_memory(log: Log) -> dict[str, Any] | None:
    """Both arrays, every contestant, and the model; None without Dask."""
    if not (installed("dask") and installed("zarr")):
        return None
    with tempfile.TemporaryDirectory(prefix="weightnorm-bench-") as name:
        folder = Path(name)
        log("larger than memory: writing a wide array")
        wide = folder / "wide"
        _write_wide(wide, WIDE)
        answer: dict[str, Any] = {
            "wide": _contest(wide, ["ours", "svd", "lsqr", "blocks"], "wide", WIDE, log)
        }
        shutil.rmtree(wide)
        log("larger than memory: writing a tall array")
        tall = folder / "tall"
        _write_tall(tall, TALL)
        names = ["ours", "lstsq", "dask_ml", "sgd"]
        answer["tall"] = _contest(tall, names, "tall", TALL, log)
        shutil.rmtree(tall)
        log("larger than memory: other sizes")
        answer["model"] = _model(folder, answer["wide"])
    return answer


def _contest(folder: Path, names: list[str], kind: str, shape: Any, log: Log) -> dict[str, Any]:
    """Every contestant under the limit; one that runs out of memory, without it as well."""
    rows: dict[str, Any] = {}
    for name in names:
        if name == "dask_ml" and not installed("dask_ml"):
            continue
        log(f"larger than memory: {kind}, {name}")
        rows[name] = _child(f"{kind}_{name}", folder, LIMIT)
        if "error" in rows[name]:
            rows[f"{name}, unlimited"] = _child(f"{kind}_{name}", folder, 0.0)
    ours = rows["ours"]["seconds"]
    return {
        "shape": list(shape),
        "bytes": 8 * shape[0] * shape[1],
        "limit_bytes": LIMIT * 1e9,
        "rows": rows,
        "times_slower": {
            name: row["seconds"] / ours
            for name, row in rows.items()
            if name not in ("ours", "blocks") and "seconds" in row
        },
    }


def _child(name: str, folder: Path, gigabytes: float) -> dict[str, Any]:
    """A contestant in a process of its own, and how good its answer is."""
    import zarr

    shutil.rmtree(folder / "x.zarr", ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks.larger_child", name, str(folder)]
    done = subprocess.run([*command, str(gigabytes)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if (folder / "x.zarr").exists() and "seconds" in answer:
        x = np.asarray(zarr.open_array(str(folder / "x.zarr"), mode="r")[:])
        best = np.load(folder / "solution.npy")
        answer["distance"] = float(np.linalg.norm(x - best) / np.linalg.norm(best))
        answer["residual"] = _residual(folder, x)
    return answer


def _residual(folder: Path, x: Any) -> float:
    """‖Ax − y‖ over ‖y‖."""
    import zarr

    A, y = zarr.open_array(str(folder / "A.zarr"), mode="r"), np.load(folder / "y.npy")
    rows, columns = A.chunks
    rest = -y
    for i in range(0, A.shape[0], rows):
        for j in range(0, A.shape[1], columns):
            rest[i : i + rows] += A[i : i + rows, j : j + columns] @ x[j : j + columns]
    return float(np.linalg.norm(rest) / np.linalg.norm(y))


def _write_wide(folder: Path, shape: tuple[int, int]) -> None:
    """A with a condition number of about 20, y = AAᵀc and the solution Aᵀc; as zarr and npy."""
    import zarr

    m, d = shape
    width = BLOCK // m
    folder.mkdir()
    path = str(folder / "A.zarr")
    A = zarr.create_array(path, shape=shape, chunks=(m, width), dtype="f8", compressors=None)
    plain = np.lib.format.open_memmap(folder / "A.npy", mode="w+", dtype=np.float64, shape=shape)
    heights = np.geomspace(1.0, 1.0 / CONDITION, m)[:, None] / np.sqrt(d)
    c = np.random.default_rng(0).standard_normal(m) / heights[:, 0] / d
    y, solution = np.zeros(m), np.empty(d)
    for j in range(0, d, width):
        block = np.random.default_rng([1, j]).standard_normal((m, min(width, d - j))) * heights
        A[:, j : j + width] = block
        plain[:, j : j + width] = block
        solution[j : j + width] = block.T @ c
        y += block @ solution[j : j + width]
    plain.flush()
    np.save(folder / "y.npy", y)
    np.save(folder / "solution.npy", solution)
    os.sync()  # or the first to be measured would share the disk with what is still being written


def _write_tall(folder: Path, shape: tuple[int, int]) -> None:
    """A with independent entries, noise on y, and the least-squares solution by refinement."""
    import zarr

    n, d = shape
    height = BLOCK // d
    folder.mkdir()
    path = str(folder / "A.zarr")
    A = zarr.create_array(path, shape=shape, chunks=(height, d), dtype="f8", compressors=None)
    truth, y, gram = np.random.default_rng(0).standard_normal(d), np.empty(n), np.zeros((d, d))
    for i in range(0, n, height):
        generator = np.random.default_rng([2, i])
        block = generator.standard_normal((min(height, n - i), d))
        A[i : i + height] = block
        y[i : i + height] = block @ truth + generator.standard_normal(len(block))
        gram += block.T @ block
    x = np.zeros(d)
    for _ in range(3):
        slope = np.zeros(d)
        for i in range(0, n, height):
            block = A[i : i + height]
            slope += block.T @ (y[i : i + height] - block @ x)
        x += np.linalg.solve(gram, slope)
    np.save(folder / "y.npy", y)
    np.save(folder / "solution.npy", x)
    os.sync()


def _model(folder: Path, wide: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a first pass = flops/rate + bytes/bandwidth, with both measured apart from it,
    held against passes at two other sizes.
    """
    rows = []
    for m, d in OTHER_SIZES:
        here = folder / f"{m}x{d}"
        _write_wide(here, (m, d))
        taken = _child("wide_ours", here, LIMIT)
        flops, size = 2.0 * m * m * d, 8.0 * m * d
        rate, bandwidth = _rates(here, m)
        predicted = flops / rate + size / bandwidth
        rows.append(
            {
                "shape": [m, d],
                "flops_per_second": rate,
                "bytes_per_second": bandwidth,
                "predicted": predicted,
                "measured": taken["first_pass"],
            }
        )
        shutil.rmtree(here)
    return {"rows": rows, "first_pass": wide["rows"]["ours"]["first_pass"]}


def _rates(folder: Path, m: int) -> tuple[float, float]:
    """Flops per second of triangles in memory, and bytes per second of reading, on two threads."""
    from concurrent.futures import ThreadPoolExecutor

    import zarr

    from weightnorm._support.blas import one_thread
    from weightnorm.problems.dask.tsqr import triangle

    A = zarr.open_array(str(folder / "A.zarr"), mode="r")
    width = A.chunks[1]
    blocks = [np.asarray(A[:, i * width : (i + 1) * width]) for i in range(8)]
    count = max(16, int(2e10 / (2 * m * m * width)))
    with one_thread(), ThreadPoolExecutor(2) as pool:
        taken = seconds(lambda: list(pool.map(lambda i: triangle(blocks[i % 8].T), range(count))))
        places = range(0, A.shape[1], width)
        reading = seconds(
            lambda: list(pool.map(lambda j: float(A[:, j : j + width][0, 0]), places))
        )
    return count * 2.0 * m * m * width / taken, 8.0 * m * A.shape[1] / reading
