"""`weightnorm predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .files import refuse_same, save, try_path
from .terminal import say


def predict(
    model: Annotated[Path, typer.Argument(help="A model file, from `weightnorm fit --out`.")],
    data: Annotated[
        Path,
        typer.Argument(help="The table: CSV (also .csv.gz), TSV or Parquet, a row per sample."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Write the predictions to this CSV file; to the terminal without it."),
    ] = None,
) -> None:
    """Predict the rows of a table with a model that `weightnorm fit --out` wrote.

    The columns the model needs are found by name; others are left alone. A classifier writes the
    label and the probability of every class.

    Example: `weightnorm predict model.json NEW.csv --out predictions.csv`
    """
    console, notes = Console(), Console(stderr=True)
    refuse_same({"--out": out}, {"the model": model, "the table": data}, notes)
    try_path("--out", out, notes)
    try:
        from ..tables.model_file import read_model
        from ..tables.read import TableError, number_columns, read_table
    except ImportError as error:
        say(notes, f"predict needs scikit-learn: install weightnorm[all] ({error})", "red")
        raise typer.Exit(1) from None
    try:
        made = read_model(model)
        table = read_table(data)
        missing = [name for name in made.features if name not in table.columns]
        if missing:
            listed = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
            raise TableError(f"{data.name} lacks columns that the model needs: {listed}")
        features = number_columns(table[made.features], "the model needs them as numbers")
        text = made.predict(features.to_numpy(dtype=float)).to_csv(index=False)
    except (ValueError, TypeError, OSError) as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    if out is None:
        typer.echo(text, nl=False)
        raise typer.Exit(0)
    written = save("--out", out, text, notes)
    if written:
        say(console, f"{len(features):,} predictions: {out}", "dim")
    raise typer.Exit(0 if written else 1)
