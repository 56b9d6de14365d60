"""
A matrix from few measurements
==============================

Twenty numbers ⟨A_i, X⟩ of a 12 × 12 matrix, and a factor of X trained from starts of many sizes.
The nuclear norm at the end is compared with its certified minimum.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

sensing = wn.datasets.make_sensing(size=12, rank=2, num_measurements=20, seed=0)
minimum = sensing.min_nuclear_norm(over="psd")
alphas = np.geomspace(0.05, 6.0, 12)
small = 0.5 / 2**10
methods = {"gd": wn.GradientDescent(small), "rpgd": wn.RPGD(small, small)}
start = wn.datasets.sensing_start(size=12, alpha=1.0, seed=0)
data = wn.sweep(
    sensing, methods, alphas**2, [start["direction"]], tolerance=1e-6, max_steps=400_000
)
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, label in (("gd", "gradient descent"), ("rpgd", "rPGD")):
    over = data.norm.sel(algorithm=name).squeeze() / minimum.value
    ax.plot(alphas, over, "o-", markersize=4, label=label)
ax.axvline(np.sqrt(minimum.value), color="0.7", linestyle=":", label="a start of minimum norm")
ax.axhline(1.0, color="black", linewidth=0.8, label="certified minimum")
ax.set(xscale="log", xlabel="α, the size of the start", ylabel="nuclear norm over its minimum")
ax.set(ylim=(0.98, 2.2))
ax.legend()

below = data.norm.sel(algorithm="rpgd").where(data.scale < 0.9 * minimum.value, drop=True)
assert float(abs(below / minimum.value - 1).max()) < 1e-2
assert below.size == 11  # only the last start is above
assert float(data.norm.sel(algorithm="gd").min() / minimum.value) > 1.02
assert (data.norm.sel(algorithm="rpgd").isel(scale=[-1]) > 1.5 * minimum.value).all()

# %%
# rPGD ends at the certified minimum from every start below it, within one per cent, and keeps a
# start that is larger; gradient descent stays above the minimum from every start.
