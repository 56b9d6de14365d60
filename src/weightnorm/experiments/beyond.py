"""Figures beyond the paper: which steps are stable, and where other ways of training end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..datasets import make_regression, random_direction
from ..methods import RPGD, BatchNorm, GradientDescent, WeightNorm
from ..run import run
from ..theory import batchnorm_limit, finite_step_limit, flow_limit, gd_limit, stability
from .captions import CAPTIONS
from .edges import beyond_cycle, beyond_decay
from .runs import FEATURES, NORM, SAMPLES, Experiment, Finding, Result, Settings, variable

START = 2.8  # the scale of the start
SEED = 0  # of the one problem and the one start
NEAR = (0.95, 1.05)  # of the largest stable steps
NUDGE, NUDGED_STEPS = 1e-6, 100  # how far off the solution runs begin, and for how long they go
RATIOS = (0.3, 1000.0)  # of the scale's step to the direction's, along the edge
MOMENTUM_STEP, BATCH_STEP, METHOD_STEP = 2e-4, 1e-3, 1e-3
BETAS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.85, 0.9)
BATCHES = (1, 2, 4, 8, SAMPLES)
TAIL = {"momentum": 1e-20, "batch": 1e-12}  # the loss at which runs stop
KINDS = {"rpgd": RPGD, "wn": WeightNorm}
LONG = 5_000_000


def beyond_stability(settings: Settings) -> Result:
    """Stable steps around the solution where the flow ends, and runs on both sides of the edge."""
    import xarray

    problem, w0 = make_regression(SAMPLES, FEATURES, 3.0, NORM, seed=SEED), _start()
    end = flow_limit(problem, START, w0)
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
    data = xarray.Dataset(
        {
            "stable": variable(("direction_step", "scale_step"), table.stable, "whether it is stable"),
            "rate": variable(
                ("direction_step", "scale_step"), table.rate, "factor of the residual per step"
            ),
            "run_share": variable(("run",), share, "the run's steps over those on the edge"),
            "run_direction_step": variable(("run",), etas, "η of the run"),
            "run_scale_step": variable(("run",), gammas, "γ of the run"),
            "run_grown": variable(("run",), grown, f"the residual after {NUDGED_STEPS} steps, as a "
                             "multiple of the first"),
            "run_rate": variable(("run",), each, "factor of the residual in the last step"),
        },
        {"direction_step": eta, "scale_step": gamma},
        {
            "norm": end.norm,
            "rule_direction_step": 2.0 / (end.norm**2 * _steepest(problem)),
            "rule_scale_step": 2.0 / _steepest(problem),
        },
    )  # fmt: skip
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
    return Result(data, {"rpgd": NUDGED_STEPS * share.size}, findings, remark=remark)


def beyond_norms(settings: Settings) -> Result:
    """Where momentum and mini-batches end, against `finite_step_limit` and the flow."""
    import xarray

    problem, w0 = make_regression(SAMPLES, FEATURES, 1.5, NORM, seed=SEED), _start()
    flow = flow_limit(problem, START, w0).norm
    betas = BETAS[::2] if settings.quick else BETAS
    points: list[tuple[str, float]] = [("momentum", beta) for beta in betas]
    points += [("nesterov", beta) for beta in betas if beta > 0]
    points += [("batch_size", size) for size in (BATCHES[1::2] if settings.quick else BATCHES)]
    shape = (len(KINDS), len(points))
    norm, steps = np.full((*shape, settings.seeds), np.nan), dict.fromkeys(KINDS, 0)
    predicted, error, good = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
    for row, name in enumerate(KINDS):
        for column, (panel, value) in enumerate(points):
            options, step, tail = _training(panel, value)
            limit = finite_step_limit(problem, START, w0, name, step, **options)
            predicted[row, column], error[row, column] = limit.norm, limit.error
            good[row, column] = limit.applies
            random = panel == "batch_size" and value < SAMPLES
            for seed in range(settings.seeds if random else 1):
                method = KINDS[name](step, step, **options, seed=seed if random else None)
                made = run(method, problem, START, w0, tolerance=tail, max_steps=LONG)
                norm[row, column, seed] = made.norm
                steps[name] += made.num_steps
    mean, spread = np.nanmean(norm, axis=-1), np.nanstd(norm, axis=-1)
    off, of_flow = np.abs(mean - predicted), np.abs(mean - flow)
    worst = np.abs(norm - predicted[..., None])
    inside = (worst <= error[..., None]) | np.isnan(worst)
    kinds = np.array([panel for panel, _ in points])
    share = {kind: float((off / of_flow)[:, kinds == kind].max()) for kind in np.unique(kinds)}
    dims = ("algorithm", "point")
    data = xarray.Dataset(
        {
            "panel": variable(("point",), kinds, "what varies"),
            "value": variable(("point",), [float(v) for _, v in points], "β, or samples per step"),
            "norm_mean": variable(dims, mean, "mean of ‖x‖ at the end over seeds"),
            "norm_spread": variable(dims, spread, "standard deviation of ‖x‖ at the end over seeds"),
            "predicted": variable(dims, predicted, "‖x‖ predicted by finite_step_limit"),
            "predicted_error": variable(dims, error, "the error that the prediction allows"),
            "norm": variable((*dims, "seed"), norm, "‖x‖ at the end; seeds only for mini-batches"),
        },
        {"algorithm": list(KINDS), "seed": range(settings.seeds)},
        {"flow_norm": flow, "momentum_step": MOMENTUM_STEP, "batch_step": BATCH_STEP},
    )
    findings = (
        Finding(
            "beyond-norms-share",
            "momentum β acts like steps (1 + β)/(1 − β)² times as large, batches like noise of "
            "known strength",
            "the prediction's error is at most "
            f"{max(share['momentum'], share['nesterov']):.1%} of the flow's with momentum and "
            f"{share['batch_size']:.0%} with mini-batches",
            max(share.values()) < 0.25,
        ),
        Finding(
            "beyond-norms-within",
            "every run ends within the error that its prediction allows",
            f"{int(inside.all(axis=-1).sum())} of {inside[..., 0].size} settings do, all seeds of "
            "each",
            bool(inside.all() and good.all()),
        ),
    )
    remark = f"The largest standard deviation over seeds is {spread.max():.0e}."
    return Result(data, steps, findings, remark=remark)


def beyond_methods(settings: Settings) -> Result:
    """Four methods from one start, over its scale, against their exact limits."""
    import xarray

    problem, w0 = make_regression(SAMPLES, FEATURES, 1.5, NORM, seed=SEED), _start()
    scales, step = np.linspace(0.1, 4.0, 7 if settings.quick else 27), METHOD_STEP
    methods: dict[str, Any] = {
        "gd": GradientDescent(step),
        "wn": WeightNorm(step, step),
        "rpgd": RPGD(step, step),
        "bn": BatchNorm(step, step),
    }
    limits = {"gd": gd_limit, "bn": batchnorm_limit}
    made = [
        [run(method, problem, g0, w0, tolerance=1e-16, max_steps=LONG) for g0 in scales]
        for method in methods.values()
    ]
    norm = np.array([[one.norm for one in row] for row in made])
    length = np.array([[one.direction_norm for one in row] for row in made])
    limit = np.array(
        [
            [limits.get(name, flow_limit)(problem, g0, w0).norm for g0 in scales]
            for name in methods
        ]
    )
    exact = [
        batchnorm_limit(problem, g0, w0, grown=grown).norm
        for g0, grown in zip(scales, length[3] ** 2 - 1.0, strict=True)
    ]
    dims = ("algorithm", "scale")
    data = xarray.Dataset(
        {
            "norm": variable(dims, norm, "‖x‖ at the end"),
            "norm_limit": variable(dims, limit, "‖x‖ at the end as the steps go to zero"),
            "direction_norm": variable(dims, length, "‖w‖ at the end, from 1"),
        },
        {"algorithm": list(methods), "scale": scales},
        {"minimum_norm": NORM, "step": step},
    )
    off, moved = np.abs(norm / limit - 1.0).max(axis=1), np.ptp(norm, axis=1)
    least = float(np.abs(norm[3] - exact).max())
    findings = (
        Finding(
            "beyond-methods-limits",
            "each method has its own exact limit, known before the run",
            f"the norms are off by at most {off[:3].max():.2%} (GD, WN, rPGD) and {off[3]:.2%} "
            "(batch norm), which is what finite steps do",
            bool(off.max() < 0.01),
        ),
        Finding(
            "beyond-methods-batch-norm",
            "where batch norm ends does not depend on the scale of the start; finite steps change "
            "it through the growth of ‖w‖ alone",
            f"over g0 it moves by {moved[3]:.3f}, gradient descent by {moved[0]:.3f}; with ‖w‖ as "
            f"measured its prediction is off by {least:.0e}",
            bool(moved[3] < 0.02 * moved[0] and least < 1e-6),
        ),
    )
    steps = {name: sum(one.num_steps for one in made[place]) for place, name in enumerate(methods)}
    steps.pop("bn")  # there is no plain loop of it to compare with
    remark = (
        f"All steps are {step:g}; batch norm ends at ‖x‖ = {limit[3, 0]:.2f}, gradient descent at "
        f"{limit[0, 0]:.2f} to {limit[0, -1]:.2f}."
    )
    return Result(data, steps, findings, remark=remark)


def _training(panel: str, value: float) -> tuple[dict[str, Any], float, float]:
    """The options of a method, its step, and the loss at which it stops."""
    if panel == "batch_size":
        return {"batch_size": int(value)}, BATCH_STEP, TAIL["batch"]
    return {"momentum": value, "nesterov": panel == "nesterov"}, MOMENTUM_STEP, TAIL["momentum"]


def _start() -> Any:
    return random_direction(FEATURES, SEED)


def _steepest(problem: Any) -> float:
    """λmax of AAᵀ."""
    return float(2.0 / stability(problem, method="gd").max_direction_step)


def _experiment(title: str, compute: Callable[[Settings], Result]) -> Experiment:
    name = compute.__name__.replace("_", "-")
    return Experiment(name, title, " ".join(CAPTIONS[name].split()), name, compute, beyond=True)


BEYOND: tuple[Experiment, ...] = (
    _experiment("Which steps are stable", beyond_stability),
    _experiment("Momentum and mini-batches move the end", beyond_norms),
    _experiment("Four methods from one start", beyond_methods),
    _experiment("Starts that end in a cycle", beyond_cycle),
    _experiment("Decay of the direction, and the edge of stability", beyond_decay),
)
