"""
Which methods forget their start
================================

Gradient descent, weight normalization and rPGD from starts of many sizes, on twenty equations for
fifty unknowns whose solution of smallest norm has norm 3. Thin lines are the exact limits, computed
without a run.
"""

import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
starts = [wn.datasets.random_direction(50, seed) for seed in range(20)]
methods = {
    "gd": wn.GradientDescent(0.005),
    "wn": wn.WeightNorm(0.005, 0.005),
    "rpgd": wn.RPGD(0.005, 0.005),
}
data = wn.sweep(problem, methods, scales=np.linspace(0.05, 4.5, 40), directions=starts)
wn.plot.end_norms(data)

norm = data.norm.mean("start").sel(scale=2.0, method="nearest")
assert norm.sel(algorithm="gd") > 3.3 > 3.03 > norm.sel(algorithm=["wn", "rpgd"]).max()
assert data.norm.sel(scale=4.5, algorithm=["wn", "rpgd"]).min() > 4.3

# %%
# Gradient descent's norm rises with its start at once; WN and rPGD stay within one per cent of the
# smallest norm up to a start of size 2, and keep a start that is larger than the answer.
