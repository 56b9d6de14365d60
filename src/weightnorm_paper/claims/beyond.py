"""Beyond the paper."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="discrete-wn",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("wn_step",),
        verdict="One step of WN lengthens w and scales w⊥ by exactly known factors, for any A.",
        printed="–",
        exact=(
            "One step of WN on any A and y, with N = ‖w‖² and s = ⟨ŵ, Aᵀr⟩: N′ = N + η²g²‖PAᵀr‖²/N "
            "and w⊥′ = w⊥(1 + ηgs/N). So ‖w‖ never falls."
        ),
        proof=(
            "The step is w′ = w − (ηg/‖w‖)PAᵀr. PAᵀr is orthogonal to w, so Pythagoras gives N′ = "
            "N + (ηg/‖w‖)²‖PAᵀr‖². PAᵀr = Aᵀr − sŵ, and Aᵀr lies in the row space, so the part of "
            "PAᵀr off it is −sw⊥/‖w‖; hence w⊥′ = w⊥ + (ηg/‖w‖)(s/‖w‖)w⊥."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (1, 2, 0), y = (1, −1), w = (0.5, 1, 2), g = 1.5, η = "
            "0.1: N′ and the factor of w⊥, the third coordinate"
        ),
        snippet="""
A, y, g, w = np.array([[1.0, 0, 0], [1, 2, 0]]), np.array([1.0, -1]), 1.5, np.array([0.5, 1, 2])
v, pull, N = wn(A, y, g, w, 0.1, 0.1)[1], A.T @ (A @ (g * w / norm(w)) - y), w @ w
s = w @ pull / norm(w)
found = np.array([v @ v, v[2] / w[2]])
printed = np.array([N + 0.01 * g**2 * (pull @ pull - s**2) / N, 1 + 0.1 * g * s / N])
""",
        relation="=",
    ),
    Claim(
        id="discrete-rpgd",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("rpgd_step",),
        verdict="One step of rPGD divides w⊥ by an exactly known number, for any A.",
        printed="–",
        exact=(
            "One step of rPGD on any A and y, with ‖w‖ = 1, v = w − ηgAᵀr and s = ⟨w, Aᵀr⟩: ‖v‖² = "
            "1 − 2ηgs + η²g²‖Aᵀr‖² and w⊥′ = w⊥/‖v‖ (v ≠ 0). For η > 0 and w⊥ ≠ 0 it grows if and "
            "only if ‖Ax‖² − ‖y‖² + ‖r‖² > ηg²‖Aᵀr‖²."
        ),
        proof=(
            "Expand ‖w − ηgAᵀr‖². Aᵀr lies in the row space, so v⊥ = w⊥, and w′ = v/‖v‖. It grows "
            "if and only if ‖v‖² < 1, that is 2gs > ηg²‖Aᵀr‖². And 2gs = 2⟨Ax, r⟩; from y = Ax − "
            "r, ‖y‖² = ‖Ax‖² − 2⟨Ax, r⟩ + ‖r‖², so 2⟨Ax, r⟩ = ‖Ax‖² + ‖r‖² − ‖y‖²."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (1, 2, 0), y = (1, −1), w = (0.5, 1, 2)/√5.25, g = 1.5, "
            "η = 0.1: the factor of w⊥, the third coordinate, and whether it grows (1: yes)"
        ),
        snippet="""
A, y, g, w = np.array([[1.0, 0, 0], [1, 2, 0]]), np.array([1.0, -1]), 1.5, np.array([0.5, 1, 2])
u, x, r = w / norm(w), g * w / norm(w), A @ (g * w / norm(w)) - y
k, gain = 0.1 * g**2 * norm(A.T @ r) ** 2, norm(A @ x) ** 2 - y @ y + r @ r
found = np.array([(f := rpgd(A, y, g, u, 0.1, 0.1)[1][2] / u[2]), f > 1])
printed = np.array([(1 - 0.2 * r @ A @ x + 0.1 * k) ** -0.5, gain > k])
""",
        relation="=",
    ),
    Claim(
        id="invariant-drift",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("invariant_drift", "finite_step_limit"),
        verdict=(
            "A finite step changes the flow's invariant by a known amount of second order, which "
            "predicts where a run ends."
        ),
        printed="–",
        exact=(
            "Let γ = cη, w0⊥ ≠ 0 and ‖w0‖ = 1. I = log(‖w⊥‖/‖w‖) + g²/2c changes in one step of "
            "rPGD by (η²/2)[(c + g²)s² − g²‖PAᵀr‖²] + O(η³), and of WN, N = ‖w‖², by ηgs(1/N − 1) "
            "+ (η²/2)[cs² − (g²/N²)(s² + ‖PAᵀr‖²)] + O(η³). A run that converges with x∥ → x* ends "
            "with G(1 − F0·e^{2D − G/c}) = g*², D the sum of all changes of I. With these formulas "
            "summed in place of D the error is O(η²)."
        ),
        proof=(
            "(g − γs)²/2c − g²/2c = −ηgs + (c/2)η²s². rPGD [discrete-rpgd]: log‖w⊥‖ changes by "
            "−½log(1 + u), u = −2ηgs + η²g²‖Aᵀr‖², that is ηgs − ½η²g²‖Aᵀr‖² + η²g²s² + O(η³); put "
            "‖Aᵀr‖² = s² + ‖PAᵀr‖² and add. WN [discrete-wn]: log(‖w⊥‖/‖w‖) changes by log(1 + "
            "ηgs/N) − ½log(1 + η²g²‖PAᵀr‖²/N²); expand and add. At the end ‖w⊥‖²/‖w‖² = F0·e^{2D − "
            "G/c} by definition of D, and G = g*² + G‖w⊥‖²/‖w‖² as x∥ = x*. Omitting O(η³) in each "
            "of O(1/η) steps, which contract geometrically, changes D by O(η²)."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (1, 2, 0), y = (1, −1), w = (0.5, 1, 2)/√5.25, g = 1.5, "
            "c = 2: the second-order part of the change of I over η², for rPGD and WN, from steps "
            "η = ±5e-5 (‖PAᵀr‖² is ‖Aᵀr‖² − s²)"
        ),
        snippet="""
A, y, g, w = np.array([[1.0, 0, 0], [1, 2, 0]]), np.array([1.0, -1]), 1.5, np.array([0.5, 1, 2])
w, kept = w / norm(w), lambda g, w: np.log(w[2] / norm(w)) + g**2 / 4
ends = [[kept(*step(A, y, g, w, e, 2 * e)) for e in (5e-5, -5e-5)] for step in (rpgd, wn)]
found, pull = (np.mean(ends, axis=1) - kept(g, w)) / 2.5e-9, A.T @ (A @ (g * w) - y)
printed = np.array([1 + g**2, 1]) * (w @ pull) ** 2 - g**2 * (pull @ pull) / 2
""",
        relation="=",
    ),
    Claim(
        id="glm-limit",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("flow_limit",),
        verdict=(
            "The exact limit of the flow holds for every convex loss of Ax with one minimiser in "
            "the row space, not for least squares alone."
        ),
        printed="–",
        exact=(
            "Let L(x) = φ(Ax), φ convex and continuously differentiable (with a locally Lipschitz "
            "derivative), have a unique minimiser ξ ≠ 0 in the row space of A, and let c > 0. The "
            "flow ġ = −c⟨w, ∇L⟩, ẇ = −gP∇L at x = gw either has g → 0 and L → L(0), or ends at ξ + "
            "g∞·exp((g0² − G)/2c)·w0⊥, where G = g∞² is the only positive root of G(1 − "
            "F0e^{−G/c}) = ‖ξ‖². The second is certain if L(x0) < L(0)."
        ),
        proof=(
            "∇L lies in the row space, so w⊥ = exp((g0² − g²)/2c)w0⊥ as for [invariant]. dL/dt = "
            "−c⟨w, ∇L⟩² − g²‖P∇L‖² ≤ 0. L has bounded level sets in the row space, so x∥ stays "
            "bounded; so does g, as ∣g∣ → ∞ would give w⊥ → 0, ‖x∥‖ → ∞. Limit points of the orbit "
            "are rest points (LaSalle): ∇L = 0 and x∥ = ξ, or g = 0. L has one limit and L(ξ) < "
            "L(0), so all are of one kind. In the first, G = ‖x∥‖² + ‖x⊥‖² = ‖ξ‖² + G·F0e^{−G/c}. "
            "Its root is unique: the left side of G(1 − F0e^{−G/c}) = ‖ξ‖² grows where positive. "
            "The limit points are connected, so g has one sign: one limit."
        ),
        instance=(
            "Counts, L(x) = Σ e^{a_iᵀx} − y_i·a_iᵀx: A has the rows (1, 0, 0) and (1, 1, 0), y = "
            "(1, 3), so ξ = (0, log 3, 0); w0 = (1, 0, 1)/√2, g0 = c = 1: x₂ and G(1 − F0e^{−G}) "
            "at the end, against ‖ξ‖ and ‖ξ‖²"
        ),
        snippet="""
A, y, q = np.array([[1.0, 0, 0], [1, 1, 0]]), np.array([1.0, 3]), 0.5**0.5
f = lambda x: A.T @ (np.exp(A @ x) - y)
move = lambda t, z: np.append(-z[1:] @ (p := f(z[0] * z[1:])), z[0] * (z[1:] @ p * z[1:] - p))
g, *w = solve_ivp(move, (0, 99), [1, q, 0, q], "LSODA", rtol=1e-12, atol=1e-14).y[:, -1]
found, printed = np.array([g * w[1], g**2 * (1 - np.exp(1 - g**2) / 2)]), np.log(3) ** [1, 2]
""",
        relation="=",
    ),
    Claim(
        id="max-margin",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("max_margin",),
        verdict=(
            "On separable classes the largest margin is the distance of a convex hull from the "
            "origin, which certifies the direction that has it."
        ),
        printed="–",
        exact=(
            "Let a_i be samples with signs s_i = ±1 that some v separates: s_i·a_iᵀv > 0 for all "
            "i. Then the largest margin min_i s_i·a_iᵀv over unit vectors v is the distance of the "
            "convex hull of the s_i·a_i from the origin, and h/‖h‖, h the hull's point nearest to "
            "the origin, is the only direction that has it. It lies in the row space of A."
        ),
        proof=(
            "Let K be the hull. A linear function on K is least at one of the s_i·a_i, so min_i "
            "s_i·a_iᵀv is the minimum of kᵀv over k in K. K is compact and, by separability, does "
            "not contain 0, so h exists and is not 0. For a unit v, min kᵀv ≤ hᵀv ≤ ‖h‖, with "
            "equality in the second only for v = h/‖h‖. For that v: K contains h + t(k − h), 0 ≤ t "
            "≤ 1, whose norm is at least ‖h‖, so (k − h)ᵀh ≥ 0 and kᵀv ≥ ‖h‖ for every k. And h is "
            "a combination of the rows a_i."
        ),
        instance=(
            "Samples (2, 0) and (0, 1) with sign +1, (−2, −3) with sign −1: the largest margin "
            "over 2,000,001 angles from 0 to π/2, against the norm of h = (0.4, 0.8)"
        ),
        snippet="""
K = np.array([[2.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
angle = np.linspace(0, np.pi / 2, 2_000_001)
margins = (K @ np.array([np.cos(angle), np.sin(angle)])).min(axis=0)
found, printed = margins.max(), norm([0.4, 0.8])
""",
        relation="=",
    ),
)
