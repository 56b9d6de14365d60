"""Checks of where training ends at finite steps: momentum, mini-batches, clipping, ‖w0‖, layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm import theory
from weightnorm._support.numeric import Array
from weightnorm.problems import LeastSquares

from ..evidence.evidence import Evidence, check
from ..evidence.instances import Instance, Rng, make, plain
from ..evidence.simulate_layer import layer_steps
from ..evidence.simulate_training import SimulatedRuns, layer_flow

MOMENTA = ((0.0, False), (0.5, False), (0.9, False), (0.5, True), (0.9, True))


def _reduced(rng: Rng, count: int, m: int = 3, condition: float = 1.5) -> list[Instance]:
    """Instances in m + 1 dimensions, the last one off the rows, with scales of either sign."""
    made = []
    for index in range(count):
        it = make(rng, ("general",), condition=condition, m=m)
        V = np.linalg.svd(it.A, full_matrices=False)[2]
        w = np.append(V @ it.w0, it.q(it.w0))
        w /= np.linalg.norm(w)
        g0 = float(rng.choice([0.5, 0.9, 1.2])) * it.gstar
        if float(it.y @ (it.A @ (V.T @ w[:-1]))) < 0:
            w[:-1] *= -1.0  # the scale keeps its sign
        if index % 3 == 2:
            g0, w = -g0, np.append(-w[:-1], w[-1])
        ratio = float(rng.choice([0.5, 1.0, 2.0])) * it.gstar**2
        unit = (1.0, 0.6, 2.5)[index % 3]  # of the data: the steps in use are divided by its square
        A = unit * np.column_stack([it.A @ V.T, np.zeros(m)])
        made.append(it.at(A=A, x=np.append(V @ it.x, 0.0), g0=g0, w0=w, c=ratio, kind="reduced"))
    return made


def _side_by_side(made: list[Instance], eta: Any, **options: Any) -> SimulatedRuns:
    c = np.array([it.c for it in made])
    return SimulatedRuns(
        np.array([it.A for it in made]),
        np.array([it.y for it in made]),
        np.array([it.g0 for it in made]),
        np.array([it.w0 for it in made]) * np.reshape(options.pop("length", 1.0), (-1, 1)),
        eta,
        c * eta,
        **options,
    )


def _compare(
    evidence: Evidence, said: Any, x: Array, w: Array, g: float, share: float, **kind: Any
) -> None:
    """Every number of a prediction with the end of a run, each within the promised error."""
    perp, norm = abs(float(x[-1])), float(np.linalg.norm(x))
    evidence.true("it applies", said.applies, **kind)
    for name, value in (("norm", norm), ("perp_norm", perp), ("distance", perp)):
        evidence.at_most(name, abs(getattr(said, name) - value), said.error, **kind)
    # tighter than promised: what a changed formula would move
    evidence.equal("x", said.weights, x, rtol=share, **kind)
    evidence.equal("g", said.scale, g, rtol=share, **kind)
    evidence.equal("‖w‖", said.direction_norm, np.linalg.norm(w), rtol=share, **kind)


@check("momentum-limit")
def momentum_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Runs with momentum of both kinds, and with clipping, at two steps each: the error is within
    its estimate, and the first order of the drift is the predicted one.
    """
    settings = [(wn, *each) for wn in (False, True) for each in MOMENTA[1:]]
    made = [each for each in _reduced(rng, len(settings), condition=1.2) for _ in (0, 1)]
    wn, beta, ahead = (np.repeat(np.array(each), 2) for each in zip(*settings, strict=True))
    rho = np.where(ahead, 1 + 2 * beta**2 / (1 - beta), (1 + beta) / (1 - beta))
    half = np.where(np.arange(len(made)) % 2, 0.5, 1.0)
    most = np.array([_largest(it) for it in made])
    h = np.where(rho > 10, 0.3, 0.12) * half / rho / most
    _follow(evidence, made, h, wn, beta, ahead, np.full(len(made), np.inf))
    clipped = [each for each in _reduced(rng, 4) for _ in (0, 1)]
    n = len(clipped)
    half = np.where(np.arange(n) % 2, 0.5, 1.0)
    most = np.array([_largest(it) for it in clipped])
    wn, still = np.arange(n) // 2 % 2 == 1, np.zeros(n)
    length = np.where(wn, np.where(np.arange(n) // 4 % 2, 0.5, 2.0), 1.0)
    most = np.array([_largest(it, size) for it, size in zip(clipped, length, strict=True)])
    clip = np.array([_steepest(it, wn[k], length[k]) for k, it in enumerate(clipped)])
    clip /= np.where(np.arange(n) // 4 % 2, 6.0, 1.5)
    _follow(evidence, clipped, 0.12 * half / most, wn, still, still > 0, clip, length)
    _refused(evidence)


def _largest(it: Instance, size: float = 1.0) -> float:
    """About the largest max(g²/N, c)·λmax on the way."""
    most = max(1.5 * it.gstar**2 / size**2, 1.2 * it.g0**2 / size**2, it.c)
    return most * float(it.lam.max())


def _steepest(it: Instance, wn: bool, size: float) -> float:
    """The joint gradient at the start."""
    pull = it.gradient(it.g0 * it.w0)
    s = float(it.w0 @ pull)
    across = pull - s * it.w0 if wn else pull
    return float(np.sqrt(s * s + (it.g0 / size) ** 2 * float(across @ across)))


def _follow(
    evidence: Evidence,
    made: list[Instance],
    h: Array,
    wn: Any,
    beta: Any,
    ahead: Any,
    clip: Any,
    length: Any = 1.0,
) -> None:
    eta = h * (1 - beta)
    length = np.broadcast_to(length, h.shape)
    runs = _side_by_side(
        made, eta, wn=wn, beta=beta, nesterov=ahead, clip=clip, length=length
    ).until(1e-7, 30_000)
    errors, drifts, estimates = [], [], []
    for k, it in enumerate(made):
        kind = {"wn": wn[k], "beta": beta[k], "nesterov": ahead[k], **it.summary}
        options: dict[str, Any] = {"momentum": float(beta[k]), "nesterov": bool(ahead[k])}
        if np.isfinite(clip[k]):
            options |= {"clip": float(clip[k]), "direction_norm": float(length[k])}
        name = "wn" if wn[k] else "rpgd"
        said = theory.finite_step_limit(it.problem, it.g0, it.w0, name, eta[k], it.c, **options)
        x, w = runs.weights[k], runs.w[k]
        _compare(evidence, said, x, w, float(runs.g[k]), 0.02, **kind)
        norm = float(np.linalg.norm(x))
        share = np.log(abs(x[-1]) / norm / it.w0[-1])
        drifts.append((said.drift, share + (norm**2 - it.g0**2) / (2 * it.c * length[k] ** 2)))
        errors.append(abs(said.perp_norm - abs(x[-1])) / norm)
        estimates.append(said.error)
        evidence.true("no spread without batches", said.spread == 0.0)
        if k % 2:
            known, seen = (4 * two - one for one, two in zip(drifts[-2], drifts[-1], strict=True))
            evidence.equal("the drift", known, seen, rtol=0.03, atol=2e-5, **kind)
            evidence.equal("second order", estimates[k], estimates[k - 1] / 4, rtol=0.1, **kind)
            evidence.at_most("halving", errors[k], 0.4 * errors[k - 1] + 5e-5, **kind)
            evidence.at_most("an honest estimate", estimates[k], 500 * errors[k] * norm + 0.02)


def _refused(evidence: Evidence) -> None:
    """Steps too large for a first order; starts near the separatrix; a start in the row space."""
    A, x = np.array([[3.0, 0, 0], [0, 1, 0]]), np.array([1.0, 0, 0])
    for beta, ahead, rho in ((0.5, False, 3.0), (0.5, True, 2.0), (0.8, False, 9.0)):
        for share in (0.95, 1.05):
            it = plain(2.0, [0.8, 0.6]).at(A=A, x=x, w0=np.array([0.8, 0.1, np.sqrt(0.35)]))
            eta = 0.4 * share / (rho * 4.0 * 9.0) * (1 - beta)
            said = theory.finite_step_limit(
                it.problem, 2.0, it.w0, "rpgd", eta, 0.5, momentum=beta, nesterov=ahead
            )
            evidence.equal("equivalent step", said.equivalent_step, 0.4 * share, rtol=1e-6)
            evidence.true("small enough", said.applies == (share < 1), beta=beta)
    crossed = 0
    for q0 in (0.80, 0.62, 0.61, 0.6066, 0.605, 0.60, 0.40):  # F0 = 1 at q0 = e^{−1/2} = 0.60653
        it = plain(1.0, [-np.sqrt(1 - q0**2), q0])
        said = theory.finite_step_limit(it.problem, 1.0, it.w0, "rpgd", 0.02, 1.0)
        far = SimulatedRuns(it.A[None], it.y[None], np.array([1.0]), it.w0[None], 0.02, 0.02)
        g = float(far.until(1e-6, 6000).g[0])
        flow = theory.flow_limit(it.problem, 1.0, it.w0, 1.0)
        evidence.true("its sign", np.sign(said.scale) == np.sign(g), q0=q0)
        evidence.true("near the separatrix", said.applies == (flow.scale * g > 0), q0=q0)
        crossed += flow.scale * g < 0
    evidence.true("steps that end opposite to the flow", crossed > 0)
    it = plain(0.5, [1.0, 0.0])
    for name in ("rpgd", "wn"):
        said = theory.finite_step_limit(it.problem, 0.5, it.w0, name, 0.01, 1.0, momentum=0.9)
        evidence.equal("from the row space", said.weights, [1.0, 0.0], rtol=1e-9)
        evidence.at_most("and its error", said.error, 1e-6)
    off = plain(0.5, [0.0, 1.0])
    said = theory.finite_step_limit(off.problem, 0.5, off.w0, "rpgd", 0.01, 1.0)
    run = SimulatedRuns(off.A[None], off.y[None], np.array([0.5]), off.w0[None], 0.01, 0.01)
    end = run.until(1e-9, 9000).weights[0]
    evidence.at_most("from q0 = 1", abs(said.perp_norm - abs(end[1])), said.error)


@check("wn-two-invariants")
def wn_two_invariants(evidence: Evidence, rng: Rng, instances: int) -> None:
    """WN from any ‖w0‖: the end and ‖w‖, at two steps; and how much better than the flow."""
    made = [each for each in _reduced(rng, max(6, instances // 2)) for _ in (0, 1)]
    n = len(made)
    half = np.where(np.arange(n) % 2, 0.5, 1.0)
    length = np.repeat(rng.choice([0.6, 0.8, 1.0, 1.5, 2.0], n // 2), 2)
    eta = 0.15 * half / [_largest(it, size) for it, size in zip(made, length, strict=True)]
    runs = _side_by_side(made, eta, wn=True, length=length).until(1e-9, 30_000)
    errors, drifts, growths, better = [], [], [], 0
    for k, it in enumerate(made):
        size, norm = float(length[k]), float(np.linalg.norm(runs.weights[k]))
        kind = {"‖w0‖": size, **it.summary}
        said = theory.finite_step_limit(
            it.problem, it.g0, it.w0, "wn", eta[k], it.c, direction_norm=size
        )
        _compare(evidence, said, runs.weights[k], runs.w[k], float(runs.g[k]), 0.02, **kind)
        share = np.log(abs(runs.weights[k][-1]) / norm / it.w0[-1])
        changed = share + (norm**2 - it.g0**2) / (2 * it.c * size**2)
        drifts.append((said.drift, changed))
        grown = said.direction_norm / size, float(np.linalg.norm(runs.w[k])) / size
        growths.append((grown[0] - 1, grown[1] - 1))
        flow = theory.flow_limit(it.problem, it.g0, it.w0, it.c * size**2)
        errors.append(abs(said.norm - norm))
        better += errors[-1] < 0.3 * abs(flow.norm - norm) + 1e-9
        if k % 2:
            known, seen = (4 * two - one for one, two in zip(drifts[-2], drifts[-1], strict=True))
            evidence.equal("the drift", known, seen, rtol=0.03, atol=2e-5, **kind)
            known, seen = (4 * two - one for one, two in zip(growths[-2], growths[-1], strict=True))
            evidence.equal("how ‖w‖ grows", known, seen, rtol=0.02, atol=1e-6, **kind)
            evidence.at_most("halving", errors[k], 0.4 * errors[k - 1] + 2e-7 * norm, **kind)
    evidence.true("better than the flow", better >= 0.9 * n, better=better, runs=n)
    inside = [it.at(w0=np.append(it.w0[:-1], 0.0)) for it in _reduced(rng, 3)]
    inside = [it.at(w0=it.w0 / np.linalg.norm(it.w0)) for it in inside]
    eta = 0.1 / np.array([_largest(it) for it in inside])
    runs = _side_by_side(inside, eta, wn=True).until(1e-9, 9000)
    for k, it in enumerate(inside):
        said = theory.finite_step_limit(it.problem, it.g0, it.w0, "wn", eta[k], it.c)
        long = float(np.linalg.norm(runs.w[k]))
        near = 0.05 * (long - 1) + 1e-6
        evidence.equal("‖w‖ from the row space", said.direction_norm, long, rtol=0, atol=near)
        evidence.equal("which it stays in", said.weights, runs.weights[k], rtol=1e-6)
    _signs(evidence)
    two = plain(1.0, [0.6, 0.8])
    for size, fine in ((0.4, False), (0.5, True)):  # η·g²/N on either side of 0.4
        said = theory.finite_step_limit(
            two.problem, 1.0, two.w0, "wn", 0.08, 0.1, direction_norm=size
        )
        evidence.true("small enough", said.applies == fine, size=size)


def _signs(evidence: Evidence) -> None:
    """One sample, against y, at large steps: where a sign is promised, runs end with it; and it is
    promised from some distance of F0 = q0²e^{g0²/cN} = 1 on.
    """
    for wn, size, eta in ((False, 1.0, 0.1), (True, 1.0, 0.1), (True, 2.0, 0.2), (True, 0.7, 0.05)):
        edge = np.exp(-0.5 / size**2)
        shares = np.concatenate([np.linspace(0.7, 0.98, 12), np.linspace(1.001, 1.12, 12)])
        shares = shares[shares * edge < 0.999]
        q0, n = shares * edge, shares.size
        w = np.column_stack([-np.sqrt(1 - q0**2), q0])
        A, ones = np.repeat(np.array([[[1.0, 0.0]]]), n, 0), np.ones((n, 1))
        runs = SimulatedRuns(A, ones, np.ones(n), size * w, eta, eta, wn=wn).until(1e-6, 4000)
        promised = 0
        for k in range(n):
            said = theory.finite_step_limit(
                LeastSquares(A[k], [1.0]), 1.0, w[k], "wn" if wn else "rpgd", eta, 1.0,
                direction_norm=size,
            )  # fmt: skip
            promised += said.applies
            told = {"share": shares[k], "wn": wn, "size": size}
            right = np.sign(said.scale) == np.sign(runs.g[k])
            evidence.true("the promised sign", right or not said.applies, **told)
            clear = abs(np.log(shares[k])) > 0.25
            evidence.true("promised far away", said.applies or not clear, **told)
        evidence.true("not all of them", promised < n, wn=wn, size=size)


@check("batch-limit")
def batch_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Many runs with mini-batches of one problem: all within the error, their mean as predicted."""
    copies = max(24, 2 * instances)
    settings = [(False, 0.0, 1), (True, 0.0, 1), (False, 0.5, 2), (True, 0.5, 1)]
    made = _reduced(rng, len(settings), m=4)
    for (wn, beta, size), it in zip(settings, made, strict=True):
        rows = 4.0 * float(np.sum(it.A**2, axis=1).max()) / float(it.lam.max()) / size
        eta = 0.02 * (1 - beta) / _largest(it) / max(1.0, rows / 3)
        runs = _side_by_side(
            [it] * copies,
            eta,
            wn=wn,
            beta=beta,
            batch=size,
            rng=np.random.default_rng(index_of(it)),
        ).until(1e-5, 6000)
        name = "wn" if wn else "rpgd"
        options: dict[str, Any] = {"momentum": beta, "batch_size": size}
        problem = it.problem
        said = theory.finite_step_limit(problem, it.g0, it.w0, name, eta, it.c, **options)
        kind = {"wn": wn, "beta": beta, "size": size, **it.summary}
        evidence.true("it applies", said.applies, **kind)
        perps = np.abs(runs.weights[:, -1])
        for perp in perps:
            evidence.at_most("every run", abs(perp - said.perp_norm), said.error, **kind)
        flow = theory.flow_limit(problem, it.g0, it.w0, it.c)
        mean, spread = float(np.mean(perps)), float(np.std(perps, ddof=1))
        room = 4 * spread / np.sqrt(copies) + 0.08 * abs(mean - flow.perp_norm)
        evidence.at_most("the mean", abs(mean - said.perp_norm), room, **kind)
        evidence.at_most("the spread", spread, 2.0 * said.spread, **kind)
        grown = float(np.mean(np.linalg.norm(runs.w, axis=1)))
        evidence.equal("‖w‖", said.direction_norm, grown, rtol=0.1 * (grown - 1) + 1e-6, **kind)
        whole = theory.finite_step_limit(
            problem, it.g0, it.w0, name, eta, it.c, momentum=beta, batch_size=4
        )
        none = theory.finite_step_limit(problem, it.g0, it.w0, name, eta, it.c, momentum=beta)
        evidence.equal("every sample", whole.norm, none.norm, rtol=1e-12)
    tall = np.array([[1.0, 0.0], [1.0, 0.0]])
    for y, fine in (([1.0, 1.0], True), ([1.0, 2.0], False)):
        said = theory.finite_step_limit(
            LeastSquares(tall, y), 0.5, [0.6, 0.8], "rpgd", 0.005, batch_size=1
        )
        evidence.true("interpolating", said.applies == fine)
        said = theory.finite_step_limit(
            LeastSquares(tall, y), 0.5, [0.6, 0.8], "rpgd", 0.005, batch_size=2
        )
        evidence.true("or every sample", said.applies)
        said = theory.finite_step_limit(LeastSquares(tall, y), 0.5, [0.6, 0.8], "rpgd", 0.005)
        evidence.true("or no batches", said.applies)


def index_of(it: Instance) -> int:
    """A seed from an instance."""
    return int(abs(it.g0) * 1e6) + int(abs(it.w0[-1]) * 1e6)


@check("linear-layer")
def linear_layer(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Every row and its bias by an integration of the flow of (g, w, b) in d + 2 dimensions."""
    for index in evidence.over(range(max(6, instances // 3))):
        n, d, k = int(rng.integers(2, 5)), int(rng.integers(6, 9)), int(rng.integers(1, 3))
        X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, k))
        W = float(rng.choice([0.3, 0.6])) * rng.standard_normal((k, d))
        centred, bias = index % 3 != 0, index % 4 != 3
        if centred:
            X = X - X.mean(axis=0)
        elif index % 4 == 0:
            X = -np.abs(X)  # every mean is under zero
        name = ("wn", "rpgd")[index % 2]
        ratio, kappa = float(rng.choice([0.5, 1.0, 3.0])), float(rng.choice([0.5, 2.0]))
        if index % 4 == 2 and not centred:  # rows against their ends: the scale changes its sign
            W, name, ratio = -0.3 * (np.linalg.pinv(X) @ Y).T + 0.2 * W, "rpgd", 3.0
        b0 = 0.3 if bias else 0.0
        said = theory.linear_layer_limit(X, Y, W, ratio, bias, name, kappa, b0)
        kind: dict[str, Any] = {"n": n, "d": d, "centred": centred, "bias": bias, "method": name}
        evidence.true("a closed form", said.closed_form == (centred or not bias), **kind)
        evidence.true("it applies", said.applies, **kind)
        for row in range(k):
            slower = float(W[row] @ W[row]) if name == "wn" else 1.0  # v turns at the rate 1/‖v‖²
            rates, first = (ratio * slower, kappa * slower), b0 if bias else None
            x, b = layer_flow(X, Y[:, row], W[row], rates, first, 900.0 / min(rates[0], 1.0))
            evidence.equal("the row", said.weight[row], x, rtol=3e-6, **kind)
            evidence.equal("the bias", said.bias[row], b, rtol=3e-6, atol=1e-7, **kind)
            evidence.equal("its norm", said.norm[row], np.linalg.norm(x), rtol=3e-6, **kind)
            least = float(np.linalg.norm(np.linalg.pinv(X) @ (Y[:, row] - b)))
            evidence.equal("the smallest", said.min_norm[row], least, rtol=1e-5, **kind)
    _one_rate(evidence, rng)
    _layer_without_steps(evidence, rng)
    _layer_at_finite_steps(evidence, rng)


def _layer_at_finite_steps(evidence: Evidence, rng: Rng) -> None:
    """Steps of finite size, by plain loops: the predicted end is far nearer than the flow's."""
    momenta = ((0.0, False), (0.6, False), (0.6, True))
    for index in range(8):
        X = np.linalg.qr(rng.standard_normal((7, 4)))[0].T  # orthonormal rows, not centred
        y, row = rng.standard_normal(4), 0.7 * rng.standard_normal(7)
        centred, bias = index % 4 == 1, index % 4 != 3
        X = X - X.mean(axis=0) if centred else X
        beta, nesterov = momenta[index % 3]
        eta = 0.008 * (1.0 - beta) ** 2
        how: dict[str, Any] = {
            "method": ("wn", "rpgd")[index // 2 % 2],
            "step": eta,
            "ratio": float(rng.choice([0.5, 1.0, 2.0])),
            "bias_ratio": float(rng.choice([0.5, 1.0])),
            "momentum": beta,
            "nesterov": nesterov,
            "frozen_steps": int(0.6 * (1.0 - beta) / eta) if index % 4 == 2 else 0,
        }
        if index == 4:  # against its end: the scale changes its sign
            row, how["ratio"] = -0.3 * np.linalg.pinv(X) @ y + 0.2 * row, 3.0
        start = 0.3 if bias else None
        x, b, left = layer_steps(X, y, row, start, how, int(40.0 * (1.0 - beta) / eta))
        ratio = how.pop("ratio")
        given = (X, y, row, ratio, bias, how.pop("method"), how.pop("bias_ratio"), start or 0.0)
        said = theory.linear_layer_limit(*given, **how)
        slow = how | {"step": 1e-5 * eta, "frozen_steps": 100_000 * how["frozen_steps"]}
        flow = theory.linear_layer_limit(*given, **slow)
        kind = {**how, "bias": bias, "centred": centred, "method": given[5]}
        if left > 1e-6:
            evidence.skip("training has not arrived")
            continue
        evidence.true("it applies", said.applies and flow.applies, **kind)
        off, shift = np.linalg.norm(said.weight[0] - x), np.linalg.norm(flow.weight[0] - x)
        second = (eta * (1.0 + beta) / (1.0 - beta) ** 2) ** 2  # seen where first orders cancel
        evidence.at_most(
            "of the steps' effect is left", float(off), 0.2 * float(shift) + second, **kind
        )
        evidence.at_most(
            "the error", abs(float(said.norm[0]) - float(np.linalg.norm(x))), float(said.error[0]),
            **kind,
        )  # fmt: skip
        evidence.at_most("the error says something", float(said.error[0]), 0.02, **kind)
        near = 0.2 * abs(float(flow.bias[0]) - b) + second
        evidence.equal("the bias", said.bias[0], b, rtol=0.0, atol=near, **kind)
        away = np.linalg.norm(x - np.linalg.pinv(X) @ (X @ x))
        evidence.equal("the distance", said.distance[0], away, rtol=0.02, atol=1e-5, **kind)


def _layer_without_steps(evidence: Evidence, rng: Rng) -> None:
    """The flow has no error of steps; ‖v0‖ = n of WN is rPGD with n² times the ratio."""
    for centred in (True, False):
        X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
        X = X - X.mean(axis=0) if centred else X
        row = 0.5 * rng.standard_normal(6)
        slow = theory.linear_layer_limit(X, y, row, 0.4, method="wn", bias_ratio=0.3,
                                         direction_norm=1.7)  # fmt: skip
        unit = theory.linear_layer_limit(X, y, row, 0.4 * 1.7**2, method="rpgd",
                                         bias_ratio=0.3 * 1.7**2)  # fmt: skip
        evidence.equal("‖v0‖ in the ratio", slow.weight[0], unit.weight[0], rtol=1e-6)
        for said in (slow, unit):
            evidence.true("no steps, no error", said.error[0] == 0 == said.equivalent_step[0])
        for rest in (0, 1):
            wild = theory.linear_layer_limit(X, y, row, step=3.0, frozen_steps=rest)
            evidence.true("steps too large for a first order", not wild.applies)


def _one_rate(evidence: Evidence, rng: Rng) -> None:
    """One learning rate: closer to the smallest row than gradient descent, whatever the start."""
    for _ in range(12):
        X = rng.standard_normal((3, 6))
        X -= X.mean(axis=0)
        y = rng.standard_normal(3)
        x = np.linalg.pinv(X) @ (y - y.mean())
        row = float(rng.choice([0.05, 0.3, 1.0, 4.0])) * rng.standard_normal(6)
        end = theory.linear_layer_limit(X, y, row, method="wn").weight[0]
        off = row - np.linalg.pinv(X) @ (X @ row)
        evidence.at_most("the distance", float(np.linalg.norm(end - x)), float(np.linalg.norm(off)))
        share = np.e * float(off @ off / (row @ row))
        if share < 1:
            evidence.at_most("‖row‖²", float(end @ end), float(x @ x) / (1 - share))
    # F0 = q0²e^{1/ratio} = 1, against y: on the stable set of S
    row, ratio = np.array([-0.8, 0.6]), -1.0 / (2.0 * np.log(0.6))
    for other, fine in ((ratio, False), (1.3 * ratio, True)):
        said = theory.linear_layer_limit([[1.0, 0.0]], [1.0], row, other, bias=False, method="wn")
        evidence.true("not on the stable set", said.applies == fine)
