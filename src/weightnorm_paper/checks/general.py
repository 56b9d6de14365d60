"""Checks of what holds for general A: a fixed small scale, gradient descent after it, the ball."""

from __future__ import annotations

import math

import numpy as np

from weightnorm import theory

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng, direction, make, plain
from ..evidence.simulate import ball_path, descend, rpgd_step


def _weakest(it: Instance) -> np.ndarray:
    """The unit vector of the row space with the smallest eigenvalue."""
    w = it.A.T @ np.linalg.eigh(it.A @ it.A.T)[1][:, 0]
    return np.asarray(w / np.linalg.norm(w))


@check("sphere-ball")
def sphere_ball(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Projected descent on the ball and rPGD on the sphere: the same iterates while ‖v‖ ≥ 1, the
    same minimiser for |g0| ≤ g*, another one beyond.
    """
    for _ in evidence.over(range(max(6, instances // 3))):
        it = make(rng, ("general",), condition=float(rng.choice([1.0, 2.0])))
        for share in (0.4, -0.8, 1.7, -1.7):
            g0 = share * it.gstar
            said, points = lemmas.sphere_ball(it.problem, g0), ball_path(it, g0, it.w0, 1500)
            summary, free = (
                it.summary | {"g0": g0},
                next((i for i, point in enumerate(points) if point[2] < 1), len(points)),
            )
            for sphere, ball, _ in points[:free:150]:
                evidence.equal("the iterates", sphere, ball, rtol=1e-9, **summary)
            from_zero = ball_path(it, g0, 0.0 * it.w0 + 1e-9 * it.projection @ it.w0, 1500)
            ball = from_zero[-1][1]
            value = said.value
            evidence.equal("the minimiser", value["minimiser"], ball, rtol=1e-6, atol=1e-7)
            evidence.equal("its norm", value["norm"], np.linalg.norm(ball), rtol=1e-6)
            least = 2.0 * it.loss(g0 * ball)
            atol = 1e-10 * it.gstar**2
            evidence.equal("the minimum", value["value"], least, rtol=1e-6, atol=atol, **summary)
            evidence.true("the same problem iff |g0| ≤ g*", said.applies == (abs(share) <= 1))
            same = np.allclose(points[-1][0], ball, atol=1e-5)
            evidence.as_printed(same, within=abs(share) <= 1, **summary)
            if abs(share) > 1:
                evidence.true("and another one beyond", not same, **summary)


def _forget(it: Instance, g0: float, eta: float, count: int) -> tuple[float, float]:
    """‖w⊥‖ after so many steps at a fixed scale, and the smallest ‖v‖ on the way."""
    w, smallest = it.w0, np.inf
    for _ in range(count):
        step = rpgd_step(it, g0, w, eta, 0.0)
        w, smallest = step.w_next, min(smallest, step.v_norm)
    return it.q(w), float(smallest)


@check("general-matrix")
def general_matrix(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖v_t‖ ≥ 1 + δ at a small fixed scale, and ‖w⊥‖ ≤ ε after the promised steps, also for λmax
    ≠ 1; all but attained for a bad A and a w0 against x*.
    """
    for _ in evidence.over(range(instances)):
        it = make(rng, ("general",))
        it = it.at(A=float(rng.choice([0.3, 1.0, 4.0])) * it.A)
        low, high = float(it.lam.min()), float(it.lam.max())
        delta, accuracy = float(rng.choice([0.2, 1.0, 3.0])), float(rng.choice([1e-2, 1e-4]))
        said = theory.safe_scale(it.gstar, low, high, delta)
        g0, q0 = said.value * float(rng.choice([-1.0, 1.0])), it.q(it.w0)
        count = theory.safe_scale_steps(q0, accuracy, delta)
        summary = it.summary | {"g0": g0, "delta": delta, "steps": count}
        evidence.true("it applies", said.applies)
        wanted = math.ceil(math.log(q0 / accuracy) / math.log(1 + delta) - 1e-9)
        evidence.equal("the steps", count, max(0, wanted), rtol=0.0, **summary)
        perp, smallest = _forget(it, g0, 1 / (g0**2 * high), count)
        evidence.at_most("‖w⊥‖ ≤ ε", perp, accuracy, **summary)
        evidence.at_most("1 + δ ≤ ‖v‖", 1 + delta, smallest, **summary)
        printed = it.at(A=it.A / math.sqrt(high))
        level = it.gstar * low / high / (2 + delta)
        perp = _forget(printed, level, 1 / level**2, count)[0]
        evidence.as_printed(perp <= accuracy * (1 + 1e-9), **summary)
        perp = _forget(printed, level, 0.05, count)[0]  # another step: nothing is promised
        evidence.as_printed(perp <= accuracy, within=False, perp=perp, **summary)
    bad = make(rng, ("general",), m=3, condition=1000.0)
    weak = _weakest(bad)
    bad = bad.at(x=bad.gstar * weak)
    for delta in (0.2, 5.0):
        g0 = theory.safe_scale(bad.gstar, float(bad.lam.min()), 1.0, delta).value
        v_norm = rpgd_step(bad, g0, -weak, 1 / g0**2, 0.0).v_norm
        evidence.equal("1 + δ, all but attained", 1 + delta, v_norm, rtol=1e-4)
    # the number of steps is attained by a start whose w⊥ shrinks by 1 + δ to the digit
    it, delta = plain(0.2, [-0.6, 0.8]), 2.0
    g0 = 1.0 / (2 + delta)
    alone = it.at(g0=g0, w0=np.array([-1.0, 1e-8]))
    shrink = rpgd_step(alone, g0, alone.w0, 1 / g0**2, 0.0).v_norm
    evidence.at_most("for λmin = 1 with room", 1 + delta, shrink)
    for q0, accuracy, delta, count in (
        (0.5, 0.25, 1.0, 1),
        (0.5, 0.2499, 1.0, 2),
        (0.1, 0.2, 1.0, 0),
        (0.0, 0.1, 1.0, 0),
        (1.0, 1e-3, 9.0, 3),
    ):
        said_steps = theory.safe_scale_steps(q0, accuracy, delta)
        evidence.equal("the steps", said_steps, count, rtol=0.0)
    for wrong in ((1.0, 0.0, 1.0), (1.0, 2.0, 1.0), (0.0, 0.5, 1.0)):
        evidence.true("0 < λmin ≤ λmax, g* > 0", not theory.safe_scale(*wrong, 1.0).applies)
    evidence.true("δ > 0", not theory.safe_scale(1.0, 0.5, 1.0, 0.0).applies)


@check("general-matrix-second-stage")
def general_matrix_second_stage(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Gradient descent from g0·w ends |g0|‖w⊥‖ from x*; along the weakest direction the residual
    shrinks by 1 − λmin/λmax exactly.
    """
    for _ in evidence.over(range(instances)):
        it = make(rng, ("general",), condition=float(rng.choice([1.0, 2.0, 5.0])))
        it = it.at(A=float(rng.choice([0.5, 3.0])) * it.A)
        low, high = float(it.lam.min()), float(it.lam.max())
        q0 = it.q(it.w0)
        said = lemmas.safe_scale_second_stage(it.g0, q0, low, high)
        late = descend(it, it.g0 * it.w0, 1 / high, 1500)
        away = float(np.linalg.norm(late - it.x))
        evidence.equal("‖x∞ − x*‖", said.value["distance"], away, rtol=1e-7, **it.summary)
        evidence.true("it applies", said.applies)
        x = it.x + _weakest(it)
        before, later = it.loss(x), it.loss(descend(it, x, 1 / high, 1))
        factor = math.sqrt(later / before)
        evidence.equal("the factor", said.value["factor"], factor, rtol=1e-7, atol=1e-9)
        x = it.g0 * it.w0
        later = it.loss(descend(it, x, 1 / high, 1))
        bound = said.value["factor"] ** 2 * it.loss(x) + 1e-25 * it.gstar**2
        evidence.at_most("or less", later, bound, **it.summary)
        evidence.as_printed(away <= abs(it.g0) * q0 * (1 + 1e-6), **it.summary)
    for low, high in ((0.0, 1.0), (2.0, 1.0)):
        wrong = lemmas.safe_scale_second_stage(1.0, 0.1, low, high)
        evidence.true("0 < λmin ≤ λmax", not wrong.applies)


@check("general-matrix-any")
def general_matrix_any(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The larger scale allowed with eigenvalues, attained; with singular values ‖v‖ ≥ 1 + δ
    fails.
    """
    for _ in evidence.over(range(instances)):
        condition = float(rng.choice([1.5, 3.0, 6.0]))
        it = make(rng, ("general",), m=int(rng.integers(2, 6)), condition=condition)
        it = it.at(A=float(rng.choice([0.5, 1.0, 3.0])) * it.A)
        weak, delta = _weakest(it), float(rng.choice([0.2, 1.0]))
        said = lemmas.safe_scale_any(it.gstar, it.lam, delta)
        evidence.true("it applies", said.applies)
        high = float(it.lam.max())
        for target in (it, it.at(x=it.gstar * weak)):
            for name, g0 in said.value.items():
                starts = [-weak, *(direction(rng, it, kind) for kind in ("general", "row space"))]
                smallest = min(
                    rpgd_step(target, g0, w, 1 / (g0**2 * high), 0.0).v_norm for w in starts
                )
                summary = it.summary | {"g0": g0, "delta": delta, "v_norm": smallest}
                if name == "exact":
                    evidence.at_most("1 + δ ≤ ‖v‖", 1 + delta, smallest, **summary)
                else:
                    evidence.as_printed(smallest >= 1 + delta - 1e-9, **summary)
        g0 = said.value["exact"]
        attained = rpgd_step(it.at(x=it.gstar * weak), g0, -weak, 1 / (g0**2 * high), 0.0).v_norm
        evidence.equal("attained", 1 + delta, attained, rtol=1e-9)
        root = math.sqrt(it.lam.min() / high)
        printed = it.gstar * root / (2 + delta - root)
        evidence.equal("as printed", said.value["printed"], printed, rtol=1e-8)
    evidence.true("λmin > 0", not lemmas.safe_scale_any(1.0, [1.0, 0.0]).applies)
    evidence.true("δ > 0", not lemmas.safe_scale_any(1.0, [1.0, 0.5], 0.0).applies)


def _random(evidence: Evidence, rng: Rng, instances: int, key: str) -> None:
    """‖v‖ ≥ 1 + δ for random w*; all but attained for many samples and a large δ. In diagonal
    coordinates of the row space and one beyond, against the worst of a few w.
    """
    for m, ones, delta in ((1, 1, 1.0), (30, 29, 0.5), (200, 150, 1.0), (100_000, 60_000, 100.0)):
        lam = np.where(np.arange(m) < ones, 1.0, 0.02)
        said = lemmas.safe_scale_random(2.0, 3.0 * lam, delta)
        evidence.true("the hypothesis holds", said.applies, m=m)
        root = math.sqrt((float(lam @ lam) - 2 * math.sqrt(m * math.log(m))) / m)
        for name, less in (("exact", lam.min()), ("main", 0.0)):
            written = 2.0 * root / (2 + delta - less)
            evidence.equal("written out", said.value[name], written, rtol=1e-9, m=m)
        g0, failed, draws, smallest = said.value[key], 0, max(8, instances) if m < 1e4 else 6, []
        for _ in range(draws):
            z = rng.standard_normal(m)
            push = lam * (2.0 / g0) * z / np.linalg.norm(z)  # AᵀA x*/g0
            worst = np.inf
            for w in (-push / np.linalg.norm(push), -np.eye(1, m, m - 1)[0]):
                worst = min(worst, float(np.linalg.norm((1 - lam) * w + push)))
            smallest.append(worst)
            failed += worst < 1 + delta
        allowed = (
            draws * min(1.0, 3.0 / m) + 3 * math.sqrt(draws * min(1.0, 3.0 / m)) if m > 1 else 0
        )
        summary = {"m": m, "g0": g0, "failed": failed, "draws": draws}
        evidence.true("all but O(1/m) of the draws", failed <= allowed, **summary)
        evidence.as_printed(failed <= allowed, **summary)
        if m > 1e4:  # δ ≫ 1 and m ≫ 1: g0 = g*·√(mean λ²)/δ to a few per cent
            evidence.equal("all but attained", 1 + delta, min(smallest), rtol=0.04, **summary)
        elif m > 1:  # w* on the whole sphere of R^d, d ≫ m: x* has little in the row space
            shrunk = math.sqrt(m / 3000.0)
            z = rng.standard_normal(m)
            push = lam * (2.0 * shrunk / g0) * z / np.linalg.norm(z)
            v = float(np.linalg.norm((1 - lam) * -push / np.linalg.norm(push) + push))
            evidence.as_printed(v >= 1 + delta, within=False, v_norm=v, **summary)
    weak = np.append(np.ones(99), 0.1)
    evidence.true("δ > 0", not lemmas.safe_scale_random(1.0, weak, 0.0).applies)
    for _ in range(instances):  # the hypothesis itself, on random spectra
        m = int(rng.integers(2, 300))
        lam = np.append(1.0, rng.uniform(0.0, 1.0, m - 1) ** float(rng.choice([0.02, 0.3])))
        left = (float(lam @ lam) - 2 * math.sqrt(m * math.log(m))) / m
        met = left >= lam.min() ** 2
        evidence.true("the hypothesis", lemmas.safe_scale_random(1.0, lam).applies == met)
    for m in (*range(2, 12), 30):  # void, not false
        said = lemmas.safe_scale_random(2.0, np.ones(m))
        evidence.true("orthogonal A, m ≥ 2: void", not said.applies, m=m)
        weak = np.append(np.ones(m - 1), 0.0)
        evidence.true("met from m = 12 on", lemmas.safe_scale_random(
            2.0, weak).applies == (m >= 12), m=m)  # fmt: skip


@check("general-matrix-random")
def general_matrix_random(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Lemma E.11, denominator 2 + δ − σ_m."""
    _random(evidence, rng, instances, "exact")


@check("general-matrix-random-main")
def general_matrix_random_main(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Proposition E.9, denominator 2 + δ: a smaller scale, so it holds as well."""
    _random(evidence, rng, instances, "main")
