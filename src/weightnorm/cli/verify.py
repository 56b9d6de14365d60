"""`weightnorm verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ._files import save, try_path
from ._terminal import print_json, say

STYLES = {
    "holds": "green",
    "holds with condition": "cyan",
    "fails as printed": "yellow",
    "broken": "bold red",
}


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
        Path | None, typer.Option(help="Write the certificate to this page as well.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of {id, verdict, …} instead of a table.")
    ] = False,
) -> None:
    """Check every claim of the theory against simulation.

    Exits with 1 if a claim in its exact form fails.

    Example: `weightnorm verify --only flow-limit`
    """
    from ..certificate import to_markdown
    from ..certificate import verify as run_checks

    console, notes = Console(), Console(stderr=True)
    try_path("--markdown", markdown, notes)
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
    if as_json:
        print_json([line.as_dict() for line in certificate.lines])
    else:
        _show(console, certificate)
    raise typer.Exit(0 if certificate.ok and written else 1)


def _show(console: Console, certificate: Any) -> None:
    table = Table(
        title=f"{len(certificate.lines)} claims, {certificate.instances} instances each, "
        f"seed {certificate.seed}"
    )
    for name, justify in (
        ("claim", "left"),
        ("paper", "left"),
        ("verdict", "left"),
        ("exact", "right"),
        ("as printed", "right"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for line in certificate.lines:
        printed = (
            f"{line.refuted}/{line.printed} fail"
            if line.refuted
            else f"{line.printed} hold"
            if line.printed
            else "–"
        )
        verdict, style = line.verdict, STYLES[line.verdict]
        if line.ok and not line.as_established:
            verdict += f" here (more instances: {line.claim.verdict})"
        table.add_row(
            line.claim.id,
            line.claim.paper,
            f"[{style}]{verdict}[/]",
            f"{line.comparisons} hold",
            printed,
        )
    console.print(table)
    counts = {
        verdict: sum(line.verdict == verdict for line in certificate.lines) for verdict in STYLES
    }
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    for line in certificate.lines:
        if not line.ok:
            console.print(f"{line.claim.id}: {line.claim.exact}", style="red", markup=False)
            console.print(f"  on {line.counterexample}", markup=False)
    console.print(
        "As printed means: in the paper's own form. weightnorm verify --json has every "
        "counterexample.",
        style="dim",
    )
