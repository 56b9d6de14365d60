"""Beyond the paper: what the flow minimises, and where other training ends."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="mirror-potential",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("potential", "bregman"),
        verdict=(
            "At every time the flow stands at the point nearest to its start, in a known "
            "divergence, among all points with the same predictions."
        ),
        printed="–",
        exact=(
            "Let ψ(x) = ∫₀^{‖x‖}e^{s²/2c}ds and D(x, x0) = ψ(x) − ψ(x0) − ⟨∇ψ(x0), x − x0⟩. For "
            "every differentiable loss of Ax, c > 0 and g0 ≠ 0: as long as g keeps its sign, x(t) "
            "is the only minimiser of D(x, x0) over all x with Ax = Ax(t). Once g has changed its "
            "sign, −x0 takes the place of x0."
        ),
        proof=(
            "∇ψ(x) = e^{‖x‖²/2c}x/‖x‖. The part of ∇ψ(x(t)) off the row space is ±e^{g²/2c}w⊥, "
            "with the sign of g, and e^{g²/2c}w⊥ is constant [invariant]. So ∇ψ(x(t)) − ∇ψ(x0) "
            "lies in the row space, with −x0 for x0 if the sign differs: these are the conditions "
            "of a minimum of D(·, x0) on {Ax = Ax(t)}. ψ is strictly convex, as its derivative "
            "along rays grows and its level sets are balls; so they are sufficient, and the "
            "minimiser is unique."
        ),
        instance=(
            "B with w0 = (0.6, 0.8), g0 = 0.5, c = 1, the flow at time 1: its second coordinate, "
            "against the minimiser of D over (x₁, t); ψ by the midpoint rule"
        ),
        snippet="""
from scipy.optimize import minimize_scalar
g, w = flow(*B, 0.5, [0.6, 0.8], 1.0, time=1.0)
psi = lambda a: a * np.mean(np.exp((a * (np.arange(4000) + 0.5) / 4000) ** 2 / 2))
D = lambda t: psi(norm([g * w[0], t])) - np.exp(0.125) * (0.6 * g * w[0] + 0.8 * t)
found, printed = g * w[1], minimize_scalar(D, bounds=(0, 2), options={"xatol": 1e-10}).x
""",
        relation="=",
    ),
    Claim(
        id="frozen-contraction",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("frozen_contraction",),
        verdict=(
            "At a frozen scale below g* rPGD divides ‖w⊥‖ by a number that tends to an exactly "
            "known one, for any A."
        ),
        printed="–",
        exact=(
            "rPGD with γ = 0, 0 < ∣g0∣ < g*, 0 < η ≤ 1/(g0²λmax), from w0⊥ ≠ 0: ‖v‖ tends to 1 + "
            "η∣g0∣/ĉ, ĉ > 0 being where ‖(I/ĉ + ∣g0∣AᵀA)⁻¹Aᵀy‖ = 1, and w⊥ is divided by ‖v‖ at "
            "every step. For orthogonal A it is 1 − ηg0² + η∣g0∣g*."
        ),
        proof=(
            "Let g0 > 0 (else turn w around). The step is descent with a step of at most 1/L, then "
            "the projection on the sphere; on it the loss falls until w rests "
            "[fixed-scale-general], at w̃ = (I/ĉ + g0AᵀA)⁻¹Aᵀy. There AᵀA(g0w̃) − Aᵀy = −w̃/ĉ, so "
            "v = w̃ − ηg0Aᵀr = (1 + ηg0/ĉ)w̃. w⊥′ = w⊥/‖v‖ exactly [discrete-rpgd]. For orthogonal "
            "A w̃ = w*, and g* = 1/ĉ + g0. The norm of w̃ grows with ĉ from 0 to g*/g0 > 1: one ĉ."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (1, 2, 0), y = (1, −1), g0 = 0.7, η = 0.3, w0 = (0.5, 1, "
            "2)/√5.25, 400 steps: with k = (‖v‖ − 1)/(ηg0) for 1/ĉ, the norm of (kI + g0AᵀA)⁻¹Aᵀy, "
            "against 1"
        ),
        snippet="""
A, y, w = np.array([[1.0, 0, 0], [1, 2, 0]]), np.array([1.0, -1]), np.array([0.5, 1, 2]) / 5.25**0.5
for _ in range(400):
    w, last = rpgd(A, y, 0.7, w, 0.3, 0)[1], w
k = (last[2] / w[2] - 1) / (0.3 * 0.7)
found, printed = norm(np.linalg.solve(k * np.eye(3) + 0.7 * A.T @ A, A.T @ y)), 1.0
""",
        relation="=",
    ),
    Claim(
        id="batchnorm-limit",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("batchnorm_limit",),
        verdict=(
            "Batch norm, x = g·w/‖Aw‖, never moves w⊥, and ends at a point that depends on the "
            "start's direction alone, but for a sign."
        ),
        printed="–",
        exact=(
            "Gradient flow of ½‖Ax − y‖², x = g·w/‖Aw‖, on g (times c > 0) and w, Aw0 ≠ 0, unless "
            "it ends in {g = 0, yᵀAw = 0}: x → x* + sign(g∞)(g*/‖w0∥‖)w0⊥, whatever g0, c and "
            "‖w0‖. w⊥ is constant under every rule that adds multiples of gradients. Gradient "
            "descent on (g, w) with steps that converge to Ax = y: the same with ‖w0∥‖² + "
            "η²Σ‖∇_w‖² for ‖w0∥‖²."
        ),
        proof=(
            "With u = Aw/‖Aw‖ the loss is ½‖gu − y‖², so ∇_w = −(g/‖Aw‖)Aᵀ(I − uuᵀ)y: in the row "
            "space, and orthogonal to w because (Aw)ᵀ(I − uuᵀ) = 0. So w⊥ and, along the flow, "
            "‖w∥‖ are constant; a step of descent adds η²‖∇_w‖² to ‖w∥‖² (Pythagoras). At rest g = "
            "uᵀy and, unless g = 0, u ∥ y: then Aw ∥ y, w∥ = ±‖w∥‖w*, and x = gw/‖Aw‖ has x∥ = x* "
            "and x⊥ = ±(g*/‖w∥‖)w⊥. The loss falls and the orbit is bounded, so limit points are "
            "rest points."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (1, 2, 0), y = (1, −1), w0 = (1, −0.5, 1), g0 = 0.3, c = "
            "1: the weights at the end of the flow, against (1, −1, √2/√1.25)"
        ),
        snippet="""
A, y = np.array([[1.0, 0, 0], [1, 2, 0]]), np.array([1.0, -1])
part = lambda g, u, n: np.append(u @ y - g, g / n * (A.T @ (y - u @ y * u)))
move = lambda t, z: part(z[0], A @ z[1:] / norm(A @ z[1:]), norm(A @ z[1:]))
z = solve_ivp(move, (0, 200), [0.3, 1, -0.5, 1], "LSODA", rtol=1e-12, atol=1e-14).y[:, -1]
found, printed = z[0] * z[1:] / norm(A @ z[1:]), np.array([1, -1, (2 / 1.25) ** 0.5])
""",
        relation="=",
    ),
    Claim(
        id="scale-sign",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("scale_sign",),
        verdict=(
            "Where y is an eigenvector of AAᵀ, two numbers decide the sign of the final scale "
            "without integrating; between them the flow decides."
        ),
        printed="–",
        exact=(
            "For the flow with c > 0, a = ⟨ŵ, w*⟩: g0² > −c·log q0² leads to the sign of g0, for "
            "every A. If y is an eigenvector of AAᵀ, log(1 − a²) + g²/c never increases, and g0² < "
            "−c·log(1 − a0²) leads to the sign of a0. For m = 1 the two bounds are equal. "
            "Linearised at S the sign is that of μg0 + c·yᵀAw0, μ > 0 with μ² + c‖Aw0‖²μ = "
            "c‖Aᵀy‖². Measured: right for 4,798 of 4,798 starts within 0.1 of S at which the two "
            "terms do not cancel by more than half."
        ),
        proof=(
            "F0 > 1: g = 0 would need ‖w⊥‖² = F0 > 1 [invariant], so g keeps its sign. If AAᵀy = "
            "λy, Aw* = y/g* and the derivative of log(1 − a²) + g²/c is −2g²‖A(ŵ − aw*)‖²/(1 − "
            "a²). It is at least 0 where a = 0 and 0 on S, so below 0 a keeps its sign and the "
            "flow does not end in S; at the end g∞a∞ = ‖x*‖ > 0 up to positive factors. Near S, "
            "with α = yᵀAw: ġ = −c‖Aw‖²g + cα, α̇ = ‖Aᵀy‖²g to first order; (μ, c) is the left "
            "eigenvector of the growing mode."
        ),
        instance=(
            "A has the rows (1, 0, 0) and (0, 1, 0), y = (1, 0), c = 1, w0 = (−0.6, 0.3, √0.55): "
            "g0² = 0.95 of −log(1 − a0²), and 1.05 of −log q0²: the signs of the scale at the end"
        ),
        snippet="""
A, y, w = np.eye(2, 3), np.array([1.0, 0]), np.array([-0.6, 0.3, 0.55**0.5])
scales = (-0.95 * np.log(1 - 0.36)) ** 0.5, (-1.05 * np.log(0.55)) ** 0.5
found, printed = np.sign([flow(A, y, g, w, 1.0)[0] for g in scales]), np.array([-1, 1])
""",
        relation="=",
    ),
    Claim(
        id="margin-offset",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("max_margin_offset",),
        verdict=(
            "On separable classes the flow's direction is off the maximum-margin one by ρ/g, with "
            "a vector ρ that is known and does not depend on the start."
        ),
        printed="–",
        exact=(
            "Logistic loss L, z_i = s_i·a_i separable, v the maximum-margin direction, γ_m its "
            "margin, v = Σα_i·z_i over the support vectors, these independent and every α_i > 0. "
            "Along the flow ‖w⊥‖ = q0e^{(g0² − g²)/2c}. Conjecture (asymptotics, derived and not "
            "proved): g(ŵ − v) → ρ, the vector in the span of the support vectors, orthogonal to "
            "v, with ⟨ρ, z_i⟩ + log α_i the same for all of them; L·t → 1/(cγ_m²); what is off the "
            "span dies like e^{−gΔ}, Δ the gap to the next margin. Gradient descent has the same ρ "
            "plus a vector that depends on its start."
        ),
        proof=(
            "The first is [invariant], which holds for every loss of Ax [general-loss-invariant]. "
            "By g in place of t, dŵ/dg = (g/c)(u/⟨ŵ, u⟩ − ŵ), u = −∇L: for large g it is drawn to "
            "u ∥ ŵ. There the weights e^{−⟨gŵ, z_i⟩} are proportional to α_i, that is ⟨gŵ, z_i⟩ + "
            "log α_i is constant: with gŵ = gv + ρ this is the equation of ρ. It has one solution: "
            "Z independent, and α·Zρ = ⟨v, ρ⟩ = 0 fixes the constant. dL/dt is about −cγ_m²L². "
            "Measured: in 29 problems at g = 60/γ_m ρ was met within 4 % (median; worst 27 %), "
            "half as far as at half that g, and L·t·cγ_m² was within 1e-3 of 1."
        ),
        instance=(
            "Samples (2, 0) and (0, 1), both of the class 1: v = (1, 2)/√5 and "
            "ρ = (2, −1)·log(4)/5. The flow from g = 1, ŵ = (0.8, 0.6), c = 1, in terms of g up "
            "to 60: ‖g(ŵ − v) − ρ‖/‖ρ‖"
        ),
        snippet="""
K, v, rho = np.diag([2.0, 1]), np.array([1, 2]) / 5**0.5, np.array([2, -1]) * np.log(4) / 5
pull = lambda x: K @ (1 / (1 + np.exp(K @ x)))
move = lambda g, w: g * (pull(g * w) / (w @ pull(g * w)) - w)
w = solve_ivp(move, (1, 60), [0.8, 0.6], "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
found, printed = norm(60 * (w - v) - rho) / norm(rho), 0.05
""",
        relation="<",
    ),
    Claim(
        id="grouped-scales",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("grouped_invariant",),
        verdict=(
            "Weights in blocks with a scale each keep one invariant per block; that is not enough "
            "for a closed end."
        ),
        printed="–",
        exact=(
            "x = (g_k·ŵ_k)_k, A_k the columns of block k, the flow with ratios c_k > 0 of any "
            "differentiable loss of Ax: log‖ŵ_k⊥‖ + g_k²/2c_k is constant for every block, ⊥ being "
            "off the rows of A_k, and w_k⊥ keeps its direction. Measured: no block ends at zero, "
            "so there is no group sparsity; the limit is not known."
        ),
        proof=(
            "The gradient by block k is A_kᵀφ′, in the row space of A_k. With s_k = ⟨ŵ_k, "
            "A_kᵀφ′⟩: ġ_k = −c_k·s_k and ẇ_k⊥ = g_k·s_k·w_k⊥ as for one block [invariant]. So "
            "d log‖ŵ_k⊥‖ = g_k·s_k = −g_k·ġ_k/c_k = −d(g_k²/2c_k). The k equations and Ax = y "
            "leave more unknowns than they fix where several blocks share the fit."
        ),
        instance=(
            "A = [1, 0, 2, 0] in two blocks, y = 1, g = (0.5, −0.7), directions (0.6, 0.8) and "
            "(0.8, 0.6), c = 1: both invariants at time 5 and at the start"
        ),
        snippet="""
a, start = np.array([1.0, 2]), np.array([0.5, -0.7, 0.6, 0.8, 0.8, 0.6])  # g, then w seen, unseen
turn = lambda g, u, v, p: np.concatenate([-u * p, -g * (p - u * p * u), g * u * p * v])
move = lambda t, z: turn(z[:2], z[2:4], z[4:], a * (a @ (z[:2] * z[2:4]) - 1))
z = solve_ivp(move, (0, 5), start, "LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
found, printed = (np.log(s[4:]) + s[:2] ** 2 / 2 for s in (z, start))
""",
        relation="=",
    ),
    Claim(
        id="label-noise",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("noise_equilibrium",),
        verdict=(
            "Fresh noise on the labels moves rPGD along the solutions to x* or to a known norm; WN "
            "grows without bound in the end, where x* is not the only solution."
        ),
        printed="–",
        exact=(
            "Noise of standard deviation σ on every y at every step, γ = cη. On average to order "
            "η² (not proved with an error): rPGD on the solutions has log q + G/2c change by "
            "−(η²σ²/2)[G·tr(AAᵀ) − (2 + c/G)‖y‖²] a step. So it reaches x* if and only if "
            "tr(AAᵀ)g*² ≥ (2 + c/g*²)‖y‖², and else settles at G = (‖y‖²/tr)(1 + √(1 + "
            "c·tr/‖y‖²)): always for m = 1. WN: ‖w‖⁴ grows by 2η²σ²(G·tr − ‖y‖²) a step; q falls "
            "until c‖w‖²‖y‖² > G(G·tr − ‖y‖²), and then rises."
        ),
        proof=(
            "For each draw of the noise the loss is one of Ax, so J has no change of first order, "
            "and E ΔJ = (η²/2)tr(J″Cov) as for [batch-limit], with V_s = σ²‖Aŵ‖² = σ²‖y‖²/G and "
            "V_p = σ²(tr − ‖y‖²/G) at a solution: cV_s − g²V_p + g²V_s. Setting it to 0 gives G. "
            "WN: N′ = N + η²g²p/N gives N² the growth 2η²G·V_p, and dJ = (η²/2)k(V_s, V_p), k of "
            "[momentum-limit], less what N does to log q. Measured: rPGD's log q within 5 %, the "
            "equilibrium within 1.7 %, N within 1 %."
        ),
        instance=(
            "B with c = 3, so that G → 3: rPGD with η = 0.05, σ = 0.5 from the solution (1, 1.2), "
            "60,000 steps: how far the mean of x₂² over the last half is from 2, relatively"
        ),
        snippet="""
rng, g, w, kept = np.random.default_rng(0), 2.44**0.5, np.array([1, 1.2]) / 2.44**0.5, []
for noise in 0.5 * rng.standard_normal((60_000, 1)):
    g, w = rpgd(B[0], B[1] + noise, g, w, 0.05, 0.15)
    kept.append((g * w[1]) ** 2)
found, printed = abs(np.mean(kept[30_000:]) / 2 - 1), 0.1
""",
        relation="<",
    ),
    Claim(
        id="coordinate-wise",
        kind="beyond",
        conclusion="yes",
        group="beyond",
        paper="beyond the paper",
        functions=("coordinate_wise_end",),
        verdict=(
            "Where Adam and sign descent end depends on the axes, so no formula in lengths and "
            "angles predicts it."
        ),
        printed="–",
        exact=(
            "A = [1, 0]R, y = 1, ŵ0 = Rᵀ(0.6, 0.8), g0 = 0.5, R a rotation: ‖x*‖, g0, q0 and c do "
            "not depend on R. Gradient descent on (g, w) with step 0.001 keeps 0.540 of the part "
            "that A does not see, for every R. Adam keeps 0.300, 0.404 and 0.173 for R by 0, 22.5 "
            "and 45 degrees, sign descent 0.241, 0.366 and 0.293."
        ),
        proof=(
            "By example: the numbers are those of runs. Gradient descent commutes with rotations "
            "of w, as the gradient turns with the axes; Adam and sign descent act on single "
            "coordinates, which do not. A function of ‖x*‖, g0, q0 and c would give one number for "
            "all three."
        ),
        instance=(
            "Sign descent on (g, w) with step 0.001, 1,200 steps, R by 0 and by 45 degrees: the "
            "part of the weights that A does not see"
        ),
        snippet="""
from functools import reduce
step = lambda z, R: z - 1e-3 * np.sign(z - np.append(*wn(R[:1], B[1], z[0], z[1:], 1, 1)))
turns = [np.eye(2), np.array([[1, -1], [1, 1]]) / 2**0.5]
ends = [reduce(step, 1200 * [R], np.append(0.5, R.T @ [0.6, 0.8])) for R in turns]
found, printed = (z[0] * (R[1] @ z[1:]) / norm(z[1:]) for z, R in zip(ends, turns))
""",
        relation="≠",
    ),
)
