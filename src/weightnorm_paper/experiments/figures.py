"""The experiments of the paper, and two that go on from them; `beyond.py` has others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weightnorm.flows.trajectory import Trajectory, flow, gradient_flow
from weightnorm.methods import RPGD, GradientDescent, WeightNorm
from weightnorm.methods.schedules import curvature, two_phase
from weightnorm.plot.phase import phase_data
from weightnorm.problems import LeastSquares

from . import sensing
from .captions import CAPTIONS
from .runs import (
    NORM,
    Experiment,
    FigureResult,
    Finding,
    Settings,
    largest_scale_within,
    mean_norm,
    run_seeds,
    with_summary,
)

PRINTED = "_printed"  # ends the names of runs with the steps as the paper prints them
KAPPAS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 20.0, 30.0, 50.0)
START = 2.8
PLANE = LeastSquares([[1.0, 0.0]], [1.0])  # Figure 2: one equation, two unknowns
START_A, SMALLER, START_F = (-0.15, 0.9), (-0.1, 0.55), (0.5, 1.6)  # its starts
SLOW = 0.02  # its slow scale: the ratio of rates


def _equal(step: float) -> dict[str, Any]:
    return {"gd": GradientDescent(step), "wn": WeightNorm(step, step), "rpgd": RPGD(step, step)}


def _scales(quick: bool, first: float = 0.0) -> list[float]:
    every = np.linspace(0.0, 4.5, 16 if quick else 46)
    return [float(v) for v in np.unique(np.maximum(every, first))]


def figure_1(settings: Settings) -> FigureResult:
    """Equal small steps, 0.005."""
    data = with_summary(run_seeds(_equal(0.005), _scales(settings.quick), settings.seeds))
    reach, gd_reach = (largest_scale_within(data, name, 0.01) for name in ("rpgd", "gd"))
    spread = {n: float(data.norm_spread.sel(algorithm=n).max()) for n in ("gd", "wn", "rpgd")}
    apart = float(np.abs(mean_norm(data, "wn") - mean_norm(data, "rpgd")).max())
    findings = (
        Finding(
            "figure-1-range",
            "WN and rPGD end near the minimum norm for g0 up to about 1.5, GD only near 0",
            f"within 1 % of the minimum norm, rPGD up to g0 = {reach:.1f}, GD up to {gd_reach:.1f}",
            reach >= 1.5 > gd_reach,
        ),
        Finding(
            "figure-1-spread",
            "WN and rPGD have a smaller standard deviation than GD",
            f"largest over g0: GD {spread['gd']:.3f}, WN {spread['wn']:.3f}, rPGD "
            f"{spread['rpgd']:.3f}",
            max(spread["wn"], spread["rpgd"]) < spread["gd"],
        ),
        Finding(
            "figure-1-overlap",
            "WN and rPGD overlap at small steps",
            f"they differ by at most {apart:.4f}",
            apart < 0.01,
        ),
    )
    return FigureResult(data, findings)


def figure_3_top(settings: Settings) -> FigureResult:
    """Equal large steps, 0.1."""
    data = with_summary(run_seeds(_equal(0.1), _scales(settings.quick), settings.seeds))
    apart, g0 = np.abs(mean_norm(data, "wn") - mean_norm(data, "rpgd")), data.scale.values
    below, above = float(apart[g0 <= 2.0].max()), float(apart[g0 > 2.0].max())
    finding = Finding(
        "figure-3-top-difference",
        "WN and rPGD differ for g0 > 2 and perform alike below",
        f"they differ by at most {below:.3f} for g0 ≤ 2 and by up to {above:.3f} above",
        above > 0.05 > below,
    )
    return FigureResult(data, (finding,))


def figure_3_bottom(settings: Settings) -> FigureResult:
    """The curvature step for w (‖w‖² for WN) and 0.005 for g."""
    methods: dict[str, Any] = {
        "gd": GradientDescent(0.1),
        "wn": WeightNorm(curvature(), 0.005),
        "rpgd": RPGD(curvature(), 0.005),
    }
    data = with_summary(run_seeds(methods, _scales(settings.quick, first=0.1), settings.seeds))
    reach = {name: largest_scale_within(data, name, 0.02) for name in ("wn", "rpgd")}
    finding = Finding(
        "figure-3-bottom-range",
        "close to the minimum norm for g0 up to about 3",
        f"within 2 % of it up to g0 = {reach['wn']:.1f} (WN) and {reach['rpgd']:.1f} (rPGD)",
        min(reach.values()) >= 2.8,
    )
    return FigureResult(data, (finding,))


def _over_kappa(methods: dict[str, Any], settings: Settings) -> Any:
    kappas = KAPPAS[:5:2] if settings.quick else KAPPAS
    return with_summary(run_seeds(methods, [START], settings.seeds, kappas))


def figure_4_top(settings: Settings) -> FigureResult:
    """Equal steps 0.01 from g0 = 2.8, over condition numbers."""
    data = _over_kappa(_equal(0.01), settings)
    means = {name: mean_norm(data, name)[:, 0] for name in ("wn", "rpgd")}
    change = {name: float(values[-1] - values[0]) for name, values in means.items()}
    finding = Finding(
        "figure-4-top-growth",
        "the norms of WN and rPGD grow slowly with κ",
        f"up to κ = {float(data.condition_number[-1]):g} they change by {change['wn']:+.3f} (WN) "
        f"and {change['rpgd']:+.3f} (rPGD): the exact limit depends on (g*, g0, q0, c) alone, so "
        "it cannot grow",
        min(change.values()) > 0.01,
    )
    return FigureResult(data, (finding,))


def figure_4_bottom(settings: Settings) -> FigureResult:
    """Two phases: the scale frozen for t ≤ 5000, then 0.1; the curvature step for w. Beside it
    the steps as the paper prints them: 1 for the scale, and the direction frozen.
    """
    thaw = two_phase(0.0, 0.1, 5001)
    methods = {
        "gd": GradientDescent(0.1),
        "wn": WeightNorm(curvature(), thaw),
        "rpgd": RPGD(curvature(), thaw),
        "wn" + PRINTED: WeightNorm(thaw, 1.0),
        "rpgd" + PRINTED: RPGD(thaw, 1.0),
    }
    data = _over_kappa(methods, settings)
    ends = [_range(data, ("wn" + suffix, "rpgd" + suffix)) for suffix in ("", PRINTED)]
    remark = (
        f"The mean norms of WN and rPGD are {ends[0]} as we read the steps, and {ends[1]} as they "
        f"are printed; the minimum norm is {NORM:g}."
    )
    off = max(float(np.abs(mean_norm(data, name) - NORM).max()) for name in ("wn", "rpgd"))
    finding = Finding(
        "figure-4-bottom-robust",
        "the two-phase norms are robust to κ and overlap with the minimum norm",
        f"WN and rPGD stay within {off:.3f} of it for every κ; what is left comes from stopping at "
        "loss 1e-5, which is reached early at a large κ",
        off < 0.03 * NORM,
    )
    return FigureResult(data, (finding,), remark=remark)


def _range(data: Any, names: tuple[str, ...]) -> str:
    """The smallest and the largest mean norm of these algorithms."""
    means = np.concatenate([mean_norm(data, name).ravel() for name in names])
    return f"{means.min():.2f} to {means.max():.2f}"


def figure_2(settings: Settings) -> FigureResult:
    """Paths in two dimensions, all computed: A = [1, 0], y = 1."""
    size_a, size_f = float(np.linalg.norm(START_A)), float(np.linalg.norm(START_F))
    paths = {
        "gd": _gradient_path(START_A),
        "flow": flow(PLANE, size_a, START_A, 1.0),
        "two_phase": flow(PLANE, size_a, START_A, 0.0, restart_ratio=1.0),
        "slow_scale": flow(PLANE, size_a, START_A, SLOW),
        "large_start": flow(PLANE, size_f, START_F, 1.0),
    }
    smaller = flow(PLANE, float(np.linalg.norm(SMALLER)), SMALLER, 1.0)
    remark = (
        f"From a = {_pair(START_A)} the distances to c are {_off(paths['flow']):.3f} (e) and "
        f"{_off(paths['gd']):.3f} (d); from {_pair(SMALLER)}, a smaller start, they are "
        f"{_off(smaller):.3f} and {_off(_gradient_path(SMALLER)):.3f}. "
        f"With the slow scale, of ratio {SLOW:g}, {_off(paths['slow_scale']):.3f} is left."
    )
    longest = max(path.time.size for path in paths.values())
    weights = np.full((len(paths), longest, 2), np.nan)
    time = np.full((len(paths), longest), np.nan)
    for place, path in enumerate(paths.values()):
        weights[place, : path.time.size], time[place, : path.time.size] = path.weights, path.time
    return FigureResult(path_dataset(list(paths), time, weights), (), remark=remark)


def _gradient_path(start: tuple[float, float]) -> Trajectory:
    return gradient_flow(PLANE, float(np.linalg.norm(start)), start, np.linspace(0, 12, 200))


def _pair(point: tuple[float, float]) -> str:
    return f"({point[0]:g}, {point[1]:g})".replace("-", "−")


def _off(path: Trajectory) -> float:
    """How far from the point of smallest norm a path ends."""
    return float(np.linalg.norm(path.weights[-1] - PLANE.min_norm_solution()))


def path_dataset(names: list[str], time: Any, weights: Any) -> Any:
    """Paths of different lengths as one dataset, with NaN behind their ends."""
    import xarray

    variables = {
        "x1": (("path", "point"), weights[..., 0], {"long_name": "what the data sees"}),
        "x2": (("path", "point"), weights[..., 1], {"long_name": "what it does not see"}),
        "time": (("path", "point"), time, {"long_name": "time of the flow"}),
    }
    return xarray.Dataset(variables, {"path": names})


def phase_diagram(settings: Settings) -> FigureResult:
    """‖x∞ − x*‖ over (g0, c), where WN beats GD, and where the printed limit is off."""
    size, q0 = (60 if settings.quick else 200), float(np.sqrt(0.6))
    data = phase_data(NORM, q0, np.linspace(0.0, 5.0, size), np.geomspace(0.05, 50.0, size))
    closer, g0 = data.distance < data.gd_distance, data.scale.values
    share = float((data.printed_error > 0.01).mean())
    finding = Finding(
        "phase-diagram",
        "g0² ≤ g*² makes WN end closer than GD, and the printed limit gives the end",
        f"WN is closer on {float(closer.mean()):.0%} of this map, not always for g0 ≤ 3; "
        f"the printed limit is off by over 1 % on {share:.0%}",
        bool(closer.values[(g0 > 0) & (g0 <= NORM)].all()) and share == 0.0,
    )
    return FigureResult(data, (finding,))


def _experiment(
    name: str, title: str, kind: str, compute: Callable[[Settings], FigureResult]
) -> Experiment:
    return Experiment(name, title, " ".join(CAPTIONS[name].split()), kind, compute)


PAPER: tuple[Experiment, ...] = (
    _experiment("figure-1", "Equal small steps", "norms", figure_1),
    _experiment("figure-2", "Paths in the plane", "paths", figure_2),
    _experiment("figure-3-top", "Equal large steps", "norms", figure_3_top),
    _experiment(
        "figure-3-bottom",
        "A curvature step for the direction, a small one for the scale",
        "norms",
        figure_3_bottom,
    ),
    _experiment("figure-4-top", "Condition numbers, equal steps", "kappa", figure_4_top),
    _experiment("figure-4-bottom", "Condition numbers, two phases", "readings", figure_4_bottom),
    _experiment("figure-5-left", "Matrix sensing, equal steps", "sensing", sensing.figure_5_left),
    _experiment("figure-5-right", "Matrix sensing, two phases", "sensing", sensing.figure_5_right),
    _experiment(
        "figure-5-refined", "Matrix sensing with refined steps", "refined", sensing.figure_5_refined
    ),
    _experiment(
        "phase-diagram",
        "Where the WN flow ends, over start scale and ratio",
        "phase",
        phase_diagram,
    ),
)
