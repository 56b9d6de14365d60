"""The certificate as pages: every claim with proof and counterexample, and an erratum."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from ..claims import CLAIMS, GROUPS, KINDS, PREAMBLE, Claim
from .certify import Certificate, Line
from .prose import HOW, MESSAGE, PAPER, SYMBOLS
from .snippets import code

IDS = {claim.id for claim in CLAIMS}
COUNTED = ("flow", "discrete")  # the groups that are statements of the paper


def _wrap(text: str, indent: str = "") -> str:
    return "\n".join(
        textwrap.wrap(
            text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )


def _paragraphs(text: str) -> list[str]:
    """A text's paragraphs, each wrapped anew."""
    return [_wrap(" ".join(each.split())) + "\n" for each in text.strip().split("\n\n")]


def _plain(text: str) -> str:
    """Text of the index, with its stars (x*, g*, w*) as stars and not as emphasis."""
    return text.replace("*", r"\*")


def _linked(text: str) -> str:
    """The same for the page of claims, where the name of a claim in brackets leads to it."""
    return re.sub(
        r"\[([\w-]+)\]", lambda m: f"{m[0]}(#{m[1]})" if m[1] in IDS else m[0], _plain(text)
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
    >>> from weightnorm_paper.certificate import counts
    >>> counts()["false"], sum(counts().values())
    (7, 54)
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
    >>> from weightnorm_paper.certificate import summary
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
    widths = (16, 60, *(11 for _ in columns))  # of the columns, for a PDF
    rows = [head, "|" + "|".join("-" * width for width in widths) + "|"]
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
    """The page of every claim, from a certificate of all of them.

    Parameters
    ----------
    certificate : Certificate
        Of `verify`.

    Returns
    -------
    str
        Markdown; `weightnorm verify --markdown FILE` writes it.

    Examples
    --------
    >>> from weightnorm_paper.certificate import to_markdown, verify
    >>> to_markdown(verify(only=["invariant"], instances=2)).splitlines()[0]
    '# Every claim of the paper, checked'
    """
    wrong = [line.claim for line in certificate.lines if line.claim.kind == "false"]
    wrong = [claim for claim in wrong if claim.group in COUNTED]
    lost = sum(claim.conclusion == "no" for claim in wrong)
    balance = (
        f"**What does not.** {summary()}. Of the {len(wrong)} that are false, {len(wrong) - lost} "
        "keep their conclusion at least in part once corrected. The corrected statements are here, "
        "with proofs."
    )
    parts = [
        "# Every claim of the paper, checked\n",
        _wrap(f"The paper is {PAPER.strip()}.") + "\n",
    ]
    parts += [*_paragraphs(MESSAGE), *_paragraphs(balance), *_paragraphs(SYMBOLS)]
    parts += [_count_table(), *_paragraphs(HOW), f"```python\n{PREAMBLE}```\n"]
    parts += [
        _wrap("This page is written by `weightnorm verify --markdown docs/erratum/claims.md`.")
        + "\n"
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
    functions = ", ".join(f"`{name}`" for name in claim.qualified)
    text = [f"### {claim.id}\n"]
    text.append(
        _wrap(
            f"*{_plain(claim.paper)}* · **{claim.kind}** · conclusion survives: {claim.conclusion}"
        )
        + "\n"
    )
    text.append(_wrap(_linked(claim.verdict)) + "\n")
    if claim.kind != "beyond":
        text.append(_wrap(f"- The paper: {_plain(claim.printed)}", "  "))
    text.append(_wrap(f"- Exactly: {_linked(claim.exact)}", "  "))
    text.append(_wrap(f"- Proof: {_linked(claim.proof)}", "  "))
    text.append(_wrap(f"- As functions: {functions}.", "  "))
    text.append(_wrap(f"- Checked: {_evidence(line)}.", "  "))
    against = claim.kind in ("false", "misprint") or claim.kind.startswith("condition")
    word = "Counterexample" if against else "Example"
    if claim.kind.startswith("condition"):
        word = "Without the condition"
    text.append(_wrap(f"- {word}: {_plain(claim.instance)}.", "  ") + "\n")
    text.append(f"```python\n{code(claim)}\n```\n")
    exact = "" if line.shown.exact is None else "; the exact statement gives the number found"
    text.append(_wrap(f"→ {line.shown.text}{exact}") + "\n")
    return "\n".join(text)


def _evidence(line: Line) -> str:
    # of a few cases rounding decides whether they are compared: the page must not
    least = max(n for n in (1, 10, 20, 50, 100, 200, 500, 1000) if n <= max(1, line.comparisons))
    text = f"at least {least} comparisons, tight to {tight(line.tightness)}"
    if line.printed:
        kind = line.claim.kind
        if kind.startswith("condition"):
            where = "without the condition the printed form fails on"
        else:
            where = "the printed form fails on"
        text += f"; {where} {_share(line.refuted, line.printed)} random instances"
    for reason, number in line.skipped.items():
        text += f"; {number} instances had nothing to compare ({reason})"
    return text


def _share(part: int, whole: int) -> str:
    """A share in words, to ten per cent: the last instance may be one that rounding decides."""
    if part in (0, whole):
        return "all" if part else "none of the"
    tenths = round(10 * part / whole)
    return (
        "a few of the"
        if tenths == 0
        else "nearly all"
        if tenths == 10
        else f"about {tenths}0 % of the"
    )


def tight(value: float) -> str:
    """A tightness in one digit; exact where whole numbers had to agree."""
    return "the last unit" if value == 0.0 else f"{value:.0e}"


HEADINGS = {
    "false": "False: a counterexample, and what is true",
    "condition-needed": "True under a condition that the paper does not state",
    "misprint": "Misprints",
    "condition-stated": "True under a condition that is stated elsewhere",
    "loose": "True, but not tight",
}


def to_erratum(certificate: Certificate) -> str:
    """The erratum: what to read instead, place by place, ready for a PDF.

    Parameters
    ----------
    certificate : Certificate
        Of `verify`.

    Returns
    -------
    str
        Markdown with a title for pandoc; `weightnorm verify --erratum FILE` writes it.

    Examples
    --------
    >>> from weightnorm_paper.certificate import to_erratum, verify
    >>> page = to_erratum(verify(only=["flow-limit"], instances=2))
    >>> "**Theorem 2.6, Part I, (7)** [flow-limit]" in page
    True
    """
    by_kind = {kind: [] for kind in HEADINGS}  # type: dict[str, list[Line]]
    for line in certificate.lines:
        if line.claim.kind in by_kind:
            by_kind[line.claim.kind].append(line)
    head = [
        "---",
        'title: "Notes on *Implicit Regularization and Convergence for Weight Normalization*"',
        "subtitle: What holds, what to read instead, and why",
        "papersize: a4",
        "---\n",
        _wrap(
            f"These notes accompany {PAPER.strip()}. Every item has a proof and numbers to check."
        )
        + "\n",
    ]
    parts = [*head, *_paragraphs(MESSAGE), *_paragraphs(SYMBOLS)]
    parts.append(_count_table())
    parts.append(
        _wrap(
            "Names in brackets are items; those that hold as printed, and those beyond the paper, "
            "are on the page of all claims in the documentation of weightnorm, with proofs and "
            "code for every item."
        )
        + "\n"
    )
    for kind, lines in by_kind.items():
        parts.append(f"# {HEADINGS[kind]}\n")
        parts += [_correction(line) for line in lines]
    return "\n".join(parts)


def _correction(line: Line) -> str:
    claim = line.claim
    text = [_wrap(f"**{_plain(claim.paper)}** [{claim.id}]. {_plain(claim.verdict)}") + "\n"]
    text.append(_wrap(f"*Printed:* {_plain(claim.printed)}") + "\n")
    text.append(_wrap(f"*Read:* {_plain(claim.exact)}") + "\n")
    text.append(_wrap(f"*Proof.* {_plain(claim.proof)}") + "\n")
    text.append(_wrap(f"*Check.* {_plain(claim.instance)}: {line.shown.text}.") + "\n")
    return "\n".join(text)
