"""Two figures beyond the paper where training does not settle: the 2-cycle, and decay of w."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm.datasets import make_regression, random_direction
from weightnorm.methods import RPGD, WeightNorm
from weightnorm.methods.schedules import curvature
from weightnorm.runs.run import run
from weightnorm.runs.sweep import sweep
from weightnorm.theory import edge_time, stability, two_cycle
from weightnorm.theory.cycle import flips

from .runs import FEATURES, NORM, SAMPLES, FigureResult, Finding, Settings, variable

SEED = 0
PARALLEL = 0.8  # ‖Aw0‖ of all starts of the cycle's map
SCALE_STEPS = (0.3, 0.9)
CYCLE_STEPS = 1_000  # an even number, so that runs in the cycle end with the sign they had
STEP, DECAY = 0.1, 0.004  # of weight normalization with decay: η = γ, and λ
STARTS = (1.0, 2.8)  # scales: one that forgets most of its start at once, one that keeps some
AFTER = 4.0  # how long the run with decay goes on after the edge, in times to get there


def beyond_cycle(settings: Settings) -> FigureResult:
    """Which starts rPGD with η = 1/g² never leaves its 2-cycle from: the rule, and runs."""
    import xarray

    problem = make_regression(SAMPLES, FEATURES, 1.0, NORM, seed=SEED)
    size, across, up = (41, 7, 7) if settings.quick else (121, 15, 13)
    scales, cosines = np.geomspace(0.02, 10.0, size), np.linspace(-PARALLEL, PARALLEL, size)
    steps = np.array(SCALE_STEPS)
    rule = [flips(scales[:, None], cosines, PARALLEL, NORM, float(step)) < 0 for step in steps]
    own_scales = np.geomspace(0.025, 8.0, across)
    own_cosines = np.linspace(-0.95, 0.95, up) * PARALLEL
    starts = _starts(problem, own_cosines)
    losses, predicted = [], []
    for step in steps:
        made = sweep(
            problem, {"rpgd": RPGD(curvature(), step)}, own_scales, starts,
            tolerance=0.0, max_steps=CYCLE_STEPS,
        )  # fmt: skip
        losses.append(made.loss.isel(algorithm=0).values.ravel())
        told = [two_cycle(problem, g0, w0, step) for w0 in starts for g0 in own_scales]
        predicted.append([(one.trapped, one.loss) for one in told])
    loss, known = np.array(losses), np.array(predicted, dtype=float)
    cycling = np.abs(loss / known[..., 1] - 1.0) < 1e-6
    converged = loss < 1e-12
    apart = int((np.where(known[..., 0] > 0, cycling, converged) == 0).sum())
    where = np.meshgrid(own_cosines, own_scales, indexing="ij")
    dims = ("scale_step", "run")
    data = xarray.Dataset(
        {
            "trapped": variable(("scale_step", "scale", "cosine"), rule, "in the cycle, as ruled"),
            "run_scale": variable(("run",), where[1].ravel(), "g0 of the run"),
            "run_cosine": variable(("run",), where[0].ravel(), "⟨w0, w*⟩ of the run"),
            "run_loss": variable(dims, loss, f"the loss after {CYCLE_STEPS} steps"),
            "run_trapped": variable(dims, cycling, "whether that is the loss of the cycle"),
            "run_converged": variable(dims, converged, "whether that is zero, to rounding"),
        },
        {"scale_step": steps, "scale": scales, "cosine": cosines},
        {"parallel": PARALLEL, "minimum_norm": NORM},
    )
    finding = Finding(
        "beyond-cycle-rule",
        "a start ends in the cycle exactly when g changes sign in both of the first two steps",
        f"rule and run disagree in {apart} of {loss.size} runs; {int(cycling.sum())} ended in the "
        f"cycle, {int(converged.sum())} at zero loss",
        apart == 0,
    )
    return FigureResult(data, (finding,))


def _starts(problem: Any, cosines: Any) -> Any:
    """Unit directions with these cosines to the solution, and ‖Aw‖ = PARALLEL for AAᵀ = I."""
    target = problem.min_norm_solution() / NORM
    inside, outside = problem.split(random_direction(FEATURES, SEED))
    inside = inside - (inside @ target) * target
    inside, outside = inside / np.linalg.norm(inside), outside / np.linalg.norm(outside)
    rest = np.sqrt(PARALLEL**2 - cosines**2)
    return (
        cosines[:, None] * target
        + rest[:, None] * inside
        + float(np.sqrt(1.0 - PARALLEL**2)) * outside
    )


def beyond_decay(settings: Settings) -> FigureResult:
    """Weight normalization with decay of w: it goes to the edge of stability, and forgets."""
    import xarray

    problem = make_regression(SAMPLES, FEATURES, 3.0, NORM, seed=SEED)
    w0, decay = random_direction(FEATURES, SEED), DECAY * (4.0 if settings.quick else 1.0)
    method = WeightNorm(STEP, STEP, direction_decay=decay)
    plain = [run(WeightNorm(STEP, STEP), problem, g0, w0, tolerance=1e-20) for g0 in STARTS]
    told = [
        edge_time(problem, STEP, STEP, decay, at.norm, float(at.direction_norm)) for at in plain
    ]
    edges = np.array([one.steps for one in told])
    every = 1 if settings.quick else 4
    length = int((1.0 + AFTER) * edges.max()) // every * every
    tracks: list[Any] = [
        run(method, problem, g0, w0, tolerance=0.0, max_steps=length, record=every).history
        for g0 in STARTS
    ]
    step = tracks[0].step
    square = np.array([track.direction_norm**2 for track in tracks])
    norm = np.array([np.maximum(track.weights_norm, NORM) for track in tracks])
    there = stability(problem, norm, STEP, STEP, method="wn", direction_norm=np.sqrt(square))
    largest = there.eigenvalues[..., -1]
    q = np.array([track.direction_perp_norm for track in tracks])
    reached = np.array([step[int(np.argmax(row >= 2.0))] for row in largest])
    late = step > reached[0]
    slope = float(np.polyfit(step[late], np.log(q[0, late]), 1)[0]) / (-STEP * decay)
    predicted = np.full(q.shape, np.nan)
    for row, (at, edge) in enumerate(zip(plain, told, strict=True)):
        after = step >= edge.steps
        begin = at.perp_norm / at.norm
        predicted[row, after] = _forgetting(begin, edge.direction_norm**2, step[after], decay)
    after = step >= edges[1]
    fallen, foreseen = (-np.log(row[after][-1] / row[after][0]) for row in (q[1], predicted[1]))
    whole = STEP * decay * (step[-1] - step[after][0])
    mean = float(largest[0, late].mean())
    off = np.abs(reached / edges - 1.0)
    dims = ("start_scale", "step")
    data = xarray.Dataset(
        {
            "loss": variable(dims, [track.loss for track in tracks], "loss"),
            "direction_norm_squared": variable(dims, square, "‖w‖²"),
            "largest_eigenvalue": variable(dims, largest, "λmax(K) at the solution of this norm"),
            "direction_perp_norm": variable(dims, q, "q = ‖w⊥‖/‖w‖"),
            "predicted_perp_norm": variable(dims, predicted, "q after the edge, predicted"),
            "edge_step": variable(("start_scale",), edges, "when the edge is reached, predicted"),
        },
        {"start_scale": list(STARTS), "step": step},
        {"step_size": STEP, "direction_decay": decay, "minimum_norm": NORM},
    )
    findings = (
        Finding(
            "beyond-decay-edge",
            "‖w‖² falls by (1 − ηλ)² a step until λmax(K) = 2, at a step known before",
            f"reached at step {reached[0]} and {reached[1]}, predicted {edges[0]:.0f} and "
            f"{edges[1]:.0f} (off by at most {off.max():.1%})",
            bool(off.max() < 0.1),
        ),
        Finding(
            "beyond-decay-stays",
            "it stays at the edge from there on",
            f"the mean of λmax(K) afterwards is {mean:.3f}, with loss in bursts of up to "
            f"{tracks[0].loss[late].max():.2g}",
            1.8 < mean < 2.2,
        ),
        Finding(
            "beyond-decay-forgets",
            "q falls by ηλ a step once it is small; before, where ‖x‖ still has to fall with it, "
            "by ηλ/(1 + ‖x*‖²q²/(c‖w‖²(1 − q²)²))",
            f"from g0 = {STARTS[0]:g} it fell by {slope:.2f}·ηλ a step (measured); from g0 = "
            f"{STARTS[1]:g} log q fell by {fallen:.2f} in all, where the second form says "
            f"{foreseen:.2f} and ηλ a step {whole:.2f}",
            bool(0.8 < slope < 1.25 and abs(fallen / foreseen - 1.0) < 0.2),
        ),
    )
    remark = f"Here η = γ = {STEP:g} and λ = {decay:g}."
    return FigureResult(data, findings, remark=remark)


def _forgetting(first: float, square: float, times: Any, decay: float) -> Any:
    """q after the edge, from q there and ‖w‖² there: log q + ‖x‖²/2c‖w‖² loses ηλ a step,
    c = γ/η = 1, and a solution has ‖x‖² = g*²/(1 − q²); so log q itself loses less while q is not
    small.
    """
    q = np.full(times.shape, first)
    for place, passed in enumerate(np.diff(times)):
        now = q[place]
        slower = 1.0 + NORM**2 * now**2 / (square * (1.0 - now**2) ** 2)
        q[place + 1] = now * np.exp(-STEP * decay * passed / slower)
    return q
