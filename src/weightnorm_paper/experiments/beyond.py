"""The figures beyond the paper, and the first of them: which steps are stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weightnorm.datasets import make_regression, random_direction
from weightnorm.methods import RPGD
from weightnorm.runs.run import run
from weightnorm.theory import flow_limit, stability

from .captions import CAPTIONS
from .edges import beyond_cycle, beyond_decay
from .ends import beyond_methods, beyond_norms
from .runs import FEATURES, NORM, SAMPLES, Experiment, FigureResult, Finding, Settings, variable

START = 2.8  # the scale of the start
SEED = 0  # of the one problem and the one start
NEAR = (0.95, 1.05)  # of the largest stable steps
NUDGE, NUDGED_STEPS = 1e-6, 100  # how far off the solution runs begin, and for how long they go
RATIOS = (0.3, 1000.0)  # of the scale's step to the direction's, along the edge


def beyond_stability(settings: Settings) -> FigureResult:
    """Stable steps around the solution where the flow ends, and runs on both sides of the edge."""
    import xarray

    problem = make_regression(SAMPLES, FEATURES, 3.0, NORM, seed=SEED)
    end = flow_limit(problem, START, random_direction(FEATURES, SEED))
    size = 60 if settings.quick else 200
    eta, gamma = np.geomspace(0.005, 0.5, size), np.geomspace(0.05, 20.0, size)
    table = stability(problem, end.norm, eta[:, None], gamma)
    nudge = np.random.default_rng(SEED).standard_normal(FEATURES)
    start = end.weights + NUDGE * nudge / np.linalg.norm(nudge)
    rows = []
    for ratio in np.geomspace(*RATIOS, 8 if settings.quick else 24):
        # K is linear in both steps together: its largest eigenvalue is 2 where they are the edge's
        edge = 2.0 / stability(problem, end.norm, 1.0, ratio).eigenvalues[-1]
        for share in NEAR:
            steps = share * edge, share * edge * ratio
            made: Any = run(
                RPGD(*steps), problem, float(np.linalg.norm(start)), start,
                tolerance=0.0, max_steps=NUDGED_STEPS, record=1,
            )  # fmt: skip
            residual = np.sqrt(made.history.loss)
            grown, each = residual[-1] / residual[0], residual[-1] / residual[-2]
            rows.append((share, *steps, grown, each))
    share, etas, gammas, grown, each = np.array(rows).T
    right = (grown > 1.0) == (share > 1.0)
    faster = each[share > 1.0]
    found, steepest = np.unravel_index(np.argmin(table.rate), table.rate.shape), NEAR[1] * 2 - 1
    dims = ("direction_step", "scale_step")
    data = xarray.Dataset(
        {
            "stable": variable(dims, table.stable, "whether the solution is stable"),
            "rate": variable(dims, table.rate, "factor of the residual per step"),
            "run_share": variable(("run",), share, "the run's steps over those on the edge"),
            "run_direction_step": variable(("run",), etas, "η of the run"),
            "run_scale_step": variable(("run",), gammas, "γ of the run"),
            "run_grown": variable(
                ("run",), grown, f"the residual after {NUDGED_STEPS} steps over the first"
            ),
            "run_rate": variable(("run",), each, "factor of the residual in the last step"),
        },
        {"direction_step": eta, "scale_step": gamma},
        {
            "norm": end.norm,
            "rule_direction_step": 2.0 / (end.norm**2 * _steepest(problem)),
            "rule_scale_step": 2.0 / _steepest(problem),
        },
    )
    findings = (
        Finding(
            "beyond-stability-side",
            "a small error dies out exactly when every eigenvalue of K is under 2",
            f"{int(right.sum())} of {right.size} runs are on the right side of the line: 5 % "
            f"inside it the residual fell in {int((grown[share < 1.0] < 1.0).sum())} of "
            f"{int((share < 1.0).sum())}, 5 % outside it grew in "
            f"{int((grown[share > 1.0] > 1.0).sum())} of {int((share > 1.0).sum())}",
            bool(right.all()),
        ),
        Finding(
            "beyond-stability-rate",
            f"with steps 5 % too large the error grows by {steepest:.3f} a step",
            f"it grew by {faster.min():.3f} to {faster.max():.3f} a step",
            bool(np.abs(faster - steepest).max() < 0.005),
        ),
    )
    remark = (
        f"The solution has ‖x‖ = {end.norm:.3f}; the fastest steps on this map, marked by a star, "
        f"are η = {eta[found[0]]:.2g} and γ = {gamma[found[1]]:.2g}, where a step multiplies the "
        f"error by {table.rate.min():.2f}."
    )
    return FigureResult(data, findings, remark=remark)


def _steepest(problem: Any) -> float:
    """λmax of AAᵀ."""
    return float(2.0 / stability(problem, method="gd").max_direction_step)


def _experiment(title: str, compute: Callable[[Settings], FigureResult]) -> Experiment:
    name = compute.__name__.replace("_", "-")
    return Experiment(name, title, " ".join(CAPTIONS[name].split()), name, compute, beyond=True)


BEYOND: tuple[Experiment, ...] = (
    _experiment("Which steps are stable", beyond_stability),
    _experiment("Momentum and mini-batches move the end", beyond_norms),
    _experiment("Four methods from one start", beyond_methods),
    _experiment("Starts that end in a cycle", beyond_cycle),
    _experiment("Decay of the direction, and the edge of stability", beyond_decay),
)
