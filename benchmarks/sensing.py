"""Matrix sensing against a NumPy loop and batched JAX, and against the machine's own matrix
products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import weightnorm as wn

from . import peers
from .timing import installed, interleaved, seconds

STEP = 1e-5
Log = Callable[[str], None]


def flops(size: int, measurements: int) -> int:
    """Floating-point operations of a step: half of W Wᵀ, two products with packed sensors,
    and M W.
    """
    packed = size * (size + 1) // 2
    return 2 * (size * packed + 2 * measurements * packed + size**3)


def matmul_rate() -> float:
    """Floating-point operations a second of a large matrix product, on all cores."""
    A = np.random.default_rng(0).standard_normal((1500, 1500))
    A @ A
    return 2 * 1500**3 / min(seconds(lambda: A @ A) for _ in range(5))


def sensing_case(
    log: Log,
    size: int = 30,
    rank: int = 4,
    measurements: int = 60,
    runs: int = 64,
    steps: int = 2_000,
    repeats: int = 5,
) -> dict[str, Any]:
    """One-scale rPGD, `runs` runs of `steps` steps: seconds per iteration and run of each tool."""
    log(f"matrix sensing, d = {size}, m = {measurements}, {runs} runs")
    problem = wn.datasets.make_sensing(size, rank, measurements, seed=0)
    W = np.array([wn.datasets.sensing_start(size, seed=seed)["direction"] for seed in range(runs)])
    method = wn.RPGD(STEP, STEP)
    alone = max(20, steps // 4)
    contest: dict[str, Callable[[], Any]] = {
        "weightnorm": partial(
            wn.sweep, problem, {"rpgd": method}, [1.0], W, tolerance=0, max_steps=steps
        ),
        "weightnorm, one run": partial(
            wn.run, method, problem, 1.0, W[0], tolerance=0, max_steps=alone
        ),
        "NumPy, a loop": partial(
            peers.numpy_sensing_loop, problem.sensors, problem.y, W[0], 1.0, STEP, alone
        ),
    }
    if installed("jax"):
        solver = peers.jax_sensing_solver(problem.sensors, problem.y, STEP, steps)
        contest["JAX, jit(vmap(fori_loop))"] = partial(solver, W, np.ones(runs))
    ours = contest["weightnorm"]().final_scale.values.ravel()
    if "JAX, jit(vmap(fori_loop))" in contest:  # compiles, and shows that both ran the same
        np.testing.assert_allclose(contest["JAX, jit(vmap(fori_loop))"](), ours, rtol=1e-9)
    np.testing.assert_allclose(
        contest["NumPy, a loop"]()[0], contest["weightnorm, one run"]().scale, rtol=1e-9
    )
    times = interleaved(contest, repeats)
    lengths = {"weightnorm": runs * steps, "JAX, jit(vmap(fori_loop))": runs * steps}
    each = {name: taken / lengths.get(name, alone) for name, taken in times.items()}
    rate = matmul_rate()
    return {
        "size": size,
        "measurements": measurements,
        "runs": runs,
        "steps": steps,
        "seconds_per_iteration_and_run": each,
        "times_slower": {
            name: each[name] / each["weightnorm"]
            for name in each
            if not name.startswith("weightnorm")
        },
        "flops": flops(size, measurements),
        "flops_per_second": flops(size, measurements) / each["weightnorm"],
        "matmul_flops_per_second": rate,
        "share_of_matmul": flops(size, measurements) / each["weightnorm"] / rate,
    }
