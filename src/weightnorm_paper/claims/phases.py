"""The two phases of Theorem 3.2, in numbers of steps."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="two-phase-a-first",
        kind="condition-needed",
        conclusion="yes",
        group="discrete",
        paper="Theorems 3.2 (a) and E.1, first phase",
        functions=("two_phase_a",),
        verdict=(
            "True if also δ ≤ ε, which is automatic for 2g* + ε ≥ 1; the bound on the scale step "
            "can be relaxed."
        ),
        printed=(
            "For any δ < ε/(2g* + ε), T1 = (1 + g*²/(ρδ0))·log((1 − p0²)/δ²), g1 = g0 and γ⁽¹⁾ < "
            "min(1/(2 + 2p0²), (g0p0)²·log((1 − ρ)g*²/g0² + ρ)/(2T1(g*² − g0²p0²))): ‖w⊥‖ ≤ ε from "
            "T1 on and g_{T1}² ≤ g*² − ρδ0."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g², 0 < g0 < g*, 0 < ρ < 1, 0 < δ ≤ ε, δ < 1, T1 as printed, "
            "rounded up and at least 1, g1 = g0 and, for 1 ≤ t < T1, 0 < γ⁽¹⁾ ≤ min(½, g0²·log((1 "
            "− ρ)g*²/g0² + ρ)/(T1(g*² − g0²p0²))). Then ‖w⊥_{T1}‖ ≤ δ and g_{T1}² ≤ g*² − ρδ0. The "
            "printed γ⁽¹⁾ is stricter than needed, and void if Aw0 = 0."
        ),
        proof=(
            "By [scale-increases] g rises and g < a, so b ≤ a [scale-step-identity] and ‖v_t‖ = "
            "b/g_t ≤ a/g_{t−1} = ‖v_{t−1}‖: so ‖v_t‖² − 1 ≤ ‖v0‖² − 1 = (g*² − g0²p0²)/g0² =: k. "
            "[scale-step-bound]: g_{t+1} ≤ g_t(1 + γk/2) ≤ g_te^{γk/2}, so for t ≤ T1, g_t² ≤ "
            "g0²e^{γkT1} ≤ (1 − ρ)g*² + ρg0² = g*² − ρδ0. By [perp-contraction] each of the T1 "
            "steps multiplies ‖w⊥‖² by at most g²/g*² ≤ 1 − ρδ0/g*² ≤ e^{−ρδ0/(g*² + ρδ0)}, so "
            "‖w⊥_{T1}‖² ≤ δ² (if 1 − p0² ≤ δ² at once)."
        ),
        instance=(
            "A = [1, 0], y = 0.1, so g* = 0.1; w0 = (.96, .28), g0 = 0.09, ε = 0.1, δ = 0.27, ρ = "
            "½: T1 = 0.84, rounded up to 1, and the printed T2 < 0; ‖w⊥‖ after this one step, with "
            "g1 = g0, against ε"
        ),
        snippet="""
T1 = int(np.ceil((1 + 0.01 / (0.5 * 0.0019)) * np.log(0.28**2 / 0.27**2)))
g, w = path(B[0], 0.1 * B[1], 0.09, [0.96, 0.28], [0.0] * T1)[-1]
found, printed = w[1], 0.1
""",
        relation=">",
    ),
    Claim(
        id="two-phase-a-second",
        kind="false",
        conclusion="partly",
        group="discrete",
        paper="Theorems 3.2 (a) and E.1, second phase",
        functions=("two_phase_a", "two_phase_a_printed_second"),
        verdict=(
            "The printed T2 is too short in general, and can be negative, as the proof takes "
            "g_{T1}² = g*² − ρδ0 where only ≤ is known; a T2 of the same form, with g_{T1} or g0 "
            "in it, is right."
        ),
        printed=(
            "With γ⁽²⁾ ≤ ¼ and T2 = (1/γ⁽²⁾)·log(ρδ0/(g*²(1 − ε)√ε)) more steps, ‖r_T‖² ≤ εg*² "
            "(Theorem 3.2: 3εg*²). The theorem says “of the order”; its proof takes it as the "
            "number of steps."
        ),
        exact=(
            "After the first phase [two-phase-a-first] with ‖w⊥_{T1}‖ ≤ δ ≤ ε, let 0 < γ⁽²⁾ ≤ ½ "
            "and T2 = (1/γ⁽²⁾)·log((1/√(1 − δ²) − g_{T1}/g*)/√ε), rounded up and at least 0. Then "
            "‖r_T‖² ≤ εg*² and ‖w⊥_T‖ ≤ δ at T = T1 + T2. g0 may stand for g_{T1}. The printed T2, "
            "rounded up and at least 0, is right for ε ≤ ½ if γ⁽¹⁾ < 1 is instead tuned, above its "
            "bound, so that g_{T1}² = g*² − ρδ0. (In both theorems ‖Ag_Tw_T − b‖ reads ‖Ag_Tw_T − "
            "y‖.)"
        ),
        proof=(
            "At t = T1 ≥ 1, p² ≥ 1 − δ² and 0 < g < a = g*/p [scale-increases], so a − g ≤ "
            "g*·(1/√(1 − δ²) − g_{T1}/g*). By [scale-step-identity] with γ ≤ ½ each step keeps 0 < "
            "g ≤ a and multiplies a − g by at most 1 − γ ≤ e^{−γ}; so after T2 steps a − g ≤ "
            "√ε·g*, and ‖r‖ = p(a − g) ≤ √ε·g* by [loss-gap]. ‖v‖ = b/g ≥ 1, so w⊥ does not grow. "
            "g0 ≤ g_{T1} only lengthens T2. Printed T2: let R = ρδ0/g*² = 1 − g_{T1}²/g*². As √ε ≤ "
            "1 − ε², (a − g)/g* ≤ R + ε²/(1 − ε²) ≤ R + ε√ε, which is ≤ R/(1 − ε) if R ≥ (1 − ε)√ε "
            "and ≤ √ε if not."
        ),
        instance=(
            "B, w0 = (.6, .8), g0 = ½, ρ = 0.01, ε = 1e-4, δ = 4e-5, g1 = g0, γ⁽¹⁾ = 2.5e-5 to T1 "
            "= 2661, γ⁽²⁾ = ¼: the printed T2 is −1.15, which no constant in “of the order” makes "
            "a number of steps; ‖r‖² after T1 steps and no more, against 3εg*² (14 more are needed "
            "for εg*², the corrected T2 is 16)"
        ),
        snippet="""
T1 = int(np.ceil((1 + 1 / (0.01 * 0.75)) * np.log(0.64 / 4e-5**2)))
T2 = max(0, int(np.ceil(4 * np.log(0.01 * 0.75 / ((1 - 1e-4) * 1e-2)))))
g, w = path(*B, 0.5, [0.6, 0.8], [0.0] + [2.5e-5] * (T1 - 1) + [0.25] * T2)[-1]
found, printed = 2 * loss(*B, g * w), 3 * 1e-4
""",
        relation=">",
    ),
    Claim(
        id="two-phase-b",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Theorem E.7",
        functions=("two_phase_b",),
        verdict=(
            "True for γ < ¼, as in Theorem 3.2 (b), if T2 is rounded down; for γ up to (29) "
            "neither rounding of T2 keeps both bounds on g."
        ),
        printed=(
            "γ = 0 for T1 = log(1/ε²)/log(g*²/g0²) steps, then γ < (29) for T2 = log((1 − (1 − "
            "ε²)g0/g*)/ε²)/log(1/(1 − γ′)) steps, γ′ = (1 − ε²)γ: (1 − 2ε²)g* ≤ g_T ≤ g*."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g², 0 < g0 < g*, 0 < ε < ½, T1 rounded up. With T2 rounded down "
            "and 0 < γ ≤ 4/9 (any γ ≤ 1 if T2 is an integer): (1 − 2ε²)g* ≤ g_T ≤ g*. With T2 "
            "rounded up and 0 < γ ≤ 1: (1 − 2ε²)g* ≤ g_T ≤ g*/√(1 − ε²). In both cases ‖w⊥_T‖ ≤ ε "
            "and ‖r_T‖ ≤ 2.5ε²g*. (29) is not needed: it says T2 > 1."
        ),
        proof=(
            "e = g* − g, Δ = ε²g*/(1 − ε²); (1 − γ′)^{T2} = Δ/(g* − g0 + Δ). [two-phase-b-bounds]: "
            "‖w⊥‖ ≤ ε; g ≤ g*/√(1 − ε²); e ≥ 0 for the first ⌊T2⌋ steps; e′ ≤ (1 − γ′)e while e ≥ "
            "0, and g never falls, so e_n ≤ (1 − γ′)^n(g* − g0) unless e_n < 0. n ≥ T2: e ≤ Δ < "
            "2ε²g*. n = ⌊T2⌋: e ≤ Δ/(1 − γ′) ≤ 2ε²g* iff 2u(1 − γu) ≥ 1, u = 1 − ε² > ¾, i.e. γ ≤ "
            "1/u − 1/(2u²), which grows with u from 4/9. Last, p ≥ √(1 − ε²), g ≤ a: with x = ε², "
            "‖r‖ = g* − gp ≤ g*(1 − (1 − 2x)√(1 − x)), and √(1 − x) ≥ 1 − x/2 − x²/2 makes this ≤ "
            "2.5xg*."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = 0.6, ε = 1/12, γ = 0.96 < (29) = 0.990: T1 = 4.86, rounded up to "
            "5, T2 = 1.33; distance of g from [1 − 2ε², 1] after 1 and 2 further steps (g = "
            "0.98437 and 1.0000229 against [0.98611, 1]), the smaller one"
        ),
        snippet="""
points = path(*B, 0.6, e2, [0.0] * 5 + [0.96] * 2)
found = min(max(1 - 2 / 144 - g, g - 1) for g, w in points[-2:])
printed = 0.0
""",
        relation=">",
    ),
    Claim(
        id="two-phase-b-bounds",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.8",
        functions=("two_phase_b_bounds",),
        verdict="True as printed, for the whole steps within T2, which is what its proof uses.",
        printed=(
            "In the second phase, ‖w⊥′‖ ≤ ‖w⊥‖ ≤ ε and (1 − γ′)g + γ′g* ≤ g′ ≤ g*, γ′ = (1 − ε²)γ."
        ),
        exact=(
            "In [two-phase-b] with 0 < γ ≤ 1 the printed bounds hold for the first ⌊T2⌋ steps of "
            "the second phase. After that, for ever: g ≤ g′ ≤ g*/√(1 − ε²), ‖w⊥′‖ ≤ ‖w⊥‖ ≤ ε, and "
            "the lower bound as long as g ≤ g*. (The last line of (42) should end in γ′g*.)"
        ),
        proof=(
            "[perp-contraction]: ‖w⊥_{T1}‖² ≤ (g0²/g*²)^{T1} ≤ ε², T1 ≥ 1, and g0 < g* ≤ a. By "
            "[scale-step-identity] 0 < g ≤ g′ ≤ b ≤ a for ever; ‖v‖ = b/g ≥ 1, so ‖w⊥′‖ ≤ ‖w⊥‖ ≤ "
            "ε, 1 − ε² ≤ p² ≤ 1, g ≤ a = g*/p ≤ g*/√(1 − ε²). g′ = g + γp(g* − gp). While g ≤ g*, "
            "p(g* − gp) ≥ p²(g* − g) ≥ (1 − ε²)(g* − g): the lower bound. Also p(g* − gp) ≤ g* − "
            "(1 − ε²)g = (1 − ε²)(e + Δ), e = g* − g, Δ = ε²g*/(1 − ε²), so e′ + Δ ≥ (1 − γ′)(e + "
            "Δ); after n ≤ T2 steps e + Δ ≥ (1 − γ′)^{T2}(g* − g0 + Δ) = Δ by the choice of T2, so "
            "g ≤ g*."
        ),
        instance=(
            "A = rows e1, e2 of R⁴, y = (3, 4), so g* = 5; w0 = (−.5, .5, .5, .5), g0 = 4, ε = "
            "0.1, γ = 0.2: T1 = 11, ⌊T2⌋ = 13; the least margin in the three inequalities over "
            "these steps"
        ),
        snippet="""
A, y, w0 = np.eye(2, 4), np.array([3.0, 4.0]), np.array([-0.5, 0.5, 0.5, 0.5])
T1, T2 = np.log(100) / np.log(25 / 16), np.log(100 * (1 - 0.99 * 0.8)) / -np.log(1 - 0.99 * 0.2)
points = path(A, y, 4.0, w0, [0.0] * int(np.ceil(T1)) + [0.2] * int(T2))[int(np.ceil(T1)) :]
g, q = np.array([(g, norm(w[2:])) for g, w in points]).T
found, printed = min((g[1:] - 0.802 * g[:-1] - 0.99).min(), 5 - g[-1], -np.diff(q).max()), 0.0
""",
        relation="≥",
    ),
    Claim(
        id="two-phase-b-final",
        kind="loose",
        conclusion="yes",
        group="discrete",
        paper="Theorem E.7, the end",
        functions=("two_phase_b_final",),
        verdict="True, and far from tight: the loss is of the order ε⁴, not ε.",
        printed="⟨w_T, w*⟩ ≥ 1 − ε and ½‖r_T‖² ≤ 3εg*².",
        exact=(
            "In [two-phase-b], with either rounding of T2 and its γ: ⟨w_T, w*⟩ ≥ √(1 − ε²) and "
            "½‖r_T‖² ≤ 3.2ε⁴g*²."
        ),
        proof=(
            "T ≥ 1 and g > 0, so Aw_T = y/a with a = g*/p > 0 [step-identities], and ⟨w_T, w*⟩ = "
            "⟨Aw_T, y⟩/g* = g*/a = p = √(1 − ‖w⊥_T‖²) ≥ √(1 − ε²) (w* = Aᵀy/g*). By [two-phase-b] "
            "‖r_T‖ ≤ 2.5ε²g*, so ½‖r_T‖² ≤ 3.125ε⁴g*². For 0 < ε < ½ both are stronger than "
            "printed: √(1 − ε²) ≥ 1 − ε and 3.2ε⁴ < 3ε."
        ),
        instance=(
            "A = rows e1, e2 of R⁴, y = (3, 4), so g* = 5; w0 = (−.5, .5, .5, .5), g0 = 4, ε = "
            "0.1, γ = 0.2: T1 = 11, T2 = 13 (rounded down); ½‖r_T‖² against 3εg*² (the corrected "
            "bound is 0.008)"
        ),
        snippet="""
A, y, w0 = np.eye(2, 4), np.array([3.0, 4.0]), np.array([-0.5, 0.5, 0.5, 0.5])
g, w = path(A, y, 4.0, w0, [0.0] * 11 + [0.2] * 13)[-1]
found, printed = loss(A, y, g * w), 3 * 0.1 * 25
""",
        relation="≤",
    ),
)
