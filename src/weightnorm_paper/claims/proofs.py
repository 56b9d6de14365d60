"""Steps inside proofs."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="proof-fixed-scale-maximum",
        kind="false",
        conclusion="yes",
        group="proof",
        paper="Appendix C.4.3, the limit under a fixed scale",
        functions=("fixed_scale_limit",),
        verdict=(
            "The limit that this step is to exclude is excluded, for a start with w0⊥ ≠ 0, but not "
            "for the reason given: it need not maximise the loss."
        ),
        printed=(
            "A rest point w = +Aᵀr/‖Aᵀr‖ of the flow with a fixed scale g0 > 0 maximises the loss "
            "over the unit sphere, so the flow cannot end there."
        ),
        exact=(
            "Let c = 0, 0 < ∣g0∣ < g* and w0⊥ ≠ 0. Then w_t converges, and its limit has w = "
            "−sign(g0)·Aᵀr/‖Aᵀr‖. A rest point of the other sign need not be a maximum of the "
            "loss; what excludes it is that w⊥ would grow without bound near it."
        ),
        proof=(
            "For c = 0 the flow is the gradient flow of the analytic function w ↦ ½‖Ag0w − y‖² on "
            "the compact sphere, so w_t converges to a rest point (Łojasiewicz), where PAᵀr = 0, "
            "that is Aᵀr = sw. There s ≠ 0: Aᵀr = 0 would give r = 0, so g0w would be a solution, "
            "and these have norms of at least g* > ∣g0∣. As Aᵀr has no part off the row space, the "
            "part of −g0PAᵀr off it is +g0s·w⊥: ‖w_t⊥‖ = q0·exp(∫g0s dt). If g0s > 0 in the limit, "
            "this grows exponentially in the end, against ‖w_t⊥‖ ≤ 1. So g0s < 0, and w = Aᵀr/s is "
            "−sign(g0)·Aᵀr/‖Aᵀr‖."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (0, 0.1, 0), y = (0, 0.1), g0 = ½, w = (0, −1, 0), which "
            "is +Aᵀr/‖Aᵀr‖: its loss, and the loss at (1, 0, 0)"
        ),
        snippet="""
A, y = np.array([[1.0, 0, 0], [0, 0.1, 0]]), np.array([0.0, 0.1])
w, other = np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0])
pull = A.T @ (A @ (0.5 * w) - y)
assert np.allclose(w, pull / norm(pull))
found, printed = loss(A, y, 0.5 * other), loss(A, y, 0.5 * w)
""",
        relation=">",
    ),
    Claim(
        id="proof-restart-derivative",
        kind="false",
        conclusion="yes",
        group="proof",
        paper="Appendix C.4.3, after the restart",
        functions=("loss_rate",),
        verdict=(
            "The flow does reach zero loss after the restart, but the derivative printed on the "
            "way lacks a term, and rᵀAw = 0 alone does not give r = 0."
        ),
        printed=(
            "With w in the row space the loss obeys d(½‖r‖²)/dt = −(rᵀAw)²; the limit has rᵀAw = "
            "0, and as ‖w‖ = 1 and A has full row rank, this gives r = 0."
        ),
        exact=(
            "d(½‖r‖²)/dt = −c(rᵀAw)² − g²‖PAᵀr‖², for every c ≥ 0 and any w. After the restart "
            "from (g0, w̃), w̃ the limit of [fixed-scale-general] from a w0 with w0⊥ ≠ 0, 0 < g0 < "
            "g*, with c > 0, the loss goes to 0 and x to x*, because the loss at w̃ is below ½‖y‖²."
        ),
        proof=(
            "ṙ = A(ġw + gẇ) = −A(csw + g²PAᵀr) with s = wᵀAᵀr. Hence rᵀṙ = −cs² − g²⟨Aᵀr, PAᵀr⟩ = "
            "−cs² − g²‖PAᵀr‖², as P is an orthogonal projection. At w̃ g0s < 0 "
            "[fixed-scale-general]. From y = Ax − r and ⟨Ax, r⟩ = g0s follows ‖y‖² − ‖r‖² = ‖Ax‖² "
            "− 2g0s > 0. So the loss starts below ½‖y‖², its value on S; it falls, the flow cannot "
            "end in S, and the loss goes to 0 [flow-dichotomy]. w⊥ = 0 at w̃ and for ever "
            "[invariant], so the solution that is reached lies in the row space: it is x*. With "
            "the A and y of the instance, g = 0.6 and w = (0.6, 0.8, 0) have rᵀAw = 0, but r = "
            "(−0.64, 0.48)."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (0, 1, 0), y = (1, 0), g = c = 1, w = (0, 1, 0): the "
            "derivative of the loss, from the flow at times ±1e-4"
        ),
        snippet="""
A, y, w = np.eye(3)[:2], np.array([1.0, 0.0]), np.array([0.0, 1.0, 0.0])
ends = [flow(A, y, 1.0, w, c=1.0, time=t) for t in (-1e-4, 1e-4)]
before, after = (loss(A, y, g * u) for g, u in ends)
r = A @ w - y
found, printed, exact = (after - before) / 2e-4, -((r @ A @ w) ** 2), -2.0
""",
        relation="≠",
    ),
    Claim(
        id="proof-rate-missing-c",
        kind="misprint",
        conclusion="yes",
        group="proof",
        paper="Appendix C.5, (10)",
        functions=("invariant",),
        verdict="A factor c is missing before both logarithms; the theorem itself has it.",
        printed="g_t² = 2·log‖w0⊥‖ + g0² − 2·log‖w_t⊥‖ along the flow, for every c > 0.",
        exact=(
            "For c > 0 and w0⊥ ≠ 0: g_t² = 2c·log‖w0⊥‖ + g0² − 2c·log‖w_t⊥‖, hence g_t² ≥ g0² + "
            "2c·log‖w0⊥‖ = c·log F0. The printed form is the case c = 1."
        ),
        proof=(
            "Aᵀr lies in the row space, so the part of ẇ = −g(Aᵀr − sw) off it is ẇ⊥ = gs·w⊥, and "
            "d(log‖w⊥‖)/dt = gs. With ġ = −cs, d(g²)/dt = −2cgs. So g² + 2c·log‖w⊥‖ is constant. "
            "The bound follows from ‖w_t⊥‖ ≤ ‖w_t‖ = 1."
        ),
        instance="B, w0 = (0.6, 0.8), g0 = ½, c = 4: g² at time 1",
        snippet="""
g, w = flow(*B, 0.5, np.array([0.6, 0.8]), c=4.0, time=1.0)
found = g**2
printed = 2 * np.log(0.8) + 0.25 - 2 * np.log(w[1])
exact = 8 * np.log(0.8) + 0.25 - 8 * np.log(w[1])
""",
        relation="≠",
    ),
    Claim(
        id="proof-step-bound",
        kind="false",
        conclusion="yes",
        group="proof",
        paper="Appendix E, proof of Theorem E.1",
        functions=("step_identities",),
        verdict=(
            "A scale step of at most ½ is all that the contraction needs, so nothing is lost; the "
            "printed inequality itself fails."
        ),
        printed=(
            "1/(2‖v0‖²) ≥ 1/(2(1 + ‖Aw0‖²)), so the second number is a safe bound of the scale "
            "step."
        ),
        exact=(
            "For AAᵀ = I, η = 1/g² and g0 ≠ 0: ‖v0‖² = 1 + (g*² − g0²p0²)/g0², so the printed "
            "inequality holds if and only if g*² ≤ 2g0²p0². For 0 < g ≤ a the contraction b − g′ ≤ "
            "(1 − γ)(a − g) holds for every 0 < γ ≤ ½."
        ),
        proof=(
            "v = w − (1/g)Aᵀ(gAw − y) = w⊥ + Aᵀy/g, since AᵀAw = w∥. The two parts are orthogonal "
            "and ‖Aᵀy‖ = g*, so ‖v‖² = 1 − p² + g*²/g². It is at most 1 + p² if and only if g*² ≤ "
            "2g²p². For the contraction: b − g′ = (1 − γ)(a − g) − (a − b)(1 − γ(a + b)/(g + a)) "
            "[scale-step-identity], where b² = (1 − p²)g² + p²a² lies between g² and a². So a − b "
            "≥ 0 and (a + b)/(g + a) ≤ 2a/(g + a) < 2, and γ ≤ ½ makes the last factor positive."
        ),
        instance="B, w0 = (0, 1), g0 = ½, η = 1/g0²: 1/(2‖v0‖²)",
        snippet="""
A, y = B
v = e2 - (1 / 0.5) * A.T @ (A @ (0.5 * e2) - y)
found, printed = 1 / (2 * norm(v) ** 2), 1 / (2 * (1 + norm(A @ e2) ** 2))
exact = 1 / (2 * (1 + (1 - 0) / 0.25))
""",
        relation="<",
    ),
    Claim(
        id="proof-inner-product",
        kind="misprint",
        conclusion="yes",
        group="proof",
        paper="Appendix E, proof of Lemma E.3",
        functions=("scale_step",),
        verdict="A factor −½ is missing in the sentence; the display before it has it.",
        printed="⟨Agw, r⟩ = g*² − ‖Agw‖² − ‖r‖², for AAᵀ = I.",
        exact="For AAᵀ = I: ⟨Agw, r⟩ = −½(g*² − ‖Agw‖² − ‖r‖²).",
        proof=(
            "y = Agw − r and, as AAᵀ = I, ‖y‖ = ‖Aᵀy‖ = g*. Expanding, g*² = ‖Agw‖² − 2⟨Agw, r⟩ + "
            "‖r‖²; solve for ⟨Agw, r⟩. The update g′ = g − (γ/g)⟨Agw, r⟩ = g + (γ/2g)(g*² − ‖Agw‖² "
            "− ‖r‖²) is then the one that the lemma uses."
        ),
        instance=(
            "B, w = (0.6, 0.8), g = ½, γ = 1: ⟨Agw, r⟩ = (g/γ)(g − g′), read off a step of rPGD"
        ),
        snippet="""
A, y = B
w = np.array([0.6, 0.8])
found = 0.5 * (0.5 - rpgd(A, y, 0.5, w, 4.0, 1.0)[0])
printed = 1 - norm(A @ (0.5 * w)) ** 2 - norm(A @ (0.5 * w) - y) ** 2
exact = -0.5 * printed
""",
        relation="≠",
    ),
    Claim(
        id="proof-random-tails",
        kind="false",
        conclusion="yes",
        group="proof",
        paper="Appendix E, proof of Lemma E.11",
        functions=("random_tail",),
        verdict=(
            "The lemma survives by another proof, but this tail is far larger than 1/m: e^{−c·log "
            "m} is m^{−c}, not e^{−c}/m."
        ),
        printed=(
            "For independent standard normal z_i, Pr(Σ z_i² ≥ m + √(m·log m)), the sum over m of "
            "them, is at most e^{−c·log m} = e^{−c}/m = O(1/m), with an absolute constant c > 0."
        ),
        exact=(
            "e^{−c·log m} = m^{−c}, and as m → ∞ the tail is m^{−1/4}/√(π·log m)·(1 + o(1)), which "
            "no multiple of 1/m bounds. The lemma's probability 1 − O(1/m) is true, since the "
            "ratio Σσ_i²z_i²/Σz_i² concentrates better than its two sums."
        ),
        proof=(
            "z_i² has mean 1, variance 2 and exponential moments, so with Q the upper tail of the "
            "normal law Pr(Σz_i² ≥ m + x√(2m)) = Q(x)(1 + o(1)) for x = o(m^{1/6}) (Cramér). Take "
            "x = √(log m/2). Q(x) = e^{−x²/2}/(x√(2π))·(1 + o(1)) for x → ∞, and here e^{−x²/2} = "
            "m^{−1/4} and x√(2π) = √(π·log m). Times m this tends to infinity, so it is not "
            "O(1/m). That the ratio is as the lemma needs it with probability 1 − O(1/m) is shown "
            "directly, by one exponential bound for Σb_iz_i² ≤ 0 [general-matrix-random]."
        ),
        instance="m = 2000: the exact tail of the chi-squared law, against 1/m ≥ e^{−c}/m",
        snippet="""
from scipy.stats import chi2
m = 2000
found, printed = chi2.sf(m + np.sqrt(m * np.log(m)), m), 1 / m
""",
        relation=">",
    ),
)
