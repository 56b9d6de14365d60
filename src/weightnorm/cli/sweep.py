"""`weightnorm sweep`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .terminal import print_json, say


def sweep(
    file: Annotated[
        Path | None, typer.Argument(help="The sweep: a TOML file, such as examples/sweep.toml.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for NAME.nc and its shards.")] = Path(
        "sweeps"
    ),
    threads: Annotated[
        int | None, typer.Option(min=1, help="All available cores by default.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Run on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Run on this many worker processes of Dask, on this machine."),
    ] = None,
    share: Annotated[
        str,
        typer.Option(
            help="I/N: begin with every N-th shard from the I-th (of 0 … N − 1), so that N "
            "processes on one store do not do the same work."
        ),
    ] = "0/1",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file made from another configuration.")
    ] = False,
    keys: Annotated[
        bool, typer.Option("--keys", help="Print every key that the file may have, and exit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a grid of training runs from a file, on all cores, and store it as netCDF.

    The grid is cut into shards: one problem, seed, step and method each. If interrupted, even by
    kill -9, the same command goes on with the shards that are missing and ends with the same data;
    shards of other code of weightnorm are not used, and it says so. The same holds on a Dask
    cluster (--scheduler, --workers), whatever dies there.

    Example: `weightnorm sweep examples/sweep.toml --out results`
    """
    from .._support.files import UnwritableError
    from ..sweeps import load_config, run
    from ..sweeps.cluster import ClusterError, connected
    from ..sweeps.execute import StoreError
    from ..sweeps.load import ConfigError

    notes = Console(stderr=True)
    if keys:
        from ..sweeps.schema import keys_page

        typer.echo(keys_page())
        return
    if file is None:
        say(notes, "FILE is missing; for example: weightnorm sweep examples/sweep.toml", "red")
        raise typer.Exit(2)
    mine = _checked(threads, scheduler, workers, share, notes)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    try:
        config = load_config(file)
        with (
            connected(scheduler, workers) if scheduler or workers else nullcontext() as client,
            Progress(*columns, console=notes, transient=True) as bar,
        ):
            task = bar.add_task(f"sweep {config.name}", total=None, rate="")

            def progress(done: int, total: int) -> None:
                speed = bar.tasks[task].speed
                rate = f"{speed:.1f} shards/s" if speed else ""
                bar.update(task, completed=done, total=total, rate=rate)

            outcome = run(
                config,
                out,
                threads,
                progress,
                overwrite=overwrite,
                client=client,
                share=mine,
                tell=None if as_json else partial(say, notes, style="yellow"),
            )
    except (ConfigError, ClusterError) as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    except (UnwritableError, StoreError) as error:
        say(notes, f"--out: {error}", "red")
        raise typer.Exit(2 if isinstance(error, UnwritableError) else 1) from None
    except KeyboardInterrupt:
        say(notes, "interrupted; the same command goes on where this stopped", "yellow")
        raise typer.Exit(130) from None
    _report(outcome, as_json)


def _checked(
    threads: int | None, scheduler: str | None, workers: int | None, share: str, notes: Console
) -> tuple[int, int]:
    """The share as two numbers; options that do not go together are refused."""
    if sum(given is not None for given in (threads, scheduler, workers)) > 1:
        say(notes, "give one of --threads, --scheduler and --workers", "red")
        raise typer.Exit(2)
    try:
        first, count = map(int, share.split("/"))
    except ValueError:  # no numbers, not two, or with thousands of digits
        first, count = 0, 0
    if not 0 <= first < count:
        say(notes, f"--share must be I/N with I < N, such as 0/4, got {share:.40}", "red")
        raise typer.Exit(2)
    return first, count


def _report(outcome: Any, as_json: bool) -> None:
    """Say what was computed."""
    console = Console()
    if as_json:
        print_json(
            {
                "path": str(outcome.path),
                "computed": outcome.computed,
                "reused": outcome.reused,
                "damaged": outcome.damaged,
                "note": outcome.note,
                "statuses": outcome.statuses,
            }
        )
    else:
        plural = "s" * (outcome.computed != 1)
        text = f"{outcome.computed} shard{plural} computed, {outcome.reused} there already"
        if outcome.damaged:
            text += f" ({outcome.damaged} had been damaged, and computed again)"
        say(console, f"{outcome.path}: {text}")
        say(console, outcome.summary)
        if outcome.note:
            say(console, outcome.note, "yellow")
