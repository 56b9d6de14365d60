"""Checks of where things end: the flow's limit, fixed scales, restarts, finite steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import theory
from ...flows import flow
from ...methods import RPGD, WeightNorm
from ...problems import LeastSquares
from ...run import run
from ..evidence import Evidence, check
from ..instances import Instance, make_instance, perp_size
from ..simulate import End, ball_descent, flow_end, rpgd_step, wn_step

Rng = np.random.Generator
OFF = ("general", "orthogonal", "nearly in the row space")


@check("flow-limit")
def flow_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Scale (with its sign), ‖x⊥‖ and x against the integrated flow."""
    for _ in range(instances):
        it = make_instance(rng)
        limit = theory.flow_limit(it.problem, it.g0, it.w0, it.c)
        end = _flow_end(it)
        evidence.equal("g∞", limit.scale, end.scale, rtol=1e-7, **it.summary)
        evidence.equal(
            "‖x∞⊥‖", limit.perp_norm, end.perp, rtol=1e-6, atol=1e-10 * it.gstar, **it.summary
        )
        evidence.equal("x∞", limit.weights, end.weights, rtol=1e-7, **it.summary)
        printed = theory.flow_limit_as_printed(it.problem, it.g0, it.w0, it.c)
        agrees = np.allclose(printed.weights, end.weights, rtol=0, atol=1e-6 * it.gstar)
        off = abs(printed.norm - limit.norm) / it.gstar
        # clearly wrong, and still readable
        telling = float(min(off, 1.0 / off)) if 0 < off < np.inf else 0.0
        evidence.as_printed(
            agrees, telling=telling, exact_norm=limit.norm, printed_norm=printed.norm, **it.summary
        )


def _flow_end(it: Instance) -> End:
    """Integrated in d dimensions; but where rounding off the row space would grow beyond
    measure, in reduced coordinates.
    """
    tolerance = 1e-22 * (1.0 + it.gstar**2)
    if (
        it.kind in ("row space", "nearly in the row space")
        and (it.g0**2 - it.gstar**2) / (2 * it.c) > 5.0
    ):
        end = flow(it.problem, it.g0, it.w0, it.c, tolerance=tolerance)
        return End(
            float(end.scale[-1]), end.final_weights, float(end.time[-1]), float(end.perp_norm[-1])
        )
    return flow_end(it.problem, it.g0, it.w0, it.c, tolerance)


@check("wn-beats-gd")
def wn_beats_gd(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Which of the two ends closer, by integrating; and |g∞| = |g0| exactly at the threshold
    g*/‖w0∥‖.
    """
    for _ in range(instances):
        it = make_instance(rng, ("general",))
        q0 = perp_size(it.problem, it.w0)
        said = theory.wn_beats_gd(it.g0, it.gstar, q0, it.c)
        end = _flow_end(it)
        gd = abs(it.g0) * q0
        if abs(end.perp - gd) > 1e-6 * gd:
            evidence.true("which is closer", said.closer == (end.perp < gd), **it.summary)
        if abs(abs(end.scale) - abs(it.g0)) > 1e-6 * abs(it.g0):
            shrinks = abs(end.scale) > abs(it.g0)
            evidence.true("whether ‖w⊥‖ shrinks", said.direction_turns_in == shrinks, **it.summary)
        evidence.equal(
            "|g∞| at the threshold",
            theory.limit_scale(said.threshold, it.gstar, q0, it.c),
            said.threshold,
            rtol=1e-9,
        )
        at = flow_end(it.problem, said.threshold, it.w0, it.c, 1e-22 * (1.0 + it.gstar**2))
        evidence.equal(
            "|g∞| at the threshold, integrated",
            said.threshold,
            abs(at.scale),
            rtol=1e-7,
            **it.summary,
        )
        if it.g0**2 <= it.gstar**2:
            evidence.as_printed(
                end.perp <= gd * (1 + 1e-6) + 1e-9, wn=end.perp, gd=gd, **it.summary
            )
    # a small start and a large ratio: gradient descent ends closer
    it = make_instance(rng, ("general",))
    g0, c = 0.1 * it.gstar, 3.0 * it.gstar**2
    end, gd = flow_end(it.problem, g0, it.w0, c, 1e-16), g0 * perp_size(it.problem, it.w0)
    evidence.as_printed(end.perp <= gd, **it.summary | {"wn": end.perp, "gd": gd, "g0": g0, "c": c})


@check("fixed-scale-orthogonal")
def fixed_scale_orthogonal(evidence: Evidence, rng: Rng, instances: int) -> None:
    """C = 0, orthogonal A: g0 w → the predicted point for either sign, under and over g*."""
    for _ in range(max(6, instances // 2)):
        it = make_instance(rng, ("general", "orthogonal"), orthogonal=True)
        for share in (0.4, -0.7, 1.4):  # at ±1 the approach is only algebraic
            g0 = share * it.gstar
            limit, summary = (
                theory.fixed_scale_limit(it.problem, g0, it.w0),
                it.summary | {"g0": g0, "c": 0.0},
            )
            end = flow_end(it.problem, g0, it.w0, 0.0, 1e-26).weights
            evidence.equal("g0·w∞", limit.weights, end, rtol=1e-6, atol=1e-7, **summary)
            to_solution = np.allclose(end / g0, it.solution / it.gstar, atol=1e-5)
            evidence.as_printed(to_solution, within=0 < share <= 1, **summary)


@check("fixed-scale-general")
def fixed_scale_general(evidence: Evidence, rng: Rng, instances: int) -> None:
    """C = 0, general A: the ridge fixed point; over g* the limit leaves the row space."""
    for _ in range(max(6, instances // 2)):
        it = make_instance(
            rng,
            ("general", "orthogonal"),
            condition=float(rng.choice([2.0, 5.0])),
            m=int(rng.integers(2, 6)),
        )
        for share in (0.3, -0.8, 1.5):  # at ±1 the approach is only algebraic
            g0 = share * it.gstar
            end, summary = (
                flow_end(it.problem, g0, it.w0, 0.0, 1e-26),
                it.summary | {"g0": g0, "c": 0.0},
            )
            if abs(share) < 1:
                limit = theory.fixed_scale_limit(it.problem, g0, it.w0)
                evidence.equal("g0·w̃", limit.weights, end.weights, rtol=1e-6, atol=1e-8, **summary)
            evidence.as_printed(
                end.perp <= 1e-5 * it.gstar, within=abs(share) <= 1, perp=end.perp, **summary
            )


@check("restart")
def restart(evidence: Evidence, rng: Rng, instances: int) -> None:
    """C = 0 until nothing moves, then c > 0."""
    for _ in range(max(6, instances // 3)):
        it = make_instance(rng, ("general", "orthogonal"), condition=2.0)
        for g0 in (0.5 * it.gstar, -0.5 * it.gstar, 1.5 * it.gstar):
            c = max(it.c, 0.3)
            settled = flow_end(it.problem, g0, it.w0, 0.0, 1e-24)
            end = flow_end(it.problem, g0, settled.weights / g0, c, 1e-22)
            limit = theory.restart_limit(it.problem, g0, it.w0)
            summary = it.summary | {"g0": g0, "c": c}
            if limit.applies:
                evidence.equal("g∞", limit.scale, end.scale, rtol=1e-6, **summary)
                evidence.equal("x∞", limit.weights, end.weights, rtol=1e-6, **summary)
            reached = np.allclose(end.weights, it.solution, atol=1e-5) and end.scale > 0
            evidence.as_printed(reached, within=0 < g0 < it.gstar, **summary)


@check("example-2d")
def example_2d(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The paper's example, integrated."""
    problem, w0 = LeastSquares([[1.0, 0.0]], [1.0]), np.array([0.0, 1.0])
    for g0 in (1e-3, 0.5, 0.7, 0.8, 1.0, 2.0, -2.0):
        value = theory.example_2d(g0).value
        end = flow_end(problem, g0, w0, 1.0, 1e-22).weights
        evidence.equal("the WN flow's end", value["wn"], end, rtol=1e-8, g0=g0)
        evidence.as_printed(
            np.allclose(value["printed"], end, atol=1e-3),
            g0=g0,
            printed=value["printed"],
            observed=end,
        )
        x = g0 * w0
        for _ in range(80):
            x = x - 0.5 * problem.gradient(x)
        evidence.equal("gradient descent's end", value["gd"], x, rtol=1e-12, g0=g0)
        closer = abs(end[1]) < abs(g0)
        evidence.true(
            "closer than gradient flow iff |g0| > 0.763", closer == (abs(g0) > 0.763), g0=g0
        )
    evidence.equal(
        "the loss on S",
        theory.example_2d(1.0).value["loss_on_s"],
        float(problem.value(np.zeros(2))),
        rtol=1e-15,
    )


@check("sphere-ball")
def sphere_ball(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Projected descent on the ball and rPGD on the sphere: the same minimiser for g0 ≤ g*,
    another one beyond.
    """
    for _ in range(max(6, instances // 3)):
        it = make_instance(rng, ("general",), condition=float(rng.choice([1.0, 2.0])))
        for g0 in (0.4 * it.gstar, 0.8 * it.gstar, 1.7 * it.gstar):
            said = theory.sphere_ball(it.problem, g0)
            ball = ball_descent(it.problem, g0, 0.0 * it.w0, 4000)
            summary = it.summary | {"g0": g0}
            evidence.equal(
                "the ball's minimiser",
                said.value["minimiser"],
                ball,
                rtol=1e-6,
                atol=1e-8,
                **summary,
            )
            value = 2.0 * float(it.problem.value(g0 * ball))
            evidence.equal(
                "the minimum", said.value["value"], value, rtol=1e-6, atol=1e-10, **summary
            )
            sphere = run(
                RPGD(0.9 / g0**2, 0.0), it.problem, g0, it.w0, tolerance=1e-26, max_steps=20_000
            )
            same = np.allclose(sphere.direction, ball, atol=1e-5)
            evidence.as_printed(
                same, within=g0 <= it.gstar, ball_norm=float(np.linalg.norm(ball)), **summary
            )
            if g0 < it.gstar:
                evidence.equal(
                    "the sphere's minimiser",
                    said.value["minimiser"],
                    sphere.direction,
                    rtol=1e-5,
                    **summary,
                )


@check("invariant-drift")
def invariant_drift(evidence: Evidence, rng: Rng, instances: int) -> None:
    """ΔI/η² of one step as η → 0, and the finite-step limit: its error is second order."""
    for index in range(instances):
        it = make_instance(rng, ("general",), condition=2.0)
        pull = it.problem.gradient(it.g0 * it.w0)
        s = float(it.w0 @ pull)
        across = float(np.sum((pull - s * it.w0) ** 2))
        for name, step in (("rpgd", rpgd_step), ("wn", wn_step)):
            predicted = float(theory.invariant_drift(name, it.g0, s, across, it.c))

            def change(eta: float, step: Any = step, it: Any = it) -> float:
                moved = step(it.problem, it.g0, it.w0, eta, it.c * eta)
                ratio = (
                    perp_size(it.problem, moved.w_next)
                    / np.linalg.norm(moved.w_next)
                    / perp_size(it.problem, it.w0)
                )
                return float((np.log(ratio) + (moved.g_next**2 - it.g0**2) / (2 * it.c)) / eta**2)

            size = abs(it.c) * s * s + it.g0**2 * (s * s + across)
            eta = 2e-3 / (1.0 + (it.g0**2 + it.c) * (1.0 + abs(s)))
            observed = (
                8 * change(eta / 4) - 6 * change(eta / 2) + change(eta)
            ) / 3  # Richardson: the η and η² terms cancel
            evidence.equal("ΔI/η²", predicted, observed, rtol=1e-4, atol=2e-4 * size, **it.summary)
        if index < max(2, instances // 12):
            _finite_step(evidence, rng)


def _finite_step(evidence: Evidence, rng: Rng) -> None:
    """Halving the step quarters the error of the prediction, and the error stays within its
    estimate's order.
    """
    it = make_instance(rng, ("general",), condition=1.5)
    g0, c = 0.9 * it.gstar, 0.3 * it.gstar**2
    for name, method in (("rpgd", RPGD), ("wn", WeightNorm)):
        errors = []
        for eta in (0.02 / it.gstar**2, 0.01 / it.gstar**2):
            said = theory.finite_step_limit(it.problem, g0, it.w0, name, eta, c)
            end = run(method(eta, c * eta), it.problem, g0, it.w0, tolerance=1e-24)
            errors.append(abs(said.norm - end.norm))
            evidence.at_most(
                "the error against its estimate", errors[-1], 5.0 * said.error, **it.summary
            )
        order = float(np.log2(errors[0] / errors[1])) if errors[1] > 1e-12 else 2.0
        evidence.true("the error is second order", 1.6 < order < 2.4, order=order, **it.summary)
