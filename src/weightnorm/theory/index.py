"""Every claim of the paper: where it stands, which function is its exact form, what is printed
and what is true.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or one beyond it: what is printed and what is true.

    `CLAIMS` in this module has all of them.

    Attributes
    ----------
    id : str
        A short name, for instance "flow-limit"; `weightnorm.verify(only=[…])` takes it.
    paper : str
        Where the paper states it.
    functions : tuple of str
        The functions of `weightnorm.theory` that say it exactly.
    printed, exact : str
        What the paper prints, and what is true.
    verdict : str
        What the evidence must show: "holds", "holds with condition" or "fails as printed".

    Examples
    --------
    >>> from weightnorm.theory.index import CLAIMS
    >>> claim = next(claim for claim in CLAIMS if claim.id == "gd-limit")
    >>> claim.functions, claim.verdict
    (('gd_limit',), 'fails as printed')
    """

    id: str
    paper: str
    functions: tuple[str, ...]
    printed: str
    exact: str
    verdict: str


HOLDS, CONDITION, FAILS = "holds", "holds with condition", "fails as printed"


def _claim(id: str, verdict: str, paper: str, functions: str, printed: str, exact: str) -> Claim:
    return Claim(id, paper, tuple(functions.split()), printed, exact, verdict)


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "flow-steps",
        FAILS,
        "Condition 1",
        "flow_step_sizes",
        "steps η and cη for g and w respectively",
        "η is for the direction w and cη for the scale g",
    ),
    _claim(
        "flow-gradients",
        FAILS,
        "Lemma 2.1",
        "gradients",
        "with r = y − Agw: ∇_w f = Aᵀr, ∇_g f = wᵀAᵀr",
        "with r = Agw − y: ∇_w f = g Aᵀr, ∇_g f = wᵀAᵀr",
    ),
    _claim(
        "flow-limit-of-algorithms",
        HOLDS,
        "Lemma 2.1",
        "flow_field",
        "WN and rPGD have the same limiting flow",
        "ġ = −c wᵀAᵀr, ẇ = −g(I − wwᵀ)Aᵀr, with error O(η)",
    ),
    _claim(
        "stationary",
        HOLDS,
        "Lemma 2.2",
        "stationary_point",
        "a rest point has zero loss or lies in S = {g = 0, yᵀAw = 0}",
        "the same, for y ≠ 0; the loss on S is ½‖y‖²",
    ),
    _claim(
        "loss-rate",
        HOLDS,
        "Lemma 2.3",
        "loss_rate_bounds",
        "−max(g², c)‖Aᵀr‖² ≤ d(½‖r‖²)/dt ≤ −min(g², c)‖Aᵀr‖²",
        "the same, for either sign of g",
    ),
    _claim(
        "loss-geometric",
        FAILS,
        "Lemma 2.3",
        "loss_envelope",
        "if g > C the loss falls geometrically at rate min(C², c)",
        "‖r_t‖² ≤ exp(−2λmin·min(C², c)·t)‖r_0‖² while |g| ≥ C",
    ),
    _claim(
        "invariant",
        HOLDS,
        "Lemma 2.4",
        "perp_factor",
        "w_t⊥ = exp((g0² − g_t²)/2c) w0⊥",
        "the same, for c > 0",
    ),
    _claim(
        "invariant-norm",
        FAILS,
        "Lemma 2.4, second display",
        "invariant",
        "‖w⊥‖² exp(g²/2c) is constant",
        "‖w⊥‖² exp(g²/c) is constant",
    ),
    _claim(
        "flow-dichotomy",
        CONDITION,
        "Theorem 2.5 (a), (b)",
        "flow_outcome",
        "the loss tends to zero or the flow ends in S",
        "for c > 0; at c = 0 orthogonal A ends at loss ½(g* − g0)²",
    ),
    _claim(
        "flow-limit",
        FAILS,
        "Theorem 2.5, part I",
        "flow_limit limit_scale perp_of_limit distance_map",
        "x∞ = x* + g* exp((g0² − g*²)/2c) w0⊥",
        "x∞ = x* + g∞ exp((g0² − g∞²)/2c) w0⊥, G = g∞² the root of G(1 − F0 e^{−G/c}) = g*², F0 "
        "= ‖w0⊥‖² e^{g0²/c}",
    ),
    _claim(
        "gd-limit",
        FAILS,
        "after Theorem 2.5",
        "gd_limit",
        "gradient descent ends at x* + g* w0⊥",
        "it ends at x* + g0 w0⊥",
    ),
    _claim(
        "wn-beats-gd",
        FAILS,
        "after Theorem 2.5",
        "wn_beats_gd",
        "g0² ≤ g*² makes WN end closer than GD",
        "‖w⊥‖ shrinks iff |g0|‖w0∥‖ < g*; ‖x⊥‖ ends under GD's iff k(|g∞|) < k(|g0|), k(g) = g "
        "exp(−g²/2c)",
    ),
    _claim(
        "fixed-scale-orthogonal",
        CONDITION,
        "Theorem 2.5, part II",
        "fixed_scale_limit",
        "c = 0, AAᵀ = I: w → w*",
        "for 0 < g0 ≤ g*; g0 < 0 → −w*; g0 > g*: x → x* + √(g0² − g*²)·w0⊥/‖w0⊥‖",
    ),
    _claim(
        "fixed-scale-general",
        CONDITION,
        "Theorem 2.5, part II",
        "fixed_scale_limit",
        "c = 0: w tends to a point of the row space",
        "for 0 < |g0| ≤ g*; it is the unit w̃ = (ĉ⁻¹I + g0AᵀA)⁻¹Aᵀy with ĉ > 0",
    ),
    _claim(
        "restart",
        CONDITION,
        "Theorem 2.5, part II",
        "restart_limit",
        "restarted with c > 0 from there, (g, w) → (g*, w*)",
        "for 0 < g0 < g*; from g0 < 0 → (−g*, −w*), the same x*",
    ),
    _claim(
        "convergence-time",
        HOLDS,
        "Theorem 2.6",
        "convergence_time",
        "loss ≤ ε after T0 = log(f0/ε)/(λmin min(c log F0, c)), if F0 > 1",
        "after T0/2 already, also with (‖y‖ − ‖r0‖)₊²/λmax for c log F0",
    ),
    _claim(
        "example-2d",
        FAILS,
        "a concrete example",
        "example_2d",
        "A = [1, 0], y = 1, w0 = [0, 1], c = 1: x∞ = [1, exp((g0² − 1)/2)]",
        "[1, sign(g0)√(G − 1)], G(1 − e^{g0² − G}) = 1; loss ½ on S; GD ends at [1, g0], closer "
        "for |g0| < 0.763",
    ),
    _claim(
        "adaptive-lambda",
        FAILS,
        "Appendix A",
        "adaptive_lambda_rpgd adaptive_lambda_wn",
        "penalty λ_t‖x‖² with λ_t = (g‖v‖ − g')/(ηg²g') for rPGD",
        "half of that; WN's prefactor lacks 1/(2η)",
    ),
    _claim(
        "general-loss-invariant",
        FAILS,
        "Appendix D",
        "perp_factor",
        "w_t⊥ = exp((g0² − g²)/(2‖w0‖²)) w0⊥ for any loss of Px",
        "exponent (g0² − g²)/(2c‖w0‖²), P an orthogonal projection",
    ),
    _claim(
        "step-identities",
        HOLDS,
        "Lemma v_norm",
        "step_identities",
        "five identities of one rPGD step, AAᵀ = I, η = 1/g²",
        "the same, for any g ≠ 0",
    ),
    _claim(
        "scale-step-bound",
        CONDITION,
        "Lemma g_update",
        "scale_step",
        "g' ≤ g + (γg/2)(‖v‖² − 1)",
        "for g > 0 (reversed for g < 0); the difference is (γ/2g)‖r‖²",
    ),
    _claim(
        "scale-step-identity",
        FAILS,
        "Lemma g_update",
        "scale_gap",
        "b − g' = (1 − γ)(a − g) − (a − b)(1 − (γ/g)(a/(g + a))(a + b))",
        "… − (a − b)(1 − γ(a + b)/(g + a))",
    ),
    _claim(
        "scale-increases",
        FAILS,
        "Lemma g_increase",
        "scale_increases",
        "g_t increases for any g0 > 0",
        "for t ≥ 1, γ > 0 and g_t < g_{t−1}‖v_{t−1}‖: a frozen first step and g0‖Aw0‖ < g*",
    ),
    _claim(
        "gv-recursion",
        FAILS,
        "Lemma gv",
        "scale_norm_recursion",
        "last factor (1 − ‖Aw_t‖)²",
        "last factor 1 − ‖Aw_t‖²",
    ),
    _claim(
        "perp-bound",
        FAILS,
        "Lemma Aw",
        "perp_bound",
        "‖w_t⊥‖ ≤ 1 − ‖Aw_t‖² ≤ exp(−Σ_{i=1}^t …)(1 − ‖Aw_0‖²)",
        "‖w_t⊥‖² = 1 − ‖Aw_t‖², the sum runs over i = 0 … t − 1, and |g_i| ≤ g*",
    ),
    _claim(
        "perp-contraction",
        HOLDS,
        "eq. (shrink)",
        "perp_contraction",
        "‖w⊥_{t+1}‖² ≤ (g²/g*²)‖w⊥_t‖²",
        "equal to ‖w⊥‖²/(‖w⊥‖² + g*²/g²), which is under that",
    ),
    _claim(
        "loss-gap",
        FAILS,
        "proof of Theorem 3.2",
        "loss_gap",
        "‖r_{t+1}‖² = (g_{t+1} − g_t‖v_t‖)²",
        "times ‖Aw_{t+1}‖²",
    ),
    _claim(
        "two-phase-a-first",
        HOLDS,
        "Theorem 3.2 (a)",
        "two_phase_a",
        "T1 and γ⁽¹⁾ bring ‖w⊥‖ under ε with g² ≤ g*² − ρδ0",
        "the same with T1 rounded up and the first step frozen",
    ),
    _claim(
        "two-phase-a-second",
        FAILS,
        "Theorem 3.2 (a)",
        "two_phase_a two_phase_a_printed_second",
        "T2 = (1/γ) log(ρδ0/(g*²(1 − ε)√ε))",
        "T2 = ⌈(1/γ) log((1/√(1 − δ²) − g_{T1}/g*)/√ε)⌉, γ ≤ ½",
    ),
    _claim(
        "two-phase-b",
        FAILS,
        "Theorem 3.2 (b)",
        "two_phase_b",
        "after T1 + T2 steps (1 − 2ε²)g* ≤ g ≤ g*",
        "(1 − 2ε²)g* ≤ g ≤ g*/√(1 − ε²), both T rounded up, any 0 < γ ≤ 1",
    ),
    _claim(
        "two-phase-b-order",
        FAILS,
        "Theorem 3.2 (b), O(·)",
        "two_phase_b_order",
        "T1 = O((g0²/δ0) log(1/ε))",
        "T1 = O(max(1, g0²/δ0) log(1/ε))",
    ),
    _claim(
        "two-phase-b-bounds",
        FAILS,
        "Lemma fixg",
        "two_phase_b_bounds",
        "(1 − γ')g + γ'g* ≤ g_{t+1} ≤ g*",
        "the lower bound holds; above, g_{t+1} ≤ g*/√(1 − ε²)",
    ),
    _claim(
        "general-matrix",
        CONDITION,
        "Proposition 3.3",
        "general_matrix general_matrix_steps",
        "g0 ≤ g*λmin/(2 + δ) brings ‖w⊥‖ under ε in log(q0/ε)/log(1 + δ) steps",
        "with λmax = 1 and η = 1/g0², rounded up; in general |g0| ≤ g*λmin/((2 + δ)λmax), η = "
        "1/(g0²λmax)",
    ),
    _claim(
        "general-matrix-any",
        FAILS,
        "Lemma anyw",
        "general_matrix_any",
        "g0 ≤ g*σ_r/(2 + δ − σ_r) with singular values σ of A",
        "with eigenvalues σ of AAᵀ",
    ),
    _claim(
        "general-matrix-random",
        CONDITION,
        "Lemma randomw",
        "general_matrix_random",
        "for random w*: g0 ≤ (g*/(2 + δ − σ_m))√((‖AAᵀ‖_F² − 2√(m log m))/m)",
        "w* uniform on the row-space sphere; m = 1 or m ≥ 9",
    ),
    _claim(
        "discrete-wn",
        HOLDS,
        "beyond the paper",
        "wn_step",
        "–",
        "N = ‖w‖²: N' = N + η²g²‖PAᵀr‖²/N, w⊥' = w⊥(1 + ηgs/N)",
    ),
    _claim(
        "discrete-rpgd",
        HOLDS,
        "beyond the paper",
        "rpgd_step",
        "–",
        "‖v‖² = 1 − 2ηgs + η²g²‖Aᵀr‖², w⊥' = w⊥/‖v‖",
    ),
    _claim(
        "invariant-drift",
        HOLDS,
        "beyond the paper",
        "invariant_drift finite_step_limit",
        "–",
        "the invariant drifts by (η²/2)[(c ± g²)s² − g²‖PAᵀr‖²] a step; integrated, it predicts "
        "where a finite step ends",
    ),
    _claim(
        "glm-limit",
        HOLDS,
        "beyond the paper",
        "flow_limit",
        "–",
        "for every convex loss of Ax with a unique minimiser ξ in the row space, the flow ends at "
        "ξ + g∞ exp((g0² − g∞²)/2c) w0⊥",
    ),
    _claim(
        "max-margin",
        HOLDS,
        "beyond the paper",
        "max_margin",
        "–",
        "on separable classes the largest margin is the distance of the hull of the s_i a_i from "
        "the origin, and its nearest point is the direction",
    ),
    _claim(
        "sphere-ball",
        CONDITION,
        "section 3",
        "sphere_ball",
        "with ‖v_t‖ ≥ 1 the problems on the sphere and on the ball are equivalent",
        "for 0 < g0 ≤ g*; beyond, the ball has minimisers inside",
    ),
    _claim(
        "escape-stationary",
        HOLDS,
        "section 3",
        "escape",
        "orthogonal A, η = 1/g², g0 ≠ 0: Aw1 ≠ 0",
        "‖Aw1‖ = g*/√(g*² + g0²(1 − ‖Aw0‖²)), for y ≠ 0",
    ),
    _claim(
        "orthogonal-gstar",
        HOLDS,
        "section 2",
        "orthogonal_gstar",
        "orthogonal A: g* = ‖y‖",
        "the same",
    ),
    _claim(
        "two-phase-a-order",
        FAILS,
        "Theorem 3.2 (a), O(·)",
        "two_phase_a_order",
        "T1 = O((g*²/ρδ0) log(1/ε)); ρ ≈ ε makes T2 = O(1)",
        "T1 is of that order; with ρ ≈ ε the scale stays behind g* by a fixed share, so T2 "
        "grows like log(1/ε)",
    ),
    _claim(
        "two-phase-b-gain",
        FAILS,
        "after Theorem 3.2",
        "two_phase_b_gain",
        "(b) shortens (a)'s T1 by the factor (g*/g0)²",
        "by (1 + g*²/δ0) log(g*²/g0²), a logarithm as g0 → 0",
    ),
    _claim(
        "adaptive-lambda-sign",
        CONDITION,
        "Appendix A",
        "adaptive_lambda_sign",
        "orthogonal A: a small scale step gives λ_t > 0",
        "iff ‖A g w‖ < g* (g > 0); λ_t → 0 at the solution",
    ),
    _claim(
        "general-matrix-random-main",
        CONDITION,
        "eq. (g02)",
        "general_matrix_random",
        "the random bound with denominator 2 + δ",
        "a smaller scale than Lemma randomw's, so it holds where that does",
    ),
)
