"""What each figure shows, in our words."""

from __future__ import annotations

CAPTIONS = {
    "figure-1": """
        Norm at the end against the scale g0 of the start; all steps 0.005. Gradient descent keeps
        the part of its start that the data cannot see; WN and rPGD, which overlap, forget it up to
        g0 ≈ 2. Bands are one standard deviation over seeds; thin lines are the exact limits of the
        flows.
    """,
    "figure-2": """
        One equation, two unknowns; the loss is zero on the vertical line, and c is its point of
        smallest norm. From a, gradient descent goes to d and the WN flow to e; with the scale fixed
        first (to b) and thawed then, it reaches c; with a slow scale it goes almost there at once.
        From f, beyond ‖x*‖, it ends at g, far from c. As in the paper's picture e is nearer to c
        than d, but that depends on the start.
    """,
    "figure-3-top": """
        As Figure 1 with all steps 0.1. WN and rPGD part for g0 > 2, and both leave the limit of the
        flow.
    """,
    "figure-3-bottom": """
        As Figure 1 with step 1/(g²λmax) for w (times ‖w‖² for WN; the paper prints ‖w‖) and 0.005
        for g, from g0 = 0.1 on. Starts much nearer to zero can trap rPGD in a cycle in which g and
        w change sign at every step.
    """,
    "figure-4-top": """
        Norm at the end from g0 = 2.8, steps 0.01, against the condition number of A. The lines are
        flat, as the exact limit says they must be; what they lose at a large κ comes from stopping
        at loss 1e-5.
    """,
    "figure-4-bottom": """
        As above with two phases. Left: the steps as we read them, 1/(g²λmax) for the direction
        (times ‖w‖² for WN), and for the scale none up to t = 5,000 and 0.1 after it; so the paper's
        description of phase I has it. Right: the steps as the paper prints them, with η and γ
        exchanged: 1 for the scale, and for the direction none up to t = 5,000 and 0.1 after it.
    """,
    "figure-5-left": """
        Matrix sensing: the nuclear norm of X at the end over the certified minimum of the same
        seed, against the scale α of the start (g0 = α², D0 = α² I), with equal steps for W and g;
        each method at the first step that converges, halving from 0.5, as in the paper. Dotted
        lines are certified minima: over positive semidefinite matrices, the reference for GD, WN
        and rPGD, and over symmetric ones, for the -Diag methods (tried up to α = 5), whose scales
        may turn negative; the dashed line is the matrix that was measured. Bars are one standard
        deviation over seeds, triangles at the edge lie beyond it. The first step that converges
        sits at the edge of stability, and where WN ends there is close to arbitrary. Only one-scale
        rPGD, which does not converge before its step is near 1e-4, lies on its minimum.
    """,
    "figure-5-right": """
        As on the left with the scale frozen for 1,000 steps. From large starts the -Diag methods
        keep the trace of their start, 30α²: the columns alone fit the data and D stays where it is.
    """,
    "figure-5-refined": """
        Beyond the paper: the same with each step halved four times more (rPGD's is small enough
        already; it was tried at four starts), for equal steps and for two phases, and the recovery
        error ‖X − X*‖_F/‖X*‖_F. The accidents of the step search are gone: GD stays above the
        minimum from any start, WN comes near it, one-scale rPGD lies on it as long as α² is below
        it. Minimum nuclear norm is not recovery: 60 measurements do not determine a 30 × 30 matrix
        of rank 4, and no method comes near X*, whose nuclear norm is the upper line.
    """,
    "phase-diagram": """
        Beyond the paper: distance to the minimum-norm solution over g0 and c, for ‖x*‖ = 3 and
        ‖w0⊥‖² = 0.6. The solid line parts where WN ends closer from where gradient descent does;
        right of the dashed line, and above its upper branch, the limit printed in the paper is off
        by more than 1 %.
    """,
    "beyond-stability": """
        Weights x = g·w/‖w‖ are trained by rPGD, projected gradient descent: the direction w, kept
        at length 1, with the step η, and the scale g with the step γ, on 20 equations with 50
        unknowns. Near a solution a step turns the residual (prediction minus target) r into r −
        Kr, with a matrix K that is known from the data, the steps and ‖x‖. Colours and thin lines:
        the factor by which a step multiplies the residual in the long run, max|1 − k| over the
        eigenvalues k of K, at the solution where training with infinitely small steps ends. Thick
        line: the largest eigenvalue is 2, and beyond it the solution is unstable. Markers are runs
        that begin a millionth away from that solution, with steps 5 % under and 5 % over the line:
        filled where the residual fell within 100 steps, hollow where it grew. Inside the dotted
        rectangle, η‖x‖²λmax < 2 and γλmax < 2, all is stable: the simple rule, with λmax the
        largest eigenvalue of AAᵀ and A the matrix of the equations.
    """,
    "beyond-norms": """
        Weights x = g·w/‖w‖, trained by rPGD (w kept at length 1) and by weight normalization (WN, w
        of any length), on 20 equations with 50 unknowns; the norm of the weights at the end.
        Infinitely small steps would end at the dashed line. Left: with momentum β, the share of
        the last step that is added to the next, of the plain kind (heavy ball) and of Nesterov's.
        Right: with mini-batches, so many equations drawn at random for every step; bars are one
        standard deviation over seeds. Markers are runs, lines the prediction made before them: to
        first order in the step, momentum and batches move the end by an amount that can be
        computed along the path of infinitely small steps.
    """,
    "beyond-methods": """
        Four ways to train the same weights from the same direction w0, against the scale g0 of the
        start, ‖x0‖: gradient descent on the weights x themselves; weight normalization, x = g·w/‖w‖
        with the scale g and the direction w trained; rPGD, which keeps w at length 1; and batch
        normalization of a linear model, x = g·w/‖Aw‖, where A is the data. Markers are the norms
        at the end of runs, lines the exact limits for small steps; the dotted line is the smallest
        norm of all solutions. Batch norm never moves the part of w that the data cannot see, so it
        ends at the same place from every scale, whatever that is.
    """,
    "beyond-cycle": """
        rPGD trains x = g·w with w of length 1; its step for w is 1/g² and γ that for the scale g,
        on data with orthonormal rows, A Aᵀ = I. It can end in a cycle of two states, in which g
        changes its sign at every step and the loss stays above that of zero weights. The map is
        over the start: its scale g0, and the cosine between its direction w0 and that of the
        solution (negative: it points away from it); the part of w0 that the data sees has length
        0.8. Shaded: the rule, computed from the start alone, says that the run is trapped. Markers
        are runs of 1,000 steps: crosses ended in the cycle, dots at zero loss. A smaller step γ
        shrinks the region; freezing the first step of g empties it.
    """,
    "beyond-decay": """
        Weight normalization, x = g·w/‖w‖, with decay λ of the direction w: every step multiplies w
        by 1 − ηλ besides, with η the step of w and γ that of g. That changes no prediction, but
        the shorter w is, the larger its steps are in effect. Top: ‖w‖² falls, and with it the
        largest eigenvalue λmax(K) rises to 2 and stays about there; K is the matrix with which a
        step takes Kr off a small residual r, and beyond 2 a solution is unstable. The vertical
        line is when that was predicted to happen. Middle: from then on the loss comes in bursts.
        Bottom: q = ‖w⊥‖/‖w‖, the share of the direction that the data cannot see, and so all that
        is left of the start. It stands still before the edge and falls after it: by a factor e^−ηλ
        a step where q is small, and more slowly (dashed: predicted) where it is large, from a
        start of larger scale g0; there e^−ηλ a step would be the dotted line.
    """,
}
