"""Corners of the formulas, the thresholds and the starts, one function for each idea, in the form
of golden.py's cases; and `all_cases`: those, these, and the corners on the way of runs and flows.
"""

import numpy as np

import weightnorm as wn
from tests.explorer import passages
from tests.explorer.golden import Instance, limit_case, numbers, relative
from tests.explorer.golden import cases as golden_cases
from tests.explorer.passages import BENT, ONE, SLANTED
from weightnorm.theory import (
    finite_step_limit,
    flow_limit,
    flow_limit_as_printed,
    limit_perp,
    noise_equilibrium,
    norm_bracket,
    stability,
    wn_beats_gd,
)

WIDE = Instance([1.0, 0.8, 0.5], [1.0, 0.2, -0.5], 1.0, [1.0, 1.0, 1.0], 0.5)


def bounded(values):
    """Infinity as -1, which JSON has, against the largest."""
    return relative([-1.0 if np.isinf(v) else float(v) for v in np.ravel(values)])


def formula(name, given, value):
    """A function of numbers alone."""
    given = [float(v) for v in given]
    return {"what": "formula", "name": name, "given": given, "expected": {"value": bounded(value)}}


def formulas():
    """The distance at extreme scales and ratios, and where WN's flow stops being closer."""
    for g0, gstar, q0, ratio in [
        (2.0, 1.0, 0.5, 1e-19), (0.5, 1.0, 0.5, 1e-19), (1.0, 1.0, 0.5, 1e-300),
        (3e200, 1e200, 0.5, 1e-100), (1e100, 1e200, 0.5, 1e-100), (1e-150, 1e-150, 1.0, 1e300),
        (0.0, 1e-150, 1.0, 1e300), (1e-3, 1e-150, 1.0, 1e300), (1.0, 1e-150, 1.0, 1e300),
        (1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1e8), (-2.0, 1.0, 0.3, 0.1), (1.0, 1.0, 1e-300, 1.0),
        (1e-3, 1.0, 0.5, 1e-3),
    ]:  # fmt: skip
        given = (g0, gstar, 2.0 * np.log(q0), ratio)
        yield formula("limitPerp", given, limit_perp(g0, gstar, q0, ratio))
    for g0, gstar, q0, ratio in [
        (1.5, 1.0, 0.5, 1.0), (0.5, 1.0, 0.9, 0.3), (2.0, 3.0, 0.7, 2.0), (-1.5, 1.0, 0.5, 1.0),
    ]:  # fmt: skip
        start = Instance([1.0], [gstar], g0, [1.0], q0)
        exact = flow_limit(start.problem, **start.start, ratio=ratio).norm
        printed = flow_limit_as_printed(start.problem, **start.start, ratio=ratio).norm
        yield formula("printedError", (g0, gstar, q0, ratio), abs(printed - exact) / exact)
    for gstar, q0 in [(1.0, 0.5), (3.0, 0.02), (2.0, 1.0)]:
        yield formula("turningScale", (gstar, q0), wn_beats_gd(1.0, gstar, q0).threshold)
    for g0, gstar, q0, ratio in [
        (0.0, 1.0, 0.5, 1.0), (1.0, 1.0, 0.0, 1.0), (2.0, 1.0, np.sqrt(0.75), 0.1),
        (2.5, 2.0, 0.6, 1.0), (2.5, 2.0, 0.6, 100.0), (1.0, 1.0, 0.6, 1.0),
        (1e-5, 1.0, 0.5, 0.01), (1e-5, 1.0, 0.5, 0.1),
    ]:  # fmt: skip
        found = wn_beats_gd(g0, gstar, q0, ratio)
        yield formula("flowIsCloser", (g0, gstar, q0, ratio), found.closer)
        yield formula("criticalRatio", (g0, gstar, q0), found.critical_ratio)


def signs():
    """The sign of the final scale, by each of the rules that decide it, and starts stuck in S."""
    even = [1.0, 1.0], [1.0, 0.3]
    stuck = -1.0 / (2.0 * np.log(0.8))  # the ratio at which F0 = 1
    for problem, scale, seen, unseen, ratio in [
        (ONE, 0.0, [0.0], 1.0, 1.0), (ONE, 1.0, [-1.0], 0.8, stuck),
        (SLANTED, 0.0, [-0.075 * 7, 7.0], 0.6, 1.0),  # the pull is rounding
        (SLANTED, 0.0, [0.2, 0.1], 0.6, 1.0), (SLANTED, 0.0, [-0.2, 0.1], 0.6, 1.0),
        (SLANTED, 1e-11, [-1.0, -0.2], 0.6, 1.0), (ONE, 0.3, [-1.0], 0.1, 1.0),
        (ONE, 0.5, [-1.0], 0.0, 1.0), (SLANTED, 0.3, [-1.0, -0.2], 0.1, 1.0),
        (SLANTED, -0.3, [1.0, 0.2], -0.1, 1.0), (SLANTED, -0.3, [1.0, 0.2], -0.9, 0.3),
        (SLANTED, 0.3, [-1.0, -0.2], 0.0, 1.0), (SLANTED, 3.0, [-1.0, -0.2], 0.0, 1.0),
        (even, 3.0, [1.0, 0.2], 0.01, 30.0), (even, 3.0, [-1.0, 0.2], 0.01, 30.0),
    ]:  # fmt: skip
        yield limit_case(Instance(*problem, scale, seen, unseen), ratio)


def threshold(instance, eta, gamma, norm=None, free=True, ratio=1.0, length=None, **momentum):
    """The largest stable steps, the bracket and the noise's norm, infinite ones as -1."""
    square = wn.LeastSquares(np.diag(instance.singular), instance.singular * instance.target)
    problem = instance.problem if free else square
    norm = instance.gstar if norm is None else norm
    given = {"momentum": 0.0, "nesterov": False} | momentum
    found = stability(problem, norm, eta, gamma, "wn", **given, direction_norm=length or 1.0)
    bracket = norm_bracket(problem, eta, gamma, **given)
    quiet = noise_equilibrium(problem, 1e-3, ratio=ratio, label_noise=1.0)
    expected = {
        "gamma": bounded(found.max_scale_step),
        "eta": bounded(found.max_direction_step),
        "stable": numbers(found.stable, 1.0),
        "bracket": numbers([], 1.0) if bracket is None else bounded(bracket),
        "noise": numbers(quiet.norm, quiet.norm),
    }
    more = {"ratio": ratio, "eta": eta, "gamma": gamma, "norm": norm, **given}
    case = instance.case("threshold", expected, **more, **({"length": length} if length else {}))
    case["problem"]["free"] = free
    return case


def thresholds():
    """Steps with no stable norm, a frozen direction, square problems, poles that are touched, best
    norms inside the bracket, every kind of momentum, and directions of another length or none said.
    """
    one = Instance(*ONE, 1.0, [1.0], 0.5)
    for steps in [(5.0, 0.1), (0.5, 50.0), (0.0, 3.0), (0.0, 0.5), (2.2, 0.4, 1.25)]:
        yield threshold(WIDE, *steps)
    for steps in [(0.5, 0.5), (5.0, 0.5), (5.0, 1.5, 1.1)]:
        yield threshold(one, *steps)
    yield threshold(one, 0.1, 0.1, free=False, ratio=0.5)
    yield threshold(WIDE, 0.3, 0.4, free=False)
    yield threshold(WIDE, 0.3, 40.0, free=False)
    yield threshold(WIDE, 0.5, 0.4, 1.4, length=2.0)
    for singular, target, *steps in [
        ([1.0, 0.3], [1.0, 0.2], 2.5, 0.3), ([1.0, 0.25], [1.0, 0.0], 2.0, 0.3),
        ([1.0, 0.25], [0.0, 1.0], 3.0, 0.3), ([1.0, 0.25], [0.0, 1.0], 2.0, 0.1),
        ([1.0, 0.9], [0.1, 1.0], 0.3, 1.8), ([1.0, 0.5, 0.25], [0.1, 0.3, 1.0], 0.3, 0.9, 1.3),
        ([1.0, 0.2], [0.05, 1.0], 0.2, 60.0, 1.3), ([1.0, 0.2], [0.5, 1.0], 0.5, 1.5, 1.3),
    ]:  # fmt: skip
        yield threshold(Instance(singular, target, 1.0, np.ones(len(target)), 0.5), *steps)
    for steps in [(0.4, 4.0), (0.9, 1.0), (0.2, 2.5), (0.6, 2.2), (1.4, 1.0), (0.05, 3.0)]:
        for momentum, nesterov in [(0.0, False), (0.9, False), (0.9, True)]:
            yield threshold(WIDE, *steps, 1.25, momentum=momentum, nesterov=nesterov)


def first_orders():
    """Ends of finite steps: the side of the unseen part, the equivalent step, too large a step."""
    grows = Instance([1.0, 0.5], [2.0, 1.0], 0.1, [1.0, 0.5], -0.5)
    inside = Instance([1.0, 0.8], [1.0, 0.5], 0.7, [1.0, -0.3], 0.0)
    turned = Instance([1.0, 0.8], [1.0, 0.5], -0.7, [-1.0, -0.3], -0.5)
    crossed = Instance(
        [1.0, 0.5], [0.3, 0.9], 1.442, [-0.8, 0.6], 0.1 / 1.01**0.5
    )  # by steps alone
    for instance, eta, ratio, momentum in [
        (BENT, 0.02, 1.0, 0.0), (BENT, 0.01, 1.0, 0.5), (BENT, 0.3, 1.0, 0.0),
        (BENT, 0.02, 30.0, 0.0), (grows, 0.12, 0.5, 0.0), (inside, 0.05, 1.0, 0.0),
        (turned, 0.05, 1.0, 0.0), (crossed, 0.05, 5.0, 0.0), (crossed, 0.01, 5.0, 0.5),
    ]:  # fmt: skip
        given = {"ratio": ratio, "momentum": momentum, "nesterov": momentum > 0.0}
        expected = {}
        for method in ("wn", "rpgd"):
            start = instance.start | {"method": method}
            end = finite_step_limit(instance.problem, **start, step=eta, **given)
            step = end.equivalent_step
            known = [end.weights[-1], end.perp_norm, end.norm, step] if step <= 0.4 else []
            expected[method] = numbers(known, 1e4 * end.norm)  # Python integrates to 1e-7
        yield instance.case("first-order", expected, eta=eta, **given)


def starts_and_noise():
    """Angles beyond a turn and exact ones, the paper's example, the loss, noise asked for with one
    level, seed and length after another, and seeds that are none.
    """
    plane = Instance([1.0, 0.5], [1.2, 1.6], 1.0, [1.0, 0.0], 0.0)
    for angle, tilt in [
        (30, 60), (-30, 200), (90, 0), (0, 0), (180, 90), (-90, 10), (270, -45), (450, -90),
        (-400, 725), (360, 180),
    ]:  # fmt: skip
        sides = np.array([np.cos(np.radians(tilt)), np.sin(np.radians(tilt))])
        seen = np.cos(np.radians(angle)) * (sides @ [[0.6, 0.8], [-0.8, 0.6]])
        zeros = [angle % 180 == 0, angle % 180 == 90]
        expected = {
            "direction": numbers([*seen, np.sin(np.radians(angle))], 1.0),
            "zeros": numbers(zeros, 1.0),
        }
        case = plane.case("start", expected, angle=angle, tilt=tilt)
        case["problem"]["across"] = [-0.8, 0.6]
        yield case
    example = wn.LeastSquares([[1.0, 0.0]], [1.0])
    sizes = [*example.A.shape, 1, 1.0, 1.0, 1.0, example.zero_loss, 1.0]
    yield {
        "what": "plane",
        "expected": {"problem": numbers(sizes, 1), "start": numbers([65, 0], 1)},
    }
    errors = BENT.problem.A @ (BENT.scale * BENT.direction) - BENT.problem.y
    yield BENT.case("loss", {"value": numbers(0.5 * errors @ errors, 1.0)})
    asked = [(0.1, 3, 100), (0.2, 3, 100), (0.2, 4, 100), (0.2, 4, 5000), (0.2, 4, 50)]
    rows = [
        level * plane.singular * np.random.default_rng([seed, step // 256, 1])
        .standard_normal((256, 2))[step % 256]
        for level, seed, most in asked
        for step in (0, most)
    ]  # fmt: skip
    yield plane.case("noise", {"values": numbers(rows, 0.1)}, asked=asked)
    for seed in (-1, 1.5, 2**32):
        yield {"what": "seed", "seed": seed, "expected": {"refused": numbers([1, 1], 1.0)}}


def all_cases():
    """Those of golden.py, and the corners."""
    yield from golden_cases()
    for corner in (
        passages.runs, passages.sunk_runs, passages.kept_steps, passages.flows,
        passages.phased_flows, formulas, signs, thresholds, first_orders, starts_and_noise,
    ):  # fmt: skip
        yield from corner()
