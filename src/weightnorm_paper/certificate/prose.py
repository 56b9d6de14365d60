"""What the pages say before their entries: what holds, the symbols, how it was checked."""

from __future__ import annotations

PAPER = r"""
Wu, Dobriban, Ren, Wu, Li, Gunasekar, Ward and Liu, *Implicit Regularization and Convergence for
Weight Normalization*, NeurIPS 2020
"""

MESSAGE = r"""
**What holds.** The paper's message stands. Gradient descent keeps every bit of its start that the
data cannot see. In the coordinates x = g·w/‖w‖ training forgets it: the unseen part w⊥ of the
direction shrinks as the scale ∣g∣ grows, by the exact law of Lemma 2.5, so that from any scale
below g\*, not only near zero, and with a slow scale step one ends near the minimum-norm solution.
Both algorithms have one limiting flow (Lemma 2.2), its rest points and the decrease of its loss
are as the paper says (Lemmas 2.3 and 2.4), it converges for c > 0 (Theorem 2.6), w⊥ contracts
geometrically at a fixed scale (37), the two-phase scheme reaches any accuracy ε in O(log 1/ε)
steps (Theorem 3.2), and a small fixed scale does the same for general matrices (Proposition 3.3).
"""

HOW = r"""
**How it was checked.** Every statement has a function in its exact form, in `weightnorm.theory`
or `weightnorm_paper.lemmas`, and `weightnorm verify` compares it with simulations that share no
code with it: plain steps and an integration of the flow on arrays. Each entry says how many
comparisons were made, and how small a relative change of a predicted number half of them would
have noticed. `make mutate` falsifies every one of these functions in turn and sees that a check
turns red. The snippets are the counterexamples (and examples) themselves; paste the following
once, then any of them. Numbers of statements are those of the paper's LaTeX counters.
"""

# one paragraph after another
SYMBOLS = r"""
**The problem.** Minimise ½‖Ax − y‖² over x in R^d; A is m × d of full row rank, y ≠ 0. x\* is the
solution of smallest norm, g\* = ‖x\*‖ and w\* = x\*/g\*. Weights are written x = g·ŵ with a scale
g and a unit direction ŵ = w/‖w‖.

**The algorithms.** r = Agŵ − y is the residual and s = ⟨ŵ, Aᵀr⟩ the derivative of the loss by g.
_rPGD_ keeps ‖w‖ = 1: v = w − ηgAᵀr, then w′ = v/‖v‖ and g′ = g − γs. _WN_ is gradient descent on
(g, w): w′ = w − (ηg/‖w‖)PAᵀr and g′ = g − γs, with P = I − ŵŵᵀ. η is the step of the direction
and γ that of the scale; c = γ/η. _GD_ is gradient descent on x. The _flow_ (WN flow) is what WN
and rPGD become as η → 0: ġ = −cs, ẇ = −gPAᵀr.

**Symbols.** ⊥ and ∥ mark the parts orthogonal to and in the row space of A; the start is (g0, w0)
with ‖w0‖ = 1 and q0 = ‖w0⊥‖, unless said. λ: eigenvalues of AAᵀ, λ_min and λ_max the extreme
ones. _Orthogonal A_: AAᵀ = I. F0 = q0²e^{g0²/c}; G = g∞², the square of the final scale. S = {g =
0, yᵀAw = 0}: rest points that are not solutions. δ0 = g\*² − g0²; ε: an accuracy; δ: in Theorem
E.1 a second accuracy, in E.9 to E.11 a margin; (z)₊ = max(z, 0); ≍: equal up to constant factors;
w̃: the limit of [fixed-scale-general]; f0: the loss at the start; ′: the next step. In discrete
time with orthogonal A and η = 1/g²: p = ‖Aw‖, a = g_{t−1}‖v_{t−1}‖, b = g_t‖v_t‖; T1, T2, γ⁽¹⁾,
γ⁽²⁾: lengths and scale steps of the two phases, ρ in (0, 1] their parameter. **B** is the
instance A = [1, 0], y = 1: d = 2, g\* = 1, w\* = (1, 0).
"""
