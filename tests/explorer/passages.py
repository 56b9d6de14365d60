"""Corners on the way of runs and flows, which the instances of golden.py do not reach."""

import numpy as np

import weightnorm as wn
from tests.explorer.golden import Instance, flow_case, numbers, relative
from weightnorm.theory import flow_limit

ONE = [1.0], [1.0]
SLANTED = [1.0, 0.5], [1.0, 0.3]
BENT = Instance([1.0, 0.6, 0.3], [1.0, -0.5, 0.7], 1.7, [0.4, -0.2, 1.0], -0.7)
NEVER = 10**6  # when the scale thaws


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
        yield run_case(BENT, name, steps, 16)
        yield run_case(BENT, name, steps | {"tolerance": 1e-8, "maxSteps": NEVER})
        yield run_case(BENT, name, steps, 16, momentum=0.5)
        yield run_case(BENT, name, steps, 16, momentum=0.5, nesterov=True)
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
        case = run_case(deep, name, steps | {"gamma": 0.5, "maxSteps": 2000}, 1000, NEVER)
        early, late = case["expected"]["invariant"]["values"][1:]  # from here on it falls evenly
        case |= {"picked": [2000, 9000, 30000], "options": case["options"] | {"maxSteps": 30000}}
        far = [late + (step - 2000) / 1000 * (late - early) for step in case["picked"]]
        yield case | {"expected": {"invariant": relative(far)}}


def kept_steps():
    """Steps kept for a picture: the first 400, the last three, and neighbours in between."""
    for most in (0, 1, 399, 400, 401, 402, 500, 1500, 5000, 100000):
        expected = {"ends": numbers([0, most], 1.0), "holds": numbers([1] * 5, 1.0)}
        yield {"what": "kept", "maxSteps": most, "expected": expected}


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
