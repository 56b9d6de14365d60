"""Checks of single steps: identities, recursions, adaptive penalties."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ... import theory
from ...methods import RPGD
from ...run import run
from ...schedules import curvature
from ..evidence import Evidence, check
from ..instances import make_instance, make_problem, make_start, perp_size, solution_of
from ..simulate import Step, rpgd_path, rpgd_step, wn_step

Rng = np.random.Generator


def _path(
    rng: Rng, gammas: int = 3, under: bool | None = None
) -> tuple[list[Step], Any, float, dict[str, Any]]:
    """A few steps of rPGD with η = 1/g² on an orthogonal A; `under` forces 0 < g0 < g*."""
    problem = make_problem(rng, orthogonal=True)
    gstar = float(np.linalg.norm(problem.y))
    w0 = make_start(
        rng,
        problem,
        str(rng.choice(["general", "general", "nearly in the row space", "orthogonal"])),
    )
    share = (
        float(rng.choice([0.2, 0.6, 0.95]))
        if under
        else float(rng.choice([-1.5, -0.5, 0.2, 0.6, 1.2, 3.0]))
    )
    gamma = float(rng.choice([0.05, 0.3, 0.5]))
    g0 = share * gstar
    steps = rpgd_path(problem, g0, w0, [0.0 if under else gamma, *[gamma] * (gammas - 1)])
    return (
        steps,
        problem.A,
        gstar,
        {"g0": g0, "g*": gstar, "gamma": gamma, "parallel": float(np.linalg.norm(problem.A @ w0))},
    )


@check("step-identities")
def step_identities(evidence: Evidence, rng: Rng, instances: int) -> None:
    """All five identities of a simulated step."""
    for _ in range(instances):
        steps, A, _, summary = _path(rng, 1)
        step = steps[0]
        y = A @ (step.g * step.w) - step.residual
        said = theory.step_identities(
            step.g, step.g_next, float(np.linalg.norm(A @ step.w)), y
        ).value
        after = A @ step.w_next
        size = float(np.linalg.norm(after))
        evidence.equal("‖v‖", said["v_norm"], step.v_norm, rtol=1e-11, **summary)
        evidence.equal("Aw'", said["Aw"], after, rtol=1e-11, **summary)
        evidence.equal("‖Aw'‖", said["parallel"], size, rtol=1e-11, **summary)
        evidence.equal(
            "1 − ‖Aw'‖²", said["perp_square"], 1 - size**2, rtol=1e-9, atol=1e-13, **summary
        )
        gap = step.g_next**2 * (1 - size**2)
        evidence.equal(
            "the gap", said["gap"], gap, rtol=1e-9, atol=1e-12 * step.g_next**2, **summary
        )
        evidence.as_printed(np.isclose(said["v_norm"], step.v_norm, rtol=1e-9), **summary)


@check("scale-step-bound")
def scale_step_bound(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The exact step of g and its bound; near a solution the bound is attained."""
    for index in range(instances):
        steps, _, gstar, summary = _path(rng, 1)
        step = steps[0]
        if index % 4 == 0:  # a start next to the solution, where r is small and the bound tight
            problem = make_problem(rng, orthogonal=True)
            gstar = float(np.linalg.norm(problem.y))
            step = rpgd_step(
                problem,
                gstar * 0.9999,
                solution_of(problem) / gstar,
                1 / (gstar * 0.9999) ** 2,
                0.3,
            )
        gamma = 0.3 if index % 4 == 0 else summary["gamma"]
        said = theory.scale_step(step.g, step.v_norm, float(np.linalg.norm(step.residual)), gamma)
        evidence.equal("g'", said.value["exact"], step.g_next, rtol=1e-10, **summary)
        if step.g > 0:
            evidence.at_most("g' ≤ its bound", step.g_next, said.value["bound"], **summary)
        else:
            evidence.at_most(
                "g' ≥ its bound for g < 0", -step.g_next, -said.value["bound"], **summary
            )
        evidence.as_printed(
            step.g_next <= said.value["bound"] + 1e-12 * abs(step.g), within=step.g > 0, **summary
        )
    problem = make_problem(rng, orthogonal=True)
    negative = rpgd_step(problem, -1.0, make_start(rng, problem), 1.0, 0.3)
    bound = theory.scale_step(
        -1.0, negative.v_norm, float(np.linalg.norm(negative.residual)), 0.3
    ).value["bound"]
    evidence.as_printed(
        negative.g_next <= bound, within=False, g=-1.0, g_next=negative.g_next, bound=bound
    )


@check("scale-step-identity")
def scale_step_identity(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The identity between two consecutive steps, exact and as printed."""
    for _ in range(instances):
        steps, _, _, summary = _path(rng, 2)
        first, second = steps
        a, b = first.g * first.v_norm, second.g * second.v_norm
        said = theory.scale_gap(a, b, second.g, summary["gamma"]).value
        observed = b - second.g_next
        size = abs(a) + abs(b)
        evidence.equal("b − g'", said["exact"], observed, rtol=1e-9, atol=1e-12 * size, **summary)
        evidence.as_printed(
            np.isclose(said["printed"], observed, rtol=1e-6, atol=1e-9 * size), **summary
        )


@check("scale-increases")
def scale_increases(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g grows from the second step on where it is under g_{t−1}‖v_{t−1}‖; not from any g0 > 0."""
    for _ in range(instances):
        steps, _, _, summary = _path(rng, 4, under=True)
        for first, second in pairwise(steps):
            said = theory.scale_increases(second.g, first.g * first.v_norm, summary["gamma"])
            if said.applies:
                evidence.true("g grows", second.g_next > second.g * (1 - 1e-15), **summary)
        any_start, _, _, summary = _path(rng, 1)
        if any_start[0].g > 0:
            evidence.as_printed(
                any_start[0].g_next >= any_start[0].g * (1 - 1e-12),
                next=any_start[0].g_next,
                **summary,
            )


@check("gv-recursion")
def gv_recursion(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g²‖v‖² from step to step."""
    for _ in range(instances):
        steps, A, _, summary = _path(rng, 2)
        first, second = steps
        parallel = float(np.linalg.norm(A @ second.w))
        said = theory.scale_norm_recursion(first.g * first.v_norm, second.g, parallel).value
        observed = (second.g * second.v_norm) ** 2
        evidence.equal("g²‖v‖²", said["exact"], observed, rtol=1e-10, **summary)
        evidence.as_printed(np.isclose(said["printed"], observed, rtol=1e-7), **summary)


@check("perp-bound")
def perp_bound(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The bound on ‖w⊥‖² along a path under g*."""
    for _ in range(instances):
        steps, A, gstar, summary = _path(rng, 5, under=True)
        parallels = [float(np.linalg.norm(A @ step.w)) for step in steps]
        said = theory.perp_bound([step.g for step in steps], parallels, gstar)
        after = float(np.linalg.norm(A @ steps[-1].w_next))
        if said.applies:
            evidence.at_most("‖w⊥‖²", 1 - after**2, said.value, slack=1e-9, **summary)
            evidence.equal(
                "‖w⊥‖² = 1 − ‖Aw‖²",
                1 - parallels[0] ** 2,
                _perp_square(A, steps[0].w),
                rtol=1e-9,
                atol=1e-14,
                **summary,
            )
        perp = float(np.sqrt(_perp_square(A, steps[0].w)))
        evidence.as_printed(
            perp <= 1 - parallels[0] ** 2 + 1e-12,
            perp=perp,
            one_minus=1 - parallels[0] ** 2,
            **summary,
        )


def _perp_square(A: Any, w: Any) -> float:
    rest = w - A.T @ (A @ w)
    return float(rest @ rest)


@check("perp-contraction")
def perp_contraction(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖w⊥‖ after one step, exactly, and its bound."""
    for _ in range(instances):
        steps, A, gstar, summary = _path(rng, 1)
        before, after = _perp_square(A, steps[0].w), _perp_square(A, steps[0].w_next)
        said = theory.perp_contraction(float(np.sqrt(before)), steps[0].g, gstar).value
        evidence.equal("‖w⊥'‖²", said["exact"], after, rtol=1e-9, atol=1e-14, **summary)
        evidence.at_most("its bound", after, said["bound"], slack=1e-9, **summary)
        evidence.as_printed(after <= said["bound"] * (1 + 1e-9) + 1e-14, **summary)


@check("loss-gap")
def loss_gap(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖r‖² after one step."""
    for _ in range(instances):
        steps, A, _, summary = _path(rng, 2)
        first, second = steps
        said = theory.loss_gap(
            first.g_next, first.g, first.v_norm, float(np.linalg.norm(A @ first.w_next))
        ).value
        observed = float(second.residual @ second.residual)
        size = first.g_next**2 + (first.g * first.v_norm) ** 2
        evidence.equal("‖r'‖²", said["exact"], observed, rtol=1e-9, atol=1e-13 * size, **summary)
        evidence.as_printed(
            np.isclose(said["printed"], observed, rtol=1e-6, atol=1e-9 * size), **summary
        )


@check("escape-stationary")
def escape_stationary(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖Aw1‖ after one step; and a start from which the flow falls into S, from where rPGD still
    converges.
    """
    for index in range(instances):
        steps, A, gstar, summary = _path(rng, 1)
        parallel = float(np.linalg.norm(A @ steps[0].w))
        said = theory.escape(steps[0].g, parallel, gstar).value
        observed = float(np.linalg.norm(A @ steps[0].w_next))
        evidence.equal("‖Aw1‖", said, observed, rtol=1e-10, **summary)
        evidence.as_printed(observed > 0, **summary)
        if index < 4:
            # m = 1, F0 = q0² e^{g0²/c} = 1 and g0·w0ᵀx* < 0: the flow goes to S.
            problem = make_problem(rng, orthogonal=True, m=1)
            g0, c = 0.5, 0.3
            q0 = float(np.exp(-(g0**2) / (2 * c)))
            inside = -solution_of(problem) / np.linalg.norm(solution_of(problem))
            rest = make_start(rng, problem, "orthogonal")
            w0 = np.sqrt(1 - q0**2) * inside + q0 * rest
            result = run(RPGD(curvature(), 0.1), problem, g0, w0, tolerance=1e-10)
            evidence.true(
                "rPGD converges from the basin of S", result.status == "converged", g0=g0, q0=q0
            )


@check("orthogonal-gstar")
def orthogonal_gstar(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g* against the norm of the pseudo-inverse's solution."""
    for _ in range(instances):
        problem = make_problem(rng, orthogonal=True)
        best = float(np.linalg.norm(np.linalg.pinv(problem.A) @ problem.y))
        said = theory.orthogonal_gstar(problem.y).value
        evidence.equal("g*", said, best, rtol=1e-12)
        evidence.as_printed(np.isclose(said, best))


@check("adaptive-lambda")
def adaptive_lambda(evidence: Evidence, rng: Rng, instances: int) -> None:
    """x' = x − η_x(Aᵀr + 2λx) for both methods; the printed λ does not satisfy it."""
    for _ in range(instances):
        it = make_instance(rng, ("general", "orthogonal"))
        eta, gamma = 0.1 / (1 + it.g0**2), 0.05
        one = rpgd_step(it.problem, it.g0, it.w0, eta, gamma)
        x = it.g0 * it.w0
        said = theory.adaptive_lambda_rpgd(it.g0, one.g_next, one.v_norm, eta).value
        observed = one.g_next * one.w_next
        evidence.equal(
            "rPGD's x'",
            x - said["step"] * (one.pull + 2 * said["penalty"] * x),
            observed,
            rtol=1e-10,
            **it.summary,
        )
        printed = x - said["step"] * (one.pull + 2 * said["printed"] * x)
        evidence.as_printed(np.allclose(printed, observed, rtol=1e-6, atol=1e-9), **it.summary)
        norm = float(rng.choice([0.7, 1.0, 1.8]))
        two = wn_step(it.problem, it.g0, norm * it.w0, eta, gamma)
        along = float(norm * it.w0 @ two.pull)
        said = theory.adaptive_lambda_wn(it.g0, two.g_next, norm, two.v_norm, along, eta).value
        observed = two.g_next * two.w_next / two.v_norm
        evidence.equal(
            "WN's x'",
            x - said["step"] * (two.pull + 2 * said["penalty"] * x),
            observed,
            rtol=1e-10,
            **it.summary,
        )
        printed = x - said["step"] * (two.pull + 2 * said["printed"] * x)
        evidence.as_printed(
            np.allclose(printed, observed, rtol=1e-6, atol=1e-9), method="WN", **it.summary
        )


@check("adaptive-lambda-sign")
def adaptive_lambda_sign(evidence: Evidence, rng: Rng, instances: int) -> None:
    """λ_t > 0 for a tiny scale step iff ‖A g w‖ < g*; λ_t → 0 near the solution."""
    for _ in range(instances):
        problem = make_problem(rng, orthogonal=True)
        gstar = float(np.linalg.norm(problem.y))
        g = float(rng.choice([0.3, 0.9, 1.5, 3.0])) * gstar
        w0 = make_start(
            rng, problem, str(rng.choice(["general", "row space", "nearly in the row space"]))
        )
        parallel = float(np.linalg.norm(problem.A @ w0))
        step = rpgd_step(problem, g, w0, 1 / g**2, 1e-9)
        # λ at η = 1/g², written out
        penalty = (step.g * step.v_norm - step.g_next) / (2 * step.g_next)
        said = theory.adaptive_lambda_sign(g, parallel, gstar)
        summary = {"g": g, "g*": gstar, "parallel": parallel, "penalty": penalty}
        evidence.equal(
            "the room for g'",
            said.value,
            g * step.v_norm - g,
            rtol=1e-8,
            atol=1e-10 * gstar,
            **summary,
        )
        if abs(g * parallel - gstar) > 1e-6:
            evidence.true("the sign", (penalty > 0) == said.applies, **summary)
            evidence.as_printed(penalty > 0, within=said.applies, **summary)
        close = rpgd_step(problem, gstar, solution_of(problem) / gstar, 1 / gstar**2, 0.1)
        evidence.true("λ → 0 at the solution", abs(close.v_norm - 1) < 1e-12, **summary)


@check("discrete-wn")
def discrete_wn(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖w'‖² and w⊥' of a WN step."""
    for _ in range(instances):
        it = make_instance(rng)
        w = float(rng.choice([0.5, 1.0, 3.0])) * it.w0
        eta = float(rng.choice([0.01, 0.3]))
        step = wn_step(it.problem, it.g0, w, eta, 0.1)
        said = theory.wn_step(it.g0, w, step.pull, eta).value
        evidence.equal(
            "‖w'‖²", said["square"], float(step.w_next @ step.w_next), rtol=1e-11, **it.summary
        )
        before, after = perp_size(it.problem, w), perp_size(it.problem, step.w_next)
        evidence.equal(
            "‖w⊥'‖", abs(said["perp_factor"]) * before, after, rtol=1e-7, atol=1e-12, **it.summary
        )


@check("discrete-rpgd")
def discrete_rpgd(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖v‖, w⊥' and whether it grows, for an rPGD step."""
    for _ in range(instances):
        it = make_instance(rng, ("general", "orthogonal", "nearly in the row space"))
        eta = float(rng.choice([0.01, 0.3]))
        step = rpgd_step(it.problem, it.g0, it.w0, eta, 0.1)
        said = theory.rpgd_step(it.g0, it.w0, step.pull, eta).value
        evidence.equal("‖v‖", said["v_norm"], step.v_norm, rtol=1e-9, **it.summary)
        before, after = perp_size(it.problem, it.w0), perp_size(it.problem, step.w_next)
        evidence.equal(
            "‖w⊥'‖", said["perp_factor"] * before, after, rtol=1e-7, atol=1e-12, **it.summary
        )
        if abs(after - before) > 1e-9 * before:
            evidence.true("whether w⊥ grows", said["perp_grows"] == (after > before), **it.summary)
