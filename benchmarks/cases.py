"""The three measurements: the paper's sweep against every peer, time against size, one large
problem end to end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import weightnorm as wn

from . import peers
from .timing import installed, interleaved, seconds

STEP, TOLERANCE = 0.005, 1e-5
NUM_SCALES = 40
Log = Callable[[str], None]


@dataclass
class Row:
    """One line of a table: a tool and what it took, in seconds per iteration and run."""

    name: str
    per_iteration: dict[str, float]
    note: str = ""
    peer: bool = True


@dataclass
class Table:
    """A titled list of rows; `columns` are the keys of their numbers, in order."""

    title: str
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def methods(step: float = STEP) -> dict[str, Any]:
    """The paper's three methods at equal steps."""
    return {
        "gd": wn.GradientDescent(step),
        "wn": wn.WeightNorm(step, step),
        "rpgd": wn.RPGD(step, step),
    }


def figure_1_sweep(num_starts: int, repeats: int, log: Log, *, numpy_only: bool = False) -> Table:
    """(a): 40 scales × num_starts random starts, every peer, per iteration and run."""
    problem = wn.datasets.make_regression(seed=0)
    distinct = wn.datasets.make_regression(condition_number=1.0 + 1e-6, seed=0)
    A, y = problem.A, problem.y
    scales = np.linspace(0.1, 4.0, NUM_SCALES)
    W = np.array([wn.datasets.random_direction(50, seed) for seed in range(num_starts)])
    many_w, many_g = np.repeat(W, NUM_SCALES, axis=0), np.tile(scales, num_starts)
    table = Table(
        f"Figure 1 sweep, {len(many_g)} runs, ns per iteration and run", list(peers.METHODS)
    )
    ours = Row("weightnorm", {}, "A with orthonormal rows: 3 coordinates", peer=False)
    ours_distinct = Row(
        "weightnorm, 20 distinct singular values",
        {},
        "condition number 1 + 1e-6: 21 coordinates",
        False,
    )
    batched, loop = (
        Row("NumPy, all runs batched", {}),
        Row("NumPy, a loop per run", {}, "measured on 40 runs"),
    )
    table.rows = [ours, ours_distinct, batched, loop]
    use_jax = installed("jax") and not numpy_only
    if use_jax:
        jax_rows = [
            Row("JAX, jit(vmap(while_loop))", {}),
            Row("JAX in our 21 coordinates", {}),
            Row("JAX in our 3 coordinates", {}),
        ]
        table.rows += jax_rows
    for name, method in methods().items():
        log(f"{len(many_g)} runs of {name}")
        counts = wn.sweep(problem, {name: method}, scales, W, tolerance=TOLERANCE)
        total = int(counts.num_steps.sum())
        total_distinct = int(
            wn.sweep(distinct, {name: method}, scales, W, tolerance=TOLERANCE).num_steps.sum()
        )
        loop_runs = counts.num_steps.values[0, 0]
        contest: dict[str, Callable[[], object]] = {
            "ours": partial(wn.sweep, problem, {name: method}, scales, W, tolerance=TOLERANCE),
            "distinct": partial(wn.sweep, distinct, {name: method}, scales, W, tolerance=TOLERANCE),
            "batched": partial(peers.numpy_batched, name, A, y, many_w, many_g, STEP, TOLERANCE),
        }
        if use_jax:
            full = peers.jax_solver(name, A, y, STEP, TOLERANCE)
            diagonal = _jax_reduced(name, distinct, many_w, many_g)
            collapsed = _jax_reduced(name, problem, many_w, many_g)
            contest["jax"] = partial(full, many_w, many_g)
            contest["jax21"], contest["jax3"] = diagonal, collapsed
            _check_counts(name, full(many_w, many_g), counts.num_steps.values[0])
            diagonal(), collapsed()  # compile
        _check_counts(name, contest["batched"](), counts.num_steps.values[0])
        times = interleaved(contest, repeats)
        ours.per_iteration[name] = times["ours"] / total
        ours_distinct.per_iteration[name] = times["distinct"] / total_distinct
        batched.per_iteration[name] = times["batched"] / total
        loop_time = sum(
            seconds(partial(peers.numpy_loop, name, A, y, W[0], g, STEP, TOLERANCE, 10**6))
            for g in scales
        )
        loop.per_iteration[name] = loop_time / int(loop_runs.sum())
        if use_jax:
            for row, key in zip(jax_rows, ("jax", "jax21", "jax3"), strict=True):
                row.per_iteration[name] = times[key] / total
    if numpy_only:
        table.lines.append(
            "JAX, PyTorch and geoopt: left out of the quick run; make bench measures them"
        )
        return table
    if not use_jax:
        table.lines.append("JAX: not installed, skipped")
    _add_torch(table, A, y, W[0])
    return table


def _jax_reduced(name: str, problem: wn.LeastSquares, W: Any, g: Any) -> Callable[[], object]:
    space = problem.reduce()
    singular = np.sqrt(space.problem.curvatures)
    solver = peers.jax_reduced_solver(name, singular, space.problem.target, STEP, TOLERANCE)
    entered = space.enter(W / np.linalg.norm(W, axis=1, keepdims=True))
    return lambda: solver(entered, g)


def _add_torch(table: Table, A: Any, y: Any, w0: Any) -> None:
    """PyTorch and geoopt, over 500 steps of one run."""
    num_steps = 500
    for module, name, method, function in (
        ("torch", "PyTorch, weight_norm + SGD", "wn", peers.torch_weight_norm),
        ("geoopt", "geoopt, RiemannianSGD", "rpgd", peers.geoopt_sphere),
    ):
        if not installed(module):
            table.lines.append(f"{name}: not installed, skipped")
            continue
        function(A, y, w0, 1.0, STEP, 20)
        taken = seconds(partial(function, A, y, w0, 1.0, STEP, num_steps))
        table.rows.append(
            Row(name, {method: taken / num_steps}, f"measured on {num_steps} steps of one run")
        )


def _check_counts(name: str, counts: Any, ours: Any) -> None:
    """A peer that made other steps measured something else; ties in the last bit of the loss may
    differ by one.
    """
    difference = int(np.abs(np.asarray(counts).reshape(ours.shape) - ours).max())
    if difference > 1:
        raise RuntimeError(f"{name}: a peer's step counts differ from ours by {difference}")


def end_norms() -> tuple[list[float], dict[str, list[float]]]:
    """What it is all about: ‖x‖ at the end from starts of different scale; the minimum norm is
    3.
    """
    problem = wn.datasets.make_regression(seed=0)
    scales = [0.5, 1.0, 2.0, 2.8, 4.0]
    starts = [wn.datasets.random_direction(50, seed) for seed in range(20)]
    mean = wn.sweep(problem, methods(), scales, starts, tolerance=TOLERANCE).norm.mean("start")
    return scales, {
        str(name): mean.sel({"algorithm": name}).values.tolist() for name in mean.algorithm.values
    }


def time_against_size(log: Log, *, quick: bool = False) -> Table:
    """(b): one run, ns per iteration, as d grows at m = 20 and as m grows."""
    table = Table(
        "One run of rPGD, ns per iteration after the factorisation", ["ns", "ns per coordinate"]
    )
    sizes = [(20, d) for d in (50, 500, 5_000, 50_000)] + [(m, 2 * m) for m in (200, 2_000)]
    if quick:
        sizes = [(20, 50), (20, 5_000), (200, 400)]
    contest: dict[str, Callable[[], object]] = {}
    lengths = {}
    for m, d in sizes:
        log(f"m = {m}, d = {d}")
        problem = wn.datasets.make_regression(m, d, condition_number=2.0, seed=0)
        w0 = wn.datasets.random_direction(d, 0)
        steps = max(10_000, 8_000_000 // m)
        name = f"m = {m:,}, d = {d:,}"
        lengths[name] = (steps, m)
        for part in (1, 2):  # the difference of two lengths is the iterations alone
            contest[f"{name} x{part}"] = partial(
                wn.run, wn.RPGD(1e-3, 1e-3), problem, 1.0, w0, tolerance=0, max_steps=steps * part
            )
    # least, not median: differences magnify noise
    times = interleaved(contest, 2 if quick else 7, min)
    for name, (steps, m) in lengths.items():
        each = (times[f"{name} x2"] - times[f"{name} x1"]) / steps
        table.rows.append(Row(name, {"ns": each, "ns per coordinate": each / m}, peer=False))
    return table


def theory_timings(repeats: int = 200) -> dict[str, float]:
    """Seconds for a limit after the factorisation, and for a 200 × 200 phase diagram (g0 × c)."""
    problem = wn.datasets.make_regression(seed=0)
    w0 = wn.datasets.random_direction(50, 0)
    limit, diagram = wn.theory.flow_limit, wn.theory.distance_map
    limit(problem, 2.8, w0)
    return {
        "flow_limit": min(seconds(lambda: limit(problem, 2.8, w0)) for _ in range(repeats)),
        "phase_diagram_200_x_200": seconds(
            lambda: diagram(np.linspace(0, 5, 200), np.geomspace(0.05, 30, 200), 3.0, 0.77)
        ),
    }


_LARGE = """
import json, resource, sys, time
import numpy as np, weightnorm as wn
m, d, steps = map(int, sys.argv[1:])
small = wn.datasets.make_regression(seed=0)
w = wn.datasets.random_direction(50, 0)
for method in (wn.GradientDescent(0.1), wn.WeightNorm(0.1, 0.1), wn.RPGD(0.1, 0.1)):
    wn.run(method, small, 1.0, w)  # load and compile before the clock starts
rng = np.random.default_rng(0)
A = rng.standard_normal((m, d))
A /= np.sqrt(d)
y = A @ rng.standard_normal(d)
w0 = rng.standard_normal(d)
def peak():  # VmHWM belongs to this process alone; ru_maxrss would begin at the parent's
    try:
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
base = peak() - A.nbytes
start = time.perf_counter()
problem = wn.LeastSquares(A, y)
problem.factorisation
factorised = time.perf_counter() - start
for method in (wn.GradientDescent(0.1), wn.WeightNorm(0.1, 0.1), wn.RPGD(0.1, 0.1)):
    wn.run(method, problem, 1.0, w0, tolerance=0, max_steps=steps)
total = time.perf_counter() - start
memory = (peak() - base) / A.nbytes
from benchmarks import peers
direct = {}
for name in peers.METHODS:
    start = time.perf_counter()
    peers.numpy_loop(name, A, y, w0, 1.0, 0.1, 0.0, 50)
    direct[name] = (time.perf_counter() - start) / 50
print(json.dumps({"factorised": factorised, "total": total, "memory": memory, "direct": direct}))
"""


def large_problem(
    log: Log, *, m: int = 500, d: int = 50_000, steps: int = 10_000
) -> dict[str, Any]:
    """(c): three methods, `steps` iterations each, from the data to the answer, in a process of
    its own.
    """
    log(f"large problem, m = {m:,}, d = {d:,}")
    command = [sys.executable, "-c", _LARGE, str(m), str(d), str(steps)]
    measured: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    extrapolated = steps * sum(measured["direct"].values())
    return {
        "m": m,
        "d": d,
        "steps": steps,
        "weightnorm_seconds": measured["total"],
        "of_which_factorisation": measured["factorised"],
        "numpy_loop_seconds_extrapolated_from_50_iterations": extrapolated,
        "ratio": extrapolated / measured["total"],
        "peak_memory_over_A": measured["memory"],
    }
