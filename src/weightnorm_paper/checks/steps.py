"""Checks of single steps on orthogonal A with η = 1/g²: identities, recursions, contraction."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm.problems import LeastSquares

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng, angled, make, plain
from ..evidence.simulate import Step, after, rpgd_path, rpgd_step

KINDS = ("general", "general", "nearly in the row space", "orthogonal")
SHARES = (-1.5, -0.5, 0.2, 0.6, 1.2, 3.0)
UNDER = (0.2, 0.6, 0.95)


def start(rng: Rng, shares: tuple[float, ...] = SHARES) -> Instance:
    """An orthogonal A, and a scale that is one of these shares of g*."""
    it = make(rng, KINDS, orthogonal=True)
    return it.at(g0=float(rng.choice(shares)) * it.gstar)


def walk(
    rng: Rng, count: int, shares: tuple[float, ...] = SHARES, frozen: bool = False
) -> tuple[Instance, float, list[Step]]:
    """A few steps with some γ, the first one frozen on request."""
    it, gamma = start(rng, shares), float(rng.choice([0.05, 0.3, 0.5]))
    gammas = [0.0 if frozen else gamma, *[gamma] * (count - 1)]
    return it, gamma, rpgd_path(it, it.g0, it.w0, gammas)


@check("step-identities")
def step_identities(evidence: Evidence, rng: Rng, instances: int) -> None:
    """All five identities of a simulated step."""
    for _ in evidence.over(range(instances)):
        it, _, (step,) = walk(rng, 1)
        said = lemmas.step_identities(step.g, step.g_next, it.p(step.w), it.y)
        later = it.A @ step.w_next
        size, summary = float(np.linalg.norm(later)), it.summary
        gap = step.g_next**2 * (1 - size**2)
        printed = {
            "v_norm": step.v_norm,
            "Aw": later,
            "parallel": size,
            "perp_square": 1 - size**2,
            "gap": gap,
        }
        atol = {"perp_square": 1e-13, "gap": 1e-13 * step.g_next**2}
        for key, observed in printed.items():
            evidence.equal(
                key, said.value[key], observed, rtol=1e-8, atol=atol.get(key, 0.0), **summary
            )
        evidence.as_printed(np.isclose(step.g * step.v_norm * later, it.y, rtol=1e-9).all())


@check("scale-step-bound")
def scale_step_bound(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The exact step of g and its bound; at a solution the bound is attained."""
    for index in evidence.over(range(instances)):
        it, gamma, (step,) = walk(rng, 1)
        if index % 4 == 0:  # next to the solution, where r is small and the bound tight
            it = it.at(g0=0.9999 * it.gstar, w0=it.x / it.gstar)
            step = rpgd_step(it, it.g0, it.w0, 1 / it.g0**2, gamma)
        residual = float(np.linalg.norm(step.residual))
        said = lemmas.scale_step(step.g, step.v_norm, residual, gamma)
        summary = it.summary | {"gamma": gamma}
        evidence.equal("g'", said.value["exact"], step.g_next, rtol=1e-9, **summary)
        sign = np.sign(step.g)
        evidence.at_most("the bound", sign * step.g_next, sign * said.value["bound"], **summary)
        evidence.equal(
            "its gap",
            said.value["bound"] - step.g_next,
            gamma / (2 * step.g) * residual**2,
            rtol=1e-6,
            atol=1e-12 * it.gstar,
            **summary,
        )
        evidence.true("applies for g > 0", said.applies == (step.g > 0), **summary)
        printed = step.g + 0.5 * gamma * step.g * (step.v_norm**2 - 1)
        within = step.g_next <= printed + 1e-12 * abs(step.g)
        evidence.as_printed(within, within=step.g > 0, **summary)


@check("scale-step-identity")
def scale_step_identity(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The identity between two consecutive steps, exact and as printed; what it is used for."""
    for _ in evidence.over(range(instances)):
        it, gamma, (first, second) = walk(rng, 2)
        a, b, g = first.g * first.v_norm, second.g * second.v_norm, second.g
        said, summary = lemmas.scale_gap(a, b, g, gamma), it.summary | {"gamma": gamma}
        observed, size = b - second.g_next, abs(a) + abs(b)
        atol = 1e-11 * size
        evidence.equal("b − g'", said.value["exact"], observed, rtol=1e-8, atol=atol, **summary)
        printed = (1 - gamma) * (a - g) - (a - b) * (1 - gamma * a * (a + b) / (g * (g + a)))
        evidence.equal("as printed", said.value["printed"], printed, rtol=1e-9, atol=atol)
        evidence.true("γ ≤ 1", said.applies)
        evidence.as_printed(np.isclose(printed, observed, rtol=1e-6, atol=1e-9 * size), **summary)
        # the slip: the third line of Term 1 with a plus before the square is what the step gives
        here, before = g / first.v_norm, first.g
        bracket = here**2 - before**2 + (here - before) ** 2
        term = -gamma / (2 * g) * (1 - it.p(first.w) ** 2) * bracket
        rest = observed - (1 - gamma) * (a - g) + (a - b)
        evidence.equal("Term 1", term, rest, rtol=1e-8, atol=atol, **summary)
        if 0 < g <= a:
            evidence.at_most("g' ≤ b", second.g_next, b, slack=1e-12, **summary)
            contracted = (1 - gamma) * (a - g) + 1e-12 * size
            evidence.at_most("γ ≤ ½ contracts", observed, contracted, **summary)
    evidence.true("γ > 1", not lemmas.scale_gap(2.0, 1.9, 1.0, 1.1).applies)


@check("scale-increases-lemma")
def scale_increases_lemma(evidence: Evidence, rng: Rng, instances: int) -> None:
    """From the second step on g grows exactly where it is under a = g_{t−1}‖v_{t−1}‖."""
    for _ in evidence.over(range(instances)):
        it, gamma, steps = walk(rng, 4)
        for first, second in pairwise(steps):
            a = first.g * first.v_norm
            said = lemmas.scale_increases(second.g, a, gamma)
            grows, summary = second.g_next > second.g, it.summary | {"gamma": gamma}
            if abs(a - second.g) > 1e-9 * abs(a):
                evidence.true("g grows iff g < a", said.value == grows, **summary)
                evidence.true("applies", said.applies == (second.g < a), **summary)
                evidence.as_printed(grows or second.g >= a, **summary)
            grown = gamma * (a - second.g) * it.p(second.w) ** 2
            evidence.equal(
                "by γ(a − g)p²", grown, second.g_next - second.g, rtol=1e-7, atol=1e-12 * abs(a)
            )
    frozen = lemmas.scale_increases(1.0, 2.0, 0.0)
    evidence.true("γ = 0 freezes it", not frozen.value and not frozen.applies)


@check("scale-increases")
def scale_increases(evidence: Evidence, rng: Rng, instances: int) -> None:
    """From which starts the scale grows for ever; not from any g0 > 0."""
    for index in evidence.over(range(instances)):
        it = start(rng, (0.3, 0.9, 1.3, 4.0))
        gamma = float(rng.choice([0.1, 0.5, 0.9]))
        frozen = index % 3 > 0
        first = 0.0 if frozen else gamma
        steps = rpgd_path(it, it.g0, it.w0, [first, *[gamma] * 12])
        said = lemmas.scale_keeps_increasing(it.g0, it.p(it.w0), it.gstar, gamma, first)
        grows = all(s.g_next >= s.g * (1 - 1e-12) for s in steps)
        summary = it.summary | {"gamma": gamma, "first step frozen": frozen}
        if frozen:
            grown = steps[1].g_next - it.g0
            evidence.equal(
                "g2 − g0", said.value, grown, rtol=1e-8, atol=1e-13 * it.gstar, **summary
            )
            if abs(it.g0 * it.p(it.w0) - it.gstar) > 1e-6 * it.gstar:
                evidence.true("for ever iff g0p0 < g*", said.applies == grows, **summary)
        else:
            evidence.true("a free first step is not covered", not said.applies, **summary)
        evidence.as_printed(grows, within=frozen and it.g0 < it.gstar, **summary)
    for arguments in ((-0.5, 0.6, 1.0, 0.1), (0.5, 0.6, 1.0, 1.0), (0.5, 0.6, 1.0, 0.0)):
        evidence.true("its range", not lemmas.scale_keeps_increasing(*arguments).applies)


@check("gv-recursion")
def gv_recursion(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g²‖v‖² from step to step."""
    for _ in evidence.over(range(instances)):
        it, _, (first, second) = walk(rng, 2)
        a, p = first.g * first.v_norm, it.p(second.w)
        said = lemmas.scale_norm_recursion(a, second.g, p).value
        observed = (second.g * second.v_norm) ** 2
        evidence.equal("g²‖v‖²", said["exact"], observed, rtol=1e-9, **it.summary)
        printed = a**2 + (second.g**2 - a**2) * (1 - p) ** 2
        evidence.equal("as printed", said["printed"], printed, rtol=1e-10, **it.summary)
        evidence.as_printed(np.isclose(printed, observed, rtol=1e-7), **it.summary)


@check("perp-bound")
def perp_bound(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The bound on ‖w⊥‖² along a path under g*; all but attained for a tiny w⊥ at g ≈ g*."""
    for index in evidence.over(range(instances)):
        it, _, steps = walk(rng, 5, UNDER, frozen=index % 2 == 0)
        scales, parallels = [s.g for s in steps], [it.p(s.w) for s in steps]
        said, summary = lemmas.perp_bound(scales, parallels, it.gstar), it.summary
        under = max(np.abs(scales)) <= it.gstar
        evidence.true("|g_i| ≤ g*", said.applies == under, **summary)
        last = 1 - it.p(steps[-1].w_next) ** 2
        if under:
            evidence.at_most("‖w⊥‖²", last, said.value, slack=1e-9, **summary)
        evidence.equal(
            "‖w⊥‖² = 1 − ‖Aw‖²", 1 - parallels[0] ** 2, it.q(it.w0) ** 2, rtol=1e-8, atol=1e-14
        )
        perp = it.q(it.w0)
        evidence.as_printed(perp <= 1 - parallels[0] ** 2 + 1e-12, perp=perp, **summary)
    for share in (0.999, 0.9999):
        it = plain(share, angled(1e-3))
        steps = rpgd_path(it, share, it.w0, [0.0] * 20)
        said = lemmas.perp_bound([s.g for s in steps], [abs(s.w[0]) for s in steps], 1.0)
        shrunk = np.log(steps[-1].w_next[1] ** 2 / it.w0[1] ** 2)
        bound = np.log(said.value / (1 - it.w0[0] ** 2))
        evidence.equal("all but attained", bound, shrunk, rtol=5e-3, share=share)
        evidence.equal("its last factor", said.value, it.w0[1] ** 2 * np.exp(bound), rtol=1e-8)
    for sign in (-1.0, 1.0):
        outside = lemmas.perp_bound([sign * 1.5, sign * 1.5], [0.9, 0.9], 1.0)
        evidence.true("|g_i| > g*", not outside.applies)


@check("perp-contraction")
def perp_contraction(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖w⊥‖ after one step and after many at a fixed scale, and the exact number of steps."""
    for _ in evidence.over(range(instances)):
        it, _, (step,) = walk(rng, 1)
        before, later = it.q(step.w), it.q(step.w_next)
        said = lemmas.perp_contraction(before, step.g, it.gstar).value
        evidence.equal("‖w⊥'‖²", said["exact"], later**2, rtol=1e-8, atol=1e-14, **it.summary)
        evidence.at_most("its bound", later**2, said["bound"] + 1e-14, slack=1e-9, **it.summary)
        bound = (step.g / it.gstar) ** 2 * before**2
        evidence.equal("the bound", said["bound"], bound, rtol=1e-9, atol=1e-16, **it.summary)
        evidence.as_printed(later**2 <= bound * (1 + 1e-9) + 1e-14, **it.summary)
        # many steps, where w⊥ is a coordinate and exact to its last digit
        share, q0 = float(rng.choice([0.3, 0.9, 0.99, 1.0, 1.5, -0.7])), float(rng.uniform(0.1, 1))
        alone = plain(share * it.gstar, angled(q0), y=it.gstar)
        count = int(rng.integers(1, 60))
        perps = [abs(s.w_next[1]) for s in rpgd_path(alone, alone.g0, alone.w0, [0.0] * count)]
        after_all = theory.perp_after(q0, alone.g0, it.gstar, count)
        evidence.true("it applies", after_all.applies)
        said_after = after_all.value
        evidence.equal("after t steps", said_after, perps[-1], rtol=1e-9, share=share, q0=q0)
        if perps[-1] < q0 * (1 - 1e-9):
            accuracy = perps[-1] * (1 + 1e-7)
            needed = theory.steps_to_perp(q0, alone.g0, it.gstar, accuracy)
            first = 1 + int(np.argmax(np.array(perps) <= accuracy))
            evidence.equal("the steps to it", needed.value, first, rtol=0.0, share=share, q0=q0)
            evidence.true("they are reached", needed.applies)
    for q0, share in ((0.9, 1.5), (0.3, 1.5)):  # over g*, w⊥ tends to √(1 − g*²/g²) = 0.745
        never = theory.steps_to_perp(q0, share, 1.0, 0.2)
        evidence.true("never", never.value == np.inf and not never.applies)
    evidence.true("already there", theory.steps_to_perp(0.1, 0.5, 1.0, 0.1).value == 0)
    evidence.true("already there", theory.steps_to_perp(0.0, 0.5, 1.0, 1e-9).value == 0)
    evidence.true(
        "a rest point", theory.steps_to_perp(0.7241379310344828, 1.45, 1.0, 0.5).value == np.inf
    )
    evidence.true("just out of reach", theory.steps_to_perp(0.9, 1.5, 1.0, 0.74).value == np.inf)
    for q0 in (0.3, 0.9):
        far = theory.steps_to_perp(q0, 1.5, 1.0, 1e-12)
        evidence.true("far out of reach", far.value == np.inf and not far.applies)
    for share in (1e-3, 0.8):  # κᵗ overflows, and ‖w⊥‖ underflows
        gone = theory.perp_after(0.5, share, 1.0, 5000).value
        evidence.equal("nothing is left", gone, 0.0, rtol=0.0)
    evidence.equal("w⊥ = 0 stays", theory.perp_after(0.0, 0.5, 1.0, 3).value, 0.0, rtol=0.0)
    evidence.true("ε = 0", not theory.steps_to_perp(0.0, 0.5, 1.0, 0.0).applies)
    for q0, share, accuracy, known in (
        (1.0, 5e-324, 0.1, 1),  # one step from a tiny scale
        (0.5, 0.5, 1e-200, 664),  # κᵗ = (1/ε² + ⅓)/(4 + ⅓), κ = 4, written out
        (0.5, 1e-200, 0.01, 1),
        (0.5, 0.9, 1e-200, 4361),  # the same with κ = 1/0.81
        (0.5, -1e-5, 1e-60, 12),  # 274.9/24.4, with g* = 2
    ):
        gstar = 2.0 if share < 0 else 1.0
        needed = theory.steps_to_perp(q0, share, gstar, accuracy)
        evidence.equal("at any size", needed.value, known, rtol=0.0)
    for said in (lemmas.perp_contraction(1.1, 0.5, 1.0), theory.perp_after(1.1, 0.5, 1.0, 2)):
        evidence.true("‖w⊥‖ ≤ 1", not said.applies)
    evidence.true("y ≠ 0", not theory.perp_after(0.0, 0.5, 0.0, 2).applies)


@check("loss-gap")
def loss_gap(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖r‖² after one step."""
    for _ in evidence.over(range(instances)):
        it, _, (first, second) = walk(rng, 2)
        p = it.p(first.w_next)
        said = lemmas.loss_gap(first.g_next, first.g, first.v_norm, p).value
        observed = float(second.residual @ second.residual)
        size = first.g_next**2 + (first.g * first.v_norm) ** 2
        atol = 1e-12 * size
        evidence.equal("‖r'‖²", said["exact"], observed, rtol=1e-8, atol=atol, **it.summary)
        printed = (first.g_next - first.g * first.v_norm) ** 2
        evidence.equal("as printed", said["printed"], printed, rtol=1e-9, atol=atol)
        evidence.at_most("≤, all that is used", observed, printed + atol, **it.summary)
        evidence.as_printed(np.isclose(printed, observed, rtol=1e-6, atol=1e-9 * size))


@check("large-scale-step")
def large_scale_step(evidence: Evidence, rng: Rng, instances: int) -> None:
    """With γ = 1 from g0 = 0.9 g* the direction ends far off; with γ = 0.01 it does not."""
    for _ in evidence.over(range(max(5, instances // 2))):
        share, y = float(rng.uniform(0.85, 0.95)), float(rng.choice([0.2, 1.0, 5.0]))
        it = plain(share * y, [0.0, 1.0], y=y)
        ends = {}
        for gamma, count in ((1.0, 300), (0.01, 3000)):
            steps = rpgd_path(it, it.g0, it.w0, [gamma] * count)
            ends[gamma] = abs(after(it, steps)[1][1])
            perp = 1.0
            for step in steps:
                perp = float(np.sqrt(lemmas.perp_contraction(perp, step.g, y).value["exact"]))
            evidence.equal("‖w⊥‖ from the scales", perp, ends[gamma], rtol=1e-6, share=share)
            over = max(abs(s.g) for s in steps) > y
            evidence.true("g passes g* for γ = 1", over or gamma < 1)
        evidence.at_most("a small γ turns w in", ends[0.01], 0.02)
        evidence.as_printed(ends[1.0] > 0.4, perp=ends[1.0], share=share)


@check("escape-stationary")
def escape_stationary(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖Aw1‖ after one step; which starts end in the 2-cycle ±(γg*/(2 − γ), −w*); and that none
    does with g1 = g0 or a scale step as small as those of Theorem E.1.
    """
    for index in evidence.over(range(2 * instances)):
        it = start(rng, (-1.5, -0.5, -0.05, 0.01, 0.1, 0.5, 2.0))
        if index % 2:  # against w*, where the cycle is
            lean = it.w0 - float(rng.uniform(0.5, 3.0)) * it.x / it.gstar * np.sign(it.g0)
            it = it.at(w0=lean / np.linalg.norm(lean))
        gamma = float(rng.choice([0.05, 0.3, 0.5, 0.7, 0.95]))
        step = rpgd_step(it, it.g0, it.w0, 1 / it.g0**2, gamma)
        said, p1 = lemmas.norm_after_first_step(it.g0, it.p(it.w0), it.gstar), it.p(step.w_next)
        evidence.equal("‖Aw1‖", said.value, p1, rtol=1e-9, **it.summary)
        evidence.true("g0 ≠ 0", said.applies)
        _cycle(evidence, it, gamma)
        plan = theory.two_phase_a(it.gstar, it.g0, min(1.0, it.p(it.w0)), 0.1)
        if plan.applies and plan.first > 1:
            safe = abs(it.g0) / (it.gstar + abs(it.g0))
            evidence.at_most("γ⁽¹⁾ is safe", plan.first_step, safe, **it.summary)
    # on the edge of the basin for γ > ½: both of the first two steps must change the sign
    for gamma, q0, largest in (
        (0.6, 0.3, 3.0),
        (0.8, 0.3, 3.0),
        (0.95, 0.3, 8.0),
        (0.995, 0.14, 40.0),
    ):
        for g0 in np.geomspace(0.02 * largest, largest, 16):
            _cycle(evidence, plain(float(g0), angled(q0) * [-1, 1], y=1.0), gamma)
    tiny = theory.two_cycle_basin(1e-172, -1.0, 1.0, 1e-170, 0.5)  # g1·g2 underflows
    evidence.true("in any unit", tiny.value and tiny.applies)
    tied = theory.two_cycle_basin(1.0, -1.0, 1.0, 1.0, 0.5)  # g1 = 0
    evidence.true("exactly zero is left open", not tied.applies)
    evidence.true("g0 = 0", not theory.two_cycle_basin(0.0, -1.0, 1.0, 1.0, 0.5).applies)
    both = LeastSquares([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0])  # y partly out of reach: floor ¼
    part = theory.two_cycle(both, 0.01, [-0.6, 0.8], 0.1)
    whole = theory.two_cycle(LeastSquares([[2.0**0.5, 0.0]], [4.5**0.5]), 0.01, [-0.6, 0.8], 0.1)
    evidence.equal("the floor of the loss", part.loss, whole.loss + 0.25, rtol=1e-9)
    evidence.true("‖Aw0‖ ≤ 1", not theory.two_cycle_basin(0.5, -1.0, 1.1, 1.0, 0.5).applies)
    evidence.true("‖Aw0‖ ≤ 1", not lemmas.norm_after_first_step(0.5, 1.1, 1.0).applies)
    evidence.true("g* > 0", not theory.two_cycle_basin(0.5, -1.0, 1.0, -1.0, 0.5).applies)
    skew = make(rng, ("general",), m=3, condition=3.0)
    evidence.true("general A", not theory.two_cycle(skew.problem, 0.5, skew.w0, 0.3).applies)
    for step_size in (0.0, -0.1, 1.5):
        outside = theory.two_cycle(plain(0.5, [0, 1]).problem, 0.5, [0, 1], step_size)
        evidence.true("0 < γ ≤ 1", not outside.applies and not outside.trapped)
    evidence.true("g0 = 0", not lemmas.norm_after_first_step(0.0, 0.5, 1.0).applies)
    evidence.true("y = 0", not lemmas.norm_after_first_step(1.0, 0.5, 0.0).applies)


def _cycle(evidence: Evidence, it: Instance, gamma: float) -> None:
    """Run until a cycle or a solution; and the same with A and y in other units."""
    summary: dict[str, Any] = it.summary | {"gamma": gamma}
    said = theory.two_cycle(it.problem, it.g0, it.w0, gamma)
    count = int(250 / gamma)
    path = rpgd_path(it, it.g0, it.w0, [gamma] * count)
    g, w = after(it, path)
    loss = it.loss(g * w)
    in_cycle = loss > 0.5 * float(it.y @ it.y)
    evidence.true("trapped iff it ends in the cycle", said.trapped == in_cycle, **summary)
    evidence.true("it applies", said.applies, **summary)
    if in_cycle:
        evidence.equal("|g| in the cycle", said.scale, abs(g), rtol=1e-3, **summary)
        evidence.equal("the loss in the cycle", said.loss, loss, rtol=1e-3, **summary)
        evidence.equal("w = −w*·sign", -np.sign(g) * it.x / it.gstar, w, rtol=2e-2, **summary)
        evidence.at_most("γ was not safe", said.safe_step, gamma, **summary)
        thawed = rpgd_path(it, it.g0, it.w0, [0.0, *[gamma] * count])  # g1 = g0
        g, w = after(it, thawed)
        evidence.at_most("a frozen first step escapes", it.loss(g * w), 1e-6 * it.gstar**2)
        evidence.as_printed(it.loss(g * w) <= 1e-6 * it.gstar**2, **summary)
    else:
        evidence.at_most("else it converges", loss, 1e-3 * it.gstar**2, **summary)
    share = abs(it.g0) / (it.gstar + abs(it.g0))
    evidence.equal("the safe step", said.safe_step, share, rtol=1e-9, **summary)
    against = theory.two_cycle_basin(it.g0, -np.sign(it.g0), 1.0, it.gstar, 1.0001 * share)
    evidence.true("just above it some start is trapped", against.value, **summary)
    cosine = float(it.w0 @ it.x) / it.gstar
    basin = theory.two_cycle_basin(it.g0, cosine, min(1.0, it.p(it.w0)), it.gstar, gamma)
    evidence.true("the basin in numbers", basin.value == in_cycle, **summary)
    doubled = it.at(A=2.0 * it.A)
    other = theory.two_cycle(doubled.problem, it.g0, it.w0, gamma / 4.0)
    evidence.true("A and y doubled: γ/4", other.trapped == in_cycle, **summary)
    if in_cycle:
        g, w = after(it, rpgd_path(doubled, it.g0, it.w0, [gamma / 4.0] * count, curvature=4.0))
        evidence.equal("the loss in other units", other.loss, doubled.loss(g * w), rtol=1e-3)
    evidence.equal("the safe step in other units", other.safe_step, share / 4.0, rtol=1e-9)
    evidence.as_printed(not in_cycle, within=gamma < share, loss=loss, **summary)
