"""
Decay of the scale is ridge regression
======================================

Weight decay on the scale g alone, rPGD from five starts of different sizes. Without decay the large
ones end elsewhere; with it all end at the ridge solution.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(
    num_samples=20, num_features=50, condition_number=3.0, solution_norm=3.0, seed=0
)
w0 = wn.datasets.random_direction(50, seed=0)
mu = 0.1
ridge = wn.theory.weight_decay_limit(problem, mu)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
ends = {}
for ax, decay in zip(axes, (0.0, mu), strict=True):
    for scale in (0.5, 1.5, 3.0, 4.0, 5.0):
        method = wn.RPGD(0.05, 0.05, scale_decay=decay)
        run = wn.run(method, problem, scale, w0, tolerance=0, max_steps=6000, record=10)
        ax.plot(run.history.step, run.history.weights_norm)
        ends[decay, scale] = run.weights
    ax.set(xlabel="step", title=f"scale_decay = {decay}", xscale="symlog")
axes[0].set(ylabel="‖x‖")
axes[1].axhline(np.linalg.norm(ridge.weights), color="black", linestyle="--", label="ridge")
axes[1].legend()

off = [np.linalg.norm(x - ridge.weights) for (decay, _), x in ends.items() if decay]
spread = np.ptp([np.linalg.norm(x) for (decay, _), x in ends.items() if not decay])
assert max(off) < 1e-6
assert spread > 1.0

# %%
# Left, the norm at the end depends on the start, once that is large; right, all five paths run into
# the dashed line, the ridge solution that `wn.theory.weight_decay_limit` computes without training.
