"""The bridge between theory and PyTorch, one command: `make bridge`.

python tools/bridge.py            train and predict (about 20 minutes on two cores), and write
                                  benchmarks/bridge.json, the figure and docs/guides/torch-bridge.md
python tools/bridge.py --write    only the figure and the page, from benchmarks/bridge.json
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "bridge.json"
PAGE = ROOT / "docs" / "guides" / "torch-bridge.md"
FIGURE = ROOT / "docs" / "images" / "torch-bridge.png"
NAMES = {
    "gd": "gradient descent (SGD)",
    "wn": "torch's weight_norm + SGD",
    "rpgd": "RPGD",
    "freeze-thaw": "RPGD, frozen then thawed",
}
LOOKS = {
    "gd": ("#0072B2", "o"),
    "wn": ("#D55E00", "s"),
    "rpgd": ("#009E73", "D"),
    "freeze-thaw": ("#CC79A7", "^"),
}


def summary(case: dict[str, Any]) -> dict[str, float]:
    """How far off the prediction is, over all rows, relative to the norms reached."""
    trained, predicted, flow, error = (
        np.array(case[key]) for key in ("trained", "predicted", "flow", "error")
    )
    off = np.abs(trained - predicted)
    inside = off <= error + max(case["residual"])  # the training stops at this residual
    return {
        "rows": trained.size,
        "median": float(np.median(off / trained)),
        "worst": float((off / trained).max()),
        "small_steps": float((np.abs(trained - flow) / trained).max()),
        "inside": int(inside.sum()),
    }


def page(data: dict[str, Any]) -> str:
    """The page of docs."""
    size = data["size"]
    text = f"""# A last layer whose end is known before it is trained

{size["samples"]:,} handwritten digits, {size["features"]:,} fixed random features,
{size["outputs"]} outputs with a bias, squared loss, full batch: a last layer, trained by PyTorch in
float64 until no residual is larger than {size["residual"]:g}, from {size["scales"]} start scales
between {data["cases"][0]["start_over_smallest"][0]:.1f} and
{data["cases"][0]["start_over_smallest"][-1]:.0f} times the smallest norm that fits the data.
Before that, `weightnorm.torch.predict_last_layer` said where each row ends. The whole of it is one
command, `make bridge`; all numbers are in
[benchmarks/bridge.json](../../benchmarks/bridge.json).

![Norm at the end of training against the norm of the start, both over the smallest norm, for four
methods; the predicted lines run through the trained points](../images/torch-bridge.png)

Every prediction is for the learning rate used; "small steps" is how far off the same theory is that
leaves the size of the steps out (for frozen steps it is not computed). Each row says how far
predicted and trained norms are apart, relatively, over all {size["outputs"] * size["scales"]} rows.
"Within" counts those within the stated error and the residual left; gradient descent has no error
to state, its end is exact at every stable step."""
    lines = [textwrap.fill(part, 100) if not part.startswith("#") else part
             for part in text.split("\n\n")]  # fmt: skip
    table = [
        "| features | trained by | median | worst | small steps | within |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for case in data["cases"]:
        found = summary(case)
        kind = "centred" if case["centred"] else "not centred"
        plain = case["method"] in ("gd", "freeze-thaw")
        small = "–" if plain else f"{found['small_steps']:.1e}"
        table.append(
            f"| {kind} | {NAMES[case['method']]} | {found['median']:.1e} | {found['worst']:.1e} | "
            f"{small} | {found['inside']} of {found['rows']} |"
        )
    steps = [step for case in data["cases"] for step in case["steps"]]
    last = (
        f"Training took {min(steps):,} to {max(steps):,} steps. With centred features the end is a "
        "formula; with a bias and features that are not centred, and with frozen steps, the flow "
        "of each row and its bias is integrated in the coordinates of the data, with the effect of "
        "the steps to first order. What one sees: gradient descent keeps the part of its start "
        "that the data cannot see; weight normalization with one learning rate is always nearer "
        "to the smallest norm; rPGD with c = ‖x*‖² ends a little above it from small starts, here "
        "farther than gradient descent, whose small start leaves little to keep, and keeps a large "
        "start; and a scale that is frozen first ends at the smallest norm from every start below "
        "it, and at its own from every start above."
    )
    return "\n\n".join([*lines, "\n".join(table), textwrap.fill(last, 100)]) + "\n"


def figure(data: dict[str, Any]) -> Any:
    """Two panels, features centred and not."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for ax, centred in zip(axes, (True, False), strict=True):
        for case in data["cases"]:
            if case["centred"] != centred:
                continue
            colour, marker = LOOKS[case["method"]]
            least = np.array(case["min_norm"])
            x = case["start_over_smallest"]
            predicted = (np.array(case["predicted"]) / least).mean(axis=1)
            trained = (np.array(case["trained"]) / least).mean(axis=1)
            ax.plot(x, predicted, color=colour, linewidth=1.2)
            ax.plot(x, trained, marker, color=colour, markersize=5, label=NAMES[case["method"]])
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([0.3, 1.0, 3.0], ["0.3", "1", "3"])
        ax.set_yticks([1.0, 2.0, 3.0], ["1", "2", "3"])
        ax.minorticks_off()
        ax.set_xlabel("norm of the start / smallest norm")
        ax.set_title(f"features {'centred' if centred else 'not centred'}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("norm at the end / smallest norm")
    axes[0].plot([], [], color="0.4", label="predicted before training")
    axes[0].legend(frameon=False, fontsize=8)
    return drawn


def main() -> None:
    """Measure unless told not to, and write."""
    if "--write" not in sys.argv[1:]:
        from benchmarks.bridge import bridge

        data = bridge(lambda text: print(text, flush=True))
        partial = DATA.with_suffix(".partial")
        partial.write_text(json.dumps(data) + "\n", encoding="utf-8")
        os.replace(partial, DATA)
    data = json.loads(DATA.read_text(encoding="utf-8"))
    figure(data).savefig(FIGURE, dpi=110)
    PAGE.write_text(page(data), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
