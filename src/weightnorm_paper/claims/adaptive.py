"""Appendices A and D: the adaptive penalty, and other losses."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="adaptive-lambda",
        kind="misprint",
        conclusion="yes",
        group="flow",
        paper="Appendix A",
        functions=("adaptive_lambda_rpgd", "adaptive_lambda_wn"),
        verdict=(
            "Both updates of x are right; for the penalty λ‖x‖² both λ_t lack ½, and WN's also 1/η."
        ),
        printed=(
            "A step is one of gradient descent on the loss plus λ_t‖x‖², with λ_t = (g‖v‖ − "
            "g′)/(ηg²g′) for rPGD and λ_t = (‖w′‖‖w‖/(g′g))·K for WN, where K = 1 − g′‖w‖/(g‖w′‖) "
            "− η(g′/‖w′‖)⟨w, Aᵀr⟩/‖w‖²."
        ),
        exact=(
            "For g, g′ ≠ 0 a step is x′ = x − η_x(Aᵀr + 2λ_t·x), a gradient step on the loss plus "
            "λ_t‖x‖². rPGD: η_x = ηgg′/‖v‖, λ_t = (g‖v‖ − g′)/(2ηg²g′). WN: η_x = ηgg′/(‖w‖‖w′‖), "
            "λ_t = (‖w′‖‖w‖/(2ηg′g))·K. For the penalty ½λ_t‖x‖² the 2 goes: then rPGD's printed "
            "λ_t is right and WN's lacks 1/η."
        ),
        proof=(
            "rPGD: x′ = g′v/‖v‖ with v = x/g − ηgAᵀr, so x′ = (g′/(g‖v‖))x − η_xAᵀr, and 2η_xλ_t = "
            "1 − g′/(g‖v‖); divide by 2η_x. WN: w′ = w(1 + ηgs/‖w‖²) − (ηg/‖w‖)Aᵀr and w = ‖w‖x/g, "
            "so x′ = g′w′/‖w′‖ = (g′‖w‖/(g‖w′‖))(1 + ηgs/‖w‖²)x − η_xAᵀr. As s = ⟨w, Aᵀr⟩/‖w‖, 1 "
            "minus the factor of x is K. So 2η_xλ_t = K."
        ),
        instance=(
            "B, w = (0.6, 0.8), g = ½, η = γ = 0.1, a step of WN: λ_t from the change of the "
            "second entry of x, where Aᵀr is zero"
        ),
        snippet="""
g, w, eta, s = 0.5, np.array([0.6, 0.8]), 0.1, 0.6 * (0.5 * 0.6 - 1)
h, v = wn(*B, g, w, eta, eta)
found = (1 - h * v[1] / norm(v) / (g * w[1])) / (2 * eta * g * h / norm(v))
printed = norm(v) / (h * g) * (1 - h / (g * norm(v)) - eta * h / norm(v) * s)
exact = printed / (2 * eta)
""",
        relation="≠",
    ),
    Claim(
        id="adaptive-lambda-sign",
        kind="condition-stated",
        conclusion="yes",
        group="flow",
        paper="Appendix A, last paragraph",
        functions=("adaptive_lambda_sign",),
        verdict=(
            "True for η = 1/g² and g < g*, the setting of Section 3; for large g the sign turns."
        ),
        printed=(
            "For orthogonal A a small enough step of the scale gives λ_t > 0, and near the "
            "solution λ_t ≈ 0."
        ),
        exact=(
            "rPGD, AAᵀ = I, η = 1/g², γ small enough: λ_t > 0 if ∣g∣‖Aw‖ < g*, in particular if "
            "∣g∣ < g*, and λ_t < 0 if ∣g∣‖Aw‖ > g*. As (g, w) → (g*, w*), λ_t → 0 for bounded γ."
        ),
        proof=(
            "With η = 1/g² [adaptive-lambda] reads λ_t = ½(g‖v‖/g′ − 1). As γ → 0, g′ = g − γs → "
            "g, so λ_t → ½(‖v‖ − 1): it has the sign of ‖v‖ − 1 for small γ. Since AᵀAw = w∥ and "
            "Aᵀy = x*, v = w − Aᵀ(gAw − y)/g = w⊥ + x*/g, so ‖v‖² = 1 − p² + g*²/g² with p = ‖Aw‖, "
            "and ‖v‖ > 1 if and only if ∣g∣p < g*. As (g, w) → (g*, w*), p → 1, ‖v‖ → 1 and s → 0, "
            "so g′ − g = −γs → 0 and λ_t → 0."
        ),
        instance=(
            "B, g = 2, w = (1, 0), η = 1/g² = ¼, γ = 0.01, a step of rPGD: λ_t from x′ = x − "
            "η_x(Aᵀr + 2λ_t·x), against the bound 0 that it should exceed"
        ),
        snippet="""
h, u = rpgd(*B, 2.0, e1, 0.25, 0.01)
rate = 0.25 * 2.0 * h / 0.5  # eta_x, with norm(v) = 1/2
found, printed = ((2.0 - h * u[0]) / rate - 1.0) / (2 * 2.0), 0.0
exact = (2.0 * 0.5 - h) / (2 * h)
""",
        relation="<",
    ),
    Claim(
        id="general-loss-invariant",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Theorem D.2",
        functions=("perp_factor",),
        verdict="True for the gradient flow, which is the ratio c = 1.",
        printed=(
            "For a loss L whose gradient lies in the range of a projection, along WN's gradient "
            "flow from any w0 ≠ 0, w_t⊥ = exp((g0² − g_t²)/(2‖w0‖²))·w0⊥."
        ),
        exact=(
            "L differentiable, (I − Π)∇L = 0 for a projection Π, orthogonal or not; w⊥ = (I − Π)w, "
            "w0 ≠ 0. As long as the flow ġ = −c·∂_g h, ẇ = −∇_w h of h = L(gw/‖w‖) exists, w_t⊥ = "
            "exp((g0² − g_t²)/(2c‖w0‖²))·w0⊥. The gradient flow is c = 1, as printed."
        ),
        proof=(
            "Write s = ⟨ŵ, ∇L⟩. Then ġ = −cs and ẇ = −(g/‖w‖)(∇L − sŵ). As ∇L − sŵ is orthogonal "
            "to w, d‖w‖²/dt = 0, so ‖w‖ = ‖w0‖. Apply I − Π, which kills ∇L: ẇ⊥ = (g/‖w‖)s·w⊥/‖w‖ "
            "= gs·w⊥/‖w0‖² = −(1/(2c‖w0‖²))·(d(g²)/dt)·w⊥. So exp(g²/(2c‖w0‖²))·w⊥ is constant."
        ),
        instance=(
            "The logistic loss L(x) = log(1 + e^{−x₁}) in two dimensions, w0 = (1.2, 1.6) of norm "
            "2, g0 = ½, c = 1, time 5: the second entry of w"
        ),
        snippet="""
def field(t, z):
    u, pull = z[1:] / norm(z[1:]), -e1 / (1 + np.exp(z[0] * z[1] / norm(z[1:])))
    return np.append(-u @ pull, -z[0] / norm(z[1:]) * (pull - (u @ pull) * u))
z = solve_ivp(field, (0, 5), [0.5, 1.2, 1.6], "LSODA", rtol=1e-12, atol=1e-14).y[:, -1]
found, printed = z[2], 1.6 * np.exp((0.5**2 - z[0] ** 2) / (2 * 2.0**2))
""",
        relation="=",
    ),
)
