"""Which step sizes can I use? The page docs/guides/steps.md, with every number computed here.

Weights x = g·w/‖w‖: a step γ for the scale g and a step η for the direction w. One worked problem,
20 equations with 50 unknowns, from one start; runs beside what the theory says of them. What the
page says around its numbers is in steps-template.md.

Run it: python examples/steps.py            (the page, as Markdown: a few seconds)
        python examples/steps.py --json     (the numbers, and a map of stable steps to draw)
"""

import json
import sys
import warnings
from pathlib import Path
from textwrap import fill

import numpy as np

import weightnorm as wn

PROBLEM = wn.datasets.make_regression(20, 50, condition_number=3.0, solution_norm=3.0, seed=0)
W0, G0 = wn.datasets.random_direction(50, seed=0), 2.8
METHODS = {"rpgd": "rPGD", "wn": "WN", "batchnorm": "batch norm", "gd": "gradient descent"}
KINDS = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}
MOMENTA = ((0.0, False), (0.9, False), (0.9, True))
TIGHT, LONG = 1e-20, 5_000_000
ETA, GAMMA = 0.1, 0.1  # the steps of the examples


def named(momentum, nesterov):
    """How a row of a table calls its momentum."""
    return "none" if momentum == 0 else f"{momentum:g}, {'Nesterov' if nesterov else 'heavy ball'}"


def table(head, rows):
    """A Markdown table; all columns but the first are numbers."""
    line = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([f"| {' | '.join(head)} |", line, *(f"| {' | '.join(r)} |" for r in rows)])


def number(value, digits=4):
    """A number in so many digits; a dash for what is not there."""
    return "–" if not np.isfinite(value) else f"{value:.{digits}g}"


def thresholds(norm):
    """The largest stable steps of every method, without and with momentum."""
    rows = []
    for method in METHODS:
        for beta, ahead in MOMENTA:
            given = {"method": method, "momentum": beta, "nesterov": ahead}
            alone = wn.theory.stability(PROBLEM, norm, **given)
            large = 0.9 * alone.max_direction_step
            both = wn.theory.stability(PROBLEM, norm, direction_step=large, **given)
            rows.append(
                {
                    **given,
                    "threshold": alone.threshold,
                    "max_direction_step": alone.max_direction_step,
                    "max_scale_step": alone.max_scale_step,
                    "max_scale_step_beside_large_direction_step": both.max_scale_step,
                }
            )
    return rows


def threshold_table(rows):
    """The same as Markdown."""
    last = "max_scale_step_beside_large_direction_step"
    lines = [
        [METHODS[r["method"]], named(r["momentum"], r["nesterov"])]
        + [number(r[key]) for key in ("max_direction_step", "max_scale_step", last)]
        for r in rows
    ]
    return table(["method", "momentum", "largest η", "largest γ", "γ beside 0.9 of that η"], lines)


def warned(method, max_steps):
    """A run, and what it was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = wn.run(method, PROBLEM, G0, W0, tolerance=TIGHT, max_steps=max_steps)
    return result, [str(w.message) for w in caught]


def beyond_the_line():
    """rPGD with larger and larger steps: its bracket, and where it ends; WN with the same."""
    lines, warning = [], ""
    for eta in (0.1, 0.2, 0.22, 0.5):
        bracket = wn.theory.norm_bracket(PROBLEM, eta, GAMMA)
        result, said = warned(wn.RPGD(eta, GAMMA), 100_000 if bracket else 10_000)
        warning = said[0] if said else warning
        shown = "empty" if bracket is None else f"{bracket[0]:.3f} … {bracket[1]:.3f}"
        end = f"{result.norm:.3f}" if result.status == "converged" else "does not converge"
        lines.append([f"{eta:g}", shown, end])
    rpgd = table(["η", "norms at which it can settle", "‖x‖ at the end"], lines)
    lines = []
    for eta in (0.1, 0.5, 1.0, 2.0):
        result, _ = warned(wn.WeightNorm(eta, GAMMA), LONG)
        top = wn.theory.stability(PROBLEM, result, eta, GAMMA, method="wn").eigenvalues[-1]
        ends = [f"{v:.3f}" for v in (result.norm, result.direction_norm, top)]
        lines.append([f"{eta:g}", *ends])
    wn_table = table(["η", "‖x‖ at the end", "‖w‖ at the end, from 1", "λmax(K) there"], lines)
    large = []
    for gamma in (12.0, 30.0):
        result, _ = warned(wn.WeightNorm(ETA, gamma), LONG)
        end = f"ends at ‖x‖ = {result.norm:.2f}" if result.status == "converged" else result.status
        large.append(f"γ = {gamma:g} {end}")
    return rpgd, wn_table, warning, " and ".join(large).replace("diverged", "diverges")


def moved_ends():
    """Momentum and mini-batches: runs, predictions, and the flow's end."""
    settings = [({}, 2e-4), ({"momentum": 0.8}, 2e-4), ({"momentum": 0.9}, 2e-4)]
    settings += [({"momentum": 0.9, "nesterov": True}, 2e-4), ({"batch_size": 4}, 1e-3)]
    flow, rows = wn.theory.flow_limit(PROBLEM, G0, W0).norm, []
    for kind, make in KINDS.items():
        for options, eta in settings:
            told = wn.theory.finite_step_limit(PROBLEM, G0, W0, kind, eta, **options)
            random = {"seed": 0} if "batch_size" in options else {}
            method, tail = make(eta, eta, **options, **random), 1e-12 if random else TIGHT
            made = wn.run(method, PROBLEM, G0, W0, tolerance=tail, max_steps=LONG)
            rows.append(
                {
                    "method": kind, "step": eta, **options, "norm": made.norm,
                    "predicted": told.norm, "error": told.error, "flow": flow,
                    "equivalent_step": told.equivalent_step,
                }
            )  # fmt: skip
    return rows


def moved_table(rows):
    """The same as Markdown."""
    lines = []
    for row in rows:
        what = f"batches of {row['batch_size']}" if "batch_size" in row else ""
        beta = named(row.get("momentum", 0.0), row.get("nesterov", False))
        shown = [f"{row[k]:.5f}" for k in ("norm", "predicted", "flow")]
        plain = "no momentum" if beta == "none" else f"momentum {beta}"
        name = f"{METHODS[row['method']]}, {what or plain}"
        lines.append([name, f"{row['step']:g}", f"{row['equivalent_step']:.3f}", *shown])
    head = ["training", "η = γ", "equivalent step", "run", "predicted", "small steps"]
    return table(head, lines)


def decays():
    """Decay of the scale against ridge, and of the direction against the time of the edge."""
    ridge = wn.theory.weight_decay_limit(PROBLEM, decay=0.1)
    method = wn.RPGD(ETA, GAMMA, scale_decay=0.1)
    made = wn.run(method, PROBLEM, G0, W0, max_steps=100_000)
    off = float(np.linalg.norm(made.weights - ridge.weights))
    plain = wn.run(wn.WeightNorm(ETA, GAMMA), PROBLEM, G0, W0, tolerance=TIGHT)
    length, lam = float(plain.direction_norm), 0.004
    edge = wn.theory.edge_time(PROBLEM, ETA, GAMMA, lam, plain, length)
    method = wn.WeightNorm(ETA, GAMMA, direction_decay=lam)
    path = wn.run(
        method, PROBLEM, G0, W0, tolerance=0.0, max_steps=3 * int(edge.steps), record=1
    ).history
    norm = np.maximum(path.weights_norm, 3.0)
    steps = {"direction_step": ETA, "scale_step": GAMMA, "direction_norm": path.direction_norm}
    top = wn.theory.stability(PROBLEM, norm, method="wn", **steps).eigenvalues[:, -1]
    reached = int(path.step[np.argmax(top >= 2.0)])
    return {
        "ridge_norm": ridge.norm, "ridge_off": off, "decay": lam, "edge_predicted": edge.steps,
        "edge_reached": reached, "edge_mean": float(top[path.step > reached].mean()),
        "burst": float(path.loss[path.step > reached].max()),
    }  # fmt: skip


def layer():
    """A linear layer as torch starts it: where its rows end, over the ratio of learning rates."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 50)), rng.standard_normal((20, 2))
    start = rng.uniform(-1.0, 1.0, (2, 50)) / np.sqrt(50)
    X -= X.mean(axis=0)
    lines = []
    for ratio in (0.1, 1.0, 10.0):
        end = wn.theory.linear_layer_limit(X, Y, start, scale_ratio=ratio, method="wn")
        c = ", ".join(f"{ratio * size**2:.3f}" for size in np.linalg.norm(start, axis=1))
        lines.append([f"{ratio:g}", c, ", ".join(f"{v:.4f}" for v in end.norm)])
    least = ", ".join(f"{v:.4f}" for v in end.min_norm)
    problem = wn.LeastSquares(X, Y[:, 0])
    gd = [
        wn.theory.gd_limit(problem.with_targets(y - y.mean()), np.linalg.norm(row), row).norm
        for y, row in zip(Y.T, start, strict=True)
    ]
    shown = table(["lr of g / lr of v", "c of each row", "norms of the rows at the end"], lines)
    return shown, least, ", ".join(f"{v:.4f}" for v in gd)


def refusals():
    """What is refused, and in which words; and the problem that Adam ends in three ways."""
    stable = (wn.schedules.stable(), wn.schedules.stable())
    start = (PROBLEM, G0, W0)
    limit = wn.theory.finite_step_limit
    calls = {
        'finite_step_limit(…, method="adam")': lambda: limit(*start, method="adam", step=0.01),
        "RPGD(stable(), stable(), momentum=0.9)": lambda: wn.run(
            wn.RPGD(*stable, momentum=0.9), *start
        ),
        "BatchNorm(stable(), stable())": lambda: wn.run(wn.BatchNorm(*stable), *start),
        "finite_step_limit(…, clip=1.0, batch_size=4)": lambda: limit(
            *start, "rpgd", 0.01, clip=1.0, batch_size=4
        ),
    }
    lines = []
    for shown, call in calls.items():
        try:
            call()
        except ValueError as error:
            lines.append(f"- `{shown}`: “{error}.”")
    angles = (0.0, 22.5, 45.0)
    ends = {
        rule: ", ".join(f"{wn.theory.coordinate_wise_end(rule, a).value:.2f}" for a in angles)
        for rule in ("wn", "adam")
    }
    return "\n".join(lines), ends


def numbers():
    """All of it for a program: thresholds, a map of stable steps, its edge, moved ends, decay."""
    norm = wn.theory.flow_limit(PROBLEM, G0, W0).norm
    eta, gamma = np.geomspace(0.005, 0.5, 41), np.geomspace(0.05, 20.0, 41)
    found = wn.theory.stability(PROBLEM, norm, eta[:, None], gamma)
    edge = wn.theory.stability(PROBLEM, norm, eta).max_scale_step
    return {
        "problem": "wn.datasets.make_regression(20, 50, condition_number=3.0, solution_norm=3.0, "
        "seed=0) from scale 2.8, wn.datasets.random_direction(50, seed=0)",
        "norm": norm,
        "lambda_max": 2.0 / wn.theory.stability(PROBLEM, method="gd").max_direction_step,
        "thresholds": thresholds(norm),
        "map": {
            "method": "rpgd", "direction_step": eta.tolist(), "scale_step": gamma.tolist(),
            "rate": found.rate.tolist(), "stable": found.stable.tolist(),
            "edge_scale_step": edge.tolist(),
        },
        "moved": moved_ends(),
        "decay": decays(),
    }  # fmt: skip


def page():
    """The page as Markdown."""
    known = numbers()
    fast = wn.run(wn.RPGD(*[wn.schedules.stable()] * 2), PROBLEM, G0, W0)
    slow = wn.run(wn.RPGD(0.01, 0.01), PROBLEM, G0, W0)
    rpgd, wn_table, warning, large = beyond_the_line()
    refused, ends = refusals()
    (rows, least, gd), off = layer(), known["decay"]["ridge_off"]
    text = Path(__file__).with_name("steps-template.md").read_text(encoding="utf-8")
    values = {
        "norm": known["norm"], "rule_eta": 2.0 / (known["norm"] ** 2 * known["lambda_max"]),
        "rule_gamma": 2.0 / known["lambda_max"], "fast": fast, "slow": slow,
        "thresholds": threshold_table(known["thresholds"]), "rpgd": rpgd, "wn_table": wn_table,
        "large": large,
        "warning": fill(f"> {warning}", 98, subsequent_indent="> "),
        "moved": moved_table(known["moved"]), "decay": known["decay"], "layer": rows,
        "ridge": "within 1e-9 of it" if off < 1e-9 else f"{off:.0e} away from it",
        "least": least, "gd": gd, "ends": ends,
        "refused": "\n".join(fill(r, 98, subsequent_indent="  ") for r in refused.split("\n")),
    }  # fmt: skip
    return text.format(**values)


def finite(value):
    """The same with what JSON has no number for as null, and nine digits."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if np.isfinite(value) else None
    return value


if __name__ == "__main__":
    print(json.dumps(finite(numbers())) if "--json" in sys.argv[1:] else page(), end="")
