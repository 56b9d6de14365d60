"""Checks of orders and trade-offs: how the phases of Theorem 3.2 grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weightnorm import theory

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import Rng, angled, plain
from ..evidence.simulate import after, rpgd_path, rpgd_step
from .phases import BUDGET, first_a, formula_a, formula_b

RANGES = ((1.0, 1.0, 0.1), (1.0, 0.0, 0.1), (1.0, 0.5, 1.0), (1.0, 0.5, 0.0))


@check("two-phase-a-order")
def two_phase_a_order(evidence: Evidence, rng: Rng, instances: int) -> None:
    """T1 within its order, attained as g0 → 0 and ρ → 1; T2 grows like (1/γ)·½log(1/ε)."""
    for _ in evidence.over(range(instances)):
        share, accuracy = float(rng.uniform(0.05, 0.97)), 10.0 ** float(rng.uniform(-6, -1))
        rho, gamma = float(rng.uniform(0.05, 0.95)), float(rng.choice([0.02, 0.25, 0.5]))
        unit = 10.0 ** float(rng.choice([-6, 0, 6]))
        it = plain(share * unit, [0.0, 1.0], y=unit)
        said = lemmas.two_phase_a_order(unit, it.g0, accuracy, rho, gamma)
        evidence.true("it applies", said.applies)
        first = formula_a(it, accuracy, rho)
        evidence.at_most("T1", first, said.value["first"], share=share, accuracy=accuracy)
        plan = theory.two_phase_a(unit, it.g0, 0.0, accuracy, rho, gamma)
        evidence.at_most("T2", plan.second - 1, said.value["second"], share=share)
        printed = math.log((rho * (1 - share**2)) ** 2 / accuracy) / gamma
        evidence.equal("T2's printed order", said.value["printed_second"], printed, rtol=1e-8)
        # as ε → 0 with the rest fixed both orders are a constant times log(1/ε)
        tiny = [theory.two_phase_a(1.0, share, 0.0, e, rho, gamma).second for e in (1e-50, 1e-150)]
        growth = (tiny[1] - tiny[0]) / (0.5 * math.log(1e100) / gamma)
        evidence.as_printed(0.99 < growth < 1.01, growth=growth)
        known = rho * (1 - share**2) >= math.sqrt(accuracy)
        fine = printed >= 0 and plan.first <= math.ceil(said.value["first"])
        evidence.as_printed(fine or not known, within=True)
        evidence.as_printed(printed > 0, within=False, printed=printed, accuracy=accuracy, rho=rho)
    tight = lemmas.two_phase_a_order(1.0, 1e-4, 1e-3, 1 - 1e-9).value["first"]
    attained = formula_a(plain(1e-4, [0.0, 1.0]), 1e-3, 1 - 1e-9)
    evidence.equal("T1, attained", tight, attained, rtol=1e-6)
    small = lemmas.two_phase_a_order(1.0, 1e-9, 0.5, 0.5, 1e-4).value["second"]
    behind = math.log((1 / math.sqrt(0.75) - 1e-9) / math.sqrt(0.5)) / 1e-4
    evidence.equal("T2, attained as g0 → 0", small, behind, rtol=1e-6)
    for wrong in RANGES:
        evidence.true("its ranges", not lemmas.two_phase_a_order(*wrong, 0.5).applies)
    for rho, gamma in ((0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, -1.0)):
        wrong_order = lemmas.two_phase_a_order(1.0, 0.5, 0.1, rho, gamma)
        evidence.true("its ranges", not wrong_order.applies)


@check("two-phase-a-step-order")
def two_phase_a_step_order(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The largest γ⁽¹⁾ that keeps g² ≤ g*² − ρδ0 for T1 steps, by bisection of plain runs."""
    for index in evidence.over(range(max(6, instances // 2))):
        tight = index % 2 == 0
        share = float(rng.uniform(0.99, 0.998)) if tight else float(rng.uniform(0.2, 0.9))
        rho, q0 = float(rng.uniform(0.9, 0.95)), 1e-3 if tight else float(rng.uniform(0.3, 1.0))
        accuracy = q0 * 10.0 ** float(rng.uniform(-2, -0.5))
        it = plain(share, angled(q0))
        said = lemmas.two_phase_a_step_order(1.0, share, float(it.w0[0]), accuracy, rho)
        count = max(2, round(formula_a(it, accuracy, rho)))
        if count > BUDGET:
            evidence.skip("T1 is beyond what is simulated")
            continue
        room = 1 - rho * (1 - share**2)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            g = after(it, rpgd_path(it, share, it.w0, [0.0, *[middle] * (count - 1)]))[0]
            low, high = (middle, high) if g**2 <= room else (low, middle)
        summary: dict[str, Any] = {"share": share, "rho": rho, "q0": q0, "largest": low}
        allowed = said.value["exact"] * formula_a(it, accuracy, rho) / count
        evidence.at_most("γ⁽¹⁾ is admissible", allowed, low, slack=1e-6, **summary)
        delta0, p0 = 1 - share**2, float(it.w0[0])
        growth = math.log((1 - rho) / share**2 + rho)
        written = rho * delta0 * share**2 * growth / ((1 + rho * delta0) * (1 - (share * p0) ** 2))
        written /= math.log((1 - p0**2) / accuracy**2)
        evidence.equal("written out", said.value["exact"], written, rtol=1e-6, **summary)
        evidence.true("it applies", said.applies)
        if tight:
            evidence.equal("all but the largest", allowed, low, rtol=0.06, **summary)
        printed = rho / math.log(1 / accuracy) * share**2 * math.log((1 - rho) / share + rho)
        evidence.equal("as printed", said.value["printed"], printed, rtol=1e-9)
        ratios = []
        for e in (1e-100, 1e-200):  # all but ε fixed: the same order
            value = lemmas.two_phase_a_step_order(1.0, share, float(it.w0[0]), e, rho).value
            ratios.append(value["exact"] / value["printed"])
        evidence.as_printed(abs(ratios[1] / ratios[0] - 1) < 0.02, **summary)
        evidence.as_printed(said.value["printed"] <= low * (1 + 1e-6), within=False, **summary)
    it = plain(0.999, [0.0, 1.0])  # all parameters at once: the printed order with constant 1
    count = math.ceil(formula_a(it, 0.1, 0.9))
    step = lemmas.two_phase_a_step_order(1.0, 0.999, 0.0, 0.1, 0.9).value["printed"]
    g = after(it, rpgd_path(it, 0.999, it.w0, [0.0, *[step] * (count - 1)]))[0]
    evidence.as_printed(g**2 <= 1 - 0.9 * (1 - 0.999**2), within=False, g=g)
    for wrong in RANGES:
        evidence.true("its ranges", not _order(wrong[0], wrong[1], 0.5, wrong[2], 0.5))
    for parallel, accuracy, rho in ((0.8, 0.7, 0.5), (0.5, 0.1, 0.0), (0.5, 0.1, 1.0)):
        evidence.true("its ranges", not _order(1.0, 0.5, parallel, accuracy, rho))


def _order(gstar: float, g0: float, parallel: float, accuracy: float, rho: float) -> bool:
    return lemmas.two_phase_a_step_order(gstar, g0, parallel, accuracy, rho).applies


@check("rho-tradeoff")
def rho_tradeoff(evidence: Evidence, rng: Rng, instances: int) -> None:
    """With ρ = ε the scale is left behind by a fixed share, so T2 is not O(1)."""
    for index in evidence.over(range(max(5, instances // 4))):
        share = 0.5 if index == 0 else float(rng.uniform(0.2, 0.55))
        it, lengths = plain(share, direction_at(0.6)), []
        for accuracy in (1e-2, 1e-3):
            plan = theory.two_phase_a(1.0, share, 0.6, accuracy, accuracy)
            said = lemmas.rho_tradeoff(1.0, share, accuracy, accuracy)
            g, w = after(it, first_a(it, plan))
            summary = {"share": share, "accuracy": accuracy, "T1": plan.first, "g": g}
            evidence.true("it applies", said.applies)
            evidence.at_most("the share left", said.value["leftover"], 1 - g, **summary)
            count = 0
            while np.sum((it.A @ (g * w) - it.y) ** 2) > accuracy:
                step = rpgd_step(it, g, w, 1 / g**2, 0.25)
                g, w, count = step.g_next, step.w_next, count + 1
            evidence.at_most("T2 needs", said.value["second"], count, **summary)
            lengths.append(count)
        evidence.as_printed(lengths[1] <= lengths[0], T2=lengths, share=share)
    # the leftover and the count are all but attained where the scale hardly moves, as g0 → 0
    it = plain(1e-3, [0.0, 1.0])
    for accuracy, gamma in ((1e-6, 0.25), (1e-8, 0.01)):
        value = lemmas.rho_tradeoff(1.0, 1e-3, accuracy, 0.5, gamma).value
        evidence.equal("the share left", value["leftover"], 1 - 1e-3, rtol=1e-4)
        g, w = 1e-3, np.array([math.sqrt(1 - accuracy**2), accuracy])
        count = 0
        while np.sum((it.A @ (g * w) - it.y) ** 2) > accuracy:
            step = rpgd_step(it, g, w, 1 / g**2, gamma)
            g, w, count = step.g_next, step.w_next, count + 1
        evidence.equal("T2 needs", value["second"], count, rtol=0.04, gamma=gamma)
    for share, rho in ((0.3, 0.05), (0.55, 0.4)):
        kappa = share**2 * math.log((1 - rho) / share**2 + rho) / (1 - share**2)
        left = 1 - share - kappa * max(1 - share, 0.5)
        value = lemmas.rho_tradeoff(1.0, share, 1e-4, rho).value
        evidence.equal("written out", value["leftover"], left, rtol=1e-9)
        for e in (1e-4, 0.03):
            value = lemmas.rho_tradeoff(7.0, 7.0 * share, e, rho).value
            goal = math.sqrt(e / (1 - e**2)) + 0.5 * e**2
            steps = max(0.0, math.log(left / goal) / math.log(4 / 3))
            evidence.equal("T2", value["second"], steps, rtol=1e-9, share=share, accuracy=e)
    late = lemmas.rho_tradeoff(1.0, 0.99, 0.5, 0.5).value
    evidence.true("nothing is known near g*", late["second"] == 0.0 == late["leftover"])
    for wrong in RANGES:
        evidence.true("its ranges", not lemmas.rho_tradeoff(*wrong, 0.5).applies)
    for rho, gamma in ((0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)):
        evidence.true("its ranges", not lemmas.rho_tradeoff(1.0, 0.5, 0.1, rho, gamma).applies)


def direction_at(parallel: float) -> np.ndarray:
    """The unit direction of `plain` with ‖Aw‖ = parallel."""
    return angled(math.sqrt(1 - parallel**2))


@check("two-phase-b-order")
def two_phase_b_order(evidence: Evidence, rng: Rng, instances: int) -> None:
    """T1 within its order, attained at g0² = g*²/2; the printed order is too short far below."""
    for _ in evidence.over(range(instances)):
        share = float(rng.choice([1e-4, 1e-2, 0.3, 1 / math.sqrt(2), 0.8, 0.95, 0.99]))
        accuracy = 10.0 ** float(rng.uniform(-8, -1))
        it = plain(share, [0.0, 1.0])
        needed = 0
        w, summary = it.w0, {"g0/g*": share, "accuracy": accuracy}
        while abs(w[1]) > accuracy:
            w, needed = rpgd_step(it, share, w, 1 / share**2, 0.0).w_next, needed + 1
        unit = 10.0 ** float(rng.choice([-6, 0, 6]))
        said = lemmas.two_phase_b_order(unit, unit * share, accuracy)
        first = formula_b(share, accuracy, 0.5)[0]
        evidence.at_most("T1", first, said.value["first"], **summary)
        evidence.at_most("the steps needed", needed, math.ceil(said.value["first"]), **summary)
        printed = share**2 / (1 - share**2) * math.log(1 / accuracy)
        evidence.equal("as printed", said.value["printed"], printed, rtol=1e-9, **summary)
        evidence.true("it applies", said.applies)
        within = share**2 >= 0.5
        fine = needed <= math.ceil(2 / math.log(2) * printed)
        evidence.as_printed(fine, within=within, needed=needed, printed=printed)
    half = math.sqrt(0.5)
    for accuracy in (1e-3, 1e-9):
        tight = lemmas.two_phase_b_order(1.0, half, accuracy).value["first"]
        evidence.equal("attained", tight, formula_b(half, accuracy, 0.5)[0], rtol=1e-9)
    near = lemmas.two_phase_b_order(1.0, 0.9999, 1e-3).value["first"]
    exact = formula_b(0.9999, 1e-3, 0.5)[0] / math.log(2)
    evidence.equal("near g*, up to 1/log 2", near, exact, rtol=1e-3)
    far = lemmas.two_phase_b_order(1.0, 0.01, 0.01).value["printed"]
    turned = rpgd_path(plain(0.01, [0.0, 1.0]), 0.01, np.array([0.0, 1.0]), [0.0])[0]
    needed = int(turned.w[1] > 0.01)  # one step, and it is enough
    evidence.true("one step is enough", turned.w_next[1] <= 0.01)
    evidence.as_printed(far >= needed, within=False, share=0.01, accuracy=0.01, printed=far)
    for wrong in RANGES:
        evidence.true("its ranges", not lemmas.two_phase_b_order(*wrong).applies)


@check("two-phase-b-second-order")
def two_phase_b_second_order(evidence: Evidence, rng: Rng, instances: int) -> None:
    """T2 within its bound, attained as γ → 0; the printed order is negative for a tiny δ0."""
    for _ in evidence.over(range(instances)):
        share = float(rng.choice([0.01, 0.5, 0.9, 0.99, 0.997]))
        accuracy, gamma = 10.0 ** float(rng.uniform(-6, -0.4)), float(rng.choice([0.01, 0.2, 0.9]))
        unit = 10.0 ** float(rng.choice([-6, 0, 6]))
        said = lemmas.two_phase_b_second_order(unit, unit * share, accuracy, gamma)
        second = formula_b(share, accuracy, gamma)[1]
        summary = {"share": share, "accuracy": accuracy, "gamma": gamma, "T2": second}
        evidence.at_most("T2", second, said.value["second"], **summary)
        order = math.log(1 + (1 - share**2) / accuracy**2)
        evidence.at_most("(4/3γ)·log(1 + δ0/(ε²g*²))", second, 4 / (3 * gamma) * order, **summary)
        printed = math.log(math.sqrt(1 - share**2) / accuracy) / gamma
        evidence.equal("as printed", said.value["printed"], printed, rtol=1e-9, **summary)
        evidence.true("it applies", said.applies)
        room = 1 - share**2 >= 2 * accuracy**2
        evidence.as_printed(second <= 16 / 3 * printed or not room, **summary)
        evidence.as_printed(printed > 0 or room, within=False, printed=printed, **summary)
        tight = lemmas.two_phase_b_second_order(1.0, share, accuracy, 1e-7).value["second"]
        slow = 1e-7 * (1 - accuracy**2)
        inside = (1 - (1 - accuracy**2) * share) / accuracy**2
        exact = math.log(inside) / -math.log1p(-slow)
        evidence.equal("attained as γ → 0", tight, exact, rtol=1e-5, **summary)
    near = lemmas.two_phase_b_second_order(1.0, 0.997, 0.1, 0.2).value["printed"]
    evidence.as_printed(near >= formula_b(0.997, 0.1, 0.2)[1], within=False, share=0.997)
    for wrong in ((1.0, 1.0, 0.1, 0.5), (1.0, 0.0, 0.1, 0.5), (1.0, 0.5, 0.5, 0.5),
                  (1.0, 0.5, 0.1, 1.1), (1.0, 0.5, -0.1, 0.5), (1.0, 0.5, 0.1, -0.1)):  # fmt: skip
        evidence.true("its ranges", not lemmas.two_phase_b_second_order(*wrong).applies)


@check("two-phase-b-gain")
def two_phase_b_gain(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The rate at which (b) really shrinks ‖w⊥‖², over the rate that (a) guarantees for ρ → 1."""
    for _ in evidence.over(range(instances)):
        share, unit = float(rng.uniform(0.05, 0.97)), 10.0 ** float(rng.choice([-6, 0, 6]))
        it = plain(share * unit, angled(1e-8), y=unit)
        step = rpgd_step(it, it.g0, it.w0, 1 / it.g0**2, 0.0)  # w⊥ shrinks by 1/‖v‖
        observed = 2 * math.log(step.v_norm) * (1 + 1 / (1 - share**2))
        said = lemmas.two_phase_b_gain(unit, it.g0)
        evidence.equal("the gain", said.value["exact"], observed, rtol=1e-8, share=share)
        evidence.equal("as printed", said.value["printed"], 1 / share**2, rtol=1e-9, share=share)
        valid = share**2 > 0.5
        evidence.true("where (b)'s order is valid", said.applies == valid, share=share)
        if valid:
            evidence.at_most("under 2 there", said.value["printed"], 2.0, share=share)
            ratio = observed / said.value["printed"]
            evidence.as_printed(ratio >= 1.0 - 1e-9, ratio=ratio)
    evidence.as_printed(2 * math.log(1 / 0.8) * (1 + 1 / 0.36) >= 1 / 0.64, share=0.8)
    evidence.true("its ranges", not lemmas.two_phase_b_gain(1.0, 1.2).applies)
    for share in (0.7, 0.72):  # g0² = g*²/2 is between
        said = lemmas.two_phase_b_gain(1.0, share)
        evidence.true("where (b)'s order is valid", said.applies == (share > 0.71), share=share)
