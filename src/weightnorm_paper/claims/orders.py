"""How the two phases grow, and their trade-offs."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="two-phase-a-order",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Theorem 3.2 (a)",
        functions=("two_phase_a_order",),
        verdict=(
            "T1's order holds in all parameters; T2's when all but ε are constants, as the text "
            "after Theorem 3.2 has it."
        ),
        printed=(
            "T1 = O((g*²/(ρδ0))·log(1/ε)) and T2 = O((1/γ⁽²⁾)·log((ρδ0/g*²)²/ε)); the second "
            "logarithm is negative for ρδ0 < √ε·g*²."
        ),
        exact=(
            "Let 0 < ε ≤ ½ and δ = ε in [two-phase-a-first] and [two-phase-a-second], before "
            "rounding. Then T1 ≤ 4(g*²/(ρδ0))·log(1/ε) in all parameters, and ½log(1/ε) + log(1 − "
            "√(1 − ρδ0/g*²)) ≤ γ⁽²⁾T2 ≤ ½log(1/ε) + log(2/√3), so T2 ≍ (1/γ⁽²⁾)·log(1/ε) when all "
            "but ε are constants."
        ),
        proof=(
            "ρδ0 ≤ g*², so 1 + g*²/(ρδ0) ≤ 2g*²/(ρδ0); and log((1 − p0²)/ε²) ≤ 2log(1/ε). For T2: "
            "γ⁽²⁾T2 = ½log(1/ε) + log(1/√(1 − ε²) − g_{T1}/g*). The last bracket is at most 1/√(1 "
            "− ¼) = 2/√3, and at least 1 − g_{T1}/g* ≥ 1 − √(1 − ρδ0/g*²) > 0."
        ),
        instance=(
            "B, w0 = (.6, .8), g0 = ½, ρ = 0.01, ε = δ = 0.001, γ⁽¹⁾ the largest allowed by "
            "[two-phase-a-first], γ⁽²⁾ = ¼; steps needed after T1 for ‖r‖² ≤ ε against the printed "
            "order with constant 1"
        ),
        snippet="""
eps, rho, room = 0.001, 0.01, 0.01 * 0.75  # room = ρδ0
T1 = int(np.ceil((1 + 1 / room) * np.log(0.64 / eps**2)))
small = 0.25 * np.log(4 * (1 - rho) + rho) / (T1 * (1 - 0.09))
late = path(*B, 0.5, [0.6, 0.8], [0.0] + [small] * (T1 - 1) + [0.25] * 40)[T1:]
found, printed = sum(2 * loss(*B, g * w) > eps for g, w in late), 4 * np.log(room**2 / eps)
""",
        relation=">",
    ),
    Claim(
        id="two-phase-a-step-order",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Theorem 3.2 (a)",
        functions=("two_phase_a_step_order",),
        verdict=(
            "True when all but ε are constants, as the text after Theorem 3.2 has it; not "
            "uniformly in g0."
        ),
        printed="γ⁽¹⁾ = O((ρ/log(1/ε))·(g0/g*)²·log((1 − ρ)g*/g0 + ρ)).",
        exact=(
            "The largest step of [two-phase-a-first], if below ½ and before T1 is rounded, is γ⁽¹⁾ "
            "= ρδ0g0²·log((1 − ρ)(g*/g0)² + ρ)/((g*² + ρδ0)(g*² − g0²p0²)·log((1 − p0²)/δ²)). When "
            "all but δ = ε are constants it is ≍ 1/log(1/ε), as printed. In g0, the printed order "
            "lacks the square in the logarithm and the factor δ0/(g*² − g0²p0²), which tends to 0 "
            "as g0 → g* (p0 < 1), so that no constant will do there."
        ),
        proof=(
            "Put T1 = ((g*² + ρδ0)/(ρδ0))·log((1 − p0²)/δ²) into γ⁽¹⁾ = g0²·log((1 − ρ)g*²/g0² + "
            "ρ)/(T1(g*² − g0²p0²)). For fixed p0 < 1, log((1 − p0²)/δ²) = 2log(1/δ) + log(1 − p0²) "
            "~ 2log(1/δ) as δ → 0, and g*² + ρδ0 lies between g*² and 2g*². With x = g*/g0, log((1 "
            "− ρ)x² + ρ) is between log((1 − ρ)x + ρ) and (x + 1) times it as log is concave, so "
            "the square changes a constant near g0 = g*, but δ0/(g*² − g0²p0²) → 0 is lost."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = 0.999, ρ = 0.9, ε = δ = 0.1, g1 = g0, γ⁽¹⁾ as printed with "
            "constant 1, T1 steps; the share (g*² − g_{T1}²)/δ0 that is left, against ρ"
        ),
        snippet="""
g0, rho, eps = 0.999, 0.9, 0.1
T1 = int(np.ceil((1 + 1 / (rho * (1 - g0**2))) * np.log(1 / eps**2)))
gamma = rho / np.log(1 / eps) * g0**2 * np.log((1 - rho) / g0 + rho)
g, w = path(*B, g0, e2, [0.0] + [gamma] * (T1 - 1))[-1]
found, printed = (1 - g**2) / (1 - g0**2), rho
""",
        relation="<",
    ),
    Claim(
        id="rho-tradeoff",
        kind="false",
        conclusion="partly",
        group="discrete",
        paper="After Theorem 3.2",
        functions=("rho_tradeoff",),
        verdict=(
            "T1 = O(1/ε) up to logarithms is right, but with the prescribed γ⁽¹⁾ the second phase "
            "still takes of the order of log(1/ε) steps, not O(1)."
        ),
        printed=(
            "A smaller ρ means a larger T1 but a smaller T2; for ρ ≈ ε, T1 = O(1/ε) up to "
            "logarithms and T2 = O(1)."
        ),
        exact=(
            "A smaller ρ does lengthen T1. Take p0 < 1, ρ = ε → 0, δ ≤ ε, and γ⁽¹⁾T1 ≤ K = "
            "g0²·log(g*²/g0²)/(g*² − g0²p0²), as printed or relaxed. Then liminf (1 − g_{T1}/g*) ≥ "
            "θ := e^{−K}(1 − g0/g*) > 0, and at a fixed γ = γ⁽²⁾ ≤ ½, ‖r_T‖² ≤ εg*² needs at least "
            "(½log(1/ε) − O(1))/log(1/(1 − γ)) further steps. T2 = O(1) is true if γ⁽¹⁾ < 1 is "
            "tuned, above its bound, to g_{T1}² = g*² − ρδ0."
        ),
        proof=(
            "[two-phase-a-first]: g ≤ g* up to T1. e = g* − g has e′ = e − γp(g* − gp), and p(g* − "
            "gp) = e + (1 − p)(g(1 + p) − g*) ≤ e + (1 − p)g*. By [perp-contraction] 1/‖w⊥‖² grows "
            "by 1 or more per step, so 1 − p_t ≤ ‖w_t⊥‖² ≤ 1/(t + 1): e_{T1} ≥ (1 − γ⁽¹⁾)^{T1}e_0 "
            "− γ⁽¹⁾g*(1 + log T1), and γ⁽¹⁾ ≤ K/T1 → 0. Later, if g ≤ g*, e′ ≥ (1 − γ)e − γg*δ², "
            "so e ≥ (1 − γ)^n·e_{T1} − g*δ², and ‖r‖ ≥ e: so (1 − γ)^n ≤ (√ε + δ²)g*/e_{T1}, also "
            "if e_n < 0 first. Tuned: a − g ≤ g*(1/√(1 − δ²) − √(1 − εδ0/g*²)) = O(ε)."
        ),
        instance=(
            "B, w0 = (.6, .8), g0 = ½, γ⁽²⁾ = ¼, ρ = ε = 10⁻² and 10⁻³, δ = 0.3ε, γ⁽¹⁾ just under "
            "the printed bound: further steps for ‖r‖² ≤ ε, against no growth (½·log 10/log(4/3) = "
            "4.0 per decade is expected)"
        ),
        snippet="""
N = lambda e: int(np.ceil((1 + 1 / (0.75 * e)) * np.log(0.64 / (0.3 * e) ** 2)))  # T1
K = lambda e: [0.0] + [0.044 * np.log(4 - 3 * e) / (0.91 * N(e))] * (N(e) - 1) + [0.25] * 40
run = lambda e: path(*B, 0.5, [0.6, 0.8], K(e))[N(e) :]
steps = [sum(2 * loss(*B, g * w) > e for g, w in run(e)) for e in (1e-2, 1e-3)]
found, printed = np.array(steps), np.full(2, steps[0])
""",
        relation="≠",
    ),
    Claim(
        id="delta0-tradeoff",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="After Theorem 3.2",
        functions=("two_phase_a", "two_phase_b"),
        verdict=(
            "True as printed, of both T1 and of both T2, also of (a)'s T2 once it is corrected."
        ),
        printed="A larger δ0 = g*² − g0² leads to a smaller T1 and a larger T2, in both cases.",
        exact=(
            "Let g*, p0, 0 < ε < 1, δ, ρ and 0 < γ ≤ 1 be fixed, and δ0 grow, that is g0 fall "
            "within (0, g*). Before rounding, T1 = (1 + g*²/(ρδ0))·log((1 − p0²)/δ²) of (a) (for 1 "
            "− p0² > δ²) and T1 = log(1/ε²)/log(g*²/g0²) of (b) fall; T2 of (b) and T2 of "
            "[two-phase-a-second], with g0 for g_{T1}, grow."
        ),
        proof=(
            "g*²/(ρδ0) falls as δ0 grows, times a positive logarithm. log(g*²/g0²) is positive and "
            "grows as g0 falls. In (b), T2 = log((1 − (1 − ε²)g0/g*)/ε²)/log(1/(1 − γ′)), and in "
            "(a), T2 = (1/γ)·log((1/√(1 − δ²) − g0/g*)/√ε): in both g0 stands with a minus sign in "
            "an increasing logarithm, over a positive constant."
        ),
        instance=(
            "B, w0 = (0, 1), ε = 0.01, γ = 0.2, case (b) from g0 = 0.9 and from g0 = 0.3; steps "
            "with γ = 0 until ‖w⊥‖ ≤ ε, and then with γ until g ≥ 1 − 2ε²: does the smaller g0 "
            "need fewer of the first and more of the second"
        ),
        snippet="""
def steps(g0, eps=0.01):
    first = sum(w[1] > eps for g, w in path(*B, g0, e2, [0.0] * 200))
    late = path(*B, g0, e2, [0.0] * first + [0.2] * 200)[first:]
    return np.array([first, sum(g < 1 - 2 * eps**2 for g, w in late)])
found, printed = np.sign(steps(0.3) - steps(0.9)), np.array([-1, 1])
""",
        relation="=",
    ),
    Claim(
        id="two-phase-b-order",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Theorem 3.2 (b)",
        functions=("two_phase_b_order",),
        verdict=(
            "True for g0² > g*²/2, the condition x < 1 under which it is derived after Theorem "
            "E.7; not for g0 much smaller than g*."
        ),
        printed="T1 = O((g0²/δ0)·log(1/ε)).",
        exact=(
            "For 0 < g0 < g* and 0 < ε < 1, T1 = log(1/ε²)/log(g*²/g0²) ≤ (2/log 2)·max(1, "
            "g0²/δ0)·log(1/ε) before rounding. For g0² ≥ g*²/2 the maximum is g0²/δ0, the printed "
            "order; as g0 → 0 the ratio of T1, which is at least 1, to it is unbounded."
        ),
        proof=(
            "g*²/g0² = 1 + x with x = δ0/g0² > 0. log(1 + x) is concave and equals 0 at x = 0 and "
            "log 2 at x = 1, so log(1 + x) ≥ x·log 2 on [0, 1]; it is ≥ log 2 for x ≥ 1. Hence "
            "log(1 + x) ≥ min(1, x)·log 2, and T1 = 2log(1/ε)/log(1 + x)."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = 0.01 fixed, ε = 0.01; steps until ‖w⊥‖ ≤ ε against the printed "
            "order with constant 1"
        ),
        snippet="""
found = sum(w[1] > 0.01 for g, w in path(*B, 0.01, e2, [0.0] * 20))
printed = 0.01**2 / (1 - 0.01**2) * np.log(1 / 0.01)
""",
        relation=">",
    ),
    Claim(
        id="two-phase-b-second-order",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Theorem 3.2 (b)",
        functions=("two_phase_b_second_order",),
        verdict=(
            "True when all but ε are constants, as the text after Theorem 3.2 has it; not when g0 "
            "is so near g* that δ0 < ε²g*²."
        ),
        printed="T2 = O((1/γ)·log(√(δ0/g*²)/ε)).",
        exact=(
            "For 0 < g0 < g*, 0 < ε < ½ and 0 < γ ≤ 1, the T2 of [two-phase-b] is at most "
            "(4/(3γ))·log(1 + δ0/(ε²g*²)) before rounding. For δ0 ≥ 2ε²g*² this is at most 4.3 "
            "times the printed (1/γ)·log(√(δ0/g*²)/ε)."
        ),
        proof=(
            "log(1/(1 − γ′)) ≥ γ′ = (1 − ε²)γ ≥ ¾γ. With k = g0/g* < 1, (1 − (1 − ε²)k)/ε² = (1 − "
            "k)/ε² + k ≤ 1 + (1 − k²)/ε² = 1 + X, X = δ0/(ε²g*²). For X ≥ 2, log(1 + X)/log X "
            "falls with X, from log 3/log 2 < 1.6; the printed logarithm is ½log X, and "
            "(4/3)·1.6·2 < 4.3."
        ),
        instance=(
            "g* = 1, g0 = 0.997, ε = 0.1, γ = 0.2; T2 of Theorem E.7 against the printed order "
            "with constant 1, which is negative"
        ),
        snippet="""
g0, eps, gamma = 0.997, 0.1, 0.2
found = np.log((1 - (1 - eps**2) * g0) / eps**2) / -np.log(1 - (1 - eps**2) * gamma)
printed = np.log(np.sqrt(1 - g0**2) / eps) / gamma
""",
        relation=">",
    ),
    Claim(
        id="two-phase-b-gain",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="After Theorem 3.2",
        functions=("two_phase_b_gain",),
        verdict=(
            "True of the two printed orders at ρ = 1; between the explicit T1 the gain is at least "
            "as large where (b)'s order is valid."
        ),
        printed="Case (b) improves the bound on T1 of case (a) by the factor (g*/g0)².",
        exact=(
            "The printed orders at ρ = 1 have the ratio (g*²/δ0)/(g0²/δ0) = (g*/g0)². The explicit "
            "T1, with the same logarithm (p0 = 0, δ = ε) and before rounding, have the ratio (1 + "
            "g*²/δ0)·log(g*²/g0²), which is ≥ (g*/g0)² for g0² ≥ g*²/2, where (b)'s order is valid "
            "and (g*/g0)² ≤ 2; as g0 → 0 it grows like 2·log(g*²/g0²) only."
        ),
        proof=(
            "Divide (1 + g*²/δ0)·log(1/ε²) by log(1/ε²)/log(g*²/g0²). With x = δ0/g0² ≤ 1, g*²/g0² "
            "= 1 + x and g*²/δ0 = (1 + x)/x, so the ratio is ((1 + 2x)/x)·log(1 + x). By log(1 + "
            "x) ≥ 2x/(2 + x) (x ≥ 0) it is at least 2(1 + 2x)/(2 + x), which is ≥ 1 + x as 2 + 4x "
            "− (2 + x)(1 + x) = x − x² ≥ 0. As g0 → 0, 1 + g*²/δ0 → 2."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = 0.8 fixed (ρ = 1), ε = δ = 0.01; steps until ‖w⊥‖ ≤ ε against "
            "(a)'s explicit T1 divided by (g*/g0)²"
        ),
        snippet="""
found = sum(w[1] > 0.01 for g, w in path(*B, 0.8, e2, [0.0] * 100))
printed = (1 + 1 / (1 - 0.64)) * np.log(1 / 0.01**2) * 0.64
""",
        relation="≤",
    ),
    Claim(
        id="log-rate",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="After Theorem 3.2",
        functions=("two_phase_a", "two_phase_b"),
        verdict="True as printed, for case (a) with the corrected T2.",
        printed=(
            "When all parameters but ε are constants, rPGD converges to the minimum-norm solution "
            "at the rate log(1/ε), as gradient descent from the origin does."
        ),
        exact=(
            "For AAᵀ = I, 0 < g0 < g*, 0 < γ ≤ 1 and 0 < ε < ½: case (b), T1 and T2 rounded up, "
            "takes at most 2 + (2/log(g*²/g0²) + 3.2/γ)·log(1/ε) steps; case (a), δ = ε and T2 "
            "corrected, at most 2 + 1/(6γ⁽²⁾) + (4g*²/(ρδ0) + 1/(2γ⁽²⁾))·log(1/ε). Gradient "
            "descent from 0 with a step η < 1 has ‖r_t‖ = (1 − η)^t·g*: of the order of log(1/ε) "
            "steps too."
        ),
        proof=(
            "(b): T1 = 2log(1/ε)/log(g*²/g0²); by [two-phase-b-second-order] and δ0 < g*², T2 ≤ "
            "(4/(3γ))·log(1 + 1/ε²). log(1 + 1/ε²)/log(1/ε) = 2 + log(1 + ε²)/log(1/ε) grows with "
            "ε, to log 5/log 2 < 2.4 at ½, and (4/3)·2.4 = 3.2. (a): [two-phase-a-order], and "
            "log(2/√3) < 1/6. Rounding up adds less than 1 each. Gradient descent: r′ = (I − "
            "ηAAᵀ)r = (1 − η)r."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = ½, γ = 0.2, ε = 1e-6, case (b); steps with γ = 0 until ‖w⊥‖ ≤ ε, "
            "then with γ until g ≥ 1 − 2ε², against the bound"
        ),
        snippet="""
eps = 1e-6
first = sum(w[1] > eps for g, w in path(*B, 0.5, e2, [0.0] * 200))
late = path(*B, 0.5, e2, [0.0] * first + [0.2] * 400)[first:]
found = first + sum(1 - g > 2 * eps**2 for g, w in late)
printed = 2 + (2 / np.log(4) + 3.2 / 0.2) * np.log(1 / eps)
""",
        relation="≤",
    ),
    Claim(
        id="sharp-complexities",
        kind="loose",
        conclusion="partly",
        group="discrete",
        paper="Section 1",
        functions=("steps_to_perp", "two_phase_b"),
        verdict=(
            "The complexities are upper bounds without matching lower bounds: (b)'s T1 is sharp to "
            "leading order in ε, but both T1 can be several times what is needed."
        ),
        printed="The paper announces sharp iteration complexities.",
        exact=(
            "At a fixed scale 0 < ∣g∣ < g*, κ = g*²/g², q0 > ε, the least t with ‖w_t⊥‖ ≤ ε is "
            "log((1/ε² + 1/(κ − 1))/(1/q0² + 1/(κ − 1)))/log κ rounded up. (b)'s T1 is "
            "log(1/ε²)/log κ: the same leading order as ε → 0, but 3 times too long in the "
            "instance. (a)'s T1 is 2661 in the instance of [two-phase-a-second], where 15 are "
            "needed; the paper's footnote says that it could be tightened."
        ),
        proof=(
            "By [perp-contraction] ‖w_t⊥‖² ≤ ε² iff κ^t/q0² + (κ^t − 1)/(κ − 1) ≥ 1/ε², that is "
            "κ^t·(1/q0² + 1/(κ − 1)) ≥ 1/ε² + 1/(κ − 1); take logarithms. As ε → 0 at fixed κ the "
            "numerator is log(1/ε²) + O(1), so the ratio to T1 tends to 1; for κ → 1 at fixed ε it "
            "is not so, as 1/(κ − 1) then outweighs 1/ε²."
        ),
        instance=(
            "B, w0 = (.6, .8), g0 = 0.999 fixed, ε = 0.01; steps until ‖w⊥‖ ≤ ε against (b)'s T1"
        ),
        snippet="""
found = sum(w[1] > 0.01 for g, w in path(*B, 0.999, [0.6, 0.8], [0.0] * 5000))
printed = np.log(1 / 0.01**2) / np.log(1 / 0.999**2)
k = 1 / 0.999**2
exact = np.ceil(np.log((1e4 + 1 / (k - 1)) / (1 / 0.64 + 1 / (k - 1))) / np.log(k))
""",
        relation="≤",
    ),
)
