"""Where gradient descent, weight normalization and rPGD end, by the scale of their start.

Run it: python examples/end_norms.py [picture.png]
"""

import sys

import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
starts = [wn.datasets.random_direction(50, seed) for seed in range(20)]
thaw = wn.schedules.two_phase(0.0, 0.1, switch=5001)
methods = {
    "gd": wn.GradientDescent(0.005),
    "wn": wn.WeightNorm(0.005, 0.005),
    "rpgd": wn.RPGD(0.005, 0.005),
    "rPGD, two phases": wn.RPGD(wn.schedules.curvature(), thaw),
}
data = wn.sweep(problem, methods, np.linspace(0.05, 4.5, 60), starts)
axes = wn.plot.end_norms(data)  # with the exact limits of gradient descent and of the WN flow
picture = sys.argv[1] if len(sys.argv) > 1 else "end_norms.png"
axes.figure.savefig(picture, dpi=150)
print(f"{data.attrs['summary']}, {int(data.num_steps.sum()):,} steps; drawn to {picture}")
