"""Where gradient descent, weight normalization and rPGD end, by the scale of their start.

Run it: python examples/end_norms.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
starts = [wn.datasets.random_direction(50, seed) for seed in range(20)]
scales = np.linspace(0.05, 4.5, 60)
methods = {
    "gradient descent": wn.GradientDescent(0.005),
    "weight normalization": wn.WeightNorm(0.005, 0.005),
    "rPGD": wn.RPGD(0.005, 0.005),
    "rPGD, two phases": wn.RPGD(
        wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, switch=5001)
    ),
}
data = wn.sweep(problem, methods, scales, starts)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
styles = {
    "color": ["#0072B2", "#D55E00", "#009E73", "#CC79A7"],
    "linestyle": ["-", "-", "--", "-"],
}  # colour-blind safe
for name, colour, line in zip(methods, styles["color"], styles["linestyle"], strict=True):
    norm = data.norm.sel({"algorithm": name})
    middle, spread = norm.mean("start"), norm.std("start")
    axes.plot(scales, middle, color=colour, linestyle=line, label=name)
    axes.fill_between(
        scales, middle - spread, middle + spread, color=colour, alpha=0.15, linewidth=0
    )
axes.axhline(3.0, color="black", linewidth=0.8, linestyle=":")
axes.annotate(
    "minimum norm ‖x*‖ = 3", (3.1, 3.0), xytext=(0, -12), textcoords="offset points", fontsize=9
)
axes.set(
    xlabel="scale of the start, g₀", ylabel="norm at the end, ‖x‖", xlim=(0, 4.5), ylim=(2.8, 4.8)
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="upper left")
picture = sys.argv[1] if len(sys.argv) > 1 else "end_norms.png"
figure.savefig(picture, dpi=150)
print(f"{data.num_steps.size:,} runs, {int(data.num_steps.sum()):,} steps; drawn to {picture}")
