"""Tables for the terminal, numbers for the record."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from weightnorm.methods.registry import REGISTRY

from .cases import Table

KEPT = ("residual", "distance")  # how good an answer is


def ratios(table: Table) -> dict[str, Any]:
    """How many times faster than each peer, and than the fastest one, over all methods a tool
    ran.
    """
    ours = table.rows[0].per_iteration
    answer: dict[str, Any] = {}
    for row in table.rows:
        if row.peer:
            shared = [row.per_iteration[name] / ours[name] for name in row.per_iteration]
            answer[row.name] = {
                name: row.per_iteration[name] / ours[name] for name in row.per_iteration
            }
            answer[row.name]["all"] = sum(row.per_iteration.values()) / sum(
                ours[name] for name in row.per_iteration
            )
            answer[row.name]["least"] = min(shared)
    return answer


def show_sweep(console: Console, table: Table) -> None:
    """The sweep's table, with ratios to weightnorm."""
    grid = RichTable(title=table.title, title_justify="left")
    grid.add_column("tool")
    for column in table.columns:
        grid.add_column(column, justify="right")
    grid.add_column("times slower", justify="right")
    grid.add_column("", style="dim")
    compared = ratios(table)
    for row in table.rows:
        cells = [_nanoseconds(row.per_iteration.get(column)) for column in table.columns]
        ratio = f"{compared[row.name]['all']:,.0f} ×" if row.peer else ""
        grid.add_row(row.name, *cells, ratio, row.note, style=None if row.peer else "bold")
    console.print(grid)
    for line in table.lines:
        console.print(f"  {line}", style="dim")


def show_norms(console: Console, scales: list[float], norms: dict[str, list[float]]) -> None:
    """Where each method ends, by the scale of its start."""
    grid = RichTable(
        title="‖x‖ at the end, mean of 20 starts (the minimum norm is 3)", title_justify="left"
    )
    grid.add_column("scale of the start")
    for scale in scales:
        grid.add_column(f"{scale:g}", justify="right")
    labels = {row.name: row.label for row in REGISTRY}
    for name, row in norms.items():
        grid.add_row(labels[name], *(f"{norm:.3f}" for norm in row))
    console.print(grid)


def show_sizes(console: Console, table: Table) -> None:
    """Time against size."""
    grid = RichTable(title=table.title, title_justify="left")
    grid.add_column("size")
    for column in table.columns:
        grid.add_column(column, justify="right")
    for row in table.rows:
        grid.add_row(
            row.name, *(_nanoseconds(row.per_iteration[column]) for column in table.columns)
        )
    console.print(grid)


def show_theory(console: Console, timings: dict[str, float]) -> None:
    """What predictions cost."""
    console.print(
        "[bold]Predictions[/bold]\n  flow_limit after the factorisation "
        f"{timings['flow_limit'] * 1e3:.2f} ms, a 200 × 200 phase diagram "
        f"{timings['phase_diagram_200_x_200'] * 1e3:.0f} ms"
    )


def show_sensing(console: Console, case: dict[str, Any]) -> None:
    """Matrix sensing, per iteration and run."""
    console.print(
        f"[bold]Matrix sensing, d = {case['size']}, m = {case['measurements']:,}, {case['runs']} "
        "runs of rPGD[/bold]"
    )
    for name, taken in case["seconds_per_iteration_and_run"].items():
        slower = case["times_slower"].get(name)
        console.print(
            f"  {name}: {taken * 1e6:,.1f} µs per iteration and run"
            + (f", {slower:.1f} ×" if slower else "")
        )
    console.print(
        f"  {case['flops_per_second'] / 1e9:.1f} GFLOP/s, {case['share_of_matmul']:.0%} of a large "
        "matrix product here",
        style="dim",
    )


def show_models(console: Console, cases: dict[str, Any]) -> None:
    """Logistic rPGD, one run and many."""
    many = cases["many_runs"]
    lines = {f"one run, m = {case['m']:,}": case["seconds_per_step"] for case in cases["one_run"]}
    lines[f"{many['runs']} runs, m = {many['m']}"] = many["seconds_per_iteration_and_run"]
    console.print("[bold]Logistic model, rPGD, per iteration and run[/bold]")
    for name, each in lines.items():
        shown = (f"{tool} {_nanoseconds(taken)} ns" for tool, taken in each.items())
        console.print(f"  {name}: " + ", ".join(shown))


def show_training(console: Console, costs: dict[str, Any]) -> None:
    """Momentum, mini-batches, many problems."""
    console.print("[bold]A run with momentum over a plain one[/bold]")
    for name, ratios_of in costs["momentum_over_plain"].items():
        console.print(
            f"  {name}: " + ", ".join(f"{kind} {ratio:.2f} ×" for kind, ratio in ratios_of.items())
        )
    console.print("[bold]Mini-batches, over a plain NumPy loop[/bold]")
    for name, ratio in costs["batches"].items():
        console.print(f"  {name.replace('_', ' ')}: {ratio:.3f} ×")
    many = costs["many_problems"]
    console.print(
        "[bold]Figure 4: 100 problems, a run of each method on each[/bold]\n"
        f"  one sweep per problem {many['seconds_apart']:.3f} s, together "
        f"{many['seconds_together']:.3f} s: {many['ratio']:.1f} ×"
    )


def show_fits(console: Console, fits: list[dict[str, Any]]) -> None:
    """Fits to the limit against lstsq."""
    for case in fits:
        console.print(
            f"[bold]Fit of {case['samples']:,} × {case['features']:,} to the limit[/bold]\n"
            f"  {case['limit_seconds']:.2f} s, scipy.linalg.lstsq {case['lstsq_seconds']:.2f} s: "
            f"{case['ratio']:.2f} ×; peak memory {case['peak_memory_over_X']:.2f} × X, X included"
        )


def show_estimators(console: Console, cases: dict[str, Any]) -> None:
    """The estimators against their peers."""
    if cases:
        console.print("[bold]Estimators, processor time over the peer's[/bold]")
    for name, case in cases.items():
        less = "" if case.get("peer_reached", True) else ", which did not get there"
        console.print(
            f"  {name}: {case['ratio']:.2f} × ({case['weightnorm_seconds']:.3f} s, peer "
            f"{case['peer_seconds']:.3f} s{less})"
        )


def show_kernels(console: Console, cases: dict[str, Any]) -> None:
    """Kernel problems against an eigendecomposition, KernelRidge and features."""
    console.print(f"[bold]Kernels of {cases['samples']:,} samples[/bold]")
    for name, case in cases["limits"].items():
        fit = cases["fits"][name]
        console.print(
            f"  {name}: limit {case['limit']:.2f} s, scipy.linalg.eigh {case['eigh']:.2f} s: "
            f"{case['ratio']:.2f} ×; fit {fit['ratio']:.1f} × KernelRidge"
        )
    each = cases["run"]
    console.print(f"  a run of {each['steps']:,} steps: {each['ratio']:.2f} × that with features")


def show_large(console: Console, large: dict[str, Any]) -> None:
    """One large problem, end to end."""
    direct = large["numpy_loop_seconds_extrapolated_from_50_iterations"]
    console.print(
        f"[bold]m = {large['m']:,}, d = {large['d']:,}, {large['steps']:,} iterations of three "
        "methods[/bold]\n"
        f"  weightnorm {large['weightnorm_seconds']:.2f} s (factorisation "
        f"{large['of_which_factorisation']:.2f} s), NumPy loop {direct:,.0f} s (extrapolated from "
        f"50 iterations): {large['ratio']:,.0f} ×\n"
        f"  peak memory, data included: {large['peak_memory_over_A']:.2f} × the size of A"
    )


def show_cluster(console: Console, case: dict[str, Any]) -> None:
    """A sweep on two local workers and on two threads."""
    times = case["seconds"]
    console.print(
        f"[bold]A sweep of {case['shards']} shards[/bold]\n"
        f"  two threads {times['threads']:.1f} s, a cluster of two workers "
        f"{times['cluster']:.1f} s: {case['cluster_over_threads']:.2f} ×, "
        f"{'the same bytes' if case['same_bytes'] else 'OTHER BYTES'}"
    )


def show_larger(console: Console, found: dict[str, Any]) -> None:
    """Data larger than memory, wide and tall."""
    for kind in ("wide", "tall"):
        case = found[kind]
        m, d = case["shape"]
        console.print(
            f"[bold]{m:,} × {d:,}, {case['bytes'] / 1e9:.1f} GB on disk, "
            f"{case['limit_bytes'] / 1e9:g} GB of memory[/bold]"
        )
        for name, row in case["rows"].items():
            if "error" in row:
                console.print(f"  {name}: {row['error']}")
                continue
            good = "".join(f", {key} {row[key]:.1e}" for key in KEPT if key in row)
            peak = f"{row['peak_bytes'] / 1e6:,.0f} MB"
            console.print(f"  {name}: {row['seconds']:.1f} s, peak {peak}{good}")
    for row in found["model"]["rows"]:
        m, d = row["shape"]
        console.print(
            f"  first pass at {m} × {d:,}: {row['measured']:.1f} s, "
            f"predicted {row['predicted']:.1f} s"
        )


def show_torch(console: Console, costs: dict[str, Any]) -> None:
    """Steps in PyTorch."""
    console.print(f"[bold]PyTorch, {costs['network']}[/bold]")
    for name, taken in costs["update_seconds"].items():
        whole = costs["whole_step_seconds"].get(name)
        told = "" if whole is None else f", a whole step {whole * 1e3:.1f} ms"
        console.print(f"  {name}: update {taken * 1e3:.2f} ms{told}")
    for shapes, found in costs["updates"].items():
        for kind, measured in found.items():
            over = ", ".join(f"{n} {r:.2f}" for n, r in measured["over_sgd"].items())
            console.print(f"  {shapes}, {kind}: {over} (over SGD)")


def as_json(table: Table) -> dict[str, Any]:
    """A table as plain data, times in seconds."""
    rows = [
        {"name": row.name, "seconds": row.per_iteration, "note": row.note} for row in table.rows
    ]
    data: dict[str, Any] = {"title": table.title, "rows": rows, "lines": table.lines}
    if any(row.peer for row in table.rows):
        data["times_slower"] = ratios(table)
    return data


def _nanoseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e9:,.1f}" if value < 1e-7 else f"{value * 1e9:,.0f}"
