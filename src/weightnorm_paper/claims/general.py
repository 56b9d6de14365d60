"""General A: a small fixed scale, and gradient descent after it."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="sphere-ball",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Section 3, general A",
        functions=("sphere_ball",),
        verdict="True for 0 < g0 ≤ g*, the scale of the paragraph before it; not for g0 > g*.",
        printed=(
            "If ‖v_t‖ ≥ 1 after each step, minimising ‖Ag0w − y‖² over the sphere ‖w‖ = 1 and over "
            "the ball ‖w‖ ≤ 1 are equivalent."
        ),
        exact=(
            "If ‖v_t‖ ≥ 1 in every step, projecting on the sphere and on the ball gives the same "
            "iterates, for any A and g0. If 0 < ∣g0∣ ≤ g*, both problems have the same, unique "
            "minimiser, and the ball problem is convex. If ∣g0∣ > g*, the ball has a minimiser "
            "inside, x*/g0."
        ),
        proof=(
            "The projection on the ball is v/max(1, ‖v‖). Minimisers over all w are x*/g0 + ker A, "
            "of norm ≥ g*/∣g0∣, least at x*/g0 only. ∣g0∣ > g*: x*/g0 is inside. ∣g0∣ = g*: it is "
            "the only one in the ball, and on the sphere. ∣g0∣ < g*: none is in the ball, and a "
            "minimiser over the ball that lies inside would be a minimiser over all w by "
            "convexity; so all have norm 1 and are those over the sphere. Two of them would have a "
            "midpoint inside the ball, a minimiser by convexity: so there is one."
        ),
        instance=(
            "B, g0 = 2 fixed, w0 = (1, 0), η = ¼, 50 steps (‖v‖ = ½); the final loss with the "
            "sphere against that with the ball"
        ),
        snippet="""
g, w = path(*B, 2.0, e1, [0.0] * 50)[-1]
u = e1
for _ in range(50):
    u = (v := u - 0.25 * 2 * (2 * u[0] - 1) * e1) / max(1, norm(v))
found, printed = loss(*B, 2 * w), loss(*B, 2 * u)
""",
        relation="≠",
    ),
    Claim(
        id="general-matrix",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Propositions 3.3 and E.9",
        functions=("safe_scale", "safe_scale_steps"),
        verdict="True with the step η = 1/g0², which the proof of Lemma E.10 names.",
        printed=(
            "If λ_max = 1 and the scale is fixed at g0 ≤ g*λ_min/(2 + δ), then ‖w⊥‖ ≤ ε after "
            "log(q0/ε)/log(1 + δ) steps; no step η is named."
        ),
        exact=(
            "Let γ = 0, 0 < ∣g0∣ ≤ g*λ_min/((2 + δ)λ_max) and η = 1/(g0²λ_max), δ > 0. Then every "
            "step divides ‖w⊥‖ by at least 1 + δ, so ‖w⊥‖ ≤ ε after log(q0/ε)/log(1 + δ) steps, "
            "rounded up."
        ),
        proof=(
            "Dividing A and y by √λ_max keeps x*, so let λ_max = 1. Then v = (I − AᵀA)w + "
            "AᵀAx*/g0, and v⊥ = w⊥. On the row space AᵀA has eigenvalues in [λ_min, 1], so ‖v‖ ≥ "
            "‖v∥‖ ≥ λ_min·g*/∣g0∣ − (1 − λ_min)‖w∥‖ ≥ (2 + δ) − 1 = 1 + δ, and ‖w⊥′‖ = ‖w⊥‖/‖v‖ ≤ "
            "‖w⊥‖/(1 + δ)."
        ),
        instance=(
            "A = rows e1, √½·e2 of R³, y = (0, √½), so x* = e2, λ_min = ½; δ = ½, g0 = 0.2, w0 = "
            "e3, ε = 0.01, T1 = 12, but with η = 0.1; ‖w⊥‖ after T1 steps"
        ),
        snippet="""
A, y, w = np.diag([1, 0.5**0.5, 0])[:2], np.array([0, 0.5**0.5]), np.eye(3)[2]
for _ in range(int(np.ceil(np.log(1 / 0.01) / np.log(1.5)))):
    w = rpgd(A, y, 0.2, w, 0.1, 0.0)[1]  # with 1 / 0.2**2 for 0.1 it ends far below ε
found, printed = abs(w[2]), 0.01
""",
        relation=">",
    ),
    Claim(
        id="general-matrix-second-stage",
        kind="holds",
        conclusion="yes",
        group="discrete",
        paper="Section 3, after Proposition 3.3",
        functions=("safe_scale_second_stage",),
        verdict="True as printed: gradient descent ends within ∣g0∣ε of x*.",
        printed="From w_{T1} on, standard gradient descent converges close to the minimum norm.",
        exact=(
            "Gradient descent on x from g0w_{T1} with a step 0 < η < 2/λ_max converges to x* + "
            "g0w⊥_{T1}, at distance ∣g0∣‖w⊥_{T1}‖ ≤ ∣g0∣ε from x*. With η = 1/λ_max each step "
            "multiplies ‖r‖ by at most 1 − λ_min/λ_max."
        ),
        proof=(
            "x′ = x − ηAᵀr moves x in the row space only, so x⊥ = g0w⊥_{T1} stays. r′ = Ax′ − y = "
            "(I − ηAAᵀ)r, and I − ηAAᵀ has the eigenvalues 1 − ηλ, in (−1, 1) for 0 < η < 2/λ_max "
            "and in [0, 1 − λ_min/λ_max] for η = 1/λ_max; so r → 0. A is injective on the row "
            "space, so x∥ → x*."
        ),
        instance=(
            "A = rows e1, √½·e2 of R³, y = (0, √½), so x* = e2; δ = ½, g0 = 0.2, η = 25, w0 = e3, "
            "ε = 0.01, T1 = 12, then 100 steps of gradient descent with η = 1; ‖x − x*‖ against g0ε"
        ),
        snippet="""
A, y = np.diag([1, 0.5**0.5, 0])[:2], np.array([0, 0.5**0.5])
x = 0.2 * (w := path(A, y, 0.2, np.eye(3)[2], [0.0] * 12)[-1][1])
for _ in range(100):
    x = x - A.T @ (A @ x - y)
found, printed, exact = norm(x - np.eye(3)[1]), 0.2 * 0.01, 0.2 * abs(w[2])
""",
        relation="≤",
    ),
    Claim(
        id="general-matrix-any",
        kind="misprint",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.10",
        functions=("safe_scale_any",),
        verdict=(
            "True with the eigenvalues of AAᵀ, as its proof has them, for the singular values."
        ),
        printed=(
            "With σ the singular values of A (σ_1 = 1) and the scale fixed at g0 ≤ g*σ_r/(2 + δ − "
            "σ_r), ‖w⊥‖ ≤ ε after log(q0/ε)/log(1 + δ) steps."
        ),
        exact=(
            "Let λ_max = 1, γ = 0, η = 1/g0², δ > 0 and 0 < ∣g0∣ ≤ g*λ_min/(2 + δ − λ_min), where "
            "λ are the eigenvalues of AAᵀ. Then every step divides ‖w⊥‖ by at least 1 + δ. (In the "
            "last display of its proof v_{t+1} reads v_t, as in the first of Lemma E.2's.)"
        ),
        proof=(
            "As in [general-matrix], ‖v‖ ≥ λ_min·g*/∣g0∣ − (1 − λ_min)‖w∥‖ ≥ (2 + δ − λ_min) − (1 "
            "− λ_min) = 1 + δ, and ‖w⊥′‖ = ‖w⊥‖/‖v‖."
        ),
        instance=(
            "A = rows e1, 0.1·e2 of R³, y = (0, 0.1), so x* = e2, σ_r = 0.1; δ = ½, g0 = 0.1/(2.5 "
            "− 0.1) = 1/24, η = 1/g0², w0 = (0, −.8, .6); ‖w⊥‖ after one step against ‖w0⊥‖/(1 + δ)"
        ),
        snippet="""
A, y, w = np.diag([1, 0.1, 0])[:2], np.array([0, 0.1]), np.array([0, -0.8, 0.6])
g, w = path(A, y, 1 / 24, w, [0.0])[-1]
found, printed = w[2], 0.6 / 1.5
""",
        relation=">",
    ),
    Claim(
        id="general-matrix-random",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Lemma E.11",
        functions=("safe_scale_random",),
        verdict=(
            "True if w* is random on the sphere of the row space, where Section 1.1 puts x*; not "
            "on the sphere of R^d, as the lemma is worded."
        ),
        printed=(
            "σ: eigenvalues of AAᵀ, σ_1 = 1; L = (Σσ_i² − 2√(m log m))/m ≥ σ_m²; w* uniform on the "
            "sphere of R^d. Then g0 ≤ g*√L/(2 + δ − σ_m) suffices for the same T1 with probability "
            "1 − O(1/m)."
        ),
        exact=(
            "σ, L and δ > 0 as in the paper's line. Let w* be uniform on the unit sphere of the "
            "row space, L ≥ σ_m², γ = 0, η = 1/g0², 0 < ∣g0∣ ≤ g*√L/(2 + δ − σ_m). Then every step "
            "divides ‖w⊥‖ by at least 1 + δ, except with probability at most m^{−3/2}·e^{8(log "
            "m)²/m} for m ≥ 68, so O(1/m). L ≥ σ_m² can hold only for m = 1 or m ≥ 12."
        ),
        proof=(
            "w* has coordinates z/‖z‖, z normal in R^m, in A's singular basis. If Σb_iz_i² ≥ 0, "
            "b_i = σ_i² − L, then ‖AᵀAw*‖² ≥ L and ‖v‖ ≥ (g*/∣g0∣)√L − (1 − σ_m) ≥ 1 + δ as in "
            "[general-matrix]. Σb_i = 2√(m log m); Σb_i² ≤ m/4 + 4 log m (variance of values in "
            "[0, 1], plus m·mean²). Let h = √(log m/m) ≤ ¼ (m ≥ 68); b_i ≥ −1, so 2hb_i ≥ −½. By "
            "log(1 + x) ≥ x − x², Pr(Σb_iz_i² < 0) ≤ E e^{−hΣb_iz_i²} = Π(1 + 2hb_i)^{−½} ≤ "
            "e^{−hΣb_i + 2h²Σb_i²} ≤ m^{−3/2}e^{8(log m)²/m}. L ≥ σ_m² needs (m − 1)(1 − σ_m²) ≥ "
            "2√(m log m), as Σσ_i² ≤ m − 1 + σ_m²: not so for 2 ≤ m ≤ 11."
        ),
        instance=(
            "m = 100, d = 3000, A = diag(√σ) in the first 100 coordinates, σ = 1 (99 times), 0.1; "
            "w* a normal vector of R^d (seed 0), normalised, g* = 1, y = Aw*; δ = 1, g0 = √L/2.9, "
            "w0 = e_3000, ε = 0.01, T1 = 7; ‖w⊥‖ after T1 steps against ε"
        ),
        snippet="""
lam, z = np.append(np.ones(99), 0.1), np.random.default_rng(0).normal(size=3000)
A = np.sqrt(lam)[:, None] * np.eye(100, 3000)
g = np.sqrt((lam @ lam - 2 * np.sqrt(100 * np.log(100))) / 100) / (2 + 1 - 0.1)
w = path(A, A @ z / norm(z), g, np.eye(3000)[-1], [0.0] * 7)[-1][1]
found, printed = norm(w[100:]), 0.01
""",
        relation=">",
    ),
    Claim(
        id="general-matrix-random-main",
        kind="condition-stated",
        conclusion="yes",
        group="discrete",
        paper="Proposition E.9, (46)",
        functions=("safe_scale_random",),
        verdict="True under the same condition as the lemma: w* on the sphere of the row space.",
        printed=(
            "With L as in Lemma E.11 and L ≥ λ_min², g0 ≤ g*√L/(2 + δ) suffices with probability 1 "
            "− O(1/m) for w* random on the sphere."
        ),
        exact=(
            "Let w* be uniform on the unit sphere of the row space, λ_max = 1, L ≥ λ_min², γ = 0, "
            "η = 1/g0² and 0 < ∣g0∣ ≤ g*√L/(2 + δ). Then every step divides ‖w⊥‖ by at least 1 + δ "
            "with probability 1 − O(1/m)."
        ),
        proof=(
            "g*√L/(2 + δ) < g*√L/(2 + δ − λ_min), so the g0 allowed here are among those of "
            "[general-matrix-random], with the same hypothesis and the same event. For w* on the "
            "sphere of R^d, ‖x*‖ is not g* but g* times the norm of the projection of w* on the "
            "row space, about √(m/d)."
        ),
        instance=(
            "m = 100, d = 3000, A = diag(√λ) in the first 100 coordinates, λ = 1 (99 times), 0.1; "
            "w* a normal vector of R^d (seed 0), normalised, g* = 1, y = Aw*; δ = 1, g0 = √L/3, w0 "
            "= e_3000, ε = 0.01, T1 = 7; ‖w⊥‖ after T1 steps against ε"
        ),
        snippet="""
lam, z = np.append(np.ones(99), 0.1), np.random.default_rng(0).normal(size=3000)
A = np.sqrt(lam)[:, None] * np.eye(100, 3000)
g = np.sqrt((lam @ lam - 2 * np.sqrt(100 * np.log(100))) / 100) / (2 + 1)
w = path(A, A @ z / norm(z), g, np.eye(3000)[-1], [0.0] * 7)[-1][1]
found, printed = norm(w[100:]), 0.01
""",
        relation=">",
    ),
)
