"""Corners that the instances of golden.py do not reach: cases of the same form, one idea each."""

import numpy as np
from golden import Instance, flow_case, limit_case, numbers
from golden import cases as golden_cases

import weightnorm as wn
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

ONE = [1.0], [1.0]
SLANTED = [1.0, 0.5], [1.0, 0.3]
BENT = Instance([1.0, 0.6, 0.3], [1.0, -0.5, 0.7], 1.7, [0.4, -0.2, 1.0], -0.7)
WIDE = Instance([1.0, 0.8, 0.5], [1.0, 0.2, -0.5], 1.0, [1.0, 1.0, 1.0], 0.5)
NEVER = 10**6  # the scale's thaw


def relative(values):
    """Expected numbers, to be right against the largest of them."""
    return numbers(values, np.abs(values).max() or 1.0)


def bounded(values):
    """Infinity as -1, which JSON has, against the largest."""
    return relative([-1.0 if np.isinf(v) else float(v) for v in np.ravel(values)])


def run_case(instance, name, options, every=1, switch=0, **momentum):
    """A run with what its picture shows, at its start, on its way and at its end."""
    thaw = wn.schedules.two_phase(0.0, options["gamma"], switch)
    method = {
        "gd": lambda: wn.GradientDescent(options["step"], **momentum),
        "wn": lambda: wn.WeightNorm(options["eta"], thaw, **momentum),
        "rpgd": lambda: wn.RPGD(options["eta"], thaw, **momentum),
    }[name]()
    result = wn.run(
        method, instance.problem, **instance.start, tolerance=options["tolerance"],
        max_steps=options["maxSteps"], record=every, keep="weights",
    )  # fmt: skip
    history = result.history
    at = np.unique(np.linspace(0, len(history) - 1, 6).astype(int))
    weights, norms = history.weights[at], history.weights_norm[at]
    seen, unseen = weights[:, :-1], weights[:, -1]
    second = np.linspace(1.0, -0.5, instance.target.size)
    size = max(instance.gstar, np.abs(weights).max())
    with np.errstate(over="ignore"):
        expected = {
            "step": numbers(history.step[at], 1.0),
            "along": numbers(seen @ instance.target / instance.gstar, size),
            "across": numbers(seen @ second, size),
            "unseen": relative(unseen),
            "perp": relative(np.abs(unseen) / norms),
            "logs": numbers(np.log([np.abs(unseen) / norms, np.abs(unseen)]), 1.0),
            "steps": numbers(result.num_steps, 1.0),
            "status": numbers(1.0, 1.0),
        }
    if name != "gd":
        share = options["gamma"] / options["eta"]
        invariant = np.log(np.abs(unseen) / norms) + history.scale[at] ** 2 / (2.0 * share)
        expected |= {"invariant": relative(invariant), "scale": numbers(history.scale[at], size)}
    given = {"switchAt": switch, "momentum": 0.0, "nesterov": False} | options | momentum
    case = instance.case(
        "run", expected, method=name, status=str(result.status.value), options=given,
        picked=history.step[at].tolist(), noise=0.0, seed=0,
    )  # fmt: skip
    case["problem"]["across"] = second.tolist()
    return case


def runs():
    """Runs that go on, converge, diverge and have momentum."""
    steps = {"eta": 0.1, "gamma": 0.05, "step": 0.4, "tolerance": 0.0, "maxSteps": 800}
    for name in ("gd", "wn", "rpgd"):
        yield run_case(BENT, name, steps)
        yield run_case(BENT, name, steps | {"tolerance": 1e-8, "maxSteps": NEVER})
        yield run_case(BENT, name, steps, momentum=0.5)
        yield run_case(BENT, name, steps, momentum=0.5, nesterov=True)
        yield run_case(BENT, name, steps | {"gamma": 50.0, "step": 8.0})


def sunk_runs():
    """An unseen part below 2^-500, one that comes back from there, and one no double can hold."""
    steps = {"eta": 0.5, "gamma": 1e-5, "step": 0.4, "tolerance": 0.0}
    falls = Instance([1.0, 0.7], [1.0, 0.5], 0.5, [1.0, 0.2], -0.6)
    dips = Instance([1.0, 0.5], [1.0, 0.0], 1.05, [0.5, 0.8], -1e-12)
    deep = Instance(*ONE, 0.5, [1.0], -0.6)
    for name, most in (("wn", 4700), ("rpgd", 3300)):
        yield run_case(falls, name, steps | {"maxSteps": most}, 50, 1900)
        case = run_case(dips, name, steps | {"maxSteps": 100}, switch=NEVER)
        less = 1.03 * 2.0**-500 / 1e-12  # so small a part moves nothing: all is in proportion
        logs = np.array(case["expected"]["logs"]["values"]) + np.log(less)
        case["start"]["unseen"] *= less
        yield case | {"expected": {"logs": numbers(logs, 1.0), "along": case["expected"]["along"]}}
        case = run_case(deep, name, steps | {"maxSteps": 2000}, 1000, NEVER)
        early, late = case["expected"]["invariant"]["values"][1:]  # from here on it falls evenly
        case |= {"picked": [2000, 9000, 30000], "options": case["options"] | {"maxSteps": 30000}}
        far = [late + (step - 2000) / 1000 * (late - early) for step in case["picked"]]
        yield case | {"expected": {"invariant": relative(far)}}


def kept_steps():
    """Steps kept for a picture: the first 400, the last three, and neighbours in between."""
    for most in (0, 1, 399, 400, 401, 402, 500, 1500, 5000, 100000):
        expected = {"ends": numbers([0, most], 1.0), "holds": numbers([1] * 5, 1.0)}
        yield {"what": "kept", "maxSteps": most, "expected": expected}


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
        (SLANTED, 0.0, [-0.225, 3.0], 0.6, 1.0),  # the pull is rounding
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
    for instance, eta, ratio, momentum in [
        (BENT, 0.02, 1.0, 0.0), (BENT, 0.01, 1.0, 0.5), (BENT, 0.3, 1.0, 0.0),
        (BENT, 0.02, 30.0, 0.0), (grows, 0.12, 0.5, 0.0), (inside, 0.05, 1.0, 0.0),
        (turned, 0.05, 1.0, 0.0),
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


def flows():
    """Flows at a frozen scale, for very long, stiff, in S, in the row space, at equal times, from a
    solution and past a saddle; and flows that end by themselves.
    """
    some, halves = [0.0, 0.5, 3.0, 40.0], ([1.0, 0.5], [1.0, 0.5])
    for problem, scale, seen, unseen, ratio, times in [
        (halves, 0.4, [1.0, -0.5], 0.0, 0.0, some), (halves, 0.4, [-1.0, 0.5], 0.0, 1.0, some),
        (halves, 0.0, [0.0, 0.0], 1.0, 1.0, some), (halves, 0.0, [1.0, 0.2], 0.5, 0.0, some),
        (ONE, 0.5, [1.0], 4e-8, 0.0, [0.0, 1.0, 4.0]), (ONE, 2.0, [1.0], 0.75**0.5, 1.0, some),
        (ONE, 0.5, [-1.0], 0.8, 1e-3, [0.0, 1.0, 100.0, 1e4]),
        (ONE, 2.2, [1.0], 0.5, 1.0, np.linspace(0.0, 60.0, 121)),
        (([1.0, 0.03, 1e-3], [1.0, 0.5, -0.7]), 1.7, [1.0, 0.5, 0.4], 0.5, 1.0, [0, 1, 1e2, 1e6]),
        (([1.0, 0.01], [0.3, 1.0]), 0.2, [-1.0, 0.5], 0.5, 0.05, [0, 1, 1e2, 1e4, 1e5]),
    ]:  # fmt: skip
        yield flow_case(Instance(*problem, scale, seen, unseen), ratio, times)
    yield flow_case(BENT, 0.0, some)
    for times in ([0.0, 1e3, 1e6, 1e9], [0.0, 0.0, 1.0, 1.0, 2.0], [0.5, 1.0]):
        yield flow_case(BENT, 1.0, times)
    resting = Instance(*halves, 0.0, [0.0, 0.0], 1.0)
    for instance, end, least in [
        (BENT, 5.0, 0.0), (BENT, None, 1e-10), (BENT, 2.0, 1e-10), (resting, None, 1e-12),
    ]:  # fmt: skip
        stop = {"max_time": end, "tolerance": least}
        found = wn.flow(instance.problem, **instance.start, ratio=1.0, **stop)
        expected = {"status": numbers(1.0, 1.0)}
        if found.status != "converged":  # elsewhere the last step of each is its own
            expected["weights"] = numbers(found.weights[-1], instance.gstar)
        given = {"end": end, "tolerance": least, "status": str(found.status.value)}
        yield instance.case("flow-end", expected, ratio=1.0, **given)


def phased_flows():
    """A scale frozen up to a time, then free: on the way, and where it ends."""
    for instance, ratio, frozen in [
        (BENT, 1.0, 4.0),
        (BENT, 1.0, 0.0),
        (Instance(*SLANTED, -0.7, [-0.3, 0.8], -0.5), 0.5, 10.0),
        (Instance(*SLANTED, 0.3, [-1.0, -0.2], 0.1), 1.0, 0.01),
        (Instance(*ONE, 0.3, [-1.0], 0.1), 1.0, 0.01),
    ]:
        first = wn.flow(instance.problem, **instance.start, ratio=0.0, times=[0.0, frozen])
        middle = instance.scale, first.weights[-1] / instance.scale
        after = np.array([0.5, 2.0, 20.0])
        rest = wn.flow(instance.problem, *middle, ratio, times=after)
        limit = flow_limit(instance.problem, *middle, ratio)
        expected = {
            "times": relative(frozen + after),
            "weights": numbers(rest.weights, limit.norm),
            "limit": numbers(limit.weights, limit.norm),
            "scale": numbers(limit.scale, limit.norm),
        }
        times = (frozen + after).tolist()
        yield instance.case("phased", expected, ratio=ratio, frozen=frozen, times=times)


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
    """Those of golden.py and these."""
    yield from golden_cases()
    for corner in (
        runs, sunk_runs, kept_steps, formulas, signs, thresholds, first_orders, flows, phased_flows,
        starts_and_noise,
    ):  # fmt: skip
        yield from corner()
