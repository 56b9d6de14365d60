"""`weightnorm fit`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .._support.files import reason
from .files import refuse_same, save, try_path
from .options import Drop, Standardize
from .terminal import print_json, say


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="The table: CSV (also .csv.gz), TSV or Parquet, a row per sample."),
    ],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="limit (where training with small steps ends, without training; the default), "
            "rpgd, wn or gd."
        ),
    ] = None,
    classify: Annotated[
        bool, typer.Option("--classify", help="The target is a class, not a number.")
    ] = False,
    loss: Annotated[
        str | None, typer.Option(help="For numbers: squared, huber, or poisson for counts.")
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="A model file of a related target, last year's for instance: keep the share of it "
            "that cross-validation (with --folds, inside each fold of the score) chooses."
        ),
    ] = None,
    scale: Annotated[
        float | None, typer.Option(help="The norm of the coefficients at the start; 0 by default.")
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(
            help="The scale's rate over the direction's, relative to the squared norm of the "
            "answer; 0.1 by default, 0.3 for classes. It matters for a start off the data's own "
            "directions: see --seed."
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="When training has converged, and how small the loss of separable "
            "classes is; 1e-4 by default."
        ),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="The most steps that training makes.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Start from a random direction with this seed, not from the data's own."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    drop: Drop = None,
    standardize: Standardize = True,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the model to this JSON file, for `weightnorm predict`."),
    ] = None,
    coefficients: Annotated[
        Path | None, typer.Option(help="Write the coefficients to this CSV file.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw this table's early stopping path (and, with more features than samples, its "
            "norms against the start's scale and its phase diagram) to a png, svg or pdf file."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Fit a table with weight normalization: score beside ridge's, norm, what the data cannot see.

    Example: `weightnorm fit DATA.csv --target price --out model.json`
    """
    notes = Console(stderr=True)
    outputs = {"--out": out, "--coefficients": coefficients, "--plot": plot}
    refuse_same(outputs, {"the table": data, "the prior": prior}, notes)
    for option, path in sorted(outputs.items()):
        try_path(option, path, notes)
    given = {
        "scale": scale, "ratio": ratio, "loss": loss, "method": method, "tol": tol,
        "max_iter": max_iter, "random_state": seed,
    }  # fmt: skip
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {} if seed is None else {"direction": "random"}
    with _told(notes, target):
        _refuse(classify, loss, plot, prior, options)
        with notes.status("fitting"):
            fitted = _fitted(data, target, classify, drop, folds, standardize, options, prior)
            drawn = plot is None or _drawn(fitted, plot, notes)
    text = fitted.coefficients.to_csv(index=False)
    written = save("--coefficients", coefficients, text, notes) and drawn
    written = save("--out", out, fitted.model.to_json(), notes) and written
    if as_json:
        print_json(fitted.facts | {"model": asdict(fitted.model)})
    else:
        _print(fitted.facts, standardize, notes)
        places = {"model": out, "coefficients": coefficients, "picture": plot}
        for name, path in places.items():
            if written and path is not None:
                say(Console(), f"{name}: {path}", "dim")
    raise typer.Exit(0 if written else 1)


_OPTION = {"random_state": "seed", "max_iter": "max-iter"}


@contextmanager
def _told(notes: Console, target: str) -> Iterator[None]:
    """Turn what can go wrong with a fit into a line and the code 2, or 1 where it is the house's
    own set-up.
    """
    try:
        yield
    except ImportError as error:
        say(notes, f"fit needs scikit-learn: install weightnorm[all] ({error})", "red")
        raise typer.Exit(1) from None
    except (ValueError, TypeError, OSError) as error:
        say(notes, str(error), "red")
        raise typer.Exit(2) from None
    except ArithmeticError as error:
        cause = str(error.args[-1] if error.args else error)
        text = f"the fit of the target {target!r} failed: {cause}"
        say(notes, f"{text}; rescale it, the features or --scale", "red")
        raise typer.Exit(2) from None


def _refuse(
    classify: bool, loss: str | None, plot: Any, prior: Any, options: dict[str, Any]
) -> None:
    """Refuse options that do not go together."""
    from ..tables.read import TableError

    if classify and loss is not None:
        raise TableError("--loss is for numbers; leave it out with --classify")
    if plot is not None and (classify or loss not in (None, "squared")):
        raise TableError(
            "--plot draws fits of numbers with the squared loss: leave out --classify, --loss"
        )
    if prior is not None and options:
        names = ", ".join("--" + _OPTION.get(n, n) for n in options if n != "direction")
        raise TableError(f"{names}: not used with --prior; leave them out")


def _fitted(
    data: Path,
    target: str,
    classify: bool,
    drop: Any,
    folds: int,
    standardize: bool,
    options: dict[str, Any],
    prior: Path | None,
) -> Any:
    """The table, read and fitted."""
    from ..tables.fit import fit_table
    from ..tables.model_file import read_model
    from ..tables.read import dropped, read_table, split_table

    before = None if prior is None else read_model(prior)
    table = read_table(data, labels=target if classify else None)
    left_out = dropped(list(drop or []), table)
    features, values = split_table(table, target, left_out, classify)
    return fit_table(features, values, classify, folds, standardize, options, before)


def _drawn(fitted: Any, path: Path, notes: Console) -> bool:
    """Whether the picture is where it should be; if not, a line has said why."""
    from ..tables.pictures import draw_fit

    try:
        draw_fit(fitted, path)
    except OSError as error:
        say(notes, f"--plot: {path} could not be written: {reason(error)}", "red")
        return False
    return True


def _print(facts: dict[str, Any], standardize: bool, notes: Console) -> None:
    Console().print(_table(facts, standardize))
    for text in facts["warnings"]:
        say(notes, text, "yellow")


def _table(facts: dict[str, Any], standardize: bool) -> Table:
    grid = Table(
        title=f"{facts['samples']:,} samples, {facts['features']:,} features",
        title_justify="left",
        show_header=False,
    )
    score, folds = facts["score_name"], facts["folds"]
    norm = "norm of the coefficients" + (", standardized features" if standardize else "")
    trained = f"{facts['method']} ({facts['status']} after {facts['steps']:,} steps)"
    exact = f"{facts['method']}, without training"
    exact += "" if facts["status"] == "limit" else f" ({facts['status']})"
    rows = [
        ("method", exact if facts["method"] in ("limit", "prior") else trained),
        ("", facts["message"]),
        (f"{score}, training", f"{facts['train_score']:.4f}"),
        (
            f"{score}, {folds}-fold cross-validation: mean ± deviation",
            f"{facts['cv_score']:.4f} ± {facts['cv_spread']:.4f}",
        ),
        (
            f"the same by {facts['baseline']}",
            f"{facts['ridge_cv_score']:.4f} ± {facts['ridge_cv_spread']:.4f}",
        ),
        (norm, f"{facts['norm']:.6g}"),
    ]
    if facts["perp_norm"] > 0:
        rows.append(("of which unseen by the data", f"{facts['perp_norm']:.3g}"))
    if facts["min_norm_distance"] != facts["perp_norm"]:
        rows.append(("distance to minimum norm", f"{facts['min_norm_distance']:.3g}"))
    if "predicted_limit_norm" in facts:
        rows.append(("predicted limit: norm", f"{facts['predicted_limit_norm']:.6g}"))
        distance = f"{facts['distance_to_predicted_limit']:.3g}"
        rows.append(("distance to the predicted limit", distance))
    for name, value in rows:
        grid.add_row(name, value)
    return grid
