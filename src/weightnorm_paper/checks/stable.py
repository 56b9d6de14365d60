"""Checks of stability: the largest steps, the norms at which rPGD can settle, and decay."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm._support.numeric import Array
from weightnorm.problems import GeneralizedLinear, LeastSquares

from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng, make
from ..evidence.simulate import gradient_of
from ..evidence.simulate_training import (
    SimulatedRuns,
    batchnorm_slope,
    decayed_flow,
    normalised_step,
    shrinkage,
)

MOMENTA = ((0.0, False), (0.5, False), (0.9, False), (0.5, True), (0.9, True))
SETTINGS = tuple((method, *each) for each in MOMENTA for method in ("rpgd", "wn", "batchnorm"))


def _solution(rng: Rng, it: Instance, more: float) -> tuple[float, Array]:
    """g and a unit w of a solution with ‖x⊥‖ = more·g*, and either sign of g."""
    x = it.x
    if more > 0:
        off = it.perp(rng.standard_normal(it.x.size))
        x = x + more * it.gstar * off / np.linalg.norm(off)
    g = float(np.linalg.norm(x)) * float(rng.choice([-1.0, 1.0]))
    return g, x / g


def _separate(it: Instance, method: str, g: float, w: Array) -> tuple[Array, Array]:
    """What a unit step of w and one of g take off the residual: K is linear in both."""

    def by_x(x: Any) -> Any:
        return it.A.T @ (it.A @ x - it.y)

    if method == "batchnorm":
        scale = g * float(np.linalg.norm(it.A @ w)) / float(np.linalg.norm(w))
        state = np.concatenate([[scale], w])

        def residual(z: Any) -> Any:
            seen = it.A @ z[1:]
            return z[0] * seen / np.sqrt(np.sum(seen * seen)) - it.y

        def steps(eta: float, gamma: float) -> Any:
            def step(z: Any) -> Any:
                by_g, by_w = batchnorm_slope(it.A, it.y, z[0], z[1:])
                return np.concatenate([[z[0] - gamma * by_g], z[1:] - eta * by_w])

            return step
    else:
        state = np.concatenate([[g], w])

        def residual(z: Any) -> Any:
            return it.A @ (z[0] * z[1:] / np.sqrt(np.sum(z[1:] * z[1:]))) - it.y

        def steps(eta: float, gamma: float) -> Any:
            return normalised_step(by_x, method, eta, gamma)

    return (
        shrinkage(residual, steps(1.0, 0.0), state),
        shrinkage(residual, steps(0.0, 1.0), state),
    )


def _rate(K: Array, beta: float, nesterov: bool) -> float:
    """The spectral radius of v ← βv + Kr, r ← r − v (Nesterov: r − Kr − βv)."""
    m = len(K)
    eye, none = np.eye(m), np.zeros((m, m))
    push = np.block([[eye, none], [K, beta * eye]])
    move = np.block([[eye - K, -beta * eye] if nesterov else [eye, -eye], [none, eye]])
    both = move @ push
    if nesterov:  # the gradient is that of the old residual
        both[:m, :m] = eye - K - beta * K
        both[:m, m:] = -(beta**2) * eye
    return float(np.abs(np.linalg.eigvals(both)).max())


@check("stable-steps")
def stable_steps(evidence: Evidence, rng: Rng, instances: int) -> None:
    """K by complex steps of the plain methods at a solution; every other number from it."""
    for index in evidence.over(range(max(15, instances))):
        method, beta, ahead = SETTINGS[index % len(SETTINGS)]
        top = 2 * (1 + beta) / ((1 + 2 * beta) if ahead else 1.0)
        it = make(rng, m=None if index % 5 else 1 + index // 5 % 2)
        g, unit = _solution(rng, it, float(rng.choice([0.0, 0.1, 1.0, 2.0])))
        size = float(rng.choice([0.5, 1.0, 3.0])) if method != "rpgd" else 1.0
        turn, stretch = _separate(it, method, g, size * unit)
        steepest = [float(np.linalg.eigvals(each).real.max()) for each in (turn, stretch)]
        eta = float(rng.uniform(0.1, 0.9)) * top / max(steepest[0], 1e-3 * it.gstar**2)
        gamma = float(rng.uniform(0.1, 0.9)) * top / steepest[1]
        if index % 4 == 3:  # beyond the edge
            eta, gamma = 2.0 * eta, 1.5 * gamma

        def under(eta: float, gamma: float, at: Any = (turn, stretch)) -> Array:
            return np.sort(np.linalg.eigvals(eta * at[0] + gamma * at[1]).real)

        said = theory.stability(it.problem, abs(g), eta, gamma, method, beta, ahead, size)
        seen, kind = under(eta, gamma), {"method": method, "beta": beta, **it.summary}
        largest = max(abs(seen).max(), 1e-9)
        evidence.equal("K", said.eigenvalues, seen, rtol=1e-8, atol=1e-9 * largest, **kind)
        if abs(seen.max() / top - 1) > 1e-9:
            evidence.true("stable", said.stable == (seen.max() < top), **kind)
        evidence.equal("threshold", said.threshold, top, rtol=1e-12)
        whole = eta * turn + gamma * stretch
        evidence.equal("rate", said.rate, _rate(whole, beta, ahead), rtol=2e-6, **kind)
        evidence.true("solutions of this norm exist", said.applies, **kind)
        for name, alone in (("max_scale_step", (eta, 0.0)), ("max_direction_step", (0.0, gamma))):
            most = float(getattr(said, name))
            free = bool(under(*alone).max() < top)
            evidence.true(f"{name}: room", (most > 0) == free, **kind)
            if np.isinf(most):
                far = under(1e6 / it.gstar**2, gamma).max()
                evidence.true("no largest", name == "max_direction_step" and far < top, **kind)
            elif most > 0:
                edge = under(eta, most) if name == "max_scale_step" else under(most, gamma)
                evidence.equal(name, edge.max(), top, rtol=1e-7, **kind)
    _maps(evidence, rng)
    _zeros(evidence)
    _from_nearby(evidence, rng)
    _convex_loss(evidence, rng)


def _maps(evidence: Evidence, rng: Rng) -> None:
    """Arrays of steps, gradient descent, and what there is no solution for."""
    it = make(rng, ("general",), condition=3.0, m=3)
    lam = float(it.lam.max())
    eta, gamma = np.geomspace(0.01, 3.0, 7) / it.gstar**2, np.geomspace(0.1, 9.0, 5)
    norm = 1.3 * it.gstar
    for method in ("rpgd", "batchnorm", "gd"):
        whole = theory.stability(it.problem, norm, eta[:, None], gamma, method)
        for place in np.ndindex(7, 5):
            one = theory.stability(it.problem, norm, eta[place[0]], gamma[place[1]], method)
            for name in ("stable", "rate", "max_direction_step", "max_scale_step"):
                both = np.nan_to_num([getattr(whole, name)[place], getattr(one, name)], posinf=-1)
                evidence.equal(name, both[0], both[1], rtol=1e-12)
        evidence.true("shapes", whole.eigenvalues.shape == (7, 5, 3))
    seen = theory.stability(it.problem, norm, 1.5 / lam, 0.0, "gd")
    evidence.equal("gradient descent", seen.eigenvalues, 1.5 / lam * it.lam, rtol=1e-10)
    evidence.equal("its largest step", seen.max_direction_step, 2.0 / lam, rtol=1e-10)
    evidence.true("it has no scale", seen.max_scale_step == np.inf)
    run = SimpleNamespace(norm=norm, direction_norm=2.0)
    given = theory.stability(it.problem, run, 0.1, 0.1, "wn").eigenvalues
    known = theory.stability(it.problem, norm, 0.1, 0.1, "wn", direction_norm=2.0).eigenvalues
    evidence.equal("where a run ended", given, known, rtol=1e-13)
    other = theory.stability(it.problem, run, 0.1, 0.1, "wn", direction_norm=1.0).eigenvalues
    plain = theory.stability(it.problem, norm, 0.1, 0.1, "wn").eigenvalues
    evidence.equal("its ‖w‖ replaced", other, plain, rtol=1e-13)
    at_best = theory.stability(it.problem, None, 0.1, 0.1).eigenvalues
    same = theory.stability(it.problem, it.gstar, 0.1, 0.1).eigenvalues
    evidence.equal("the smallest norm by default", at_best, same, rtol=1e-9)
    for share, fine in ((0.9, False), (1.0, True), (1.1, True)):
        said = theory.stability(it.problem, share * it.gstar, 0.1, 0.1)
        evidence.true("not under g*", said.applies == fine, share=share)
    square = LeastSquares([[1.0, 0.5], [0.0, 2.0]], [1.0, 1.0])
    one = theory.stability(square, None, 0.1, 0.1)
    evidence.true("one solution", one.applies)
    evidence.true("and no other", not theory.stability(square, 9.0, 0.1, 0.1).applies)
    near = 1.05 * float(np.linalg.norm(np.linalg.solve([[1.0, 0.5], [0.0, 2.0]], [1.0, 1.0])))
    evidence.true("not even near", not theory.stability(square, near, 0.1, 0.1).applies)
    evidence.true("but for descent", theory.stability(square, 9.0, 0.1, 0.1, "gd").applies)


def _zeros(evidence: Evidence) -> None:
    """A y that feels not every eigenvalue, equal eigenvalues, eigenvalues of exactly 2, no step at
    all; and the rate of every eigenvalue from 0 to the threshold.
    """
    A, G = np.diag([1.0, 2.0, 2.0, 1.0])[:, :5] @ np.eye(4, 6), 8.0
    for y in ([2.0, 0, 0, 0], [0.0, 2.0, 0, 0], [0.0, 1.0, 1.0, 0], [1.0, 0, 1.0, 1.0]):
        problem, outer = LeastSquares(A, y), np.outer(y, y)
        for eta in (0.0, 1 / 64, 1 / 16, 1 / 10, 1 / 4):
            for gamma in (0.0, 0.5, 3.0, 4.0, 9.0):
                K = eta * (G * A @ A.T - outer) + gamma / G * outer
                seen = np.linalg.eigvalsh(K)
                said = theory.stability(problem, np.sqrt(G), eta, gamma)
                told = {"eta": eta, "gamma": gamma}
                evidence.equal("K", said.eigenvalues, seen, rtol=1e-12, atol=1e-13, **told)
                evidence.equal("rate", said.rate, np.abs(1 - seen).max(), rtol=1e-11, **told)
                if abs(seen.max() - 2) > 1e-9:
                    evidence.true("stable", said.stable == (seen.max() < 2), **told)
                if said.max_scale_step > 0:
                    edge = eta * (G * A @ A.T - outer) + said.max_scale_step / G * outer
                    evidence.equal("γ_max", np.linalg.eigvalsh(edge).max(), 2.0, rtol=1e-9, **told)
    A, felt = np.diag([1.0, 1.05]) @ np.eye(2, 3), np.array([1.0, 0.2])
    etas, gammas = np.linspace(0.0, 0.6, 31)[:, None], np.linspace(0.0, 30.0, 31)
    stable = theory.stability(LeastSquares(A, felt), np.sqrt(G), etas, gammas).stable
    outer, turn = np.outer(felt, felt), G * A @ A.T - np.outer(felt, felt)
    K = etas[..., None, None] * turn + gammas[:, None, None] / G * outer
    tops = np.linalg.eigvalsh(K).max(axis=-1)
    right = (stable == (tops < 2)) | (np.abs(tops - 2) < 1e-9)
    evidence.equal("a map", float(np.mean(right)), 1.0, rtol=1e-12)
    side = LeastSquares([[1.0, 0, 0], [0, 2.0, 0]], [2.0, 0.0])
    evidence.true("on the edge, unfelt", not theory.stability(side, 2.0, 1 / 8, 0.1).stable)
    evidence.true("under it", theory.stability(side, 2.0, 0.999 / 8, 0.1).stable)
    one = LeastSquares([[1.0, 0.0]], [2.0])  # at x*: K = γ, and ηG = 2 is a pole
    for gamma, fine in ((1.0, True), (1.99, True), (2.01, False), (3.0, False)):
        said = theory.stability(one, 2.0, 0.5, gamma)
        evidence.true("on a pole", said.stable == fine, gamma=gamma)
    for method in ("gd", "batchnorm"):
        still = theory.stability(side, 2.0, 0.0, 0.0, method)
        evidence.equal("no step", still.rate, 1.0, rtol=1e-12, method=method)
        evidence.equal("K = 0", still.eigenvalues, [0.0, 0.0], rtol=0, atol=1e-15, method=method)
        evidence.true("stays", still.stable, method=method)
    for beta, ahead in MOMENTA:
        for k in np.linspace(0.0, 2.5, 26):
            said = theory.stability(one, 2.0, 0.1, k, "rpgd", beta, ahead)
            first = (1 + beta) * (1 - k) if ahead else 1 + beta - k
            roots = np.roots([1.0, -first, beta * (1 - k) if ahead else beta])
            largest = float(np.abs(roots).max())
            evidence.equal("a root", said.rate, largest, rtol=1e-6, atol=1e-6, k=k, beta=beta)


def _from_nearby(evidence: Evidence, rng: Rng) -> None:
    """Runs from 1e-8 beside a solution, at 0.97 and 1.03 of the largest step of w and of g."""
    it = make(rng, ("general",), condition=2.0, m=3)
    g, unit = _solution(rng, it, 0.7)
    made: list[tuple[Any, ...]] = []
    for method in ("rpgd", "wn"):
        for beta, ahead in MOMENTA:
            base = (0.3 / it.gstar**2, 0.3 * g**2 / float(it.y @ it.y))
            said = theory.stability(it.problem, abs(g), *base, method, beta, ahead)
            for share in (0.97, 1.03):
                wide = (share * said.max_direction_step, base[1])
                tall = (base[0], share * said.max_scale_step)
                made += [(method == "wn", beta, ahead, share, *each) for each in (wide, tall)]
    columns = [np.array(each) for each in zip(*made, strict=True)]
    wn, betas, nesterov, shares, eta, gamma = columns
    n = len(made)
    start = unit + 1e-8 * rng.standard_normal((n, unit.size))
    start /= np.linalg.norm(start, axis=1)[:, None]
    runs = SimulatedRuns(
        np.repeat(it.A[None], n, 0), np.repeat(it.y[None], n, 0), np.full(n, g), start, eta, gamma,
        wn=wn, beta=betas, nesterov=nesterov,
    )  # fmt: skip
    runs.step()
    first = np.linalg.norm(runs.residual, axis=1)
    widest = first.copy()
    for _ in range(500):
        runs.step()
        widest = np.maximum(widest, np.linalg.norm(runs.residual, axis=1))
    for place in range(n):
        kind = {"wn": wn[place], "beta": betas[place], "nesterov": nesterov[place]}
        grown = widest[place] / first[place]
        evidence.true("a run beside a solution", (grown > 1e3) == (shares[place] > 1), **kind)


def _convex_loss(evidence: Evidence, rng: Rng) -> None:
    """Logistic loss on classes that overlap: the Hessian at the minimum takes AᵀA's place."""
    A = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 6)) / 9.0
    A[1] = A[0]
    y = np.concatenate([[0.0, 1.0], np.zeros(5), np.ones(5)])
    problem = GeneralizedLinear(A, y, "logistic")
    x, gradient = problem.minimum().weights, gradient_of("logistic", A, y)
    V = np.linalg.svd(A, full_matrices=False)[2][:3]
    off = rng.standard_normal(6)
    off -= V.T @ (V @ off)
    for more in (0.0, 0.5):
        at = x + more * off
        g = float(np.linalg.norm(at))
        state = np.concatenate([[g], at / g])

        def residual(z: Any) -> Any:
            return V @ gradient(z[0] * z[1:] / np.sqrt(np.sum(z[1:] * z[1:])))

        K = shrinkage(residual, normalised_step(gradient, "rpgd", 0.4, 0.7), state)
        said = theory.stability(problem, g, 0.4, 0.7)
        seen = np.sort(np.linalg.eigvals(K).real)
        evidence.equal("K of a convex loss", said.eigenvalues, seen, rtol=1e-6, more=more)
        evidence.true("its minimum", said.applies)
        slow = theory.stability(problem, g, 0.4, 0.7, "gd").eigenvalues
        seen = np.sort(np.linalg.eigvalsh(0.4 * _hessian(A, x)))[-3:]
        evidence.equal("its Hessian", slow, seen, rtol=1e-6)
    full = GeneralizedLinear(np.vstack([A[:, :2], A[:, :2]]), np.append(y, 1 - y), "huber")
    size = float(np.linalg.norm(full.minimum().weights))
    evidence.true("no other minimum", not theory.stability(full, 2.0 * size, 0.1, 0.1).applies)
    evidence.true("but this", theory.stability(full, size, 0.1, 0.1).applies)


def _hessian(A: Array, x: Array) -> Array:
    odds = 1 / (1 + np.exp(-(A @ x)))
    return np.asarray(A.T @ ((odds * (1 - odds))[:, None] * A))


def _largest(it: Instance, eta: float, top: float) -> float:
    """The largest γ_max(G) = G/(yᵀ(top − η(G·AAᵀ − yyᵀ))⁻¹y) over G ≥ g*², by thirds."""
    pull, outer, eye = it.A @ it.A.T, np.outer(it.y, it.y), np.eye(len(it.y))

    def most(G: float) -> float:
        left = top * eye - eta * (G * pull - outer)
        if np.linalg.eigvalsh(left).min() <= 0:
            return 0.0
        return G / float(it.y @ np.linalg.solve(left, it.y))

    low = it.gstar**2
    high = low + top / eta / float(it.lam.min())
    for _ in range(45):  # where the first part alone is stable
        middle = 0.5 * (low + high)
        low, high = (middle, high) if most(middle) > 0 else (low, middle)
    left, right = it.gstar**2, low
    for _ in range(50):
        one, two = left + (right - left) / 3, right - (right - left) / 3
        left, right = (one, right) if most(one) < most(two) else (left, two)
    return max(most(it.gstar**2), most(0.5 * (left + right)))


def _edges(it: Instance, eta: float, gamma: float, top: float) -> tuple[float, float] | None:
    """The ends of {G ≥ g*² : λmax(K(G)) ≤ top} by looking: λmax is convex in G."""
    low = it.gstar**2
    pull, outer = it.A @ it.A.T, np.outer(it.y, it.y)

    def over(G: float) -> float:
        K = eta * (G * pull - outer) + gamma / G * outer
        return float(np.linalg.eigvalsh(K).max()) - top

    left = low
    right = max(low, top / eta / float(it.lam.max()) + low, gamma * float(it.y @ it.y))
    far = right
    for _ in range(60):  # thirds, for the smallest
        one, two = left + (right - left) / 3, right - (right - left) / 3
        left, right = (left, two) if over(one) < over(two) else (one, right)
    best = min((low, 0.5 * (left + right)), key=over)
    if over(best) > 0:
        return None
    while over(far) <= 0:
        far *= 2
    ends: list[float] = []
    for outside in (low, far):
        inside = best
        if over(outside) <= 0:
            ends.append(outside)
            continue
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if over(middle) <= 0 else (inside, middle)
        ends.append(inside)
    return float(np.sqrt(ends[0])), float(np.sqrt(ends[1]))


@check("norm-bracket")
def norm_bracket(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Against eigenvalues at every norm, and against where runs with large steps ended."""
    for index in evidence.over(range(max(12, instances))):
        beta, ahead = MOMENTA[index % len(MOMENTA)]
        top = 2 * (1 + beta) / ((1 + 2 * beta) if ahead else 1.0)
        it = make(rng, m=None if index % 6 else 1)
        square = float(it.y @ it.y)
        eta = float(rng.choice([0.05, 0.3, 0.7, 0.95, 1.3])) * top / it.gstar**2
        gamma = float(rng.choice([0.05, 0.5, 1.5, 4.0])) * top * it.gstar**2 / square
        said = theory.norm_bracket(it.problem, eta, gamma, beta, ahead)
        seen = _edges(it, eta, gamma, top)
        kind = {"eta": eta, "gamma": gamma, "beta": beta, **it.summary}
        evidence.true("whether there is one", (said is None) == (seen is None), **kind)
        if eta * it.gstar**2 < 0.95 * top:  # a scale step beside the largest of all norms
            most = _largest(it, eta, top)
            for share in (0.98, 0.9999, 1.0001):
                none = theory.norm_bracket(it.problem, eta, share * most, beta, ahead) is None
                evidence.true("the largest of all", none == (share > 1), **kind, share=share)
        if said is not None and seen is not None:
            evidence.equal("the norms", said, seen, rtol=1e-6, **kind)
            bound = it.gstar**2 if index % 6 else 0.0
            evidence.at_most("γ‖y‖²/top", np.sqrt(max(bound, gamma * square / top)), said[0])
    for x in ([1.0, 0, 0, 0], [0.0, 1.5, 0, 0], [0.6, 0, 0.8, 0]):  # a y that feels not every axis
        A = np.diag([1.0, 0.5, 0.2]) @ np.eye(3, 4)
        it = Instance(A, np.array(x), 1.0, np.eye(4)[3], 1.0, "given")
        for eta in (0.2, 0.7):
            most = _largest(it, eta, 2.0)
            for share in (0.3, 0.98, 0.9999, 1.0001):
                said, seen = (
                    theory.norm_bracket(it.problem, eta, share * most),
                    _edges(it, eta, share * most, 2.0),
                )
                evidence.true("unfelt axes", (said is None) == (share > 1), share=share, eta=eta)
                if said is not None and seen is not None:
                    evidence.equal("its norms", said, seen, rtol=1e-5, share=share, eta=eta)
    it = make(rng, ("general",), condition=3.0, m=3)
    etas, gammas = np.geomspace(0.05, 2, 6) / it.gstar**2, np.array([0.0, 0.5, 3.0])
    whole = theory.norm_bracket(it.problem, etas[:, None], gammas)
    assert whole is not None
    for place in np.ndindex(6, 3):
        one = theory.norm_bracket(it.problem, etas[place[0]], gammas[place[1]])
        ends = (np.nan, np.nan) if one is None else one
        both = np.nan_to_num([whole[0][place], whole[1][place]], nan=-1.0)
        evidence.equal("one by one", both, np.nan_to_num(ends, nan=-1.0), rtol=1e-12)
    for gamma0 in (0.0, 3.0 * it.gstar**2 / float(it.y @ it.y)):  # the direction does not move
        open_end = theory.norm_bracket(it.problem, 0.0, gamma0) or (np.nan, np.nan)
        low = np.sqrt(max(it.gstar**2, gamma0 * float(it.y @ it.y) / 2))
        evidence.equal("the lowest", open_end[0], low, rtol=1e-9)
        evidence.true("no largest", np.isinf(open_end[1]))
    square_A = np.array([[1.0, 0.5], [0.2, 2.0]])
    only = LeastSquares(square_A, square_A @ [1.0, 1.0])
    both_ends = theory.norm_bracket(only, 0.1, 0.1) or (np.nan, np.nan)
    evidence.equal("the only solution", both_ends, 2**0.5, rtol=1e-9)
    evidence.true("too large for it", theory.norm_bracket(only, 0.1, 9.0) is None)
    evidence.true("too large for it", theory.norm_bracket(only, 9.0, 0.1) is None)
    _settled(evidence, rng)


def _settled(evidence: Evidence, rng: Rng) -> None:
    """Runs of rPGD and WN with large steps: where they settle, if they do."""
    n, A, y, x = 24, [], [], []
    for _ in range(n):
        it = make(rng, ("general",), condition=float(rng.choice([1.0, 2.0, 5.0])), m=3)
        V = np.linalg.svd(it.A, full_matrices=False)[2]
        A.append(np.column_stack([it.A @ V.T, np.zeros((3, 3))]))
        x.append(it.gstar)
        y.append(it.y)
    As, ys, gs = np.array(A), np.array(y), np.array(x)
    top = 2.0 / gs**2
    eta = rng.uniform(0.3, 1.6, n) * top
    gamma = rng.uniform(0.1, 1.5, n) * 2 * gs**2 / np.sum(ys**2, axis=1)
    w = rng.standard_normal((n, 6))
    w /= np.linalg.norm(w, axis=1)[:, None]
    g = rng.choice([-1.0, 0.5, 1.0, 2.0], n) * gs
    said = [theory.norm_bracket(LeastSquares(As[k], ys[k]), eta[k], gamma[k]) for k in range(n)]
    for wn in (False, True):
        with np.errstate(all="ignore"):
            runs = SimulatedRuns(As, ys, g, w, eta, gamma, wn=wn).until(1e-12, 1500)
            norms = np.linalg.norm(runs.weights, axis=1)
        for place, ends in enumerate(said):
            done = np.sum(runs.residual[place] ** 2) <= 1e-16 * np.sum(ys[place] ** 2)
            lowest = np.sqrt(gamma[place] * np.sum(ys[place] ** 2) / 2)
            if done:
                evidence.at_most("γ‖y‖²/2 ≤ ‖x‖²", lowest, norms[place], slack=1e-5)
            if not wn:
                evidence.true("where there is none, none converges", not done or ends is not None)
            if not wn and done and ends is not None:
                evidence.at_most("the low end", ends[0], norms[place], slack=1e-5)
                evidence.at_most("the high end", norms[place], ends[1], slack=1e-5)


@check("scale-decay")
def scale_decay(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The flow with the penalty ½μg², its invariant, its end and its rate; and plain steps."""
    for _ in evidence.over(range(max(6, instances // 2))):
        it = make(rng, condition=float(rng.choice([1.0, 3.0])))
        it = it.at(g0=float(rng.choice([-0.7, 0.3, 1.0, 2.0])) * it.gstar, c=0.7 * it.gstar**2)
        mu = float(rng.choice([0.1, 0.5]))
        said = theory.weight_decay_limit(it.problem, mu)
        ridge = np.linalg.solve(it.A.T @ it.A + mu * np.eye(it.x.size), it.A.T @ it.y)
        size = float(np.linalg.norm(ridge))
        stop = 30.0 / (mu * min(size**2, it.c))
        times = np.array([0.1, 0.3, 0.9, 1.0]) * stop
        scales, logs, fed, weights = decayed_flow(it.A, it.y, it.g0, it.w0, it.c, mu, times)
        kept = logs + (scales**2 - it.g0**2) / (2 * it.c) + fed
        evidence.equal("the invariant", kept, 0.0 * kept, rtol=0, atol=1e-6 * (1 + fed[-1]))
        evidence.equal("ridge", said.weights, weights[-1], rtol=1e-5, **it.summary)
        evidence.equal("scale", said.scale, abs(scales[-1]), rtol=1e-5, **it.summary)
        evidence.equal("norm", said.norm, size, rtol=1e-9)
        evidence.equal("distance", said.distance, np.linalg.norm(ridge - it.x), rtol=1e-8)
        slope = (logs[2] - logs[3]) / (times[3] - times[2])
        evidence.equal("how fast w⊥ dies", said.perp_rate, slope, rtol=1e-4, **it.summary)
        off = it.perp(rng.standard_normal(it.x.size))
        x = ridge + off
        after = x - 0.01 * (it.gradient(x) + mu * x)
        fallen = -np.log(it.q(after) / it.q(x)) / 0.01
        evidence.equal("descent's rate", said.gd_perp_rate, fallen, rtol=0.01, **it.summary)
        evidence.true("no part off the rows", said.perp_norm == 0.0)
        evidence.true("it applies", said.applies)
    it = make(rng, ("general",), condition=2.0, m=2)
    wide = np.repeat(it.A[None], 4, 0)
    scale = np.array([-1.0, 0.2, 1.0, 1.5]) * it.gstar
    for wn in (False, True):
        eta = 0.2 / it.gstar**2
        runs = SimulatedRuns(
            wide, np.repeat(it.y[None], 4, 0), scale, np.repeat(it.w0[None], 4, 0), eta,
            0.2, wn=wn, scale_decay=0.3,
        )  # fmt: skip
        for _ in range(3000):
            runs.step()
        end = theory.weight_decay_limit(it.problem, 0.3).weights
        for x in runs.weights:
            evidence.equal("plain steps", end, x, rtol=1e-6, **it.summary)
    nothing = theory.weight_decay_limit(LeastSquares([[1.0, 0.0]], [0.0]), 0.5)
    evidence.true("y = 0", not nothing.applies)


@check("direction-decay")
def direction_decay(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Steps with decay of w at a solution: when λmax(K) reaches 2, and what happens from there."""
    for _ in evidence.over(range(max(8, instances))):
        it = make(rng, ("general",), condition=3.0, m=int(rng.integers(2, 5)))
        g, w = _solution(rng, it, float(rng.choice([0.0, 0.5, 1.5])))
        gamma = float(rng.choice([0.1, 0.6, 2.5])) * g**2 / float(it.y @ it.y)
        eta, lam = float(rng.choice([0.05, 0.3])) / it.gstar**2, 0.02 * it.gstar**2
        start = float(rng.choice([0.2, 1.0, 2.0]))
        said = theory.edge_time(it.problem, eta, gamma, lam, abs(g), start)
        pull, outer = it.A @ it.A.T, np.outer(it.y, it.y)

        def top(N: float, at: Any = (g, eta, gamma, pull, outer)) -> float:
            g, eta, gamma, pull, outer = at
            K = eta / N * (g * g * pull - outer) + gamma / g**2 * outer
            return float(np.linalg.eigvalsh(K).max())

        N, count = start**2, 0
        kind = {"eta": eta, "gamma": gamma, "start": start, **it.summary}
        if gamma * float(it.y @ it.y) / g**2 >= 2:
            evidence.true("the scale's step alone", not said.applies and said.steps == 0, **kind)
            continue
        evidence.true("it applies", said.applies, **kind)
        while top(N) < 2 and count < 20_000:
            N, count = N * (1 - eta * lam) ** 2, count + 1
        if count == 0:
            evidence.true("already there", said.steps == 0.0, **kind)
        else:
            evidence.true("steps", count - 1 <= said.steps <= count, **kind, found=count)
        evidence.equal("‖w‖ there", top(said.direction_norm**2), 2.0, rtol=1e-8, **kind)
        moved = SimulatedRuns(
            it.A[None], it.y[None], np.array([g]), start * w[None], eta, gamma, wn=True,
            direction_decay=lam,
        )  # fmt: skip
        moved.step()
        fallen = -np.log(np.linalg.norm(moved.w) / start)
        evidence.equal("w falls", said.forgetting, fallen, rtol=1e-7, **kind)
        evidence.equal("x stays", moved.weights[0], it.A.T * 0 @ it.y + g * w, rtol=1e-9)
    it = make(rng, ("general",), condition=3.0, m=3)
    run = SimpleNamespace(norm=1.2 * it.gstar)
    given = theory.edge_time(it.problem, 0.01, 0.1, 0.01, run)
    known = theory.edge_time(it.problem, 0.01, 0.1, 0.01, 1.2 * it.gstar)
    evidence.equal("where a run ended", given.steps, known.steps, rtol=1e-12)
    for lam, fine in ((0.5, True), (1.5, False)):
        said = theory.edge_time(it.problem, 1.0, 0.1, lam, 50 * it.gstar)
        evidence.true("0 < ηλ < 1", said.applies == fine, lam=lam)
    under = theory.edge_time(it.problem, 0.01, 0.1, 0.1, 0.5 * it.gstar)
    evidence.true("not under g*", not under.applies)
    _forgetting(evidence, rng)


def _forgetting(evidence: Evidence, rng: Rng) -> None:
    """Measured: past the edge log‖w⊥‖ + g²/2cN loses about ηλ a step, and ‖w‖ stays about where
    it is.
    """
    n, eta, decay, most = 8, 0.1, 0.02, 4000
    made = [make(rng, ("general",), condition=2.0, m=3) for _ in range(n)]
    A, y, w = [], [], []
    for it in made:  # in coordinates of the row space, so that rounding does not refill w⊥
        V = np.linalg.svd(it.A, full_matrices=False)[2]
        A.append(np.column_stack([it.A @ V.T, np.zeros(3)]))
        y.append(it.y / it.gstar)
        w.append(np.append(V @ it.w0, it.q(it.w0)))
    c = np.where(np.arange(n) % 2, 1.0, 5.0)
    runs = SimulatedRuns(np.array(A), np.array(y), np.ones(n), np.array(w), eta, c * eta, wn=True,
                direction_decay=decay)  # fmt: skip
    logs, squares, scales = [], [], []
    for _ in range(most):
        runs.step()
        logs.append(np.log(np.abs(runs.w[:, -1])))
        squares.append(np.sum(runs.w**2, axis=1))
        scales.append(runs.g)
    late = slice(most // 3, None)
    inverse = np.mean(1.0 / np.array(squares)[late], axis=0)
    kept = np.array(logs)[late] + np.array(scales)[late] ** 2 * inverse / (2 * c)
    slopes = -np.polyfit(np.arange(len(kept)), kept, 1)[0]
    for place in range(n):
        size = float(np.mean(np.abs(scales), axis=0)[place])
        said = theory.edge_time(
            LeastSquares(A[place], y[place]), eta, c[place] * eta, decay, max(1.0, size)
        )
        evidence.equal("forgetting", said.forgetting, slopes[place], rtol=0.35, run=place)
        wide = float(np.sqrt(1.0 / inverse[place]))
        evidence.equal("‖w‖ at the edge", said.direction_norm, wide, rtol=0.3, run=place)
