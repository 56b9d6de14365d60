"""Two figures beyond the paper on where training ends: momentum and batches, and four methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm.datasets import make_regression, random_direction
from weightnorm.methods import RPGD, BatchNorm, GradientDescent, WeightNorm
from weightnorm.runs.run import run
from weightnorm.theory import batchnorm_limit, finite_step_limit, flow_limit, gd_limit

from .runs import FEATURES, NORM, SAMPLES, FigureResult, Finding, Settings, variable

START, SEED = 2.8, 0  # the scale of the start; the seed of the one problem and of the one start
MOMENTUM_STEP, BATCH_STEP, METHOD_STEP = 2e-4, 1e-3, 1e-3
BETAS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.85, 0.9)
BATCHES = (1, 2, 4, 8, SAMPLES)
TAIL = {"momentum": 1e-20, "batch": 1e-12}  # the loss at which runs stop
KINDS = {"rpgd": RPGD, "wn": WeightNorm}
LONG = 5_000_000


def beyond_norms(settings: Settings) -> FigureResult:
    """Where momentum and mini-batches end, against `finite_step_limit` and the flow."""
    import xarray

    problem = make_regression(SAMPLES, FEATURES, 1.5, NORM, seed=SEED)
    w0 = random_direction(FEATURES, SEED)
    flow = flow_limit(problem, START, w0).norm
    betas = BETAS[::4] if settings.quick else BETAS
    points: list[tuple[str, float]] = [("momentum", beta) for beta in betas]
    points += [("nesterov", beta) for beta in betas if beta > 0]
    points += [("batch_size", size) for size in (BATCHES[2::2] if settings.quick else BATCHES)]
    shape = (len(KINDS), len(points))
    norm = np.full((*shape, settings.seeds), np.nan)
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
            "norm_spread": variable(
                dims, spread, "standard deviation of ‖x‖ at the end over seeds"
            ),
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
            "momentum and mini-batches move the end by an amount known before, to first order in "
            "the step",
            f"the prediction's error is at most {max(share['momentum'], share['nesterov']):.1%} of "
            f"the flow's with momentum and {share['batch_size']:.0%} with mini-batches",
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
    return FigureResult(data, findings, remark=remark)


def beyond_methods(settings: Settings) -> FigureResult:
    """Four methods from one start, over its scale, against their exact limits."""
    import xarray

    problem = make_regression(SAMPLES, FEATURES, 1.5, NORM, seed=SEED)
    w0 = random_direction(FEATURES, SEED)
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
        [[limits.get(name, flow_limit)(problem, g0, w0).norm for g0 in scales] for name in methods]
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
            "(batch norm)",
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
    remark = (
        f"All steps are {step:g}; batch norm ends at ‖x‖ = {limit[3, 0]:.2f}, gradient descent at "
        f"{limit[0, 0]:.2f} to {limit[0, -1]:.2f}."
    )
    return FigureResult(data, findings, remark=remark)


def _training(panel: str, value: float) -> tuple[dict[str, Any], float, float]:
    """The options of a method, its step, and the loss at which it stops."""
    if panel == "batch_size":
        return {"batch_size": int(value)}, BATCH_STEP, TAIL["batch"]
    return {"momentum": value, "nesterov": panel == "nesterov"}, MOMENTUM_STEP, TAIL["momentum"]
