"""`weightnorm reproduce`."""

from __future__ import annotations

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from weightnorm.cli.terminal import print_json, say

from .network import network


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help="all (the default), figure-1, figure-2, figure-3[-top|-bottom], "
            "figure-4[-top|-bottom], figure-5[-left|-right|-refined], phase-diagram, "
            "beyond[-stability|-norms|-methods|-cycle|-decay]. By itself: network, which trains "
            "networks with PyTorch (an hour or two, resumable; a minute with --quick)."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Fewer scales and seeds, smaller matrices: half a minute for all."
        ),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, help="Seeds per point; 20 by default (5 for figure-5), 3 with --quick."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where figures, data and the report go.")] = Path(
        "reproduced"
    ),
    mnist: Annotated[
        Path, typer.Option(help="For network: the folder of MNIST's files, see `make mnist`.")
    ] = Path("data/mnist"),
    open_report: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Regenerate the paper's figures and more beyond it, with the theory over the runs; a report.

    Example: `weightnorm reproduce figure-1 figure-3 --seeds 20`
    """
    from weightnorm._support.files import UnwritableError

    from ..report.reproduce import reproduce as make

    console, notes = Console(), Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    if "network" in (figures or []):
        if figures != ["network"] or open_report:
            say(notes, "network goes by itself, without other figures and without --open", "red")
            raise typer.Exit(2)
        bar = Progress(*columns, console=notes, transient=True)
        network(out, mnist, quick, seeds, as_json, bar, notes)
    try:
        with Progress(*columns, console=notes, transient=True) as bar:
            task = bar.add_task("reproducing", total=None)

            def progress(done: int, total: int, name: str) -> None:
                bar.update(task, completed=done, total=total, description=f"reproducing {name:<16}")

            many = seeds or (3 if quick else 20)
            tell = partial(say, notes, style="yellow")
            made = make(figures or ["all"], out, many, quick, progress, tell)
    except ValueError as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    except UnwritableError as error:
        say(notes, f"--out: {error}", "red")
        raise typer.Exit(2) from None
    findings = [finding for result in made.results.values() for finding in result.findings]
    if as_json:
        plain = [
            {"id": f.id, "paper": f.paper, "found": f.found, "holds": f.holds} for f in findings
        ]
        print_json({"report": str(made.report), "findings": plain})
    else:
        _show(console, made, findings)
    if made.problem:
        say(notes, f"--out: {made.problem}", "red")
    if open_report and not made.problem:
        webbrowser.open(made.report.resolve().as_uri())
    whole = made.certificate is None or made.certificate.ok
    raise typer.Exit(0 if whole and not made.problem else 1)


def _show(console: Console, made: Any, findings: list[Any]) -> None:
    for finding in findings:
        mark, style = ("holds", "green") if finding.holds else ("does not hold", "yellow")
        console.print(f"{finding.id}: [{style}]{mark}[/] — {escape(finding.found)}", soft_wrap=True)
    if made.certificate is not None:
        say(
            console,
            "certificate: "
            f"{'every claim holds in its exact form' if made.certificate.ok else 'BROKEN'}",
        )
    say(
        console,
        f"{made.seconds:.1f} s in all, {made.computing_seconds:.1f} s for the runs (the first on a "
        "machine include compiling the kernels)",
        "dim",
    )
    say(console, f"report: {made.report}")
