"""`weightnorm verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from weightnorm.cli.files import save, try_path
from weightnorm.cli.terminal import print_json, say

STYLES = {"holds": "green", "loose": "green", "beyond": "green", "false": "yellow"}


def verify(
    instances: Annotated[
        int,
        typer.Option(min=1, help="How many random and adversarial instances per claim, roughly."),
    ] = 24,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the instances.")] = 0,
    only: Annotated[
        list[str] | None, typer.Option(help="Check this claim only; may be repeated.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a page of these claims to this file.")
    ] = None,
    erratum: Annotated[
        Path | None, typer.Option(help="Write the erratum of these claims to this file.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of {id, class, …} instead of a table.")
    ] = False,
) -> None:
    """Check every claim of the theory against simulation.

    Exits with 1 if a claim fails in its exact form, or gets another verdict than the established.

    Example: `weightnorm verify --only flow-limit`
    """
    from ..certificate import to_erratum, to_markdown
    from ..certificate import verify as run_checks

    console, notes = Console(), Console(stderr=True)
    try_path("--markdown", markdown, notes)
    try_path("--erratum", erratum, notes)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task("verifying", total=None)

        def progress(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=f"verifying {name:<28}")

        try:
            certificate = run_checks(instances, seed, only or None, progress)
        except ValueError as error:
            say(notes, f"--{error}", "red")
            raise typer.Exit(2) from None
    written = save("--markdown", markdown, to_markdown(certificate), notes)
    written &= save("--erratum", erratum, to_erratum(certificate), notes)
    if as_json:
        print_json([line.as_dict() for line in certificate.lines])
    else:
        _show(console, certificate)
    raise typer.Exit(0 if certificate.ok and written else 1)


def _show(console: Console, certificate: Any) -> None:
    from ..certificate import summary
    from ..certificate.markdown import tight

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    table.add_column("class", no_wrap=True, min_width=len("BROKEN"))
    for name in ("survives", "compared", "tight", "printed"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in certificate.lines:
        style = STYLES.get(line.claim.kind, "cyan") if line.ok else "bold red"
        printed = f"{line.refuted}/{line.printed}" if line.printed else "–"
        table.add_row(
            line.claim.id,
            f"[{style}]{line.claim.kind if line.ok else 'BROKEN'}[/]",
            line.claim.conclusion,
            str(line.comparisons),
            "0" if line.tightness == 0.0 else tight(line.tightness),
            printed,
        )
    console.print(table)
    console.print(f"{summary()}.", highlight=False)
    for line in certificate.lines:
        if not line.ok:
            say(console, f"{line.claim.id}: {line.verdict}", "red")
            if line.counterexample is not None:
                say(console, f"  on {line.counterexample}")
    console.print(
        "survives: whether the paper's conclusion does. tight: the relative change of a predicted "
        "number that half of the comparisons would notice. printed: random instances on which the "
        "printed form fails. weightnorm verify --json has the rest.",
        style="dim",
        highlight=False,
    )
