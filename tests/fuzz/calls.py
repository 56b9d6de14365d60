"""Random runs, sweeps, flows and searches as source, and the draw of a call of any kind."""

from __future__ import annotations

import numpy as np

from tests.fuzz.objects import (
    datasets,
    estimator,
    linear_methods,
    methods_alone,
    schedules,
    sensing_methods,
)
from tests.fuzz.problems import (
    generalized,
    least_squares,
    method,
    options,
    sensing,
    sensing_start,
    start,
)
from tests.fuzz.theory import theory_formula, theory_of_problem
from tests.fuzz.twins import flow_twin, run_twin, sensing_twin, sweep_twin
from tests.fuzz.values import Values


def _run_options(v: Values, steps: str = "20") -> str:
    return f", max_steps={v.whole('0', '1', steps, '60')}" + options(
        v,
        tolerance=lambda: v.number("1e-5", "0", "1e-12", "1.0"),
        record=lambda: v.whole("1", "3", "100", huge=True),
        keep=lambda: v.pick(('"weights"', '("direction", "invariant")', "()", '"speed"', "3")),
        gradient_tolerance=lambda: v.number("1e-3", "0", "1e-9"),
        coordinates=lambda: v.word("reduced", "full"),
    )


def run_linear(v: Values) -> str:
    data = least_squares(v, kernels=True) if v.chance(0.7) else generalized(v)
    scale, w = start(v, data.d)
    return f"wn.run({method(v)}, {data.text}, {scale}, {w}{_run_options(v)})"


def run_sensing(v: Values) -> str:
    data = sensing(v)
    scale, W = sensing_start(v, data.d)
    return f"wn.run({method(v, columns=True)}, {data.text}, {scale}, {W}{_run_options(v)})"


def run_on(v: Values) -> str:
    """Going on from a result, with the same method or another, on the same problem or another."""
    data = sensing(v) if v.chance(0.3) else least_squares(v, kernels=True)
    draw = sensing_start if "Sensing" in data.text else start
    scale, w = draw(v, data.d)
    columns = "Sensing" in data.text
    first, second = method(v, columns), method(v, columns)
    other = "p" if v.chance(0.9) else (least_squares(v) if v.chance(0.5) else sensing(v)).text
    again = v.pick(("m", second))
    return (
        f"(lambda m, p: wn.run({again}, {other}, start=wn.run(m, p, {scale}, {w}, max_steps=5)"
        f"{_run_options(v)}))({first}, {data.text})"
    )


def run_to_the_end(v: Values) -> str:
    """A run that converges long before a huge number of steps."""
    v.hostility = 0.0
    data = least_squares(v, dense=True)
    steps = v.pick(("10**6", "2**62", "10**18", "2**63", "10**400"))
    w = v.bind(f"normal(3, {data.d})")
    return (
        f"wn.run(wn.GradientDescent(wn.schedules.curvature()), {data.text}, 1.0, {w}, "
        f"tolerance=1e9, max_steps={steps})"
    )


def sweep(v: Values) -> str:
    matrix = v.chance(0.3)
    if matrix:
        data = sensing(v)
    else:
        data = least_squares(v, kernels=True) if v.chance(0.7) else generalized(v)
    labels = [repr(name) for name in ("gd", "b", "a b", "")[: int(v.rng.integers(1, 4))]]
    if v.bad():
        labels = v.pick((
            ["('a', 'b')"], ["('a', 'b')", "'c'"], ["1", "2"], ["None"], ["1", "'a'"], ["nan"],
            ["frozenset()"], ["b'a'"], ["True"], ["np.str_('a')"], ["(1, 2)", "(3,)"],
            ["'a'", "('a',)"], ["object()"],
        ))  # fmt: skip
    pairs = [(label, method(v, matrix)) for label in labels]
    if v.bad():
        methods = v.pick(
            (
                "{}",
                "None",
                "[wn.RPGD(0.1, 0.1)]",
                "Pairs(([1, 2], wn.RPGD(0.1, 0.1)))",
                "wn.RPGD(0.1, 0.1)",
            )
        )
    else:
        methods = "{" + ", ".join(f"{label}: {rule}" for label, rule in pairs) + "}"
    n = int(v.rng.integers(1, 4))
    r = v.pick((1, data.d))
    directions = (
        v.array(n, data.d, r)
        if matrix
        else v.array(n, data.d)
        if v.chance(0.8)
        else v.array(data.d)
    )
    scales = (
        v.array(v.pick((1, 2, 9)))
        if v.chance(0.5)
        else v.pick(("[0.5, 1.0]", "[0.0, 2.0]", "1.0", "[-1.0, 1e-3]"))
    )
    extra = options(
        v,
        threads=lambda: v.whole("1", "2"),
        progress=lambda: v.pick(("lambda done, total: None", "fail", "None")),
    )
    extra += options(
        v, tolerance=lambda: v.number("1e-5", "0"), coordinates=lambda: v.word("reduced", "full")
    )
    return (
        f"wn.sweep({data.text}, {methods}, {scales}, {directions}, "
        f"max_steps={v.whole('0', '5', '30')}{extra})"
    )


def flow(v: Values) -> str:
    data = least_squares(v) if v.chance(0.7) else generalized(v)
    scale, w = start(v, data.d)
    if v.chance(0.15):
        v.clean = False
        scale = v.pick(("1000.0", "30.0", "-100.0", "1e-8"))
    extra = options(
        v,
        ratio=lambda: v.number("1.0", "0.1", "0", "10.0"),
        tolerance=lambda: v.number("1e-10", "1e-4", "0"),
        max_time=lambda: v.number("1.0", "10.0", "0"),
        restart_ratio=lambda: v.number("1.0", "0.1"),
        times=lambda: v.pick(("[0.0, 1.0]", "[0.5]", "[]", "[1.0, 0.0]", "np.arange(5.0)", "3")),
    )
    return f"wn.flow({data.text}, {scale}, {w}{extra})"


def gradient_flow(v: Values) -> str:
    data = least_squares(v)
    scale, w = start(v, data.d)
    times = v.bind("np.array([0.0, 1.0, 50.0])")
    if v.bad():
        times = v.pick(
            (
                "[1.0, 0.0]",
                "[-1.0]",
                "[nan]",
                "[]",
                "1.0",
                "None",
                "[1e300]",
                "[[1.0]]",
                "[inf]",
                "['a']",
            )
        )
    return f"wn.gradient_flow({data.text}, {scale}, {w}, {times})"


def search_step(v: Values) -> str:
    data = sensing(v)
    scale, W = sensing_start(v, data.d)
    rule = v.pick(
        (
            "lambda c: wn.RPGD(c, c)",
            "lambda c: wn.RPGD(c, c, blocks='columns')",
            "wn.GradientDescent",
        )
    )
    if v.bad():
        rule = v.pick(
            (
                "fail",
                "None",
                "lambda c: None",
                "lambda c: 0.1",
                "wn.RPGD",
                "lambda c: wn.RPGD(-c, c)",
                "lambda: 1",
            )
        )
    extra = options(
        v,
        largest=lambda: v.number("0.5", "0.1"),
        num_candidates=lambda: v.whole("4", "1"),
        refinements=lambda: (
            v.pick(("0", "2", "50", "90", "2**62")) if v.chance(0.6) else v.whole("1")
        ),
        tolerance=lambda: v.number("1e-3", "1e-6"),
        threads=lambda: v.whole("1", "2"),
    )
    return (
        f"wn.search_step({data.text}, {rule}, {scale}, {W}, "
        f"max_steps={v.whole('20', '500', '1000')}{extra})"
    )


CALLS = {
    run_twin: 10, sweep_twin: 4, sensing_twin: 3, flow_twin: 3, run_linear: 16, run_sensing: 7,
    run_on: 5, run_to_the_end: 1, sweep: 9, flow: 5, gradient_flow: 3, search_step: 3,
    theory_of_problem: 16, theory_formula: 20, schedules: 7, datasets: 5, linear_methods: 9,
    sensing_methods: 4, methods_alone: 4, estimator: 10,
}  # fmt: skip


def draw_call(seed: int, index: int) -> tuple[str, Values]:
    """The source of a call, the same for the same seed and index."""
    rng = np.random.default_rng([seed, index])
    v = Values(rng, hostility=float(rng.choice([0.0, 0.0, 0.06, 0.15, 0.3])))
    weights = np.array(list(CALLS.values()), dtype=float)
    maker = list(CALLS)[int(rng.choice(len(weights), p=weights / weights.sum()))]
    return maker(v), v
