"""The `weightnorm` command."""

from __future__ import annotations

from typing import Annotated

import typer

from .._support.extensions import COMMANDS, offered
from .explore import explore
from .fit import fit
from .predict import predict
from .sweep import sweep
from .terminal import output_checked, prepare_streams

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"weightnorm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Training in scale × direction coordinates: run it exactly, predict it, explain it.

    Weight normalization and rPGD train a scale g and a direction w with x = g·w/‖w‖. On least
    squares with more unknowns than equations they end near the solution of smallest norm even from
    a start far from zero, where gradient descent keeps every bit of its start that the data cannot
    see. These commands show it, and check the theory behind it.

    Start here:

    - `weightnorm reproduce` — the paper’s figures and a report, in four minutes (`--quick`: half a
    minute)

    - `weightnorm verify` — every claim of the theory against simulation

    - `weightnorm sweep examples/sweep.toml` — a grid of your own, from a file

    - `weightnorm fit DATA.csv --target NAME --out model.json` — fit a table of your own, with its
    score and norms

    - `weightnorm predict model.json NEW.csv` — predict the rows of another table with that model

    - `weightnorm explore` — drag the start of training in your browser and see where it ends

    In Python: `import weightnorm as wn`, then `wn.run`, `wn.sweep`, `wn.flow`, `wn.theory`.
    """


for command in offered(COMMANDS):  # of the paper: reproduce and verify
    app.command(command.name)(command.load())
app.command()(sweep)
app.command()(fit)
app.command()(predict)
app.command()(explore)


def main() -> None:
    """Entry point of the console script."""
    prepare_streams()
    with output_checked():
        app()


if __name__ == "__main__":
    main()
