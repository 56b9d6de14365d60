"""`python -m benchmarks`: measure weightnorm against its peers (`make bench`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from weightnorm._support.machine import machine
from weightnorm.cli.files import save, try_path
from weightnorm.cli.terminal import finite, print_json, say


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="A demonstration of a few seconds, against NumPy only.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the numbers to this JSON file.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of tables.")
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=1, help="Interleaved repeats; the median counts.")
    ] = 5,
) -> None:
    """Measure weightnorm against its peers, side by side in one run.

    Peers that are not installed are skipped with a line saying so; `make bench` installs them.

    Example: `python -m benchmarks --quick`
    """
    from . import cases, report, training
    from .cluster import cluster_sweep
    from .estimators import estimator_cases
    from .fit import fit_cases
    from .kernels import kernel_cases
    from .larger import larger_than_memory
    from .models import model_cases
    from .sensing import sensing_case
    from .torch_steps import step_costs

    console, notes = Console(), Console(stderr=True)
    try_path("--out", out, notes)
    results: dict[str, Any] = {"machine": machine()}
    with notes.status("measuring") as spinner:

        def log(text: str) -> None:
            spinner.update(f"measuring: {text}")

        # first: steps at the memory's speed feel the threads and the heap that others leave behind
        in_torch = None if quick else step_costs(log, repeats)
        sweeps = [cases.figure_1_sweep(20, 1 if quick else repeats, log, numpy_only=quick)]
        if not quick:
            sweeps.append(cases.figure_1_sweep(100, repeats, log))
        norms = cases.end_norms()
        sizes = cases.time_against_size(log, quick=quick)
        predictions = cases.theory_timings()
        sensing = (
            [sensing_case(log, runs=16, steps=200, repeats=1)]
            if quick
            else [
                sensing_case(log, repeats=repeats),
                sensing_case(log, size=100, measurements=1_000, runs=16, steps=100, repeats=3),
            ]
        )
        models = model_cases(log, 1 if quick else repeats, quick=quick)
        costs = None if quick else training.costs(log, repeats)
        fits = [] if quick else fit_cases(log, 2 * repeats + 1)
        estimators = {} if quick else estimator_cases(log, repeats)
        kernels = None if quick else kernel_cases(log, repeats)
        large = None if quick else cases.large_problem(log)
        on_cluster = None if quick else cluster_sweep(log, 3)
        larger = None if quick else larger_than_memory(log)
    results["sweeps"] = [report.as_json(table) for table in sweeps]
    results["end_norms"] = {"scales": norms[0], **norms[1]}
    results["sizes"] = report.as_json(sizes)
    results["theory"] = predictions
    results["sensing"] = sensing
    results["models"] = models
    results["training"] = costs
    results["fit"] = fits
    results["estimators"] = estimators
    results["kernels"] = kernels
    results["large"] = large
    results["cluster"] = on_cluster
    results["larger"] = larger
    results["torch"] = in_torch
    written = save("--out", out, json.dumps(finite(results), indent=2) + "\n", notes)
    if as_json:
        print_json(results)
    else:
        _show(console, results, norms, sweeps, sizes)
        if out is not None and written:
            say(console, f"written to {out}", "dim")
    raise typer.Exit(0 if written else 1)


def _show(
    console: Console, results: dict[str, Any], norms: Any, sweeps: list[Any], sizes: Any
) -> None:
    from . import report

    say(console, " · ".join(f"{key} {value}" for key, value in results["machine"].items()), "dim")
    report.show_norms(console, *norms)
    for table in sweeps:
        report.show_sweep(console, table)
    report.show_sizes(console, sizes)
    report.show_theory(console, results["theory"])
    for case in results["sensing"]:
        report.show_sensing(console, case)
    report.show_models(console, results["models"])
    if results["training"] is not None:
        report.show_training(console, results["training"])
    report.show_fits(console, results["fit"])
    report.show_estimators(console, results["estimators"])
    if results["kernels"] is not None:
        report.show_kernels(console, results["kernels"])
    if results["large"] is not None:
        report.show_large(console, results["large"])
    if results["cluster"] is not None:
        report.show_cluster(console, results["cluster"])
    if results["larger"] is not None:
        report.show_larger(console, results["larger"])
    if results["torch"] is not None:
        report.show_torch(console, results["torch"])


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(bench)

if __name__ == "__main__":
    app()
