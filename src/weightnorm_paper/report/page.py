"""One self-contained HTML page: no script, no external request; it prints well and reads well
aloud.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..certificate import Certificate, summary
from ..experiments.runs import Finding

STYLE = """
:root { --ink: #1a1a1a; --soft: #555; --line: #ddd; --good: #00664a; --bad: #8a3b00;
  --paper: #fff; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 52rem;  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.25rem; margin-top: 2.6rem; }
h3 { font-size: 1.1rem; margin-top: 2rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
figcaption, .soft { color: var(--soft); font-size: .93rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; padding: .3rem .5rem;
  border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.holds { color: var(--good); font-weight: 600; }
.fails { color: var(--bad); font-weight: 600; } a { color: #00558c; }
.wide { overflow-x: auto; }
@media print { body { max-width: none; margin: 0; font-size: 11pt; }
  figure, tr { break-inside: avoid; } }
"""


BEYOND = (
    "The paper follows training with small, fixed steps, without momentum, batches or decay. These "
    "figures go on from there. Each puts a statement of our theory, computed before anything ran, "
    "beside runs: which steps can work at all, where training ends with momentum, with "
    "mini-batches and with batch normalization, which starts never get there, and what decay of "
    "the direction does in the long run. Nothing here is a claim of the paper."
)


@dataclass(frozen=True)
class Section:
    """A figure in the report."""

    name: str
    title: str
    caption: str
    picture: bytes
    csv: str
    findings: Sequence[Finding]
    beyond: bool = False


def write_report(
    sections: Sequence[Section],
    certificate: Certificate | None,
    facts: dict[str, str],
    alt_texts: dict[str, str],
) -> str:
    """The page as text."""
    body = [
        "<h1>Weight normalization, reproduced</h1>",
        '<p class="soft">The experiments of Wu, Dobriban, Ren, Wu, Li, Gunasekar, Ward and Liu, '
        "<cite>Implicit Regularization and Convergence for Weight Normalization</cite> (NeurIPS "
        "2020), run anew by weightnorm, with the exact theory drawn over the runs.</p>",
        _contents(sections, certificate),
    ]
    paper = [section for section in sections if not section.beyond]
    beyond = [section for section in sections if section.beyond]
    if paper:
        title = "What the paper says of its figures, and what we found"
        body.append(_findings(paper, "the paper says", f"<h2>{title}</h2>"))
        body += [_figure(section, alt_texts[section.name]) for section in paper]
    if beyond:
        body.append(f'<h2 id="beyond">Beyond the paper</h2>\n<p>{_text(BEYOND)}</p>')
        body.append(_findings(beyond, "the theory says"))
        body += [_figure(section, alt_texts[section.name]) for section in beyond]
    if certificate is not None:
        body.append(_certificate(certificate))
    body.append(_facts(facts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>Weight normalization, reproduced</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _contents(sections: Sequence[Section], certificate: Certificate | None) -> str:
    def links(beyond: bool) -> list[str]:
        own = [section for section in sections if section.beyond == beyond]
        return [f'<a href="#{section.name}">{_text(_label(section))}</a>' for section in own]

    lines = [links(beyond=False)]
    if later := links(beyond=True):
        lines.append([f'<a href="#beyond">Beyond the paper</a>: {later[0]}', *later[1:]])
    last = ['<a href="#certificate">Certificate</a>'] if certificate is not None else []
    lines.append([*last, '<a href="#facts">How it was made</a>'])
    text = "".join(f"<p>{' · '.join(line)}</p>" for line in lines if line)
    return f'<nav aria-label="Contents">{text}</nav>'


def _label(section: Section) -> str:
    """What the contents call a figure: as the paper numbers it, or what it is about."""
    return section.title if section.beyond else section.name.replace("-", " ").capitalize()


def _findings(sections: Sequence[Section], who: str, heading: str = "") -> str:
    rows = [
        f"<tr><td>{_text(finding.id)}</td><td>{_text(finding.paper)}</td><td>{_text(finding.found)}</td>"
        f"{_verdict(finding.holds)}</tr>"
        for section in sections
        for finding in section.findings
    ]
    if not rows:
        return ""
    head = "".join(
        f"<th scope=col>{name}</th>" for name in ("statement", who, "we found", "verdict")
    )
    return f"{heading}<div class=wide><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _verdict(holds: bool) -> str:
    return '<td class="holds">holds</td>' if holds else '<td class="fails">does not hold</td>'


def _figure(section: Section, alt: str) -> str:
    picture = base64.b64encode(section.picture).decode()
    table = base64.b64encode(section.csv.encode()).decode()
    label = _text(_label(section))
    heading = f"<h3>{label}</h3>" if section.beyond else f"<h2>{label}: {_text(section.title)}</h2>"
    return (
        f'<section id="{section.name}">{heading}\n'
        f'<figure><img src="data:image/png;base64,{picture}" '
        f'alt="{html.escape(alt, quote=True)}">\n'
        f"<figcaption>{_text(section.caption)}</figcaption></figure>\n"
        f'<p><a download="{section.name}.csv" href="data:text/csv;base64,{table}">'
        "The numbers behind it (CSV)</a></p></section>"
    )


def _certificate(certificate: Certificate) -> str:
    rows = []
    for line in certificate.lines:
        style = "fails" if line.claim.kind == "false" or not line.ok else "holds"
        printed = f"{line.refuted} of {line.printed}" if line.refuted else "–"
        rows.append(
            f"<tr><td>{_text(line.claim.id)}</td><td>{_text(line.claim.paper)}</td>"
            f"<td class={style}>{_text(line.claim.kind if line.ok else 'broken')}</td>"
            f"<td>{_text(line.claim.exact)}</td><td class=number>{line.comparisons}</td>"
            f"<td class=number>{printed}</td></tr>"
        )
    head = "".join(
        f"<th scope=col>{name}</th>"
        for name in ("claim", "paper", "class", "exactly", "comparisons", "printed form fails")
    )
    state = (
        f"Every claim holds in its exact form. Of {summary()}."
        if certificate.ok
        else "A claim FAILED in its exact form."
    )
    return (
        f'<section id="certificate"><h2>Certificate of the theory</h2><p>{state} '
        "Each was tested against simulations that share no code with it, on about "
        f"{certificate.instances} random and hostile instances (seed {certificate.seed}).</p>"
        f"<div class=wide><table><tr>{head}</tr>{''.join(rows)}</table></div></section>"
    )


def _facts(facts: dict[str, str]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_text(name)}</th><td>{_text(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f'<section id="facts"><h2>How it was made</h2><table>{rows}</table></section>'


def _text(value: Any) -> str:
    return html.escape(str(value))
