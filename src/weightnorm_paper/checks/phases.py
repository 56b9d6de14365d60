"""Checks of guaranteed numbers of steps on orthogonal A: the two phases of Theorem 3.2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weightnorm import theory

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng, angled, make, plain
from ..evidence.simulate import after, rpgd_path, rpgd_step
from .steps import KINDS

BUDGET = 4000  # steps that a simulation of one plan may take


def start(rng: Rng) -> tuple[Instance, float]:
    """g* in any unit, 0 < g0 < g* near either end, any ‖w0⊥‖; and an accuracy."""
    it = make(rng, KINDS, orthogonal=True)
    unit = 10.0 ** float(rng.choice([-6, -1, 0, 1, 6]))
    share = float(rng.choice([1e-3, 0.1, 0.4, 0.8, 0.95]))
    it = it.at(x=unit * it.x)
    return it.at(g0=share * it.gstar), float(rng.choice([0.3, 0.1, 0.01, 0.001]))


def first_a(it: Instance, plan: Any) -> list[Any]:
    """The steps of case (a)'s first phase."""
    return rpgd_path(it, it.g0, it.w0, [0.0, *[plan.first_step] * (plan.first - 1)])


def end(it: Instance, g: float, w: Any) -> tuple[float, float]:
    """‖w⊥‖ and ‖r‖."""
    return it.q(w), float(np.linalg.norm(it.A @ (g * w) - it.y))


def formula_a(it: Instance, accuracy: float, rho: float) -> float:
    """T1 of case (a), written out, before rounding."""
    delta0 = it.gstar**2 - it.g0**2
    return (1 + it.gstar**2 / (rho * delta0)) * math.log((1 - it.p(it.w0) ** 2) / accuracy**2)


def _witness(rho: float, share: float, q0: float, steps: float) -> tuple[Instance, float]:
    """A start of A = [1, 0] whose T1 in case (a) is just under `steps`, and the accuracy."""
    it = plain(share, angled(q0))
    rate = 1 + 1 / (rho * (1 - share**2))
    return it, q0 * math.exp(-0.5 * (steps - 1e-4) / rate)


@check("two-phase-a-first")
def two_phase_a_first(evidence: Evidence, rng: Rng, instances: int) -> None:
    """After T1 steps ‖w⊥‖ ≤ δ and g² ≤ g*² − ρδ0; with one step less, or twice the γ, not."""
    for _ in evidence.over(range(2 * instances)):
        it, accuracy = start(rng)
        rho = float(rng.choice([0.05, 0.5, 0.9]))
        plan = theory.two_phase_a(it.gstar, it.g0, it.p(it.w0), accuracy, rho)
        summary = it.summary | {"accuracy": accuracy, "rho": rho, "T1": plan.first}
        evidence.true("it applies", plan.applies, **summary)
        if plan.first > BUDGET:
            evidence.skip("T1 is beyond what is simulated")
            continue
        g, w = after(it, first_a(it, plan))
        room = it.gstar**2 - rho * (it.gstar**2 - it.g0**2)
        evidence.true("δ ≤ ε", plan.perp <= accuracy, **summary)
        evidence.at_most("‖w⊥‖ ≤ δ", it.q(w), plan.perp, **summary)
        evidence.at_most("g² ≤ g*² − ρδ0", g**2, room, **summary)
        evidence.true("T1 ≥ 1", plan.first >= max(1, formula_a(it, accuracy, rho) - 1e-6))
        fewer = rpgd_path(it, it.g0, it.w0, [0.0] * plan.needed)
        evidence.true("needed is enough", it.q(after(it, fewer)[1]) <= accuracy * (1 + 1e-9))
        if plan.needed:
            missing = after(it, fewer[:-1])[1]
            evidence.true("and no less is", it.q(missing) > accuracy * (1 - 1e-9), **summary)
        # the paper leaves δ < ε/(2g* + ε) free: δ may then be larger than ε
        delta = 0.99 * accuracy / (2 * it.gstar + accuracy)
        count = math.ceil(max(formula_a(it, delta, rho), 0.0))
        if count <= BUDGET:
            slow = plan.first_step * plan.first / max(count, 1)
            path = rpgd_path(it, it.g0, it.w0, [0.0, *[slow] * (count - 1)][:count])
            short = it.q(after(it, path)[1]) > accuracy * (1 + 1e-9)
            evidence.as_printed(not short, within=delta <= accuracy, delta=delta, **summary)
    for rho, share, q0, steps in ((0.9999, 0.99, 0.05, 1), (0.9999, 0.995, 0.01, 20)):
        it, accuracy = _witness(rho, share, q0, steps)
        plan = theory.two_phase_a(1.0, share, float(it.w0[0]), accuracy, rho)
        evidence.equal("T1 here", plan.first, steps, rtol=0.0)
        path = first_a(it, plan)
        evidence.at_most("‖w⊥‖ ≤ δ", abs(path[-1].w_next[1]), accuracy)
        before = abs(path[-1].w[1])
        evidence.true("one step less is not enough", before > accuracy, perp=before)
    # γ⁽¹⁾ is all but the largest: ρ = 0.9, w near the row space, g0 near g*
    for rho in (0.9, 0.95):
        it = plain(0.999, angled(1e-3))
        plan = theory.two_phase_a(1.0, 0.999, float(it.w0[0]), 5e-4, rho)
        g, _ = after(it, first_a(it, plan))
        used = (g**2 - it.g0**2) / ((1 - rho) * (1 - it.g0**2))
        evidence.at_most("the room is used", 0.92, used, rho=rho, used=used)
        evidence.at_most("and kept", used, 1.0, rho=rho)
    for share, rho, parallel in ((0.1, 0.3, 0.9), (0.6, 0.1, 0.2)):  # γ⁽¹⁾ written out
        plan = theory.two_phase_a(2.0, 2.0 * share, parallel, 0.01, rho)
        growth = math.log((1 - rho) / share**2 + rho)
        written = share**2 * growth / (plan.first * (1 - (share * parallel) ** 2))
        evidence.equal("γ⁽¹⁾", plan.first_step, written, rtol=1e-9)
    plan = theory.two_phase_a(1.0, 0.5, 1.0 + 1e-13, 0.1)  # in the row space, to rounding
    evidence.true("nothing is to be turned in", plan.applies and plan.needed == 0)
    free = theory.two_phase_a(1.0, 0.1, 0.9, 0.5, 1e-9)
    evidence.equal("γ⁽¹⁾ ≤ ½", theory.two_phase_a(1.0, 0.9, 1.0, 0.9, 0.01).first_step, 0.5, rtol=0)
    evidence.true("T1 counts the frozen step", free.first >= 1)
    for wrong in ((1.0, 1.0, 0.5, 0.1), (1.0, 0.0, 0.5, 0.1), (1.0, 0.5, 1.5, 0.1),
                  (1.0, 0.5, -0.1, 0.1), (1.0, 0.5, 0.5, 1.0), (1.0, 0.5, 0.5, 0.0)):  # fmt: skip
        evidence.true("its ranges", not theory.two_phase_a(*wrong).applies, wrong=wrong)
    for rho, gamma in ((1.0, 0.5), (0.0, 0.5), (0.5, 0.0), (0.5, 0.51)):
        wrong_plan = theory.two_phase_a(1.0, 0.5, 0.5, 0.1, rho, gamma)
        evidence.true("its ranges", not wrong_plan.applies and wrong_plan.total == 0, rho=rho)
        evidence.true("nothing is needed", wrong_plan.needed == 0, rho=rho)


@check("two-phase-a-second")
def two_phase_a_second(evidence: Evidence, rng: Rng, instances: int) -> None:
    """After T1 + T2 steps ‖w⊥‖ ≤ ε and ‖r‖² ≤ ε g*²; the printed T2 is too short."""
    for _ in evidence.over(range(2 * instances)):
        it, accuracy = start(rng)
        rho, gamma = float(rng.choice([0.05, 0.5, 0.9])), float(rng.choice([0.05, 0.25, 0.5]))
        plan = theory.two_phase_a(it.gstar, it.g0, it.p(it.w0), accuracy, rho, gamma)
        summary = it.summary | {"accuracy": accuracy, "rho": rho, "gamma": gamma}
        if plan.first > BUDGET:
            evidence.skip("T1 is beyond what is simulated")
            continue
        g, w = after(it, first_a(it, plan))
        here = it.at(g0=g, w0=w)
        last = after(here, rpgd_path(here, g, w, [plan.second_step] * plan.second))
        perp, residual = end(it, *last)
        evidence.at_most("‖w⊥‖ ≤ ε", perp, accuracy, **summary)
        evidence.at_most("‖r‖² ≤ ε g*²", residual**2, accuracy * it.gstar**2, **summary)
        said = lemmas.two_phase_a_printed_second(it.gstar, it.g0, accuracy, rho, 0.25)
        delta0 = it.gstar**2 - it.g0**2
        printed = rho * delta0 / (it.gstar**2 * (1 - accuracy) * math.sqrt(accuracy))
        evidence.equal("T2 as printed", said, 4 * math.log(printed), rtol=1e-9, atol=1e-9)
        short = after(here, rpgd_path(here, g, w, [0.25] * max(0, math.ceil(said))))
        residual = end(it, *short)[1]
        evidence.as_printed(residual**2 <= 3 * accuracy * it.gstar**2, residual=residual, **summary)
    for accuracy, share in ((0.3, 0.9), (0.6, 0.5), (0.9, 0.95)):  # T2 written out, at coarse ε
        behind = 1 / math.sqrt(1 - accuracy**2) - share
        wanted = math.log(behind / math.sqrt(accuracy)) / 1e-3
        second = theory.two_phase_a(1.0, share, 0.0, accuracy, 0.5, 1e-3).second
        evidence.equal("T2, written out", second, max(0, math.ceil(wanted)), rtol=0.0)
    for gamma in (0.01, 0.002):  # attained as γ → 0: one step less is not enough
        share, accuracy = 0.5, 1e-3
        behind = 1 / math.sqrt(1 - accuracy**2) - share
        it = plain(share, [0.0, 1.0])
        plan = theory.two_phase_a(1.0, share, 0.0, accuracy, 1 - 1e-9, gamma)
        g, w = after(it, first_a(it, plan))
        path = rpgd_path(it, g, w, [gamma] * plan.second)
        residuals = [float(np.linalg.norm(s.residual)) for s in path]
        needed = int(np.argmax(np.array(residuals) <= math.sqrt(accuracy)))
        wanted = math.log(behind / math.sqrt(accuracy)) / gamma
        evidence.equal("T2, written out", plan.second, math.ceil(wanted), rtol=0.0)
        evidence.equal("all but attained", plan.second, needed, rtol=0.01, gamma=gamma)


def formula_b(share: float, accuracy: float, gamma: float) -> tuple[float, float]:
    """T1 and T2 of case (b), written out for g* = 1, before rounding."""
    first = math.log(1 / accuracy**2) / math.log(1 / share**2)
    inside = (1 - (1 - accuracy**2) * share) / accuracy**2
    return first, math.log(inside) / math.log(1 / (1 - (1 - accuracy**2) * gamma))


@check("two-phase-b")
def two_phase_b(evidence: Evidence, rng: Rng, instances: int) -> None:
    """After T1 + T2 steps of case (b), T2 rounded up: g, ‖w⊥‖ and ‖r‖ within their bounds. As
    printed: T2 rounded down; within γ < ¼, and beyond.
    """
    for _ in evidence.over(range(2 * instances)):
        it, accuracy = start(rng)
        gamma = float(rng.choice([0.05, 0.2, 0.7, 0.96, 1.0]))
        plan = theory.two_phase_b(it.gstar, it.g0, accuracy, gamma, it.p(it.w0))
        summary = it.summary | {"accuracy": accuracy, "gamma": gamma}
        evidence.true("it applies", plan.applies, **summary)
        first, second = formula_b(it.g0 / it.gstar, accuracy, gamma)
        evidence.equal("T1, rounded up", plan.first, math.ceil(first - 1e-9), rtol=0.0, **summary)
        evidence.equal("T2, rounded up", plan.second, math.ceil(second - 1e-9), rtol=0.0, **summary)
        evidence.true("γ and δ", plan.first_step == 0 and plan.second_step == gamma)
        evidence.equal("δ", plan.perp, accuracy, rtol=0.0)
        if plan.total > BUDGET:
            evidence.skip("T1 is beyond what is simulated")
            continue
        frozen = rpgd_path(it, it.g0, it.w0, [0.0] * plan.first)
        enough = [it.q(it.w0), *(it.q(s.w_next) for s in frozen)]
        needed = int(np.argmax(np.array(enough) <= accuracy * (1 + 1e-9)))
        evidence.equal("the steps needed", plan.needed, needed, rtol=0.0, **summary)
        here = it.at(g0=after(it, frozen)[0], w0=after(it, frozen)[1])
        path = rpgd_path(here, here.g0, here.w0, [gamma] * plan.second)
        g, w = after(here, path)
        perp, residual = end(it, g, w)
        evidence.at_most("(1 − 2ε²)g* ≤ g", (1 - 2 * accuracy**2) * it.gstar, g, **summary)
        upper = it.gstar / math.sqrt(1 - accuracy**2)
        evidence.at_most("g ≤ g*/√(1 − ε²)", g, upper, **summary)
        evidence.at_most("‖w⊥‖ ≤ ε", perp, accuracy, **summary)
        evidence.at_most("‖r‖ ≤ 2.5ε²g*", residual, 2.5 * accuracy**2 * it.gstar, **summary)
        down = after(here, path[: math.floor(second + 1e-9)])[0]
        low, high = (1 - 2 * accuracy**2) * it.gstar, it.gstar
        fine = low * (1 - 1e-12) <= down <= high * (1 + 1e-12)
        evidence.as_printed(fine, within=gamma <= 4 / 9, g=down, **summary)
    for share, accuracy, gamma in ((0.6, 1 / 12, 0.96), (0.5, 0.1, 0.99)):
        it = plain(share, [0.0, 1.0])
        plan = theory.two_phase_b(1.0, share, accuracy, gamma)
        steps = [0.0] * plan.first + [gamma] * (plan.second - 1)
        g = after(it, rpgd_path(it, share, it.w0, steps))[0]
        fine = (1 - 2 * accuracy**2) <= g <= 1
        evidence.as_printed(fine, within=False, g=g, gamma=gamma)
    plan = theory.two_phase_b(1.0, 0.5, 0.1, 1.0, 1.0 + 1e-13)  # in the row space, to rounding
    evidence.true("nothing is to be turned in", plan.applies and plan.needed == 0)
    for wrong in ((1.0, 1.0, 0.1), (1.0, 0.0, 0.1), (1.0, 0.5, 0.5), (1.0, 0.5, 0.0)):
        plan = theory.two_phase_b(*wrong)
        evidence.true("its ranges", not plan.applies and plan.total == 0, wrong=wrong)
    for gamma, parallel in ((0.0, 0.0), (1.01, 0.0), (0.5, 1.1), (0.5, -0.1)):
        wrong_plan = theory.two_phase_b(1.0, 0.5, 0.1, gamma, parallel)
        evidence.true("its ranges", not wrong_plan.applies, gamma=gamma)


@check("two-phase-b-bounds")
def two_phase_b_bounds(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The first ⌊T2⌋ steps of the second phase lie within their bounds; later ones under
    g*/√(1 − ε²). The lower bound is attained at ‖w⊥‖ = ε and g = g*, the upper one approached.
    """
    for _ in evidence.over(range(instances)):
        it, _ = start(rng)
        accuracy, gamma = float(rng.choice([0.45, 0.2, 0.05])), float(rng.choice([0.1, 0.25, 0.7]))
        first, second = (math.ceil(formula_b(it.g0 / it.gstar, accuracy, gamma)[0]), 0)
        second = math.floor(formula_b(it.g0 / it.gstar, accuracy, gamma)[1])
        path = rpgd_path(it, it.g0, it.w0, [0.0] * first + [gamma] * (second + 3))
        for index, step in enumerate(path[first:]):
            said = lemmas.two_phase_b_bounds(step.g, it.gstar, accuracy, gamma)
            summary = it.summary | {"accuracy": accuracy, "gamma": gamma, "next": step.g_next}
            lower, upper = said.value["lower"], said.value["upper"]
            if index < second:
                evidence.at_most("the lower bound", lower, step.g_next, **summary)
                evidence.at_most("the upper bound", step.g_next, upper, **summary)
                evidence.true("it applies", said.applies, **summary)
                evidence.as_printed(step.g_next <= it.gstar * (1 + 1e-12), **summary)
            evidence.at_most("later", step.g_next, said.value["later"], **summary)
        if second == 0:
            evidence.skip("T2 < 1: no step to bound")
    for accuracy, gamma in ((0.3, 0.5), (0.1, 0.9), (0.45, 0.2)):
        it = plain(1.0, angled(accuracy))
        for g in (1e-9, 0.5, 1.0):  # at ‖w⊥‖ = ε: g' = g + γp(g* − gp), p = √(1 − ε²)
            step = rpgd_step(it, g, it.w0, 1 / g**2, gamma)
            said = lemmas.two_phase_b_bounds(g, 1.0, accuracy, gamma)
            slack = gamma * (float(it.w0[0]) - (1 - accuracy**2))  # γ(p − p²), at g = 0
            evidence.equal("the lower bound", said.value["lower"], step.g_next - slack, rtol=1e-9)
        evidence.equal("the upper bound", said.value["upper"], 1.0, rtol=1e-12)
        top = plain(1.0 / float(it.w0[0]), angled(accuracy))
        step = rpgd_step(top, top.g0, top.w0, 1 / top.g0**2, gamma)
        evidence.equal("later, attained", said.value["later"], step.g_next, rtol=1e-9)
    for wrong in ((1.1, 1.0, 0.1, 0.5), (0.0, 1.0, 0.1, 0.5), (0.5, 1.0, 0.1, 0.0),
                  (0.5, 1.0, 0.1, 1.1)):  # fmt: skip
        evidence.true("its ranges", not lemmas.two_phase_b_bounds(*wrong).applies, wrong=wrong)


@check("two-phase-b-final")
def two_phase_b_final(evidence: Evidence, rng: Rng, instances: int) -> None:
    """⟨w_T, w*⟩ and the loss at the end; attained at the corner g = (1 − 2ε²)g*, ‖w⊥‖ = ε."""
    for _ in evidence.over(range(instances)):
        it, accuracy = start(rng)
        gamma = float(rng.choice([0.2, 0.7, 1.0]))
        plan = theory.two_phase_b(it.gstar, it.g0, accuracy, gamma)
        path = rpgd_path(it, it.g0, it.w0, [0.0] * plan.first + [gamma] * plan.second)
        g, w = after(it, path)
        said, summary = lemmas.two_phase_b_final(it.gstar, accuracy), it.summary
        cosine, loss = float(w @ it.x) / it.gstar, it.loss(g * w)
        evidence.at_most("⟨w, w*⟩", said.value["cosine"], cosine, **summary)
        evidence.at_most("½‖r‖²", loss, said.value["loss"], **summary)
        evidence.true("it applies", said.applies)
        evidence.at_most("≤ 3.2ε⁴g*²", said.value["loss"], 3.2 * accuracy**4 * it.gstar**2)
        evidence.equal("1 − ε", said.value["printed_cosine"], 1 - accuracy, rtol=1e-12)
        printed = 3 * accuracy * it.gstar**2
        evidence.equal("3εg*²", said.value["printed_loss"], printed, rtol=1e-12)
        evidence.as_printed(cosine >= 1 - accuracy and loss <= printed, **summary)
        corner = plain(1.0, angled(accuracy), y=it.gstar)
        low = (1 - 2 * accuracy**2) * it.gstar
        there = corner.loss(low * corner.w0)
        evidence.equal("the loss, attained", said.value["loss"], there, rtol=1e-9, **summary)
        evidence.equal("the cosine, attained", said.value["cosine"], corner.w0[0], rtol=1e-12)
    evidence.true("ε < ½", not lemmas.two_phase_b_final(1.0, 0.5).applies)
    evidence.true("ε > 0", not lemmas.two_phase_b_final(1.0, 0.0).applies)


@check("delta0-tradeoff")
def delta0_tradeoff(evidence: Evidence, rng: Rng, instances: int) -> None:
    """A larger δ0 = g*² − g0² makes every T1 shorter and every T2 longer."""
    shares = (0.99, 0.95, 0.9, 0.7, 0.5, 0.3, 0.1)
    for _ in evidence.over(range(max(4, instances // 4))):
        parallel, accuracy = float(rng.uniform(0, 0.9)), float(rng.choice([0.05, 0.01, 1e-3]))
        gamma = float(rng.choice([0.01, 0.1]))
        for name in ("a", "b"):
            lengths = []
            for share in shares:
                it = plain(share, angled(math.sqrt(1 - parallel**2)))
                if name == "a":
                    plan = theory.two_phase_a(1.0, share, parallel, accuracy, 0.5, gamma)
                    first = formula_a(it, accuracy, 0.5)
                else:
                    plan = theory.two_phase_b(1.0, share, accuracy, gamma)
                    first = formula_b(share, accuracy, gamma)[0]
                evidence.equal("T1", plan.first, math.ceil(first - 1e-9), rtol=0.0, share=share)
                lengths.append((plan.first, plan.second))
            firsts, seconds = map(list, zip(*lengths, strict=True))
            falls = firsts == sorted(firsts, reverse=True) and firsts[0] > firsts[-1]
            grows = seconds == sorted(seconds) and seconds[0] < seconds[-1]
            evidence.true("T1 falls and T2 grows with δ0", falls and grows, case=name)
            evidence.as_printed(falls and grows, case=name)


@check("log-rate")
def log_rate(evidence: Evidence, rng: Rng, instances: int) -> None:
    """All but ε fixed, T1 + T2 grows by a constant per decade of ε, as gradient descent's does."""
    for _ in evidence.over(range(max(3, instances // 6))):
        share, gamma = float(rng.uniform(0.3, 0.9)), float(rng.choice([0.1, 0.4]))
        it = plain(share, angled(float(rng.uniform(0.2, 1.0))))
        parallel, accuracies = abs(float(it.w0[0])), (1e-3, 1e-5, 1e-7)
        for name in ("a", "b"):
            totals = []
            for accuracy in accuracies:
                if name == "a":
                    plan = theory.two_phase_a(1.0, share, parallel, accuracy, 0.9, gamma)
                    path = first_a(it, plan)
                else:
                    plan = theory.two_phase_b(1.0, share, accuracy, gamma)
                    path = rpgd_path(it, share, it.w0, [0.0] * plan.first)
                g, w = after(it, path)
                here = it.at(g0=g, w0=w)
                g, w = after(here, rpgd_path(here, g, w, [gamma] * plan.second))
                goal = math.sqrt(accuracy) if name == "a" else 2.5 * accuracy**2
                evidence.at_most("‖r‖ at the end", end(it, g, w)[1], goal, case=name)
                evidence.at_most("‖w⊥‖ at the end", abs(float(w[1])), accuracy, case=name)
                totals.append(plan.total)
            growth = np.diff(totals)
            even = abs(growth[1] - growth[0]) <= 2 + 1e-3 * growth[0]
            evidence.true("equal growth per decade", even, growth=growth, case=name)
            evidence.as_printed(even, growth=growth, case=name)


@check("sharp-complexities")
def sharp_complexities(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The steps needed against T1: in the limit ε → 0 (b) is exact to leading order; at a fixed
    ε not.
    """
    for _ in evidence.over(range(max(5, instances // 3))):
        share, q0 = float(rng.uniform(0.3, 0.95)), float(rng.uniform(0.3, 1.0))
        it = plain(share, angled(q0))
        for accuracy in (1e-2, 1e-60):
            needed = theory.steps_to_perp(q0, share, 1.0, accuracy).value
            bound = math.log(1 / accuracy**2) / math.log(1 / share**2)
            path = rpgd_path(it, share, it.w0, [0.0] * needed)
            evidence.at_most("needed is enough", abs(path[-1].w_next[1]), accuracy)
            evidence.at_most("and one less is not", accuracy, abs(path[-1].w[1]))
            evidence.as_printed(needed <= math.ceil(bound), needed=needed, T1=bound)
        ratio = theory.two_phase_b(1.0, share, 1e-60, 1.0).first / needed
        evidence.at_most("exact to leading order", ratio, 1.1, share=share, q0=q0)
    near = plain(0.999, angled(0.8))
    needed = theory.steps_to_perp(0.8, 0.999, 1.0, 0.01).value
    path = rpgd_path(near, 0.999, near.w0, [0.0] * needed)
    evidence.true("1521 steps", abs(path[-1].w_next[1]) <= 0.01 < abs(path[-1].w[1]))
    printed = math.log(1e4) / math.log(1 / 0.999**2)
    evidence.at_most("T1 is three times as long", 3.0, printed / needed)
