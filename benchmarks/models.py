"""Logistic rPGD against a plain NumPy loop and JAX, all in our reduced coordinates: one run of
three sizes, and many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import weightnorm as wn

from .timing import installed, interleaved

STEP = 0.05
# of one run, times 1/m: so short that rounding does not grow, and tools can be compared to 1e-9
LONE_STEP = 0.02
TOLERANCE = 0.7  # of the runs that advance together: about a thousand steps
# m, d, and the steps of a run and of a NumPy loop
SIZES = ((20, 50, 40_000, 2_000), (200, 300, 4_000, 1_000), (2_000, 2_100, 150, 150))
NUM_SCALES = 40
NUMPY, JAX = "NumPy, a loop", "JAX, jit(vmap(while_loop))"
Log = Callable[[str], None]


def model_cases(log: Log, repeats: int, *, quick: bool = False) -> dict[str, Any]:
    """Seconds per step of one run, by size, and per step and run of many."""
    use_jax = installed("jax") and not quick
    sizes = SIZES[:2] if quick else SIZES
    return {
        "one_run": [_one_run(log, *size, repeats, use_jax) for size in sizes],
        "many_runs": _many_runs(log, 1 if quick else 20, repeats, use_jax),
    }


def _one_run(
    log: Log, m: int, d: int, steps: int, loop_steps: int, repeats: int, use_jax: bool
) -> dict[str, Any]:
    log(f"logistic model, m = {m:,}")
    problem, W = _problem(m, d), _directions(1, d)
    matrix, signs, units = _reduced(problem, W)
    step = LONE_STEP / m
    method = wn.RPGD(step, step)
    contest: dict[str, Callable[[], Any]] = {}
    for part in (1, 2):  # the difference of two lengths is the steps alone
        length = part * steps
        contest[f"weightnorm x{part}"] = partial(
            wn.run, method, problem, 1.0, W[0], tolerance=0, max_steps=length
        )
        contest[f"{NUMPY} x{part}"] = partial(
            numpy_loop, matrix, signs, units[0], 1.0, step, part * loop_steps
        )
        if use_jax:
            solver = jax_solver(matrix, signs, step, 0.0, length)
            contest[f"{JAX} x{part}"] = partial(solver, units, np.ones(1))
    ours = contest["weightnorm x1"]()
    if use_jax:  # compiles, and shows that both ran the same
        np.testing.assert_allclose(contest[f"{JAX} x1"]()[1], ours.scale, rtol=1e-9)
        contest[f"{JAX} x2"]()
    times = interleaved(contest, repeats, min)
    lengths = {NUMPY: loop_steps}
    each = {
        name: (times[f"{name} x2"] - times[f"{name} x1"]) / lengths.get(name, steps)
        for name in ("weightnorm", NUMPY, *([JAX] if use_jax else []))
    }
    return {"m": m, "d": d, "seconds_per_step": each, "times_slower": _times_slower(each)}


def _many_runs(log: Log, num_starts: int, repeats: int, use_jax: bool) -> dict[str, Any]:
    problem, W = _problem(20, 50), _directions(num_starts, 50)
    scales = np.linspace(0.1, 4.0, NUM_SCALES)
    log(f"logistic model, {scales.size * num_starts} runs")
    matrix, signs, units = _reduced(problem, W)
    many_w, many_g = np.repeat(units, NUM_SCALES, axis=0), np.tile(scales, num_starts)
    contest: dict[str, Callable[[], Any]] = {
        "weightnorm": partial(
            wn.sweep, problem, {"rpgd": wn.RPGD(STEP, STEP)}, scales, W, tolerance=TOLERANCE
        )
    }
    counts = contest["weightnorm"]().num_steps.values.ravel()
    total, alone = int(counts.sum()), int(counts[0])
    contest[NUMPY] = partial(numpy_loop, matrix, signs, many_w[0], many_g[0], STEP, alone)
    if use_jax:
        contest[JAX] = partial(jax_solver(matrix, signs, STEP, TOLERANCE, 10**6), many_w, many_g)
        off = int(np.abs(contest[JAX]()[0] - counts).max())
        if off > 1:
            raise RuntimeError(f"logistic: JAX's step counts differ from ours by {off}")
    times = interleaved(contest, repeats)
    each = {name: taken / (alone if name == NUMPY else total) for name, taken in times.items()}
    return {
        "m": 20,
        "d": 50,
        "runs": int(counts.size),
        "seconds_per_iteration_and_run": each,
        "times_slower": _times_slower(each),
    }


def _problem(m: int, d: int) -> wn.GeneralizedLinear:
    generator = np.random.default_rng(0)
    A = generator.standard_normal((m, d)) / np.sqrt(d)
    return wn.GeneralizedLinear(A, generator.choice([0.0, 1.0], m), "logistic")


def _directions(count: int, d: int) -> Any:
    return np.array([wn.datasets.random_direction(d, seed) for seed in range(count)])


def _reduced(problem: wn.GeneralizedLinear, W: Any) -> tuple[Any, Any, Any]:
    """U S, the labels, and the starts, in the coordinates that we run in."""
    space: Any = problem.reduce()
    units = space.enter(W / np.linalg.norm(W, axis=1, keepdims=True))
    return space.problem.matrix, space.problem.loss.signs, units


def _times_slower(each: dict[str, float]) -> dict[str, float]:
    return {name: taken / each["weightnorm"] for name, taken in each.items() if name[0] != "w"}


def numpy_loop(
    matrix: Any, signs: Any, unit: Any, g: float, step: float, num_steps: int
) -> tuple[Any, Any]:
    """What one would write, with a look at the loss; the final scale and direction."""
    from scipy.special import expit

    w, p = unit[:-1], unit[-1]
    for _ in range(num_steps):
        t = signs * (matrix @ (g * w))
        if np.logaddexp(0.0, -t).sum() <= 0.0:
            break
        gradient = matrix.T @ (-signs * expit(-t))
        along = w @ gradient
        w = w - step * g * gradient
        norm = np.sqrt(w @ w + p * p)
        w, p, g = w / norm, p / norm, g - step * along
    return g, np.append(w, p)


def jax_solver(
    matrix: Any, signs: Any, step: float, tolerance: float, num_steps: int
) -> Callable[[Any, Any], Any]:
    """A compiled jit(vmap(while_loop)) over runs, float64: numbers of steps and final scales."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    M, s = jnp.asarray(matrix), jnp.asarray(signs)

    def margins(w: Any, g: Any) -> Any:
        t = s * (M @ (g * w[:-1]))
        return t, jnp.logaddexp(0.0, -t).sum()

    def body(state: Any) -> Any:
        w, g, t, _, count = state
        gradient = jnp.append((-s * jax.nn.sigmoid(-t)) @ M, 0.0)
        v = w - step * g * gradient
        g = g - step * (w @ gradient)
        w = v / jnp.linalg.norm(v)
        return w, g, *margins(w, g), count + 1

    def single(w: Any, g: Any) -> Any:
        state = lax.while_loop(
            lambda state: (state[3] > tolerance) & (state[4] < num_steps),
            body,
            (w, g, *margins(w, g), 0),
        )
        return state[4], state[1]

    compiled = jax.jit(jax.vmap(single))
    return lambda W, g: tuple(map(np.asarray, compiled(jnp.asarray(W), jnp.asarray(g))))
