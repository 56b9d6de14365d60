"""The set-up of the linear-regression experiments."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="experiment-row-space",
        kind="condition-stated",
        conclusion="yes",
        group="set-up",
        paper="Section F.1, the data",
        functions=("datasets.make_regression",),
        verdict=(
            "True for a w* in the row space of A, as Section 1.1 has it; for an arbitrary unit "
            "vector the minimum norm is smaller than g*."
        ),
        printed="With g* = 3 and w* an arbitrary unit vector, the minimum-norm solution is g*w*.",
        exact=(
            "The minimum-norm solution of Ax = Ag*w* is g* times the part of w* in the row space "
            "of A. Its norm is g* if and only if w* lies in the row space, and then it is g*w*."
        ),
        proof=(
            "The solutions of Ax = Ag*w* are g*w* + z with Az = 0. Split g*w* into its part u in "
            "the row space and a part u⊥ orthogonal to it. As the row space is the orthogonal "
            "complement of the vectors z with Az = 0, ‖g*w* + z‖² = ‖u‖² + ‖u⊥ + z‖², which is "
            "least, ‖u‖², at z = −u⊥. And ‖u‖² = g*² − ‖u⊥‖² equals g*² only for u⊥ = 0."
        ),
        instance=(
            "m = 20, d = 50, κ = 1, g* = 3, A and w* drawn at random: the norm of the solution "
            "that gradient descent from the origin reaches"
        ),
        snippet="""
rng = np.random.default_rng(0)
A, w = np.linalg.qr(rng.standard_normal((50, 20)))[0].T, rng.standard_normal(50)
w, x = w / norm(w), np.zeros(50)
for _ in range(100): x = x - 0.5 * A.T @ (A @ x - A @ (3 * w))
found, printed, exact = norm(x), 3.0, 3 * norm(np.linalg.pinv(A) @ A @ w)
""",
        relation="≠",
    ),
    Claim(
        id="experiment-kappa",
        kind="misprint",
        conclusion="yes",
        group="set-up",
        paper="Section F.1, the data",
        functions=("datasets.make_regression",),
        verdict=(
            "With the printed singular values κ is the condition number of A, not that of AAᵀ, "
            "which is its square."
        ),
        printed=(
            "κ = λ_max/λ_min of AAᵀ, for A = UΣVᵀ with Σ = 1, (1/κ)^{1/(m−1)}, …, 1/κ on the "
            "diagonal."
        ),
        exact=(
            "For that Σ λ_max/λ_min of AAᵀ is κ², and κ is the condition number of A, the ratio of "
            "its largest to its smallest singular value. We keep Σ and call κ so."
        ),
        proof=(
            "AAᵀ = UΣVᵀVΣUᵀ = UΣ²Uᵀ, as VᵀV = I, and U is orthogonal. So its eigenvalues are the "
            "squares of the diagonal entries of Σ; the largest is 1, the smallest 1/κ²."
        ),
        instance="m = 20, d = 50, Σ with κ = 5, U and V drawn at random: λ_max/λ_min of AAᵀ",
        snippet="""
rng = np.random.default_rng(0)
U, V = (np.linalg.qr(rng.standard_normal((n, 20)))[0] for n in (20, 50))
A = U @ np.diag((1 / 5) ** (np.arange(20) / 19)) @ V.T
found, printed, exact = np.linalg.cond(A @ A.T), 5.0, 25.0
""",
        relation="≠",
    ),
    Claim(
        id="figure-3-bottom-steps",
        kind="misprint",
        conclusion="yes",
        group="set-up",
        paper="Section F.1, Figure 3, bottom",
        functions=("datasets.make_regression",),
        verdict=(
            "The direction's step of WN needs ‖w‖² where ‖w‖ is printed; with that the figure's "
            "statement is true."
        ),
        printed=(
            "WN with η = ‖w‖/(g²λ_max) for w and γ = 0.005 for g ends close to the minimum norm "
            "for g0 up to about 3."
        ),
        exact=(
            "η = ‖w‖²/(g²λ_max). It is the inverse of the largest curvature that w can meet at "
            "zero loss, and it moves the direction ŵ alike however long w is. With ‖w‖ in its "
            "place the step of ŵ is too small by the factor ‖w‖, and the scale, which is not "
            "slowed down, arrives before the direction does."
        ),
        proof=(
            "A step is w′ = w − (ηg/‖w‖)PAᵀr. In units of ‖w‖, with η = ‖w‖^k/(g²λ_max): w′/‖w‖ = "
            "ŵ − ‖w‖^{k−2}·PAᵀr/(gλ_max). For k = 2 the length of w is gone; for k = 1 the step of "
            "ŵ is divided by ‖w‖. That length never falls, and the first step from a small g0 "
            "makes it about ‖PAᵀr‖/(g0λ_max) (for ‖w0‖ = 1) [discrete-wn]. Curvature: where r = 0 "
            "the second derivative of the loss by w is (g²/‖w‖²)PAᵀAP, because terms with r vanish "
            "and the derivative of ŵ by w is P/‖w‖; its largest eigenvalue is at most g²λ_max/‖w‖²."
        ),
        instance=(
            "m = 20, d = 50, κ = 1, A drawn at random, y = (3, 0, …, 0), so g* = 3; w0 = (1, …, "
            "1)/√50, g0 = 0.001, γ = 0.005: the norm of WN after 17,000 steps with ‖w‖² and with "
            "‖w‖"
        ),
        snippet="""
A, y = np.linalg.qr(np.random.default_rng(4).standard_normal((50, 20)))[0].T, 3 * np.eye(20)[0]
g, w, h, v = 1e-3, np.full(50, 50**-0.5), 1e-3, np.full(50, 50**-0.5)
for _ in range(17_000):
    (g, w), (h, v) = wn(A, y, g, w, w @ w / g**2, 0.005), wn(A, y, h, v, norm(v) / h**2, 0.005)
found, printed, exact = abs(g), abs(h), 3.0
""",
        relation="≠",
    ),
    Claim(
        id="figure-4-bottom-steps",
        kind="misprint",
        conclusion="yes",
        group="set-up",
        paper="Section F.1, Figure 4, bottom",
        functions=("schedules.two_phase",),
        verdict=(
            "η and γ are exchanged: it is the scale that waits for 5,000 steps, as phase I of the "
            "same section says, and then the norms are the minimum norm."
        ),
        printed=(
            "With γ = 1 for g and η = 0.1·1{t > 5000} for w, from g0 = 2.8, WN and rPGD end close "
            "to the minimum norm for any κ."
        ),
        exact=(
            "Direction step 1/(g²λ_max) (times ‖w‖² for WN), scale step 0.1·1{t > 5000}. For AAᵀ = "
            "I and 0 < g0 < g* rPGD then ends at a solution with ‖x⊥‖ ≤ ∣g∞∣·q0·(g0/g*)^5001. As "
            "printed, w waits while g goes to the best scale g1 for w0, and the run goes on with "
            "the ratio c = γ/η = 10; its flow from (g1, w0) ends with G(1 − F0e^{−G/c}) = g*², g1 "
            "for g0 in F0: above g* unless w0⊥ = 0."
        ),
        proof=(
            "‖v‖² = ‖w⊥‖² + g*²/g² and w⊥′ = w⊥/‖v‖ [step-identities]. While g = g0 < g* each step "
            "divides ‖w⊥‖ by at least g*/g0; there are 5,001, t = 0 to 5000. Then γ = 0.1: with a "
            "= g*/p the gap a − g, positive at first, stays so and contracts by 1 − γ "
            "[scale-step-identity], so g ≤ g*/p, hence ‖v‖² ≥ ‖w⊥‖² + p² = 1: ‖w⊥‖ falls further, "
            "and ‖r‖ = p(a − g) → 0. As printed: with η = 0 and AAᵀ = I, γ = 1, g′ − g1 = (1 − "
            "p0²)(g − g1), g1 = ⟨w0, x*⟩/p0²; [flow-limit] gives the end from there."
        ),
        instance=(
            "m = 20, d = 50, κ = 1, A drawn at random, y = (3, 0, …, 0), so g* = 3; w0 = (1, …, "
            "1)/√50, g0 = 2.8: the norm of rPGD after 5,400 steps, with the steps as read and as "
            "printed"
        ),
        snippet="""
A, y = np.linalg.qr(np.random.default_rng(4).standard_normal((50, 20)))[0].T, 3 * np.eye(20)[0]
g, w, h, v = 2.8, np.full(50, 50**-0.5), 2.8, np.full(50, 50**-0.5)
for wait in 0.1 * (np.arange(5_400) > 5_000):
    (g, w), (h, v) = rpgd(A, y, g, w, 1 / g**2, wait), rpgd(A, y, h, v, wait, 1.0)
found, printed, exact = abs(g), abs(h), 3.0
""",
        relation="≠",
    ),
)
