"""Checks of steps inside proofs."""

from __future__ import annotations

import math

import numpy as np

from weightnorm import theory

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import TAME, Rng, make
from ..evidence.simulate import flow_at, flow_end
from .flow import _euler
from .steps import walk


@check("proof-fixed-scale-maximum")
def fixed_scale_maximum(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Rest points with w = +Aᵀr/‖Aᵀr‖ (g0·s > 0) need not maximise the loss on the sphere; from
    w0⊥ ≠ 0 the flow does not end at one.
    """
    for index in evidence.over(range(max(5, instances // 2))):
        it = make(rng, ("general",), m=2, condition=float(rng.choice([5.0, 10.0])))
        weak = np.linalg.svd(it.A, full_matrices=False)[2]
        it = it.at(x=it.gstar * weak[1], g0=0.5 * it.gstar, c=0.0)
        against = -weak[1]
        pull = it.gradient(it.g0 * against)
        evidence.equal("a rest point", pull, (against @ pull) * against, rtol=1e-7)
        evidence.true("with g0·s > 0", it.g0 * float(against @ pull) > 0)
        here, there = it.loss(it.g0 * against), it.loss(it.g0 * weak[0])
        evidence.as_printed(here >= there, here=here, elsewhere=there)
        beside = against + 1e-3 * it.perp(it.w0)
        beside /= np.linalg.norm(beside)
        limit = theory.fixed_scale_limit(it.problem, it.g0, beside)
        end = flow_end(it.at(w0=beside), 1e-26)
        evidence.equal("where it ends", limit.weights, end.weights, rtol=1e-5, atol=1e-7)
        if index == 0:
            evidence.at_most("a lower loss", end.loss, here)


@check("proof-restart-derivative")
def restart_derivative(evidence: Evidence, rng: Rng, instances: int) -> None:
    """d(½‖r‖²)/dt = −c s² − g²‖PAᵀr‖², by central differences; printed −s²."""
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME, condition=2.0)
        said = lemmas.loss_rate(it.problem, it.g0, it.w0, it.c)
        h = 1e-5 / (1.0 + it.g0**2 + it.c)
        ahead, behind = (it.loss(_euler(it, it.g0, it.w0, it.c, t * h)) for t in (1.0, -1.0))
        rate = (ahead - behind) / (2 * h)
        atol = 1e-8 * (it.gstar**2 + it.g0**2) * (it.g0**2 + it.c)
        evidence.equal("the rate", said.value["exact"], rate, rtol=1e-6, atol=atol, **it.summary)
        s = float(it.w0 @ it.gradient(it.g0 * it.w0))
        evidence.equal("as printed", said.value["printed"], -(s**2), rtol=1e-9, atol=1e-15)
        evidence.as_printed(math.isclose(-(s**2), rate, rel_tol=1e-3, abs_tol=1e-9))
        evidence.true("a unit direction", said.applies)
        for norm in (0.9, 1.1):
            other = lemmas.loss_rate(it.problem, it.g0, norm * it.w0, it.c)
            evidence.true("another norm", not other.applies)


@check("proof-rate-missing-c")
def rate_missing_c(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g_t² = g0² + 2c log(‖w0⊥‖/‖w_t⊥‖); printed without c."""
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME, condition=2.0)
        c = max(it.c, 0.2 * it.gstar**2)
        g, w = flow_at(it.gradient, it.g0, it.w0, c, 0.7)
        q0, q = it.q(it.w0), it.q(w)
        kept = theory.invariant(q0, it.g0, c) - theory.invariant(q, 0.0, c)
        atol = 1e-7 * (it.g0**2 + it.gstar**2)
        evidence.equal("g_t²", 2 * c * kept, g**2, rtol=1e-7, atol=atol, **it.summary)
        printed = 2 * math.log(q0) + it.g0**2 - 2 * math.log(q)
        evidence.as_printed(math.isclose(printed, g**2, rel_tol=1e-6, abs_tol=atol), **it.summary)


@check("proof-step-bound")
def step_bound(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖v0‖² = 1 + (g*² − g0²p0²)/g0²; printed 1/(2‖v0‖²) ≥ 1/(2(1 + p0²))."""
    for _ in evidence.over(range(instances)):
        it, _, (step,) = walk(rng, 1, (0.1, 0.4, 0.9))
        said = lemmas.step_identities(step.g, step.g_next, it.p(step.w), it.y).value["v_norm"]
        evidence.equal("‖v0‖", said, step.v_norm, rtol=1e-9, **it.summary)
        p0 = it.p(it.w0)
        evidence.as_printed(0.5 / step.v_norm**2 >= 0.5 / (1 + p0**2), **it.summary)


@check("proof-inner-product")
def inner_product(evidence: Evidence, rng: Rng, instances: int) -> None:
    """⟨Agw, r⟩ = −½(g*² − ‖Agw‖² − ‖r‖²), and so g' as Lemma E.3 has it; printed without −½."""
    for _ in evidence.over(range(instances)):
        it, gamma, (step,) = walk(rng, 1)
        inner = float((it.A @ (step.g * step.w)) @ step.residual)
        residual = float(np.linalg.norm(step.residual))
        said = lemmas.scale_step(step.g, step.v_norm, residual, gamma).value["exact"]
        moved = (step.g - said) * step.g / gamma  # g·s = ⟨Agw, r⟩
        size = it.gstar**2 + step.g**2
        evidence.equal("⟨Agw, r⟩", moved, inner, rtol=1e-8, atol=1e-10 * size, **it.summary)
        printed = it.gstar**2 - (step.g * it.p(step.w)) ** 2 - residual**2
        evidence.equal("times −½", -0.5 * printed, inner, rtol=1e-8, atol=1e-10 * size)
        evidence.as_printed(math.isclose(printed, inner, rel_tol=1e-6, abs_tol=1e-9 * size))


@check("proof-random-tails")
def random_tails(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Pr(Σz² ≥ m + √(m log m)) by integrating the density of χ²; it is not O(1/m)."""
    for m in evidence.over((2, 5, 10, 50, 200, 1000, 2000, 5000, 20_000)):
        said = lemmas.random_tail(m).value
        low = m + math.sqrt(m * math.log(m))
        t = np.linspace(low, low + 60 * math.sqrt(2 * m) + 60, 200_001)
        log_density = (0.5 * m - 1) * np.log(t) - 0.5 * t - 0.5 * m * math.log(2)
        density = np.exp(log_density - math.lgamma(0.5 * m))
        step = float(t[1] - t[0])
        weights = np.full(t.size, 2.0)  # Simpson's rule
        weights[1:-1:2], weights[[0, -1]] = 4.0, 1.0
        tail = float(weights @ density) * step / 3.0
        evidence.equal("the tail", said["exact"], tail, rtol=1e-6, m=m)
        evidence.equal("1/m", said["printed"], 1 / m, rtol=1e-12, m=m)
        evidence.as_printed(tail <= 3 / m, tail=tail, m=m)
    draws = rng.chisquare(200, 40_000)
    share = float(np.mean(draws >= 200 + math.sqrt(200 * math.log(200))))
    evidence.equal("by drawing", lemmas.random_tail(200).value["exact"], share, rtol=0.1)
