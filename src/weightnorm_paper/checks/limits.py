"""Checks of where things end: the flow's limit, against gradient descent, at fixed scales."""

from __future__ import annotations

import numpy as np

from weightnorm import theory
from weightnorm.problems import LeastSquares

from .. import lemmas
from ..evidence.evidence import Evidence, check
from ..evidence.instances import TAME, Instance, Rng, angled, make, plain
from ..evidence.simulate import descend, flow_end, perp_by_digits

# starts with a scale that may change its sign, some of them in the row space
SIGNS = (
    (-0.2, [-0.99, 0.14], 1.0),
    (0.3, [-0.6, 0.8], 0.05),
    (1e-3, [-1.0, 1.0], 1.0),
    (0.2, [-1.0, 0.0], 1.0),
    (-0.2, [1.0, 0.0], 1.0),
    (0.9, [-1.0, 0.0], 0.1),
)
# g0, g*, q0 and c over the range of double precision
EXTREMES = (
    *((g0, 1.0, q0, c) for g0 in (0.5, 1.0, 3.0) for q0 in (1e-3, 0.5, 1.0) for c in (0.1, 10.0)),
    *((g0, 2.0, 0.7, c) for g0 in (0.0, 1e-8, 1.9999, 2.0001, 50.0) for c in (1e-7, 1e7)),
    *((1.0, 1.0, 1.0, c) for c in (1e-290, 1e-30, 1e30, 1e290)),
    *((1e5, 1.0, 0.5, 1e-7), (1e150, 1.0, 0.5, 1.0), (1e-150, 1e-150, 0.5, 1e-300)),
    *((1e-160, 1e-160, 1 - 1e-16, 1.0), (1.0, 1.0, 1 - 1e-15, 1e-250), (3.0, 1.0, 1e-290, 1e-3)),
    *((1e-160, 1e-160, 1.0, 1e300), (1.1e-130, 1e-130, 1.0, 1e270), (9e-131, 1e-130, 1.0, 1e270)),
    *((1e-200, 1e-200, 1.0, 1e300), (1e-50, 1e-210, 1.0, 1e200), (1e-55, 1e-208, 1.0, 1e200)),
    *((1e-3, 1e-4, 0.5, 1e-300), (0.5, 1.0, 0.5, 1e-310)),
    *((1e80, 1e80, 1.0, 1.0), (1e-100, 1e-100, 1.0, 1e100), (2e9, 1e9, 1e-100, 1.0)),
)
CASES = ((2.8, 1.0), (3.5, 1.0), (0.5, 0.3), (0.03, 30.0), (4.0, 0.1))


def _floor(it: Instance) -> float:
    return 1e-22 * (1.0 + it.gstar**2)


@check("flow-limit")
def flow_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Scale (with its sign), ‖x⊥‖ and x against the integrated flow; and every formula that says
    the same number.
    """
    for _ in evidence.over(range(instances)):
        it = make(rng)
        q0 = 0.0 if it.kind == "row space" else it.q(it.w0)
        limit = theory.flow_limit(it.problem, it.g0, it.w0, it.c)
        end = flow_end(it, _floor(it))
        evidence.true("nothing rests in S", limit.applies, **it.summary)
        evidence.equal("g∞", limit.scale, end.scale, rtol=1e-7, **it.summary)
        atol = 1e-10 * it.gstar
        for what, value in (("‖x∞⊥‖", limit.perp_norm), ("‖x∞ − x*‖", limit.distance)):
            evidence.equal(what, value, end.perp, rtol=1e-6, atol=atol, **it.summary)
        evidence.equal("x∞", limit.weights, end.weights, rtol=1e-7, **it.summary)
        evidence.equal("‖x∞‖", limit.norm, abs(end.scale), rtol=1e-7, **it.summary)
        scale = float(theory.limit_scale(it.g0, it.gstar, q0, it.c))
        evidence.equal("limit_scale", scale, abs(end.scale), rtol=1e-7, **it.summary)
        said = theory.distance_map([it.g0], [it.c], it.gstar, q0)
        evidence.equal("distance_map", said, [[end.perp]], rtol=1e-6, atol=atol, **it.summary)
        with np.errstate(divide="ignore"):
            log_f0 = 2 * np.log(q0) + it.g0**2 / it.c
        square = float(theory.limit_square(log_f0, it.gstar, it.c))
        evidence.equal("limit_square", square, end.scale**2, rtol=1e-7, **it.summary)
        kept = float(theory.perp_of_limit(it.g0, end.scale, q0, it.c))
        loose = 1e-5 + 1e-9 * it.gstar**2 / it.c
        evidence.equal("perp_of_limit", kept, end.perp, rtol=loose, atol=atol, **it.summary)
        printed = theory.flow_limit_as_printed(it.problem, it.g0, it.w0, it.c)
        off = float(np.linalg.norm(printed.weights - end.weights))
        evidence.as_printed(off <= 1e-6 * it.gstar, exact=limit.norm, printed=printed.norm)
        if printed.applies:
            evidence.at_most("good where it says so", off, 0.01 * end.perp + 100 * atol)
    _printed_form(evidence, rng)
    for g0, w0, c in SIGNS:
        it = plain(g0, np.array(w0) / np.linalg.norm(w0), c=c)
        limit = theory.flow_limit(it.problem, g0, it.w0, c)
        evidence.equal("the sign of g∞", limit.scale, flow_end(it, 1e-20).scale, rtol=1e-6, g0=g0)
    for _ in range(max(2, instances // 6)):
        _either_side(evidence, rng)
    for _ in range(max(4, instances // 3)):  # from scale zero, where the pull decides
        it = make(rng, ("general",), condition=2.0).at(g0=0.0)
        limit = theory.flow_limit(it.problem, 0.0, it.w0, it.c)
        end = flow_end(it, _floor(it))
        evidence.equal("from g0 = 0", limit.weights, end.weights, rtol=1e-6, **it.summary)
        evidence.equal("from g0 = 0", limit.scale, end.scale, rtol=1e-6, **it.summary)
        evidence.true("it moves", limit.applies)
    _at_any_size(evidence)


def _printed_form(evidence: Evidence, rng: Rng) -> None:
    """The printed form itself, and where it is said to be good."""
    for g0, c in CASES:
        it = make(rng, ("general",), m=2).at(g0=g0, c=c)
        it = it.at(x=3.0 * it.x / it.gstar)
        q0 = it.q(it.w0)
        printed = theory.flow_limit_as_printed(it.problem, g0, it.w0, c)
        perp = 3.0 * q0 * np.exp((g0**2 - 9.0) / (2 * c))
        evidence.equal("‖x⊥‖ as printed", printed.perp_norm, perp, rtol=1e-10, g0=g0, c=c)
        evidence.equal("‖x‖ as printed", printed.norm, np.hypot(3.0, perp), rtol=1e-10, g0=g0, c=c)
        series = (perp / 3.0) ** 2 * max(1.0, 9.0 / c)
        end = flow_end(it, _floor(it))
        good = series <= 0.01 and end.scale > 0
        evidence.true("good iff its first term is small", printed.applies == good, g0=g0, c=c)
    for term, ratio in ((0.0095, 90.0), (0.0105, 90.0), (0.05, 90.0), (0.0095, 1.8), (0.0105, 1.8)):
        q0 = float(np.sqrt(term / max(1.0, 9.0 / ratio)) * np.exp(4.5 / ratio))  # from g0 = 0
        small = plain(1e-9, angled(q0), y=3.0)
        printed = theory.flow_limit_as_printed(small.problem, 1e-9, small.w0, ratio)
        evidence.true("its first term at most 0.01", printed.applies == (term <= 0.01), term=term)
    inside = theory.flow_limit_as_printed(plain(5.0, [1.0, 0.0]).problem, 5.0, [1.0, 0.0], 1e-310)
    evidence.true("w0⊥ = 0 stays 0", inside.perp_norm == 0.0 and inside.applies)
    evidence.equal("x*", inside.weights, [1.0, 0.0], rtol=0.0)
    turned = theory.flow_limit_as_printed(plain(0.2, [-1.0, 0.0]).problem, 0.2, [-1.0, 0.0])
    evidence.true("the scale ends negative", not turned.applies)
    resting = theory.flow_limit_as_printed(LeastSquares(np.eye(2, 3), [1.0, 0.0]), 0.0, [0, 1, 0])
    evidence.true("a start in S stays there", not resting.applies)
    hostile = plain(-0.5, angled(0.05), c=0.1)  # g ends positive, so that the printed sign is right
    end = flow_end(hostile, 1e-20)
    printed = theory.flow_limit_as_printed(hostile.problem, -0.5, hostile.w0, 0.1)
    evidence.true("its sign", printed.applies == (end.scale > 0), scale=end.scale)


def _at_any_size(evidence: Evidence) -> None:
    """The scalar formulas, far out and at their edges."""
    for g0, gstar, q0, c in EXTREMES:  # against 50 digits
        perp, known = float(theory.limit_perp(g0, gstar, q0, c)), perp_by_digits(g0, gstar, q0, c)
        evidence.equal("‖x∞⊥‖ at any size", perp, known, rtol=1e-12, g0=g0, gstar=gstar, q0=q0, c=c)
        mirrored = float(theory.limit_perp(-g0, gstar, q0, c))
        evidence.equal("either sign", mirrored, known, rtol=1e-12, g0=-g0)
    evidence.equal("q0 = 0", float(theory.limit_perp(5.0, 1.0, 0.0, 1e-3)), 0.0, rtol=0.0)
    kept = float(theory.perp_of_limit(5.0, 4.0, 0.0, 1e-310))
    evidence.equal("q0 = 0, whatever the exponent", kept, 0.0, rtol=0.0)
    level = float(theory.perp_of_limit(-1e200, 1e200, 0.5, 1e-300))
    evidence.equal("g∞ = ±g0", level, 0.5e200, rtol=1e-12)
    nothing = float(theory.perp_of_limit(1.0, 0.0, 0.5, 1e-310))
    evidence.equal("g∞ = 0", nothing, 0.0, rtol=0.0)


def _either_side(evidence: Evidence, rng: Rng) -> None:
    """A start against x*, m ≥ 2: the ratio at which the final scale changes its sign, by bisection
    of integrated flows, and the prediction a per cent to either side of it.
    """
    it = make(rng, ("general",), m=int(rng.integers(2, 4)), condition=3.0)
    lean = it.w0 - float(rng.uniform(0.7, 1.5)) * it.x / it.gstar
    g0 = float(rng.choice([-1.0, 1.0])) * float(rng.uniform(0.2, 0.7)) * it.gstar
    it = it.at(g0=g0, w0=np.sign(g0) * lean / np.linalg.norm(lean))
    low, high = 1e-3 * it.gstar**2, 1e3 * it.gstar**2

    def stays(c: float) -> bool:
        return flow_end(it.at(c=c), 1e-6 * it.gstar**2).scale * g0 > 0

    if stays(low) == stays(high):
        evidence.skip("the scale keeps its sign for every ratio")
        return
    first = stays(low)
    for _ in range(14):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stays(middle) == first else (low, middle)
    for factor, same in ((0.99, first), (1.01, not first)):
        limit = theory.flow_limit(it.problem, g0, it.w0, factor * low)
        evidence.true("either side of the separatrix", (limit.scale * g0 > 0) == same, c=low)
        evidence.true("it is settled", limit.applies)


@check("gd-limit")
def gd_limit(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Plain gradient descent, run to the end; printed x* + g* w0⊥."""
    for _ in evidence.over(range(instances)):
        it = make(rng, condition=2.0)
        late = descend(it, it.g0 * it.w0, 1.0, 150)
        limit = theory.gd_limit(it.problem, it.g0, it.w0)
        kept = it.q(late)
        evidence.equal("x∞", limit.weights, late, rtol=1e-9, **it.summary)
        evidence.equal("‖x∞‖", limit.norm, np.linalg.norm(late), rtol=1e-9, **it.summary)
        for value in (limit.perp_norm, limit.distance):
            evidence.equal("‖x⊥‖", value, kept, rtol=1e-7, atol=1e-12 * it.gstar, **it.summary)
        printed = it.x + it.gstar * it.perp(it.w0)
        evidence.as_printed(np.allclose(printed, late, rtol=1e-6, atol=1e-9), **it.summary)


def _compare(evidence: Evidence, it: Instance) -> tuple[float, float]:
    """‖x⊥‖ of the integrated flow and of gradient descent, and whether the theory knows which is
    smaller.
    """
    q0 = it.q(it.w0)
    said = theory.wn_beats_gd(it.g0, it.gstar, q0, it.c)
    end, gd = flow_end(it, _floor(it)), abs(it.g0) * q0
    evidence.true("which is closer", said.closer == (end.perp < gd), **it.summary)
    shrinks = abs(end.scale) > abs(it.g0)
    evidence.true("whether ‖w⊥‖ shrinks", said.direction_turns_in == shrinks, **it.summary)
    evidence.true("c > 0 and w0⊥ ≠ 0", said.applies)
    return end.perp, gd


@check("wn-beats-gd")
def wn_beats_gd(evidence: Evidence, rng: Rng, instances: int) -> None:
    """Which of the two ends closer, by integrating, a per mille to either side of c*; a tie at
    c*; and |g∞| = |g0| exactly at the threshold g*/‖w0∥‖.
    """
    for index in evidence.over(range(max(6, instances // 2))):
        it = make(rng, ("general",), condition=2.0)
        if index == 0:  # a small start and a large ratio: gradient descent ends closer
            it = it.at(g0=0.1 * it.gstar, c=3.0 * it.gstar**2)
        q0 = it.q(it.w0)
        said = theory.wn_beats_gd(it.g0, it.gstar, q0, it.c)
        D = it.gstar**2 - it.g0**2 * (1 - q0**2)
        star = D / np.log(1 + D / it.g0**2)
        evidence.equal("c*", said.critical_ratio, star, rtol=1e-9, **it.summary)
        tie = flow_end(it.at(c=said.critical_ratio), _floor(it))
        evidence.equal("a tie at c*", abs(it.g0) * q0, tie.perp, rtol=1e-6, **it.summary)
        for c in (0.999 * star, 1.001 * star, it.c):
            wn, gd = _compare(evidence, it.at(c=c))
            if abs(it.g0) <= it.gstar * (1 + 1e-9):
                evidence.as_printed(wn <= gd * (1 + 1e-9), wn=wn, gd=gd, **it.at(c=c).summary)
        at = flow_end(it.at(g0=said.threshold), _floor(it))
        evidence.equal("|g∞| at g*/‖w0∥‖", said.threshold, abs(at.scale), rtol=1e-7, **it.summary)
    small = theory.wn_beats_gd(1e-6, 2.0, 0.5, 1.0)  # D/g0² = 4e12
    evidence.equal("c* of a tiny start", small.critical_ratio, 2.0 / np.log(2e6), rtol=1e-9)
    mirrored = theory.wn_beats_gd(-1e-6, 2.0, 0.5, 1.0)
    evidence.equal("either sign", mirrored.critical_ratio, small.critical_ratio, rtol=1e-12)
    none = theory.wn_beats_gd(0.0, 1.0, 0.5, 1.0)
    evidence.true("g0 = 0: nothing to beat", not none.closer and none.critical_ratio == 0.0)
    level = theory.wn_beats_gd(1.0, 2.0, 0.0, 1.0)
    evidence.true("w0⊥ = 0: a tie", not level.closer and not level.applies)
    evidence.true("c = 0", not theory.wn_beats_gd(1.0, 2.0, 0.5, 0.0).applies)
    evidence.true("y = 0", not theory.wn_beats_gd(1.0, 0.0, 0.5, 1.0).applies)
    parallel = float(np.sqrt(max(0.0, 1.0 - 0.6**2)))
    outward = theory.wn_beats_gd(-5.0, 1.0, 0.5, 1.0)
    evidence.true("a large negative scale turns w out", not outward.direction_turns_in)
    even = theory.wn_beats_gd(1.0, parallel, 0.6, 2.0)  # D = 0
    evidence.equal("c* at D = 0", even.critical_ratio, 1.0, rtol=1e-12)
    evidence.true("a tie at D = 0", not even.closer)
    orthogonal = theory.wn_beats_gd(1.0, 1.0, 1.0, 1.0)
    evidence.true("w0∥ = 0: w always turns in", orthogonal.threshold == np.inf)


@check("wn-farther")
def wn_farther(evidence: Evidence, rng: Rng, instances: int) -> None:
    """From g0² > g*² either may end closer; there is a ratio with which WN ends farther."""
    for _ in evidence.over(range(max(5, instances // 2))):
        it = make(rng, ("general",), condition=2.0)
        it = it.at(g0=float(rng.choice([1.1, 1.5, 2.5])) * it.gstar)
        star = theory.wn_beats_gd(it.g0, it.gstar, it.q(it.w0), 1.0).critical_ratio
        tie = flow_end(it.at(c=star), _floor(it))
        evidence.equal("a tie at c*", abs(it.g0) * it.q(it.w0), tie.perp, rtol=1e-6, **it.summary)
        ends = [_compare(evidence, it.at(c=c)) for c in (0.9 * star, 1.1 * star)]
        farther = [wn > gd for wn, gd in ends]
        evidence.true("to one side of c* farther, to the other closer", sum(farther) == 1)
        evidence.as_printed(any(farther), **it.summary)


@check("fixed-scale-orthogonal")
def fixed_scale_orthogonal(evidence: Evidence, rng: Rng, instances: int) -> None:
    """c = 0, orthogonal A: the predicted point for either sign, under and over g*."""
    for _ in evidence.over(range(max(5, instances // 2))):
        it = make(rng, TAME, orthogonal=True)
        for share in (0.4, -0.7, 1.4, -1.4):  # at ±1 the approach is only algebraic
            _fixed(evidence, it.at(g0=share * it.gstar, c=0.0), 0 < share <= 1, to_solution=True)
    for g0 in (2.0, -2.0):
        against = plain(g0, [-np.sign(g0), 0.0], y=4.0)  # w0 = −w* is a source
        limit = theory.fixed_scale_limit(against.problem, g0, against.w0)
        evidence.true("w0 = −w* stays", not limit.applies)
        beside = theory.fixed_scale_limit(against.problem, g0, [-np.sign(g0), 1e-7])
        evidence.true("beside it w leaves", beside.applies)
        along = theory.fixed_scale_limit(against.problem, g0, [np.sign(g0), 0.0])
        evidence.true("w0 = w* is there", along.applies)
        evidence.equal("x", along.weights, [2.0, 0.0], rtol=1e-12)
    row = LeastSquares(np.eye(2, 3), [3.0, 0.0])
    for w0 in ([0.6, 0.8, 0.0], [-0.96, 0.28, 0.0]):
        turned = theory.fixed_scale_limit(row, 1.0, w0)
        evidence.true("w0⊥ = 0, orthogonal A: w turns", turned.applies)
        evidence.equal("to w*", turned.weights, [1.0, 0.0, 0.0], rtol=1e-12)
    beyond = theory.fixed_scale_limit(against.problem, 5.0, [1.0, 0.0])
    evidence.true("|g0| > g* needs w0⊥ ≠ 0", not beyond.applies)


def _fixed(evidence: Evidence, it: Instance, within: bool, to_solution: bool) -> None:
    limit, summary = theory.fixed_scale_limit(it.problem, it.g0, it.w0), it.summary
    end = flow_end(it, 1e-26)
    atol = 1e-7 * it.gstar
    evidence.equal("g0·w∞", limit.weights, end.weights, rtol=1e-6, atol=atol, **summary)
    evidence.equal("‖x⊥‖", limit.perp_norm, end.perp, rtol=1e-6, atol=10 * atol, **summary)
    evidence.equal("‖x‖", limit.norm, np.linalg.norm(end.weights), rtol=1e-6, **summary)
    far = float(np.linalg.norm(end.weights - it.x))
    evidence.equal("‖x − x*‖", limit.distance, far, rtol=1e-5, atol=10 * atol, **summary)
    evidence.equal("the scale", limit.scale, it.g0, rtol=1e-15)
    evidence.true("w0⊥ ≠ 0", limit.applies, **summary)
    there = np.allclose(end.weights / it.g0, it.x / it.gstar, atol=1e-5)
    inside = end.perp <= 1e-5 * it.gstar
    evidence.as_printed(there if to_solution else inside, within=within, perp=end.perp, **summary)


@check("fixed-scale-general")
def fixed_scale_general(evidence: Evidence, rng: Rng, instances: int) -> None:
    """c = 0, general A: the ridge fixed point; over g* the limit leaves the row space."""
    for _ in evidence.over(range(max(5, instances // 2))):
        condition = float(rng.choice([2.0, 5.0]))
        it = make(rng, TAME, condition=condition, m=int(rng.integers(2, 6)))
        for share in (0.3, -0.8, 1.5, -1.5):
            here = it.at(g0=share * it.gstar, c=0.0)
            _fixed(evidence, here, abs(share) <= 1, to_solution=False)
            if abs(share) < 1:  # w̃ = (ĉ⁻¹I + g0AᵀA)⁻¹Aᵀy with ĉ = −1/s of the sign of g0
                w = theory.fixed_scale_limit(here.problem, here.g0, here.w0).weights / here.g0
                s = float(w @ here.gradient(here.g0 * w))
                matrix = -s * np.eye(w.size) + here.g0 * (here.A.T @ here.A)
                ridge = np.linalg.solve(matrix, here.A.T @ here.y)
                evidence.equal("w̃", w, ridge, rtol=1e-8, **here.summary)
                evidence.true("ĉ has the sign of g0", -s * here.g0 > 0, **here.summary)
    row = LeastSquares([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [1.0, 1.0])
    inside = theory.fixed_scale_limit(row, 0.5, [0.6, -0.8, 0.0])
    evidence.true("w0⊥ = 0 is left open", not inside.applies)


@check("restart")
def restart(evidence: Evidence, rng: Rng, instances: int) -> None:
    """c = 0 until nothing moves, then c > 0."""
    for _ in evidence.over(range(max(5, instances // 3))):
        it = make(rng, TAME, condition=2.0)
        for share in (0.5, -0.5, 1.5):
            g0, c = share * it.gstar, max(it.c, 0.3)
            settled = flow_end(it.at(g0=g0, c=0.0), 1e-24)
            end = flow_end(it.at(g0=g0, w0=settled.weights / g0, c=c), 1e-22)
            limit, summary = theory.restart_limit(it.problem, g0, it.w0), it.summary | {"g0": g0}
            evidence.true("0 < |g0| < g*", limit.applies == (abs(share) < 1), **summary)
            if abs(share) < 1:
                evidence.equal("g∞", limit.scale, end.scale, rtol=1e-6, **summary)
                evidence.equal("x∞", limit.weights, end.weights, rtol=1e-6, **summary)
                evidence.equal("‖x∞‖", limit.norm, np.linalg.norm(end.weights), rtol=1e-6)
                evidence.equal("‖x⊥‖", limit.perp_norm, end.perp, rtol=0.0, atol=1e-6)
                evidence.equal("‖x∞ − x*‖", limit.distance, 0.0, rtol=0.0, atol=1e-6)
            reached = np.allclose(end.weights, it.x, atol=1e-5) and end.scale > 0
            evidence.as_printed(reached, within=0 < g0 < it.gstar, **summary)
    row = plain(0.5, [-1.0, 0.0])
    evidence.true("w0⊥ ≠ 0", not theory.restart_limit(row.problem, 0.5, row.w0).applies)


@check("orthogonal-gstar")
def orthogonal_gstar(evidence: Evidence, rng: Rng, instances: int) -> None:
    """g* against the norm of the pseudo-inverse's solution."""
    for _ in evidence.over(range(instances)):
        it = make(rng, orthogonal=True)
        best = float(np.linalg.norm(np.linalg.pinv(it.A) @ it.y))
        said = lemmas.orthogonal_gstar(it.y).value
        evidence.equal("g*", said, best, rtol=1e-12, **it.summary)
        evidence.as_printed(np.isclose(np.linalg.norm(it.y), best), **it.summary)


@check("example-2d")
def example_2d(evidence: Evidence, rng: Rng, instances: int) -> None:
    """The paper's example, integrated; and with other ratios."""
    for g0, c in evidence.over(
        [(1e-3, 1.0), (0.5, 1.0), (0.7, 1.0), (0.8, 1.0), (1.0, 1.0), (2.0, 1.0), (-2.0, 1.0)]
        + [(float(g), float(c)) for g, c in rng.uniform(0.2, 2.0, (instances // 3, 2))]
    ):
        it = plain(g0, [0.0, 1.0], c=c)
        said = lemmas.example_2d(g0, c)
        value, end = said.value, flow_end(it, 1e-22).weights
        evidence.true("g0 ≠ 0", said.applies)
        evidence.equal("the WN flow's end", value["wn"], end, rtol=1e-8, g0=g0, c=c)
        formula = [1.0, np.exp((g0**2 - 1.0) / (2 * c))]
        evidence.equal("as printed", value["printed"], formula, rtol=1e-12, g0=g0, c=c)
        if c == 1.0:
            evidence.as_printed(np.allclose(formula, end, atol=1e-3), g0=g0, observed=end)
        x = descend(it, g0 * it.w0, 0.5, 80)
        evidence.equal("gradient descent's end", value["gd"], x, rtol=1e-12, g0=g0)
        closer = abs(end[1]) < abs(g0)
        evidence.true("closer iff |g0| is above", closer == (abs(g0) > value["threshold"]), g0=g0)
        evidence.equal("the loss on S", value["loss_on_s"], it.loss(np.zeros(2)), rtol=1e-15)
    level = lemmas.example_2d(1.0).value["threshold"]
    tie = flow_end(plain(level, [0.0, 1.0]), 1e-22).weights[1]
    evidence.equal("a tie at the threshold", level, tie, rtol=1e-8)
    evidence.true("g0 = 0 rests in S", not lemmas.example_2d(0.0).applies)
