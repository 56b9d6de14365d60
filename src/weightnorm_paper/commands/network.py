"""`weightnorm reproduce network`: the part of the command that trains networks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from weightnorm.cli.terminal import print_json, say

STYLES = {"holds": "green", "reversed": "yellow", "differs": "yellow", "not shown": "dim"}


def network(
    out: Path, mnist: Path, quick: bool, seeds: int | None, as_json: bool, bar: Any, notes: Console
) -> None:
    """Run it with a progress bar, and print the verdicts.

    Parameters
    ----------
    out, mnist : Path
    quick : bool
    seeds : int, optional
    as_json : bool
    bar : rich.progress.Progress
    notes : Console
        Where messages go.
    """
    from weightnorm._support.files import UnwritableError

    from ..network.execute import WorkerKilledError
    from ..report.network.reproduce import reproduce_network

    try:
        with bar:
            task = bar.add_task("training networks", total=None)

            def progress(done: int, total: int, name: str) -> None:
                bar.update(task, completed=done, total=total, description=f"trained {name:<38}")

            tell = partial(say, notes, style="yellow")
            made = reproduce_network(out, mnist, quick, seeds, progress, tell=tell)
    except KeyboardInterrupt:
        say(
            notes,
            f"stopped; finished parts are in {out / 'data' / 'network'}: run it again to go on",
        )
        raise typer.Exit(130) from None
    except UnwritableError as error:
        say(notes, f"--out: {error}", "red")
        raise typer.Exit(2) from None
    except (ValueError, ImportError) as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    except WorkerKilledError as error:
        say(notes, str(error), "red")
        raise typer.Exit(1) from None
    if as_json:
        plain = [
            {
                "id": answer.hypothesis.id,
                "source": answer.hypothesis.source,
                "statement": answer.hypothesis.statement,
                "number": answer.hypothesis.number,
                "unit": answer.hypothesis.unit,
                "mean": answer.interval.mean,
                "interval": [answer.interval.low, answer.interval.high],
                "decisive_interval": [answer.strict.low, answer.strict.high],
                "verdict": answer.verdict,
            }
            for answer in made.answers
        ]
        print_json({"page": str(made.page), "answers": plain})
    else:
        console = Console()
        for answer in made.answers:
            found, style = answer.strict, STYLES[answer.verdict]
            console.print(
                f"{answer.hypothesis.id}: [{style}]{answer.verdict}[/] — "
                f"{escape(answer.hypothesis.statement)}: {found.mean:+.2f} "
                f"\\[{found.low:+.2f}, {found.high:+.2f}] {answer.hypothesis.unit}",
                soft_wrap=True,
                highlight=False,
            )
        say(console, f"page: {made.page}")
    if made.problem:
        say(notes, f"--out: {made.problem}", "red")
    raise typer.Exit(1 if made.problem else 0)
