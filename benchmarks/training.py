"""What momentum, mini-batches and many problems cost: each against the plain run or the plain
loop it replaces.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import weightnorm as wn
from weightnorm.engine.many_runs import run_many

from .timing import interleaved

STEP, BETA = 1e-3, 0.9
Log = Callable[[str], None]
METHODS: dict[str, Callable[..., Any]] = {
    "gd": lambda **options: wn.GradientDescent(STEP, **options),
    "wn": lambda **options: wn.WeightNorm(STEP, STEP, **options),
    "rpgd": lambda **options: wn.RPGD(STEP, STEP, **options),
}


def costs(log: Log, repeats: int) -> dict[str, Any]:
    """All of them."""
    return {
        "momentum_over_plain": momentum_cost(log, repeats),
        "batches": batch_cost(log, repeats),
        "many_problems": problems_together(log, repeats),
    }


def momentum_cost(log: Log, repeats: int, num_steps: int = 400_000) -> dict[str, dict[str, float]]:
    """A run with momentum over a plain one, by method: m = 20, d = 50, 21 coordinates."""
    log("momentum")
    problem, w0 = (
        wn.datasets.make_regression(condition_number=2.0, seed=0),
        wn.datasets.random_direction(50, 0),
    )
    kinds: dict[str, dict[str, Any]] = {"plain": {}, "heavy ball": {"momentum": BETA}}
    kinds["Nesterov"] = {"momentum": BETA, "nesterov": True}
    contest: dict[str, Callable[[], object]] = {
        f"{name} {kind}": partial(
            wn.run, make(**options), problem, 1.0, w0, tolerance=0, max_steps=num_steps
        )
        for name, make in METHODS.items()
        for kind, options in kinds.items()
    }
    for run in contest.values():
        run()  # compile
    times = interleaved(contest, repeats, min)
    return {
        name: {
            kind: times[f"{name} {kind}"] / times[f"{name} plain"]
            for kind in ("heavy ball", "Nesterov")
        }
        for name in METHODS
    }


def batch_cost(log: Log, repeats: int, num_steps: int = 2_000) -> dict[str, float]:
    """rPGD with mini-batches: ours over a plain NumPy loop, one run at d = 50 and d = 5,000, and
    100 runs in a sweep.
    """
    log("mini-batches")
    answer = {}
    for d in (50, 5_000):
        problem, w0 = (
            wn.datasets.make_regression(20, d, condition_number=2.0, seed=0),
            wn.datasets.random_direction(d, 0),
        )
        method = wn.RPGD(STEP, STEP, batch_size=5, seed=0)
        starts = np.array([wn.datasets.random_direction(d, seed) for seed in range(10)])
        options: dict[str, Any] = {"tolerance": 1e-30, "max_steps": num_steps}
        contest: dict[str, Callable[[], object]] = {
            "loop": partial(_plain_batches, problem.A, problem.y, w0, 1.0, num_steps),
            "run": partial(wn.run, method, problem, 1.0, w0, **options),
            "sweep": partial(
                wn.sweep, problem, {"rpgd": method}, np.linspace(0.5, 2.0, 10), starts, **options
            ),
        }
        contest["run"]()
        times = interleaved(contest, repeats)
        answer[f"run_over_loop_d_{d}"] = times["run"] / times["loop"]
        answer[f"sweep_over_100_loops_d_{d}"] = times["sweep"] / (100 * times["loop"])
    return answer


def _plain_batches(A: Any, y: Any, w0: Any, g: float, num_steps: int) -> Any:
    """What one would write: draw, step, and look at the whole loss."""
    rng, w, m = np.random.default_rng(0), w0 / np.linalg.norm(w0), len(y)
    for _ in range(num_steps):
        residual = A @ (g * w) - y
        if 0.5 * residual @ residual <= 1e-30:
            break
        rows = rng.choice(m, 5, replace=False)
        part = A[rows]
        gradient = part.T @ (part @ (g * w) - y[rows]) * (m / 5)
        along = w @ gradient
        w = w - STEP * g * gradient
        w, g = w / np.linalg.norm(w), g - STEP * along
    return g * w


def problems_together(log: Log, repeats: int) -> dict[str, float]:
    """Figure 4's runs, one for each of 100 problems and method: in one batch over one sweep per
    problem.
    """
    log("many problems")
    problems = [
        wn.datasets.make_regression(condition_number=k, seed=s)
        for k in (1.0, 2.0, 4.0, 8.0, 16.0)
        for s in range(20)
    ]
    starts = np.array([wn.datasets.random_direction(50, seed) for seed in range(100)])
    methods: dict[str, Any] = {
        "gd": wn.GradientDescent(0.01),
        "wn": wn.WeightNorm(0.01, 0.01),
        "rpgd": wn.RPGD(0.01, 0.01),
    }

    def apart() -> None:
        for problem, w0 in zip(problems, starts, strict=True):
            run_many(problem, methods, [2.8], w0, 1e-5, 10**6)

    def together() -> None:
        run_many(problems, methods, [2.8], starts, 1e-5, 10**6)

    apart()
    together()
    times = interleaved({"apart": apart, "together": together}, repeats)
    return {
        "seconds_apart": times["apart"],
        "seconds_together": times["together"],
        "ratio": times["apart"] / times["together"],
    }
