"""docs/benchmarks/index.md and the plans of docs/guides/larger-than-memory.md, written from
benchmarks/latest.json: `python tools/measured.py` writes them anew.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "docs" / "benchmarks" / "index.md"
PLANNED = ROOT / "docs" / "guides" / "larger-than-memory.md"
NAMES = {
    "JAX, jit(vmap(while_loop))": "JAX, `jit(vmap(while_loop))`",
    "JAX in our 21 coordinates": "JAX, given our 21 coordinates",
    "JAX in our 3 coordinates": "JAX, given our 3 coordinates",
    "NumPy, all runs batched": "NumPy, all runs batched, finished ones dropped",
    "NumPy, a loop per run": "NumPy, a loop per run (measured on 40 runs)",
    "PyTorch, weight_norm + SGD": "PyTorch, `weight_norm` + SGD (500 steps of one run)",
    "geoopt, RiemannianSGD": "geoopt, `RiemannianSGD` (500 steps of one run)",
}
OURS = {
    "weightnorm": "**weightnorm** (A has orthonormal rows: 3 coordinates)",
    "weightnorm, 20 distinct singular values": (
        "**weightnorm**, 20 distinct singular values (21 coordinates)"
    ),
}


def nanoseconds(seconds: float | None, bold: bool) -> str:
    """A cell of the table."""
    if seconds is None:
        return "–"
    value = seconds * 1e9
    text = f"{value:.1f}" if value < 20 else f"{value:,.0f}"
    return f"**{text}**" if bold else text


def sweep_table(sweep: dict[str, Any]) -> list[str]:
    """The tools of one sweep, ours first."""
    rows = {row["name"]: row["seconds"] for row in sweep["rows"]}
    lines = ["| tool | GD | WN | rPGD | times slower |", "|---|---:|---:|---:|---:|"]
    for name, shown in {**OURS, **NAMES}.items():
        cells = [
            nanoseconds(rows[name].get(method), name in OURS) for method in ("gd", "wn", "rpgd")
        ]
        slower = "" if name in OURS else f"{sweep['times_slower'][name]['all']:,.0f} ×"
        lines.append(f"| {shown} | {' | '.join(cells)} | {slower} |")
    return lines


def microseconds(seconds: float) -> str:
    """A time of matrix sensing."""
    return f"{seconds * 1e6:.2g} µs" if seconds < 1e-4 else f"{seconds * 1e3:.2g} ms"


def sensing_table(cases: list[dict[str, Any]]) -> list[str]:
    """Matrix sensing at two sizes."""
    shown = {
        "weightnorm": "**weightnorm**, 64 and 16 runs together",
        "weightnorm, one run": "**weightnorm**, one run",
        "JAX, jit(vmap(fori_loop))": "JAX, `jit(vmap(fori_loop))`, as many together",
        "NumPy, a loop": "NumPy, a loop",
    }
    lines = ["| tool | d = 30, m = 60 | d = 100, m = 1,000 |", "|---|---:|---:|"]
    for name, text in shown.items():
        cells = []
        for case in cases:
            slower = case["times_slower"].get(name)
            time = microseconds(case["seconds_per_iteration_and_run"][name])
            cells.append(
                f"**{time}**" if name.startswith("weightnorm") else f"{time} ({slower:.1f} ×)"
            )
        lines.append(f"| {text} | {cells[0]} | {cells[1]} |")
    return lines


def models_lines(cases: dict[str, Any] | None) -> list[str]:
    """Logistic models; nothing where an older measurement did not have them."""
    if cases is None:
        return []
    many = cases["many_runs"]
    each = many["seconds_per_iteration_and_run"]
    alone = ", ".join(
        f"{microseconds(case['seconds_per_step']['weightnorm'])} at m = {case['m']:,} "
        f"({case['times_slower']['NumPy, a loop']:.1f} × faster than a NumPy loop)"
        for case in cases["one_run"]
    )
    return [
        "## Logistic models",
        "",
        f"A step of rPGD on a logistic model takes {alone}. In a sweep of {many['runs']} runs at "
        f"m = {many['m']} it takes",
        f"{nanoseconds(each['weightnorm'], False)} ns per run, "
        f"{many['times_slower']['JAX, jit(vmap(while_loop))']:.1f} × faster than JAX in the same "
        "coordinates.",
        "",
    ]


def estimator_lines(cases: dict[str, Any] | None) -> list[str]:
    """The estimators; nothing where an older measurement did not have them."""
    if not cases:
        return []
    lines = [
        "The estimators, processor time of all threads, median of interleaved repeats, to the same "
        "answer: log-loss",
        "within 1e-6 where the classes overlap, mean log-loss 1e-4 where they are separable, "
        "coefficients as exact.",
        "Peers: LogisticRegression without a penalty (lbfgs, at most 1,000 iterations), "
        "scipy.sparse.linalg.lsqr,",
        "LinearRegression, and a GridSearchCV of 30 candidates where ours has 473.",
        "",
        "| fit | weightnorm | peer | ours over theirs |",
        "|---|---:|---:|---:|",
    ]
    for name, case in cases.items():
        less = "" if case.get("peer_reached", True) else " (not reached)"
        lines.append(
            f"| {name} | {1e3 * case['weightnorm_seconds']:,.0f} ms | "
            f"{1e3 * case['peer_seconds']:,.0f} ms{less} | {case['ratio']:.2f} × |"
        )
    return [*lines, ""]


def kernel_lines(cases: dict[str, Any] | None) -> list[str]:
    """Kernel problems; nothing where an older measurement did not have them."""
    if not cases:
        return []
    shown = [
        f"{case['ratio']:.2f} × the time of one `scipy.linalg.eigh` ({name})"
        for name, case in cases["limits"].items()
    ]
    fits = [f"{case['ratio']:.1f}" for case in cases["fits"].values()]
    return [
        "## Kernels",
        "",
        f"With n = {cases['samples']:,} samples known by K alone (measured by itself on "
        f"{cases['machine']['date']}), an exact limit with its dual coefficients takes "
        f"{', '.join(shown)}. A run of {cases['run']['steps']:,} steps takes "
        f"{cases['run']['ratio']:.2f} of the time of the same run with features. A fit of "
        f"`WeightNormKernelRegressor` takes {' and '.join(fits)} times as long as scikit-learn's "
        "`KernelRidge`, which solves one system by Cholesky: eigenvectors are the price of the "
        "rank, the limit from any start, and refusing an indefinite kernel.",
        "",
    ]


def update_lines(updates: dict[str, Any]) -> list[str]:
    """Updates alone over SGD's, by the shapes of the parameters."""
    lines = [
        "Updates alone, over that of SGD(foreach=True), by the shapes of the parameters, without "
        "and with momentum 0.9:",
        "",
        "| parameters | SGD | RPGD | WeightNormSGD | SGD, momentum | RPGD | WeightNormSGD |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for shapes, found in updates.items():
        cells = []
        for kind in ("plain", "momentum"):
            over = found[kind]["over_sgd"]
            cells.append(f"{1e3 * found[kind]['seconds']['SGD(foreach=True)']:.2f} ms")
            cells += [f"{over[name]:.2f} ×" for name in ("RPGD", "WeightNormSGD")]
        lines.append(f"| {shapes} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "Large parameters are moved at the speed of the memory. SGD reads x and its gradient and "
        "writes x; ours also read and write w, so that no implementation that keeps w can be "
        "faster than 5/3 of SGD there without stores that bypass the caches. With momentum both "
        "move a buffer more.",
        "",
    ]


def torch_lines(costs: dict[str, Any] | None) -> list[str]:
    """Steps in PyTorch; nothing where an older measurement did not have them."""
    if not costs:
        return []
    whole, update = costs["whole_step_seconds"], costs["update_seconds"]
    over, peer = costs["whole_step_over_sgd"], costs["whole_step_over_weight_norm"]
    lines = [
        "## PyTorch",
        "",
        f"A step in PyTorch ({costs['network']}; the least of many interleaved repeats):",
        "",
        "| optimiser | whole step | update alone |",
        "|---|---:|---:|",
    ]
    for name, taken in update.items():
        step = f"{1e3 * whole[name]:.1f} ms" if name in whole else "–"
        shown = f"**{name}**" if name in ("RPGD", "WeightNormSGD") else name
        lines.append(f"| {shown} | {step} | {1e3 * taken:.2f} ms |")
    return [
        *lines,
        "",
        f"A whole step takes {over['RPGD']:.2f} (RPGD) and {over['WeightNormSGD']:.2f} times as "
        f"long as with SGD, and {peer['RPGD']:.2f} and {peer['WeightNormSGD']:.2f} of the time of "
        f"`weight_norm` with SGD. RPGD's update takes {costs['update_over_foreach_by_hand']:.2f} "
        "of the time of the same operations written by hand with foreach, and geoopt's "
        f"RiemannianSGD {costs['geoopt_update_over_ours']:.1f} times as long. What a last layer "
        "does against what was predicted of it: "
        "[a last layer whose end is known](../guides/torch-bridge.md).",
        "",
        *update_lines(costs["updates"]),
    ]


LARGER = {
    "ours": "**weightnorm**",
    "svd": "`dask.array.linalg.svd`, solve",
    "svd, unlimited": "the same without a limit",
    "lsqr": "`scipy.sparse.linalg.lsqr`, memory map",
    "blocks": "LAPACK's QR of the blocks, in memory",
    "lstsq": "`dask.array.linalg.lstsq`",
    "lstsq, unlimited": "the same without a limit",
    "dask_ml": "dask-ml's LinearRegression, Newton",
    "dask_ml, unlimited": "the same without a limit",
    "sgd": "`SGDRegressor.partial_fit`, 3 epochs",
}
# what one would like to know before asking for a cluster: m × d, and the workers' threads
PLANS = ((5_000, 10**7, 64), (5_000, 10**9, 1_024), (10**8, 5_000, 256))


def larger_table(case: dict[str, Any]) -> list[str]:
    """One array on disk, every contestant."""
    lines = [
        "| tool | seconds | peak memory | ‖Ax − y‖/‖y‖ | distance to x*, relative |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in case["rows"].items():
        if "error" in row:
            lines.append(f"| {LARGER[name]} | {row['error']} | | | |")
            continue
        good = [f"{row[key]:.1e}" if key in row else "–" for key in ("residual", "distance")]
        peak = f"{row['peak_bytes'] / 1e6:,.0f} MB"
        lines.append(f"| {LARGER[name]} | {row['seconds']:.1f} | {peak} | {' | '.join(good)} |")
    return lines


def larger_lines(found: dict[str, Any] | None) -> list[str]:
    """Data larger than memory; nothing where an older measurement did not have it."""
    if not found:
        return []
    wide, tall = found["wide"], found["tall"]
    ours = wide["rows"]["ours"]
    over = ours["first_pass"] / wide["rows"]["blocks"]["seconds"]
    return [
        "## Larger than memory",
        "",
        f"A wide array of {wide['shape'][0]} × {wide['shape'][1]:,} "
        f"({wide['bytes'] / 1e9:.1f} GB, condition number 20) in zarr, every process limited to "
        f"{wide['limit_bytes'] / 1e9:g} GB of data (RLIMIT_DATA), two threads. Ours read A "
        f"{ours['reads'][0]:g} time for the limit and {ours['reads'][1]:g} times with the weights; "
        f"its first pass takes {over:.2f} times as long as the QRs of the blocks alone.",
        "",
        *larger_table(wide),
        "",
        f"A tall one of {tall['shape'][0]:,} × {tall['shape'][1]} ({tall['bytes'] / 1e9:.1f} GB, "
        f"noise on y), in the same way, read {tall['rows']['ours']['reads'][0]:g} time by ours:",
        "",
        *larger_table(tall),
        "",
    ]


def plan_lines(found: dict[str, Any]) -> list[str]:
    """The model of a first pass against two measured sizes, and three plans past this machine."""
    rows = found["model"]["rows"]
    lines = [
        "A first pass should take flops/rate + bytes/bandwidth, with both measured apart from it "
        "(triangles of blocks in memory; reading alone), on two threads:",
        "",
        "| A | rate | bandwidth | predicted | measured |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        m, d = row["shape"]
        lines.append(
            f"| {m} × {d:,} | {row['flops_per_second'] / 1e9:.0f} GFLOP/s | "
            f"{row['bytes_per_second'] / 1e9:.1f} GB/s | {row['predicted']:.1f} s | "
            f"{row['measured']:.1f} s |"
        )
    rate = rows[-1]["flops_per_second"] / 2
    lines += [
        "",
        f"At the last rate, {rate / 1e9:.0f} GFLOP/s a thread, and 0.5 GB/s of storage for each "
        "thread, past this machine (on paper):",
        "",
        "| A | bytes | flops | memory a thread | threads | hours |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for m, d, threads in PLANS:
        short, size = min(m, d), 8.0 * m * d
        flops = 2.0 * max(m, d) * short**2
        hours = (flops / rate + size / 0.5e9) / threads / 3600
        # a block of 2·short columns twice, eight thousand rows, and six triangles
        memory = 8 * (4 * short**2 + 8192 * short + 6 * short**2) / 1e9
        lines.append(
            f"| {m:,} × {d:,} | {size / 1e12:g} TB | {flops:.0e} | {memory:.1f} GB | {threads:,} | "
            f"{hours:.1f} |"
        )
    return [
        *lines,
        "",
        "The client adds the singular values of one triangle: minutes at 5,000 × 5,000.",
    ]


def cluster_lines(case: dict[str, Any] | None) -> list[str]:
    """A sweep on a cluster; nothing where an older measurement did not have it."""
    if not case:
        return []
    return [
        "## On a cluster",
        "",
        f"A sweep of {case['shards']} shards takes {case['cluster_over_threads']:.2f} times as "
        "long on a Dask cluster of two local workers as on two threads "
        f"({case['seconds']['cluster']:.1f} s), and writes "
        f"{'the same bytes' if case['same_bytes'] else 'OTHER BYTES'}.",
        "",
    ]


def page(data: dict[str, Any]) -> str:
    """The page of all measurements."""
    machine, (small, large_sweep) = data["machine"], data["sweeps"]
    short = {
        name: ".".join(machine[name].split(".")[:2])
        for name in ("python", "numpy", "numba", "jax", "torch", "geoopt")
    }
    fastest = min(
        small["times_slower"][name]["all"]
        for name in ("NumPy, all runs batched", "JAX, jit(vmap(while_loop))")
    )
    ahead = small["times_slower"]["JAX in our 3 coordinates"]["all"]
    theory = {name: 1e3 * taken for name, taken in data["theory"].items()}
    sizes = [row["seconds"]["ns"] * 1e9 for row in data["sizes"]["rows"]]
    large, costs, fits, sensing = data["large"], data["training"], data["fit"], data["sensing"]
    momentum = costs["momentum_over_plain"]
    batches, many = costs["batches"], costs["many_problems"]
    loop = large["numpy_loop_seconds_extrapolated_from_50_iterations"]
    each = ", ".join(f"{sizes[i]:.0f}" for i in range(4))
    heavy = ", ".join(f"{momentum[name]['heavy ball']:.2f}" for name in ("gd", "wn", "rpgd"))
    nesterov = ", ".join(f"{momentum[name]['Nesterov']:.2f}" for name in ("gd", "wn", "rpgd"))
    lines = [
        "## Five numbers",
        "",
        *five_numbers(data),
        "",
        f"`make bench` on {machine['date']}, {machine['cores']} cores of an {machine['processor']} "
        "(a shared virtual machine:",
        f"only ratios within one run count), Python {short['python']}, NumPy {short['numpy']}, "
        f"numba {short['numba']},",
        f"JAX {short['jax']}, PyTorch {short['torch']}, geoopt {short['geoopt']}.",
        "",
        "## Runs and sweeps",
        "",
        "The paper's Figure 1 sweep: m = 20, d = 50,",
        "40 scales × 100 starts, step 0.005, until loss ≤ 1e-5; medians of interleaved repeats, "
        "nanoseconds per",
        "iteration and run.",
        "",
        *sweep_table(large_sweep),
        "",
        "The last column is against the first row. With 20 starts instead of 100 (800 runs) fixed "
        "costs weigh more:",
        f"{fastest:.0f} × faster than the fastest peer on A, and {ahead:.1f} × faster than JAX "
        "given our 3 coordinates.",
        f"One run of rPGD takes {each} ns per iteration at d = 50, 500, 5,000, 50,000 "
        "(m = 20), and",
        f"{sizes[4] / 1e3:.2f} and {sizes[5] / 1e3:.1f} µs at m = 200 and 2,000. With momentum a "
        f"run takes {heavy} times as",
        f"long (GD, WN, rPGD), with Nesterov's {nesterov}. A run with mini-batches takes "
        f"{batches['run_over_loop_d_50']:.2f} of the time of a",
        f"plain NumPy loop, and 100 of them in a sweep {batches['sweep_over_100_loops_d_50']:.3f} "
        "of 100 loops.",
        f"Figure 4's runs, one per problem, are {many['ratio']:.1f} × faster in one batch than in "
        "a sweep per problem.",
        "",
        "## A large problem",
        "",
        f"With m = {large['m']:,} and d = {large['d']:,}, {large['steps']:,} iterations of the "
        "three methods take",
        f"{large['weightnorm_seconds']:.1f} s from data to answer "
        f"({large['of_which_factorisation']:.1f} s of it the factorisation), against {loop:,.0f} s "
        "for a",
        f"NumPy loop (extrapolated from 50 iterations), {large['ratio']:,.0f} ×; peak memory "
        f"{large['peak_memory_over_A']:.1f} × the size of A, A included.",
        f"A predicted limit takes {theory['flow_limit']:.2f} ms after the factorisation, a 200 × "
        "200 phase diagram",
        f"{theory['phase_diagram_200_x_200']:.0f} ms.",
        "",
        *models_lines(data.get("models")),
        "## Matrix sensing",
        "",
        "rPGD, per iteration and run:",
        "",
        *sensing_table(sensing),
        "",
        f"That is {sensing[0]['flops_per_second'] / 1e9:.0f} and "
        f"{sensing[1]['flops_per_second'] / 1e9:.0f} GFLOP/s, {sensing[0]['share_of_matmul']:.0%} "
        f"and {sensing[1]['share_of_matmul']:.0%} of what a large matrix product reaches here.",
        "",
        "## Fits",
        "",
        f'A fit with `method="limit"` takes {fits[0]["ratio"]:.2f} × the time of '
        "`scipy.linalg.lstsq` on",
        f"500 × 20,000 and {fits[1]['ratio']:.2f} × on 20,000 × 200, with "
        f"{fits[0]['peak_memory_over_X']:.1f} and {fits[1]['peak_memory_over_X']:.1f} × the memory "
        "of X, X included.",
        "",
        *estimator_lines(data.get("estimators")),
        *kernel_lines(data.get("kernels")),
        *larger_lines(data.get("larger")),
        *cluster_lines(data.get("cluster")),
        *torch_lines(data.get("torch")),
        "All numbers are in [benchmarks/latest.json](../../benchmarks/latest.json).",
    ]
    return "\n".join(["# Benchmarks", "", *_wrapped(lines)]) + "\n"


def five_numbers(data: dict[str, Any]) -> list[str]:
    """The five that matter most."""
    sweep, large, fit = data["sweeps"][1], data["large"], data["fit"][0]
    rows = {row["name"]: row["seconds"] for row in sweep["rows"]}
    ours = [rows["weightnorm"][method] * 1e9 for method in ("gd", "wn", "rpgd")]
    slower = sweep["times_slower"]["JAX, jit(vmap(while_loop))"]["all"]
    few, many = (data["sizes"]["rows"][i]["seconds"]["ns"] * 1e9 for i in (0, 3))
    loop = large["numpy_loop_seconds_extrapolated_from_50_iterations"]
    return [
        f"- A sweep of 4,000 runs takes {ours[0]:.1f}, {ours[1]:.1f} and {ours[2]:.1f} ns per "
        "iteration and run (GD, WN, rPGD),",
        f"  on {data['machine']['cores']} cores; JAX takes {slower:.0f} times as long.",
        f"- One run takes {few:.0f} ns per iteration at d = 50 and {many:.0f} at d = 50,000: the "
        "data is read twice, whatever the number of iterations.",
        f"- A problem with m = {large['m']} and d = {large['d']:,}, {large['steps']:,} iterations "
        f"of three methods: {large['weightnorm_seconds']:.1f} s, against",
        f"  {loop:.0f} s for a NumPy loop.",
        f"- A prediction of where training ends takes {1e3 * data['theory']['flow_limit']:.2f} ms "
        "after the factorisation.",
        f"- A fit at the exact limit takes {fit['ratio']:.2f} of the time of `scipy.linalg.lstsq` "
        "on 500 × 20,000.",
    ]


def _wrapped(lines: list[str]) -> list[str]:
    """Paragraphs and list items of at most 100 columns; tables as they are."""
    out: list[str] = []
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if paragraph and (not line or line.startswith(("|", "- "))):
            indent = "  " if paragraph[0].startswith("- ") else ""
            text = " ".join(part.strip() for part in paragraph)
            out += textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False)
            paragraph = []
        if line and not line.startswith("|"):
            paragraph.append(line)
        else:
            out.append(line)
    return out[:-1]


def planned(text: str, data: dict[str, Any]) -> str:
    """The guide on data larger than memory with its measured part made anew."""
    head, rest = text.split("<!-- measured -->\n", 1)
    lines = plan_lines(data["larger"]) if data.get("larger") else []
    part = "".join(f"{line}\n" for line in _wrapped(lines)) if lines else ""
    return head + "<!-- measured -->\n" + part + "<!-- end -->" + rest.split("<!-- end -->", 1)[1]


if __name__ == "__main__":
    data = json.loads((ROOT / "benchmarks" / "latest.json").read_text(encoding="utf-8"))
    BENCHMARKS.write_text(page(data), encoding="utf-8")
    PLANNED.write_text(planned(PLANNED.read_text(encoding="utf-8"), data), encoding="utf-8")
    print(f"wrote {BENCHMARKS.relative_to(ROOT)} and {PLANNED.relative_to(ROOT)}")
