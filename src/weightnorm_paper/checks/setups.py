"""Checks of the set-up of the linear-regression experiments (m = 20, d = 50, g* = 3)."""

from __future__ import annotations

import math

import numpy as np

from weightnorm._support.numeric import Array
from weightnorm.datasets import make_regression
from weightnorm.methods.schedules import two_phase

from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng
from ..evidence.simulate import rpgd_step, wn_step


def _experiment(seed: int, condition: float = 1.0, g0: float = 1.0) -> Instance:
    """The product's own data set, as plain arrays, and a Gaussian start of norm 1."""
    problem = make_regression(20, 50, condition_number=condition, solution_norm=3.0, seed=seed)
    assert problem.solution is not None
    w0 = np.random.default_rng(seed).standard_normal(50)
    return Instance(
        np.asarray(problem.A), problem.solution, g0, w0 / np.linalg.norm(w0), 1.0, "general"
    )


@check("experiment-row-space")
def experiment_row_space(evidence: Evidence, rng: Rng, instances: int) -> None:
    """x* in the row space has norm 3; an arbitrary unit w* gives data whose solution has not."""
    for seed in evidence.over(range(max(10, instances // 2))):
        it = _experiment(seed, float(rng.choice([1.0, 5.0])))
        best = np.linalg.pinv(it.A) @ it.y
        evidence.equal("x* is the minimum-norm solution", it.x, best, rtol=1e-9)
        evidence.equal("‖x*‖ = 3", np.linalg.norm(it.x), 3.0, rtol=1e-12)
        anywhere = rng.standard_normal(50)
        anywhere *= 3.0 / np.linalg.norm(anywhere)
        found = float(np.linalg.norm(np.linalg.pinv(it.A) @ (it.A @ anywhere)))
        evidence.as_printed(math.isclose(found, 3.0, rel_tol=1e-3), within=False, norm=found)


@check("experiment-kappa")
def experiment_kappa(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Singular values 1 … 1/κ: κ is the condition number of A, and AAᵀ's is κ²."""
    for seed in evidence.over(range(max(10, instances // 2))):
        kappa = float(rng.choice([2.0, 5.0, 20.0, 50.0]))
        it = _experiment(seed, kappa)
        singular = np.linalg.svd(it.A, compute_uv=False)
        evidence.equal("Σ", np.geomspace(1, 1 / kappa, 20), singular, rtol=1e-9, kappa=kappa)
        ratio = float(it.lam.max() / it.lam.min())
        evidence.equal("λmax/λmin = κ²", kappa**2, ratio, rtol=1e-6, kappa=kappa)
        evidence.as_printed(math.isclose(ratio, kappa, rel_tol=1e-3), kappa=kappa, ratio=ratio)


def _run_wn(it: Instance, power: int, limit: int) -> tuple[int, float]:
    """WN with η = ‖w‖^power/(g²λmax), γ = 0.01, until the loss is 1e-5: steps and ‖x‖."""
    g, w = it.g0, it.w0
    for count in range(limit):
        eta = float(np.linalg.norm(w)) ** power / g**2
        step = wn_step(it, g, w, eta, 0.01)
        if 0.5 * float(step.residual @ step.residual) <= 1e-5:
            return count, abs(g)
        g, w = step.g_next, step.w_next
    return limit, abs(g)


@check("figure-3-bottom-steps")
def figure_3_bottom_steps(evidence: Evidence, rng: Rng, instances: int) -> None:
    """WN's curvature step is ‖w‖²/(g²λmax): then WN's direction moves as rPGD's does to first
    order, and a small start ends near the minimum norm; with ‖w‖ it takes far longer.
    """
    for seed in evidence.over(range(max(4, instances // 6))):
        it = _experiment(seed, g0=1e-3)
        count, norm = _run_wn(it, 2, 3000)
        evidence.at_most("steps with ‖w‖²", count, 1500, seed=seed)
        evidence.equal("‖x‖ with ‖w‖²", 3.0, norm, rtol=2e-3, seed=seed)
        late, _ = _run_wn(it, 1, 4000)
        evidence.as_printed(late <= 2 * count, steps=late, seed=seed)
        # the unit direction after one step does not depend on ‖w‖ with the square, and does without
        size = float(rng.choice([2.0, 5.0]))
        turned = [
            wn_step(it, 1.0, n * it.w0, n**2 * 1e-3, 0.0).w_next / np.linalg.norm(n * it.w0)
            for n in (1.0, size)
        ]
        evidence.equal("invariant to ‖w‖", turned[0], turned[1], rtol=1e-9, norm=size)


def _thawed(it: Instance, gammas: Array) -> Array:
    """rPGD with the direction's step 1/g² and these scale steps, until the loss is 1e-5."""
    g, w = it.g0, it.w0
    for gamma in gammas:
        step = rpgd_step(it, g, w, 1 / g**2, float(gamma))
        if 0.5 * float(step.residual @ step.residual) <= 1e-5:
            break
        g, w = step.g_next, step.w_next
    return np.asarray(g * w)


@check("figure-4-bottom-steps")
def figure_4_bottom_steps(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Figure 4, bottom: a direction step 1/g² and a scale step thawed late end at the minimum
    norm; with γ = 1 from the start and the direction thawed late, as printed, they do not.
    """
    for seed in evidence.over(range(max(5, instances // 5))):
        it, switch = _experiment(seed, g0=2.8), 300  # κ = 1: phase one is over long before
        gammas = two_phase(0.0, 0.1, switch)(np.arange(switch + 4000))
        frozen = int(np.argmax(gammas > 0))
        evidence.equal("the scale thaws at the switch", frozen, switch, rtol=0.0)
        evidence.equal("to 0.1", gammas[-1], 0.1, rtol=0.0)
        read = _thawed(it, gammas)
        evidence.equal("as read", 3.0, np.linalg.norm(read), rtol=5e-3, seed=seed)
        evidence.at_most("‖x⊥‖ as read", it.q(read), 1e-2, seed=seed)
        g, w = it.g0, it.w0
        for t in range(switch + 4000):  # γ = 1, η = 0.1·1{t ≥ switch}
            step = rpgd_step(it, g, w, 0.1 * (t >= switch), 1.0)
            if 0.5 * float(step.residual @ step.residual) <= 1e-5:
                break
            g, w = step.g_next, step.w_next
        printed = float(np.linalg.norm(g * w))
        evidence.as_printed(printed < 3.1, norm=printed, seed=seed)
