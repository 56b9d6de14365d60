"""The certificate as a page: every claim, its function, its verdict, its counterexample."""

from __future__ import annotations

from typing import Any

from .certify import Certificate, Line

INTRODUCTION = """# Every claim of the paper, checked

The paper is Wu, Dobriban, Ren, Wu, Li, Gunasekar, Ward and Liu, *Implicit Regularization and
Convergence for Weight Normalization*, NeurIPS 2020. It studies least squares, ½‖Ax − y‖², trained
in the coordinates x = g·w/‖w‖: a scale g and a direction w. Below is every claim it makes about
that, what it prints, what is true, and the function of `weightnorm.theory` that says it exactly.
Each was put to the test against simulations that share no code with it: plain steps and an
integration of the flow in d dimensions (where rounding would swamp those, the flow in reduced
coordinates). This page was written by `weightnorm verify --markdown docs/claims.md`, and
`weightnorm verify` repeats the test in front of you.

**Words.** x* is the solution of smallest norm, g* = ‖x*‖ and w* = x*/g* (so x* = g*w*). w⊥ is the
part of w that the data cannot see: orthogonal to the rows of A. q0 = ‖w0⊥‖ for a unit start w0. r =
Ax − y. η is the step of w, γ the step of g, c = γ/η their ratio; the *WN flow* is what both weight
normalization (WN) and rPGD become as η → 0. λ are the eigenvalues of AAᵀ. Orthogonal A means AAᵀ =
I. F0 = q0² e^{g0²/c}. S = {g = 0, yᵀAw = 0} are rest points that are no solutions.

**Verdicts.** *Holds*: as printed. *Holds with condition*: under the condition stated here, and it
fails without it. *Fails as printed*: here is a counterexample, and the exact form, which holds.
"""


def to_markdown(certificate: Certificate) -> str:
    """The page, from a certificate of all claims."""
    counts = {
        verdict: sum(line.verdict == verdict for line in certificate.lines) for verdict in _ORDER
    }
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    parts = [INTRODUCTION, f"{len(certificate.lines)} claims: {summary}.\n", _table(certificate)]
    parts += [_section(line) for line in certificate.lines]
    return "\n".join(parts)


_ORDER = ("holds", "holds with condition", "fails as printed", "broken")


def _table(certificate: Certificate) -> str:
    rows = ["| claim | in the paper | verdict |", "|---|---|---|"]
    rows += [
        f"| [{line.claim.id}](#{line.claim.id}) | {line.claim.paper} | {line.verdict} |"
        for line in certificate.lines
    ]
    return "\n".join(rows) + "\n"


def _section(line: Line) -> str:
    claim = line.claim
    functions = ", ".join(f"`wn.theory.{name}`" for name in claim.functions)
    text = [f"## {claim.id}\n", f"*{claim.paper}* · **{line.verdict}** · {functions}\n"]
    if claim.printed != "–":
        text.append(f"- The paper: {claim.printed}.")
    text.append(f"- Exactly: {claim.exact}.")
    if line.counterexample is not None and line.verdict != "holds":
        numbers = ", ".join(
            f"{name} = {_short(value)}" for name, value in line.counterexample.items()
        )
        what = (
            "Without the condition it fails"
            if line.verdict == "holds with condition"
            else "As printed it fails"
        )
        text.append(f"- {what}, for instance at {numbers}.")
    return "\n".join(text) + "\n"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "[" + ", ".join(_short(entry) for entry in value) + "]"
    return str(value)
