"""Single steps on orthogonal A with η = 1/g²: identities, contraction, the 2-cycle."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="step-identities",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.2",
        functions=("step_identities",),
        verdict="True as printed, for every scale g ≠ 0 of either sign.",
        printed=(
            "For orthogonal A and η = 1/g² there are five identities for Aw′, g²‖v‖², ‖Aw′‖², 1 − "
            "‖Aw′‖² and g′² − ‖Ag′w′‖² after one step of rPGD."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g², g ≠ 0, ‖w‖ = 1, p = ‖Aw‖ and b = g‖v‖. Then Aw′ = y/b; b² = g² "
            "+ g*² − g²p²; p′ = g*/∣b∣, that is p′² = g*²/(g*² + g²(1 − p²)); 1 − p′² = (1 − "
            "p²)/‖v‖²; and g′²(1 − p′²) = (g′p′/g*)²·g²(1 − p²), whatever g′ is. (In the first "
            "display of its proof v_{t+1} reads v_t.)"
        ),
        proof=(
            "Aᵀy = x* and AᵀAw = w∥, so v = w − (1/g)Aᵀ(Agw − y) = w⊥ + x*/g. The two parts are "
            "orthogonal, so b² = g²‖v‖² = g²(1 − p²) + g*² > 0. Applying A gives Aw′ = Av/‖v‖ = "
            "y/(g‖v‖) = y/b, of norm p′ = ‖y‖/∣b∣ = g*/∣b∣. The part in the kernel is w′⊥ = "
            "w⊥/‖v‖, and ‖w⊥‖² = 1 − p², which is the fourth identity. The fifth is the fourth "
            "times g′², with 1/‖v‖² = g²/b² = g²p′²/g*²."
        ),
        instance=(
            "A = rows e1, e2 of R⁴, y = (1, 2), w0 = (−.5, .5, .5, .5), g0 = −0.7, γ = 0.3, one "
            "step; the five left sides against the five right sides"
        ),
        snippet="""
A, y, g, w = np.eye(2, 4), np.array([1.0, 2.0]), -0.7, np.array([-0.5, 0.5, 0.5, 0.5])
h, u = rpgd(A, y, g, w, 1 / g**2, 0.3)  # p**2 = 0.5 and y @ y = 5
v, s = norm(w - A.T @ (A @ w - y / g)), norm(A @ u) ** 2
found = np.array([*(A @ u), g**2 * v**2, s, 1 - s, h**2 * (1 - s)])
printed = np.array([*y / (g * v), 0.245 + 5, 5 / 5.245, 0.5 / v**2, h**2 * s / 5 * 0.245])
""",
        relation="=",
    ),
    Claim(
        id="scale-step-bound",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.3, first part",
        functions=("scale_step",),
        verdict=(
            "True for g > 0, which Theorem 3.2 assumes at the start; for g < 0 the inequality is "
            "reversed."
        ),
        printed="For orthogonal A and η = 1/g², g′ ≤ g + (γg/2)(‖v‖² − 1); no sign of g is named.",
        exact=(
            "Let AAᵀ = I, η = 1/g² and g ≠ 0. Then g′ = g + (γg/2)(‖v‖² − 1) − (γ/2g)‖r‖². So for "
            "γ ≥ 0 the first two terms bound g′ from above if g > 0 and from below if g < 0."
        ),
        proof=(
            "y = Agw − r gives ‖y‖² = ‖Agw‖² − 2⟨Agw, r⟩ + ‖r‖², so 2gs = 2⟨Agw, r⟩ = g²p² + ‖r‖² "
            "− g*². By [step-identities] g²(‖v‖² − 1) = g*² − g²p². Hence g′ = g − γs = g + "
            "(γ/2g)(g*² − g²p² − ‖r‖²) = g + (γg/2)(‖v‖² − 1) − (γ/2g)‖r‖². The last term is ≤ 0 "
            "for g > 0, ≥ 0 for g < 0."
        ),
        instance="B, g0 = −1, w0 = (1, 0), γ = 0.1, one step: ‖v‖ = 1 and ‖r‖ = 2",
        snippet="""
g, w, gamma = -1.0, e1, 0.1
found = rpgd(*B, g, w, 1 / g**2, gamma)[0]
v = w - (g * w[0] - 1) / g * e1
printed = g + gamma * g / 2 * (norm(v) ** 2 - 1)
exact = printed - gamma / (2 * g) * (g * w[0] - 1) ** 2
""",
        relation=">",
    ),
    Claim(
        id="scale-step-identity",
        kind="false",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.3, second part; (18) in the proof of Theorem E.1",
        functions=("scale_gap",),
        verdict=(
            "The last term has a factor a/g too many, from a sign: in the third line of Term 1 in "
            "the proof, the minus before (g_t/‖v_{t−1}‖ − g_{t−1})² should be a plus. Without the "
            "factor the identity is true, and so is the contraction that the paper draws from it, "
            "for γ ≤ ½."
        ),
        printed=(
            "For t ≥ 1: b − g′ = (1 − γ)(a − g) − (a − b)(1 − γa(a + b)/(g(g + a))), where a = "
            "g_{t−1}‖v_{t−1}‖ and b = g_t‖v_t‖."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g² in every step, t ≥ 1, g ≠ 0 and g + a ≠ 0. Then b − g′ = (1 − "
            "γ)(a − g) − (a − b)(1 − γ(a + b)/(g + a)). For 0 < g ≤ a: g ≤ b ≤ a; if 0 ≤ γ ≤ 1 "
            "then g ≤ g′ ≤ b; if 0 ≤ γ ≤ ½ then also b − g′ ≤ (1 − γ)(a − g)."
        ),
        proof=(
            "[step-identities] for the step before: Aw = y/a, p = g*/∣a∣. So s = ⟨Aw, Agw − y⟩ = "
            "gp² − g*²/a = −(a − g)p² and g′ = g + γ(a − g)p². For this step: b² = g²(1 − p²) + "
            "g*² = (1 − p²)g² + p²a², so a² − b² = (a² − g²)(1 − p²). Then b − g′ = (a − g) − (a − "
            "b) − γ(a − g) + γ(a − g)(1 − p²), whose last term is γ(a − b)(a + b)/(a + g). For 0 < "
            "g ≤ a: b² lies between g² and a²; for γ ≤ 1, g′ ≤ (1 − p²)g + p²a ≤ b, as a mean is "
            "at most the root of the mean square; for γ ≤ ½, γ(a + b)/(g + a) ≤ 2γa/(g + a) ≤ 1, "
            "so the subtracted term is ≥ 0."
        ),
        instance="B, w0 = (0, 1), g0 = ¾, γ = ½ in both steps; the identity at t = 1",
        snippet="""
(g0, w0), (g, w), (h, u) = path(*B, 0.75, e2, [0.5, 0.5])
a, b = np.hypot(1, g0 * w0[1]), np.hypot(1, g * w[1])  # g‖v‖, since v = w⊥ + e1/g
found = b - h
printed = 0.5 * (a - g) - (a - b) * (1 - 0.5 * a * (a + b) / (g * (g + a)))
exact = 0.5 * (a - g) - (a - b) * (1 - 0.5 * (a + b) / (g + a))
""",
        relation="≠",
    ),
    Claim(
        id="scale-increases-lemma",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.4",
        functions=("scale_increases",),
        verdict="True as printed, for t ≥ 1 and γ > 0.",
        printed="If g_t < g_{t−1}‖v_{t−1}‖ then g_{t+1} > g_t.",
        exact=(
            "Let AAᵀ = I, η = 1/g² in every step, t ≥ 1 and γ > 0. Then g′ − g = γ(a − g)p² with a "
            "= g_{t−1}‖v_{t−1}‖ and p = g*/∣a∣ > 0; so g′ > g if and only if g < a."
        ),
        proof=(
            "By [step-identities] for the step before, Aw = y/a and p = g*/∣a∣ > 0. Hence s = ⟨Aw, "
            "Agw − y⟩ = gp² − ‖y‖²/a = gp² − ap², and g′ − g = −γs = γ(a − g)p²."
        ),
        instance=(
            "A = rows e1, e2 of R⁴, y = (1, 2), w0 = (−.5, .5, .5, .5), g0 = 0.7, γ = 0.3, two "
            "steps; the growth of g in the second one"
        ),
        snippet="""
A, y, w0 = np.eye(2, 4), np.array([1.0, 2.0]), np.array([-0.5, 0.5, 0.5, 0.5])
(g0, w0), (g, w), (h, u) = path(A, y, 0.7, w0, [0.3, 0.3])
a = np.sqrt(g0**2 * 0.5 + 5)  # g0‖v0‖ with ‖w0⊥‖² = ½ and g*² = 5
found = h - g
printed = 0.3 * (a - g) * 5 / a**2
""",
        relation="=",
    ),
    Claim(
        id="scale-increases",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="After Theorem 3.2, citing Lemma E.4",
        functions=("scale_keeps_increasing",),
        verdict=(
            "True from 0 < g0 < g* with g1 = g0, as Theorems 3.2 and E.1 have it; not for every g0 "
            "> 0."
        ),
        printed="The scale g_t always increases, for any g0 > 0.",
        exact=(
            "Let AAᵀ = I, η = 1/g², g0 > 0, g0p0 < g* (for instance g0 < g*), g1 = g0 (no scale "
            "step at t = 0) and 0 < γ < 1 afterwards. Then g_t < g_{t−1}‖v_{t−1}‖ and g_{t+1} > "
            "g_t for every t ≥ 1. Without g1 = g0 the first step may lower g: B, w0 = (−1, 0), g0 "
            "= ½, γ = 0.1 gives g1 = 0.35."
        ),
        proof=(
            "At t = 1, a² = g0²‖v0‖² = g0² + g*² − g0²p0² > g0² = g1² by [step-identities], so 0 < "
            "g1 < a. If 0 < g < a at some t ≥ 1, then g′ > g by [scale-increases-lemma], and as γ "
            "< 1 and p > 0, g′ = g + γ(a − g)p² < (1 − p²)g + p²a ≤ b by the last lines of "
            "[scale-step-identity]. So 0 < g′ < b, which is the same statement at t + 1."
        ),
        instance="B, w0 = (1, 0), g0 = g1 = 5, then γ = 0.1: g2 against g1",
        snippet="""
points = path(*B, 5.0, e1, [0.0, 0.1])
found, printed = points[2][0], points[1][0]
""",
        relation="<",
    ),
    Claim(
        id="gv-recursion",
        kind="misprint",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.5",
        functions=("scale_norm_recursion",),
        verdict="The last factor is 1 − ‖Aw_t‖², not (1 − ‖Aw_t‖)²: the square is misplaced.",
        printed="b² − a² = (g_t²/‖v_{t−1}‖² − g_{t−1}²)(1 − p_{t−1}²) = (g_t² − a²)(1 − p_t)².",
        exact=(
            "Let AAᵀ = I, η = 1/g² in every step and t ≥ 1. Then b² − a² = (g_t²/‖v_{t−1}‖² − "
            "g_{t−1}²)(1 − p_{t−1}²) = (g_t² − a²)(1 − p_t²)."
        ),
        proof=(
            "By [step-identities] b² = g_t²(1 − p_t²) + g*² and a² = g_{t−1}²(1 − p_{t−1}²) + g*², "
            "with 1 − p_t² = (1 − p_{t−1}²)/‖v_{t−1}‖²: subtracting gives the first equality. Also "
            "g*² = a²p_t², so b² = (1 − p_t²)g_t² + p_t²a², which is the second."
        ),
        instance="B, w0 = (0, 1), g0 = ¾, γ = ½; b² − a² at t = 1",
        snippet="""
(g0, w0), (g, w), (h, u) = path(*B, 0.75, e2, [0.5, 0.5])
a, b = 1 / w[0], 1 / u[0]  # as Aw_{t+1} = y/(g_t‖v_t‖) and y = 1
found = b**2 - a**2
printed = (g**2 - a**2) * (1 - w[0]) ** 2
exact = (g**2 - a**2) * (1 - w[0] ** 2)
""",
        relation="≠",
    ),
    Claim(
        id="perp-bound",
        kind="misprint",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.6",
        functions=("perp_bound",),
        verdict=(
            "The bound is on ‖w⊥‖², as the paper uses it, and its sum runs over i = 0 … t − 1; the "
            "printed sum is also valid where the paper uses it."
        ),
        printed=(
            "‖w_t⊥‖ ≤ 1 − p_t² ≤ exp(−Σ_{i=1}^t h_i)·(1 − p_0²), h_i = (g*² − g_i²p_i²)/(2g*² − "
            "g_i²p_i²), if g_i ≤ g*."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g², and 0 < ∣g_i∣ ≤ g* for i < t. Then ‖w_t⊥‖² = 1 − p_t² ≤ "
            "exp(−Σ_{i=0}^{t−1} h_i)·(1 − p_0²). The sum over i = 1 … t may be used instead if "
            "also 0 < g1 = g0 < g* and 0 ≤ γ ≤ 1 in the later steps. (The proof of Theorem E.1 "
            "starts with ‖w_t⊥‖ = 1 − ‖Aw_t‖², too: read ‖w_t⊥‖². In the first display of the "
            "proof of Lemma E.6, 1 − ‖Aw_0‖² reads 1 − ‖Aw_t‖².)"
        ),
        proof=(
            "k = g*² − g²p² ≥ 0. By [step-identities] 1 − p′² = (1 − p²)·g²/(g² + k), and g²/(g² + "
            "k) ≤ g*²/(g*² + k) = 1 − h ≤ e^{−h}; multiply over i. Printed sum: g0p0 < g*, so g1 = "
            "g0 < a at t = 1, and 0 < g ≤ a persists for γ ≤ 1 by [scale-step-identity]. Then g "
            "never falls, and ‖v‖² = 1 + k/g² ≥ 1 at t = 0, ‖v‖ = b/g ≥ 1 later, so p never falls. "
            "So (g0p0)² ≤ (g_tp_t)² ≤ (ap_t)² = g*²; h falls as (gp)² grows up to g*², so h_t ≤ "
            "h_0 and Σ_{i=1}^t h_i ≤ Σ_{i=0}^{t−1} h_i."
        ),
        instance=(
            "B, w0 = (−.8, .6), g0 = 0.9, γ = ½ from the first step on; ‖w⊥‖² at t = 1 against the "
            "printed right-hand side"
        ),
        snippet="""
(g0, w0), (g, w) = path(*B, 0.9, [-0.8, 0.6], [0.5])
h = (1 - (g * w[0]) ** 2) / (2 - (g * w[0]) ** 2)
found, printed = w[1] ** 2, np.exp(-h) * (1 - w0[0] ** 2)
""",
        relation=">",
    ),
    Claim(
        id="perp-contraction",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Section 3 and (37)",
        functions=("perp_contraction", "perp_after", "steps_to_perp"),
        verdict="True as printed; at a fixed scale ‖w⊥‖ even has a closed form.",
        printed="‖w⊥′‖² ≤ (g²/g*²)‖w⊥‖².",
        exact=(
            "Let AAᵀ = I, η = 1/g², g ≠ 0. Then ‖w⊥′‖² = ‖w⊥‖²/(‖w⊥‖² + g*²/g²) ≤ (g²/g*²)‖w⊥‖². "
            "At a fixed scale, with κ = g*²/g² ≠ 1 and q0 > 0: ‖w_t⊥‖² = 1/(κ^t/q0² + (κ^t − 1)/(κ "
            "− 1)); for κ = 1 read t for the last fraction."
        ),
        proof=(
            "v = w⊥ + x*/g with orthogonal parts [step-identities], so ‖v‖² = ‖w⊥‖² + g*²/g² and "
            "w⊥′ = w⊥/‖v‖; dropping ‖w⊥‖² in the denominator gives the bound. At a fixed scale u = "
            "1/‖w⊥‖² obeys u′ = 1 + κu, so u_t = κ^t·u_0 + (1 + κ + … + κ^{t−1}), u_0 = 1/q0²."
        ),
        instance=(
            "A = rows e1, e2 of R⁴, y = (1, 2), so g*² = 5; w0 = (−.5, .5, .5, .5), g0 = 1.5 fixed "
            "(γ = 0), five steps; ‖w⊥‖² against (g²/g*²)⁵·q0²"
        ),
        snippet="""
A, y, w0 = np.eye(2, 4), np.array([1.0, 2.0]), np.array([-0.5, 0.5, 0.5, 0.5])
g, w = path(A, y, 1.5, w0, [0.0] * 5)[-1]
k = 5 / 1.5**2
found, printed = norm(w[2:]) ** 2, 0.5 / k**5
exact = 1 / (k**5 / 0.5 + (k**5 - 1) / (k - 1))
""",
        relation="≤",
    ),
    Claim(
        id="loss-gap",
        kind="misprint",
        conclusion="yes",
        group="discrete",
        paper="Proof of Theorem E.1",
        functions=("loss_gap",),
        verdict=(
            "It is an inequality, which is all that the proof uses; the equality needs the factor "
            "‖Aw_{t+1}‖²."
        ),
        printed="‖r_{t+1}‖² = (g_{t+1} − g_t‖v_t‖)².",
        exact=(
            "Let AAᵀ = I, η = 1/g² and g_t ≠ 0. Then ‖r_{t+1}‖² = (g_{t+1} − "
            "g_t‖v_t‖)²·‖Aw_{t+1}‖² ≤ (g_{t+1} − g_t‖v_t‖)²."
        ),
        proof=(
            "By [step-identities] Aw′ = y/b with b = g_t‖v_t‖, so r′ = g′y/b − y = (g′ − b)·y/b = "
            "(g′ − b)·Aw′. Take norms; ‖Aw′‖ ≤ ‖w′‖ = 1."
        ),
        instance="B, w0 = (0, 1), g0 = ¾, γ = ½, one step",
        snippet="""
(g0, w0), (g, w) = path(*B, 0.75, e2, [0.5])
found = 2 * loss(*B, g * w)
printed = (g - np.hypot(1, g0 * w0[1])) ** 2  # g0‖v0‖, since v = w⊥ + e1/g
exact = printed * w[0] ** 2
""",
        relation="≠",
    ),
    Claim(
        id="large-scale-step",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Section 3, orthogonal A",
        functions=("perp_contraction",),
        verdict="True as printed: a large scale step can carry g past g*, and w then ends wrong.",
        printed=(
            "With a large scale step g may become greater than g*, and w can then converge to a "
            "wrong direction; a small scale step gives w the time to find w*."
        ),
        exact=(
            "Let AAᵀ = I, η = 1/g², 0 < g0 < g*, g1 = g0 and a constant 0 < γ ≤ 1. Then g_t never "
            "falls, the run ends at a solution, and ‖w∞⊥‖² = 1 − g*²/g∞². So if g_t > g* at any "
            "time, the direction ends wrong; in the instance γ = 1 does this and γ = 0.01 ends at "
            "2e-5."
        ),
        proof=(
            "g0p0 < g*, so 0 < g1 = g0 < a at t = 1 [scale-increases]. For γ ≤ 1, "
            "[scale-step-identity] keeps 0 < g ≤ g′ ≤ b ≤ a. So g rises, a falls, both converge, "
            "and p = g*/a rises. As γ(a − g)p² = g′ − g → 0 and p ≥ p_1 > 0, a − g → 0: the loss "
            "½p²(a − g)² tends to 0 [loss-gap], p∞ = g*/g∞ and ‖w∞⊥‖² = 1 − p∞²; w⊥ keeps its "
            "direction, so w has a limit."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = 0.9; ‖w⊥‖ after 2000 steps with γ = 1 against the same with γ = "
            "0.01"
        ),
        snippet="""
g, w = path(*B, 0.9, e2, [1.0] * 2000)[-1]
found, exact = w[1], np.sqrt(1 - 1 / g**2)
printed = path(*B, 0.9, e2, [0.01] * 2000)[-1][1][1]
""",
        relation=">",
    ),
    Claim(
        id="escape-stationary",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="After Theorem 3.2",
        functions=("norm_after_first_step", "two_cycle", "two_cycle_basin"),
        verdict=(
            "True with the steps of Theorems 3.2 and E.1: g1 = g0, or a scale step as small as "
            "their γ⁽¹⁾. One step leaves S in any case, but from g0 ≠ 0 alone the global minimum "
            "need not be reached: for other γ there is an attracting 2-cycle."
        ),
        printed=(
            "With η = 1/g² and g0 ≠ 0, Aw_{t+1} = y/(g_t‖v_t‖) ≠ 0; thus rPGD escapes the saddle "
            "points and reaches the global minimum."
        ),
        exact=(
            "AAᵀ = I, η = 1/g², 0 < γ ≤ 1, g_t ≠ 0. Then Aw1 ≠ 0, and rPGD ends at zero loss if g1 "
            "= g0 or γ < ∣g0∣/(g* + ∣g0∣). Every γ⁽¹⁾ of Theorem E.1 is below this bound (8.5e-6 "
            "against 0.0099 in the instance, for ρ = ½ and δ = 0.04): with x = g0/g* and T1 ≥ 1, "
            "γ⁽¹⁾ < x²·log(1/x)/(1 − x²) ≤ x/(1 + x). Else, if g changes sign in both of the first "
            "two steps, rPGD ends on the 2-cycle ±(γg*/(2 − γ), −w*), of loss ½(2g*/(2 − γ))² > "
            "½‖y‖²; if not, at zero loss. For γ ≤ ½ a change in the first step is enough: −γg*⟨w0, "
            "w*⟩sign(g0) > ∣g0∣(1 − γp0²), half of all w0 as g0 → 0."
        ),
        proof=(
            "Let g* = 1 and g_{t−1} > 0 (by symmetry). For t ≥ 1, a = 1/p, so g′ = (1 − γp²)g + "
            "γp. If g > 0 it stays so; then g falls and a rises to one limit if g > a always, else "
            "see the proof of [large-scale-step]: loss → 0. If g < 0 it changes sign iff (1 − "
            "γp²)∣g∣ < γp, and then g′ = γp − (1 − γp²)∣g∣ ≤ γp. A change in the first step needs "
            "γp0 > (1 − γp0²)∣g0∣ likewise, and ∣g1∣ ≤ γp0. If ∣g∣p ≤ 1, then p′ ≥ p, so a change "
            "now gives (1 − γp′²)∣g′∣ < γp ≤ γp′: a change next. ∣g∣ ≤ 1 from t = 1 on after a "
            "first change, and at t = 0 for γ ≤ ½; so changes go on for ever. Then 1 − p′² ≤ (1 − "
            "p²)/(2 − p²), so p → 1 and ∣g′∣ = γp − (1 − γp²)∣g∣ → γ/(2 − γ)."
        ),
        instance=(
            "B, g0 = 0.01, w0 = (−.6, .8), γ = 0.1 from the first step on, 500 steps; the loss at "
            "the end"
        ),
        snippet="""
g, w = path(*B, 0.01, [-0.6, 0.8], [0.1] * 500)[-1]
found, printed = loss(*B, g * w), 0.0
exact = 0.5 * (2 / (2 - 0.1)) ** 2
""",
        relation="≠",
    ),
)
