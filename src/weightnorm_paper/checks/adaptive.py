"""Checks of Appendix A: WN and rPGD as gradient descent with a penalty that adapts."""

from __future__ import annotations

import numpy as np

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import TAME, Rng, direction, make
from ..evidence.simulate import rpgd_step, wn_step


@check("adaptive-lambda")
def adaptive_lambda(evidence: Evidence, rng: Rng, instances: int) -> None:
    """x' = x − η_x(Aᵀr + 2λx) for both methods, the gradient of the penalty λ‖x‖²; the printed λ
    does not satisfy it.
    """
    for _ in evidence.over(range(instances)):
        it = make(rng, TAME)
        eta, gamma = 0.1 / (1 + it.g0**2), 0.05
        one = rpgd_step(it, it.g0, it.w0, eta, gamma)
        x, summary = it.g0 * it.w0, it.summary
        said = lemmas.adaptive_lambda_rpgd(it.g0, one.g_next, one.v_norm, eta)
        reached = one.g_next * one.w_next
        exact = x - said.value["step"] * (one.pull + 2 * said.value["penalty"] * x)
        evidence.equal("rPGD's x'", exact, reached, rtol=1e-9, **summary)
        printed = (it.g0 * one.v_norm - one.g_next) / (eta * it.g0**2 * one.g_next)
        size = abs(printed) + 1e-6
        evidence.equal("printed", said.value["printed"], printed, rtol=1e-9, atol=1e-9 * size)
        evidence.true("it applies", said.applies)
        as_printed = x - said.value["step"] * (one.pull + 2 * printed * x)
        evidence.as_printed(np.allclose(as_printed, reached, rtol=1e-6, atol=1e-9), **summary)
        norm = float(rng.choice([0.7, 1.0, 1.8]))
        two = wn_step(it, it.g0, norm * it.w0, eta, gamma)
        along = float(norm * it.w0 @ two.pull)
        said = lemmas.adaptive_lambda_wn(it.g0, two.g_next, norm, two.v_norm, along, eta)
        reached = two.g_next * two.w_next / two.v_norm
        exact = x - said.value["step"] * (two.pull + 2 * said.value["penalty"] * x)
        evidence.equal("WN's x'", exact, reached, rtol=1e-9, **summary)
        bracket = 1 - two.g_next * norm / (it.g0 * two.v_norm)
        bracket -= eta * two.g_next / two.v_norm * along / norm**2
        written = two.v_norm * norm / (two.g_next * it.g0) * bracket
        evidence.equal("as printed", said.value["printed"], written, rtol=1e-8, atol=1e-12)
        evidence.true("it applies", said.applies)
        as_printed = x - said.value["step"] * (two.pull + 2 * said.value["printed"] * x)
        evidence.as_printed(
            np.allclose(as_printed, reached, rtol=1e-6, atol=1e-9), method="WN", **summary
        )
    evidence.true("η > 0", not lemmas.adaptive_lambda_rpgd(1.0, 1.0, 2.0, -0.5).applies)
    evidence.true("η > 0", not lemmas.adaptive_lambda_wn(1.0, 1.0, 1.0, 1.0, 0.1, -0.5).applies)


@check("adaptive-lambda-sign")
def adaptive_lambda_sign(evidence: Evidence, rng: Rng, instances: int) -> None:
    """λ_t > 0 for a tiny scale step iff ‖A g w‖ < g*; λ_t → 0 near the solution."""
    for _ in evidence.over(range(instances)):
        it = make(rng, orthogonal=True)
        g = float(rng.choice([0.3, 0.9, 1.5, 3.0])) * it.gstar
        kind = str(rng.choice(["general", "row space", "nearly in the row space"]))
        w0 = direction(rng, it, kind)
        step = rpgd_step(it, g, w0, 1 / g**2, 1e-9)
        penalty = (step.g * step.v_norm - step.g_next) / (2 * step.g_next)  # at η = 1/g²
        said = lemmas.adaptive_lambda_sign(g, it.p(w0), it.gstar)
        summary = {"g": g, "g*": it.gstar, "parallel": it.p(w0), "penalty": penalty}
        room = g * step.v_norm - g
        evidence.equal("the room", said.value, room, rtol=1e-7, atol=1e-10 * it.gstar, **summary)
        if abs(g * it.p(w0) - it.gstar) > 1e-6 * it.gstar:
            evidence.true("the sign", (penalty > 0) == said.applies, **summary)
            evidence.as_printed(penalty > 0, within=g < it.gstar, **summary)
        close = rpgd_step(it, it.gstar, it.x / it.gstar, 1 / it.gstar**2, 0.1)
        evidence.true("λ → 0 at the solution", abs(close.v_norm - 1) < 1e-12, **summary)
        # one step from g' just under, and just over, g‖v‖
        for share in (0.99, 1.01):
            if room > 1e-6 * it.gstar:
                there = lemmas.adaptive_lambda_rpgd(g, g + share * room, step.v_norm, 1 / g**2)
                positive = there.value["penalty"] > 0
                evidence.true("positive up to g' = g‖v‖", positive == (share < 1), **summary)
    evidence.true("g > 0", not lemmas.adaptive_lambda_sign(-1.0, 0.5, 3.0).applies)
