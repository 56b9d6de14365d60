"""Checks of the flow: its equations, rest points, invariant and rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm._support.numeric import Array

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import OFF, TAME, Instance, Rng, angled, direction, make, plain
from ..evidence.simulate import (
    SLOPES,
    flow_at,
    flow_end,
    flow_path,
    gradient_of,
    rpgd_step,
    run_for_time,
    weights_at,
    wn_step,
)


@check("flow-steps")
def flow_steps(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Small steps with η for w and cη for g follow the flow with ratio c; swapped they do not."""
    for _ in evidence.over(range(max(5, instances // 2))):
        it = make(rng, TAME, condition=2.0)
        g, c, time = 0.6 * it.gstar, float(rng.choice([0.5, 2.0])), 0.5
        ends = []
        for eta in (4e-3, 2e-3):
            steps = lemmas.flow_step_sizes(eta, c).value
            evidence.equal("the direction's step", steps["direction_step"], eta, rtol=1e-12)
            ratio = steps["scale_step"] / steps["direction_step"]
            ends.append(run_for_time(it, rpgd_step, g, it.w0, eta, ratio, time))
        target = weights_at(it, g, it.w0, c, time)
        summary = it.summary | {"g0": g, "c": c, "time": time}
        evidence.equal(
            "2x(η/2) − x(η)",
            2 * ends[1] - ends[0],
            target,
            rtol=1e-4,
            atol=2e-5 * it.gstar,
            **summary,
        )
        swapped = run_for_time(it, rpgd_step, g, it.w0, c * 2e-3, 1.0 / c, time * c)
        off = np.linalg.norm(swapped - target) / np.linalg.norm(target)
        evidence.as_printed(off < 1e-2, off=off, **summary)


@check("flow-gradients")
def flow_gradients(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Against central differences of f(g, w) = ½‖A g w − y‖², quadratic in each of the two."""
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME)
        value = lemmas.gradients(it.problem, it.g0, it.w0).value
        axes, h = np.eye(it.w0.size), 1e-3
        by_w = np.array(
            [
                (it.loss(it.g0 * (it.w0 + h * axis)) - it.loss(it.g0 * (it.w0 - h * axis)))
                / (2 * h)
                for axis in axes
            ]
        )
        by_g = (it.loss((it.g0 + h) * it.w0) - it.loss((it.g0 - h) * it.w0)) / (2 * h)
        size = float(np.linalg.norm(by_w) + abs(by_g)) + 1e-3
        evidence.equal("∇_w", value["w"], by_w, rtol=1e-8, atol=1e-9 * size, **it.summary)
        evidence.equal("∇_g", value["g"], by_g, rtol=1e-8, atol=1e-9 * size, **it.summary)
        printed = -it.gradient(it.g0 * it.w0)
        evidence.as_printed(np.allclose(printed, by_w, rtol=1e-4, atol=1e-6), **it.summary)


@check("flow-limit-of-algorithms")
def flow_limit_of_algorithms(evidence: Evidence, rng: Rng, instances: int) -> None:
    """One tiny step of WN and of rPGD is the field; over a fixed time both tend to the flow."""
    for index in evidence.over(range(instances)):
        it = make(rng, TAME, condition=2.0)
        said = lemmas.flow_field(it.problem, it.g0, it.w0, it.c)
        evidence.true("a unit direction is one", said.applies, **it.summary)
        for norm in (0.9, 1.1):
            other = lemmas.flow_field(it.problem, it.g0, norm * it.w0, it.c)
            evidence.true("another norm is refused", not other.applies, **it.summary)
        field, size = said.value, float(np.linalg.norm(said.value["w"])) + abs(said.value["g"])
        eta = 1e-4 / (1.0 + it.g0**2 + it.c)
        for step in (rpgd_step, wn_step):
            forth, back = (step(it, it.g0, it.w0, t * eta, t * it.c * eta) for t in (1.0, -1.0))
            ahead, behind = (s.w_next / np.linalg.norm(s.w_next) for s in (forth, back))
            moved = (ahead - behind) / (2 * eta)
            grown = (forth.g_next - back.g_next) / (2 * eta)
            atol = 1e-7 * (size + 1e-3)
            evidence.equal("ẇ", field["w"], moved, rtol=1e-6, atol=atol, **it.summary)
            evidence.equal("ġ", field["g"], grown, rtol=1e-6, atol=atol, **it.summary)
        if index < max(2, instances // 12):
            g, c, time = 0.7 * it.gstar, 1.0, 0.5
            target = weights_at(it, g, it.w0, c, time)
            for step in (rpgd_step, wn_step):
                errors = [
                    np.linalg.norm(run_for_time(it, step, g, it.w0, eta, c, time) - target)
                    for eta in (4e-3, 2e-3)
                ]
                order = np.log2(errors[0] / errors[1])
                evidence.as_printed(0.85 < order < 1.15, order=order, **it.summary)
                evidence.true("the error is O(η)", 0.85 < order < 1.15, order=order, **it.summary)


def _in_s(it: Instance) -> Array:
    """A unit direction orthogonal to Aᵀy."""
    pull = it.A.T @ it.y
    w = it.w0
    for _ in range(2):  # twice: what rounding leaves of Aᵀy is then negligible
        w = w - (w @ pull) / (pull @ pull) * pull
        w = w / np.linalg.norm(w)
    return np.asarray(w)


@check("stationary")
def stationary(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Rest points are solutions or in S, where the loss is ½‖y‖²; everything else moves."""
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME)
        it = it.at(x=10.0 ** float(rng.choice([-6, 0, 6])) * it.x)
        problem, half = it.problem, 0.5 * float(it.y @ it.y)
        w = _in_s(it)
        spurious = lemmas.stationary_point(problem, 0.0, w).value
        step = rpgd_step(it, 0.0, w, 1e-3, 1.0)
        size = float(np.linalg.norm(it.A.T @ it.y))
        still = abs(step.g_next) <= 1e-12 * size and np.abs(step.w_next - w).max() <= 1e-12
        evidence.true("S is recognised", spurious["kind"] == "spurious", **it.summary)
        evidence.equal("the loss on S", spurious["loss"], it.loss(0.0 * w), rtol=1e-12)
        evidence.true("nothing moves on S", still, **it.summary)
        evidence.true("S is not excluded", not spurious["excluded_from_s"], **it.summary)
        evidence.as_printed(still, **it.summary)
        # beside S, at g = 0 and off it, the flow moves
        tilted = w + 1e-3 * it.x / it.gstar
        tilted /= np.linalg.norm(tilted)
        back = w - 1e-3 * it.x / it.gstar
        back /= np.linalg.norm(back)
        for g, at in ((0.0, tilted), (0.0, back), (0.3 * it.gstar, w), (it.g0, it.w0)):
            here = lemmas.stationary_point(problem, g, at).value
            s, pull = float(at @ it.gradient(g * at)), it.gradient(g * at)
            speed = abs(s) + abs(g) * np.linalg.norm(pull - s * at)
            moves = speed > 1e-9 * np.linalg.norm(it.A.T @ it.y)
            evidence.true("it moves iff said so", (here["kind"] == "moving") == moves, g=g)
            evidence.equal(
                "the loss there", here["loss"], it.loss(g * at), rtol=1e-9, atol=1e-12 * half
            )
            if g == 0.0 or abs(it.loss(g * at) - half) > 1e-9 * half:
                evidence.true("excluded", here["excluded_from_s"] == (it.loss(g * at) < half))
        kinds = [
            lemmas.stationary_point(problem, g, w).value["kind"]
            for g, w in ((it.gstar, it.x), (-it.gstar, -it.x), (1.0001 * it.gstar, it.x))
        ]
        evidence.true("a solution is one", kinds == ["solution", "solution", "moving"])
    zero = make(rng).at(x=np.zeros(3), A=np.eye(2, 3), w0=np.eye(3)[0])
    evidence.true("y = 0", not lemmas.stationary_point(zero.problem, 1.0, zero.w0).applies)
    evidence.true("y ≠ 0", lemmas.stationary_point(plain(1.0, [0, 1]).problem, 1.0, [0, 1]).applies)


@check("stationary-limit-point")
def stationary_limit_point(evidence: Evidence, rng: Rng, instances: int) -> None:
    """m = 1, F0 = 1 and g0·w0ᵀx* < 0: the flow ends in one point of S, (0, w0⊥/‖w0⊥‖)."""
    for _ in evidence.over(range(max(5, instances // 2))):
        g0 = float(rng.choice([-1.0, 1.0])) * float(rng.uniform(0.3, 1.2))
        c = g0**2 * float(rng.uniform(0.6, 3.0))
        q0 = float(np.exp(-(g0**2) / (2 * c)))
        w0 = np.array([-np.sign(g0), 1.0]) * angled(q0)
        it = plain(g0, w0, c=c)
        said = theory.flow_outcome(it.problem, g0, w0, c)
        # Near S distances grow like e^{√c·t}; from rounding, 1e-16, the orbit stays near for long
        g, w = min(
            flow_path(it, g0, w0, c, np.linspace(1.0, 12.0, 45) / c**0.5),
            key=lambda end: abs(end[0]) + abs(end[1][0]),
        )
        summary = it.summary | {"g": g}
        evidence.equal("the loss in S", said.value, it.loss(g * w), rtol=1e-4, **summary)
        evidence.true("rounding decides, and it says so", not said.applies, **summary)
        evidence.equal("g → 0", 0.0, g, rtol=0.0, atol=1e-4, **summary)
        evidence.equal("w → w0⊥/‖w0⊥‖", [0.0, 1.0], w, rtol=1e-4, **summary)
        evidence.as_printed(abs(g) < 1e-4 and abs(w[0]) < 1e-4, **summary)
        for factor in (0.999, 1.001):  # to either side of the stable set the loss goes to zero
            beside = it.at(c=factor * c)
            there = theory.flow_outcome(beside.problem, g0, w0, beside.c)
            end = flow_end(beside, 1e-18)
            evidence.equal("beside it", there.value, end.loss, rtol=0.0, atol=1e-12, **summary)
            evidence.true("beside it, for sure", there.applies, **summary)
        aligned = it.at(w0=w0 * [-1.0, 1.0])  # F0 = 1 as well, but g0·w0ᵀx* > 0
        there = theory.flow_outcome(it.problem, g0, aligned.w0, c)
        evidence.equal("aligned", there.value, flow_end(aligned, 1e-18).loss, rtol=0.0, atol=1e-12)
        evidence.true("aligned, for sure", there.applies, **summary)
        evidence.true(
            "the point is in S",
            lemmas.stationary_point(it.problem, 0.0, [0.0, 1.0]).value["kind"] == "spurious",
        )


@check("loss-rate")
def loss_rate(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The derivative of the loss along the flow, by central differences; tight where g² = c, and
    where all or nothing of Aᵀr is along w.
    """
    for index in evidence.over(range(instances)):
        it = make(rng, TAME, m=1 if index % 4 == 1 else None)
        c = it.g0**2 if index % 4 == 0 else it.c
        w0 = it.x / it.gstar if index % 4 == 1 else it.w0
        bounds = lemmas.loss_rate_bounds(it.problem, it.g0, w0, c)
        h = 1e-5 / (1.0 + it.g0**2 + c)
        ahead, behind = (it.loss(_euler(it, it.g0, w0, c, t * h)) for t in (1.0, -1.0))
        rate = (ahead - behind) / (2 * h)
        noise = 1e-7 * abs(bounds.lower) + 1e-9
        evidence.at_most("d loss/dt ≤ upper", -bounds.upper, -rate + noise, **it.summary)
        evidence.at_most("lower ≤ d loss/dt", -rate, -bounds.lower + noise, **it.summary)
        evidence.as_printed(bounds.lower - noise <= rate <= bounds.upper + noise, **it.summary)
        if index % 4 == 0:
            evidence.equal("g² = c", bounds.upper, rate, rtol=1e-6, atol=noise, **it.summary)
            evidence.equal("g² = c", bounds.lower, rate, rtol=1e-6, atol=noise, **it.summary)
        if index % 4 == 1:  # Aᵀr is along w: the rate is c‖Aᵀr‖², one of the two bounds
            touched = bounds.upper if c < it.g0**2 else bounds.lower
            evidence.equal("Aᵀr along w", touched, rate, rtol=1e-6, atol=noise, **it.summary)
        said = lemmas.loss_rate(it.problem, it.g0, w0, c)
        evidence.equal("exactly", said.value["exact"], rate, rtol=1e-6, atol=noise, **it.summary)
        evidence.true("a unit direction", said.applies)
    across = plain(0.7, [0.0, 1.0], c=2.0)  # Aᵀr across w: the rate is g²‖Aᵀr‖²
    bounds = lemmas.loss_rate_bounds(across.problem, 0.7, across.w0, 2.0)
    evidence.equal("Aᵀr across w", bounds.upper, -0.49, rtol=1e-12)
    evidence.equal("Aᵀr across w", bounds.lower, -2.0, rtol=1e-12)


def _euler(it: Instance, g: float, w: Array, c: float, h: float) -> Array:
    pull = it.gradient(g * w)
    s = w @ pull
    moved = w - h * g * (pull - s * w)
    return np.asarray((g - h * c * s) * moved / np.linalg.norm(moved))


@check("loss-geometric")
def loss_geometric(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖r_t‖² stays under its envelope; on it for m = 1, w0 = w* and g² ≥ c. Without λmin not."""
    for index in evidence.over(range(max(5, instances // 2))):
        tight = index % 3 == 0
        it = make(rng, TAME, m=1 if tight else 2, condition=3.0)
        if tight:
            factor = float(rng.choice([0.1, 0.7]))
            it = it.at(A=factor * it.A, w0=it.x / it.gstar, g0=3.0 * it.gstar, c=it.gstar**2)
        else:
            it = it.at(g0=2.0 * it.gstar, c=max(it.c, 0.2))
        start, smallest = it.loss(it.g0 * it.w0), float(it.lam.min())
        bound, summary = it.gstar, it.summary | {"smallest_eigenvalue": smallest}
        for time in np.array([0.5, 2.0]) / (smallest * min(bound**2, it.c)):
            g, w = flow_at(it.gradient, it.g0, it.w0, it.c, time)
            share = it.loss(g * w / np.linalg.norm(w)) / start
            low = bound if tight else min(abs(g), it.gstar)
            said = float(lemmas.loss_envelope(time, low, it.c, smallest))
            if tight:  # |g| ≥ g*, g*² = c: the rate is λmin·c exactly
                evidence.equal("the envelope, attained", said, share, rtol=1e-5, **summary)
            else:
                evidence.at_most("‖r‖² over its envelope", share, said, slack=1e-6, **summary)
            printed = np.exp(-min(low**2, it.c) * time)
            evidence.as_printed(share <= printed * (1 + 1e-6), time=time, **summary)
    slow = plain(0.5, [0.0, 1.0], c=4.0)  # C² < c: the rate is λmin·C² where Aᵀr is across w
    g, w = flow_at(slow.gradient, 0.5, slow.w0, 4.0, 1e-3)
    share = slow.loss(g * w / np.linalg.norm(w)) / slow.loss(0.5 * slow.w0)
    said = float(lemmas.loss_envelope(1e-3, 0.5, 4.0, 1.0))
    evidence.equal("the rate at C² < c", np.log(said), np.log(share), rtol=1e-2)


@check("invariant")
def invariant(evidence: Evidence, rng: Rng, instances: int) -> None:
    """w_t⊥ against a flow integrated in d dimensions."""
    for _ in evidence.over(range(instances)):
        it = make(rng, OFF, condition=2.0)
        c = max(it.c, 0.2)
        g, w = flow_at(it.gradient, it.g0, it.w0, c, 0.7)
        before, later = it.perp(it.w0), it.perp(w)
        factor = lemmas.perp_factor(it.g0, g, c)
        evidence.equal("w_t⊥", factor * before, later, rtol=1e-7, atol=1e-13, **it.summary)
        evidence.as_printed(np.allclose(factor * before, later, rtol=1e-6, atol=1e-12))


@check("invariant-norm")
def invariant_norm(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖w⊥‖² exp(g²/c) at the start and later; the printed exp(g²/2c) changes."""
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME, condition=2.0)
        c = max(it.c, 0.2 * it.gstar**2)
        g, w = flow_at(it.gradient, it.g0, it.w0, c, 0.7)
        q0, q = it.q(it.w0), it.q(w)
        both = theory.invariant(q0, it.g0, c), theory.invariant(q, g, c)
        start, later = np.exp(2.0 * np.array(both))
        evidence.equal("kept", start, later, rtol=1e-6, **it.summary)
        evidence.equal("‖w⊥‖² exp(g²/c)", later, q**2 * np.exp(g**2 / c), rtol=1e-9, **it.summary)
        printed = q0**2 * np.exp(it.g0**2 / (2 * c)), q**2 * np.exp(g**2 / (2 * c))
        evidence.as_printed(np.isclose(*printed, rtol=1e-6), **it.summary)


@check("flow-dichotomy")
def flow_dichotomy(evidence: Evidence, rng: Rng, instances: int) -> None:
    """c > 0 ends at zero loss, or stays in S; c = 0 ends elsewhere."""
    for index in evidence.over(range(max(5, instances // 2))):
        it = make(rng)
        said = theory.flow_outcome(it.problem, it.g0, it.w0, it.c)
        end = flow_end(it, 1e-14 * float(it.y @ it.y))
        evidence.equal(
            "the loss at c > 0", said.value, end.loss, rtol=0.0, atol=1e-12 * it.gstar**2
        )
        evidence.true("c > 0", said.applies, **it.summary)
        evidence.as_printed(end.loss < 1e-10 * it.gstar**2, **it.summary)
        rest = _in_s(it)
        resting = theory.flow_outcome(it.problem, 0.0, rest, it.c)
        evidence.equal("the loss in S", resting.value, it.loss(0.0 * rest), rtol=1e-12)
        fixed = make(rng, ("general",), orthogonal=index % 2 == 0)
        for share in (0.4, -0.7, 1.4, -1.4):
            here = fixed.at(g0=share * fixed.gstar, c=0.0)
            frozen = flow_end(here, 1e-20)
            predicted = theory.flow_outcome(here.problem, here.g0, here.w0, 0.0)
            summary = here.summary | {"loss": frozen.loss}
            atol = 1e-10 * fixed.gstar**2
            evidence.equal(
                "the loss at c = 0", predicted.value, frozen.loss, rtol=1e-6, atol=atol, **summary
            )
            evidence.true("c = 0 is outside", not predicted.applies, **summary)
            if index % 2 == 0:
                known = 0.5 * max(0.0, fixed.gstar - abs(here.g0)) ** 2
                evidence.equal("½((g* − |g0|)₊)²", known, frozen.loss, rtol=1e-6, atol=atol)
            evidence.as_printed(frozen.loss < 1e-8, within=False, **summary)
        still = theory.flow_outcome(fixed.problem, 0.0, fixed.w0, 0.0)
        evidence.equal("g0 = 0, c = 0", still.value, 0.5 * float(fixed.y @ fixed.y), rtol=1e-12)


@check("convergence-time")
def convergence_time(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The loss at the time promised; attained for m = 1 and w0 = w* with a larger scale, and all
    but attained at the start for a tiny time.
    """
    for index in evidence.over(range(max(8, instances // 2))):
        tight = index % 2 == 0
        it = make(rng, TAME, m=1 if tight else 2, condition=3.0)
        if tight:
            # m = 1, w along x*: g moves alone, at the rate c·λ, and c < C²
            it = it.at(A=float(rng.choice([0.5, 3.0])) * it.A)
            it = it.at(w0=it.x / it.gstar, g0=float(rng.choice([0.7, 1.4])) * it.gstar)
            reach = (it.gstar - abs(it.gstar - it.g0)) ** 2
            it = it.at(c=0.5 * reach)
        else:
            it = it.at(g0=max(abs(it.g0), it.gstar), c=0.3 * it.gstar**2)
        start = it.loss(it.g0 * it.w0)
        accuracy = 1e-2 * start
        said = theory.convergence_time(it.problem, it.g0, it.w0, it.c, accuracy)
        value, summary = said.value, it.summary | {"time": said.value["time"]}
        log_f0 = 2 * np.log(it.q(it.w0)) + it.g0**2 / it.c
        known = tight or log_f0 > 0 or start < it.loss(0.0 * it.w0)
        evidence.true("a bound iff one is known", said.applies == known, **summary)
        if not known:
            continue
        loss = it.loss(weights_at(it, it.g0, it.w0, it.c, value["time"]))
        if tight:
            evidence.equal("attained", accuracy, loss, rtol=1e-6, **summary)
            low = (np.linalg.norm(it.y) - np.sqrt(2 * start)) / np.sqrt(it.lam.max())
            evidence.equal("C", value["scale_bound"], low, rtol=1e-9, **summary)
        else:
            evidence.at_most("the loss after it", loss, accuracy, slack=1e-6, **summary)
            if log_f0 > 0:
                rate = it.lam.min() * min(it.c * log_f0, it.c)
                evidence.equal("T0", value["printed"], np.log(100.0) / rate, rtol=1e-9, **summary)
                later = it.loss(weights_at(it, it.g0, it.w0, it.c, value["printed"]))
                evidence.as_printed(later <= accuracy, **summary)
    # C² = c·log F0 < c: nearly attained as w∥ → 0, where log F0 → g0²/c and Aᵀr is across w
    it = plain(0.1, angled(1 - 1e-13), c=1.0)
    start = it.loss(it.g0 * it.w0)
    said = theory.convergence_time(it.problem, 0.1, it.w0, 1.0, start * np.exp(-2e-4))
    loss = it.loss(weights_at(it, 0.1, it.w0, 1.0, said.value["time"]))
    evidence.equal("C² = c·log F0", np.log(loss / start), -2e-4, rtol=0.05)
    evidence.as_printed(loss <= start * np.exp(-2e-4) * (1 + 1e-6))
    wide = make(rng, ("general",), m=3, condition=4.0)  # C by λmax, written out
    wide = wide.at(A=2.0 * wide.A, g0=0.8 * wide.gstar, w0=wide.x / wide.gstar, c=1e-3)
    r0 = wide.A @ (wide.g0 * wide.w0) - wide.y
    reach = float(np.linalg.norm(wide.y) - np.linalg.norm(r0))
    said = theory.convergence_time(wide.problem, wide.g0, wide.w0, wide.c, 1e-6)
    bound = reach / float(np.sqrt(wide.lam.max()))
    evidence.equal("C", said.value["scale_bound"], bound, rtol=1e-9)
    slow = plain(1.0, angled(0.8), c=1.5)  # 0 < log F0 < 1, written out
    rate = 1.5 * (2 * np.log(0.8) + 1 / 1.5)
    said = theory.convergence_time(slow.problem, 1.0, slow.w0, 1.5, 1e-3)
    known = np.log(slow.loss(slow.w0) / 1e-3) / rate
    evidence.equal("T0", said.value["printed"], known, rtol=1e-9)
    none = theory.convergence_time(plain(0.1, [-1.0, 0.0]).problem, 0.1, [-1.0, 0.0], 1.0, 1e-3)
    evidence.true("no bound", not none.applies and none.value["time"] == np.inf)
    done = theory.convergence_time(it.problem, 1.5, [1.0, 0.0], 1.0, 2.0)
    evidence.true("a start within the accuracy", done.value["time"] == 0.0)


@check("general-loss-invariant")
def general_loss_invariant(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Every loss, and ‖w0‖ ≠ 1, integrated in d dimensions; gradient flow is c = 1."""
    for index in evidence.over(range(instances)):
        it = make(rng, ("general",), condition=2.0)
        loss = tuple(SLOPES)[index % len(SLOPES)]
        targets = rng.choice([0.0, 1.0], len(it.y)) if loss in ("logistic", "poisson") else it.y
        norm, c = float(rng.choice([0.5, 1.0, 2.0])), float(rng.choice([0.3, 1.0, 5.0]))
        g0 = float(rng.choice([-1.0, 0.5, 2.0]))
        w0 = norm * direction(rng, it)
        summary: dict[str, Any] = {"loss": loss, "g0": g0, "c": c, "norm": norm}
        for ratio in (c, 1.0):
            g, w = flow_at(gradient_of(loss, it.A, targets), g0, w0, ratio, 1.0)
            factor = lemmas.perp_factor(g0, g, ratio, norm)
            before, later = it.perp(w0), it.perp(w)
            evidence.equal("w_t⊥", factor * before, later, rtol=1e-7, atol=1e-13, **summary)
        printed = np.exp((g0**2 - g**2) / (2 * norm**2)) * before
        evidence.as_printed(np.allclose(printed, later, rtol=1e-6), **summary)
