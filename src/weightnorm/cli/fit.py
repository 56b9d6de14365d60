"""`weightnorm fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ._files import save, try_path
from ._terminal import print_json, say


def fit(
    data: Annotated[
        Path, typer.Argument(help="The table: CSV, TSV or Parquet, one row per sample.")
    ],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="limit (for regression: where training with small steps ends, without iterating), "
            "rpgd, wn or gd."
        ),
    ] = None,
    classify: Annotated[
        bool, typer.Option("--classify", help="The target is a class, not a number.")
    ] = False,
    scale: Annotated[float, typer.Option(help="The norm of the coefficients at the start.")] = 0.0,
    ratio: Annotated[
        float | None,
        typer.Option(
            help="The scale's rate over the direction's, relative to the squared norm of the "
            "answer; 0.1 by default."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For the direction of the start.")] = 0,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.")
    ] = None,
    standardize: Annotated[
        bool, typer.Option(help="Bring every feature to mean 0 and variance 1 first.")
    ] = True,
    coefficients: Annotated[
        Path | None, typer.Option(help="Write the coefficients to this CSV file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Fit a table with weight normalization: score, norm, distance to minimum norm, predicted
    limit.

    Example: `weightnorm fit DATA.csv --target price`
    """
    console, notes = Console(), Console(stderr=True)
    try_path("--coefficients", coefficients, notes)
    try:
        from ..estimators.table import fit_table
        from ..tables import read_table, split_table
    except ImportError as error:
        say(notes, f"fit needs scikit-learn: install weightnorm[all] ({error})", "red")
        raise typer.Exit(1) from None
    options: dict[str, Any] = {
        "scale": scale,
        "random_state": seed,
        "method": method or ("rpgd" if classify else "limit"),
    }
    if ratio is not None:
        options["ratio"] = ratio
    try:
        with notes.status("fitting"):
            features, values = split_table(read_table(data), target, list(drop or []), classify)
            fitted = fit_table(features, values, classify, folds, standardize, options)
    except (ValueError, TypeError, OSError) as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    except ArithmeticError as error:
        reason = str(error.args[-1] if error.args else error)
        say(
            notes,
            f"the fit of the target {target!r} failed: {reason}; rescale it, the features or "
            "--scale",
            "red",
        )
        raise typer.Exit(2) from None
    written = save("--coefficients", coefficients, fitted.coefficients.to_csv(index=False), notes)
    if as_json:
        print_json(fitted.facts)
    else:
        console.print(_table(fitted.facts, standardize))
        for text in fitted.facts["warnings"]:
            say(notes, text, "yellow")
        if coefficients is not None and written:
            say(console, f"coefficients: {coefficients}", "dim")
    raise typer.Exit(0 if written else 1)


def _table(facts: dict[str, Any], standardize: bool) -> Table:
    grid = Table(
        title=f"{facts['samples']:,} samples, {facts['features']:,} features",
        title_justify="left",
        show_header=False,
    )
    score = facts["score_name"]
    rows = [
        (
            "method",
            "limit (exact, without iterating)"
            if facts["method"] == "limit"
            else f"{facts['method']} ({facts['status']} after {facts['steps']:,} steps)",
        ),
        (f"{score}, training", f"{facts['train_score']:.4f}"),
        (
            f"{score}, {facts['folds']}-fold cross-validation",
            f"{facts['cv_score']:.4f} ± {facts['cv_spread']:.4f}",
        ),
        (
            "norm of the coefficients" + (", standardized features" if standardize else ""),
            f"{facts['norm']:.6g}",
        ),
        ("of which unseen by the data", f"{facts['perp_norm']:.3g}"),
    ]
    if score != "accuracy":  # a classifier has no minimum-norm solution to measure from
        rows.append(("distance to minimum norm", f"{facts['min_norm_distance']:.3g}"))
    if "predicted_limit_norm" in facts:
        rows.append(("predicted limit: norm", f"{facts['predicted_limit_norm']:.6g}"))
        rows.append(
            (
                "predicted limit: distance to minimum norm",
                f"{facts['predicted_limit_min_norm_distance']:.3g}",
            )
        )
        rows.append(
            ("distance to the predicted limit", f"{facts['distance_to_predicted_limit']:.3g}")
        )
    for name, value in rows:
        grid.add_row(name, value)
    return grid
