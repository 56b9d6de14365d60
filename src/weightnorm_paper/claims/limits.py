"""Where the flow ends, against gradient descent, and at a fixed scale."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="flow-limit",
        kind="false",
        conclusion="partly",
        group="flow",
        paper="Theorem 2.6, Part I, (7)",
        functions=(
            "flow_limit",
            "flow_limit_as_printed",
            "limit_scale",
            "limit_perp",
            "limit_square",
            "perp_of_limit",
            "distance_map",
        ),
        verdict=(
            "The form is right, but the final scale g∞ must stand where g* is printed; for small "
            "∣g0∣ and c the two nearly agree."
        ),
        printed="If c > 0 and the loss tends to zero, x∞ = x* + g*·exp((g0² − g*²)/2c)·w0⊥.",
        exact=(
            "If c > 0 and the loss tends to zero, x∞ = x* + g∞·exp((g0² − G)/2c)·w0⊥, where g∞ is "
            "the final scale and G = g∞² is the unique positive root of G·(1 − F0·e^{−G/c}) = g*², "
            "F0 = q0²e^{g0²/c}. With q*² = q0²e^{(g0² − g*²)/c} and g∞ > 0 the printed form is a "
            "good approximation when q*²·max(1, g*²/c) ≪ 1; for g∞ < 0 put −g* for g*."
        ),
        proof=(
            "By [stationary-limit-point] (g, w) converges, to (g∞, w∞) say, and Ax∞ = y. So x∞∥ = "
            "x*, and G = ‖x∞‖² = g*² + G‖w∞⊥‖². By [invariant] w∞⊥ = exp((g0² − G)/2c)w0⊥, so "
            "‖w∞⊥‖² = F0e^{−G/c} and x∞⊥ = g∞w∞⊥ is as stated. The root is unique: φ(G) = G(1 − "
            "F0e^{−G/c}) is positive for G > max(0, c log F0) only, rises from 0 to ∞ there, as φ′ "
            "= (1 − F0e^{−G/c}) + (G/c)F0e^{−G/c} > 0. G − g*² = Gq*²e^{−(G − g*²)/c} ≤ Gq*², so G "
            "≤ g*²/(1 − q*²) if q*² < 1: replacing G by g*² changes ∣g∞∣ by a share of order q*² "
            "and the exponent by at most g*²q*²/(2c(1 − q*²))."
        ),
        instance="B, w0 = (0, 1), g0 = c = 1: the second entry of x∞",
        snippet="""
from scipy.optimize import brentq
g, w = flow(*B, 1.0, e2, c=1.0)
found, printed = g * w[1], 1.0 * np.exp((1.0 - 1.0) / 2)
G = brentq(lambda G: G * (1 - np.exp(1 - G)) - 1, 1, 10, xtol=1e-14)
exact = np.sqrt(G) * np.exp((1 - G) / 2)
""",
        relation="≠",
    ),
    Claim(
        id="gd-limit",
        kind="false",
        conclusion="partly",
        group="flow",
        paper="text after Theorem 2.6",
        functions=("gd_limit",),
        verdict=(
            "Gradient descent does keep its orthogonal part, but that part is g0·w0⊥, not g*·w0⊥. "
            "A reader may call this a misprint; it is classed as false because [wn-beats-gd] and "
            "[example-2d] rest on the printed form, and their conclusions change with it."
        ),
        printed="Gradient descent from the same start ends at x* + g*·w0⊥.",
        exact=(
            "Gradient descent from x0 = g0w0 with a constant step 0 < η < 2/λ_max, and the "
            "gradient flow, end at x* + g0·w0⊥. The two agree only for g0 = g* or w0⊥ = 0."
        ),
        proof=(
            "Each step adds −ηAᵀr, which lies in the row space, so x⊥ = x0⊥ = g0w0⊥ for ever. The "
            "residual obeys r′ = (I − ηAAᵀ)r, whose factor has norm below 1 for 0 < η < 2/λ_max, "
            "so r → 0 (for the flow ṙ = −AAᵀr → 0). So Ax∥ → y with x∥ in the row space, where A "
            "is injective, and therefore x∥ → x*."
        ),
        instance="B, w0 = (0, 1), g0 = ½, 100 steps of gradient descent with η = ½: the point x∞",
        snippet="""
A, y = B
x = 0.5 * e2
for _ in range(100):
    x = x - 0.5 * A.T @ (A @ x - y)
found, printed, exact = x, e1 + 1.0 * e2, e1 + 0.5 * e2
""",
        relation="≠",
    ),
    Claim(
        id="wn-beats-gd",
        kind="false",
        conclusion="partly",
        group="flow",
        paper="text after Theorem 2.6",
        functions=("wn_beats_gd",),
        verdict=(
            "WN often ends closer to x* than gradient descent, but g0² ≤ g*² is not the condition: "
            "the ratio c must also be below a threshold c*."
        ),
        printed=(
            "For g0² ≤ g*² WN's final x⊥ is smaller than that of gradient descent, and close to "
            "the minimum-norm solution."
        ),
        exact=(
            "Let c > 0, q0 ≠ 0, g0 ≠ 0, the loss tend to zero, D = g*² − g0²‖w0∥‖² and c* = "
            "D/log(1 + D/g0²). WN ends closer to x* than gradient descent from g0w0 if and only if "
            "c < c* (D > 0) or c > c* (D < 0); at D = 0 they tie. For D > 0, which g0² ≤ g*² "
            "implies, c ≤ g0² suffices."
        ),
        proof=(
            "φ as in [flow-limit]. The squared distances to x* are G − g*² (WN) and g0²q0² "
            "[gd-limit], so WN is closer ⇔ G < G1 := g*² + g0²q0² ⇔ φ(G1) > g*² (φ rises where "
            "positive and φ(G) = g*²) ⇔ G1·F0e^{−G1/c} < G1 − g*² = g0²q0² ⇔ G1/g0² < e^{(G1 − "
            "g0²)/c}. As G1 − g0² = g*² − g0²(1 − q0²) = D, this is log(1 + D/g0²) < D/c; here 1 + "
            "D/g0² = G1/g0² > 0. The logarithm has the sign of D, so solve for c. With equality "
            "throughout it is a tie. log(1 + z) < z for z > 0 gives c* > g0². If g0² ≤ g*², D ≥ "
            "g0²q0² > 0."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = ½, c = 10 (c* = 0.6213): WN's final ∣x⊥∣, against the 1 that is "
            "printed for gradient descent (which in truth ends at ½)"
        ),
        snippet="""
from scipy.optimize import brentq
g, w = flow(*B, 0.5, e2, c=10.0)
found, printed = abs(g * w[1]), 1.0
G = brentq(lambda G: G * (1 - np.exp((0.25 - G) / 10)) - 1, 1, 20, xtol=1e-14)
exact = np.sqrt(G - 1)
""",
        relation=">",
    ),
    Claim(
        id="wn-farther",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="text after Theorem 2.6",
        functions=("wn_beats_gd",),
        verdict="True: for g0² > g*² WN can end farther from x* than gradient descent.",
        printed="For g0² > g*² WN can end farther from x* than gradient descent.",
        exact=(
            "It can, and exactly when [wn-beats-gd] says: for c > 0, q0 ≠ 0, g0 ≠ 0 and a loss "
            "that tends to zero, with D = g*² − g0²‖w0∥‖² and c* = D/log(1 + D/g0²), WN ends "
            "farther if and only if c > c* (D > 0) or c < c* (D < 0). In the instance c* = 3.776: "
            "at c = 1 WN ends at distance 1.6894, at c = 8 at 1.519, and gradient descent at 1.6."
        ),
        proof=(
            "The equivalence is [wn-beats-gd] with the inequalities reversed. In the instance D = "
            "1 − 4·0.36 = −0.44 and c* = −0.44/log(0.89) = 3.776, so c = 1 < c* ends farther and c "
            "= 8 > c* closer. The loss does tend to zero: for c = 1, F0 = 0.64·e⁴ > 1 "
            "[convergence-time]; for c = 8 the loss at the start, 0.02, is below ½‖y‖² = ½, which "
            "excludes S [stationary], so that [flow-dichotomy] leaves only zero loss."
        ),
        instance=(
            "B, w0 = (0.6, 0.8), g0 = 2, c = 1: WN's distance to x*, against gradient descent's "
            "g0q0"
        ),
        snippet="""
from scipy.optimize import brentq
g, w = flow(*B, 2.0, np.array([0.6, 0.8]), c=1.0)
found, printed = norm(g * w - e1), 2.0 * 0.8
G = brentq(lambda G: G * (1 - 0.64 * np.exp(4 - G)) - 1, 3.6, 10, xtol=1e-14)
exact = np.sqrt(G - 1)
""",
        relation=">",
    ),
    Claim(
        id="fixed-scale-orthogonal",
        kind="condition-needed",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.6, Part II",
        functions=("fixed_scale_limit",),
        verdict=(
            "True for 0 < g0 ≤ g* and w0 ≠ −w*; g0 < g* is stated in Appendix C.4.3, g0 > 0 is not."
        ),
        printed="For c = 0 and AAᵀ = I the direction w tends to w*.",
        exact=(
            "c = 0, AAᵀ = I. If 0 < g0 ≤ g* and w0 ≠ −w*, then w → w*. If −g* ≤ g0 < 0 and w0 ≠ "
            "w*, then w → −w*. If ∣g0∣ > g* and w0⊥ ≠ 0, then x = g0w tends to x* + sign(g0)√(g0² "
            "− g*²)·w0⊥/q0, a zero of the loss."
        ),
        proof=(
            "(g, w) → (−g, −w) keeps x and the flow, so let g0 > 0. With α = ⟨w, w*⟩, p = ‖Aw‖ ≥ "
            "∣α∣, s = g0p² − g*α: α̇ = g0[g*(1 − α²) − g0α(1 − p²)]. For ∣α∣ < 1 this is ≥ g0g*(1 "
            "− α²) if α ≤ 0, ≥ g0(1 − α²)(g* − g0α) if α > 0: positive for g0 ≤ g*, so α rises to "
            "1. Let g0 > g*, w0⊥ ≠ 0. An analytic gradient flow on the sphere has a limit "
            "(Łojasiewicz), where Aᵀr = sw. If w∞⊥ ≠ 0, then s = 0 and r = 0: x∞∥ = x*, and since "
            "ẇ⊥ = g0s·w⊥, x∞⊥ is a positive multiple of w0⊥, of length √(g0² − g*²). If w∞⊥ = 0, "
            "then p = 1 and s ≥ g0 − g* > 0 at the end, so w⊥ would grow: impossible."
        ),
        instance="B, w0 = (0.6, 0.8), g0 = −½, c = 0: the first entry of w at the end",
        snippet="""
g, w = flow(*B, -0.5, np.array([0.6, 0.8]), 0.0)
found, printed, exact = w[0], 1.0, -1.0
""",
        relation="≠",
    ),
    Claim(
        id="fixed-scale-general",
        kind="condition-stated",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.6, Part II; Appendix C.4.3",
        functions=("fixed_scale_limit",),
        verdict=(
            "True for 0 < ∣g0∣ ≤ g*, as Appendix C.4.3 assumes by its g0 < g*; for g0 < 0 the "
            "number ĉ is negative, as g0 is."
        ),
        printed=(
            "For c = 0 the direction w tends to a point w̃ of the row space, the unit vector w̃ = "
            "(ĉ⁻¹I + g0AᵀA)⁻¹Aᵀy with some ĉ > 0."
        ),
        exact=(
            "c = 0, 0 < ∣g0∣ ≤ g*: w converges to a point of the row space. If also ∣g0∣ < g* and "
            "w0⊥ ≠ 0, it is w̃ = (ĉ⁻¹I + g0AᵀA)⁻¹Aᵀy, where ĉ has the sign of g0 and is the only "
            "number of that sign with ‖w̃‖ = 1. (Appendix C.4.3's “cgAᵀA” and “A†b” read ĉgAᵀA, "
            "A†y.)"
        ),
        proof=(
            "It is the gradient flow of an analytic function on the sphere, so w converges "
            "(Łojasiewicz), to w with Aᵀr = sw. If s = 0, then r = 0 and ∣g0∣ = ‖g0w‖ ≥ g*, so "
            "∣g0∣ = g* and g0w = x*. Else w = Aᵀr/s. Both lie in the row space. Let ∣g0∣ < g*, w0⊥ "
            "≠ 0: so s ≠ 0, and w⊥ = w0⊥exp(∫g0s) → 0 excludes g0s > 0. Put ĉ = −1/s, of the sign "
            "of g0: w = −ĉAᵀ(g0Aw − y), that is w = w̃. With ξ the coordinates of x* in the "
            "eigenvectors of AᵀA, those of w̃ are λξ/(ĉ⁻¹ + g0λ). Their sizes rise with ∣ĉ∣, so "
            "‖w̃‖ rises strictly from 0 to g*/∣g0∣ > 1 and is 1 once."
        ),
        instance=(
            "A = rows (1, 0, 0) and (0, ½, 0), y = (1, ½), so that g* = √2; w0 = (0.6, 0, 0.8), c "
            "= 0 and g0 = 2 > g*: ‖w⊥‖ at the end"
        ),
        snippet="""
A, y = np.diag([1, 0.5, 0])[:2], np.array([1, 0.5])
g, w = flow(A, y, 2.0, np.array([0.6, 0, 0.8]), 0.0)
found, printed = abs(w[2]), 0.0
exact = np.sqrt(1 - 2 / 2.0**2)  # zero loss at this scale: 1 - (g*/g0)^2
""",
        relation="≠",
    ),
    Claim(
        id="restart",
        kind="condition-needed",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.6, Part II",
        functions=("restart_limit",),
        verdict=(
            "True for 0 < g0 < g* and w0⊥ ≠ 0; from g0 < 0 the end is (−g*, −w*), the same x*."
        ),
        printed="Run c = 0 to its limit w̃, then c > 0 from (g0, w̃): (g, w) → (g*, w*).",
        exact=(
            "Let w0⊥ ≠ 0 and w̃ be the limit of the flow with c = 0. From (g0, w̃) the flow with c "
            "> 0 tends to (g*, w*) if 0 < g0 < g*, and to (−g*, −w*) if −g* < g0 < 0. Both are the "
            "minimum-norm solution x*."
        ),
        proof=(
            "At (g0, w̃) Aᵀr = sw̃ and g0s < 0 [fixed-scale-general]. As y = Ax − r and ⟨Ax, r⟩ = "
            "g0s, ‖y‖² − ‖r‖² = ‖Ax‖² − 2g0s > 0. From there on the loss never grows [loss-rate], "
            "so it stays below ½‖y‖², the loss at g = 0: g keeps its sign and S is out of reach, "
            "so the loss tends to zero [flow-dichotomy]. w⊥ = 0 is kept [invariant], so x stays in "
            "the row space and Ax → y gives x → x*. As ‖w‖ = 1, g = sign(g0)‖x‖ → sign(g0)g*, and "
            "w = x/g → sign(g0)w*."
        ),
        instance=(
            "A = rows (1, 0, 0) and (0, ½, 0), y = (1, ½), so that g* = √2; w0 = (0.6, 0, 0.8), g0 "
            "= −½; c = 0 up to time 200, then c = 1: the final g"
        ),
        snippet="""
A, y = np.diag([1, 0.5, 0])[:2], np.array([1, 0.5])
g, w = flow(A, y, -0.5, np.array([0.6, 0, 0.8]), 0.0, time=200.0)
g, w = flow(A, y, g, w, 1.0)
found, printed, exact = g, np.sqrt(2), -np.sqrt(2)
""",
        relation="≠",
    ),
    Claim(
        id="orthogonal-gstar",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="text after Theorem 2.6",
        functions=("orthogonal_gstar",),
        verdict="True: for orthogonal A the norm of the minimum-norm solution is the norm of y.",
        printed="For AAᵀ = I, g* = ‖y‖.",
        exact="For AAᵀ = I, x* = Aᵀy and g* = ‖y‖.",
        proof=(
            "Aᵀy lies in the row space and A(Aᵀy) = y, and these two properties characterise x*. "
            "Then g*² = ‖Aᵀy‖² = yᵀAAᵀy = ‖y‖²."
        ),
        instance=(
            "A with 3 random orthonormal rows in six dimensions, y = (1, 2, 3): the norm that 100 "
            "steps of gradient descent from 0 with η = ½ reach (the minimum norm, [gd-limit])"
        ),
        snippet="""
A = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0].T
y, x = np.array([1.0, 2.0, 3.0]), np.zeros(6)
for _ in range(100):
    x = x - 0.5 * A.T @ (A @ x - y)
found, printed = norm(x), norm(y)
""",
        relation="=",
    ),
    Claim(
        id="example-2d",
        kind="false",
        conclusion="no",
        group="flow",
        paper="“A Concrete Example”, end of Section 2",
        functions=("example_2d",),
        verdict=(
            "The flow does reach a zero of the loss, but not the printed one, and for small g0 it "
            "ends farther from x* than the gradient flow, not closer."
        ),
        printed=(
            "B, w0 = (0, 1), c = 1, g0 ≠ 0: x∞ = (1, e^{(g0² − 1)/2}), for small g0 closer to x* "
            "than the gradient flow's (1, 1). The loss on S is 1, and a start with a smaller loss "
            "ends at a global minimum."
        ),
        exact=(
            "x∞ = (1, sign(g0)√(G − 1)) with G(1 − e^{g0² − G}) = 1. The gradient flow from (0, "
            "g0) ends at (1, g0), so WN is closer if and only if ∣g0∣ > 1/√(e − 1) = 0.76287. The "
            "loss on S is ½ (the paper's 1 is ‖r‖² there, with which its sentence is right), and a "
            "start with a loss in [½, 1) can end in S: g0 = ½, w0 = (−0.6, 0.8), c = ¼/log(25/16), "
            "with loss 0.845."
        ),
        proof=(
            "q0 = c = 1: F0 = e^{g0²} > 1, so g² ≥ c log F0 = g0² > 0 keeps g's sign and the loss "
            "tends to 0 [convergence-time]. [flow-limit]: x₂ = g∞e^{(g0² − G)/2}, and Ge^{g0² − G} "
            "= G − 1, so ∣x₂∣ = √(G − 1). [wn-beats-gd] with D = 1: 1 < c* = 1/log(1 + 1/g0²) ⇔ "
            "g0² > 1/(e − 1). On S x = 0, so the loss is ½. Last start: F0 = 0.64·25/16 = 1, so "
            "w₂² = e^{−g²/c} [invariant-norm] and g = 0 ⇔ w₁ = 0. Such a point is at rest, so it "
            "is not reached in finite time; g·w₁ < 0 for ever, the loss stays above ½ and the end "
            "is in S [flow-dichotomy]."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = ½, c = 1: the second entry of x∞ (the gradient flow's is ½)"
        ),
        snippet="""
from scipy.optimize import brentq
g, w = flow(*B, 0.5, e2, c=1.0)
found, printed = g * w[1], np.exp((0.5**2 - 1) / 2)
G = brentq(lambda G: G * (1 - np.exp(0.25 - G)) - 1, 1, 10, xtol=1e-14)
exact = np.sqrt(G - 1)
""",
        relation="≠",
    ),
)
