"""The certificate as pages: every claim with proof and counterexample, and an erratum."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ..theory.index import CLAIMS, GROUPS, KINDS, PREAMBLE, Claim
from .certify import Certificate, Line
from .snippets import code

PAPER = (
    "Wu, Dobriban, Ren, Wu, Li, Gunasekar, Ward and Liu, *Implicit Regularization and Convergence "
    "for Weight Normalization*, NeurIPS 2020"
)
COUNTED = ("flow", "discrete")  # the groups that are statements of the paper

MESSAGE = (
    "**What holds.** The paper's message stands. Gradient descent keeps every bit of its start "
    "that the data cannot see. In the coordinates x = g·w/‖w‖ training forgets it: the unseen part "
    "w⊥ of the direction shrinks as the scale ∣g∣ grows, by the exact law of Lemma 2.5, so that "
    "from a start with a small scale and a slow scale step one ends near the minimum-norm "
    "solution, also far from zero. Both algorithms have one limiting flow (Lemma 2.2), its rest "
    "points and the decrease of its loss are as the paper says (Lemmas 2.3 and 2.4), it converges "
    "for c > 0 (Theorem 2.6), w⊥ contracts geometrically at a fixed scale (37), the two-phase "
    "scheme reaches any accuracy ε in O(log 1/ε) steps (Theorem 3.2), and a small fixed scale "
    "does the same for general matrices (Proposition 3.3)."
)

SYMBOLS = (
    "**The problem.** Minimise ½‖Ax − y‖² over x in R^d; A is m × d of full row rank, y ≠ 0. x* is "
    "the solution of smallest norm, g* = ‖x*‖ and w* = x*/g*. Weights are written x = g·ŵ with a "
    "scale g and a unit direction ŵ = w/‖w‖.",
    "**The algorithms.** r = Agŵ − y is the residual and s = ⟨ŵ, Aᵀr⟩ the derivative of the loss "
    "by g. *rPGD* keeps ‖w‖ = 1: v = w − ηgAᵀr, then w′ = v/‖v‖ and g′ = g − γs. *WN* is gradient "
    "descent on (g, w): w′ = w − (ηg/‖w‖)PAᵀr and g′ = g − γs, with P = I − ŵŵᵀ. η is the step of "
    "the direction and γ that of the scale; c = γ/η. *GD* is gradient descent on x. The *flow* "
    "(WN flow) is what WN and rPGD become as η → 0: ġ = −cs, ẇ = −gPAᵀr.",
    "**Symbols.** ⊥ and ∥ mark the parts orthogonal to and in the row space of A; the start is "
    "(g0, w0) with ‖w0‖ = 1 and q0 = ‖w0⊥‖, unless said. λ: eigenvalues of AAᵀ. *Orthogonal A*: "
    "AAᵀ = I. F0 = q0²e^{g0²/c}; G = g∞², the square of the final scale. S = {g = 0, yᵀAw = 0}: "
    "rest points that are no solutions. δ0 = g*² − g0²; ε: an accuracy; f0: the loss at the start; "
    "′: the next step. In discrete time with orthogonal A and η = 1/g²: p = ‖Aw‖, a = "
    "g_{t−1}‖v_{t−1}‖, b = g_t‖v_t‖; T1, T2, γ⁽¹⁾, γ⁽²⁾: lengths and scale steps of the two "
    "phases, ρ in (0, 1] their parameter. **B** is the instance A = [1, 0], y = 1: d = 2, "
    "g* = 1, w* = (1, 0).",
)

HOW = (
    "**How it was checked.** Every statement has a function of `weightnorm.theory` in its exact form, "
    "and `weightnorm verify` compares it with simulations that share no code with it: plain steps "
    "and an integration of the flow on arrays. Each entry says how many comparisons were made and "
    "how small a relative change of the prediction they would have noticed. `make mutate` "
    "falsifies every one of these functions in turn and sees that a check turns red. The snippets "
    "are the counterexamples (and examples) themselves; paste the following once, then any of "
    "them. Numbers of statements are those of the paper's LaTeX counters."
)


def _wrap(text: str, indent: str = "") -> str:
    return "\n".join(
        textwrap.wrap(
            text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )


def counts(claims: Iterable[Claim] = CLAIMS, groups: Sequence[str] = COUNTED) -> dict[str, int]:
    """How many claims of these groups there are of each class.

    Parameters
    ----------
    claims : iterable of Claim
        The claims; all by default.
    groups : sequence of str
        The groups that count; by default the statements of the paper.

    Returns
    -------
    dict of str to int
        By class, in the order of the page.

    Examples
    --------
    >>> from weightnorm.certificate import counts
    >>> counts()["false"], sum(counts().values())
    (8, 54)
    """
    chosen = [claim for claim in claims if claim.group in groups]
    return {kind: sum(claim.kind == kind for claim in chosen) for kind in KINDS}


def summary() -> str:
    """The counts in a sentence: for the README, the guide and the command.

    Returns
    -------
    str
        Computed from the index.

    Examples
    --------
    >>> from weightnorm.certificate import summary
    >>> summary().split(":")[0]
    '54 statements of the paper'
    """
    n = counts()
    return (
        f"{sum(n.values())} statements of the paper: {n['holds']} hold as printed, {n['loose']} "
        f"are true but loose, {n['condition-stated'] + n['condition-needed']} hold under a "
        f"condition ({n['condition-stated']} of them stated elsewhere in the paper), "
        f"{n['misprint']} are misprints and {n['false']} are false"
    )


def _count_table() -> str:
    columns = {"statements": COUNTED, "steps inside proofs": ("proof",), "set-ups": ("set-up",)}
    head = "| class | meaning | " + " | ".join(columns) + " |"
    rows = [head, "|---" * (2 + len(columns)) + "|"]
    for kind, meaning in KINDS.items():
        numbers = [counts(groups=groups)[kind] for groups in columns.values()]
        if any(numbers):
            rows.append(
                f"| {kind} | {meaning} | " + " | ".join(str(n or "–") for n in numbers) + " |"
            )
    totals = [sum(counts(groups=groups).values()) for groups in columns.values()]
    rows.append("| all | | " + " | ".join(map(str, totals)) + " |")
    beyond = sum(counts(groups=("beyond",)).values())
    return "\n".join(rows) + f"\n\nBeyond the paper, counted apart: {beyond}.\n"


def to_markdown(certificate: Certificate) -> str:
    """The page of every claim, from a certificate of all of them."""
    wrong = [line.claim for line in certificate.lines if line.claim.kind == "false"]
    wrong = [claim for claim in wrong if claim.group in COUNTED]
    lost = sum(claim.conclusion == "no" for claim in wrong)
    balance = (
        f"**What does not.** {summary()[0].upper() + summary()[1:]}. Of the {len(wrong)} that are "
        f"false, {len(wrong) - lost} keep their conclusion at least in part once corrected. The "
        "corrected statements are here, with proofs."
    )
    parts = ["# Every claim of the paper, checked\n", _wrap(f"The paper is {PAPER}.") + "\n"]
    parts += [_wrap(text) + "\n" for text in (MESSAGE, balance, *SYMBOLS)]
    parts += [_count_table(), _wrap(HOW) + "\n", f"```python\n{PREAMBLE}```\n"]
    parts += [
        _wrap("This page is written by `weightnorm verify --markdown docs/claims.md`.") + "\n"
    ]
    rows = ["| claim | in the paper | class | does the conclusion survive? |", "|---|---|---|---|"]
    rows += [
        f"| [{line.claim.id}](#{line.claim.id}) | {line.claim.paper} | {line.claim.kind} "
        f"| {line.claim.conclusion} |"
        for line in certificate.lines
    ]
    parts.append("\n".join(rows) + "\n")
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(line) for line in certificate.lines if line.claim.group == group]
    return "\n".join(parts)


def _entry(line: Line) -> str:
    claim = line.claim
    names = (name if "." in name else f"theory.{name}" for name in claim.functions)
    functions = ", ".join(f"`wn.{name}`" for name in names)
    text = [f"### {claim.id}\n"]
    text.append(
        _wrap(f"*{claim.paper}* · **{claim.kind}** · conclusion survives: {claim.conclusion}")
        + "\n"
    )
    text.append(_wrap(claim.verdict) + "\n")
    if claim.kind != "beyond":
        text.append(_wrap(f"- The paper: {claim.printed}", "  "))
    text.append(_wrap(f"- Exactly: {claim.exact}", "  "))
    text.append(_wrap(f"- Proof: {claim.proof}", "  "))
    text.append(_wrap(f"- As functions: {functions}.", "  "))
    text.append(_wrap(f"- Checked: {_evidence(line)}.", "  "))
    against = claim.kind in ("false", "misprint") or claim.kind.startswith("condition")
    word = "Counterexample" if against else "Example"
    if claim.kind.startswith("condition"):
        word = "Without the condition"
    text.append(_wrap(f"- {word}: {claim.instance}.", "  ") + "\n")
    text.append(f"```python\n{code(claim)}\n```\n")
    exact = "" if line.shown.exact is None else "; the exact statement gives the number found"
    text.append(_wrap(f"→ {line.shown.text}{exact}") + "\n")
    return "\n".join(text)


def _evidence(line: Line) -> str:
    text = f"{line.comparisons} comparisons, tight to {tight(line.tightness)}"
    if line.printed:
        kind = line.claim.kind
        if kind.startswith("condition"):
            where = "without the condition the printed form fails on"
        else:
            where = "the printed form fails on"
        text += f"; {where} {line.refuted} of {line.printed} random instances"
    for reason, number in line.skipped.items():
        text += f"; {number} instances had nothing to compare ({reason})"
    return text


def tight(value: float) -> str:
    """A tightness in one digit; exact where whole numbers had to agree."""
    return "the last unit" if value == 0.0 else f"{value:.0e}"


ORDER = ("false", "condition-needed", "misprint", "condition-stated", "loose")


def to_erratum(certificate: Certificate) -> str:
    """The erratum: what to read instead, place by place, ready for a PDF."""
    by_kind = {kind: [] for kind in ORDER}  # type: dict[str, list[Line]]
    for line in certificate.lines:
        if line.claim.kind in by_kind:
            by_kind[line.claim.kind].append(line)
    head = [
        "---",
        'title: "Notes on *Implicit Regularization and Convergence for Weight Normalization*"',
        "subtitle: What holds, what to read instead, and why",
        "papersize: a4",
        "---\n",
        _wrap(f"These notes accompany {PAPER}. Every item has a proof and numbers to check.")
        + "\n",
    ]
    parts = [*head, *(_wrap(text) + "\n" for text in (MESSAGE, *SYMBOLS))]
    parts.append(_count_table())
    for kind, lines in by_kind.items():
        parts.append(f"# {kind.capitalize().replace('-', ', ')}: {KINDS[kind]}\n")
        parts += [_correction(line) for line in lines]
    return "\n".join(parts)


def _correction(line: Line) -> str:
    claim = line.claim
    text = [_wrap(f"**{claim.paper}** ({claim.id}). {claim.printed}") + "\n"]
    text.append(_wrap(f"*Read:* {claim.exact}") + "\n")
    text.append(_wrap(f"*Proof.* {claim.proof}") + "\n")
    shown = line.shown.text.replace("found", "one finds").replace("printed", "printed:")
    text.append(_wrap(f"*Check.* {claim.instance}: {shown}.") + "\n")
    return "\n".join(text)
