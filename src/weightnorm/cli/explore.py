"""`weightnorm explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from .._support.files import reason, write_text
from .files import refuse_same, save, try_path
from .options import Drop, Standardize
from .terminal import say


def explore(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="A table of your own: CSV (also .csv.gz), TSV or Parquet, a row per sample. "
            "Without it the page shows the problems it has built in."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    drop: Drop = None,
    standardize: Standardize = True,
    scale: Annotated[
        float | None,
        typer.Option(
            help="The norm of the coefficients at the start that the page opens with; half of the "
            "solution's by default."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="The seed of that start's random direction; 0 by default."),
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(
            help="The scale's rate over the direction's that the page opens with; a ninth of the "
            "solution's squared norm by default."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the page to this HTML file; to a temporary one without it."),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Write the page, but do not open the browser.")
    ] = False,
) -> None:
    """Drag the start of training in your browser and see where it ends, on a table of your own too.

    It writes one HTML file that needs neither a server nor a network, and opens it.

    Example: `weightnorm explore DATA.csv --target price --out explorer.html`
    """
    console, notes = Console(), Console(stderr=True)
    given = {
        "--target": target, "--drop": drop or None, "--no-standardize": not standardize or None,
        "--scale": scale, "--seed": seed, "--ratio": ratio,
    }  # fmt: skip
    options = [option for option, value in given.items() if value is not None]
    if data is None and options:
        _refuse(notes, f"{', '.join(options)}: only with a table; name it, as in {EXAMPLE}")
    if data is not None and target is None:
        _refuse(notes, f"--target must name the column to predict, as in {EXAMPLE}")
    refuse_same({"--out": out}, {"the table": data}, notes)
    try_path("--out", out, notes)
    from ..explorer.build import page
    from ..explorer.explore import open_in_browser

    start = {"scale": scale, "seed": seed or 0, "ratio": ratio}
    try:
        facts = None
        if data is not None and target is not None:
            with notes.status("reading the table"):
                facts = _facts(data, target, drop or [], standardize, **start)
        text = page(facts)
    except ImportError as error:
        say(notes, f"explore needs pandas for a table: install weightnorm[all] ({error})", "red")
        raise typer.Exit(1) from None
    except (ValueError, TypeError, OSError, ArithmeticError) as error:
        _refuse(notes, str(error))
    path = _written(out, text, notes)
    say(console, _summary(facts))
    if path is None:
        raise typer.Exit(1)
    kept = "" if out is not None else " (a temporary file; --out FILE puts it where you like)"
    say(console, f"page: {path}{kept}", "dim")
    if path.suffix.lower() not in (".html", ".htm"):
        say(notes, f"browsers show {path.suffix or 'such'} files as text; name it .html", "yellow")
    if not no_open and not open_in_browser(path):
        say(console, f"no browser can be opened from here; open {path.absolute().as_uri()} in one")


EXAMPLE = "weightnorm explore DATA.csv --target NAME"


def _refuse(notes: Console, message: str) -> NoReturn:
    say(notes, message, "red")
    raise typer.Exit(2)


def _facts(
    data: Path,
    target: str,
    drop: list[str],
    standardize: bool,
    *,
    scale: Any,
    seed: Any,
    ratio: Any,
) -> dict[str, Any]:
    """What the page needs to know of a table."""
    from ..datasets import random_direction
    from ..explorer.describe import describe
    from ..explorer.table import table_problem
    from ..tables.read import dropped as names_in
    from ..tables.read import read_table, split_table

    table = read_table(data)
    features, values = split_table(table, target, names_in(drop, table), classify=False)
    problem = table_problem(
        features.to_numpy(dtype=float), values.to_numpy(dtype=float), standardize
    )
    direction = random_direction(features.shape[1], seed)
    return describe(problem, scale, direction, ratio, name=f"{target} in {data.name}")


def _summary(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "problems: those the page has built in"
    counts = f"{facts['samples']:,} samples, {facts['features']:,} features, rank {facts['rank']:,}"
    unseen = "" if facts["free"] else "; there is nothing that the data cannot see"
    return f"{facts['name']}: {counts}{unseen}"


def _written(out: Path | None, text: str, notes: Console) -> Path | None:
    """Where the page is; None if it could not be written, and a line has said so."""
    if out is not None:
        return out if save("--out", out, text, notes, readable=False) else None
    from ..explorer.explore import new_file

    try:
        path = new_file()
        write_text(path, text)
    except OSError as error:
        failed = f"the temporary folder cannot be written to: {reason(error)}"
        say(notes, f"{failed}; name another place with --out", "red")
        return None
    return path
