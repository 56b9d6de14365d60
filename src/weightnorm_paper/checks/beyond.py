"""Checks of what goes beyond the paper: finite steps, other convex losses, separable classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm._support.numeric import Array
from weightnorm.problems import GeneralizedLinear

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import OFF, Rng, make, plain
from ..evidence.simulate import (
    Step,
    flow_at,
    gradient_of,
    nearest_in_hull,
    rpgd_step,
    run_until,
    wn_step,
)

LOSSES = ("logistic", "poisson", "huber")


@check("discrete-wn")
def discrete_wn(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖w'‖² and w⊥' of a WN step."""
    for _ in evidence.over(range(instances)):
        it = make(rng)
        w = float(rng.choice([0.5, 1.0, 3.0])) * it.w0
        eta = float(rng.choice([0.01, 0.3]))
        step = wn_step(it, it.g0, w, eta, 0.1)
        said = lemmas.wn_step(it.g0, w, step.pull, eta).value
        square = float(step.w_next @ step.w_next)
        evidence.equal("‖w'‖²", said["square"], square, rtol=1e-10, **it.summary)
        before, later = it.perp(w), it.perp(step.w_next)
        evidence.equal("w⊥'", said["perp_factor"] * before, later, rtol=1e-7, atol=1e-12)


@check("discrete-rpgd")
def discrete_rpgd(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖v‖, w⊥' and whether it grows, for an rPGD step."""
    for _ in evidence.over(range(instances)):
        it = make(rng, OFF)
        eta = float(rng.choice([0.01, 0.3, 2.0]))
        step = rpgd_step(it, it.g0, it.w0, eta, 0.1)
        said = lemmas.rpgd_step(it.g0, it.w0, step.pull, eta)
        value = said.value
        evidence.equal("‖v‖", value["v_norm"], step.v_norm, rtol=1e-9, **it.summary)
        before, later = it.perp(it.w0), it.perp(step.w_next)
        evidence.equal("w⊥'", value["perp_factor"] * before, later, rtol=1e-7, atol=1e-12)
        if abs(step.v_norm - 1) > 1e-9:
            evidence.true("whether w⊥ grows", value["perp_grows"] == (step.v_norm < 1))
            r, y = step.residual, it.y
            seen = (r + y) @ (r + y) - y @ y + r @ r > eta * it.g0**2 * float(step.pull @ step.pull)
            evidence.true("in the data's terms", value["perp_grows"] == seen, **it.summary)
        evidence.true("a unit direction", said.applies)
        for norm in (0.9, 1.1):
            other = lemmas.rpgd_step(it.g0, norm * it.w0, step.pull, eta)
            evidence.true("another norm", not other.applies)
        turn = 2 * float(it.w0 @ step.pull) / (it.g0 * float(step.pull @ step.pull))  # ‖v‖ = 1
        for edge in (0.98 * turn, 1.02 * turn) if turn > 1e-6 else ():
            grows = lemmas.rpgd_step(it.g0, it.w0, step.pull, edge).value["perp_grows"]
            v_norm = rpgd_step(it, it.g0, it.w0, edge, 0.1).v_norm
            evidence.true("on either side of ‖v‖ = 1", grows == (v_norm < 1), **it.summary)


@check("invariant-drift")
def invariant_drift(evidence: Evidence, rng: Rng, instances: int) -> None:
    """ΔI/η² of one step as η → 0, and the finite-step limit: its error is second order."""
    for index in evidence.over(range(instances)):
        it = make(rng, ("general",), condition=2.0)
        pull = it.gradient(it.g0 * it.w0)
        s = float(it.w0 @ pull)
        across = float(np.sum((pull - s * it.w0) ** 2))
        for name, step in (("rpgd", rpgd_step), ("wn", wn_step)):
            predicted = float(theory.invariant_drift(name, it.g0, s, across, it.c))

            def change(eta: float, step: Any = step, it: Any = it) -> float:
                moved = step(it, it.g0, it.w0, eta, it.c * eta)
                ratio = it.q(moved.w_next) / np.linalg.norm(moved.w_next) / it.q(it.w0)
                return float((np.log(ratio) + (moved.g_next**2 - it.g0**2) / (2 * it.c)) / eta**2)

            size = abs(it.c) * s * s + it.g0**2 * (s * s + across)
            eta = 2e-3 / (1.0 + (it.g0**2 + it.c) * (1.0 + abs(s)))
            # Richardson: the η and η² terms cancel
            observed = (8 * change(eta / 4) - 6 * change(eta / 2) + change(eta)) / 3
            rounding = 4e-16 * (1.0 + it.g0**2 / it.c) / (eta / 4) ** 2
            atol = 2e-4 * size + rounding
            evidence.equal("ΔI/η²", predicted, observed, rtol=1e-4, atol=atol, **it.summary)
        if index < max(2, instances // 8):
            _finite_step(evidence, rng)
    for sign, c, largest in ((1.0, 0.5, 4.0), (-1.0, 0.5, 4.0), (1.0, 9.0, 9.0)):
        # |g| falls from 2 to less, λmax = 9: η·max(g0², c)·λmax on either side of 0.4
        it = plain(2.0 * sign, [0.8 * sign, 0.6], c=c)
        it = it.at(A=np.array([[3.0, 0, 0], [0, 1, 0]]), x=np.array([1.0, 0, 0]))
        it = it.at(w0=np.array([0.8 * sign, 0.1, np.sqrt(0.35)]))
        for share in (0.95, 1.05):
            eta = 0.4 * share / (largest * 9.0)
            said = theory.finite_step_limit(it.problem, it.g0, it.w0, "rpgd", eta, c)
            evidence.true("within the stable range", said.applies == (share < 1), sign=sign, c=c)
            evidence.equal("equivalent step", said.equivalent_step, 0.4 * share, rtol=1e-6)


def _finite_step(evidence: Evidence, rng: Rng) -> None:
    """Halving the step quarters the error of the prediction, and the error stays within its
    estimate.
    """
    it = make(rng, ("general",), condition=1.5)
    it = it.at(g0=0.9 * it.gstar, c=0.3 * it.gstar**2)
    rules: tuple[tuple[str, Callable[..., Step]], ...] = (("rpgd", rpgd_step), ("wn", wn_step))
    for name, step in rules:
        errors, estimates, predicted, observed = [], [], [], []
        for eta in (0.02 / it.gstar**2, 0.01 / it.gstar**2):
            said = theory.finite_step_limit(it.problem, it.g0, it.w0, name, eta, it.c)
            end = run_until(it, step, eta, it.c * eta)
            norm = float(np.linalg.norm(end))
            errors.append(abs(said.norm - norm))
            evidence.true("it applies", said.applies, **it.summary)
            evidence.at_most("the error", errors[-1], said.error, **it.summary)
            estimates.append(said.error)
            evidence.equal("‖x⊥‖", said.perp_norm, it.q(end), rtol=2e-3, **it.summary)
            evidence.equal("‖x − x*‖", said.distance, it.q(end), rtol=2e-3, **it.summary)
            evidence.equal("x", said.weights, end, rtol=2e-3, **it.summary)
            evidence.equal("g", abs(said.scale), norm, rtol=2e-3, **it.summary)
            # I at the end less I at the start, in the run itself
            drift = np.log(it.q(end) / norm / it.q(it.w0)) + (norm**2 - it.g0**2) / (2 * it.c)
            predicted.append(said.drift)
            observed.append(float(drift))
        evidence.at_most("an honest estimate", estimates[0], 1000 * max(errors) + 1e-9)
        evidence.equal("second order, too", estimates[1], estimates[0] / 4, rtol=0.1)
        # the first order of the drift, by Richardson
        known, seen = (4 * two - one for one, two in (predicted, observed))
        evidence.equal("the drift", known, seen, rtol=0.02, atol=1e-5, **it.summary)
        tiny = theory.finite_step_limit(it.problem, it.g0, it.w0, name, 1e-14 / it.gstar**2, it.c)
        evidence.at_most("no better than a run stops", 0.99e-11 * tiny.norm, tiny.error)
        order = float(np.log2(errors[0] / errors[1])) if errors[1] > 1e-12 else 2.0
        evidence.true("second order", 1.6 < order < 2.4, order=order, **it.summary)


@check("glm-limit")
def glm_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Logistic (classes that overlap), Poisson and Huber: flows integrated in d dimensions."""
    for index in evidence.over(range(max(6, instances // 4))):
        loss = LOSSES[index % len(LOSSES)]
        A = np.linalg.qr(rng.standard_normal((12, 3)))[0] @ rng.standard_normal((3, 6))
        targets = {
            "logistic": np.concatenate([[0.0, 1.0], np.zeros(5), np.ones(5)]),
            "poisson": rng.poisson(2.0, 12) + (np.arange(12) == 0),
            "huber": 1.5 * rng.standard_normal(12),
        }[loss].astype(float)
        if loss == "logistic":  # the first row in both classes: nothing separates them
            A[1] = A[0]
        problem = GeneralizedLinear(A, targets, loss)
        g0, c = float(rng.choice([-1.0, 0.3, 1.0, 2.0])), float(rng.choice([0.3, 1.0, 3.0]))
        w0 = rng.standard_normal(6)
        w0 /= np.linalg.norm(w0)
        if problem.minimum().status != "attained":
            evidence.skip("no minimum: one class, or no count, in a direction")
            continue
        limit = theory.flow_limit(problem, g0, w0, c)
        g, end = _end(gradient_of(loss, A, targets), g0, w0, c)
        summary: dict[str, Any] = {"loss": loss, "g0": g0, "c": c, "norm": limit.norm}
        evidence.equal("x∞", limit.weights, end, rtol=2e-6, **summary)
        evidence.equal("g∞", limit.scale, g, rtol=2e-6, **summary)


def _end(gradient: Callable[[Array], Array], g: float, w: Array, c: float) -> tuple[float, Array]:
    """Where the flow stands once the gradient is all but zero."""
    first = float(np.linalg.norm(gradient(np.zeros_like(w))))
    for _ in range(60):
        g, w = flow_at(gradient, g, w, c, 25.0)
        w = w / np.linalg.norm(w)
        if np.linalg.norm(gradient(g * w)) <= 1e-10 * first:
            break
    return g, g * w


@check("max-margin")
def max_margin(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The direction against the nearest point of the hull of s_i a_i, by Frank and Wolfe's steps,
    and against no random direction that does better.
    """
    for _ in evidence.over(range(max(4, instances // 4))):
        m, d = int(rng.integers(3, 9)), int(rng.integers(9, 14))
        A = rng.standard_normal((m, d))
        labels = rng.choice([0.0, 1.0], m)
        found = theory.max_margin(GeneralizedLinear(A, labels, "logistic"))
        rows = np.where(labels > 0, 1.0, -1.0)[:, None] * A
        point = nearest_in_hull(rows)
        summary: dict[str, Any] = {"m": m, "d": d, "margin": found.margin}
        evidence.equal("margin", found.margin, np.linalg.norm(point), rtol=1e-6, **summary)
        evidence.equal(
            "direction", found.direction, point / np.linalg.norm(point), rtol=1e-3, **summary
        )
        evidence.at_most("the gap", abs(found.gap), 1e-6, **summary)
        others = found.direction + 0.1 * rng.standard_normal((200, d))
        best = (others @ rows.T).min(axis=1) / np.linalg.norm(others, axis=1)
        evidence.at_most("margin of others", float(best.max()), found.margin, **summary)
