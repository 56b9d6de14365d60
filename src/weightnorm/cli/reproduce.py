"""`weightnorm reproduce`."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="all, figure-1, figure-3, figure-4-top, figure-5, phase-diagram, …")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer scales and seeds: seconds.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per point; 20 by default (5 for figure-5), 3 with --quick.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where figures, data and the report go.")] = Path("reproduced"),
    open_report: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Regenerate the paper's figures, with the exact theory drawn over the runs, and a report.

    Example: `weightnorm reproduce figure-1 figure-3 --seeds 20`
    """
    from ..report.reproduce import reproduce as make

    console, notes = Console(), Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=notes, transient=True) as bar:
            task = bar.add_task("reproducing", total=None)

            def progress(done: int, total: int, name: str) -> None:
                bar.update(task, completed=done, total=total, description=f"reproducing {name:<16}")

            made = make(figures or ["all"], out, seeds or (3 if quick else 20), quick, progress)
    except (ValueError, OSError) as error:
        notes.print(str(error), style="red", markup=False)
        raise typer.Exit(2 if isinstance(error, ValueError) else 1) from None
    findings = [finding for result in made.results.values() for finding in result.findings]
    if as_json:
        plain = [{"id": f.id, "paper": f.paper, "found": f.found, "holds": f.holds} for f in findings]
        typer.echo(json.dumps({"report": str(made.report), "findings": plain}, ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            mark, style = ("holds", "green") if finding.holds else ("does not hold", "yellow")
            console.print(f"{finding.id}: [{style}]{mark}[/] — {finding.found}")
        if made.certificate is not None:
            console.print(f"certificate: {'every claim holds in its exact form' if made.certificate.ok else 'BROKEN'}")
        console.print(
            f"{made.seconds:.1f} s in all, {made.computing_seconds:.1f} s for the runs; a plain NumPy loop would need "
            f"{made.numpy_seconds:.0f} s for them (extrapolated)",
            style="dim",
        )
        console.print(f"report: {made.report}")
    if open_report:
        webbrowser.open(made.report.resolve().as_uri())
    raise typer.Exit(0 if made.certificate is None or made.certificate.ok else 1)
