"""The flow: its equations, rest points, invariant and rates."""

from __future__ import annotations

from .claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="flow-steps",
        kind="misprint",
        conclusion="yes",
        group="flow",
        paper="Condition 2.1",
        functions=("flow_step_sizes",),
        verdict="The two steps are named in the wrong order; Algorithms 1 and 2 have them right.",
        printed="The constant steps are η for the scale g and cη for the direction w.",
        exact=(
            "The step of the direction w is η and the step of the scale g is γ = cη, with c ≥ 0 "
            "fixed, as in Algorithms 1 and 2. Then η → 0 gives the flow of Lemma 2.2, and c = 0 "
            "fixes g, as the sentence after the condition says."
        ),
        proof=(
            "One step gives (g′ − g)/γ = −s, and (ŵ′ − ŵ)/η → −gPAᵀr as η → 0 "
            "[flow-limit-of-algorithms]. Time is counted in units of η, so (g′ − g)/η = −(γ/η)s. "
            "This is the flow's ġ = −cs if and only if γ = cη wherever s ≠ 0. With the steps in "
            "the printed order the limit is ġ = −s, ẇ = −cgPAᵀr instead, and c = 0 would fix w."
        ),
        instance="B, w0 = (0.6, 0.8), g0 = ½, c = 4, η = 10⁻⁴: the scale g at time 1",
        snippet="""
eta, c, w0 = 1e-4, 4.0, np.array([0.6, 0.8])
g, w = 0.5, w0
for _ in range(10000):
    g, w = rpgd(*B, g, w, c * eta, eta)  # the printed order: eta for g, c eta for w
found, printed = flow(*B, 0.5, w0, c, time=1.0)[0], g
""",
        relation="≠",
    ),
    Claim(
        id="flow-gradients",
        kind="misprint",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.2",
        functions=("gradients",),
        verdict=(
            "The flow is right; the residual has the wrong sign and ∇_w f lacks the factor g, both "
            "of which Appendix B has right."
        ),
        printed="With r = y − Agw the gradients are ∇_w f = Aᵀr and ∇_g f = wᵀAᵀr.",
        exact=(
            "With r = Agw − y the gradients of f = ½‖Agw − y‖² are ∇_w f = gAᵀr and ∇_g f = wᵀAᵀr. "
            "The factor g in the flow ẇ = −gPAᵀr is the one of ∇_w f, so it stands once, not twice."
        ),
        proof=(
            "f = ½‖r‖² with r = Agw − y. A change dw of w changes r by gA·dw, so df = ⟨r, gA·dw⟩ = "
            "⟨gAᵀr, dw⟩. A change dg of g changes r by Aw·dg, so df = ⟨r, Aw⟩·dg = wᵀAᵀr·dg."
        ),
        instance="B, g = 2, w = (0.6, 0.8): the derivatives of f by g and by the first entry of w",
        snippet="""
f = lambda g, u: loss(*B, g * np.array([u, 0.8]))
h, g, u = 1e-4, 2.0, 0.6
found = np.array([f(g + h, u) - f(g - h, u), f(g, u + h) - f(g, u - h)]) / (2 * h)
r = g * u - 1
printed, exact = np.array([u * -r, -r]), np.array([u * r, g * r])
""",
        relation="≠",
    ),
    Claim(
        id="flow-limit-of-algorithms",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.2",
        functions=("flow_field",),
        verdict=(
            "True: both algorithms follow one flow, with an error of order η on bounded times."
        ),
        printed=(
            "From a unit w0, WN's (g, w/‖w‖) and rPGD's (g, w) have the same limiting flow as η → "
            "0."
        ),
        exact=(
            "From a unit w0 and with γ = cη, after t/η steps WN's (g, w/‖w‖) and rPGD's (g, w) "
            "both are within O(η) of the solution at time t of ġ = −cs, ẇ = −gPAᵀr, uniformly on "
            "bounded times."
        ),
        proof=(
            "In both g′ = g − ηcs. rPGD: ‖v‖ = 1 − ηgs + O(η²), so w′ = (w − ηgAᵀr)(1 + ηgs) + "
            "O(η²) = w − ηgPAᵀr + O(η²). WN: w′ = w − (ηg/‖w‖)PAᵀr has ‖w′‖² = ‖w‖² + "
            "η²g²‖PAᵀr‖²/‖w‖², so ‖w‖² = 1 + O(η) over O(1/η) steps and ŵ′ = ŵ − ηgPAᵀr + O(η²). "
            "So both have a local error O(η²) against the flow, whose field is smooth. On bounded "
            "times its orbit is bounded: ‖r‖ never grows [loss-rate], so ∣ġ∣ ≤ c‖A‖‖r0‖. Near a "
            "bounded orbit the field is Lipschitz, and Grönwall's lemma sums t/η local errors to "
            "O(η); for small η the iterates so stay near the orbit."
        ),
        instance=(
            "B, w0 = (0.6, 0.8), g0 = ½, c = 2, η = 10⁻³: the larger distance of WN's and rPGD's x "
            "to the flow's at time 1, against η"
        ),
        snippet="""
points = [(0.5, np.array([0.6, 0.8]))] * 2
for _ in range(1000):
    points = [step(*B, *point, 1e-3, 2e-3) for step, point in zip((wn, rpgd), points)]
g, w = flow(*B, 0.5, np.array([0.6, 0.8]), 2.0, time=1.0)
found, printed = max(norm(a * b / norm(b) - g * w) for a, b in points), 1e-3
""",
        relation="≤",
    ),
    Claim(
        id="stationary",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.3",
        functions=("stationary_point",),
        verdict="True for y ≠ 0, which Section 1.1 assumes.",
        printed=(
            "A stationary point has zero loss or lies in S = {g = 0, yᵀAw = 0}; a loss below ½‖y‖² "
            "excludes S."
        ),
        exact=(
            "A of full row rank, y ≠ 0: a point where both gradients vanish has zero loss or lies "
            "in S. The loss on S is ½‖y‖² > 0, so a stationary point with a smaller loss has zero "
            "loss. Every point of S is stationary."
        ),
        proof=(
            "The gradients vanish when s = ⟨ŵ, Aᵀr⟩ = 0 and gPAᵀr = 0. If g ≠ 0, then Aᵀr = sŵ + "
            "PAᵀr = 0, and r = 0 because Aᵀ is injective. If g = 0, then r = −y, and s = 0 says "
            "yᵀAŵ = 0: the point is in S, and its loss is ½‖y‖². Conversely on S both gradients "
            "are zero."
        ),
        instance=(
            "B; the loss where the flow comes to rest from g0 = ½, w0 = (0.6, 0.8), c = 1 (loss "
            "0.245 < ½ at the start) and from g0 = ½, w0 = (−0.6, 0.8), c = ¼/log(25/16), time 15"
        ),
        snippet="""
g, w = flow(*B, 0.5, np.array([0.6, 0.8]), 1.0)
h, v = flow(*B, 0.5, np.array([-0.6, 0.8]), 0.25 / np.log(25 / 16), time=15.0)
found = np.array([loss(*B, g * w), loss(*B, h * v)])
printed = np.array([0.0, 0.5])  # zero loss, and the loss on S
""",
        relation="=",
    ),
    Claim(
        id="stationary-limit-point",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.6, (b); Appendix C.4.1",
        functions=("flow_outcome", "stationary_point"),
        verdict="True, though the appendix proves, as it says, convergence to the set only.",
        printed="In case (b) the flow converges to a single stationary point of S.",
        exact=(
            "For c = 0 case (b) is a start in S, where nothing moves. For c > 0 the flow (g, w) "
            "converges to a single point from every start: to a zero of the loss or to a point of "
            "S. (Appendix C.4.1 shows the set; its step to “the only remaining case”, g_t → 0, "
            "leaves out that g might oscillate.)"
        ),
        proof=(
            "On ℝ × sphere with the metric dg²/c + dw² the flow is the gradient flow of ½‖Agw − "
            "y‖²: the gradient's parts are c·∂_g = cs and P∇_w = gPAᵀr. Function and metric are "
            "real analytic. The orbit is bounded, as in [flow-dichotomy]: ∣g∣ → ∞ along a sequence "
            "would force ‖w⊥‖² = F0e^{−g²/c} → 0 and so ‖Agw‖ → ∞, against ‖Agw‖ ≤ ‖y‖ + ‖r0‖. By "
            "Łojasiewicz's theorem a bounded orbit of an analytic gradient flow has finite length "
            "and so one limit, which is a rest point. By [stationary] it has zero loss or lies in "
            "S."
        ),
        instance=(
            "B, w0 = (−0.6, 0.8), g0 = ½, c = ¼/log(25/16), time 14: the distance of (g, w) to the "
            "point (0, (0, 1)) of S, where S = {(0, (0, 1)), (0, (0, −1))}"
        ),
        snippet="""
g, w = flow(*B, 0.5, np.array([-0.6, 0.8]), 0.25 / np.log(25 / 16), time=14.0)
found, printed = norm(np.append(g, w - e2)), 1e-4
""",
        relation="≤",
    ),
    Claim(
        id="loss-rate",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.4, (5)",
        functions=("loss_rate_bounds", "loss_rate"),
        verdict="True, and for either sign of g.",
        printed="−max(g², c)‖Aᵀr‖² ≤ d(½‖r‖²)/dt ≤ −min(g², c)‖Aᵀr‖² along the flow.",
        exact=(
            "For every g, unit w and c ≥ 0, d(½‖r‖²)/dt = −cs² − g²‖PAᵀr‖², which lies between "
            "−max(g², c)‖Aᵀr‖² and −min(g², c)‖Aᵀr‖². So the loss never grows."
        ),
        proof=(
            "ṙ = A(ġw + gẇ) = −A(csw + g²PAᵀr), so d(½‖r‖²)/dt = ⟨Aᵀr, ġw + gẇ⟩ = −cs² − "
            "g²‖PAᵀr‖², since ⟨Aᵀr, w⟩ = s and P is an orthogonal projection. By Pythagoras s² + "
            "‖PAᵀr‖² = ‖Aᵀr‖². So the derivative is −‖Aᵀr‖² times a weighted mean of c and g², "
            "which lies between the smaller and the larger of the two."
        ),
        instance=(
            "A = rows (1, 0, 0) and (0, ½, 0), y = (1, 1), g = −0.7, w = (0.6, 0, 0.8), c = 2: the "
            "loss's derivative by a central difference of the flow, against the upper bound"
        ),
        snippet="""
A, y, g, w = np.diag([1, 0.5, 0])[:2], np.ones(2), -0.7, np.array([0.6, 0, 0.8])
after, before = (np.multiply(*flow(A, y, g, w, 2.0, time=t)) for t in (1e-4, -1e-4))
found, pull = (loss(A, y, after) - loss(A, y, before)) / 2e-4, A.T @ (A @ (g * w) - y)
printed, s = -min(g**2, 2.0) * (pull @ pull), w @ pull
exact = -2.0 * s**2 - g**2 * (pull @ pull - s**2)
""",
        relation="≤",
    ),
    Claim(
        id="loss-geometric",
        kind="misprint",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.4, last sentence; Appendix C.2",
        functions=("loss_envelope",),
        verdict=(
            "The fall is geometric as said, but the rate lacks the factor λ_min, which Appendix "
            "C.2 has."
        ),
        printed=(
            "If g_t > C > 0 for all t, the loss falls geometrically at rate min(C², c). Appendix "
            "C.2: at rate k = λ_min·min(C², c)."
        ),
        exact=(
            "If ∣g∣ ≥ C > 0 until time t, then ‖r_t‖² ≤ e^{−2kt}‖r_0‖² with k = λ_min·min(C², c), "
            "where λ_min is the smallest eigenvalue of AAᵀ. So Appendix C.2's e^{−kt} is true, and "
            "loose by a factor 2 in the rate."
        ),
        proof=(
            "By [loss-rate] d(‖r‖²)/dt ≤ −2·min(g², c)‖Aᵀr‖². Now min(g², c) ≥ min(C², c), and "
            "‖Aᵀr‖² = rᵀAAᵀr ≥ λ_min‖r‖². So d(‖r‖²)/dt ≤ −2k‖r‖², and Grönwall's lemma gives the "
            "bound. In the instance w stays at w*, ġ = −cλ_min(g − 1), so the loss is exactly "
            "e^{−2cλ_min·t} times that of the start: the bound with C² = c is attained."
        ),
        instance=(
            "A = [0.1, 0], y = 0.1, w0 = w* = (1, 0), g0 = C = ½, c = ¼: the rate log(loss at 0 / "
            "loss at t)/t at t = 100"
        ),
        snippet="""
A, y = np.array([[0.1, 0.0]]), np.array([0.1])
g, w = flow(A, y, 0.5, e1, 0.25, time=100.0)
found = np.log(loss(A, y, 0.5 * e1) / loss(A, y, g * w)) / 100
printed, exact = min(0.5**2, 0.25), 2 * 0.01 * min(0.5**2, 0.25)
""",
        relation="≠",
    ),
    Claim(
        id="invariant",
        kind="holds",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.5, (6) left",
        functions=("perp_factor",),
        verdict="True: for c > 0 the orthogonal part of w depends on the scale g alone.",
        printed="For c > 0, w_t⊥ = exp((g0² − g_t²)/2c)·w0⊥ along the flow.",
        exact=(
            "For c > 0, any g0 and unit w0, w_t⊥ = exp((g0² − g_t²)/2c)·w0⊥ at every time: the "
            "direction of w⊥ never changes and its length is a function of g² alone."
        ),
        proof=(
            "The part of ẇ = −g(Aᵀr − sw) orthogonal to the row space is ẇ⊥ = gs·w⊥, because "
            "(Aᵀr)⊥ = 0. By ġ = −cs, gs = −gġ/c = −(1/2c)·d(g²)/dt. So d(e^{g²/2c}w⊥)/dt = "
            "e^{g²/2c}(gġ/c + gs)w⊥ = 0, and e^{g²/2c}w⊥ is constant."
        ),
        instance=(
            "A = rows (1, 1, 0, 0) and (0, 1, 2, 0), y = (1, −1), w0 = (1, 2, −2, 4)/5, g0 = 0.4, "
            "c = 0.3, time 2: the vector w⊥"
        ),
        snippet="""
A, y = np.array([[1.0, 1, 0, 0], [0, 1, 2, 0]]), np.array([1.0, -1])
w0, perp = np.array([1.0, 2, -2, 4]) / 5, np.eye(4) - np.linalg.pinv(A) @ A
g, w = flow(A, y, 0.4, w0, 0.3, time=2.0)
found, printed = perp @ w, np.exp((0.4**2 - g**2) / (2 * 0.3)) * (perp @ w0)
""",
        relation="=",
    ),
    Claim(
        id="invariant-norm",
        kind="misprint",
        conclusion="yes",
        group="flow",
        paper="Lemma 2.5, (6) right, and the text after it",
        functions=("invariant",),
        verdict=(
            "A factor 2 is lost when the left of (6) is squared; the invariant itself is right."
        ),
        printed="‖w⊥‖²·e^{g²/2c} is constant along the flow.",
        exact="For c > 0, ‖w⊥‖²·e^{g²/c} is constant along the flow; it equals F0 = q0²e^{g0²/c}.",
        proof=(
            "Take the squared norm of w_t⊥ = exp((g0² − g_t²)/2c)·w0⊥ [invariant]: ‖w_t⊥‖² = "
            "exp((g0² − g_t²)/c)·q0². The printed quantity is therefore F0·e^{−g²/2c}, which "
            "changes with g² unless w0⊥ = 0."
        ),
        instance="B, w0 = (0.6, 0.8), g0 = ½, c = 1, end of the flow: the ratio ‖w⊥‖²/q0²",
        snippet="""
g, w = flow(*B, 0.5, np.array([0.6, 0.8]), 1.0)
found = w[1] ** 2 / 0.8**2
printed, exact = np.exp((0.5**2 - g**2) / 2), np.exp(0.5**2 - g**2)
""",
        relation="≠",
    ),
    Claim(
        id="flow-dichotomy",
        kind="condition-needed",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.6, (a) and (b)",
        functions=("flow_outcome",),
        verdict=(
            "True for c > 0; the theorem also allows c = 0, where the loss can end between the two."
        ),
        printed="For c ≥ 0 either the loss tends to zero or (g, w) tends to S.",
        exact=(
            "For c > 0 (A of full row rank, y ≠ 0, any start) either the loss tends to zero or (g, "
            "w) tends to S. For c = 0, orthogonal A, w0⊥ ≠ 0 and g0 ≠ 0 the loss tends to ½((g* − "
            "∣g0∣)₊)², which is neither zero nor the ½‖y‖² of S for ∣g0∣ < g*."
        ),
        proof=(
            "c > 0. The loss never grows, so ∣g∣‖Aw‖ ≤ ‖y‖ + ‖r0‖; with ‖Aw‖² ≥ λ_min(1 − ‖w⊥‖²) "
            "and [invariant-norm], λ_min·g²(1 − F0e^{−g²/c}) is bounded, so g is bounded. The "
            "orbit then has limit points. The loss is a Lyapunov function whose derivative −cs² − "
            "g²‖PAᵀr‖² [loss-rate] vanishes only at rest points, so by LaSalle's principle all "
            "limit points are rest points, all with the loss's limit. If that is not zero, they "
            "all lie in S [stationary], and a bounded orbit tends to the set of its limit points. "
            "c = 0: insert the limits of [fixed-scale-orthogonal] into the loss."
        ),
        instance=(
            "B, w0 = (0, 1), g0 = ½, c = 0: the final loss (g stays at ½, so S is not reached)"
        ),
        snippet="""
g, w = flow(*B, 0.5, e2, 0.0)
found, printed = loss(*B, g * w), 0.0
exact = 0.5 * (1 - 0.5) ** 2
""",
        relation="≠",
    ),
    Claim(
        id="convergence-time",
        kind="loose",
        conclusion="yes",
        group="flow",
        paper="Theorem 2.7",
        functions=("convergence_time",),
        verdict="True, and half the printed time is enough.",
        printed=(
            "If F0 > 1, the loss is at most ε from T0 = log(f0/ε)/(λ_min·min(c log F0, c)) on (c "
            "log F0 is the paper's 2c log q0 + g0²)."
        ),
        exact=(
            "For c > 0 and C² = max(c log F0, (‖y‖ − ‖r0‖)₊²/λ_max) > 0 the loss is at most ε ≤ f0 "
            "from T = log(f0/ε)/(2λ_min·min(C², c)) on. For F0 > 1 this is at most T0/2. The "
            "second term of C² also covers starts with w0⊥ = 0 (then leave out the first)."
        ),
        proof=(
            "F0e^{−g²/c} = ‖w⊥‖² ≤ 1 [invariant-norm], so g² ≥ c log F0 at all times. Since the "
            "loss never grows [loss-rate], ‖Agw‖ ≥ ‖y‖ − ‖r‖ ≥ ‖y‖ − ‖r0‖, and ‖Agw‖ ≤ √λ_max·∣g∣. "
            "So ∣g∣ ≥ C for ever, and [loss-geometric] gives loss ≤ f0·e^{−2kt} with k = "
            "λ_min·min(C², c). This is ≤ ε for t ≥ log(f0/ε)/(2k) = T. For F0 > 1, C² ≥ c log F0, "
            "so T ≤ T0/2."
        ),
        instance=(
            "A = [1, 0], y = 3, w0 = (√0.99, 0.1), g0 = 2, c = ½, so that log F0 = 3.39; ε = 10⁻⁴: "
            "the loss at T0/2, against ε"
        ),
        snippet="""
A, y, w0 = B[0], np.array([3.0]), np.array([0.99**0.5, 0.1])
T0 = np.log(loss(A, y, 2 * w0) / 1e-4) / min(0.5 * (2 * np.log(0.1) + 2**2 / 0.5), 0.5)
g, w = flow(A, y, 2.0, w0, 0.5, time=T0 / 2)
found, printed = loss(A, y, g * w), 1e-4
""",
        relation="≤",
    ),
)
