"""Kernel problems: a limit against one eigendecomposition, runs against those with features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weightnorm._support.machine import machine
from weightnorm.estimators import WeightNormKernelRegressor
from weightnorm.methods import RPGD
from weightnorm.problems import KernelLeastSquares, LeastSquares
from weightnorm.runs.run import run
from weightnorm.theory import flow_limit

from .timing import interleaved

SAMPLES, FEATURES, STEPS = 2_000, 3_000, 1_000


def kernel_cases(log: Callable[[str], None], repeats: int, n: int = SAMPLES) -> dict[str, Any]:
    """A limit, a fit and a run at n samples, each beside its peer.

    Parameters
    ----------
    log : callable
        Told what is being measured.
    repeats : int
        Interleaved repeats; the median counts.
    n : int
        Samples.

    Returns
    -------
    dict
        Seconds and ratios: "limits" by kernel, over `scipy.linalg.eigh`; "fits" over KernelRidge,
        which solves one system by Cholesky; "run", over the same run with features.
    """
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n * FEATURES // SAMPLES)) / np.sqrt(n)
    X = rng.standard_normal((n, 10))
    squares = (X**2).sum(axis=1)
    rbf = np.exp(-0.05 * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))
    y = rng.standard_normal(n)
    limits, fits = {}, {}
    for name, K in (("linear, full rank", A @ A.T), ("rbf, 10 features", rbf)):
        log(f"the limit on a kernel of {n:,} samples, {name}")
        limits[name] = _limit(0.5 * (K + K.T), y, repeats)
        fits[name] = _fit(0.5 * (K + K.T), y, repeats)
    log(f"runs on a kernel of {n:,} samples")
    return {
        "machine": machine(),
        "samples": n,
        "limits": limits,
        "fits": fits,
        "run": _run(A, y, rng.standard_normal(A.shape[1]), repeats),
    }


def _limit(K: Any, y: Any, repeats: int) -> dict[str, float]:
    from scipy.linalg import eigh

    f0 = 0.5 * K[:, 0] / np.sqrt(K[0, 0])

    def limit() -> Any:
        problem = KernelLeastSquares(K, y)
        return flow_limit(problem, 1.0, start_values=f0).dual_coef

    times = interleaved({"limit": limit, "eigh": lambda: eigh(K)}, repeats)
    return times | {"ratio": times["limit"] / times["eigh"]}


def _fit(K: Any, y: Any, repeats: int) -> dict[str, float]:
    from sklearn.kernel_ridge import KernelRidge

    ridge = KernelRidge(alpha=1e-6, kernel="precomputed")
    ours = WeightNormKernelRegressor(kernel="precomputed")
    contestants = {"weightnorm": lambda: ours.fit(K, y), "KernelRidge": lambda: ridge.fit(K, y)}
    times = interleaved(contestants, repeats)
    return times | {"ratio": times["weightnorm"] / times["KernelRidge"]}


def _run(A: Any, y: Any, w: Any, repeats: int) -> dict[str, float]:
    """The same run with features and without, both factorised before."""
    method = RPGD(1e-3, 1e-3)
    options: dict[str, Any] = {"tolerance": 0, "max_steps": STEPS}
    features, kernel = LeastSquares(A, y), KernelLeastSquares(A @ A.T, y)
    f0 = A @ (w / np.linalg.norm(w))
    contestants = {
        "kernel": lambda: run(method, kernel, 1.0, start_values=f0, **options),
        "features": lambda: run(method, features, 1.0, w, **options),
    }
    for once in contestants.values():
        once()  # factorise, compile
    times = interleaved(contestants, repeats)
    return times | {"steps": STEPS, "ratio": times["kernel"] / times["features"]}
