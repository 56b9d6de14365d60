"""The `weightnorm` command."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .bench import bench
from .reproduce import reproduce
from .sweep import sweep
from .verify import verify

app = typer.Typer(
    help="Training in scale × direction coordinates: run it exactly, predict it, explain it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weightnorm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say it.")] = False,
) -> None:
    """Training in scale × direction coordinates: run it exactly, predict it, explain it."""


app.command()(reproduce)
app.command()(verify)
app.command()(sweep)
app.command()(bench)


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
