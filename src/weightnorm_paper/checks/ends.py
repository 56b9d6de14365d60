"""Checks of where other training ends: batch norm, signs, margins, groups, noise, coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm._support.numeric import Array
from weightnorm.problems import GeneralizedLinear, LeastSquares

from ..evidence.evidence import Evidence, check
from ..evidence.instances import OFF, Instance, Rng, direction, make, plain
from ..evidence.simulate import flow_at, flow_end, gradient_of, nearest_in_hull, rpgd_step
from ..evidence.simulate_training import (
    SimulatedRuns,
    batchnorm_end,
    batchnorm_slope,
    coordinate_ends,
    grouped_flow,
    margin_path,
)


@check("mirror-potential")
def mirror_potential(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Flows of three losses, stopped at some time: nearest to the start in the divergence among
    all weights with the same predictions; and ψ against quadrature.
    """
    for index in evidence.over(range(max(9, instances))):
        it = make(rng, ("general", "orthogonal"), condition=3.0)
        c = float(rng.choice([0.3, 1.0, 5.0])) * it.gstar**2
        loss = ("squared", "logistic", "huber")[index % 3]
        y = (it.y > 0).astype(float) if loss == "logistic" else it.y
        gradient = gradient_of(loss, it.A, y)
        time = float(rng.choice([0.3, 2.0, 10.0])) / it.gstar**2
        g, w = flow_at(gradient, it.g0, it.w0, c, time)
        x = g * w / np.linalg.norm(w)
        x0 = it.g0 * it.w0 * np.sign(g * it.g0)
        others = x + it.gstar * rng.choice([1e-3, 0.1, 1.0], (12, 1)) * np.array(
            [it.perp(rng.standard_normal(x.size)) for _ in range(12)]
        )
        own = theory.bregman(x, x0, c)
        evidence.true("nearest", (theory.bregman(others, x0, c) > own).all(), loss=loss)
        away = it.perp(_slope_of_potential(x, c) - _slope_of_potential(x0, c))
        size = float(np.linalg.norm(_slope_of_potential(x, c)))
        left = float(np.linalg.norm(away))
        evidence.at_most("∇ψ(x) − ∇ψ(x0) in the rows", left, 1e-6 * size)
        far = np.vstack([x, others])
        for each, psi in zip(far, theory.potential(far, c), strict=True):
            top = float(np.linalg.norm(each))
            seen = _potential(top, c)
            evidence.equal("ψ", psi, seen, rtol=1e-9, c=c)
            start = float(np.linalg.norm(x0))
            first = _potential(start, c)
            lost = seen - first - _slope_of_potential(x0, c) @ (each - x0)
            rounding = 1e-9 * (abs(seen) + abs(first))
            evidence.equal("D", theory.bregman(each, x0, c), lost, rtol=1e-8, atol=rounding)
    _at_the_ends(evidence)


def _potential(size: float, c: float) -> float:
    from scipy.integrate import quad

    return float(quad(lambda s: np.exp(s * s / (2 * c)), 0.0, size, epsabs=0, epsrel=1e-11)[0])


def _slope_of_potential(x: Array, c: float) -> Array:
    size = float(np.linalg.norm(x))
    return np.asarray(np.exp(size**2 / (2 * c)) * x / size)


def _at_the_ends(evidence: Evidence) -> None:
    """Hardly any difference, none, zero weights, and exponents on either side of 8 and beyond 709:
    with 50 digits where digits would cancel.
    """
    from decimal import Decimal, localcontext

    x0 = np.array([0.6, 0.8])
    for size in (1.0, 1 + 1e-6, 1 - 1e-6, 0.5, 3.9, 4.0, 4.2, 5.0):
        with localcontext() as context:
            context.prec = 50
            total = Decimal(0)
            grow, n = (Decimal(size) - 1) / 400, 400
            nodes = [1 + grow * k for k in range(n + 1)]
            values = [((node * node - 1) / 2).exp() - 1 for node in nodes]
            for k, value in enumerate(values):  # Simpson
                total += value * (1 if k in (0, n) else 4 if k % 2 else 2)
            seen = float(total * grow / 3 * Decimal("0.5").exp())
        said = theory.bregman(size * x0, x0, 1.0)
        evidence.equal("along a ray", said, seen, rtol=1e-7, atol=1e-24, size=size)
    for size in (20.0, 30.0):  # exponents that a few nodes miss
        at = np.linspace(1.0, size, 400_001)
        heights = np.exp((at**2 - 1) / 2)
        seen = (at[1] - at[0]) * float(heights.sum() - 0.5 * (heights[0] + heights[-1]))
        said = theory.bregman(size * x0, x0, 1.0)
        evidence.equal("far along", said, np.exp(0.5) * seen, rtol=1e-5, size=size)
    evidence.equal("zero weights", theory.bregman([0.0, 0.0], x0, 1.0),
                   _ray(0.0, 1.0), rtol=1e-9)  # fmt: skip
    turned = np.array([-0.8, 0.6])
    evidence.equal("a turn", theory.bregman(turned, x0, 1.0), np.exp(0.5), rtol=1e-12)
    evidence.true("beyond floats", theory.potential([60.0, 0.0], 1.0) == np.inf)
    evidence.true("beyond floats", theory.bregman([60.0, 0.0], x0, 1.0) == np.inf)


def _ray(size: float, start: float) -> float:
    from scipy.integrate import quad

    slope = np.exp(start**2 / 2)
    return float(quad(lambda s: np.exp(s * s / 2) - slope, start, size, epsrel=1e-12)[0])


@check("frozen-contraction")
def frozen_contraction(evidence: Evidence, rng: Rng, instances: int) -> None:
    """‖v‖ and the factor of w⊥ of plain rPGD steps at a frozen scale, once they have settled."""
    for _ in evidence.over(range(instances)):
        it = make(rng, OFF, condition=float(rng.choice([1.0, 2.0, 5.0])))
        it = it.at(A=float(rng.choice([0.5, 1.0, 2.0])) * it.A)
        share, sign = float(rng.choice([0.1, 0.5, 0.9])), float(rng.choice([-1.0, 1.0]))
        g = sign * share * it.gstar
        eta = float(rng.choice([0.3, 0.8, 1.0])) / (g**2 * float(it.lam.max()))
        said = theory.frozen_contraction(it.problem, g, eta)
        w = it.w0
        for _ in range(12_000):
            step = rpgd_step(it, g, w, eta, 0.0)
            if np.abs(step.w_next - w).max() < 1e-10:
                break
            w = step.w_next
        kind = {"share": share, "eta": eta, **it.summary}
        evidence.equal("‖v‖", said.value, step.v_norm, rtol=1e-6, **kind)
        evidence.true("it applies", said.applies, **kind)
        for other, step_ in ((1.02 * it.gstar * sign, 0.5), (g, 1.02), (g, -0.1)):
            far = theory.frozen_contraction(
                it.problem, other, step_ / (other**2 * float(it.lam.max()))
            )
            evidence.true("0 < |g0| < g*, small steps", not far.applies, **kind)
        edge = theory.frozen_contraction(it.problem, g, 1.0 / (g**2 * float(it.lam.max())))
        evidence.true("up to 1/(g0²λmax)", edge.applies, **kind)
    it = make(rng, ("general",), orthogonal=True)
    flat = theory.frozen_contraction(it.problem, 0.4 * it.gstar, 0.5 / (0.16 * it.gstar**2))
    evidence.equal("orthogonal A", flat.value, 0.5 + 0.5 / 0.4, rtol=1e-9)


@check("batchnorm-limit")
def batchnorm_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The flow of x = g·w/‖Aw‖ by integration, and plain steps with the growth of w∥."""
    for index in evidence.over(range(max(8, instances))):
        it = make(rng, ("general", "row space", "nearly in the row space"), condition=2.0)
        c = float(rng.choice([0.3, 1.0, 5.0])) * it.gstar**2 * float(it.lam.max())
        length = float(rng.choice([0.5, 1.0, 2.0])) if index % 2 else 1.0
        seen = float(np.linalg.norm(it.A @ it.w0))
        inside = float(np.linalg.norm(it.w0 - it.perp(it.w0)))
        scale = it.g0 if index % 8 else 0.0
        g, w = scale * seen, length * it.w0
        time = 200.0 * length**2 / it.gstar**2 / float(it.lam.min()) * max(1.0, inside**2)
        for _ in range(30):
            g, w = batchnorm_end(it.A, it.y, g, w, c / length**2, time)
            x = g * w / np.linalg.norm(it.A @ w)
            if np.linalg.norm(it.A @ x - it.y) <= 1e-8 * np.linalg.norm(it.y):
                break
        said = theory.batchnorm_limit(it.problem, scale, it.w0, c)
        kind = {"length": length, "sign change": bool(g * scale < 0), **it.summary}
        evidence.true("it applies", said.applies, **kind)
        evidence.equal("x", said.weights, x, rtol=1e-6, **kind)
        evidence.equal("g", said.scale, np.sign(g) * np.linalg.norm(x), rtol=1e-6, **kind)
        perp = it.q(x)
        for name in ("perp_norm", "distance"):
            evidence.equal(name, getattr(said, name), perp, rtol=1e-6, atol=1e-9, **kind)
        evidence.equal("norm", said.norm, np.linalg.norm(x), rtol=1e-6, **kind)
        if index < 6:
            _plain_batchnorm(evidence, it)
    _batchnorm_sign(evidence, rng)
    stuck = plain(0.0, [0.0, 1.0]).at(A=np.array([[1.0, 0, 0], [0, 1, 0]]), x=np.array([1.0, 0, 0]))
    for direct, scale, fine in (
        ([0.0, 0.6, 0.8], 0.0, False),
        ([1e-3, 0.6, 0.8], 0.0, True),
        ([0.0, 0.6, 0.8], 0.1, True),
    ):
        said = theory.batchnorm_limit(stuck.problem, scale, direct)
        evidence.true("not in S", said.applies == fine, scale=scale)


def _batchnorm_sign(evidence: Evidence, rng: Rng) -> None:
    """Starts with g against yᵀAw, 2 % on either side of the scale at which the sign turns."""
    for unit in (1.0, 0.4, 3.0, 2.0):
        it = make(rng, ("general",), condition=2.0, m=3)
        it = it.at(A=unit * it.A, c=float(rng.choice([0.02, 0.1])) * it.gstar**2 * unit**2)
        w = it.w0 * -np.sign(float(it.y @ (it.A @ it.w0)))

        def kept(scale: float, it: Instance = it, w: Array = w, unit: float = unit) -> bool:
            g, u = scale * float(np.linalg.norm(it.A @ w)), w
            for _ in range(40):
                g, u = batchnorm_end(it.A, it.y, g, u, it.c, 0.5 / (it.gstar * unit) ** 2)
                if g * float(it.y @ (it.A @ u)) > 0:
                    break
            return g > 0

        low, high = 0.0, 8.0 * it.gstar
        if not kept(high):
            evidence.skip("the scale always turns")
            continue
        for _ in range(9):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if kept(middle) else (middle, high)
        for scale in (0.98 * low, 1.02 * high):
            said = theory.batchnorm_limit(it.problem, scale, w, it.c)
            seen = 1.0 if scale > low else -1.0
            evidence.equal("beside the turn", np.sign(said.scale), seen, rtol=1e-12, **it.summary)


def _plain_batchnorm(evidence: Evidence, it: Instance) -> None:
    """Gradient descent on (g, w) with the steps η and γ: w∥ grows by η²Σ‖∇_w‖²."""
    g, w, grown = abs(it.g0) * it.p(it.w0), it.w0.copy(), 0.0
    if float(it.y @ (it.A @ w)) < 0:
        w = it.perp(w) - (w - it.perp(w))
    start, inside = w, float(np.sum((w - it.perp(w)) ** 2))
    eta, gamma = 0.6 * inside / it.gstar**2 / float(it.lam.max()), 0.5
    for _ in range(4000):
        by_g, by_w = batchnorm_slope(it.A, it.y, g, w)
        g, w, grown = g - gamma * by_g, w - eta * by_w, grown + eta**2 * float(by_w @ by_w)
        if abs(by_g) + np.linalg.norm(by_w) < 1e-13 * np.linalg.norm(it.y):
            break
    x = g * w / np.linalg.norm(it.A @ w)
    said = theory.batchnorm_limit(it.problem, abs(it.g0), start, 1.0, grown)
    evidence.equal("plain steps", said.weights, x, rtol=1e-6, **it.summary)


def _not_cancelled(it: Instance) -> float:
    """What is left of the two terms of the local rule, over their sizes."""
    ahead, steep = it.A @ it.w0, it.A.T @ it.y
    roots = np.roots([1.0, it.c * float(ahead @ ahead), -it.c * float(steep @ steep)])
    terms = float(roots.max()) * it.g0, it.c * float(it.y @ ahead)
    size = abs(terms[0]) + abs(terms[1])
    return abs(sum(terms)) / size if size > 0 else 0.0


@check("scale-sign")
def scale_sign(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The sign of the flow by integration; what decides it, by its own conditions; near S."""
    for index in evidence.over(range(2 * instances)):
        it = _near_the_separatrix(rng, index)
        said = theory.scale_sign(it.problem, it.g0, it.w0, it.c)
        end = flow_end(it, 0.49 * float(it.y @ it.y))
        evidence.equal("the sign", said.sign, np.sign(end.scale), rtol=1e-12, **it.summary)
        evidence.true("it applies", said.applies, **it.summary)
        a = float(it.w0 @ it.x) / it.gstar
        low = -it.c * np.log1p(-a * a)
        high = -2 * it.c * np.log(it.q(it.w0))
        left = it.loss(it.g0 * it.w0) / (0.5 * float(it.y @ it.y)) - 1.0
        if it.g0**2 > 1.001 * high or left < -1e-9:
            evidence.true("the start decides", said.decided_by == "start", **it.summary)
        elif it.g0 == 0.0:
            evidence.true("the pull decides", said.decided_by == "pull", **it.summary)
        elif index % 3 and it.g0**2 < 0.999 * low and it.g0 * a < 0:
            evidence.true("the bracket decides", said.decided_by == "bracket", **it.summary)
        elif not index % 3 and len(it.y) > 1 and left > 1e-9 and it.g0**2 < 0.999 * high:
            evidence.true("nothing else does", said.decided_by == "integration", **it.summary)
        offered = _from_s(it) <= 0.1 and _not_cancelled(it) > 0.5
        evidence.true("a local rule", (said.local is not None) == offered, **it.summary)
    for index in range(max(10, instances // 2)):
        it = _beside_s(rng, (0.97, 1.03, -1.0, 0.2, 4.0)[index % 5])
        said = theory.scale_sign(it.problem, it.g0, it.w0, it.c)
        end = flow_end(it, 0.49 * float(it.y @ it.y))
        offered = _from_s(it) <= 0.1 and _not_cancelled(it) > 0.5
        seen = np.sign(end.scale) if offered else None
        evidence.true("the sign near S", said.local == seen, **it.summary)
        evidence.true("and the other", said.sign == np.sign(end.scale), **it.summary)
    _next_to_s(evidence, rng, max(24, instances))
    _no_sign(evidence, rng)


def _next_to_s(evidence: Evidence, rng: Rng, instances: int) -> None:
    """So near S that the flow is linear until it has left: its growing part has the sign."""
    for index in range(instances):
        share, unit = (-1.0, 0.2, 0.999, 1.001)[index % 4], (1.0, 1e-2, 1e3)[index % 3]
        it = _in_units(_beside_s(rng, share, 10.0 ** rng.uniform(-11.0, -9.0)), unit)
        said = theory.scale_sign(it.problem, it.g0, it.w0, it.c)
        sign = np.sign(_growing_part(it))
        evidence.true("the linear flow's sign", said.sign == sign and said.applies, **it.summary)
        evidence.true("by that rule", said.decided_by in ("linear", "start", "bracket"))
        it = _in_units(_beside_s(rng, -1.0, 1e-16), unit)
        said = theory.scale_sign(it.problem, it.g0, it.w0, it.c)
        evidence.true("rounding decides", not said.applies and said.local is None, **it.summary)


def _in_units(it: Instance, unit: float) -> Instance:
    """The same instance with its features in other units."""
    return it.at(A=unit * it.A, x=it.x / unit, g0=it.g0 / unit, c=it.c / unit**2)


def _from_s(it: Instance) -> float:
    """How far a start is from S = {g = 0, yᵀAŵ = 0}: the largest of three shares."""
    return max(abs(it.g0) / it.gstar, abs(it.g0) / float(np.sqrt(it.c)), _pull(it))


def _growing_part(it: Instance) -> float:
    """The part of (g, yᵀAw) along what grows in the flow linearised at S, g's coefficient 1."""
    steep = float(np.sum((it.A.T @ it.y) ** 2))
    flat = np.array([[-it.c * it.p(it.w0) ** 2, it.c], [steep, 0.0]])
    values, left = np.linalg.eig(flat.T)
    out = left[:, int(np.argmax(values.real))].real
    return it.g0 + float(out[1] / out[0] * (it.y @ (it.A @ it.w0)))


def _pull(it: Instance) -> float:
    return abs(float(it.y @ (it.A @ it.w0))) / float(np.linalg.norm(it.A.T @ it.y))


def _near_the_separatrix(rng: Rng, index: int) -> Instance:
    """Of three one any A, of three two with y an eigenvector of AAᵀ; scales around the bracket."""
    m = (3, 3, 1, 2, 2, 3)[index % 6]
    it = make(rng, ("general",), condition=2.0, m=m)
    if index % 3:
        axis = np.linalg.eigh(it.A @ it.A.T)[1][:, int(rng.integers(m))]
        x = it.A.T @ axis
        it = it.at(x=it.gstar * x / np.linalg.norm(x))
    it = it.at(c=float(rng.choice([0.3, 1.0, 3.0])) * it.gstar**2)
    w = direction(rng, it)
    a = float(w @ it.x) / it.gstar
    low, high = np.sqrt(-it.c * np.log1p(-a * a)), np.sqrt(-2 * it.c * np.log(it.q(w)))
    between = 0.5 * (low + high) if m > 1 else 0.9 * low  # for one sample they are equal
    g0 = float(rng.choice([0.5 * low, 0.95 * low, between, 1.05 * high]))
    if index % 12 == 5:
        g0 = 0.0
    return it.at(w0=w, g0=g0 * (1.0 if index % 7 == 0 else -float(np.sign(a))))


def _beside_s(rng: Rng, share: float, size: float = 1e-3) -> Instance:
    """A start beside S, with this share of the scale that would be drawn into it."""
    it = make(rng, ("general",), condition=2.0, m=int(rng.integers(1, 4)))
    it = it.at(c=float(rng.choice([0.3, 1.0, 12.0])) * it.gstar**2)
    pull = it.A.T @ it.y
    pull /= np.linalg.norm(pull)
    w = direction(rng, it, "row space" if it.c > it.gstar**2 and len(it.y) > 1 else "general")
    w -= (w @ pull) * pull
    w = w / np.linalg.norm(w) + float(rng.choice([-size, size])) * pull
    it = it.at(w0=w / np.linalg.norm(w), g0=0.0)
    return it.at(g0=-share * _growing_part(it))


def _no_sign(evidence: Evidence, rng: Rng) -> None:
    """In S, on its stable set for one sample, and a convex loss."""
    two = LeastSquares([[1.0, 0, 0], [0, 1.0, 0]], [1.0, 0.0])
    for first, fine in ((0.0, False), (1e-6, True), (-1e-6, True)):
        said = theory.scale_sign(two, 0.0, [first, 0.6, 0.8])
        evidence.true("not in S", said.applies == fine, first=first)
        if fine:
            evidence.true("the pull", said.sign == np.sign(first) and said.decided_by == "pull")
    one = plain(1.0, [-0.6, 0.8])
    for g0, sign in ((0.99, -1.0), (1.0, None), (1.01, 1.0)):
        said = theory.scale_sign(one.problem, g0, one.w0, -1.0 / (2 * np.log(0.8)))
        evidence.true("F0 = 1", said.applies == (sign is not None), g0=g0)
        evidence.true("beside it", sign is None or said.sign == sign, g0=g0)
    A = np.linalg.qr(rng.standard_normal((9, 2)))[0] @ rng.standard_normal((2, 4))
    y = 2.0 * rng.standard_normal(9)
    for g0 in (-0.5, 0.3, 1.0):
        w = rng.standard_normal(4)
        w /= np.linalg.norm(w)
        gradient = gradient_of("huber", A, y)
        said = theory.scale_sign(GeneralizedLinear(A, y, "huber"), g0, w, 1.0)
        g, _ = flow_at(gradient, g0, w, 1.0, 60.0)
        evidence.true("another loss", said.sign == np.sign(g), g0=g0)
        evidence.true("no local rule for it", said.local is None)


@check("margin-offset")
def margin_offset(evidence: Evidence, rng: Rng, instances: int) -> None:
    """v, α, ρ and Δ by other algebra, and the flow in the scale up to g = 60/margin."""
    from scipy.optimize import nnls

    kept = 0
    for _ in range(8 * max(3, instances // 4)):
        if kept == max(3, instances // 6):
            break
        m, d = int(rng.integers(3, 6)), int(rng.integers(2, 6))
        rows, labels = rng.standard_normal((m, d)), rng.choice([0.0, 1.0], m)
        rows[:, 0] = 0.3 + np.abs(rows[:, 0])  # the first axis separates them
        signs = 2 * labels - 1
        said = theory.max_margin_offset(
            GeneralizedLinear(signs[:, None] * rows, labels, "logistic")
        )
        margins = rows @ said.direction
        point = nearest_in_hull(rows)
        evidence.equal("v", said.direction, point / np.linalg.norm(point), rtol=1e-3)
        # v = Σ α_i z_i with α ≥ 0 over the rows nearest to the boundary
        nearest = np.flatnonzero(margins < margins.min() * (1 + 1e-5))
        dual = np.zeros(m)
        dual[nearest] = nnls(rows[nearest].T, said.direction)[0]
        evidence.equal("v", dual @ rows, said.direction, rtol=1e-6)
        evidence.equal("margin", said.margin, margins.min(), rtol=1e-9)
        evidence.equal("loss constant", said.loss_constant, 1 / margins.min() ** 2, rtol=1e-9)
        support = np.flatnonzero(dual > 1e-5 * dual.max())
        others = np.setdiff1d(np.arange(m), support)
        gap = float(np.sort(margins)[support.size] - said.margin) if others.size else np.inf
        if gap < 1e-3 or np.linalg.matrix_rank(rows[support]) < support.size:
            continue
        evidence.true("it applies", said.applies)
        evidence.true("support", np.array_equal(said.support, support))
        evidence.equal("α", said.dual, dual[support], rtol=1e-5)
        gaps = np.nan_to_num([said.others, gap], posinf=-1.0)
        evidence.equal("Δ", gaps[0], gaps[1], rtol=1e-6)
        # ρ in the span of the support, ⟂ v, with Zρ + κ = −log α
        Z, n = rows[support], support.size
        system = np.zeros((n + 1, n + 1))
        system[:n, :n], system[:n, n], system[n, :n] = Z @ Z.T, 1.0, Z @ said.direction
        answer = np.linalg.solve(system, np.append(-np.log(dual[support]), 0.0))
        evidence.equal("ρ", said.offset, answer[:n] @ Z, rtol=1e-5, atol=1e-9)
        if support.size < 2 or gap < 0.3 * said.margin or dual[support].min() < 0.1 * dual.max():
            continue
        kept += 1
        off_it = 0.3 * rng.standard_normal(d)
        while (rows @ (said.direction + off_it)).min() <= 0:  # g must grow
            off_it = 0.5 * off_it
        w = said.direction + off_it
        near, far = 30.0 / said.margin, 60.0 / said.margin
        (one, _), (two, product) = margin_path(rows, w / np.linalg.norm(w), 1.0, (near, far))
        off = [
            float(np.linalg.norm(g * (u - said.direction) - said.offset))
            for g, u in ((near, one), (far, two))
        ]
        size = float(np.linalg.norm(said.offset)) + 0.3
        evidence.at_most("g(ŵ − v) → ρ", off[1], 0.3 * size, m=m, d=d)
        evidence.at_most("like 1/g", off[1], 0.65 * off[0] + 1e-3 * size, m=m, d=d)
        evidence.equal("L·t·c", said.loss_constant, product, rtol=0.02, m=m, d=d)
    twice = GeneralizedLinear([[1.0, 0.0], [1.0, 0.0], [2.0, 3.0]], [1, 1, 1], "logistic")
    evidence.true("dependent support", not theory.max_margin_offset(twice).applies)
    touched = GeneralizedLinear([[1.0, 0.0], [1.0, 1.0]], [1, 1], "logistic")
    evidence.true("a weight of zero", not theory.max_margin_offset(touched).applies)


@check("grouped-scales")
def grouped_scales(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The flow of three blocks with a scale each, integrated: every invariant at every time."""
    for _ in evidence.over(range(max(6, instances // 3))):
        m, blocks = int(rng.integers(1, 4)), [int(b) for b in rng.integers(m_least(), 7, 3)]
        d = sum(blocks)
        A, y = rng.standard_normal((m, d)), rng.standard_normal(m)
        g = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.3, 1.2, 3)
        w, c = rng.standard_normal(d), rng.choice([0.3, 1.0, 3.0], 3)
        ends = np.cumsum(blocks)
        parts = [slice(end - size, end) for end, size in zip(ends, blocks, strict=True)]
        start = theory.grouped_invariant(A, g, w, blocks, c)
        for k, part in enumerate(parts):
            off = w[part] - np.linalg.pinv(A[:, part]) @ (A[:, part] @ w[part])
            share = np.log(np.linalg.norm(off) / np.linalg.norm(w[part]))
            evidence.equal("as it says", start[k], share + g[k] ** 2 / (2 * c[k]), rtol=1e-9)
        for time in (0.05, 0.5, 8.0):
            scales, turned = grouped_flow(A, y, g, w, parts, c, time)
            later = theory.grouped_invariant(A, scales, turned, blocks, c)
            evidence.equal("constant", later, start, rtol=1e-6, atol=1e-7, m=m, d=d)
        evidence.true("no block ends at zero", np.abs(scales).min() > 1e-3, m=m, d=d)
        one = theory.grouped_invariant(A, g, w, blocks, 2.0)
        same = theory.grouped_invariant(A, g, 3.0 * w, blocks, [2.0] * 3)
        evidence.equal("one ratio, any ‖w‖", one, same, rtol=1e-12)
    inside = theory.grouped_invariant([[1.0, 0, 1.0, 0]], [1.0, 1.0], [1.0, 0, 0.6, 0.8], [2, 2])
    evidence.true("in the rows", np.isneginf(inside[0]) and np.isfinite(inside[1]))
    low = theory.grouped_invariant([[1.0, 0, 0], [2.0, 0, 0]], [1.0], [0.6, 0.8, 0.0], [3])
    evidence.equal("of low rank", low, np.log(0.8) + 0.5, rtol=1e-12)


def m_least() -> int:
    """Columns of the smallest block: more than samples, for a part off the rows."""
    return 4


@check("label-noise")
def label_noise(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Many runs with fresh noise on y: the mean drift, the equilibrium and ‖w‖⁴."""
    copies, steps, burn = max(24, 2 * instances), 1200, 150
    cases: list[Any] = []
    for kind in ("reaches", "settles", "settles", "wn", "wn"):
        it = make(rng, ("general",), condition=1.3, m=3)
        V = np.linalg.svd(it.A, full_matrices=False)[2]
        wide, x = np.column_stack([it.A @ V.T, np.zeros(3)]), np.append(V @ it.x / it.gstar, 0.0)
        unit = 1.0 if len(cases) % 2 else 1.3
        c, x = unit**2 * {"reaches": 0.3, "settles": 6.0, "wn": 0.5}[kind], unit * x
        cases.append((kind, Instance(wide, x, 1.0, x, c, kind)))
    eta, sigma = 0.012, 0.4
    A, y, g, w, made, gamma = [], [], [], [], [], []
    for place, (_, it) in enumerate(cases):
        said = theory.noise_equilibrium(it.problem, eta, it.c, sigma)
        size = max(1.15 * it.gstar, said.norm * (1.7 if place == 2 else 1.0))
        off = np.sqrt(size**2 - it.gstar**2)
        made.append((said, size))
        A += [it.A] * copies
        y += [it.y] * copies
        g += [size] * copies
        w += [(it.x + off * np.eye(4)[3]) / size] * copies
        gamma += [it.c * eta] * copies
    on = np.repeat([kind == "wn" for kind, _ in cases], copies)
    runs = SimulatedRuns(
        np.array(A), np.array(y), np.array(g), np.array(w), eta, np.array(gamma), wn=on,
        noise=sigma, rng=rng,
    )  # fmt: skip
    ratio = np.array(gamma) / eta

    def kept() -> Array:
        length = np.linalg.norm(runs.w, axis=1)
        log = np.log(np.abs(runs.w[:, -1]) / length)
        return np.asarray(np.where(on, length**4, log + runs.g**2 / (2 * ratio)))

    for _ in range(burn):
        runs.step()
    before, scales = kept(), runs.g**2
    for _ in range(steps):
        runs.step()
    gained = (kept() - before) / steps
    squares = 0.5 * (scales + runs.g**2)
    for place, (kind, it) in enumerate(cases):
        mine = slice(place * copies, (place + 1) * copies)
        mean, error = float(np.mean(gained[mine])), float(np.std(gained[mine])) / np.sqrt(copies)
        size = float(np.sqrt(np.mean(squares[mine])))
        length = float(np.sqrt(np.mean(np.linalg.norm(runs.w[mine], axis=1) ** 2)))
        name = "wn" if kind == "wn" else "rpgd"
        said = theory.noise_equilibrium(it.problem, eta, it.c, sigma, size, name, 1.0)
        trace, square = float(np.sum(it.A**2)), float(it.y @ it.y)
        unit = 0.5 * (eta * sigma) ** 2 * size**2 * trace
        room = 0.05 * abs(mean) + 4 * error + (0.035 * unit if place < 2 else 0.0)
        told = {"kind": kind, "predicted": said.drift, "seen": mean, "length": length}
        evidence.at_most("the drift", abs(said.drift - mean), room, **told)
        # runs see it to some percent: its constants, from the second moments written out
        G = max(size, it.gstar) ** 2
        spare = G * trace - (square if name == "wn" else (2 + it.c / G) * square)
        exact = (2.0 if name == "wn" else -0.5) * (eta * sigma) ** 2 * spare
        evidence.equal("its constants", said.drift, exact, rtol=1e-9, kind=kind)
        evidence.true("it applies", said.applies, **told)
        there = made[place][0]
        reaches = trace * it.gstar**2 >= (2 + it.c / it.gstar**2) * square
        evidence.true("whether it reaches x*", there.reaches_min_norm == reaches, **told)
        if name == "rpgd":
            flat = theory.noise_equilibrium(it.problem, eta, it.c, sigma).drift
            evidence.true("at rest", abs(flat) < 1e-9 * unit if not reaches else flat <= 0, **told)
            evidence.true("rPGD has no turn", said.turning_norm == np.inf)
            evidence.equal(
                "the smallest norm", there.norm, it.gstar if reaches else there.norm, 1e-9
            )
        if place == 1:
            evidence.at_most("the equilibrium", abs(mean), 0.1 * unit + 4 * error, **told)
        if name == "wn":
            evidence.true("it grows without bound", said.norm == np.inf, **told)
            evidence.true("it does not reach x*", not said.reaches_min_norm, **told)
    _where_noise_stops(evidence, rng)
    _turning(evidence, rng)


def _where_noise_stops(evidence: Evidence, rng: Rng) -> None:
    """One sample: G = y²(1 + √(1 + c))/1 for A = [1, 0]; and what is refused."""
    for c, square in ((3.0, 3.0), (8.0, 4.0), (0.21, 2.1)):
        said = theory.noise_equilibrium(LeastSquares([[1.0, 0.0]], [1.0]), 0.01, c, 0.1)
        evidence.equal("one sample", said.norm**2, square, rtol=1e-9)
        evidence.true("never x*", not said.reaches_min_norm)
        evidence.true("it applies", said.applies)
    one = LeastSquares([[1.0, 0.0]], [1.0])
    evidence.true("under g*", not theory.noise_equilibrium(one, 0.01, 1.0, 0.1, 0.5).applies)
    evidence.true("a result's norm", theory.noise_equilibrium(one, 0.01, 1.0, 0.1, 1.5).applies)
    for eta, fine in ((0.3, True), (0.5, False)):
        said = theory.noise_equilibrium(one, eta, 1.0, 0.1, 1.5)
        evidence.true("small steps", said.applies == fine, eta=eta)
        said = theory.noise_equilibrium(one, 4 * eta, 1.0, 0.1, 1.5, "wn", 2.0)
        evidence.true("small for ‖w‖", said.applies == fine, eta=eta)
    long = theory.noise_equilibrium(one, 0.01, 1.0, 0.1, 1.5, "rpgd", 2.0)
    evidence.true("‖w‖ = 1", not long.applies)
    only = LeastSquares([[1.0]], [1.0])
    evidence.equal("one solution", theory.noise_equilibrium(only, 0.01, 3.0, 0.1).norm, 1.0, 1e-12)
    wide = LeastSquares([[1.0, 0, 0], [0, 3.0, 0]], [1.0, 0.0])  # tr = 10, ‖y‖² = g*² = 1
    for eta, fine in ((0.11, True), (0.115, False)):  # η‖x‖²λmax on either side of 1
        said = theory.noise_equilibrium(wide, eta, 1.0, 0.1, 1.0)
        evidence.true("small steps", said.applies == fine, eta=eta)
    flat = theory.noise_equilibrium(one, 0.01, 1.0, 0.1, 1.0, "wn")
    evidence.true("nothing to turn at x*", flat.turning_norm == 0.0 and flat.drift == 0.0)
    for scale in (0.5, 2.0):  # the same problem in another unit of x
        told = LeastSquares([[1.0, 0, 0], [0, 3.0, 0]], [scale, 0.0])
        for c, fine in ((7.9 * scale**2, True), (8.1 * scale**2, False)):
            said = theory.noise_equilibrium(told, 0.01, c, 0.1)
            evidence.true("in any unit", said.reaches_min_norm == fine, c=c)
    for c, fine in ((7.9, True), (8.1, False)):
        said = theory.noise_equilibrium(wide, 0.01, c, 0.1)
        evidence.true("reaches x*", said.reaches_min_norm == fine, c=c)


def _turning(evidence: Evidence, rng: Rng) -> None:
    """WN: q falls at half the turning ‖w‖ and rises at twice of it."""
    copies, eta, sigma, c = 64, 0.02, 0.3, 0.5
    A = np.column_stack([np.eye(2), np.zeros(2)])
    y = np.array([1.0, 0.3])
    problem = LeastSquares(A, y)
    size = float(np.sqrt(2.0 * (y @ y)))
    turn = theory.noise_equilibrium(problem, eta, c, sigma, size, "wn").turning_norm
    trace, square = 2.0, float(y @ y)
    N = size**2 * (size**2 * trace - square) / (c * square)
    evidence.equal("where it turns", turn, np.sqrt(N), rtol=1e-9)
    unit = np.append(y, np.sqrt(size**2 - square)) / size
    lengths = np.repeat([0.5, 2.0], copies) * turn
    n = lengths.size
    steps = eta * lengths**2
    runs = SimulatedRuns(
        np.repeat(A[None], n, 0), np.repeat(y[None], n, 0), np.full(n, size),
        lengths[:, None] * unit, steps, c * steps, wn=True, noise=sigma, rng=rng,
    )  # fmt: skip

    def settled() -> Array:
        """log q where the flow without noise would end from here, by halving."""
        N = np.sum(runs.w**2, axis=1)
        kept = 0.5 * np.log(runs.w[:, -1] ** 2 / N) + runs.g**2 / (2 * c * N)
        low, high = np.full(n, -20.0), np.full(n, -1e-9)
        for _ in range(60):
            middle = 0.5 * (low + high)
            over = middle + square / (1 - np.exp(2 * middle)) / (2 * c * N) > kept
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return low

    for _ in range(50):
        runs.step()
    logs = settled()
    for _ in range(400):
        runs.step()
    rise = (settled() - logs).reshape(2, copies)
    for place, sign in enumerate((-1.0, 1.0)):
        error = float(np.std(rise[place])) / np.sqrt(copies)
        mean = float(np.mean(rise[place]))
        told = {"place": place, "mean": mean, "error": error}
        evidence.true("q before and after", sign * mean > 3 * error, **told)


@check("coordinate-wise")
def coordinate_wise(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The same problem turned: WN, Adam and sign descent, in plain loops."""
    angles = np.array([0.0, 22.5, 45.0])
    ends = coordinate_ends(angles)
    for rule, seen in ends.items():
        said = [theory.coordinate_wise_end(rule, float(angle)) for angle in angles]
        for k, each in enumerate(said):
            evidence.true("it has settled", each.applies, rule=rule, angle=angles[k])
            evidence.equal("the unseen part", each.value, seen[k], rtol=2e-3, rule=rule)
        values = [each.value for each in said]
        spread = max(values) - min(values)
        evidence.true("it depends on the axes", (spread > 0.05) == (rule != "wn"), rule=rule)
    flow = theory.flow_limit(LeastSquares([[1.0, 0.0]], [1.0]), 0.5, [0.6, 0.8])
    evidence.equal("WN and the flow", theory.coordinate_wise_end("wn", 10.0).value,
                   flow.perp_norm, rtol=2e-3)  # fmt: skip
